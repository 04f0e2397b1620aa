//! What the kernel keeps for each CPU.
//!
//! | part | who | how |
//! | --- | --- | --- |
//! | [`Cpu::rq`] | any CPU | its lock |
//! | [`Cpu::local`] | this CPU | interrupts off, checked |
//! | the atomics | any CPU | see each |

use crate::arch::{self, Context, ThisCpu, lapic};
use crate::costs::{Debt, LockTaken};
use crate::events::{self, Timers};
use crate::irqsoff::IrqsOff;
use crate::sched::{BalanceState, Idling, NOBODY, Removed, Rq, Seen};
use crate::trace::Tracer;
use crate::{
    account::CpuAccount,
    event_time::{EventTime, Operations},
    task::TaskId,
};
use abi::{CpuSet, record::Wakeups};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use ksync::{IrqLock, LocalCell, NeedResched, WakeList};
use placement::{Topology, wakeup::Flips};
use spin::Once;

static CPUS: Once<Box<[Cpu]>> = Once::new();
static TOPOLOGY: Once<Topology> = Once::new();
/// How many CPUs wait for their turn to act.
static WAITING: AtomicU32 = AtomicU32::new(0);
/// No task, in [`Cpu::current`].
const IDLE: u32 = u32::MAX;
/// No IPI is on its way, in [`Cpu::asked_ns`].
const NOT_ASKED: u64 = u64::MAX;

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
    /// Where it writes what it does.
    pub(crate) trace: Tracer,
    /// Where it goes when nobody wants to run.
    pub(crate) idle: Once<Context>,
    /// How its timer makes the tick.
    pub(crate) tick_timer: Once<TickTimer>,
    /// What it keeps for balancing; a leaf among the locks.
    pub(crate) balance: IrqLock<BalanceState, ThisCpu>,
    /// Load that left it without its lock.
    pub(crate) removed: Removed,
    /// The CPU that its running task is to go to; nobody, mostly.
    pub(crate) pushes_to: AtomicU32,
    /// Whether it is to balance for idle CPUs.
    pub(crate) is_kicked: AtomicBool,
    /// Set under `rq`'s lock, read by this CPU before it leaves an interrupt or halts.
    need_resched: NeedResched,
    /// Tasks that other CPUs woke for this one.
    pub(crate) wake_list: WakeList,
    /// What those see of `rq` that do not take its lock.
    pub(crate) seen: Seen,
    /// A copy of what `rq` says, for messages of a CPU that cannot take the lock.
    current: AtomicU32,
    /// When the last wake-up that sent an IPI here happened, ns; under `rq`'s lock.
    wake_ns: AtomicU64,
    /// The time of a wake-up whose IPI has not come yet; [`NOT_ASKED`] if there is none.
    asked_ns: AtomicU64,
    /// When this CPU acts next, or acts; see [`Turn`].
    acts: AtomicU64,
    /// What its costs are that it has not paid yet.
    pub(crate) debt: Debt,
    /// Who has its runqueue's lock by the costs of the machine; under that lock.
    pub(crate) lock_taken: LockTaken,
    /// Whether it halts until it is its turn.
    awaits_turn: AtomicBool,
    /// Whether its run is over.
    is_over: AtomicBool,
    /// Whether there is no other CPU, so that it is always this one's turn.
    is_alone: bool,
    /// What its running task may still do at the time that holds.
    operations: &'static Operations,
}

/// A CPU's place in the order in which CPUs act, ahead of its number: a time, and at one time who
/// acts already before those that wait.
#[derive(Clone, Copy)]
struct Turn(u64);

impl Turn {
    const NEVER: Self = Self(u64::MAX);

    const fn acts(at_ns: u64) -> Self {
        Self(at_ns.saturating_mul(2))
    }

    const fn waits(at_ns: u64) -> Self {
        Self(at_ns.saturating_mul(2).saturating_add(1))
    }
}

/// What only its own CPU touches.
pub(crate) struct Local {
    pub(crate) time: EventTime,
    pub(crate) timers: Timers,
    /// Sections with interrupts off.
    pub(crate) irqsoff: IrqsOff,
    /// Whether timer events are being handled; an interrupt in between leaves it to them.
    pub(crate) is_handling: bool,
    /// Wake-ups made here.
    pub(crate) wakeups: Wakeups,
    /// How far it is on its way to idleness or back, where that takes time.
    pub(crate) idling: Idling,
    /// Whom timers woke here while nobody ran.
    pub(crate) idle_flips: Flips,
}

