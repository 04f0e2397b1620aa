//! The measured run: set up, begin, end.
//!
//! All CPUs begin at one instant and end at one instant, each by its own timer. In between
//! nothing is written anywhere but to memory. The boot CPU reports when all have ended.

use crate::arch::{clock, halt_forever, lapic, spin_hint};
use crate::cpu::{self, Cpu, Local};
use crate::fail::fail;
use crate::task::{self, Moved, Task};
use crate::{events, report, sched, trace, waste, workload};
use abi::record::{Ending, Failure};
use abi::trace::{Event, Joins};
use abi::{Burn, Clock, Costs, NohzMode, Preempt, Steal};
use alloc::vec;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use eevdf::{Enqueue, EntityId};
use spin::Once;

static CONFIG: Once<Config> = Once::new();
/// When the run begins, ns by the counter; 0 while it is not known.
static START_NS: AtomicU64 = AtomicU64::new(0);
/// When it ends, by the counter.
static END_NS: AtomicU64 = AtomicU64::new(0);
/// Why it ends before its time, if it does.
static ENDING: Once<Ending> = Once::new();
/// CPUs whose run is over.
static ENDED: AtomicU32 = AtomicU32::new(0);
/// How long the boot CPU waits for the last CPU to end.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Under the real clock: how long before an early end the other CPUs are told of it.
const END_MARGIN_NS: u64 = 10_000_000;

/// What handlers need of the scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    pub(crate) seed: u64,
    pub(crate) clock: Clock,
    pub(crate) hz: u32,
    pub(crate) nohz: NohzMode,
    pub(crate) duration_ns: u64,
    pub(crate) burn: Burn,
    pub(crate) tick_error_ns: i64,
    pub(crate) irq_cost_ns: u64,
    pub(crate) preempt: Preempt,
    /// What the machine's own doings take; nothing without it.
    pub(crate) costs: Option<Costs>,
    pub(crate) steal: Option<Steal>,
    pub(crate) check_invariants: bool,
    pub(crate) kernel_cost: bool,
    /// Whether tasks are moved to even out load.
    pub(crate) balances: bool,
}

/// Publishes the configuration. Once, before other CPUs start.
pub(crate) fn configure(config: Config) {
    CONFIG.call_once(|| config);
}

/// What the scenario asks for.
pub(crate) fn config() -> &'static Config {
    CONFIG.get().expect("the scenario is read before anything runs")
}

/// When the run began, ns by the counter.
pub(crate) fn start_ns() -> u64 {
    START_NS.load(Ordering::Acquire)
}

/// Under the virtual clock runs begin at a multiple of this, and what goes by the clock itself finds
/// the same phase however long booting took: averages of load are of periods of 2^20 ns, and counts
/// of wakees are halved once a second, which has passed by then. Nobody waits for it; time jumps.
const PHASE_NS: u64 = 1 << 30;

/// Puts all tasks on runqueues and starts the run on all CPUs a moment from now. On the boot
/// CPU, interrupts off; it goes on in its idle loop.
pub(crate) fn begin() {
    // Time to place every task, and for every CPU to take the interrupt below, one after another
    // under TCG.
    let margin_ns = 1_000_000 + 50_000 * cpu::all().len() as u64 + 2_000 * task::count() as u64;
    let ready_ns = clock::now_ns() + margin_ns;
    let start_ns = match config().clock {
        Clock::Virtual => ready_ns.next_multiple_of(PHASE_NS),
        Clock::Real => ready_ns,
    };
    trace::begin(start_ns);
    place_tasks(start_ns);
    END_NS.store(start_ns + config().duration_ns, Ordering::Relaxed);
    for cpu in cpu::all() {
        cpu.set_acts(start_ns);
    }
    // Release: whoever sees the start sees the tasks.
    START_NS.store(start_ns, Ordering::Release);
    let this = cpu::this();
    for cpu in cpu::all().iter().filter(|cpu| cpu.id != this.id) {
        lapic::send_reschedule(cpu.apic_id);
    }
    this.local.with(|local| {
        take_over(local);
        events::arm(local);
    });
}

