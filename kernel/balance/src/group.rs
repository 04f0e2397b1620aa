//! What kind of busy a group of CPUs is.
//!
//! The kinds are ordered: a group that is further along has more to give. Only within a kind are
//! loads compared.

use crate::view::CpuView;

/// Kinds of busy, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// More could run.
    HasSpare,
    /// All of it is used, and nobody waits for long.
    FullyBusy,
    /// A task is on a CPU of which real-time tasks leave too little (`group_misfit_task`).
    Misfit,
    /// Threads of one core compete while another core has none (`group_smt_balance`).
    SmtBalance,
    /// Pinned tasks kept its CPUs from being balanced among each other (`group_imbalanced`).
    Imbalanced,
    /// More wants to run than can.
    Overloaded,
}

/// A group's CPUs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) kind: Kind,
    pub(crate) weight: u32,
    pub(crate) nr_runnable: u32,
    pub(crate) idle_cpus: u32,
    pub(crate) load: u64,
    pub(crate) util: u64,
    pub(crate) capacity: u64,
    /// The heaviest load of a CPU of which too little is left.
    pub(crate) misfit_load: u64,
}

impl Group {
    /// Sums up. `is_offered` if whoever looks is idle and not one of them; `is_shared_core` if they
    /// are threads of one core besides; `is_imbalanced` if pinned tasks are in the way among them.
    pub(crate) fn new(
        cpus: impl Iterator<Item = CpuView>,
        imbalance_pct: u64,
        is_offered: bool,
        is_shared_core: bool,
        is_imbalanced: bool,
    ) -> Self {
        let mut group = Self {
            kind: Kind::HasSpare,
            weight: 0,
            nr_runnable: 0,
            idle_cpus: 0,
            load: 0,
            util: 0,
            capacity: 0,
            misfit_load: 0,
        };
        let mut runnable = 0;
        for cpu in cpus {
            group.weight += 1;
            group.nr_runnable += cpu.nr_runnable;
            group.idle_cpus += u32::from(cpu.is_idle);
            group.load += cpu.load;
            group.util += cpu.util;
            group.capacity += cpu.capacity;
            runnable += cpu.runnable;
            let is_reduced = cpu.capacity * imbalance_pct < CpuView::WHOLE * 100;
            if is_offered && is_reduced && cpu.nr_runnable > 0 {
                group.misfit_load = group.misfit_load.max(cpu.load);
            }
        }
        let Self { weight, nr_runnable, util, capacity, .. } = group;
        let is_used_up = capacity * 100 < util * imbalance_pct;
        let is_waited_for = capacity * imbalance_pct < runnable * 100;
        let has_room = capacity * 100 > util * imbalance_pct && !is_waited_for;
        group.kind = if nr_runnable > weight && (is_used_up || is_waited_for) {
            Kind::Overloaded
        } else if is_imbalanced {
            Kind::Imbalanced
        } else if is_offered && is_shared_core && nr_runnable > 1 {
            Kind::SmtBalance
        } else if group.misfit_load > 0 {
            Kind::Misfit
        } else if nr_runnable < weight || has_room {
            Kind::HasSpare
        } else {
            Kind::FullyBusy
        };
        group
    }

    /// Load by capacity; 1024 is a task of nice 0 on each CPU.
    pub(crate) fn avg_load(&self) -> u64 {
        self.load * 1024 / self.capacity
    }

    /// Whether this one is the better one to take from.
    pub(crate) fn is_busier_than(&self, other: &Self) -> bool {
        if self.kind != other.kind {
            return self.kind > other.kind;
        }
        match self.kind {
            Kind::Overloaded => self.avg_load() > other.avg_load(),
            Kind::Misfit => self.misfit_load > other.misfit_load,
            // They are all the same, so the first one does.
            Kind::Imbalanced => false,
            Kind::FullyBusy | Kind::SmtBalance => self.avg_load() >= other.avg_load(),
            Kind::HasSpare => {
                let rank = |group: &Self| (core::cmp::Reverse(group.idle_cpus), group.nr_runnable);
                rank(self) > rank(other)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(nr_runnable: u32, util: u64) -> CpuView {
        let wanted = u64::from(nr_runnable) * 1024;
        CpuView {
            nr_runnable,
            is_idle: nr_runnable == 0,
            load: wanted,
            runnable: wanted,
            util,
            capacity: 1024,
        }
    }

    fn group(cpus: &[CpuView]) -> Group {
        Group::new(cpus.iter().copied(), 117, false, false, false)
    }

    #[test]
    fn kinds_of_busy() {
        assert_eq!(group(&[cpu(0, 0), cpu(1, 1024)]).kind, Kind::HasSpare);
        assert_eq!(group(&[cpu(1, 1024), cpu(1, 1024)]).kind, Kind::FullyBusy);
        assert_eq!(group(&[cpu(1, 1024), cpu(2, 1024)]).kind, Kind::Overloaded);
        // Nobody waited for long yet: 2 tasks with a short past.
        let fresh = CpuView { runnable: 700, util: 700, ..cpu(2, 0) };
        assert_eq!(group(&[fresh]).kind, Kind::HasSpare);
        let shared = Group::new([cpu(1, 1024), cpu(1, 1024)].into_iter(), 117, true, true, false);
        assert_eq!(shared.kind, Kind::SmtBalance);
    }

    #[test]
    fn real_time_tasks_take_capacity_away() {
        let squeezed = CpuView { capacity: 1, ..cpu(1, 0) };
        assert_eq!(group(&[squeezed]).kind, Kind::FullyBusy);
        assert_eq!(group(&[squeezed]).avg_load(), 1024 * 1024);
        let offered = Group::new([squeezed].into_iter(), 117, true, false, false);
        assert_eq!((offered.kind, offered.misfit_load), (Kind::Misfit, 1024));
    }

    #[test]
    fn the_further_kind_is_busier_whatever_the_load() {
        let overloaded = group(&[CpuView { load: 30, ..cpu(2, 1024) }]);
        let heavy = group(&[CpuView { load: 88_761, ..cpu(1, 1024) }]);
        assert!(overloaded.is_busier_than(&heavy) && !heavy.is_busier_than(&overloaded));
        let spare = group(&[cpu(0, 0), cpu(1, 1024)]);
        let less_spare = group(&[cpu(0, 0), cpu(1, 1024), cpu(2, 1024)]);
        assert!(less_spare.is_busier_than(&spare));
    }
}
