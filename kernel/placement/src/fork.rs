//! Where a new task starts (Linux: the slow path of `select_task_rq_fair()`, for a fork).
//!
//! Domain by domain from the top: the idlest group, in it the idlest CPU, and from that CPU on
//! with the domains below, until nothing idler is found.
//!
//! The allowance that Linux makes for imbalance between NUMA nodes is not here: there are none.

use crate::topology::{Domain, Span};
use crate::{Snapshot, Topology};
use abi::CpuSet;

/// What a CPU can do.
const CAPACITY: u64 = 1024;
/// The load of one task of nice 0 that always wants to run.
const NICE_0_LOAD: u64 = 1024;

/// Chooses a CPU for a new task that the one on `this` made; `this` if it may not run in any
/// domain above.
pub fn select(cpus: &impl Snapshot, topology: &Topology, this: usize, allowed: &CpuSet) -> usize {
    let mut cpu = this;
    // Weights shrink with every round, so this ends.
    let mut weight = usize::MAX;
    loop {
        let below = topology.domains(cpu).rev().find(|domain| domain.span.weight < weight);
        let Some(domain) = below else { return cpu };
        weight = domain.span.weight;
        if let Some(group) = idlest_group(cpus, &domain, cpu, allowed) {
            cpu = idlest_cpu(cpus, group, cpu, allowed);
        }
    }
}

/// How busy a group is, the least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Busy {
    HasSpare,
    Fully,
    Overloaded,
}

struct Group {
    busy: Busy,
    idle_cpus: u32,
    util: u64,
    /// Load for the capacity of one CPU.
    avg_load: u64,
}

impl Group {
    fn of(cpus: &impl Snapshot, span: Span, imbalance_pct: u64) -> Self {
        let (mut tasks, mut idle_cpus) = (0, 0);
        let (mut load, mut util, mut runnable) = (0, 0, 0);
        for cpu in span.cpus() {
            tasks += u64::from(cpus.nr_queued(cpu) - cpus.nr_delayed(cpu));
            idle_cpus += u32::from(cpus.is_idle(cpu));
            load += cpus.load(cpu);
            util += cpus.util(cpu);
            runnable += cpus.runnable(cpu);
        }
        let weight = span.weight as u64;
        let capacity = weight * CAPACITY;
        let is_crowded = runnable * 100 > capacity * imbalance_pct;
        let used = (util * imbalance_pct).cmp(&(capacity * 100));
        let busy = if tasks > weight && (is_crowded || used.is_gt()) {
            Busy::Overloaded
        } else if tasks < weight || !is_crowded && used.is_lt() {
            Busy::HasSpare
        } else {
            Busy::Fully
        };
        Self { busy, idle_cpus, util, avg_load: load * CAPACITY / capacity }
    }

    /// Whether this one is idler than another, neither of them the one where the parent is.
    fn is_idler(&self, other: &Self) -> bool {
        if self.busy != other.busy {
            return self.busy < other.busy;
        }
        match self.busy {
            Busy::HasSpare if self.idle_cpus == other.idle_cpus => self.util < other.util,
            Busy::HasSpare => self.idle_cpus > other.idle_cpus,
            Busy::Fully | Busy::Overloaded => self.avg_load < other.avg_load,
        }
    }

    /// Whether it is worth leaving the parent's group for this one.
    fn beats_local(&self, local: &Self, imbalance_pct: u64) -> bool {
        if self.busy != local.busy {
            return self.busy < local.busy;
        }
        match self.busy {
            Busy::HasSpare => self.idle_cpus > local.idle_cpus,
            // By more than a part of one task, and more than a part of the load.
            Busy::Fully | Busy::Overloaded => {
                let margin = NICE_0_LOAD * (imbalance_pct - 100) / 100;
                self.avg_load + margin < local.avg_load
                    && imbalance_pct * self.avg_load < 100 * local.avg_load
            }
        }
    }
}

