//! Scenarios in QEMU; one binary, so that the runner is linked once.

mod against_linux;
mod agreement;
mod balance;
mod base_slice;
mod boots;
mod boundary;
mod burns;
mod costs;
mod determinism;
mod exports;
mod failures;
mod fifo;
mod mixes;
mod order;
mod placement;
mod programs;
mod real_clock;
mod rtapp;
mod shares;
mod slices;
mod smp_wakeups;
mod storm;
mod tick_modes;
mod traces;
mod wakeups;
