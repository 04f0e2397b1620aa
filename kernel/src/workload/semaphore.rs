//! Counting semaphores with a line of waiters in order of arrival.
//!
//! A post hands what it adds to the first waiter directly, so nobody can overtake a task that
//! was woken but has not run yet. The line runs through the tasks themselves: no memory.

use crate::arch::ThisCpu;
use crate::cpu;
use crate::sched::{self, Leave, wakeup};
use crate::task::{self, Task, TaskId};
use alloc::boxed::Box;
use core::sync::atomic::Ordering;
use ksync::IrqLock;
use spin::Once;

static SEMAPHORES: Once<Box<[IrqLock<Semaphore, ThisCpu>]>> = Once::new();
const NOBODY: TaskId = TaskId::MAX;

struct Semaphore {
    count: u64,
    first: TaskId,
    last: TaskId,
}

/// Makes the scenario's semaphores, all zero. Once.
pub(crate) fn init(count: u32) {
    let empty = || IrqLock::new(Semaphore { count: 0, first: NOBODY, last: NOBODY });
    SEMAPHORES.call_once(|| (0..count).map(|_| empty()).collect());
}

fn by_id(id: u32) -> &'static IrqLock<Semaphore, ThisCpu> {
    &SEMAPHORES.get().expect("semaphores exist before tasks run")[id as usize]
}

impl Semaphore {
    // Relaxed for the links: all under this semaphore's lock.
    fn push(&mut self, task: &Task) {
        task.next_waiter.store(NOBODY, Ordering::Relaxed);
        match self.last {
            NOBODY => self.first = task.id,
            last => task::by_id(last).next_waiter.store(task.id, Ordering::Relaxed),
        }
        self.last = task.id;
    }

    fn pop(&mut self) -> Option<&'static Task> {
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
}

/// Takes one, or waits until one is handed over. Interrupts must be off.
pub(super) fn wait(id: u32, task: &'static Task) {
    {
        let mut semaphore = by_id(id).lock();
        if semaphore.count > 0 {
            semaphore.count -= 1;
            return;
        }
        semaphore.push(task);
    }
    // A post that comes in between finds the task runnable and leaves the wake-up for it.
    sched::block(task);
}

/// Adds one, or hands it to the first waiter. Interrupts must be off.
pub(super) fn post(id: u32) {
    let waiter = {
        let mut semaphore = by_id(id).lock();
        let waiter = semaphore.pop();
        if waiter.is_none() {
            semaphore.count += 1;
        }
        waiter
    };
    if let Some(waiter) = waiter {
        wakeup::wake(waiter);
    }
    // A waker that is to be preempted is, before it goes on.
    if cpu::this().need_resched() {
        sched::schedule(Leave::Preempted);
    }
}
