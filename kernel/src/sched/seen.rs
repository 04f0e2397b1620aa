//! What other CPUs see of a CPU without its runqueue's lock.
//!
//! Copies that the holder of the lock makes at the end of each operation on the queue. Relaxed:
//! each may be a moment old, and who acts on one looks again under the lock.

use super::Rq;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The copies.
pub(crate) struct Seen {
    runnable: AtomicU32,
    queued: AtomicU32,
    /// Sum of the weights of the fair ones among them.
    weight: AtomicU64,
    idle_since_ns: AtomicU64,
}

/// Load weight of SCHED_IDLE, less than that of any other task.
const WEIGHT_IDLEPRIO: u64 = 3;
const CAPACITY: u64 = 1024;

impl Seen {
    pub(crate) const fn new() -> Self {
        Self {
            runnable: AtomicU32::new(0),
            queued: AtomicU32::new(0),
            weight: AtomicU64::new(0),
            idle_since_ns: AtomicU64::new(0),
        }
    }

    /// Copies what is of interest; `is_alone` if there is no other CPU to look.
    pub(super) fn publish(&self, rq: &Rq, is_alone: bool) {
        self.runnable.store(rq.nr_runnable(), Relaxed);
        if !is_alone {
            self.queued.store(rq.fair.nr_queued() + rq.rt.queue.len(), Relaxed);
            self.weight.store(rq.fair.total_weight(), Relaxed);
        }
    }

    /// The CPU has nothing to run from here on.
    pub(super) fn goes_idle(&self, now_ns: u64) {
        self.idle_since_ns.store(now_ns, Relaxed);
    }

    /// How many compete, that is, without those that wait out a debt.
    pub(crate) fn runnable(&self) -> u32 {
        self.runnable.load(Relaxed)
    }

    /// How many are queued.
    pub(crate) fn queued(&self) -> u32 {
        self.queued.load(Relaxed)
    }

    /// Whether there are tasks, all of them SCHED_IDLE.
    pub(super) fn is_sched_idle(&self) -> bool {
        let queued = self.queued();
        queued > 0 && self.load() == u64::from(queued) * WEIGHT_IDLEPRIO
    }

    /// The load: the fair tasks that are queued, by weight.
    pub(super) fn load(&self) -> u64 {
        self.weight.load(Relaxed)
    }

    /// How much of the CPU is used: all or nothing.
    pub(super) fn util(&self) -> u64 {
        if self.queued() > 0 { CAPACITY } else { 0 }
    }

    /// 1024 for each task that competes.
    pub(super) fn runnable_avg(&self) -> u64 {
        u64::from(self.runnable()) * CAPACITY
    }

    pub(super) fn idle_since_ns(&self) -> u64 {
        self.idle_since_ns.load(Relaxed)
    }
}
