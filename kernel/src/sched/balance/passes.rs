//! What is counted of the passes over one domain, for whom they were made (Linux: the `lb_*` and
//! `alb_*` of `struct sched_domain`, printed by `/proc/schedstat`).

use ::balance::{Idle, Outcome};
use abi::record;

/// Passes of one type of idleness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    count: u64,
    /// Nothing was to be evened out, or it is another CPU's business.
    balanced: u64,
    /// Something was, and nothing could be moved.
    failed: u64,
    /// Tasks moved.
    gained: u64,
}

/// All passes over a domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passes {
    /// By [`Idle`].
    by_idle: [Tally; 3],
    /// Running tasks that others were asked to push.
    pushes: u64,
}

impl Passes {
    /// One more.
    pub(super) fn note(&mut self, idle: Idle, outcome: Outcome, moved: u64) {
        let tally = &mut self.by_idle[idle as usize];
        tally.count += 1;
        // Linux takes what is pinned for balanced.
        tally.balanced += u64::from(matches!(outcome, Outcome::Balanced | Outcome::Pinned));
        let is_in_vain = matches!(outcome, Outcome::Failed | Outcome::Pushed);
        tally.failed += u64::from(is_in_vain);
        tally.gained += moved;
        self.pushes += u64::from(outcome == Outcome::Pushed);
    }

    /// As they are reported.
    pub(crate) fn record(&self, cpu: u32, domain: u32) -> record::Domain {
        let [busy, idle, newly_idle] =
            [Idle::No, Idle::Yes, Idle::Newly].map(|idle| self.by_idle[idle as usize]);
        record::Domain {
            cpu,
            domain,
            busy: busy.count,
            busy_balanced: busy.balanced,
            busy_failed: busy.failed,
            busy_gained: busy.gained,
            idle: idle.count,
            idle_balanced: idle.balanced,
            idle_failed: idle.failed,
            idle_gained: idle.gained,
            newly_idle: newly_idle.count,
            newly_idle_balanced: newly_idle.balanced,
            newly_idle_failed: newly_idle.failed,
            newly_idle_gained: newly_idle.gained,
            pushes: self.pushes,
        }
    }
}