/// One tick in the timer's own terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TickTimer {
    /// Counts per tick.
    pub(crate) count: u64,
    /// Ticks per 1000 s, by that count and the rate measured on this CPU.
    pub(crate) measured_mhz: u64,
}

impl Local {
    /// Somebody computes or idles on this CPU from here on: it acts again at its next event.
    pub(crate) fn let_time_pass(&mut self, cpu: &Cpu) {
        self.time.passes();
        cpu.set_acts(self.timers.next_ns().unwrap_or(u64::MAX));
        // What came due while an event's time held was left alone.
        events::arm(self);
    }
}

impl Cpu {
    pub(crate) fn new(
        id: u32,
        apic_id: u32,
        rq: Rq,
        local: Local,
        trace: Tracer,
        balance: BalanceState,
        is_alone: bool,
    ) -> Self {
        Self {
            operations: local.time.operations(),
            id,
            apic_id,
            rq: IrqLock::new(rq),
            local: LocalCell::new(id, local),
            account: IrqLock::new(CpuAccount::new(id)),
            trace,
            idle: Once::new(),
            tick_timer: Once::new(),
            balance: IrqLock::new(balance),
            removed: Removed::default(),
            pushes_to: AtomicU32::new(NOBODY),
            is_kicked: AtomicBool::new(false),
            need_resched: NeedResched::none(),
            wake_list: WakeList::new(),
            seen: Seen::default(),
            current: AtomicU32::new(IDLE),
            wake_ns: AtomicU64::new(0),
            asked_ns: AtomicU64::new(NOT_ASKED),
            acts: AtomicU64::new(Turn::NEVER.0),
            debt: Debt::default(),
            lock_taken: LockTaken::default(),
            awaits_turn: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            is_alone,
        }
    }

    /// The task that runs here does one more operation. Interrupts must be off.
    #[inline]
    pub(crate) fn note_operation(&self) {
        if self.operations.note() {
            self.operations_are_used_up();
        }
    }

    #[cold]
    fn operations_are_used_up(&self) {
        self.local.with(|local| local.let_time_pass(self));
    }

    /// Asks for a look at the runqueue. The caller holds `rq`'s lock or is this CPU.
    pub(crate) fn set_need_resched(&self) {
        self.need_resched.set();
    }

    pub(crate) fn clear_need_resched(&self) {
        self.need_resched.clear();
    }

    #[inline]
    pub(crate) fn need_resched(&self) -> bool {
        self.need_resched.is_set()
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
        self.seen.runnable().saturating_sub(1)
    }

