//! A task that runs is to go elsewhere (Linux: active balance, by a stopper thread).
//!
//! It cannot be taken: it stands on its own stack. So its CPU is asked, and when that one looks, the
//! task leaves as one does that may not stay: it blocks, and this CPU's timer lets it in elsewhere
//! at the same time.

use crate::cpu::{self, Cpu};
use crate::sched::schedule::leave_for;
use crate::sched::{Why, wakeup};
use crate::task::{self, Task};
use core::sync::atomic::Ordering;
use eevdf::Resched;

/// No CPU, in [`Cpu::pushes_to`].
pub(crate) const NOBODY: u32 = u32::MAX;

/// Asks `source` to let the task that runs there go to `dest`; returns false if it may not.
pub(super) fn ask(this: &Cpu, source: &Cpu, dest: &Cpu, now: u64) -> bool {
    let mut rq = source.rq.lock();
    let Some(task) = rq.curr().map(task::by_id) else { return false };
    if !may_go(task, dest.id) {
        return false;
    }
    // Relaxed: it is looked at after `need_resched`, which is released under this lock.
    source.pushes_to.store(dest.id, Ordering::Relaxed);
    wakeup::ask(this, source, &mut rq, Resched::Full, Why::Push, now);
    true
}

/// The CPU leaves its task; if it was asked to push it, the task goes to the other CPU and this
/// returns true when it runs there. Interrupts must be off.
pub(in crate::sched) fn push(this: &Cpu) -> bool {
    if this.pushes_to.load(Ordering::Relaxed) == NOBODY {
        return false;
    }
    let dest = this.pushes_to.swap(NOBODY, Ordering::Relaxed);
    let Some(task) = this.current().map(task::by_id) else { return false };
    // It may be another one by now, or have become busy there.
    if !may_go(task, dest) || !cpu::by_id(dest).is_unwanted() && this.waiting() > 0 {
        return false;
    }
    leave_for(task, Some(dest));
    true
}

fn may_go(task: &Task, dest: u32) -> bool {
    task.affinity().contains(dest as usize) && task.rt_priority().is_none()
}
