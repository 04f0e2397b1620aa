//! Yielding the CPU, to anybody or to somebody.
//!
//! Yielding guarantees nobody else the CPU: if the others are not eligible the yielder goes on. Under
//! the old rule a yielder that is the only eligible one drives its deadline away without bound and
//! waits for it later.
//!
//! Source: `yield_task_fair()`, `yield_to_task_fair()`; "sched/fair: Forfeit vruntime on yield".

use crate::entity::EntityId;
use crate::node::{Node, Place};
use crate::runqueue::RunQueue;
use crate::variant::YieldRule;

impl<S: AsRef<[Node]> + AsMut<[Node]>> RunQueue<S> {
    /// Yields on behalf of the running entity; the caller picks next. Alone on the queue, it keeps
    /// its request.
    pub fn yield_curr(&mut self, now: u64) {
        let Some(curr) = self.curr() else { return };
        if self.nr_queued() == 1 {
            return;
        }
        self.clear_buddy(curr);
        self.charge(now);
        let rules = self.rules;
        match rules.variant.yielding {
            YieldRule::PushDeadline => {
                let entity = &mut self.node_mut(curr).entity;
                entity.deadline = entity.deadline.wrapping_add(entity.virtual_slice_ns(&rules));
            }
            YieldRule::ForfeitVruntime => {
                self.read_mean();
                if self.is_eligible(curr) {
                    let entity = &mut self.node_mut(curr).entity;
                    let forfeit = entity.deadline.wrapping_sub(entity.vruntime);
                    entity.vruntime = entity.deadline;
                    let weight = u64::from(entity.weight());
                    self.average.advance(forfeit, weight);
                    self.renew_request(curr);
                }
            }
        }
        self.advance_base();
    }

    /// Yields in favour of `id`, and tells whether that was possible: it must be queued and not
    /// delayed, since what sleeps cannot run.
    pub fn yield_to(&mut self, id: EntityId, now: u64) -> bool {
        if !self.set_next_buddy(id) {
            return false;
        }
        self.yield_curr(now);
        true
    }

    /// Makes `id` the next buddy if it may be one: queued and not delayed. A delayed buddy has crashed
    /// Linux ("sched/fair: Fix NEXT_BUDDY").
    pub(crate) fn set_next_buddy(&mut self, id: EntityId) -> bool {
        let node = self.node(id);
        let may = matches!(node.place, Place::Tree | Place::Running) && !node.entity.is_delayed;
        if may {
            self.next_buddy = Some(id);
        }
        may
    }
}
