//! Wake-ups that the target's own CPU finishes (Linux: `ttwu_queue_wakelist` and
//! `sched_ttwu_pending`).
//!
//! The waker has claimed the task by its state and puts it on the target's wake list; the target
//! takes the list when the interrupt comes and does all that needs its runqueue's lock. Until
//! then the task is on no queue or, if its dequeue was delayed, still on the one where it blocked,
//! which may even have let it go meanwhile.
//!
//! The interrupt's time is the wake-up's, so under the virtual clock the list is taken at the time
//! of the wake-ups on it.

use super::{domains, wakeup};
use crate::cpu::{self, Cpu};
use crate::irqsoff::let_interrupts_in;
use crate::task::{self, Moved, Task};
use eevdf::{Enqueue, Wake};
use placement::Feature;
use placement::wakeup::{Remote, queues};

/// Wake-ups that are finished without letting interrupts in.
const AT_A_STRETCH: usize = 16;

/// Puts the task on the list of `target`, if that is what the rules want there; returns whether
/// they do. The caller holds the task's lock.
pub(super) fn queue(this: &Cpu, target: &Cpu, task: &Task, is_delayed: bool, now: u64) -> bool {
    let Some(linux) = domains::linux().filter(|_| target.id != this.id) else { return false };
    let wakeup = Remote {
        this: this.id as usize,
        target: target.id as usize,
        target_queued: target.seen.queued(),
        is_delayed,
    };
    if !queues(&linux.rules, cpu::topology(), &wakeup) {
        return false;
    }
    // The waker's time: what the way to the target takes is part of the latency.
    task.account.lock_masked().queue_wakeup(now);
    this.local.with(|local| local.wakeups.queued += 1);
    if target.wake_list.push(task.id, &task.wake_link) {
        wakeup::kick(this, target, now);
    }
    true
}

/// The same for a task that its last CPU has not left yet: that one will be done with it before
/// it looks at its list, so nobody has to wait.
pub(super) fn queue_on_cpu(this: &Cpu, prev: &Cpu, task: &Task, now: u64) -> bool {
    domains::linux().is_some_and(|linux| linux.rules.has(Feature::TtwuQueueOnCpu))
        && !task.is_moving()
        && queue(this, prev, task, false, now)
}

/// Puts the tasks on this CPU's list on its queue, in the order in which they were woken.
///
/// Interrupts must be off, and events are being handled: those let in between leave everything
/// to be handled later, and this CPU stands on no leaving task's stack.
pub(crate) fn drain(this: &Cpu, now: u64) {
    // Not only if `is_pending`: that is a hint, which `done` below may take back from a task that
    // was pushed meanwhile.
    let batch = this.wake_list.take(|id| &task::by_id(id).wake_link);
    for (index, id) in batch.enumerate() {
        if index % AT_A_STRETCH == AT_A_STRETCH - 1 {
            let_interrupts_in();
        }
        let task = task::by_id(id);
        // Until the waker has let go of the task, no longer.
        let _wait = task.wait.lock_masked();
        let how = Wake::default();
        if !wakeup::requeue_delayed(this, task, how, now) {
            // It may have been let go by another queue than this one a moment ago.
            task.context.on_cpu().wait_until_off();
            wakeup::note_move(this, task, this, Moved::Wakeup, now);
            wakeup::activate(this, this, task, Enqueue::Wakeup, Moved::Wakeup, how, now);
        }
    }
    if this.wake_list.is_pending() {
        this.wake_list.done();
    }
}
