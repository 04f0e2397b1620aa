//! What the kernel keeps for each CPU.
//!
//! | part | who | how |
//! | --- | --- | --- |
//! | [`Cpu::rq`] | any CPU | its lock |
//! | [`Cpu::local`] | this CPU | interrupts off, checked |
//! | the atomics | any CPU | see each |

use crate::arch::{Context, ThisCpu};
use crate::events::Timers;
use crate::sched::Rq;
use crate::{account::CpuAccount, event_time::EventTime, task::TaskId};
use abi::CpuSet;
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use ksync::{Cpu as _, IrqLock, LocalCell};
use spin::Once;

static CPUS: Once<Box<[Cpu]>> = Once::new();
/// No task, in [`Cpu::current`].
const IDLE: u32 = u32::MAX;

/// One CPU.
pub(crate) struct Cpu {
    /// Logical number.
    pub(crate) id: u32,
    /// What IPIs are addressed to.
    pub(crate) apic_id: u32,
    /// Its runqueue. Two of them are never held at once.
    pub(crate) rq: IrqLock<Rq, ThisCpu>,
    /// What only this CPU touches.
    pub(crate) local: LocalCell<Local, ThisCpu>,
    /// What is counted of it.
    pub(crate) account: IrqLock<CpuAccount, ThisCpu>,
    /// Where it goes when nobody wants to run.
    pub(crate) idle: Once<Context>,
    /// How its timer makes the tick.
    pub(crate) tick_timer: Once<TickTimer>,
    /// Set under `rq`'s lock, read by this CPU before it leaves an interrupt or halts.
    need_resched: AtomicBool,
    /// A copy of what `rq` says, for messages of a CPU that cannot take the lock.
    current: AtomicU32,
    /// A copy of how many are runnable in `rq`, for CPUs that look without its lock.
    runnable: AtomicU32,
    /// When the last wake-up that sent an IPI here happened, ns; under `rq`'s lock.
    wake_ns: AtomicU64,
}

/// What only its own CPU touches.
pub(crate) struct Local {
    pub(crate) time: EventTime,
    pub(crate) timers: Timers,
}

/// One tick in the timer's own terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TickTimer {
    /// Counts per tick.
    pub(crate) count: u64,
    /// Ticks per 1000 s, by that count and the rate measured on this CPU.
    pub(crate) measured_mhz: u64,
}

impl Cpu {
    pub(crate) fn new(id: u32, apic_id: u32, rq: Rq, local: Local) -> Self {
        Self {
            id,
            apic_id,
            rq: IrqLock::new(rq),
            local: LocalCell::new(id, local),
            account: IrqLock::new(CpuAccount::new()),
            idle: Once::new(),
            tick_timer: Once::new(),
            need_resched: AtomicBool::new(false),
            current: AtomicU32::new(IDLE),
            runnable: AtomicU32::new(0),
            wake_ns: AtomicU64::new(0),
        }
    }

    /// Asks for a look at the runqueue. The caller holds `rq`'s lock or is this CPU.
    pub(crate) fn set_need_resched(&self) {
        // Release: pairs with the Acquire below, for a CPU that sees it without an IPI.
        self.need_resched.store(true, Ordering::Release);
    }

    pub(crate) fn clear_need_resched(&self) {
        // Relaxed: under `rq`'s lock, which orders it against the next request.
        self.need_resched.store(false, Ordering::Relaxed);
    }

    pub(crate) fn need_resched(&self) -> bool {
        self.need_resched.load(Ordering::Acquire)
    }

    /// The task on this CPU, for messages.
    pub(crate) fn current(&self) -> Option<TaskId> {
        // Relaxed: a message may be a moment old.
        Some(self.current.load(Ordering::Relaxed)).filter(|&task| task != IDLE)
    }

    pub(crate) fn set_current(&self, task: Option<TaskId>) {
        self.current.store(task.unwrap_or(IDLE), Ordering::Relaxed);
    }

    /// How many tasks wait here, as of a moment ago. One that is runnable does not: it runs, or
    /// will as soon as this CPU looks.
    pub(crate) fn waiting(&self) -> u32 {
        self.runnable().saturating_sub(1)
    }

    fn runnable(&self) -> u32 {
        // Relaxed: a hint; who acts on it looks again under the lock.
        self.runnable.load(Ordering::Relaxed)
    }

    pub(crate) fn set_runnable(&self, runnable: u32) {
        self.runnable.store(runnable, Ordering::Relaxed);
    }

    /// Notes when a wake-up happened that this CPU is about to be told of.
    pub(crate) fn note_wake(&self, at_ns: u64) {
        // Relaxed: the IPI that follows orders it.
        self.wake_ns.fetch_max(at_ns, Ordering::Relaxed);
    }

    pub(crate) fn wake_ns(&self) -> u64 {
        self.wake_ns.load(Ordering::Relaxed)
    }
}

/// Publishes the CPUs, in the order of their numbers. Once.
pub(crate) fn init(cpus: Box<[Cpu]>) {
    CPUS.call_once(|| cpus);
}

/// All CPUs; none before [`init`].
pub(crate) fn all() -> &'static [Cpu] {
    CPUS.get().map_or(&[], |cpus| cpus)
}

/// A CPU by number, if it exists already.
pub(crate) fn get(id: u32) -> Option<&'static Cpu> {
    all().get(id as usize)
}

/// A CPU by number.
pub(crate) fn by_id(id: u32) -> &'static Cpu {
    &all()[id as usize]
}

/// The executing CPU. Interrupts must be off, or the answer is out of date at once.
pub(crate) fn this() -> &'static Cpu {
    by_id(ThisCpu::id())
}

/// The CPUs that idle, as of a moment ago.
pub(crate) fn idle() -> CpuSet {
    all().iter().filter(|cpu| cpu.runnable() == 0).map(|cpu| cpu.id as usize).collect()
}