/// They are placed as if they woke, with a full slice: the run begins in a system that has been
/// running, and the half first slice of a fork would show up once per task in every count.
fn place_tasks(start_ns: u64) {
    let mut tasks_on = vec![0; cpu::all().len()];
    for cpu in cpu::all() {
        cpu.rq.lock().start_clocks(start_ns);
    }
    for task in task::all().iter().filter(|task| task.pool.is_none()) {
        workload::task_starts(task);
        task.account.lock().begin_run(start_ns);
        let target = placement::simple::initial_cpu(task.affinity(), &tasks_on);
        tasks_on[target] += 1;
        let cpu = &cpu::all()[target];
        let mut rq = cpu.rq.lock();
        rq.enqueue(cpu, task, Enqueue::Wakeup, Moved::Wakeup);
        cpu::this().trace.write(start_ns, || {
            let lag_ns = rq.fair.lag(EntityId(task.id)).unwrap_or(0);
            let nr_running = rq.nr_runnable();
            Event::Enqueue { task: task.id, cpu: cpu.id, how: Joins::New, nr_running, lag_ns }
        });
        rq.publish(cpu);
    }
}

/// Takes the run's start over into this CPU's timers, once; returns whether it did.
pub(crate) fn take_over(local: &mut Local) -> bool {
    let start_ns = start_ns();
    if start_ns == 0 {
        return false;
    }
    let end_ns = END_NS.load(Ordering::Acquire);
    local.time.set_end(end_ns);
    if local.timers.is_set() {
        local.timers.end_at(end_ns);
        return false;
    }
    local.timers.set_run(start_ns, end_ns);
    true
}

/// Ends the run now, or as soon as every CPU can be told. The first reason counts. Interrupts
/// must be off.
pub(crate) fn end_early(ending: Ending) {
    let this = cpu::this();
    let now = this.local.with(|local| local.time.now());
    let margin_ns = match config().clock {
        // Nobody acts out of turn, so nobody is beyond this time.
        Clock::Virtual => 0,
        Clock::Real => END_MARGIN_NS,
    };
    let mut is_first = false;
    ENDING.call_once(|| {
        is_first = true;
        ending
    });
    if !is_first {
        return;
    }
    // Release: pairs with the Acquire of whoever takes the new end over.
    END_NS.fetch_min(now + margin_ns, Ordering::Release);
    for cpu in cpu::all().iter().filter(|cpu| cpu.id != this.id) {
        cpu.note_wake(now);
        lapic::send_reschedule(cpu.apic_id);
    }
    this.local.with(|local| {
        take_over(local);
        events::arm(local);
    });
}

/// Why the run ended.
pub(crate) fn ending() -> Ending {
    ENDING.get().copied().unwrap_or(Ending::Time)
}

/// How long it was.
pub(crate) fn elapsed_ns() -> u64 {
    END_NS.load(Ordering::Acquire) - start_ns()
}

/// The run is over on this CPU.
pub(crate) fn end(cpu: &'static Cpu) {
    let end_ns = cpu.local.with(|local| {
        let mut account = cpu.account.lock();
        account.irqsoff_ns = local.irqsoff.longest_ns;
        account.wakeups = local.wakeups;
        local.time.now()
    });
    {
        let mut rq = cpu.rq.lock();
        rq.advance(end_ns);
        let task_ns = rq.task_ns();
        // Charges what the running task has used; whether its slice is over matters no more.
        let _ = rq.fair.update_curr(task_ns);
        if let Some(id) = rq.curr() {
            let length_ns = end_ns.saturating_sub(rq.stint.start_ns);
            rq.busy_ns += length_ns;
            task::by_id(id).account.lock().cut_stint(length_ns);
        }
        cpu.trace.write(end_ns, || Event::End);
    }
    waste::end(end_ns);
    lapic::stop_timer();
    cpu.retire();
    // Release: the boot CPU reads this CPU's counters after it sees the count.
    ENDED.fetch_add(1, Ordering::Release);
    if cpu.id != 0 {
        halt_forever();
    }
    let cpus = cpu::all().len() as u32;
    let give_up = clock::now_ns() + PATIENCE_NS;
    while ENDED.load(Ordering::Acquire) < cpus {
        if clock::now_ns() > give_up {
            let ended = ENDED.load(Ordering::Acquire);
            fail(
                Failure::Cpus,
                ended.into(),
                cpus.into(),
                format_args!("{} of {cpus} cpus did not reach the end of the run", cpus - ended),
            );
        }
        spin_hint();
    }
    if config().check_invariants {
        sched::check_places();
    }
    report::report()
}

/// A task's charged time, wherever its entity is. After the end.
pub(crate) fn charged(task: &Task) -> (u64, u64) {
    let before_ns = task.account.lock().charged_before_ns + task.rt_exec_ns();
    let of = |entity: &eevdf::Entity| (before_ns + entity.sum_exec_ns(), entity.slice_ns());
    if let Some(entity) = &*task.parked.lock() {
        return of(entity);
    }
    let rq = cpu::by_id(task.cpu()).rq.lock();
    rq.fair.entity(EntityId(task.id)).map(of).expect("queued where it says")
}
