//! The wakeup test: does a woken entity preempt the running one?
//!
//! It asks for a reschedule; the choice is made again by the pick that follows. What changed most
//! between versions is not the question "would it be picked" but who is let in to ask it.
//!
//! Source: `check_preempt_wakeup_fair()`, later `wakeup_preempt_fair()`; "sched/eevdf: Allow
//! shorter slices to wakeup-preempt".

use crate::entity::{EntityId, Policy};
use crate::feature::Feature;
use crate::node::Node;
use crate::runqueue::{Resched, RunQueue};
use crate::time::before;
use crate::variant::{
    BuddyPick, DelayedInTest, DelayedWakee, ForkWakee, IdleCurr, NextBuddyRule, PendingResched,
    ProtectShrink, ReschedRule, ShortWakee,
};

/// How long a synchronous waker runs on before its wakee may preempt it (the migration cost).
const SYNC_RUN_NS: u64 = 500_000;

/// The circumstances of a wake-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Wake {
    /// The entity was forked just now.
    pub fork: bool,
    /// The waker is about to sleep.
    pub sync: bool,
    /// This CPU was chosen for the wakee by a search, so that the two share it by intent.
    pub cpu_selected: bool,
}

impl<S: AsRef<[Node]> + AsMut<[Node]>> RunQueue<S> {
    /// Tests whether `id`, queued just now, preempts the running entity. Returns the strongest
    /// reschedule asked for since the last pick. With nothing running the answer is `Full`.
    ///
    /// # Panics
    ///
    /// If `id` is not queued.
    pub fn wakeup_preempt(&mut self, id: EntityId, how: Wake, now: u64) -> Resched {
        self.assert_queued(id, "tested for preemption");
        match self.curr() {
            None => self.request(ReschedRule::Full),
            Some(curr) if curr != id && self.preempts(id, curr, how, now) => {
                self.request(self.rules.variant.resched)
            }
            Some(_) => {}
        }
        self.resched
    }

    fn preempts(&mut self, wakee: EntityId, curr: EntityId, how: Wake, now: u64) -> bool {
        let rules = self.rules;
        let variant = rules.variant;
        let is_delayed = self.entity_of(wakee).is_delayed;
        if variant.next_buddy == NextBuddyRule::AnyWakee
            && !how.fork
            && rules.has(Feature::NextBuddy)
        {
            self.set_next_buddy(wakee);
        }

        let goes_on = variant.pending_resched == PendingResched::EndsTestUnlessShort
            && rules.has(Feature::PreemptShort);
        if self.resched == Resched::Full && !goes_on {
            return false;
        }
        let (wakee_policy, curr_policy) =
            (self.entity_of(wakee).attr.policy, self.entity_of(curr).attr.policy);
        let is_enabled = rules.has(Feature::WakeupPreemption);
        if !is_enabled && variant.idle_curr != IdleCurr::PreemptedAlways {
            return false;
        }
        if curr_policy == Policy::Idle && wakee_policy != Policy::Idle {
            if variant.idle_curr == IdleCurr::PreemptedUnprotected {
                self.cancel_protection();
            }
            return true;
        }
        if !is_enabled {
            return false;
        }
        if wakee_policy != Policy::Normal {
            return self.refuse();
        }

        self.charge(now);
        if is_delayed && variant.delayed_wakee == DelayedWakee::Refused {
            return self.refuse();
        }
        let is_short = self.is_short_wakee(wakee, curr);
        if !is_short {
            if how.fork && variant.fork_wakee == ForkWakee::RefusedUnlessShort {
                return self.refuse();
            }
            if is_delayed && variant.delayed_wakee == DelayedWakee::RefusedUnlessShort {
                return self.refuse();
            }
            if self.becomes_buddy(wakee) && how.sync {
                return self.preempts_sync_waker(wakee, curr, how);
            }
        }

        self.wins(wakee, is_short)
    }

    /// Picks with the wakee in the queue, and does what the outcome asks for.
    fn wins(&mut self, wakee: EntityId, is_short: bool) -> bool {
        let variant = self.rules.variant;
        let winner = self.pick_in_test(!is_short);
        if winner == Some(wakee) {
            if is_short {
                self.cancel_protection();
                if variant.buddy_pick == BuddyPick::ProtectedPick && self.next_buddy != Some(wakee)
                {
                    self.next_buddy = None;
                }
            }
            return true;
        }
        if is_short
            && variant.short_wakee == ShortWakee::PreemptsIfEligible
            && self.is_eligible(wakee)
            && self.set_next_buddy(wakee)
        {
            // The pick would go to somebody else who waits with an earlier deadline; as the next
            // buddy the short one is served first.
            self.cancel_protection();
            return true;
        }
        self.shrink_after_losing(is_short);
        false
    }

    /// Refuses a wakee before any pick.
    fn refuse(&mut self) -> bool {
        if self.rules.variant.protect_shrink == ProtectShrink::EveryWakee {
            self.shrink_protection();
        }
        false
    }

    /// Tells whether the test is to ignore protection because the wakee's slice is shorter.
    fn is_short_wakee(&mut self, wakee: EntityId, curr: EntityId) -> bool {
        let (p, c) = (self.entity_of(wakee), self.entity_of(curr));
        if !self.rules.has(Feature::PreemptShort) || p.slice_ns >= c.slice_ns {
            return false;
        }
        match self.rules.variant.short_wakee {
            ShortWakee::Ignored => false,
            ShortWakee::CancelsProtection => {
                let is_earlier = before(p.deadline, c.deadline);
                if self.is_eligible(wakee) && (is_earlier || !self.is_eligible(curr)) {
                    self.cancel_protection();
                }
                false
            }
            ShortWakee::PicksUnprotected | ShortWakee::PreemptsIfEligible => true,
        }
    }

    /// Remembers the wakee under the rule that keeps the earliest deadline; tells whether it did.
    fn becomes_buddy(&mut self, wakee: EntityId) -> bool {
        if self.rules.variant.next_buddy != NextBuddyRule::EarliestDeadline
            || !self.rules.has(Feature::NextBuddy)
        {
            return false;
        }
        let deadline = self.entity_of(wakee).deadline;
        let is_earliest =
            self.next_buddy.is_none_or(|buddy| before(deadline, self.entity_of(buddy).deadline));
        is_earliest && self.set_next_buddy(wakee)
    }

    /// Lets a waker that is about to sleep finish, within reason (order of the two tests deduced,
    /// not checked against a tree).
    fn preempts_sync_waker(&self, wakee: EntityId, curr: EntityId, how: Wake) -> bool {
        let allowance_ns = if how.cpu_selected { SYNC_RUN_NS / 4 } else { SYNC_RUN_NS };
        let (p, c) = (self.entity_of(wakee), self.entity_of(curr));
        let ran_ns = self.running.map_or(0, |running| c.sum_exec_ns - running.sum_exec_at_pick_ns);
        ran_ns >= allowance_ns && before(p.deadline, c.deadline)
    }

    /// Picks as the next reschedule would, delayed entities aside.
    fn pick_in_test(&mut self, honours_protection: bool) -> Option<EntityId> {
        loop {
            let (winner, _) = self.pick(honours_protection, false)?;
            if !self.entity_of(winner).is_delayed
                || self.rules.variant.delayed_in_test == DelayedInTest::Wins
            {
                return Some(winner);
            }
            self.park(winner);
        }
    }
}
