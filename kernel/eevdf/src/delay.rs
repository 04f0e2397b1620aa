//! Delayed dequeue: an entity that blocks in debt stays until the debt is repaid.
//!
//! Leaving at once would either forget the debt, so that sleeping a moment before the end of every
//! slice gains time, or freeze it, so that a long sleep does not heal it. Staying in the competition
//! lets V move right past it. That is the paper's strategy 3: leave with no lag.
//!
//! ```text
//!            dequeue(Sleep), not eligible           picked: eligible, or alone
//!  queued ─────────────────────────────► delayed ───────────────────────────► off, Pick::Flush
//!    ▲                                    │    │   picked in a wakeup test
//!    └────────── requeue_delayed ─────────┘    └────────────────────────────► parked ─► Pick::Flush
//! ```
//!
//! A parked entity left the queue in the middle of a wakeup test, which has no way to hand it out;
//! the next pick does. It counts nowhere, but a wake-up that comes first finds it as if delayed.
//!
//! Source: "sched/fair: Prepare exit/cleanup paths for delayed_dequeue", "sched/eevdf: Implement delayed dequeue";
//! "sched/fair: Prevent negative lag increase during delayed dequeue".

use crate::entity::{Entity, EntityId};
use crate::feature::Feature;
use crate::node::{NIL, Node, Place};
use crate::runqueue::{Enqueue, RunQueue};
use crate::time::distance;
use crate::variant::DelayedLag;

impl<S: AsRef<[Node]> + AsMut<[Node]>> RunQueue<S> {
    /// Starts to delay a queued entity.
    pub(crate) fn delay(&mut self, id: EntityId) {
        if self.rules.variant.delayed_lag == DelayedLag::NoWorse {
            self.node_mut(id).entity.vlag = self.clamped_lag(id);
        }
        self.node_mut(id).entity.is_delayed = true;
        self.nr_delayed += 1;
        if self.is_running(id) {
            self.running = None;
            self.hang(id);
        }
    }

    /// Takes a delayed entity off for good.
    pub(crate) fn finish_delayed(&mut self, id: EntityId) -> Entity {
        let mut entity = self.remove(id, false);
        entity.is_delayed = false;
        if self.rules.has(Feature::DelayZero) {
            entity.vlag = entity.vlag.min(0);
        }
        entity
    }

    /// Wakes a delayed entity where it is; no CPU is chosen for it. The wakeup test comes next.
    ///
    /// # Panics
    ///
    /// If `id` is not delayed here.
    pub fn requeue_delayed(&mut self, id: EntityId, now: u64) {
        assert!(
            self.is_delayed(id),
            "{id:?} is woken in place but not delayed ({:?})",
            self.node(id).place
        );
        if self.node(id).place == Place::Parked {
            let entity = self.unpark(id);
            self.enqueue(id, entity, Enqueue::Wakeup, now);
            return;
        }
        self.charge(now);
        let keeps_place = match self.rules.variant.delayed_lag {
            DelayedLag::Fresh => {
                let forgets_credit = self.rules.has(Feature::DelayZero) && self.clamped_lag(id) > 0;
                if forgets_credit {
                    self.node_mut(id).entity.vlag = 0;
                }
                !forgets_credit
            }
            DelayedLag::NoWorse => {
                let vlag = self.clamped_lag(id);
                self.node_mut(id).entity.vlag = vlag;
                vlag == distance(self.avg_vruntime(), self.entity_of(id).vruntime)
            }
        };
        self.nr_delayed -= 1;
        self.node_mut(id).entity.is_delayed = false;
        if !keeps_place {
            self.detach(id);
            self.place(id, false, self.nr_queued());
            self.insert(id);
        }
    }

    /// Takes a delayed entity off for good, to be handed out later.
    pub(crate) fn park(&mut self, id: EntityId) {
        let entity = self.finish_delayed(id);
        let first = self.parked;
        let node = self.node_mut(id);
        node.entity = entity;
        node.place = Place::Parked;
        node.link.right = first;
        self.parked = id.0;
    }

    /// Hands out the entity parked last.
    pub(crate) fn take_parked(&mut self) -> Option<(EntityId, Entity)> {
        let id = (self.parked != NIL).then_some(EntityId(self.parked))?;
        Some((id, self.unpark(id)))
    }

    /// Takes one entity off the chain of the parked.
    pub(crate) fn unpark(&mut self, id: EntityId) -> Entity {
        let after = self.node(id).link.right;
        if self.parked == id.0 {
            self.parked = after;
        } else {
            let mut at = EntityId(self.parked);
            while self.node(at).link.right != id.0 {
                at = EntityId(self.node(at).link.right);
            }
            self.node_mut(at).link.right = after;
        }
        let node = self.node_mut(id);
        node.place = Place::Off;
        node.link.right = NIL;
        node.entity.clone()
    }
}
