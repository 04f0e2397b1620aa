//! When the averages of load are brought up to date, and what of them others see.
//!
//! A queue's averages follow its clock, a task's follow what happens to it: joining, leaving, the
//! tick, getting and losing the CPU. Only machines with more than one CPU keep them, since only
//! choices between CPUs ask for them. Real-time tasks count in what they leave of a CPU. What
//! interrupts take is averaged on any machine that has some: the slice timer is set by it (Linux:
//! `avg_irq`).
//!
//! A task that sleeps goes on to count where it slept. Woken elsewhere, it leaves a note there of
//! what to take off ([`Removed`]), since that queue's lock is not at hand.

use super::rq::Rq;
use crate::costs;
use crate::cpu::{self, Cpu};
use crate::task::Task;
use abi::Cost;
use balance::CpuView;
use core::sync::atomic::{AtomicU64, Ordering};
use eevdf::EntityId;
use pelt::{Averages, CAPACITY, QueueLoad, TaskLoad};

/// Where a task's load counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    /// It never ran.
    Newborn,
    /// Nowhere: it is on its way.
    Nowhere,
    /// On the queue of that CPU.
    Cpu(u32),
}

/// What is tracked of a task; under the lock of its queue, or by whoever wakes it.
#[derive(Clone, Debug)]
pub(crate) struct Tracked {
    load: TaskLoad,
    home: Home,
}

impl Tracked {
    /// Of a task that never ran.
    pub(crate) fn newborn() -> Self {
        Self { load: TaskLoad::default(), home: Home::Newborn }
    }

    /// Average load.
    pub(super) fn load(&self) -> u64 {
        self.load.averages().load
    }

    /// What it uses, or used before it slept.
    pub(super) fn util_est(&self) -> u64 {
        self.load.util_est().max(self.load.averages().util)
    }
}

/// What is tracked of a queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracker {
    is_on: bool,
    fair: QueueLoad,
    /// Only the util of this one counts.
    rt: QueueLoad,
    /// What interrupts and the hypervisor took, as if something had run.
    irq: QueueLoad,
}

impl Tracker {
    /// For one of so many CPUs.
    pub(crate) fn new(cpus: u32) -> Self {
        Self { is_on: cpus > 1, ..Self::default() }
    }

    /// The latest `taken_ns` before `now_ns`, a time of day, went to interrupts or the hypervisor.
    pub(super) fn note_taken(&mut self, now_ns: u64, taken_ns: u64) {
        self.irq.update(now_ns - taken_ns, 0, 0, false);
        self.irq.update(now_ns, 0, 0, true);
    }
}

/// What a queue's averages come to for others.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueAverages {
    pub(super) load: u64,
    pub(super) runnable: u64,
    /// Or the estimates of those that are queued, if these are more.
    pub(super) util: u64,
    /// What real-time tasks leave of the CPU; at least 1.
    pub(super) capacity: u64,
    /// Up to when they are, ns of the task clock.
    pub(super) updated_ns: u64,
}

/// What left a queue without its lock.
#[derive(Debug, Default)]
pub(crate) struct Removed {
    load: AtomicU64,
    runnable: AtomicU64,
    util: AtomicU64,
}

impl Removed {
    fn add(&self, gone: &Averages) {
        // Relaxed: sums, and whoever takes them takes each alone.
        self.load.fetch_add(gone.load, Ordering::Relaxed);
        self.runnable.fetch_add(gone.runnable, Ordering::Relaxed);
        self.util.fetch_add(gone.util, Ordering::Relaxed);
    }

    fn take(&self) -> Option<Averages> {
        let take = |sum: &AtomicU64| match sum.load(Ordering::Relaxed) {
            0 => 0,
            _ => sum.swap(0, Ordering::Relaxed),
        };
        let gone = Averages {
            load: take(&self.load),
            runnable: take(&self.runnable),
            util: take(&self.util),
        };
        (gone != Averages::default()).then_some(gone)
    }
}

impl Cpu {
    /// What balancing sees of this CPU without its lock.
    pub(super) fn view(&self) -> CpuView {
        self.seen.view(self.is_idle())
    }
}

impl Rq {
    /// When the slice timer is to fire, if it is. What it takes to come and be acted on is time of the
    /// task that runs, so it comes late instead.
    pub(super) fn slice_end_ns(&self) -> Option<u64> {
        let delay_ns = self.fair.hrtick_delay_ns(self.tracker.irq.averages().util)?;
        Some(self.clock_ns() + delay_ns + costs::of(Cost::SliceTimer))
    }

    /// Whether this queue has averages.
    pub(super) fn is_tracked(&self) -> bool {
        self.tracker.is_on
    }

