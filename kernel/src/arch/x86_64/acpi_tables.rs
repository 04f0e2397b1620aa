//! What the firmware says of the machine: processors and reference clocks.
//!
//! The `acpi` crate parses; here is only what the kernel takes from MADT, HPET and FADT. Tables
//! are read through the map of physical memory, once, on the boot CPU.

use super::memory::PHYSICAL_MEMORY_OFFSET;
use acpi::address::AddressSpace;
use acpi::fadt::Fadt;
use acpi::hpet::HpetInfo;
use acpi::madt::{Madt, MadtEntry};
use acpi::{AcpiHandler, AcpiTables, PhysicalMapping};
use alloc::vec::Vec;
use core::ptr::NonNull;

const MADT_ENABLED: u32 = 1;

/// A processor of the MADT.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processor {
    /// Its APIC id; ids have gaps.
    pub(crate) apic_id: u32,
    /// Whether it may be started.
    pub(crate) enabled: bool,
}

/// The ACPI power management timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct PmTimer {
    /// I/O port of the counter.
    pub(super) port: u16,
    /// Whether it counts 32 bits, otherwise 24.
    pub(super) is_32_bit: bool,
}

/// What the kernel takes from the firmware's tables.
#[derive(Debug)]
pub(crate) struct Firmware {
    /// All processors, each APIC id once.
    pub(crate) processors: Vec<Processor>,
    /// Physical address of the HPET's registers.
    pub(super) hpet: Option<u64>,
    pub(super) pm_timer: Option<PmTimer>,
}

#[derive(Clone)]
struct PhysicalMemory;

impl AcpiHandler for PhysicalMemory {
    unsafe fn map_physical_region<T>(
        &self,
        address: usize,
        size: usize,
    ) -> PhysicalMapping<Self, T> {
        let mapped = (PHYSICAL_MEMORY_OFFSET as usize + address) as *mut T;
        let mapped = NonNull::new(mapped).expect("the map does not start at zero");
        // SAFETY: all physical memory that QEMU or `bootloader` give is mapped there for good.
        unsafe { PhysicalMapping::new(address, mapped, size, size, self.clone()) }
    }

    fn unmap_physical_region<T>(_: &PhysicalMapping<Self, T>) {}
}

impl Firmware {
    /// Reads the tables that `rsdp` leads to.
    ///
    /// # Panics
    /// If there is no valid MADT: without it no CPU but this one could be named.
    pub(crate) fn read(rsdp: u64) -> Self {
        // SAFETY: the boot door found a valid RSDP at that address.
        let tables = unsafe { AcpiTables::from_rsdp(PhysicalMemory, rsdp as usize) }
            .unwrap_or_else(|error| panic!("the ACPI tables are damaged: {error:?}"));
        Self {
            processors: processors(&tables),
            hpet: HpetInfo::new(&tables).ok().map(|hpet| hpet.base_address as u64),
            pm_timer: pm_timer(&tables),
        }
    }
}

fn processors(tables: &AcpiTables<PhysicalMemory>) -> Vec<Processor> {
    let madt = tables
        .find_table::<Madt>()
        .unwrap_or_else(|error| panic!("the firmware gives no usable MADT: {error:?}"));
    let mut processors: Vec<Processor> = Vec::new();
    for entry in madt.get().entries() {
        let (apic_id, flags) = match entry {
            MadtEntry::LocalApic(local) => (u32::from(local.apic_id), local.flags),
            MadtEntry::LocalX2Apic(local) => (local.x2apic_id, local.flags),
            _ => continue,
        };
        // Firmware may list a CPU in both forms.
        if processors.iter().all(|known| known.apic_id != apic_id) {
            processors.push(Processor { apic_id, enabled: flags & MADT_ENABLED != 0 });
        }
    }
    processors
}

fn pm_timer(tables: &AcpiTables<PhysicalMemory>) -> Option<PmTimer> {
    let fadt = tables.find_table::<Fadt>().ok()?;
    let block = fadt.pm_timer_block().ok()??;
    if block.address_space != AddressSpace::SystemIo {
        return None;
    }
    let flags = fadt.flags;
    Some(PmTimer {
        port: u16::try_from(block.address).ok()?,
        is_32_bit: flags.pm_timer_is_32_bit(),
    })
}
