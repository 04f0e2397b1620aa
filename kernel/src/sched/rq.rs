//! A CPU's runqueue: the policy's queue, the clocks it is fed, and the stint in progress.
//!
//! Two clocks, as in Linux (`rq->clock`, `rq->clock_task`): the first is the time of day, the
//! second leaves out what interrupts took and is what tasks are charged by. A tick error goes
//! into the second only, so that stints are measured by one clock and charged by another.

use super::class::RealTime;
use super::load::Tracker;
use super::recency::Recency;
use crate::cpu::Cpu;
use crate::explain::Decisions;
use crate::run;
use crate::task;
use crate::waste::Told;
use alloc::boxed::Box;
use eevdf::{EntityId, Node, RunQueue};

/// Why the running task was asked to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// Its slice is used up.
    Slice,
    /// A task woke that should run.
    Wakeup,
    /// The turn of the deadline server began or ended.
    Server,
    /// It is to go to another CPU.
    Push,
}

/// The stay of a task on this CPU that is in progress.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stint {
    /// When it began.
    pub(crate) start_ns: u64,
    /// Ticks since.
    pub(crate) ticks: u64,
}

/// A CPU's runqueue; see [`Cpu::rq`] for its lock.
pub(crate) struct Rq {
    /// The policy's queue; entity numbers are task numbers.
    pub(crate) fair: RunQueue<Box<[Node]>>,
    /// What goes before it.
    pub(super) rt: RealTime,
    /// Fair tasks by when they ran; kept where averages are.
    pub(super) recency: Recency,
    /// What is known of their load.
    pub(super) tracker: Tracker,
    /// Who waits, as far as others know.
    pub(super) told: Told,
    clock_ns: u64,
    clock_task_ns: u64,
    /// Interrupt time that the next update has to leave out.
    irq_ns: u64,
    /// Stolen time, likewise.
    steal_ns: u64,
    resched_why: Option<Why>,
    pub(crate) stint: Stint,
    /// Finished stints on this CPU, together.
    pub(crate) busy_ns: u64,
    pub(crate) switches: u64,
    /// Those to the idle loop.
    pub(crate) goes_idle: u64,
    /// Times a task yielded here.
    pub(crate) yields: u64,
    /// How long those that got this CPU had waited for one, together.
    pub(crate) run_delay_ns: u64,
    /// Decisions that are to be explained.
    pub(crate) decisions: Option<Decisions>,
}

impl Rq {
    pub(crate) fn new(
        fair: RunQueue<Box<[Node]>>,
        rt: RealTime,
        tracker: Tracker,
        decisions: Option<Decisions>,
    ) -> Self {
        Self {
            fair,
            rt,
            recency: Recency::EMPTY,
            tracker,
            told: Told::new(),
            clock_ns: 0,
            clock_task_ns: 0,
            irq_ns: 0,
            steal_ns: 0,
            resched_why: None,
            stint: Stint::default(),
            busy_ns: 0,
            switches: 0,
            goes_idle: 0,
            yields: 0,
            run_delay_ns: 0,
            decisions,
        }
    }

    /// Sets both clocks, before anything runs.
    pub(crate) fn start_clocks(&mut self, now_ns: u64) {
        self.clock_ns = now_ns;
        self.clock_task_ns = now_ns;
    }

    /// Moves the clocks on to `now_ns`. A time before the last one, from another CPU's wake-up,
    /// changes nothing.
    pub(crate) fn advance(&mut self, now_ns: u64) {
        self.advance_with_error(now_ns, 0);
    }

    /// The same, with `error_ns` more on the task clock, which still never goes back.
    #[inline]
    pub(crate) fn advance_with_error(&mut self, now_ns: u64, error_ns: i64) {
        let delta = now_ns.saturating_sub(self.clock_ns);
        self.clock_ns += delta;
        let irq = self.irq_ns.min(delta);
        self.irq_ns -= irq;
        // What is stolen beyond the time that passed is dropped, not caught up on: a clock that
        // stands still for as long as the host was away starves whoever is to be charged next
        // ("sched: Don't try to catch up excess steal time").
        let steal = core::mem::take(&mut self.steal_ns).min(delta - irq);
        if irq + steal > 0 {
            self.tracker.note_taken(self.clock_ns, irq + steal);
        }
        let task_delta = (delta - irq - steal).saturating_add_signed(error_ns);
        self.clock_task_ns += task_delta;
        self.charge(task_delta);
        self.track();
    }

    /// Leaves `ns` out of the task clock at its next move.
    pub(crate) fn add_irq_time(&mut self, ns: u64) {
        self.irq_ns += ns;
    }

    /// Leaves `ns` that a hypervisor took out of the task clock at its next move.
    pub(crate) fn add_steal_time(&mut self, ns: u64) {
        self.steal_ns += ns;
    }

    /// The time of day, as of the last update.
    pub(crate) fn clock_ns(&self) -> u64 {
        self.clock_ns
    }

    /// What tasks are charged by, as of the last update.
    pub(crate) fn task_ns(&self) -> u64 {
        self.clock_task_ns
    }

    /// Asks this queue's CPU to choose again. The first reason counts.
    pub(crate) fn request_resched(&mut self, cpu: &Cpu, why: Why) {
        self.resched_why.get_or_insert(why);
        cpu.set_need_resched();
    }

    /// The request that is being granted.
    pub(crate) fn take_resched(&mut self, cpu: &Cpu) -> Option<Why> {
        cpu.clear_need_resched();
        self.resched_why.take()
    }

    /// Ends an operation on the queue: copies for those without the lock, and, where the
    /// scenario or a debug build asks for it, a check of everything the policy promises.
    pub(crate) fn publish(&mut self, cpu: &Cpu) {
        if self.update_server() {
            self.request_resched(cpu, Why::Server);
        }
        if (cfg!(debug_assertions) || run::config().check_invariants)
            && let Err(violation) = self.fair.check_invariants()
        {
            panic!("the runqueue of cpu {} is corrupt: {violation:?}", cpu.id);
        }
        self.settle_removed(cpu);
        cpu.seen.publish(self);
        let nr_runnable = self.nr_runnable();
        if self.is_tracked() {
            let fair_curr = self.fair.curr().map(|EntityId(id)| task::by_id(id).affinity_id());
            let is_busy = self.curr().is_some();
            self.told.tell(fair_curr, is_busy, nr_runnable == 0, self.clock_ns);
        }
    }
}
