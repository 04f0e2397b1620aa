//! What CPUs counted in a run for each piece of its work: what a figure is the sum of.

use crate::records::{CpuRecords, Records};
use serde_json::{Map, Value};
use std::ops::Index;

/// Something that is counted, or a time that is summed up, over all CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// Context switches, from or to the idle loop included.
    Switches,
    /// Wake-ups of tasks that stay or join on the waker's CPU.
    Local,
    /// Those of all others.
    Remote,
    /// Wake-ups that change the wakee's CPU.
    Migrated,
    /// Wake-ups of tasks whose dequeue was delayed.
    Delayed,
    /// Wake-ups left to the other CPU, by its wake list.
    Queued,
    /// CPUs looked at in searches for an idle one.
    Probes,
    /// Times another CPU's runqueue was locked to wake somebody there.
    RemoteLocks,
    /// Waiting for runqueue locks, ns.
    ContendedNs,
    /// Reschedule interrupts sent.
    Ipis,
    /// Deadline servers started.
    ServerStarts,
    /// What the costs of the machine took, ns.
    CostNs,
    /// Time with a task, ns.
    BusyNs,
    /// Time without, ns.
    IdleNs,
}

impl Count {
    /// In the order of tables.
    pub(super) const ALL: [Self; 14] = [
        Self::Switches,
        Self::Local,
        Self::Remote,
        Self::Migrated,
        Self::Delayed,
        Self::Queued,
        Self::Probes,
        Self::RemoteLocks,
        Self::ContendedNs,
        Self::Ipis,
        Self::ServerStarts,
        Self::CostNs,
        Self::BusyNs,
        Self::IdleNs,
    ];

    /// Its key in documents, and its column in tables.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Switches => "switches",
            Self::Local => "local",
            Self::Remote => "remote",
            Self::Migrated => "migrated",
            Self::Delayed => "delayed",
            Self::Queued => "queued",
            Self::Probes => "probes",
            Self::RemoteLocks => "remote_rq_locks",
            Self::ContendedNs => "contended_ns",
            Self::Ipis => "ipis",
            Self::ServerStarts => "server_starts",
            Self::CostNs => "cost_ns",
            Self::BusyNs => "busy_ns",
            Self::IdleNs => "idle_ns",
        }
    }

    /// Whether it is a time, in ns.
    pub(super) const fn is_time(self) -> bool {
        matches!(self, Self::ContendedNs | Self::CostNs | Self::BusyNs | Self::IdleNs)
    }

    fn of(self, cpu: &CpuRecords) -> u64 {
        match self {
            Self::Switches => cpu.counters.switches,
            Self::Local => cpu.wakeups.local,
            Self::Remote => cpu.wakeups.remote,
            Self::Migrated => cpu.wakeups.migrated,
            Self::Delayed => cpu.wakeups.delayed,
            Self::Queued => cpu.wakeups.queued,
            Self::Probes => cpu.wakeups.probes,
            Self::RemoteLocks => cpu.wakeups.remote_rq_locks,
            Self::ContendedNs => cpu.wakeups.contended_ns,
            Self::Ipis => cpu.wakeups.ipis_sent,
            Self::ServerStarts => cpu.wakeups.server_starts,
            Self::CostNs => cpu.wakeups.cost_ns,
            Self::BusyNs => cpu.counters.busy_ns,
            Self::IdleNs => cpu.counters.idle_ns,
        }
    }
}

/// All of them, each by the piece of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counts([f64; Count::ALL.len()]);

impl Counts {
    /// The sum over some CPUs, by so much work.
    fn of(cpus: &[CpuRecords], work: f64) -> Self {
        let sum = |count: Count| cpus.iter().map(|cpu| count.of(cpu)).sum::<u64>();
        Self(Count::ALL.map(|count| sum(count) as f64 / work))
    }

    fn mean(all: &[Self]) -> Self {
        let mean = |count| all.iter().map(|one| one[count]).sum::<f64>() / all.len() as f64;
        Self(Count::ALL.map(mean))
    }

    /// As `--json` has them.
    pub(super) fn document(&self) -> Value {
        let number = |count: Count| {
            let decimals = if count.is_time() { 1 } else { 4 };
            (count.name().to_owned(), crate::report::decimals(self[count], decimals).into())
        };
        Value::Object(Count::ALL.into_iter().map(number).collect::<Map<_, _>>())
    }
}

impl Index<Count> for Counts {
    type Output = f64;

    fn index(&self, count: Count) -> &f64 {
        &self.0[count as usize]
    }
}

/// What was counted on all CPUs, and on the first few of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Counted {
    /// All CPUs.
    pub(super) all: Counts,
    /// Those that are of interest by themselves.
    pub(super) first: Counts,
}

impl Counted {
    /// That of a run that did so much work; nothing if it did none.
    pub(super) fn of(records: &Records, first_cpus: usize, work: f64) -> Option<Self> {
        let cpus = &records.cpus;
        let counted =
            || Self { all: Counts::of(cpus, work), first: Counts::of(&cpus[..first_cpus], work) };
        (work > 0.0).then(counted)
    }

    /// The mean of several runs; nothing without any.
    pub(super) fn mean(runs: impl Iterator<Item = Self>) -> Option<Self> {
        let (all, first): (Vec<_>, Vec<_>) = runs.map(|run| (run.all, run.first)).unzip();
        (!all.is_empty()).then(|| Self { all: Counts::mean(&all), first: Counts::mean(&first) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_count_has_a_name_and_a_place_of_its_own() {
        let numbers = Count::ALL.map(|count| f64::from(count as u8));
        let document = Counts(numbers).document();
        for count in Count::ALL {
            assert_eq!(document[count.name()], f64::from(count as u8), "{count:?}");
        }
    }

    #[test]
    fn the_mean_is_that_of_each_count() {
        let [low, high] = [1.0, 4.0].map(|value| Counts([value; Count::ALL.len()]));
        let runs = [Counted { all: low, first: low }, Counted { all: high, first: low }];
        let mean = Counted { all: Counts([2.5; Count::ALL.len()]), first: low };
        assert_eq!(Counted::mean(runs.into_iter()), Some(mean));
        assert_eq!(Counted::mean(std::iter::empty()), None);
    }
}
