//! What other CPUs see of a CPU without its runqueue's lock.
//!
//! Copies that the holder of the lock makes at the end of each operation on the queue. Relaxed:
//! each may be a moment old, and who acts on one looks again under the lock.

use super::Rq;
use balance::CpuView;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// The copies.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    runnable: AtomicU32,
    queued: AtomicU32,
    /// Of those that are runnable, the fair ones.
    fair: AtomicU32,
    /// Sum of the weights of the fair ones that are queued.
    weight: AtomicU64,
    idle_since_ns: AtomicU64,
    load: AtomicU64,
    runnable_avg: AtomicU64,
    util: AtomicU64,
    capacity: AtomicU64,
    /// Up to when the averages are, by the queue's own clock.
    updated_ns: AtomicU64,
}

/// Load weight of SCHED_IDLE, less than that of any other task.
const WEIGHT_IDLEPRIO: u64 = 3;

impl Seen {
    /// Copies what is of interest; where there is no other CPU, that is little.
    pub(super) fn publish(&self, rq: &Rq) {
        self.runnable.store(rq.nr_runnable(), Relaxed);
        let Some(load) = rq.averages() else { return };
        self.queued.store(rq.fair.nr_queued() + rq.rt.queue.len(), Relaxed);
        self.fair.store(rq.fair.nr_runnable(), Relaxed);
        self.weight.store(rq.fair.total_weight(), Relaxed);
        self.load.store(load.load, Relaxed);
        self.runnable_avg.store(load.runnable, Relaxed);
        self.util.store(load.util, Relaxed);
        self.capacity.store(load.capacity, Relaxed);
        self.updated_ns.store(load.updated_ns, Relaxed);
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
        queued > 0 && self.weight.load(Relaxed) == u64::from(queued) * WEIGHT_IDLEPRIO
    }

    /// Average load of the fair tasks that are queued or slept here last.
    pub(super) fn load(&self) -> u64 {
        self.load.load(Relaxed)
    }

    /// How much of the CPU they use, of 1024: on average, or as much as those that are queued used
    /// before they slept (Linux: `cpu_util_cfs`).
    pub(super) fn util(&self) -> u64 {
        self.util.load(Relaxed)
    }

    /// 1024 for each that competes, on average.
    pub(super) fn runnable_avg(&self) -> u64 {
        self.runnable_avg.load(Relaxed)
    }

    /// Up to when the averages are, ns of the queue's own clock.
    pub(super) fn updated_ns(&self) -> u64 {
        self.updated_ns.load(Relaxed)
    }

    pub(super) fn idle_since_ns(&self) -> u64 {
        self.idle_since_ns.load(Relaxed)
    }

    /// What balancing looks at; `is_idle` if the CPU idles.
    pub(super) fn view(&self, is_idle: bool) -> CpuView {
        CpuView {
            nr_runnable: self.fair.load(Relaxed),
            is_idle,
            load: self.load(),
            runnable: self.runnable_avg(),
            util: self.util(),
            capacity: self.capacity.load(Relaxed),
        }
    }
}
