//! Fixed priorities above the fair class, and what keeps them from starving it.
//!
//! | file | decides |
//! | --- | --- |
//! | `fifo` | which `SCHED_FIFO` task of a CPU runs |
//! | `dl_server` | when fair tasks go before them all the same |
//!
//! Time comes in as an argument, answers go out as values: no lock, no clock, no allocation. The
//! kernel calls both under the lock of the CPU's runqueue.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod dl_server;
mod fifo;

pub use dl_server::{DlServer, Stop};
pub use fifo::{FifoQueue, Link, Priority};
