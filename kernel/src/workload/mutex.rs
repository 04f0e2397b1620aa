//! Mutexes, as glibc's normal ones on a futex: an unlock frees the mutex and wakes the longest
//! waiter, which tries again; whoever comes in between may have it. Nobody checks who unlocks.

use super::line::{self, Line};
use crate::arch::ThisCpu;
use crate::task::{Task, TaskId};
use abi::record::Waits;
use alloc::boxed::Box;
use ksync::IrqLock;
use spin::Once;

static MUTEXES: Once<Box<[IrqLock<Mutex, ThisCpu>]>> = Once::new();

struct Mutex {
    owner: Option<TaskId>,
    waiters: Line,
}

pub(super) fn init(count: u32) {
    let free = || IrqLock::new(Mutex { owner: None, waiters: Line::EMPTY });
    MUTEXES.call_once(|| (0..count).map(|_| free()).collect());
}

fn all() -> &'static [IrqLock<Mutex, ThisCpu>] {
    MUTEXES.get().expect("mutexes exist before tasks run")
}

/// Locks it, waiting until it is free. Interrupts must be off.
pub(super) fn lock(number: u32, task: &'static Task) {
    loop {
        {
            let mut mutex = all()[number as usize].lock();
            if mutex.owner.is_none() {
                mutex.owner = Some(task.id);
                return;
            }
            mutex.waiters.push(task);
        }
        line::wait(task, Waits::Mutex, number);
    }
}

/// Unlocks it. Interrupts must be off.
pub(super) fn unlock(number: u32) {
    let waiter = {
        let mut mutex = all()[number as usize].lock();
        mutex.owner = None;
        mutex.waiters.pop()
    };
    if let Some(waiter) = waiter {
        line::wake(waiter);
    }
}

/// Those that are held, with who holds them.
pub(crate) fn held() -> impl Iterator<Item = (u32, TaskId)> {
    (0..).zip(all()).filter_map(|(number, mutex)| Some((number, mutex.lock().owner?)))
}
