//! The host side of slicelab: from a description of an experiment to numbers that can be trusted.
//!
//! ```text
//!  flags -> cli -> Experiment { config, workload, host }
//!                      | plan: everything checked, nothing started
//!                      v
//!        kernel_image  +  Scenario (the ramdisk)  ->  qemu::command -> qemu::process
//!                                                                          | serial bytes
//!                                                     decode -> records <--+
//!                                                                  |
//!                                  expect (what must hold)  ->  report (JSON, text)
//!
//!        guest memory -> trace (a file) -> show, and the formats of others' viewers
//! ```
//!
//! `slices` and `jitter` are questions: several experiments and one answer; `sweep` is a grid of
//! them. `compare` and `page` start nothing: they read results back.
//!
//! Invariants:
//! 1. Nothing is started before everything that was asked for is known to be possible.
//! 2. A result exists only if the guest's report is complete and undamaged. Whatever else
//!    happens is an [`Error`] that names its cause.
//! 3. No process outlives this one, however it ends.
//! 4. Under the virtual clock, the same experiment gives the same result document, but for the
//!    host's time.

#![deny(unsafe_code)] // one exception, in `leash`

mod batch;
pub mod cli;
pub mod commands;
mod compare;
pub mod config;
pub mod decode;
mod doctor;
pub mod error;
pub mod expect;
pub mod experiment;
pub mod interrupt;
mod jitter;
pub mod kernel_image;
mod leash;
mod listing;
pub mod mixes;
pub mod model;
mod page;
mod progress;
pub mod qemu;
mod questions;
pub mod records;
pub mod repeat;
pub mod report;
mod results;
pub mod rtapp;
mod shell;
mod show;
pub mod slices;
mod source;
mod sweep;
pub mod topology;
pub mod trace;
pub mod units;
pub mod workload;

pub use config::Config;
pub use error::Error;
pub use experiment::{Experiment, Host, RunResult};
pub use workload::Workload;
