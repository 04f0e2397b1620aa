//! Charging the running entity, and the end of its slice.
//!
//! Every operation charges, so what was run is always exact; only the decision to reschedule waits
//! for someone to look, which is mostly the tick. A slice hence ends at the first tick at or after
//! its end.
//!
//! Source: `update_curr()`, `update_deadline()`.

use crate::entity::EntityId;
use crate::feature::Feature;
use crate::node::Node;
use crate::runqueue::{Resched, RunQueue};
use crate::time::{before, distance};
use crate::variant::SliceEnd;

impl<S: AsRef<[Node]> + AsMut<[Node]>> RunQueue<S> {
    /// Charges the running entity for the time until `now`, and returns the strongest reschedule
    /// asked for since the last pick.
    pub fn update_curr(&mut self, now: u64) -> Resched {
        self.charge(now);
        self.resched
    }

    /// Handles the periodic tick. Nothing but the end of a slice or of protection preempts here.
    pub fn tick(&mut self, now: u64) -> Resched {
        self.update_curr(now)
    }

    /// Charges the running entity. A clock that stands still or goes back charges nothing.
    #[inline]
    pub(crate) fn charge(&mut self, now: u64) {
        let Some(running) = &mut self.running else { return };
        let delta = distance(now, running.exec_start);
        // Most operations come right after another one that charged.
        if delta > 0 {
            running.exec_start = now;
            let id = running.id;
            self.charge_running(id, delta as u64);
        }
    }

    fn charge_running(&mut self, id: EntityId, delta_ns: u64) {
        let math = self.rules.variant.vt_math;
        let entity = &mut self.node_mut(id).entity;
        entity.sum_exec_ns += delta_ns;
        let virtual_ns = entity.weight.virtual_ns(delta_ns, math);
        entity.vruntime = entity.vruntime.wrapping_add(virtual_ns);
        let (weight, is_expired) =
            (u64::from(entity.weight()), !before(entity.vruntime, entity.deadline));
        self.average.advance(virtual_ns, weight);
        if is_expired {
            self.begin_request(id);
        }
        self.advance_base();
        // Alone, there is nobody to switch to ("sched/eevdf: Fix wakeup-preempt by checking
        // cfs_rq->nr_running").
        if self.nr_queued() > 1 && (is_expired || self.run_is_over()) {
            self.request(self.rules.variant.resched);
            self.clear_buddy(id);
        }
    }

    /// Starts the next request of the running entity, which has used up the current one.
    ///
    /// The new deadline counts from the vruntime, not from the old deadline as in the paper: an
    /// overrun is paid in lag and not a second time by an earlier deadline.
    fn begin_request(&mut self, id: EntityId) {
        // Two entities that yield in turn see neither enqueue nor dequeue; without this the base
        // would stand still ("sched/fair: Fix zero_vruntime tracking fix").
        let mean = self.read_mean();
        self.observe_lag(id, mean);
        self.renew_request(id);
    }

    /// Gives an entity that is not in the tree a whole request from where it stands.
    pub(crate) fn renew_request(&mut self, id: EntityId) {
        let rules = self.rules;
        let entity = &mut self.node_mut(id).entity;
        entity.refresh_slice(&rules);
        entity.deadline = entity.vruntime.wrapping_add(entity.virtual_slice_ns(&rules));
    }

    /// Tells whether a rule ends the run before the slice does.
    fn run_is_over(&self) -> bool {
        match self.rules.variant.slice_end {
            SliceEnd::Expired => false,
            SliceEnd::ExpiredOrShort => {
                self.rules.has(Feature::PreemptShort)
                    && self.is_protection_cancelled()
                    && self.curr().is_some_and(|id| !self.is_eligible(id))
            }
            SliceEnd::ExpiredOrUnprotected => !self.is_protected(),
        }
    }
}
