//! Which CPU: pure choices over a snapshot.
//!
//! The kernel hands in what it sees of the other CPUs (without their locks, so it may be a
//! moment old) and acts on the answer; nothing here reads a clock, takes a lock or moves a task.
//!
//! | module | what |
//! | --- | --- |
//! | [`topology`] | which CPUs share what, and the scheduling domains that follow |
//! | [`simple`] | placement without topology |

#![no_std]
#![forbid(unsafe_code)]

pub mod simple;
pub mod topology;

pub use topology::Topology;
