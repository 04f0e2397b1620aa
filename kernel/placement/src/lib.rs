//! Which CPU: pure choices over a snapshot.
//!
//! The kernel hands in what it sees of the other CPUs (without their locks, so it may be a
//! moment old) and acts on the answer; nothing here reads a clock, takes a lock or moves a task.
//!
//! | module | what |
//! | --- | --- |
//! | [`topology`] | which CPUs share what, and the scheduling domains that follow |
//! | [`wakeup`] | where a waking task goes, and whether it gets there by a wake list |
//! | [`fork`] | where a new task starts |
//! | [`budget`] | how far a search for an idle CPU may go |
//! | [`simple`] | placement without topology |
//!
//! Linux's behaviour, implemented from descriptions of it; what differs between versions is in
//! [`Rules`], what can be switched in [`Feature`].

#![no_std]
#![forbid(unsafe_code)]

pub mod budget;
mod feature;
pub mod fork;
mod rules;
pub mod simple;
mod snapshot;
pub mod topology;
pub mod wakeup;

pub use feature::{Feature, Features};
pub use rules::Rules;
pub use snapshot::Snapshot;
pub use topology::Topology;
