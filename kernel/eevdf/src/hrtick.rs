//! The slice timer: a one-shot timer that ends a slice between two ticks.
//!
//! Source: `hrtick_start_fair()`; "sched/fair: Simplify hrtick_update()" series for the virtual form.

use crate::feature::Feature;
use crate::node::Node;
use crate::runqueue::{Resched, RunQueue};
use crate::time::distance;
use crate::variant::HrtickRule;

/// The timer is never set shorter; below, it would cost more than it gives.
const MIN_DELAY_NS: u64 = 10_000;
/// A whole CPU, in the unit of the load of interrupts.
const WHOLE_CPU: u64 = 1024;

impl<S: AsRef<[Node]> + AsMut<[Node]>> RunQueue<S> {
    /// Returns how long from the last charge the slice timer is to be set, in real nanoseconds:
    /// `None` without HRTICK or with nobody to switch to. To be asked again whenever the queue changes.
    ///
    /// `irq_util` is the running average of what interrupts and a hypervisor take of the CPU, in
    /// 1024ths. The timer measures time, and a slice only what is charged; since 7.2 it is set so much
    /// longer, on average.
    pub fn hrtick_delay_ns(&self, irq_util: u64) -> Option<u64> {
        let running = self.running?;
        if !self.rules.has(Feature::Hrtick) || self.nr_queued() < 2 {
            return None;
        }
        let entity = self.entity_of(running.id);
        let left_ns = match self.rules.variant.hrtick {
            HrtickRule::RemainingSlice => {
                entity.slice_ns.saturating_sub(entity.sum_exec_ns - running.sum_exec_at_pick_ns)
            }
            HrtickRule::RemainingVirtual => {
                let until_deadline = distance(entity.deadline, entity.vruntime).max(0);
                let charged_ns = entity.weight.real_ns(until_deadline as u64);
                let rest = WHOLE_CPU.saturating_sub(irq_util).max(1);
                charged_ns.saturating_mul(WHOLE_CPU) / rest
            }
        };
        Some(left_ns.max(MIN_DELAY_NS))
    }

    /// Handles the slice timer: charges, and asks for a reschedule whatever the charge says.
    pub fn hrtick(&mut self, now: u64) -> Resched {
        self.charge(now);
        if self.running.is_some() {
            self.request(self.rules.variant.hrtick_resched);
        }
        self.resched
    }
}
