//! Per-entity load tracking (PELT): how much a task or a queue has been doing of late.
//!
//! Time is cut into periods of 1024 us, a microsecond being 1024 ns. What happened n periods ago
//! counts y^n as much as what happens now, with y^32 = 1/2: half of an average is the last 32 ms.
//!
//! - **load**: the weights of what is queued. A task of nice 0 that always wants to run: 1024.
//! - **runnable**: 1024 for each task that wants to run.
//! - **util**: 1024 while something runs.
//!
//! An average is a sum over the past divided by the largest sum there can be. All arithmetic is in
//! whole numbers, so that the same history gives the same averages everywhere.
//!
//! Time is an argument: the task clock, which is what Linux's `clock_pelt` is on CPUs of full and
//! equal capacity. The kernel calls [`TaskLoad::update`] and [`QueueLoad::update`] under the
//! runqueue's lock, before each change of what they are told.
//!
//! Source: "sched: Per-entity load-tracking" and its successors (`kernel/sched/pelt.c`);
//! "sched/fair: Add util_est on top of PELT".

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod decay;
mod queue;
mod signals;
mod task;
mod util_est;

pub use queue::QueueLoad;
pub use task::{Averages, TaskLoad};
pub use util_est::UtilEst;

/// What a CPU can do: the util of one that is never idle.
pub const CAPACITY: u64 = 1024;
