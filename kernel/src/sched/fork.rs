//! A new task gets a CPU (Linux: `wake_up_new_task`).

use super::{select, wakeup};
use crate::cpu;
use crate::task::{Moved, State, Task};
use eevdf::{Enqueue, Wake};
use placement::wakeup::History;

/// Starts a task that is not alive, with the attributes of its description, on the CPU that the
/// surroundings choose. Interrupts must be off; the caller has it to itself.
pub(crate) fn spawn(task: &'static Task) {
    let this = cpu::this();
    let now = this.local.with(|local| local.time.now());
    // One that ended just now holds it until it has left its queue.
    let mut wait = task.wait.lock();
    debug_assert!(wait.state == State::Dead, "task {} is spawned while alive", task.id);
    wait.state = State::Runnable;
    // The CPU on which it ended may not have left its stack yet.
    task.context.on_cpu().wait_until_off();
    let old = task.parked.lock().replace(task.newborn.clone());
    let old = old.expect("a task on no queue has its entity parked");
    task.account.lock().spawn(old.sum_exec_ns());
    task.set_class(task.newborn_policy);
    task.track_newborn();
    *task.history.lock() = History { recent_used: this.id as usize, ..History::default() };
    let target = select::for_fork(this, task);
    if target.id != this.id {
        this.balance.lock().counters.forks += 1;
    }
    let how = Wake { fork: true, ..Wake::default() };
    wakeup::activate(this, target, task, Enqueue::Initial, Moved::Wakeup, how, now);
}
