//! Sleeping until a time, on the timer of the CPU where one falls asleep.

use super::block;
use crate::cpu;
use crate::task::Task;

/// Sleeps until a time; one that has passed does not sleep. Interrupts must be off.
pub(crate) fn sleep_until(task: &'static Task, at_ns: u64) {
    let sleeps = cpu::this().local.with(|local| {
        let sleeps = at_ns > local.time.now();
        if sleeps {
            local.timers.add_sleeper(at_ns, task.id);
        }
        sleeps
    });
    match sleeps {
        true => block(task),
        false => task.account.lock().pass_wait(at_ns),
    }
}