/// The group to start in, unless it is the one that `cpu` is in.
fn idlest_group(
    cpus: &impl Snapshot,
    domain: &Domain,
    cpu: usize,
    allowed: &CpuSet,
) -> Option<Span> {
    let pct = u64::from(domain.level.imbalance_pct());
    let local_span = domain.group_of(cpu);
    let is_allowed = |span: &Span| span.cpus().any(|cpu| allowed.contains(cpu));
    let local = is_allowed(&local_span).then(|| Group::of(cpus, local_span, pct));
    let mut idlest: Option<(Span, Group)> = None;
    for span in domain.groups().filter(|span| *span != local_span && is_allowed(span)) {
        let group = Group::of(cpus, span, pct);
        if idlest.as_ref().is_none_or(|(_, best)| group.is_idler(best)) {
            idlest = Some((span, group));
        }
    }
    let (span, group) = idlest?;
    match local {
        Some(local) if !group.beats_local(&local, pct) => None,
        _ => Some(span),
    }
}

/// The CPU of a group to start on: one with SCHED_IDLE tasks only, else the one that went idle
/// last, else the one with the least load.
fn idlest_cpu(cpus: &impl Snapshot, group: Span, this: usize, allowed: &CpuSet) -> usize {
    let mut warmest: Option<(u64, usize)> = None;
    let mut lightest: Option<(u64, usize)> = None;
    for cpu in group.cpus().filter(|&cpu| allowed.contains(cpu)) {
        if cpus.is_sched_idle(cpu) {
            return cpu;
        }
        if cpus.is_idle(cpu) {
            let since = cpus.idle_since_ns(cpu);
            if warmest.is_none_or(|(latest, _)| since > latest) {
                warmest = Some((since, cpu));
            }
        } else if warmest.is_none() {
            let load = cpus.load(cpu);
            if lightest.is_none_or(|(least, _)| load < least) {
                lightest = Some((load, cpu));
            }
        }
    }
    warmest.or(lightest).map_or(this, |(_, cpu)| cpu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::tests::Cpus;
    use abi::TopologySpec;

    /// 2 caches of 2 cores of 2 threads.
    fn topology() -> Topology {
        Topology::new(TopologySpec { core: 2, cluster: 2, llc: 4, package: 8 }, 8)
    }

    fn chosen(cpus: &Cpus, this: usize) -> usize {
        select(cpus, &topology(), this, &CpuSet::first(8))
    }

    /// The parent's cache has three idle CPUs, the other four; there, the first core, and in it
    /// the CPU that went idle last.
    #[test]
    fn the_cache_with_more_idle_cpus_and_there_the_warmest() {
        let mut cpus = Cpus::idle().busy([0]);
        cpus.idle_since_ns[5] = 7;
        assert_eq!(chosen(&cpus, 0), 5);
    }

    /// As many idle CPUs on both sides: the parent's, and there the core that is idle altogether.
    #[test]
    fn a_tie_stays_in_the_parents_cache() {
        let cpus = Cpus::idle().busy([0, 4]);
        assert_eq!(chosen(&cpus, 0), 2);
        assert_eq!(chosen(&cpus, 4), 6);
    }

    /// Half the other cache is lighter: 1536 for each of its CPUs, 2048 for the parent's. One queue
    /// alone is not: 1792 is within 17 % of 2048.
    #[test]
    fn without_idle_cpus_the_lightest_queue() {
        let mut cpus = Cpus::idle().busy(0..8);
        assert_eq!(chosen(&cpus, 3), 3, "nowhere is better than here");
        for cpu in 0..8 {
            cpus.queued[cpu] = 2;
            cpus.load[cpu] = 2048;
        }
        (cpus.queued[6], cpus.load[6]) = (1, 1024);
        assert_eq!(chosen(&cpus, 0), 0);
        (cpus.queued[7], cpus.load[7]) = (1, 1024);
        assert_eq!(chosen(&cpus, 0), 6);
    }

    #[test]
    fn only_allowed_cpus_are_chosen() {
        let cpus = Cpus::idle().busy([0]);
        let allowed = [1, 3].into_iter().collect();
        assert_eq!(select(&cpus, &topology(), 0, &allowed), 3, "the idle core");
        assert_eq!(select(&cpus, &topology(), 6, &CpuSet::only(0)), 0);
    }

    /// It runs whatever is put beside it at once, and no CPU has to wake up.
    #[test]
    fn sched_idle_tasks_make_room() {
        let mut cpus = Cpus::idle().busy(0..8);
        cpus.queued[5] = 0;
        cpus.queued[4] = 1;
        cpus.sched_idle = CpuSet::only(4);
        assert_eq!(idlest_cpu(&cpus, Span { first: 4, weight: 2 }, 0, &CpuSet::first(8)), 4);
    }
}
