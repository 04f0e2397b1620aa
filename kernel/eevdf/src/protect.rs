//! Protection: how long the running entity is kept although another one would win.
//!
//! Without it every wake-up of an entity with an earlier deadline switches, which cost hackbench
//! half as many switches again ("sched/eevdf: Curb wakeup-preemption"). Protecting the whole request,
//! on the other hand, makes a short request wait for a long one beyond what theory allows. Later
//! rules protect for the smallest slice on the queue.
//!
//! Only the running entity has protection, so it is kept with it and dies with the run. An entity
//! that is picked again without another in between is not set running anew and stays unprotected
//! (deduced, not checked against a tree).

use crate::entity::Entity;
use crate::feature::Feature;
use crate::node::Node;
use crate::runqueue::{RunQueue, Running};
use crate::time::{before, earlier};
use crate::variant::{ProtectShrink, Protection};

/// The protection of the running entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Protected while its deadline is this one, unless cancelled. Linux keeps both facts in the
    /// `vlag` of the running entity, as the deadline and the deadline plus one.
    Deadline { deadline: u64, is_cancelled: bool },
    /// Protected while its vruntime is before this point (`vprot`).
    Until(u64),
}

impl<S: AsRef<[Node]> + AsMut<[Node]>> RunQueue<S> {
    /// Protects the running entity as one that was just set running.
    pub(crate) fn arm_protection(&mut self) {
        if let Some(running) = self.running {
            let guard = self.fresh_guard(self.entity_of(running.id));
            self.running = Some(Running { guard, ..running });
        }
    }

    fn fresh_guard(&self, entity: &Entity) -> Guard {
        let protection = self.rules.variant.protection;
        if protection == Protection::Parity {
            return Guard::Deadline { deadline: entity.deadline, is_cancelled: false };
        }
        let min_slice_ns = self.min_slice_ns().unwrap_or(entity.slice_ns);
        if protection == Protection::VprotShort
            && self.rules.has(Feature::PreemptShort)
            && min_slice_ns < entity.slice_ns
        {
            // With a shorter slice about, run only until no longer eligible.
            let mut others = self.average;
            others.remove(entity.vruntime, u64::from(entity.weight()));
            let last_eligible = others.mean();
            return Guard::Until(earlier(entity.deadline, last_eligible.wrapping_add(1)));
        }
        let shortest_run_ns = if self.rules.has(Feature::RunToParity) {
            min_slice_ns
        } else {
            self.rules.normalized_base_slice_ns()
        };
        if shortest_run_ns >= entity.slice_ns {
            return Guard::Until(entity.deadline);
        }
        let end = entity.vruntime.wrapping_add(entity.virtual_ns(shortest_run_ns, &self.rules));
        Guard::Until(earlier(entity.deadline, end))
    }

    /// Tells whether the running entity is to be kept while it is eligible.
    pub(crate) fn is_protected(&self) -> bool {
        let Some(running) = self.running else { return false };
        let entity = self.entity_of(running.id);
        match running.guard {
            Guard::Deadline { deadline, is_cancelled } => {
                self.rules.has(Feature::RunToParity) && deadline == entity.deadline && !is_cancelled
            }
            Guard::Until(end) => before(entity.vruntime, end),
        }
    }

    /// Tells whether a short wakee took the protection away during the current request.
    pub(crate) fn is_protection_cancelled(&self) -> bool {
        self.running.is_some_and(|running| match running.guard {
            Guard::Deadline { deadline, is_cancelled } => {
                is_cancelled && deadline == self.entity_of(running.id).deadline
            }
            Guard::Until(_) => false,
        })
    }

    /// Ends the protection of the running entity.
    pub(crate) fn cancel_protection(&mut self) {
        let Some(running) = self.running else { return };
        let entity = self.entity_of(running.id);
        let guard = match running.guard {
            Guard::Deadline { deadline, .. } if deadline == entity.deadline => {
                Guard::Deadline { deadline, is_cancelled: true }
            }
            Guard::Until(end) if before(entity.vruntime, end) => Guard::Until(entity.vruntime),
            over => over,
        };
        self.running = Some(Running { guard, ..running });
    }

    /// Shortens the protection after a wake-up that does not preempt, so that the wakee waits no
    /// longer than the smallest slice.
    pub(crate) fn shrink_protection(&mut self) {
        let Some(running) = self.running else { return };
        let (Guard::Until(end), Some(min_slice_ns)) = (running.guard, self.min_slice_ns()) else {
            return;
        };
        let entity = self.entity_of(running.id);
        let from = match self.rules.variant.protection {
            Protection::VprotShort => earlier(entity.vruntime, self.avg_vruntime()),
            Protection::Parity | Protection::Vprot => entity.vruntime,
        };
        let run = entity.virtual_ns(min_slice_ns, &self.rules);
        let guard = Guard::Until(earlier(end, from.wrapping_add(run)));
        self.running = Some(Running { guard, ..running });
    }

    /// Applies the rule for a wakee that lost the pick.
    pub(crate) fn shrink_after_losing(&mut self, is_short: bool) {
        let shrinks = match self.rules.variant.protect_shrink {
            ProtectShrink::Never => false,
            ProtectShrink::ShortWakee => is_short,
            ProtectShrink::LosingWakee => self.rules.has(Feature::RunToParity),
            ProtectShrink::EveryWakee => true,
        };
        if shrinks {
            self.shrink_protection();
        }
    }
}
