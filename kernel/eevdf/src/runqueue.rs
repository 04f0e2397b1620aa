//! The queue of one CPU: who waits, who runs, and how entities join and leave.
//!
//! Owns the arena, the tree, the average and the running entity; the other files of this crate add
//! one decision each. Callers hold the lock of the CPU and pass its task clock as `now`.
//!
//! 1. An entity is in one place: off, in the tree, running, or parked.
//! 2. The running entity is out of the tree; `average` counts it, so that V is at hand and neither a
//!    pick nor a delayed dequeue touches the sums.
//! 3. A delayed entity is queued but not runnable, never runs and is never the next buddy.
//! 4. Every operation charges the running entity first, so that V is up to date.
//!
//! Source: `enqueue_entity()`, `dequeue_entity()`; "sched/eevdf: Add DELAY_DEQUEUE".

use crate::avg::Average;
use crate::entity::{Entity, EntityId};
use crate::feature::Feature;
use crate::node::{NIL, Node, Place};
use crate::protect::Guard;
use crate::rules::Rules;
use crate::time::{earlier, later};
use crate::tree::Tree;
use crate::variant::{BaseRule, ReschedRule};

/// How an entity comes to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Enqueue {
    /// It slept and was woken.
    Wakeup,
    /// It was forked and never ran.
    Initial,
    /// It comes from another queue, runnable or delayed.
    Migrate,
    /// It was taken off for a change of attributes or class.
    Restore,
}

/// Why an entity leaves a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dequeue {
    /// It blocks. In debt, it may stay as a delayed entity; a delayed one leaves for good.
    Sleep,
    /// It blocks in a state that must not see spurious wake-ups; never delayed.
    SleepSpecial,
    /// It moves to another queue; a delayed one stays delayed there.
    Migrate,
    /// Its attributes or class change. A delayed one leaves for good: do not enqueue it again.
    Change,
    /// It ends.
    Exit,
}

/// What became of a dequeued entity.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dequeued {
    /// It is off the queue.
    Gone(Entity),
    /// It stays queued until its debt is repaid; to the outside it sleeps.
    Delayed,
}

/// A request to reschedule the running entity; the stronger one is greater.
#[must_use]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resched {
    /// None.
    #[default]
    No,
    /// On return to user mode, or at the next tick.
    Lazy,
    /// At once.
    Full,
}

/// The running entity and what only it needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running {
    pub(crate) id: EntityId,
    pub(crate) exec_start: u64,
    pub(crate) sum_exec_at_pick_ns: u64,
    pub(crate) guard: Guard,
}

/// An EEVDF queue over storage given by the caller; node n belongs to `EntityId(n)`.
#[derive(Clone, Debug)]
pub struct RunQueue<S> {
    pub(crate) rules: Rules,
    pub(crate) nodes: S,
    pub(crate) tree: Tree,
    /// Sums over all queued entities, the running one included.
    pub(crate) average: Average,
    pub(crate) running: Option<Running>,
    pub(crate) next_buddy: Option<EntityId>,
    pub(crate) nr_delayed: u32,
    /// First of the parked entities, chained through `link.right`.
    pub(crate) parked: u32,
    pub(crate) resched: Resched,
    pub(crate) lag_violations: u64,
}

impl<S: AsRef<[Node]> + AsMut<[Node]>> RunQueue<S> {
    /// Returns an empty queue for as many entities as there are nodes.
    ///
    /// # Panics
    ///
    /// If there are 2^32 - 1 nodes or more.
    pub fn new(rules: Rules, mut nodes: S) -> Self {
        let capacity = nodes.as_ref().len();
        assert!(capacity < NIL as usize, "{capacity} nodes are more than 32-bit links can name");
        nodes.as_mut().fill(Node::EMPTY);
        RunQueue {
            rules,
            nodes,
            tree: Tree::EMPTY,
            average: Average::new(0),
            running: None,
            next_buddy: None,
            nr_delayed: 0,
            parked: NIL,
            resched: Resched::No,
            lag_violations: 0,
        }
    }

    /// Returns the queue with its virtual time at `vruntime`. Where it starts changes nothing; a
    /// start just before a wrap finds the comparisons that are wrong.
    ///
    /// # Panics
    ///
    /// If an entity is queued.
    #[must_use]
    pub fn starting_at(mut self, vruntime: u64) -> Self {
        assert!(
            self.nr_queued() == 0,
            "virtual time cannot jump under {} queued entities",
            self.nr_queued()
        );
        self.average = Average::new(vruntime);
        self
    }

    /// Puts an entity on the queue.
    ///
    /// # Panics
    ///
    /// If `id` is on the queue already or beyond its capacity.
    pub fn enqueue(&mut self, id: EntityId, mut entity: Entity, how: Enqueue, now: u64) {
        let place = self.node(id).place;
        assert!(
            place == Place::Off,
            "{id:?} is enqueued ({how:?}) while it is on the queue ({place:?})"
        );
        self.charge(now);
        entity.is_delayed &= how == Enqueue::Migrate;
        self.nr_delayed += u32::from(entity.is_delayed);
        self.node_mut(id).entity = entity;
        self.place(id, how == Enqueue::Initial, self.nr_queued());
        self.insert(id);
    }

