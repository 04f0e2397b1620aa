//! x86_64 under QEMU or on hardware with a local APIC.

mod acpi_tables;
pub(crate) mod calibrate;
pub(crate) mod clock;
mod context;
pub(crate) mod cpu_start;
pub(crate) mod crash;
mod descriptors;
pub(crate) mod exit;
mod interrupts;
mod interrupts_entry;
pub(crate) mod lapic;
pub(crate) mod memory;
mod paging;
pub(crate) mod serial;
mod stack;
mod this_cpu;

pub(crate) use acpi_tables::Firmware;
pub(crate) use context::{Context, switch};
pub(crate) use interrupts::{
    halt_forever, interrupts_are_on, interrupts_off, interrupts_on, let_interrupts_in, spin_hint,
    wait_for_interrupt,
};
pub(crate) use memory::ramdisk;
pub(crate) use paging::continue_with_own_tables;
pub(crate) use stack::{Owner, Stack};
pub(crate) use this_cpu::{ThisCpu, begin, set_this_cpu, this_cpu};
