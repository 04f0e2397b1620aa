//! The small program that a task runs: a few operations the kernel interprets.
//!
//! The kernel knows no workload by name. Hogs, bursts, pairs and background wakers are all
//! programs made of these; the host composes them and checks them before anything boots.

use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// One step of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// Use this much CPU time of one's own, in ns.
    Run(u64),
    /// Use CPU time until the run is over.
    RunForever,
    /// Sleep for this long from now, in ns.
    Sleep(u64),
    /// Sleep until a random gap after the previous arrival of this operation (or after the
    /// task's start). Arrivals form a Poisson process whose rate does not depend on how long the
    /// work in between takes; one that has passed already does not sleep.
    SleepPoisson {
        /// The mean of the gaps, which are exponential, ns.
        mean_ns: u64,
        /// So many percent of the arrivals, at random, wait for the next tick, as what a timer
        /// wheel wakes does; the others come when they come, like interrupts.
        at_tick_pct: u32,
    },
    /// Take one from a semaphore, or wait for one. Waiters are served in order of arrival.
    SemWait(u32),
    /// Add one to a semaphore; the longest waiter, if any, is woken.
    SemPost(u32),
    /// Give up the CPU without sleeping (`sched_yield`).
    Yield,
    /// Continue at the operation with this index.
    Jump(u32),
    /// End the task. So does the end of the program.
    Exit,
    /// Break the guest in this way, to see that it is noticed and told apart from others.
    Crash(Crash),
}

/// Ways to break the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Crash {
    /// A failed assertion.
    Panic,
    /// Endless recursion, into the guard page of the task's stack.
    StackOverflow,
    /// A read through a null pointer.
    NullRead,
    /// A write to the kernel's code.
    CodeWrite,
    /// A jump into data.
    DataExecute,
    /// Nothing happens any more, interrupts off.
    Hang,
    /// A fault that cannot be handled: the machine resets.
    TripleFault,
}

impl Crash {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Panic,
        Self::StackOverflow,
        Self::NullRead,
        Self::CodeWrite,
        Self::DataExecute,
        Self::Hang,
        Self::TripleFault,
    ];

    /// The word on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::StackOverflow => "stack-overflow",
            Self::NullRead => "null-read",
            Self::CodeWrite => "code-write",
            Self::DataExecute => "data-execute",
            Self::Hang => "hang",
            Self::TripleFault => "triple-fault",
        }
    }
}

/// A task's operations, run from the first one on.
pub type Program = Vec<Op>;

/// Why a program cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramError {
    /// A jump leads past the end.
    JumpOutOfRange {
        /// The operation that jumps.
        at: usize,
        /// Where it wants to go.
        to: u32,
    },
    /// A semaphore that the scenario does not have.
    NoSuchSemaphore {
        /// The operation that uses it.
        at: usize,
        /// Its number.
        semaphore: u32,
    },
    /// A loop that neither runs, sleeps, waits nor yields: time would stand still in it.
    SpinsInPlace {
        /// The jump that closes the loop.
        at: usize,
    },
}

impl core::fmt::Display for ProgramError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::JumpOutOfRange { at, to } => {
                write!(f, "operation {at} jumps to {to}, past the end of the program")
            }
            Self::NoSuchSemaphore { at, semaphore } => {
                write!(f, "operation {at} uses semaphore {semaphore}, which does not exist")
            }
            Self::SpinsInPlace { at } => {
                write!(f, "operation {at} closes a loop that takes no time")
            }
        }
    }
}

impl core::error::Error for ProgramError {}

/// Checks that a program cannot run off its end or loop without time passing.
///
/// # Errors
/// The first fault found, with the operation it is in.
pub fn check(program: &[Op], semaphores: u32) -> Result<(), ProgramError> {
    for (at, op) in program.iter().enumerate() {
        match *op {
            Op::Jump(to) if to as usize >= program.len() => {
                return Err(ProgramError::JumpOutOfRange { at, to });
            }
            Op::Jump(to) if to as usize <= at => {
                let takes_time = |op: &Op| !matches!(op, Op::SemPost(_) | Op::Jump(_) | Op::Run(0));
                if !program[to as usize..at].iter().any(takes_time) {
                    return Err(ProgramError::SpinsInPlace { at });
                }
            }
            Op::SemWait(semaphore) | Op::SemPost(semaphore) if semaphore >= semaphores => {
                return Err(ProgramError::NoSuchSemaphore { at, semaphore });
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_loop_is_fine() {
        assert_eq!(check(&[Op::Run(5), Op::Sleep(5), Op::Jump(0)], 0), Ok(()));
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(check(&[Op::Jump(1)], 0), Err(ProgramError::JumpOutOfRange { at: 0, to: 1 }));
        assert_eq!(
            check(&[Op::SemWait(0)], 0),
            Err(ProgramError::NoSuchSemaphore { at: 0, semaphore: 0 })
        );
        assert_eq!(
            check(&[Op::SemPost(0), Op::Run(0), Op::Jump(0)], 1),
            Err(ProgramError::SpinsInPlace { at: 2 })
        );
    }
}
