//! What must hold of a program before anything runs it, so that the kernel need not look again.

use super::{Op, Resource, Resources, Since};

/// Loop counters that a task has: how deep [`Op::Repeat`] nests.
pub const MAX_COUNTERS: u8 = 8;

/// Why a program cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramError {
    /// A jump or loop leads past the end, or a loop forwards.
    JumpOutOfRange {
        /// The operation that jumps.
        at: usize,
        /// Where it wants to go.
        to: u32,
    },
    /// Something that the scenario does not have.
    NoSuch {
        /// The operation that uses it.
        at: usize,
        /// What.
        kind: Resource,
        /// Its number.
        number: u32,
    },
    /// A loop counter that tasks do not have.
    NoSuchCounter {
        /// The operation that uses it.
        at: usize,
        /// Its number.
        counter: u8,
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
                write!(f, "operation {at} jumps to {to}, where it must not")
            }
            Self::NoSuch { at, kind, number } => {
                write!(f, "operation {at} uses {} {number}, which does not exist", kind.name())
            }
            Self::NoSuchCounter { at, counter } => {
                write!(
                    f,
                    "operation {at} counts in {counter}, a task has 0 to {}",
                    MAX_COUNTERS - 1
                )
            }
            Self::SpinsInPlace { at } => {
                write!(f, "operation {at} closes a loop that takes no time")
            }
        }
    }
}

impl core::error::Error for ProgramError {}

/// Checks that a program uses nothing that is not there and cannot run off its end or loop
/// without time passing.
///
/// # Errors
/// The first fault found, with the operation it is in.
pub fn check(program: &[Op], resources: &Resources) -> Result<(), ProgramError> {
    for (at, op) in program.iter().enumerate() {
        for (kind, number) in uses(op).into_iter().flatten() {
            if number >= resources.count(kind) {
                return Err(ProgramError::NoSuch { at, kind, number });
            }
        }
        match *op {
            Op::Jump(to) if to as usize >= program.len() => {
                return Err(ProgramError::JumpOutOfRange { at, to });
            }
            Op::Jump(to) if to as usize <= at && !takes_time(&program[to as usize..at]) => {
                return Err(ProgramError::SpinsInPlace { at });
            }
            Op::Repeat { counter, .. } if counter >= MAX_COUNTERS => {
                return Err(ProgramError::NoSuchCounter { at, counter });
            }
            // Bounded, so it may take no time: a burst of posts is one.
            Op::Repeat { to, .. } if to as usize > at => {
                return Err(ProgramError::JumpOutOfRange { at, to });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a loop's body can let time pass. What only may wait counts: whether it does is for
/// the other tasks to say.
fn takes_time(body: &[Op]) -> bool {
    body.iter().any(|op| match op {
        Op::Run(ns) | Op::RunWall(ns) | Op::Sleep(ns) => *ns > 0,
        Op::RunForever
        | Op::SleepPoisson { .. }
        | Op::Timer { .. }
        | Op::SemWait(_)
        | Op::Lock(_)
        | Op::LockThisCpu(_)
        | Op::CondWait { .. }
        | Op::Barrier(_)
        | Op::PipeWrite { .. }
        | Op::PipeRead { .. }
        | Op::Yield
        | Op::Exit
        | Op::Crash(_) => true,
        // What waits for a time of the run does so once.
        Op::RunUntil(_) | Op::SleepUntil(_) => false,
        Op::SemPost(_)
        | Op::Unlock(_)
        | Op::UnlockThisCpu
        | Op::Signal(_)
        | Op::Broadcast(_)
        | Op::Spawn(_)
        | Op::SetNice(_)
        | Op::SetPolicy(_)
        | Op::SetSlice(_)
        | Op::SetAffinity(_)
        | Op::Epoch(_)
        | Op::Mark(_)
        | Op::Measure { .. }
        | Op::Count { .. }
        | Op::Sample { .. }
        | Op::Clear(_)
        | Op::Jump(_)
        | Op::Repeat { .. } => false,
    })
}

/// What an operation needs to be there.
fn uses(op: &Op) -> [Option<(Resource, u32)>; 2] {
    use Resource as R;
    let one = |kind, number| [Some((kind, number)), None];
    match *op {
        Op::Timer { timer, .. } => one(R::Timer, timer),
        Op::SemWait(semaphore) | Op::SemPost(semaphore) => one(R::Semaphore, semaphore),
        Op::Lock(mutex) | Op::Unlock(mutex) | Op::LockThisCpu(mutex) => one(R::Mutex, mutex),
        Op::CondWait { condition, mutex } => {
            [Some((R::Condition, condition)), mutex.map(|mutex| (R::Mutex, mutex))]
        }
        Op::Signal(condition) | Op::Broadcast(condition) => one(R::Condition, condition),
        Op::Barrier(barrier) => one(R::Barrier, barrier),
        Op::PipeWrite { pipe, .. } | Op::PipeRead { pipe, .. } => one(R::Pipe, pipe),
        Op::Spawn(pool) => one(R::Pool, pool),
        Op::SetAffinity(set) => one(R::CpuSet, set),
        Op::Mark(mark) => one(R::Mark, mark),
        Op::Measure { since: Since::Mark(mark), histogram } => {
            [Some((R::Mark, mark)), Some((R::Histogram, histogram))]
        }
        Op::Measure { histogram, .. } | Op::Clear(histogram) => one(R::Histogram, histogram),
        Op::Count { counter, .. } => one(R::Counter, counter),
        Op::Sample { counter, histogram } => {
            [Some((R::Counter, counter)), Some((R::Histogram, histogram))]
        }
        _ => [None, None],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_loop_is_fine() {
        let none = Resources::default();
        assert_eq!(check(&[Op::Run(5), Op::Sleep(5), Op::Jump(0)], &none), Ok(()));
        let posts = Resources { semaphores: 1, ..none };
        let burst = [Op::SemPost(0), Op::Repeat { counter: 0, times: 9, to: 0 }];
        assert_eq!(check(&burst, &posts), Ok(()));
    }

    #[test]
    fn faults_are_named() {
        let mut have = Resources::default();
        assert_eq!(
            check(&[Op::Jump(1)], &have),
            Err(ProgramError::JumpOutOfRange { at: 0, to: 1 })
        );
        assert_eq!(
            check(&[Op::Repeat { counter: 0, times: 2, to: 1 }, Op::Exit], &have),
            Err(ProgramError::JumpOutOfRange { at: 0, to: 1 })
        );
        assert_eq!(
            check(&[Op::Repeat { counter: 8, times: 2, to: 0 }], &have),
            Err(ProgramError::NoSuchCounter { at: 0, counter: 8 })
        );
        let missing = |kind| Err(ProgramError::NoSuch { at: 0, kind, number: 0 });
        assert_eq!(check(&[Op::SemWait(0)], &have), missing(Resource::Semaphore));
        have.conditions = 1;
        let wait = Op::CondWait { condition: 0, mutex: Some(0) };
        assert_eq!(check(&[wait], &have), missing(Resource::Mutex));
        let measure = Op::Measure { since: Since::Mark(0), histogram: 0 };
        assert_eq!(check(&[measure], &have), missing(Resource::Mark));
        have.semaphores = 1;
        assert_eq!(
            check(&[Op::SemPost(0), Op::Run(0), Op::Jump(0)], &have),
            Err(ProgramError::SpinsInPlace { at: 2 })
        );
    }
}
