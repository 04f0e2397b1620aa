//! What host and guest say to each other, defined once for both.
//!
//! The host hands the guest a [`Scenario`] as the boot ramdisk. The guest answers over the
//! serial port: human log lines, and machine lines (`@kind key=value ... *crc16`), each of
//! them one [`Record`]. It leaves through `isa-debug-exit` with one of [`exit`]'s codes.
//!
//! Nothing here knows QEMU, the scheduler or a clock. Every quantity carries its unit in its
//! name; times are nanoseconds since the start of the measured run unless said otherwise.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod costs;
pub mod cpuset;
pub mod exit;
pub mod histogram;
pub mod line;
pub mod program;
pub mod record;
pub mod scenario;
pub mod topology;
pub mod trace;

pub use costs::{Cost, Costs};
pub use cpuset::CpuSet;
pub use histogram::Histogram;
pub use program::{Crash, Op, Program, Resources};
pub use record::Record;
pub use scenario::{
    Burn, Clock, Explain, NohzMode, Preempt, Scenario, Steal, Surroundings, TaskSpec, TickMode,
};
pub use topology::TopologySpec;

/// The most CPUs a guest can have: APIC ids are 8 bits wide and 255 means "all".
pub const MAX_CPUS: usize = 255;
