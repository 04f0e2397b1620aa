//! Conditions: a signal wakes who waits, and is lost where nobody does.

use super::line::{self, Line};
use super::mutex;
use crate::arch::ThisCpu;
use crate::irqsoff::let_interrupts_in;
use crate::task::Task;
use abi::record::Waits;
use alloc::boxed::Box;
use ksync::IrqLock;
use spin::Once;

static CONDITIONS: Once<Box<[IrqLock<Line, ThisCpu>]>> = Once::new();

pub(super) fn init(count: u32) {
    CONDITIONS.call_once(|| (0..count).map(|_| IrqLock::new(Line::EMPTY)).collect());
}

fn get(number: u32) -> &'static IrqLock<Line, ThisCpu> {
    &CONDITIONS.get().expect("conditions exist before tasks run")[number as usize]
}

/// Waits for a signal, without the mutex meanwhile. Interrupts must be off.
pub(super) fn wait(number: u32, mutex: Option<u32>, task: &'static Task) {
    get(number).lock().push(task);
    // In the line first: a signal from here on is for this task too.
    if let Some(mutex) = mutex {
        mutex::unlock(mutex);
    }
    line::wait(task, Waits::Condition, number);
    if let Some(mutex) = mutex {
        mutex::lock(mutex, task);
    }
}

/// Wakes the longest waiter. Interrupts must be off.
pub(super) fn signal(number: u32) {
    let waiter = get(number).lock().pop();
    if let Some(waiter) = waiter {
        line::wake(waiter);
    }
}

/// Wakes all that wait now. Interrupts must be off.
pub(super) fn broadcast(number: u32) {
    let mut waiters = get(number).lock().take();
    while let Some(waiter) = waiters.pop() {
        line::wake(waiter);
        let_interrupts_in();
    }
}
