//! The pick: the eligible entity with the earliest deadline, and the exceptions.
//!
//! Since V is an average of vruntimes, one entity at least is not right of it, so something is
//! always eligible. If not, the sums are corrupt, and going on would run on a lie.
//!
//! Source: TR-95-22, section 2; `pick_eevdf()`, `pick_next_entity()`.

use crate::entity::{Entity, EntityId};
use crate::feature::Feature;
use crate::node::{Node, Place};
use crate::protect::Guard;
use crate::runqueue::{Resched, RunQueue, Running};
use crate::time::before;
use crate::variant::BuddyPick;

/// What the CPU is to do.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Run this entity, which may be the one that runs already.
    Run {
        /// Whom to run.
        id: EntityId,
        /// Why this one.
        reason: PickReason,
    },
    /// A delayed entity repaid its debt and left: it sleeps for good now. Call again.
    Flush {
        /// Who left.
        id: EntityId,
        /// With what.
        entity: Entity,
    },
    /// Nothing is queued.
    Idle,
}

/// Why an entity was picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PickReason {
    /// It is the only one; eligibility is not asked.
    Only,
    /// It is the next buddy and eligible.
    Buddy,
    /// It runs, is eligible and still protected.
    Protected,
    /// It has the earliest deadline of all that are eligible.
    EarliestDeadline,
}

impl<S: AsRef<[Node]> + AsMut<[Node]>> RunQueue<S> {
    /// Puts the running entity back, picks, and sets the pick running. Clears all requests to reschedule.
    pub fn pick_next(&mut self, now: u64) -> Pick {
        if let Some((id, entity)) = self.take_parked() {
            return Pick::Flush { id, entity };
        }
        self.charge(now);
        let Some((id, reason)) = self.pick(true, true) else {
            self.resched = Resched::No;
            return Pick::Idle;
        };
        if self.entity_of(id).is_delayed {
            return Pick::Flush { id, entity: self.finish_delayed(id) };
        }
        self.resched = Resched::No;
        self.clear_buddy(id);
        if !self.is_running(id) {
            self.switch_to(id, now);
        }
        Pick::Run { id, reason }
    }

    /// Puts the running entity back among those that wait, without a pick: another class gets the
    /// CPU. It keeps its place, but not its protection.
    pub fn put_curr(&mut self, now: u64) {
        self.charge(now);
        if let Some(running) = self.running.take() {
            self.hang(running.id);
        }
    }

    /// Picks, honouring protection or not; `is_real` is false in a wakeup test.
    pub(crate) fn pick(
        &self,
        honours_protection: bool,
        is_real: bool,
    ) -> Option<(EntityId, PickReason)> {
        if self.nr_queued() == 1 {
            let only = self.curr().unwrap_or(EntityId(self.tree.leftmost(self.nodes.as_ref())));
            return Some((only, PickReason::Only));
        }
        // V rounded down is exact here: no whole number lies between the two.
        let latest = self.avg_vruntime();
        let is_eligible = |id| !before(latest, self.entity_of(id).vruntime);
        if self.honours_buddy(honours_protection, is_real)
            && let Some(buddy) = self.next_buddy.filter(|&id| is_eligible(id))
        {
            return Some((buddy, PickReason::Buddy));
        }
        let curr = self.curr().filter(|&id| is_eligible(id));
        if let Some(curr) = curr
            && honours_protection
            && self.is_protected()
        {
            return Some((curr, PickReason::Protected));
        }
        let best = match (curr, self.tree.first_eligible(self.nodes.as_ref(), latest)) {
            // On a tie the waiting one wins, or two equal entities would never alternate.
            (Some(curr), Some(waiting))
                if before(self.entity_of(curr).deadline, waiting.deadline) =>
            {
                Some(curr)
            }
            (_, Some(waiting)) => Some(EntityId(waiting.child)),
            (curr, None) => curr,
        };
        assert!(
            best.is_some() || self.nr_queued() == 0,
            "nothing is eligible among {} entities: {:?}, curr {:?}",
            self.nr_queued(),
            self.average,
            self.curr().map(|id| self.entity_of(id)),
        );
        best.map(|id| (id, PickReason::EarliestDeadline))
    }

    fn honours_buddy(&self, honours_protection: bool, is_real: bool) -> bool {
        match self.rules.variant.buddy_pick {
            BuddyPick::NextBuddyOnly => is_real && self.rules.has(Feature::NextBuddy),
            BuddyPick::RealPick => is_real && self.rules.has(Feature::PickBuddy),
            BuddyPick::EveryPick => self.rules.has(Feature::PickBuddy),
            BuddyPick::ProtectedPick => honours_protection && self.rules.has(Feature::PickBuddy),
        }
    }

    /// Sets a waiting entity running in the place of the one that runs.
    fn switch_to(&mut self, id: EntityId, now: u64) {
        match self.running.take() {
            Some(prev) => {
                self.node_mut(prev.id).place = Place::Tree;
                self.tree.exchange(self.nodes.as_mut(), id.0, prev.id.0);
            }
            None => self.tree.erase(self.nodes.as_mut(), id.0),
        }
        self.node_mut(id).place = Place::Running;
        let Entity { vruntime, sum_exec_ns, .. } = *self.entity_of(id);
        let unprotected = Guard::Until(vruntime);
        self.running = Some(Running {
            id,
            exec_start: now,
            sum_exec_at_pick_ns: sum_exec_ns,
            guard: unprotected,
        });
        self.observe_lag(id, self.avg_vruntime());
        self.arm_protection();
    }
}

#[cfg(test)]
mod tests;
