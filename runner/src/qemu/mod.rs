//! QEMU: where it is, how it is called, how it is watched.
//!
//! Nothing outside this folder knows a QEMU option or exit status.

mod command;
mod find;
mod process;

pub use command::{Accel, ns_per_instruction};
pub(crate) use command::{
    Launch, command_line, is_fair_to_spinning_cpus, memory_mib, printable, ring_mib,
};
pub use find::{Qemu, Version, kvm_usable};
pub(crate) use process::{Finished, Observer, default_limit, flood_limit, run};
