//! Which tasks may be taken from a queue, and when it is enough.
//!
//! The kernel shows tasks one after the other, those that have not run for the longest first, and
//! takes those it is told to.

use crate::busiest::Migration;
use crate::newidle::MIGRATION_COST_NS;
use crate::view::Idle;

/// How many tasks of a queue are looked at in one pass (`sched_nr_migrate`): its lock is held
/// meanwhile, so the time must not grow with the queue.
const NR_MIGRATE: u32 = 32;

/// What there is to know of a task that might be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Whether it may run on the CPU that takes.
    pub is_allowed: bool,
    /// If not, another one of that CPU's group where it may.
    pub nearby: Option<usize>,
    /// Whether it runs, or its stack is in use still.
    pub is_running: bool,
    /// Whether it sleeps and only repays a debt.
    pub is_delayed: bool,
    /// Whether it is owed time where it is.
    pub is_eligible: bool,
    /// Whether its cache does not matter: it is of SCHED_IDLE.
    pub is_indifferent: bool,
    /// How long ago it ran, ns of the queue's task clock.
    pub idle_for_ns: u64,
    /// Average load.
    pub load: u64,
    /// Estimated util.
    pub util: u64,
}

/// What to do with a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Take it.
    Take,
    /// Leave it where it is.
    Leave,
    /// Leave it, and look no further.
    Stop,
}

/// One pass over a queue.
#[derive(Clone, Debug)]
pub struct Detach {
    migration: Migration,
    idle: Idle,
    failed: u32,
    cache_nice_tries: u32,
    shares_core: bool,
    /// Whether tasks that ran more than their share are left alone at first: the destination has
    /// work, and the version has the rule (6.13).
    spares_indebted: bool,
    looked_at: u32,
    is_enough: bool,
    /// Whether none of those seen may run on the CPU that takes.
    are_all_pinned: bool,
    /// Whether one of them may not.
    is_any_pinned: bool,
    /// Where one of these may run instead.
    nearby: Option<usize>,
}

impl Detach {
    /// A pass after so many that failed.
    pub fn new(
        migration: Migration,
        idle: Idle,
        failed: u32,
        domain: &placement::topology::Domain,
        spares_indebted: bool,
    ) -> Self {
        Self {
            migration,
            idle,
            failed,
            cache_nice_tries: domain.level.cache_nice_tries(),
            shares_core: domain.level == placement::topology::Level::Smt,
            spares_indebted,
            looked_at: 0,
            is_enough: false,
            are_all_pinned: true,
            is_any_pinned: false,
            nearby: None,
        }
    }

    /// Judges the next task of a queue on which so many want to run still.
    pub fn consider(&mut self, nr_runnable: u32, task: &Candidate) -> Verdict {
        // Whoever idles does not take the last one: then the other CPU would.
        let is_last = self.idle != Idle::No && nr_runnable <= 1;
        if self.is_enough || is_last || self.looked_at == NR_MIGRATE {
            return Verdict::Stop;
        }
        self.looked_at += 1;
        if !self.can_migrate(task) {
            return Verdict::Leave;
        }
        let (amount, size) = match &mut self.migration {
            Migration::Load(amount) => (amount, task.load.max(1)),
            Migration::Util(amount) => (amount, task.util),
            Migration::Tasks(amount) => {
                *amount = amount.saturating_sub(1);
                self.is_enough = *amount == 0 || self.idle == Idle::Newly;
                return Verdict::Take;
            }
        };
        // The more often it failed, the larger may be what is taken.
        if size.checked_shr(self.failed).unwrap_or(0) > *amount {
            return Verdict::Leave;
        }
        *amount = amount.saturating_sub(size);
        self.is_enough = *amount == 0 || self.idle == Idle::Newly;
        Verdict::Take
    }

