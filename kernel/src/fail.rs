//! How a run ends that cannot go on: say why, once, and leave.
//!
//! The human line comes first, then `@fail` and `@end status=failed`, then QEMU's exit with the
//! failure code. Whichever CPU comes first speaks; others that fail meanwhile halt. Nothing here
//! waits for a lock: the failing code may hold it.

use crate::arch::{Owner, ThisCpu, exit, halt_forever, serial};
use crate::log::{Level, line_force};
use crate::{cpu, task};
use abi::record::{End, Fail, Failure, Record, Status};
use core::fmt;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};
use ksync::Cpu as _;

static FAILED: AtomicBool = AtomicBool::new(false);

/// Ends the run with a failure record.
pub(crate) fn fail(what: Failure, have: u64, need: u64, text: fmt::Arguments<'_>) -> ! {
    ThisCpu::disable_interrupts();
    // Relaxed: only decides who speaks.
    if FAILED.swap(true, Ordering::Relaxed) {
        halt_forever();
    }
    line_force(Level::Error, "fail", text);
    serial::with_force(|out| {
        abi::line::write(out, &Record::Fail(Fail { what, cpu: ThisCpu::id(), have, need }))?;
        abi::line::write(out, &Record::End(End { status: Status::Failed, records: 1 }))
    });
    exit::exit(abi::exit::FAILED)
}

/// Ends the run after an exception.
pub(crate) fn fault(text: fmt::Arguments<'_>) -> ! {
    fail(Failure::Panic, 0, 0, format_args!("panic: {text}; {}", Where))
}

/// Ends the run after a stack ran over its guard page.
pub(crate) fn stack_overflow(owner: Owner, at: u64) -> ! {
    let cpu = ThisCpu::id();
    match owner {
        Owner::Task(id) => fail(
            Failure::StackOverflow,
            id.into(),
            0,
            format_args!(
                "stack overflow on cpu {cpu} in task {id} ({}) at {at:#x}",
                task::name(id)
            ),
        ),
        Owner::Idle(id) | Owner::Fault(id) => fail(
            Failure::StackOverflow,
            task::count() as u64,
            0,
            format_args!(
                "stack overflow on cpu {cpu} in cpu {id}'s own {owner:?} stack at {at:#x}"
            ),
        ),
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    fail(Failure::Panic, 0, 0, format_args!("{info}; {}", Where))
}

/// Says which CPU and task this is.
struct Where;

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = ThisCpu::id();
        match cpu::get(id).and_then(cpu::Cpu::current) {
            Some(task) => write!(f, "on cpu {id} in task {task} ({})", task::name(task)),
            None => write!(f, "on cpu {id} in no task"),
        }
    }
}
