//! A new task gets a CPU (Linux: `wake_up_new_task`).

use super::wakeup;
use crate::cpu;
use crate::task::{Moved, State, Task};
use eevdf::{Enqueue, Wake};

/// Starts a task that is not alive, with the attributes of its description, on an idle CPU if
/// there is one, else here. Interrupts must be off; the caller has it to itself.
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
    let target = placement::simple::select_cpu(this.id as usize, task.affinity(), &cpu::idle());
    if target != this.id as usize {
        this.balance.lock().counters.forks += 1;
    }
    let how = Wake { fork: true, ..Wake::default() };
    let target = cpu::by_id(target as u32);
    wakeup::activate(this, target, task, Enqueue::Initial, Moved::Wakeup, how, now);
}