    fn can_migrate(&mut self, task: &Candidate) -> bool {
        if task.is_delayed && !matches!(self.migration, Migration::Load(_)) {
            return false;
        }
        if self.spares_indebted && self.failed == 0 && !task.is_eligible {
            // It may still be taken later, so this is no reason to give the CPU up.
            self.are_all_pinned &= !task.is_allowed;
            return false;
        }
        if !task.is_allowed {
            self.is_any_pinned = true;
            // Who runs dry has no time for others.
            if self.idle != Idle::Newly {
                self.nearby = self.nearby.or(task.nearby);
            }
            return false;
        }
        self.are_all_pinned = false;
        if task.is_running {
            return false;
        }
        let is_hot =
            !task.is_indifferent && !self.shares_core && task.idle_for_ns < MIGRATION_COST_NS;
        !is_hot || self.failed > self.cache_nice_tries
    }

    /// What is to be moved still, if anything (`env->imbalance`).
    fn rest(&self) -> Option<Migration> {
        self.migration.if_any()
    }

    /// Whether a task could not be taken because it is pinned, and more was to be moved: then
    /// groups that look balanced by their numbers are not (`LBF_SOME_PINNED`).
    pub fn is_hampered(&self) -> bool {
        self.is_any_pinned && self.rest().is_some()
    }

    /// The CPU of the taking one's group that may have what is left instead
    /// (`LBF_DST_PINNED`), and that.
    pub fn instead(&self) -> Option<(usize, Migration)> {
        Some((self.nearby?, self.rest()?))
    }

