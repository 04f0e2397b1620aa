//! Counting semaphores.
//!
//! A post hands what it adds to the longest waiter directly, so nobody can overtake a task that
//! was woken but has not run yet.

use super::line::{self, Line};
use crate::arch::ThisCpu;
use crate::cpu;
use crate::task::Task;
use abi::record::Waits;
use alloc::boxed::Box;
use ksync::IrqLock;
use spin::Once;

static SEMAPHORES: Once<Box<[IrqLock<Semaphore, ThisCpu>]>> = Once::new();

struct Semaphore {
    count: u64,
    waiters: Line,
}

pub(super) fn init(count: u32) {
    let empty = || IrqLock::new(Semaphore { count: 0, waiters: Line::EMPTY });
    SEMAPHORES.call_once(|| (0..count).map(|_| empty()).collect());
}

fn get(number: u32) -> &'static IrqLock<Semaphore, ThisCpu> {
    &SEMAPHORES.get().expect("semaphores exist before tasks run")[number as usize]
}

/// Takes one, or waits until one is handed over. Interrupts must be off.
pub(super) fn wait(number: u32, task: &'static Task) {
    {
        let mut semaphore = get(number).lock_masked();
        if semaphore.count > 0 {
            semaphore.count -= 1;
            drop(semaphore);
            let now = cpu::this().local.with(|local| local.time.now());
            task.account.lock().pass_wait(now);
            return;
        }
        semaphore.waiters.push(task);
    }
    line::wait(task, Waits::Semaphore, number);
}

/// Adds one, or hands it to the longest waiter. Interrupts must be off.
pub(super) fn post(number: u32) {
    let waiter = {
        let mut semaphore = get(number).lock_masked();
        let waiter = semaphore.waiters.pop();
        if waiter.is_none() {
            semaphore.count += 1;
        }
        waiter
    };
    if let Some(waiter) = waiter {
        line::wake(waiter);
    }
}
