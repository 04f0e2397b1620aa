//! Periodic timers, of one task or shared by several.

use crate::arch::ThisCpu;
use abi::program::Late;
use alloc::boxed::Box;
use ksync::IrqLock;
use spin::Once;

static TIMERS: Once<Box<[IrqLock<Timer, ThisCpu>]>> = Once::new();

struct Timer {
    /// When it fires next; nothing before its first use.
    next_ns: Option<u64>,
}

pub(super) fn init(count: u32) {
    TIMERS.call_once(|| (0..count).map(|_| IrqLock::new(Timer { next_ns: None })).collect());
}

/// Moves a timer on; returns the time to sleep until, which may have passed.
pub(super) fn advance(number: u32, epoch_ns: u64, period_ns: u64, late: Late, now_ns: u64) -> u64 {
    let timers = TIMERS.get().expect("timers exist before tasks run");
    let mut timer = timers[number as usize].lock();
    let planned = timer.next_ns.unwrap_or(epoch_ns) + period_ns;
    let next = match late {
        Late::Restart => planned.max(now_ns),
        Late::CatchUp => planned,
        Late::Skip => {
            let missed_ns = now_ns.saturating_sub(planned);
            planned + missed_ns.next_multiple_of(period_ns.max(1))
        }
    };
    timer.next_ns = Some(next);
    next
}