    /// Whether nobody wants to run here, as of a moment ago.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.seen.runnable() == 0
    }

    /// Whether nothing runs, is queued or on its way here, as of a moment ago.
    pub(crate) fn is_idle(&self) -> bool {
        self.current().is_none() && self.seen.queued() == 0 && !self.wake_list.is_pending()
    }

    /// Notes when a wake-up happened that this CPU is about to be told of.
    pub(crate) fn note_wake(&self, at_ns: u64) {
        // Relaxed: the IPI that follows orders it.
        self.wake_ns.fetch_max(at_ns, Ordering::Relaxed);
        // SeqCst, as `acts`: it is there before this CPU's turn is over.
        self.asked_ns.fetch_min(at_ns, Ordering::SeqCst);
        self.acts.fetch_min(Turn::waits(at_ns).0, Ordering::SeqCst);
        // SeqCst: either this sees that its run is over, or `retire` comes after the line above.
        if self.is_over.load(Ordering::SeqCst) {
            self.note_asked();
            self.set_acts(u64::MAX);
        }
    }

    /// The IPI of a wake-up has come.
    pub(crate) fn note_asked(&self) {
        self.asked_ns.store(NOT_ASKED, Ordering::SeqCst);
    }

    /// This CPU's run is over: it acts no more, whoever wakes a task on it.
    pub(crate) fn retire(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.note_asked();
        self.set_acts(u64::MAX);
    }

    /// This CPU acts at a time, or not before it; or earlier, if an IPI is on its way that asks for
    /// that: others must not overtake what it will find out only then. If that makes it another
    /// CPU's turn, that one is told.
    #[inline]
    pub(crate) fn set_acts(&self, at_ns: u64) {
        if !self.is_alone {
            self.take_place(at_ns);
        }
    }

    fn take_place(&self, at_ns: u64) {
        // SeqCst, here and below: either this CPU sees that the other one waits, or that one
        // sees that it need not.
        let turn = || Turn::waits(at_ns.min(self.asked_ns.load(Ordering::SeqCst))).0;
        // Not swapped: it may be asked for something at this moment.
        let before = self
            .acts
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |_| Some(turn()))
            .unwrap_or_else(|acts| acts);
        if before == turn() || WAITING.load(Ordering::SeqCst) == 0 {
            return;
        }
        let turn = |cpu: &&Cpu| (cpu.acts.load(Ordering::SeqCst), cpu.id);
        let Some(next) = all().iter().min_by_key(turn) else { return };
        if next.id != self.id && next.stop_waiting() {
            lapic::send_timer(next.apic_id);
        }
    }

    /// Whether something at `at_ns` may happen here now: nothing earlier is left to do on any
    /// other CPU, and nothing at the same time on one with a lower number. If not, an interrupt
    /// will come when it may.
    ///
    /// Under the virtual clock CPUs act one at a time, in the order of event times, whatever the
    /// order in which QEMU executes them. Then no wake-up comes from another CPU's future.
    ///
    /// Nor may an IPI be on its way here from somebody who acted before: a CPU may have been told so
    /// while it was on its way to this question, with interrupts off.
    ///
    /// From then on it acts, until it lets time pass: whatever else is due here at that time comes
    /// before what it makes others do, and a batch of wake-ups stays one.
    pub(crate) fn take_turn(&self, at_ns: u64) -> bool {
        let acting = Turn::acts(at_ns).0;
        if self.is_alone || self.acts.load(Ordering::SeqCst) == acting {
            return true;
        }
        self.set_acts(at_ns);
        if !self.is_turn(at_ns) {
            return false;
        }
        // Whoever acted at an earlier time has said so before it let time pass.
        let asked_ns = self.asked_ns.load(Ordering::SeqCst);
        if asked_ns <= at_ns {
            self.acts.store(Turn::waits(asked_ns).0, Ordering::SeqCst);
            return false;
        }
        self.acts.store(acting, Ordering::SeqCst);
        true
    }

    fn is_turn(&self, at_ns: u64) -> bool {
        let mine = (Turn::waits(at_ns).0, self.id);
        let is_later = |cpu: &Cpu| (cpu.acts.load(Ordering::SeqCst), cpu.id) > mine;
        let is_turn = || all().iter().all(|cpu| cpu.id == self.id || is_later(cpu));
        if is_turn() {
            return true;
        }
        if !self.awaits_turn.swap(true, Ordering::SeqCst) {
            WAITING.fetch_add(1, Ordering::SeqCst);
        }
        is_turn() && self.stop_waiting()
    }

    fn stop_waiting(&self) -> bool {
        let waited = self.awaits_turn.swap(false, Ordering::SeqCst);
        if waited {
            WAITING.fetch_sub(1, Ordering::SeqCst);
        }
        waited
    }

    pub(crate) fn wake_ns(&self) -> u64 {
        self.wake_ns.load(Ordering::Relaxed)
    }
}

/// How they are put together.
pub(crate) fn topology() -> &'static Topology {
    TOPOLOGY.get().expect("the topology is known before CPUs run")
}

/// Publishes the CPUs, in the order of their numbers. Once.
pub(crate) fn init(topology: Topology, cpus: Box<[Cpu]>) {
    TOPOLOGY.call_once(|| topology);
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
#[inline]
pub(crate) fn this() -> &'static Cpu {
    arch::this_cpu().expect("CPUs exist before the first one is asked for")
}

/// The CPUs that idle, as of a moment ago.
pub(crate) fn idle() -> CpuSet {
    all().iter().filter(|cpu| cpu.is_unwanted()).map(|cpu| cpu.id as usize).collect()
}
