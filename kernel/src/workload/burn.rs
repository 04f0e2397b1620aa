//! Using CPU time: halted or spinning, until the CPU's timer says that it is enough.
//!
//! The time is the task's own. The end is an event of the CPU it runs on; when the task is
//! preempted, the switch takes the rest along. Halted, the task is charged just the same, and
//! under the virtual clock time jumps to the next event.

use crate::arch::{interrupts_off, interrupts_on, wait_for_interrupt};
use crate::task::Task;
use crate::{cpu, events, run};
use abi::Burn;

/// Uses `ns` of own CPU time, or goes on until the run ends. Interrupts must be off.
pub(super) fn run(task: &'static Task, ns: Option<u64>) {
    if ns == Some(0) {
        return;
    }
    task.burst.begin();
    let cpu = cpu::this();
    cpu.local.with(|local| {
        let end = ns.map(|ns| local.time.now() + ns);
        local.timers.set_burst_end(end);
        local.let_time_pass(cpu);
        events::arm(local);
    });
    match run::config().burn {
        Burn::Halt => {
            while task.burst.is_active() {
                wait_for_interrupt();
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
