//! Tasks that wait for other tasks, in order of arrival.
//!
//! A line runs through the tasks themselves: no memory, and no end to how many can wait. A task
//! is in one line at most. It joins under the lock of what it waits for, and blocks after that
//! lock is released; a wake-up that comes in between is kept for it.

use super::progress;
use crate::sched::{self, wakeup};
use crate::task::{self, Task, TaskId};
use abi::record::Waits;
use core::sync::atomic::Ordering;

const NOBODY: TaskId = TaskId::MAX;

/// Who waits, the longest first. Inside the lock of what they wait for, or nobody else's.
pub(super) struct Line {
    first: TaskId,
    last: TaskId,
}

impl Line {
    pub(super) const EMPTY: Self = Self { first: NOBODY, last: NOBODY };

    // Relaxed for the links: who holds a line holds those of the tasks in it.
    pub(super) fn push(&mut self, task: &Task) {
        task.next_waiter.store(NOBODY, Ordering::Relaxed);
        match self.last {
            NOBODY => self.first = task.id,
            last => task::by_id(last).next_waiter.store(task.id, Ordering::Relaxed),
        }
        self.last = task.id;
    }

    pub(super) fn pop(&mut self) -> Option<&'static Task> {
        if self.first == NOBODY {
            return None;
        }
        let task = task::by_id(self.first);
        self.first = task.next_waiter.load(Ordering::Relaxed);
        if self.first == NOBODY {
            self.last = NOBODY;
        }
        Some(task)
    }

    /// All of them, for a caller that wakes them without the lock.
    pub(super) fn take(&mut self) -> Self {
        core::mem::replace(self, Self::EMPTY)
    }
}

/// Waits to be woken, in a line that the task has joined. Interrupts must be off since.
pub(super) fn wait(task: &'static Task, on: Waits, object: u32) {
    task.waits.set(on, object);
    progress::waits();
    sched::block(task);
    task.waits.clear();
}

/// Wakes a task that was taken off a line.
pub(super) fn wake(task: &'static Task) {
    progress::goes_on();
    wakeup::wake(task, eevdf::Wake::default());
}

/// The same, from a waker that is about to wait itself.
pub(super) fn wake_sync(task: &'static Task) {
    progress::goes_on();
    wakeup::wake(task, eevdf::Wake { sync: true, ..eevdf::Wake::default() });
}
