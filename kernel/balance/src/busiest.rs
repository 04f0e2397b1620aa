//! Whether there is an imbalance, of what kind and how much, and which CPU to take from.

use crate::group::{Group, Kind};
use crate::view::{CpuView, Idle};
use abi::CpuSet;
use placement::Topology;
use placement::topology::{Domain, Span};

/// What is to be moved, and how much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Migration {
    /// Load, in units of weight.
    Load(u64),
    /// Util, of 1024.
    Util(u64),
    /// So many tasks.
    Tasks(u64),
}

impl Migration {
    /// The same, if it is anything at all.
    pub(crate) fn if_any(self) -> Option<Self> {
        let (Self::Load(amount) | Self::Util(amount) | Self::Tasks(amount)) = self;
        (amount > 0).then_some(self)
    }
}

/// Where to take from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busiest {
    /// The CPU.
    pub cpu: usize,
    /// What.
    pub migration: Migration,
}

/// The groups of a domain, as the one that balances sees them.
struct Groups {
    local: Group,
    busiest: Group,
    busiest_span: Span,
    /// Over the whole domain.
    avg_load: u64,
    /// Whether groups are to have the same number of tasks while CPUs are free: they are more than
    /// one CPU each, and the domain below says so (`SD_PREFER_SIBLING`; all here do).
    prefers_sibling: bool,
}

/// From which CPU of `domain` the CPU `this` should take what; `None` if the domain is as balanced
/// as it can be. CPUs in `excluded` had nothing that could be taken; `is_imbalanced` says whether
/// pinned tasks are in the way within the group that begins with a CPU.
pub fn find_busiest(
    topology: &Topology,
    domain: &Domain,
    this: usize,
    idle: Idle,
    excluded: &CpuSet,
    view: impl Fn(usize) -> CpuView,
    is_imbalanced: impl Fn(usize) -> bool,
) -> Option<Busiest> {
    let groups = survey(topology, domain, this, idle, excluded, &view, &is_imbalanced)?;
    let migration = groups.imbalance(domain, idle)?;
    let cpu = busiest_cpu(&groups, migration, this, excluded, view)?;
    Some(Busiest { cpu, migration })
}

fn survey(
    topology: &Topology,
    domain: &Domain,
    this: usize,
    idle: Idle,
    excluded: &CpuSet,
    view: &impl Fn(usize) -> CpuView,
    is_imbalanced: &impl Fn(usize) -> bool,
) -> Option<Groups> {
    let pct = u64::from(domain.level.imbalance_pct());
    let local_span = domain.group_of(this);
    let mut local = None;
    let mut busiest: Option<(Group, Span)> = None;
    let (mut load, mut capacity) = (0, 0);
    let are_cores = topology.has_smt() && domain.group_weight == topology.core(this).weight;
    for span in domain.groups() {
        let cpus = span.cpus().filter(|&cpu| span == local_span || !excluded.contains(cpu));
        let is_offered = span != local_span && idle != Idle::No;
        let is_imbalanced = is_imbalanced(span.first);
        let group = Group::new(cpus.map(view), pct, is_offered, are_cores, is_imbalanced);
        if group.weight == 0 {
            continue;
        }
        load += group.load;
        capacity += group.capacity;
        if span == local_span {
            local = Some(group);
        } else if group.nr_runnable > 0
            && busiest.as_ref().is_none_or(|(busiest, _)| group.is_busier_than(busiest))
        {
            busiest = Some((group, span));
        }
    }
    let (busiest, busiest_span) = busiest?;
    Some(Groups {
        local: local?,
        busiest,
        busiest_span,
        avg_load: load * 1024 / capacity,
        prefers_sibling: domain.group_weight > 1,
    })
}

impl Groups {
    /// What is to be moved to the local group, if anything.
    fn imbalance(&self, domain: &Domain, idle: Idle) -> Option<Migration> {
        let Self { local, busiest, .. } = self;
        let pct = u64::from(domain.level.imbalance_pct());
        if busiest.kind == Kind::Misfit {
            return Some(Migration::Load(busiest.misfit_load));
        }
        // By numbers there may be nothing to move; that is what is wrong.
        if busiest.kind == Kind::Imbalanced {
            return Some(Migration::Tasks(1));
        }
        if local.kind > busiest.kind {
            return None;
        }
        if local.kind == Kind::Overloaded {
            let (mine, theirs) = (local.avg_load(), busiest.avg_load());
            if mine >= theirs || mine >= self.avg_load || 100 * theirs <= pct * mine {
                return None;
            }
        }
        let levels_siblings =
            self.prefers_sibling && local.kind == Kind::HasSpare && self.difference() > 1;
        if !levels_siblings && busiest.kind != Kind::Overloaded {
            // Whoever has work leaves alone what is not too much for others.
            let has_work = idle == Idle::No;
            let is_level = busiest.weight > 1 && local.idle_cpus <= busiest.idle_cpus + 1;
            if has_work || is_level || busiest.nr_runnable == 1 {
                return None;
            }
        }
        self.amount(domain, idle).if_any()
    }