    /// Takes an entity off the queue, or starts to delay it.
    ///
    /// If it was the running one, nothing runs until the next pick.
    ///
    /// # Panics
    ///
    /// If `id` is not on the queue.
    pub fn dequeue(&mut self, id: EntityId, why: Dequeue, now: u64) -> Dequeued {
        if self.node(id).place == Place::Parked {
            return Dequeued::Gone(self.unpark(id));
        }
        self.assert_queued(id, "dequeued");
        self.charge(now);
        self.clear_buddy(id);
        let may_delay = why == Dequeue::Sleep && self.rules.has(Feature::DelayDequeue);
        if may_delay && !self.entity_of(id).is_delayed && !self.is_eligible(id) {
            self.delay(id);
            return Dequeued::Delayed;
        }
        if self.entity_of(id).is_delayed && why != Dequeue::Migrate {
            return Dequeued::Gone(self.finish_delayed(id));
        }
        let keeps_deadline = matches!(why, Dequeue::Migrate | Dequeue::Change);
        Dequeued::Gone(self.remove(id, keeps_deadline))
    }

    /// Takes a queued entity off with the lag it leaves with.
    pub(crate) fn remove(&mut self, id: EntityId, keeps_deadline: bool) -> Entity {
        let vlag = self.clamped_lag(id);
        self.detach(id);
        self.advance_base();
        let rules = self.rules;
        let node = self.node_mut(id);
        node.place = Place::Off;
        let mut entity = node.entity.clone();
        entity.vlag = vlag;
        entity.leave(keeps_deadline, &rules);
        self.nr_delayed -= u32::from(entity.is_delayed);
        entity
    }

    /// Takes a queued entity out of the sums and the tree, or stops it running.
    pub(crate) fn detach(&mut self, id: EntityId) {
        self.discount(id);
        if self.is_running(id) {
            self.running = None;
        } else {
            self.tree.erase(self.nodes.as_mut(), id.0);
        }
    }

    /// Puts an entity that is neither in the tree nor running into the sums and the tree.
    pub(crate) fn insert(&mut self, id: EntityId) {
        self.count(id);
        self.hang(id);
    }

    /// Puts an entity into the tree that is in the sums already.
    pub(crate) fn hang(&mut self, id: EntityId) {
        self.node_mut(id).place = Place::Tree;
        self.tree.insert(self.nodes.as_mut(), id.0);
    }

    /// Adds an entity to the sums.
    pub(crate) fn count(&mut self, id: EntityId) {
        let entity = self.entity_of(id);
        let (vruntime, weight) = (entity.vruntime, u64::from(entity.weight()));
        self.average.add(vruntime, weight);
    }

    /// Takes an entity off the sums.
    pub(crate) fn discount(&mut self, id: EntityId) {
        let entity = self.entity_of(id);
        let (vruntime, weight) = (entity.vruntime, u64::from(entity.weight()));
        self.average.remove(vruntime, weight);
    }

    /// Reads V where Linux reads it under the lock, which is where a base that follows V moves.
    pub(crate) fn read_mean(&mut self) -> u64 {
        let mean = self.average.mean();
        if self.rules.variant.base == BaseRule::ZeroVruntime {
            self.average.rebase(mean);
        }
        mean
    }

    /// Moves a base that follows the smallest vruntime; it never goes back.
    pub(crate) fn advance_base(&mut self) {
        if self.rules.variant.base != BaseRule::MinVruntime {
            return;
        }
        let waiting = self.tree.min_vruntime(self.nodes.as_ref());
        let running = self.running.map(|running| self.entity_of(running.id).vruntime);
        let smallest = match (waiting, running) {
            (Some(waiting), Some(running)) => earlier(waiting, running),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return,
        };
        self.average.rebase(later(self.average.base(), smallest));
    }

    /// Asks for a reschedule of the running entity.
    pub(crate) fn request(&mut self, kind: ReschedRule) {
        let request = match kind {
            ReschedRule::Full => Resched::Full,
            ReschedRule::Lazy => Resched::Lazy,
        };
        self.resched = self.resched.max(request);
    }

    /// Forgets the next buddy if it is `id`.
    pub(crate) fn clear_buddy(&mut self, id: EntityId) {
        if self.next_buddy == Some(id) {
            self.next_buddy = None;
        }
    }

    pub(crate) fn node(&self, id: EntityId) -> &Node {
        let nodes = self.nodes.as_ref();
        nodes.get(id.0 as usize).unwrap_or_else(|| beyond(id, nodes.len()))
    }

    pub(crate) fn node_mut(&mut self, id: EntityId) -> &mut Node {
        let nodes = self.nodes.as_mut();
        let capacity = nodes.len();
        nodes.get_mut(id.0 as usize).unwrap_or_else(|| beyond(id, capacity))
    }

    /// Returns the entity in a slot, whether it is queued or not.
    pub(crate) fn entity_of(&self, id: EntityId) -> &Entity {
        &self.node(id).entity
    }

    pub(crate) fn is_running(&self, id: EntityId) -> bool {
        self.running.is_some_and(|running| running.id == id)
    }

    pub(crate) fn is_queued(&self, id: EntityId) -> bool {
        matches!(self.node(id).place, Place::Tree | Place::Running)
    }

    pub(crate) fn assert_queued(&self, id: EntityId, action: &str) {
        if !self.is_queued(id) {
            not_queued(id, action, self.node(id).place);
        }
    }
}

#[cold]
fn not_queued(id: EntityId, action: &str, place: Place) -> ! {
    panic!("{id:?} is {action} but not queued ({place:?})");
}

/// Out of line and by value: a message made in place keeps what it names in memory all the way.
#[cold]
fn beyond(id: EntityId, capacity: usize) -> ! {
    panic!("{id:?} is beyond the capacity of {capacity}");
}

#[cfg(test)]
mod tests;
