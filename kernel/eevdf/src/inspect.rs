//! Questions a queue answers without changing.
//!
//! Reading V moves the base in Linux since the base follows V, which made a debug dump a writer
//! without the lock ("sched/debug: Fix avg_vruntime() usage"). Here the reader takes `&self`.

use crate::entity::{Entity, EntityId};
use crate::node::{NIL, Node, Place};
use crate::rules::Rules;
use crate::runqueue::{Resched, RunQueue};
use crate::time::distance;

impl<S: AsRef<[Node]> + AsMut<[Node]>> RunQueue<S> {
    /// Returns the rules in force.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Replaces the rules. A changed base slice reaches an entity at its next placement or expiry.
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// Returns how many entities fit.
    pub fn capacity(&self) -> usize {
        self.nodes.as_ref().len()
    }

    /// Returns the running entity, as picked last and not dequeued since.
    pub fn curr(&self) -> Option<EntityId> {
        self.running.map(|running| running.id)
    }

    /// Returns the number of queued entities: running, waiting and delayed.
    pub fn nr_queued(&self) -> u32 {
        self.tree.len() + u32::from(self.running.is_some())
    }

    /// Returns the number of queued entities that want to run: all but the delayed ones.
    pub fn nr_runnable(&self) -> u32 {
        self.nr_queued() - self.nr_delayed
    }

    /// Returns the sum of the weights of all queued entities.
    pub fn total_weight(&self) -> u64 {
        self.average.weight()
    }

    /// Returns V, the point of zero lag, rounded toward minus infinity. Time run since the last
    /// operation that took `now` is not in it.
    pub fn avg_vruntime(&self) -> u64 {
        self.average.mean()
    }

    /// Returns what vruntimes are kept relative to (`min_vruntime` or `zero_vruntime`).
    pub fn base_vruntime(&self) -> u64 {
        self.average.base()
    }

    /// Returns the unclamped lag of a queued entity, `V - v`, in virtual nanoseconds.
    pub fn lag(&self, id: EntityId) -> Option<i64> {
        self.entity(id).map(|entity| distance(self.avg_vruntime(), entity.vruntime))
    }

    /// Tells whether a queued entity has non-negative lag. Exact, unlike the sign of `lag`.
    pub fn is_eligible(&self, id: EntityId) -> bool {
        self.entity(id).is_some_and(|entity| self.average.is_eligible(entity.vruntime))
    }

    /// Returns a queued entity.
    pub fn entity(&self, id: EntityId) -> Option<&Entity> {
        let node = self.nodes.as_ref().get(id.0 as usize)?;
        matches!(node.place, Place::Tree | Place::Running).then_some(&node.entity)
    }

    /// Tells whether an entity sleeps here but was not handed out yet.
    pub fn is_delayed(&self, id: EntityId) -> bool {
        let node = self.nodes.as_ref().get(id.0 as usize);
        node.is_some_and(|node| match node.place {
            Place::Off => false,
            Place::Tree | Place::Running => node.entity.is_delayed,
            Place::Parked => true,
        })
    }

    /// Returns the next buddy.
    pub fn next_buddy(&self) -> Option<EntityId> {
        self.next_buddy
    }

    /// Returns the strongest reschedule asked for since the last pick. Every operation that charges
    /// the running entity may raise it, `enqueue` and `dequeue` included.
    pub fn resched(&self) -> Resched {
        self.resched
    }

    /// Returns the queued entities: the running one first, then by deadline.
    pub fn queued(&self) -> impl Iterator<Item = EntityId> + '_ {
        let nodes = self.nodes.as_ref();
        let first = self.tree.leftmost(nodes);
        let waiting = core::iter::successors((first != NIL).then_some(first), move |&index| {
            let next = self.tree.next(nodes, index);
            (next != NIL).then_some(next)
        });
        self.curr().into_iter().chain(waiting.map(EntityId))
    }

    /// Returns how often a lag was seen outside the bound of the rules in force: at each dequeue,
    /// each slice end and each switch.
    pub fn lag_violations(&self) -> u64 {
        self.lag_violations
    }
}
