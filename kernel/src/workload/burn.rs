//! Computing: halted or spinning, until the CPU's timer says that it is enough.
//!
//! The end is an event of the CPU the task runs on; when the task is preempted, the switch takes
//! the rest along. Halted, the task is charged just the same, and under the virtual clock time
//! jumps to the next event.

use crate::irqsoff::{interrupts_off, interrupts_on};
use crate::task::Task;
use crate::{cpu, events, run};
use abi::Burn;

/// Uses `ns` of own CPU time. Interrupts must be off, here and below.
pub(super) fn run(task: &'static Task, ns: u64) {
    if ns > 0 {
        let now = cpu::this().local.with(|local| local.time.now());
        compute(task, Some(now + ns), false);
    }
}

/// Computes until a time of the clock.
pub(super) fn run_until(task: &'static Task, end_ns: u64) {
    if end_ns > cpu::this().local.with(|local| local.time.now()) {
        compute(task, Some(end_ns), true);
    }
}

/// Computes until the run ends.
pub(super) fn run_forever(task: &'static Task) {
    compute(task, None, false);
}

/// Lets what this CPU owes pass as time of the task that runs here.
#[inline]
pub(super) fn pay(task: &'static Task) {
    // Paid at once, or it would be owed again by the events in between.
    let owed_ns = cpu::this().debt.take();
    if owed_ns > 0 {
        run(task, owed_ns);
    }
}

fn compute(task: &'static Task, end_ns: Option<u64>, is_wall: bool) {
    task.burst.begin(is_wall);
    let cpu = cpu::this();
    cpu.local.with(|local| {
        local.timers.set_burst_end(end_ns, is_wall);
        local.let_time_pass(cpu);
    });
    match run::config().burn {
        Burn::Halt => {
            while task.burst.is_active() {
                events::wait(|| task.burst.is_active());
            }
        }
        Burn::Spin => {
            interrupts_on();
            // No `pause` here: it is for waiting, and this is work.
            while task.burst.is_active() {}
            interrupts_off();
        }
    }
}
