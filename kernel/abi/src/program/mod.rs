//! The small program that a task runs: a few operations the kernel interprets.
//!
//! The kernel knows no workload by name. Hogs, bursts, pairs, rt-app files and the built-in
//! benchmarks are all programs made of these; the host composes them and checks them before
//! anything boots. Things that tasks share are numbered, each kind by itself, as [`Resources`]
//! lists them.
//!
//! Only the operations that compute take time; all others happen at once, as far as the clock
//! of the scenario has it.

mod check;
mod crash;
mod resources;

pub use check::{MAX_COUNTERS, ProgramError, check};
pub use crash::Crash;
pub use resources::{Resource, Resources};

use crate::scenario::Policy;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// A task's operations, run from the first one on.
pub type Program = Vec<Op>;

/// One step of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Op {
    /// Use this much CPU time of one's own, in ns.
    Run(u64),
    /// Compute until the clock has gone on by this many ns, on a CPU or waiting for one.
    RunWall(u64),
    /// Compute until this time of the run, in ns.
    RunUntil(u64),
    /// Use CPU time until the run is over.
    RunForever,
    /// Sleep for this long from now, in ns.
    Sleep(u64),
    /// Sleep until this time of the run, in ns; one that has passed does not sleep.
    SleepUntil(u64),
    /// Sleep until a random gap after the previous arrival of this operation (or after the
    /// run's start). Arrivals form a Poisson process whose rate does not depend on how long the
    /// work in between takes; one that has passed already does not sleep.
    SleepPoisson {
        /// The mean of the gaps, which are exponential, ns.
        mean_ns: u64,
        /// So many percent of the arrivals, at random, wait for the next tick, as what a timer
        /// wheel wakes does; the others come when they come, like interrupts.
        at_tick_pct: u32,
    },
    /// The task's own time counts from this time of the run, in ns: timers that it starts later
    /// do so from there. Without it, from the start of the run, or from when it was spawned.
    Epoch(u64),
    /// Move a timer on by a period and sleep until then. A timer's first period begins at the
    /// [`Op::Epoch`] of the task that uses it first.
    Timer {
        /// Its number.
        timer: u32,
        /// The period, ns.
        period_ns: u64,
        /// What happens where that time has passed already.
        late: Late,
    },
    /// Take one from a semaphore, or wait for one. Waiters are served in order of arrival.
    SemWait(u32),
    /// Add one to a semaphore; the longest waiter, if any, is woken.
    SemPost(u32),
    /// Lock a mutex, or wait until it is free.
    Lock(u32),
    /// Unlock a mutex, whoever holds it; the longest waiter, if any, is woken and tries again.
    Unlock(u32),
    /// Lock the mutex whose number is this one plus that of the CPU the task runs on.
    LockThisCpu(u32),
    /// Unlock the mutex that the last [`Op::LockThisCpu`] locked.
    UnlockThisCpu,
    /// Wait for a signal. The mutex, if any, is unlocked meanwhile and locked again afterwards.
    CondWait {
        /// The condition.
        condition: u32,
        /// The mutex, which the task holds.
        mutex: Option<u32>,
    },
    /// Wake the longest waiter of a condition, if there is one; else nothing is left behind.
    Signal(u32),
    /// Wake all waiters of a condition.
    Broadcast(u32),
    /// Wait until as many tasks as the barrier counts have come.
    Barrier(u32),
    /// Write so many bytes to a pipe, waiting for room as often as it is full.
    PipeWrite {
        /// Its number.
        pipe: u32,
        /// How many bytes.
        bytes: u32,
    },
    /// Read so many bytes from a pipe, waiting for more as often as it is empty.
    PipeRead {
        /// Its number.
        pipe: u32,
        /// How many bytes.
        bytes: u32,
    },
    /// Give up the CPU without sleeping (`sched_yield`).
    Yield,
    /// Start a task of a pool (`fork`).
    Spawn(u32),
    /// Set one's nice value.
    SetNice(i8),
    /// Set one's policy.
    SetPolicy(Policy),
    /// Set one's slice, ns; `None` for the base slice.
    SetSlice(Option<u64>),
    /// May run on the CPUs of this set from here on, and moves there.
    SetAffinity(u32),
    /// Note the time in a mark.
    Mark(u32),
    /// Add the time since something to a histogram.
    Measure {
        /// What.
        since: Since,
        /// The histogram.
        histogram: u32,
    },
    /// Add to a counter.
    Count {
        /// Its number.
        counter: u32,
        /// How much.
        by: u32,
    },
    /// Add to a histogram by how much a counter grew since it was last sampled into it.
    Sample {
        /// The counter.
        counter: u32,
        /// The histogram.
        histogram: u32,
    },
    /// Forget what a histogram holds.
    Clear(u32),
    /// Continue at the operation with this index.
    Jump(u32),
    /// Continue at an earlier operation until what lies between was done so many times; then go
    /// on, and begin to count anew.
    Repeat {
        /// One of the task's own loop counters.
        counter: u8,
        /// How often in all.
        times: u64,
        /// Where the loop begins.
        to: u32,
    },
    /// End the task. So does the end of the program.
    Exit,
    /// Break the guest in this way, to see that it is noticed and told apart from others.
    Crash(Crash),
}

/// What a timer does whose time has passed before the task came to wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Late {
    /// The next period begins now: what was missed is forgotten.
    Restart,
    /// The periods go on as they were planned, and the task runs through those it missed.
    CatchUp,
    /// The periods go on as they were planned, and those that were missed are left out.
    Skip,
}

/// From where a time is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Since {
    /// The start of the run.
    Start,
    /// The task's [`Op::Epoch`].
    Epoch,
    /// The time in a mark; nothing is measured before it is set.
    Mark(u32),
    /// The last time that the task was woken. If it had no need to wait for a semaphore, the time
    /// at which it asked; for a timer, the time that had passed.
    Wakeup,
}