    fn amount(&self, domain: &Domain, idle: Idle) -> Migration {
        let Self { local, busiest, .. } = self;
        if busiest.kind == Kind::SmtBalance {
            return Migration::Tasks(1);
        }
        if local.kind == Kind::HasSpare {
            if busiest.kind > Kind::FullyBusy && !domain.level.shares_cache() {
                return match local.capacity.saturating_sub(local.util) {
                    0 if idle != Idle::No => Migration::Tasks(1),
                    spare => Migration::Util(spare),
                };
            }
            let difference = if busiest.weight == 1 || self.prefers_sibling {
                self.difference()
            } else {
                local.idle_cpus.saturating_sub(busiest.idle_cpus).into()
            };
            return Migration::Tasks(difference / 2);
        }
        // All CPUs are busy, so loads count: as much as brings both no further than the average.
        let mine = local.avg_load();
        let deficit = self.avg_load.saturating_sub(mine) * local.capacity;
        let excess = busiest.avg_load().saturating_sub(self.avg_load) * busiest.capacity;
        Migration::Load(deficit.min(excess) / 1024)
    }

    /// How many tasks more the busiest group has.
    fn difference(&self) -> u64 {
        let (mine, theirs) = (self.local.nr_runnable, self.busiest.nr_runnable);
        match theirs.saturating_sub(mine) {
            // A whole group stands empty.
            1 if mine == 0 && theirs > 1 => 2,
            difference => difference.into(),
        }
    }
}