    /// The clock moved; what is queued and runs did not change meanwhile.
    pub(super) fn track(&mut self) {
        if !self.tracker.is_on {
            return;
        }
        let now_ns = self.task_ns();
        let weight = self.fair.total_weight();
        let (runnable, runs) = (self.fair.nr_runnable(), self.fair.curr().is_some());
        self.tracker.fair.update(now_ns, weight, runnable, runs);
        self.tracker.rt.update(now_ns, 0, 0, self.rt.curr.is_some());
    }

    /// Brings a fair task that is queued here up to date, before anything about it changes.
    pub(super) fn track_task(&self, task: &Task) {
        let id = EntityId(task.id);
        if self.tracker.is_on
            && let Some(entity) = self.fair.entity(id)
        {
            let (is_runnable, runs) = (!entity.is_delayed(), self.fair.curr() == Some(id));
            let weight = entity.weight().into();
            task.tracked.lock().load.update(self.task_ns(), weight, true, is_runnable, runs);
        }
    }

    /// The task on the CPU, chosen just now, had been waiting until then.
    pub(super) fn track_picked(&self, task: &Task) {
        if self.tracker.is_on
            && let Some(entity) = self.fair.entity(EntityId(task.id))
        {
            let weight = entity.weight().into();
            task.tracked.lock().load.update(self.task_ns(), weight, true, true, false);
        }
    }

    /// A fair task of that weight is about to join.
    pub(super) fn track_join(&mut self, cpu: &Cpu, task: &Task, weight: u32) {
        if !self.tracker.is_on {
            return;
        }
        let weight = weight.into();
        let mut tracked = task.tracked.lock();
        let Tracked { load, home } = &mut *tracked;
        if *home == Home::Cpu(cpu.id) {
            load.update(self.task_ns(), weight, false, false, false);
        } else {
            match *home {
                Home::Cpu(old) => leave_behind(cpu::by_id(old), load, weight),
                Home::Newborn => *load = TaskLoad::newborn(weight, &self.tracker.fair.averages()),
                Home::Nowhere => {}
            }
            self.tracker.fair.attach(load, weight);
            *home = Home::Cpu(cpu.id);
            // Elsewhere its cache is cold.
            task.set_ran_until(0);
        }
        self.tracker.fair.add_util_est(load.util_est());
    }

    /// A delayed task competes again.
    pub(super) fn track_requeue(&mut self, task: &Task) {
        if self.tracker.is_on {
            self.track_task(task);
            self.tracker.fair.add_util_est(task.tracked.lock().load.util_est());
        }
    }

    /// A fair task is about to leave, or to be delayed. `sleeps` if it blocks, `is_delayed` if it
    /// did before; `goes_on` if it will join another queue or has ended.
    pub(super) fn track_leave(
        &mut self,
        task: &Task,
        sleeps: bool,
        is_delayed: bool,
        goes_on: bool,
    ) {
        if !self.tracker.is_on {
            return;
        }
        self.track_task(task);
        let mut tracked = task.tracked.lock();
        let Tracked { load, home } = &mut *tracked;
        if !is_delayed {
            self.tracker.fair.remove_util_est(load.util_est());
        }
        if sleeps && !is_delayed {
            load.sleeps();
        }
        if goes_on && *home != Home::Nowhere {
            self.tracker.fair.detach(&load.averages());
            *home = Home::Nowhere;
        }
    }

    /// Takes off what left without the lock.
    pub(super) fn settle_removed(&mut self, cpu: &Cpu) {
        if self.tracker.is_on
            && let Some(gone) = cpu.removed.take()
        {
            self.tracker.fair.detach(&gone);
        }
    }

    /// The averages, where they are kept.
    pub(super) fn averages(&self) -> Option<QueueAverages> {
        let Tracker { is_on, fair, rt, irq: _ } = &self.tracker;
        let Averages { load, runnable, util } = fair.averages();
        is_on.then(|| QueueAverages {
            load,
            runnable,
            util: util.max(fair.util_est()),
            capacity: CAPACITY.saturating_sub(rt.averages().util).max(1),
            updated_ns: fair.updated_ns(),
        })
    }
}

/// A task that slept on `old` counts there no more.
fn leave_behind(old: &Cpu, load: &mut TaskLoad, weight: u64) {
    let now_ns = old.seen.updated_ns();
    load.update(now_ns, weight, false, false, false);
    old.removed.add(&load.averages());
}

impl Task {
    /// A new task gets the number.
    pub(super) fn track_newborn(&self) {
        *self.tracked.lock() = Tracked::newborn();
    }
}
