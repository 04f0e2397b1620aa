//! Barriers: the last to come lets all go on.

use super::line::{self, Line};
use crate::arch::ThisCpu;
use crate::irqsoff::let_interrupts_in;
use crate::task::Task;
use abi::record::Waits;
use alloc::boxed::Box;
use ksync::IrqLock;
use spin::Once;

static BARRIERS: Once<Box<[IrqLock<Barrier, ThisCpu>]>> = Once::new();

struct Barrier {
    parties: u32,
    missing: u32,
    waiters: Line,
}

pub(super) fn init(parties: &[u32]) {
    let barrier =
        |&parties: &u32| IrqLock::new(Barrier { parties, missing: parties, waiters: Line::EMPTY });
    BARRIERS.call_once(|| parties.iter().map(barrier).collect());
}

/// Waits for the others. Interrupts must be off.
pub(super) fn wait(number: u32, task: &'static Task) {
    let barriers = BARRIERS.get().expect("barriers exist before tasks run");
    let mut waiters = {
        let mut barrier = barriers[number as usize].lock();
        barrier.missing -= 1;
        if barrier.missing == 0 {
            barrier.missing = barrier.parties;
            Some(barrier.waiters.take())
        } else {
            barrier.waiters.push(task);
            None
        }
    };
    let Some(waiters) = &mut waiters else {
        return line::wait(task, Waits::Barrier, number);
    };
    while let Some(waiter) = waiters.pop() {
        line::wake(waiter);
        let_interrupts_in();
    }
}