/// The CPU of the busiest group that has most of what is to be moved.
fn busiest_cpu(
    groups: &Groups,
    migration: Migration,
    this: usize,
    excluded: &CpuSet,
    view: impl Fn(usize) -> CpuView,
) -> Option<usize> {
    let capacity_here = view(this).capacity;
    let cpus = groups.busiest_span.cpus().filter(|&cpu| !excluded.contains(cpu));
    let candidates = cpus.map(|cpu| (cpu, view(cpu))).filter(|(_, cpu)| cpu.nr_runnable > 0);
    // Of equals the first one.
    let mut best: Option<(usize, CpuView)> = None;
    for (number, cpu) in candidates {
        let is_better = match migration {
            Migration::Load(amount) => {
                let is_single = cpu.nr_runnable == 1 && cpu.load > amount;
                let is_squeezed = cpu.capacity * 100 < capacity_here * 85;
                (!is_single || is_squeezed)
                    && best.is_none_or(|(_, other)| {
                        cpu.load * other.capacity > other.load * cpu.capacity
                    })
            }
            Migration::Util(_) => {
                cpu.nr_runnable > 1 && best.is_none_or(|(_, other)| cpu.util > other.util)
            }
            Migration::Tasks(_) => {
                best.is_none_or(|(_, other)| cpu.nr_runnable > other.nr_runnable)
            }
        };
        if is_better {
            best = Some((number, cpu));
        }
    }
    best.map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi::TopologySpec;
    use placement::topology::Level;
    use std::vec::Vec;

    /// CPUs that have run so many tasks of nice 0 for long.
    fn settled(nr: &[u32]) -> Vec<CpuView> {
        let cpu = |&nr_runnable: &u32| CpuView {
            nr_runnable,
            is_idle: nr_runnable == 0,
            load: u64::from(nr_runnable) * 1024,
            runnable: u64::from(nr_runnable) * 1024,
            util: u64::from(nr_runnable.min(1)) * 1024,
            capacity: 1024,
        };
        nr.iter().map(cpu).collect()
    }

    fn flat(cpus: &[CpuView], this: usize, idle: Idle) -> Option<Busiest> {
        let count = cpus.len() as u32;
        let topology = Topology::new(TopologySpec::flat(count), count);
        let domain = topology.domain(this, Level::Llc).expect("more than one CPU");
        find(&topology, &domain, this, idle, cpus)
    }

    /// With no CPU excluded, and no pinned task in the way.
    fn find(
        topology: &Topology,
        domain: &Domain,
        this: usize,
        idle: Idle,
        cpus: &[CpuView],
    ) -> Option<Busiest> {
        find_busiest(topology, domain, this, idle, &CpuSet::EMPTY, |cpu| cpus[cpu], |_| false)
    }

    #[test]
    fn an_idle_cpu_takes_half_the_difference() {
        let tasks = |count| Some(Migration::Tasks(count));
        let taken =
            |nr: &[u32], this| flat(&settled(nr), this, Idle::Yes).map(|b| (b.cpu, b.migration));
        assert_eq!(taken(&[1, 0, 2, 1], 1), tasks(1).map(|m| (2, m)));
        assert_eq!(taken(&[0, 6], 0), tasks(3).map(|m| (1, m)));
        assert_eq!(taken(&[0, 3, 3], 0), tasks(1).map(|m| (1, m)), "of equals the first");
        assert_eq!(taken(&[0, 1], 0), None, "one task is not two");
        assert_eq!(taken(&[0, 0], 0), None);
    }

    /// 1024 against 2048: 512 on either side of the average.
    #[test]
    fn a_busy_cpu_takes_load_from_an_overloaded_one() {
        let nr = settled(&[1, 2]);
        let expected = Busiest { cpu: 1, migration: Migration::Load(512) };
        assert_eq!(flat(&nr, 0, Idle::No), Some(expected));
        assert_eq!(flat(&nr, 1, Idle::No), None);
        assert_eq!(flat(&settled(&[2, 2]), 0, Idle::No), None);
        // 3 tasks against 4 differ by more than 17 %, but not from the average.
        let expected = Busiest { cpu: 1, migration: Migration::Load(512) };
        assert_eq!(flat(&settled(&[3, 4]), 0, Idle::No), Some(expected));
        assert_eq!(flat(&settled(&[6, 7]), 0, Idle::No), None, "within 17 %");
    }

    /// Two that have just come are no overload yet, and a busy CPU leaves them alone; an idle one
    /// does not.
    #[test]
    fn what_is_new_is_left_to_idle_cpus() {
        let mut cpus = settled(&[1, 2]);
        cpus[1].runnable = 600;
        cpus[1].util = 600;
        assert_eq!(flat(&cpus, 0, Idle::No), None);
        cpus[0] = settled(&[0])[0];
        assert!(flat(&cpus, 0, Idle::Newly).is_some());
    }

    #[test]
    fn excluded_cpus_are_not_taken_from() {
        let cpus = settled(&[0, 3, 2]);
        let topology = Topology::new(TopologySpec::flat(3), 3);
        let domain = topology.domain(0, Level::Llc).expect("three CPUs");
        let find = |excluded: &[usize]| {
            let excluded = excluded.iter().copied().collect();
            find_busiest(&topology, &domain, 0, Idle::Yes, &excluded, |cpu| cpus[cpu], |_| false)
                .map(|b| b.cpu)
        };
        assert_eq!((find(&[]), find(&[1]), find(&[1, 2])), (Some(1), Some(2), None));
    }

    /// Two cores of two threads: an idle core takes one of two tasks that share the other core, but
    /// a core with one idle thread does not: threads of a core are all alike here.
    #[test]
    fn tasks_spread_over_cores_before_threads() {
        let spec = TopologySpec { core: 2, cluster: 2, llc: 4, package: 4 };
        let topology = Topology::new(spec, 4);
        let domain = topology.domain(0, Level::Llc).expect("two cores");
        let find = |nr: &[u32]| find(&topology, &domain, 0, Idle::Yes, &settled(nr));
        assert_eq!(find(&[0, 0, 1, 1]), Some(Busiest { cpu: 2, migration: Migration::Tasks(1) }));
        assert_eq!(find(&[0, 1, 1, 1]), None);
        assert_eq!(find(&[0, 0, 1, 0]), None);
    }

    /// Two groups of two CPUs with two tasks each look level; not if pinned tasks are in the way
    /// within one of them.
    #[test]
    fn a_group_that_cannot_be_balanced_gives_a_task() {
        let spec = TopologySpec { core: 1, cluster: 1, llc: 2, package: 4 };
        let topology = Topology::new(spec, 4);
        let domain = topology.domain(0, Level::Package).expect("two caches");
        let cpus = settled(&[1, 1, 0, 2]);
        let find = |noted: &[usize]| {
            let is_imbalanced = |first| noted.contains(&first);
            let nobody = &CpuSet::EMPTY;
            find_busiest(&topology, &domain, 0, Idle::No, nobody, |cpu| cpus[cpu], is_imbalanced)
        };
        assert_eq!(find(&[]), None);
        assert_eq!(find(&[2]), Some(Busiest { cpu: 3, migration: Migration::Tasks(1) }));
        assert_eq!(find(&[0]), None, "its own group is none to take from");
    }

    /// Across caches what is free is filled up with util.
    #[test]
    fn across_caches_spare_capacity_is_filled() {
        let spec = TopologySpec { core: 1, cluster: 1, llc: 2, package: 4 };
        let topology = Topology::new(spec, 4);
        let domain = topology.domain(0, Level::Package).expect("two caches");
        let cpus = settled(&[0, 1, 3, 2]);
        let found = find(&topology, &domain, 0, Idle::Yes, &cpus);
        assert_eq!(found, Some(Busiest { cpu: 2, migration: Migration::Util(1024) }));
    }

    /// A real-time hog leaves CPU 1 a thousandth: an idle CPU takes its only fair task, and a busy
    /// one takes one of two.
    #[test]
    fn a_cpu_under_real_time_load_is_taken_from() {
        let mut cpus = settled(&[0, 1]);
        cpus[1].capacity = 1;
        let expected = Busiest { cpu: 1, migration: Migration::Load(1024) };
        assert_eq!(flat(&cpus, 0, Idle::Newly), Some(expected));
        cpus[0] = settled(&[1])[0];
        assert_eq!(flat(&cpus, 0, Idle::No), None, "one task each");
        cpus[1].nr_runnable = 2;
        assert_eq!(flat(&cpus, 0, Idle::No).map(|b| b.cpu), Some(1));
    }
}
