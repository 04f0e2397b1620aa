//! What the tick does: charge the running task, let the policy end its slice.
//!
//! Two ways to make charged time differ from the clock, both off by default:
//! `tick_error_ns` is added to what a tick charges; `irq_cost_ns` passes inside the tick, and in
//! the slice timer's interrupt, and is charged to nobody, as with Linux's IRQ_TIME_ACCOUNTING.
//! Either decides whether a slice that is a whole number of ticks takes one tick more.

use super::{Rq, Why, balance, domains};
use crate::arch::{ThisCpu, clock};
use crate::cpu::{self, Cpu};
use crate::run;
use crate::task;
use abi::Clock;
use abi::trace::Event;
use eevdf::Resched;
use ksync::IrqLockGuard;

/// The tick of this CPU.
pub(crate) fn tick(cpu: &Cpu, now: u64) {
    cpu.account.lock_masked().tick(now);
    {
        let mut rq = cpu.rq.lock_masked();
        rq.advance_with_error(now, run::config().tick_error_ns);
        if rq.tick() != Resched::No {
            rq.request_resched(cpu, Why::Slice);
        }
        if rq.curr().is_some() {
            // A tick at the very start of a stint is the end of what was before.
            rq.stint.ticks += u64::from(rq.stint.start_ns < rq.clock_ns());
        }
        if let Some(id) = rq.curr() {
            rq.track_task(task::by_id(id));
        }
        cpu.trace.write(now, || Event::Tick {
            curr: rq.curr(),
            nr_running: rq.nr_runnable(),
            resched: cpu.need_resched(),
        });
        rq.publish(cpu);
        set_server_timer(cpu, rq);
    }
    balance::tick(cpu, now);
    if let Some(linux) = domains::linux()
        && !run::config().balances
        && cpu::topology().llc(cpu.id as usize).first == cpu.id as usize
    {
        linux.update_budget(cpu);
    }
    spend_irq_cost(cpu, now);
}

/// The deadline server wanted to be asked now.
pub(crate) fn on_server_timer(cpu: &Cpu, now: u64) {
    let mut rq = cpu.rq.lock_masked();
    rq.advance(now);
    if rq.on_server_timer() {
        rq.request_resched(cpu, Why::Server);
    }
    rq.publish(cpu);
    set_server_timer(cpu, rq);
}

/// Lets go of the runqueue, and has its deadline server asked when it wants to be.
fn set_server_timer(cpu: &Cpu, rq: IrqLockGuard<'_, Rq, ThisCpu>) {
    if rq.has_server() {
        let at_ns = rq.server_timer_ns();
        drop(rq);
        cpu.local.with(|local| local.timers.set_server(at_ns));
    }
}

/// The slice timer fired: an interrupt like the tick's, at the end of a slice.
pub(crate) fn on_slice_timer(cpu: &Cpu, now: u64) {
    let mut rq = cpu.rq.lock_masked();
    rq.advance(now);
    let task_ns = rq.task_ns();
    if rq.fair.hrtick(task_ns) != Resched::No {
        rq.request_resched(cpu, Why::Slice);
    }
    drop(rq);
    spend_irq_cost(cpu, now);
}

/// The interrupt that begins the run stands for the tick at time 0: it costs as much, or the
/// first stint would have a cheaper tick than all others.
pub(crate) fn begin(cpu: &Cpu, now: u64) {
    cpu.rq.lock_masked().advance(now);
    cpu.trace.write(now, || Event::Begin);
    spend_irq_cost(cpu, now);
}

/// Lets the interrupt's own time pass, which nobody is charged for.
fn spend_irq_cost(cpu: &Cpu, now: u64) {
    let cost = run::config().irq_cost_ns;
    if cost > 0 {
        pass(cpu, now, cost);
        cpu.rq.lock_masked().add_irq_time(cost);
        cpu.account.lock_masked().irq_ns += cost;
    }
}

/// The hypervisor takes the CPU away for `ns`: the clock goes on, nothing else does.
pub(crate) fn steal(cpu: &Cpu, now: u64, ns: u64) {
    // Up to here the running task is charged; what follows is not its time.
    let mut rq = cpu.rq.lock_masked();
    rq.advance(now);
    drop(rq);
    pass(cpu, now, ns);
    cpu.rq.lock_masked().add_steal_time(ns);
}

/// Lets `ns` pass with interrupts off.
fn pass(cpu: &Cpu, now: u64, ns: u64) {
    let start = match run::config().clock {
        Clock::Virtual => now,
        Clock::Real => clock::now_ns(),
    };
    // No pause in here: under TCG it would hand the host thread to the next CPU every time.
    while clock::now_ns() < start + ns {}
    cpu.local.with(|local| {
        local.time.spend(ns);
        local.timers.postpone(ns, now + ns);
    });
}