    /// Whether every task seen was pinned elsewhere, so that another CPU should be tried.
    pub fn are_all_pinned(&self) -> bool {
        self.are_all_pinned && self.looked_at > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use placement::topology::{Domain, Level, Span};

    const WAITING: Candidate = Candidate {
        is_allowed: true,
        nearby: None,
        is_running: false,
        is_delayed: false,
        is_eligible: true,
        is_indifferent: false,
        idle_for_ns: 4_000_000,
        load: 1024,
        util: 300,
    };

    fn pass(migration: Migration, idle: Idle, failed: u32, level: Level) -> Detach {
        let domain = Domain { level, span: Span { first: 0, weight: 4 }, group_weight: 1 };
        Detach::new(migration, idle, failed, &domain, true)
    }

    fn judge(migration: Migration, failed: u32, task: Candidate) -> Verdict {
        pass(migration, Idle::No, failed, Level::Llc).consider(5, &task)
    }

    #[test]
    fn as_many_as_are_asked_for() {
        let mut pass = pass(Migration::Tasks(2), Idle::Yes, 0, Level::Llc);
        let verdicts = [3, 3, 2, 2].map(|nr| pass.consider(nr, &WAITING));
        assert_eq!(verdicts, [Verdict::Take, Verdict::Take, Verdict::Stop, Verdict::Stop]);
    }

    #[test]
    fn whoever_runs_dry_takes_one_and_never_the_last() {
        let mut newly = pass(Migration::Tasks(5), Idle::Newly, 0, Level::Llc);
        assert_eq!(newly.consider(9, &WAITING), Verdict::Take);
        assert_eq!(newly.consider(8, &WAITING), Verdict::Stop);
        let mut last = pass(Migration::Tasks(1), Idle::Yes, 0, Level::Llc);
        assert_eq!(last.consider(1, &WAITING), Verdict::Stop);
    }

    /// 512 is to be moved: a task of 1024 is too much at first, its half is not.
    #[test]
    fn failures_make_larger_tasks_acceptable() {
        assert_eq!(judge(Migration::Load(512), 0, WAITING), Verdict::Leave);
        assert_eq!(judge(Migration::Load(512), 1, WAITING), Verdict::Take);
        assert_eq!(judge(Migration::Util(299), 0, WAITING), Verdict::Leave);
        assert_eq!(judge(Migration::Util(300), 0, WAITING), Verdict::Take);
        assert_eq!(judge(Migration::Load(1), 64, WAITING), Verdict::Take);
    }

    #[test]
    fn warm_caches_are_respected_for_a_while() {
        let hot = Candidate { idle_for_ns: 499_999, ..WAITING };
        let one = Migration::Tasks(1);
        for (failed, verdict) in [(0, Verdict::Leave), (1, Verdict::Leave), (2, Verdict::Take)] {
            assert_eq!(judge(one, failed, hot), verdict, "after {failed} failures");
        }
        assert_eq!(judge(one, 0, Candidate { idle_for_ns: 500_000, ..WAITING }), Verdict::Take);
        assert_eq!(judge(one, 0, Candidate { is_indifferent: true, ..hot }), Verdict::Take);
        // Threads of a core share the cache.
        assert_eq!(pass(one, Idle::No, 0, Level::Smt).consider(5, &hot), Verdict::Take);
    }

    #[test]
    fn those_in_debt_stay_at_first_and_sleepers_unless_load_is_moved() {
        let indebted = Candidate { is_eligible: false, ..WAITING };
        assert_eq!(judge(Migration::Tasks(1), 0, indebted), Verdict::Leave);
        assert_eq!(judge(Migration::Tasks(1), 1, indebted), Verdict::Take);
        let delayed = Candidate { is_delayed: true, ..WAITING };
        assert_eq!(judge(Migration::Tasks(1), 9, delayed), Verdict::Leave);
        assert_eq!(judge(Migration::Load(1024), 0, delayed), Verdict::Take);
        assert_eq!(
            judge(Migration::Tasks(1), 9, Candidate { is_running: true, ..WAITING }),
            Verdict::Leave
        );
    }

    #[test]
    fn a_queue_of_pinned_tasks_is_told_from_one_of_hot_ones() {
        let mut pinned = pass(Migration::Tasks(1), Idle::Yes, 0, Level::Llc);
        assert!(!pinned.are_all_pinned(), "nothing seen yet");
        pinned.consider(3, &Candidate { is_allowed: false, ..WAITING });
        assert!(pinned.are_all_pinned());
        pinned.consider(3, &Candidate { idle_for_ns: 0, ..WAITING });
        assert!(!pinned.are_all_pinned());
    }

    /// One of two is taken, the other may go to CPU 3 instead, and one task is left to be moved.
    #[test]
    fn what_is_pinned_may_go_nearby() {
        let pinned = Candidate { is_allowed: false, nearby: Some(3), ..WAITING };
        let mut loose = pass(Migration::Tasks(2), Idle::Yes, 0, Level::Llc);
        assert_eq!(loose.consider(3, &pinned), Verdict::Leave);
        assert_eq!(loose.consider(3, &Candidate { nearby: Some(2), ..pinned }), Verdict::Leave);
        assert_eq!(loose.consider(3, &WAITING), Verdict::Take);
        assert_eq!(loose.instead(), Some((3, Migration::Tasks(1))));
        assert!(loose.is_hampered());
        let mut newly = pass(Migration::Tasks(2), Idle::Newly, 0, Level::Llc);
        newly.consider(3, &pinned);
        assert_eq!((newly.instead(), newly.is_hampered()), (None, true));
        let mut enough = pass(Migration::Tasks(1), Idle::Yes, 0, Level::Llc);
        enough.consider(3, &pinned);
        enough.consider(3, &WAITING);
        assert_eq!((enough.instead(), enough.is_hampered()), (None, false));
    }

    #[test]
    fn a_pass_ends_after_32_tasks() {
        let mut pass = pass(Migration::Tasks(99), Idle::No, 0, Level::Llc);
        let pinned = Candidate { is_allowed: false, ..WAITING };
        for _ in 0..32 {
            assert_eq!(pass.consider(99, &pinned), Verdict::Leave);
        }
        assert_eq!(pass.consider(99, &WAITING), Verdict::Stop);
    }
}
