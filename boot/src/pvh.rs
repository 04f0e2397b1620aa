//! Turns `hvm_start_info` into `BootInfo`.
//!
//! Source: Xen's public header `arch-x86/hvm/start_info.h`, version 1 (with memory map).
//! As the `bootloader` crate does, memory that already has a use (the kernel's image, the
//! ramdisk, the block itself, everything below 1 MiB) is taken out of the usable regions.

use crate::{KERNEL_OFFSET, PHYSICAL_MEMORY_OFFSET};
use bootloader_api::BootInfo;
use bootloader_api::info::{MemoryRegion, MemoryRegionKind, MemoryRegions, Optional};
use core::cell::UnsafeCell;

const MAGIC: u32 = 0x336e_c578;
const E820_RAM: u32 = 1;
/// QEMU's `pc` reports 5 to 8 entries; each reserved range can split one.
const MAX_REGIONS: usize = 64;

/// `struct hvm_start_info`
#[repr(C)]
struct StartInfo {
    magic: u32,
    version: u32,
    flags: u32,
    nr_modules: u32,
    modlist_paddr: u64,
    cmdline_paddr: u64,
    rsdp_paddr: u64,
    memmap_paddr: u64,
    memmap_entries: u32,
    reserved: u32,
}

/// `struct hvm_modlist_entry`
#[repr(C)]
struct Module {
    paddr: u64,
    size: u64,
    cmdline_paddr: u64,
    reserved: u64,
}

/// `struct hvm_memmap_table_entry`
#[repr(C)]
struct MemoryMapEntry {
    addr: u64,
    size: u64,
    kind: u32,
    reserved: u32,
}

unsafe extern "C" {
    static kernel_start: u8;
    static kernel_end: u8;
}

#[expect(improper_ctypes, reason = "the signature is bootloader_api's, both sides are Rust")]
unsafe extern "C" {
    /// Defined by `bootloader_api::entry_point!` in the kernel.
    fn _start(boot_info: &'static mut BootInfo) -> !;
}

/// Memory for what outlives the entry code, borrowed by it alone.
struct Once<T>(UnsafeCell<T>);

// SAFETY: `pvh_main` runs once, on the only CPU that is up, and nobody else names the statics.
unsafe impl<T> Sync for Once<T> {}

/// Regions under construction: usable memory minus what is in use.
struct Regions {
    regions: &'static mut [MemoryRegion; MAX_REGIONS],
    len: usize,
}

impl Regions {
    fn push(&mut self, start: u64, end: u64, kind: MemoryRegionKind) {
        // A map longer than this loses its tail: less memory, never wrong memory.
        if start < end && self.len < MAX_REGIONS {
            self.regions[self.len] = MemoryRegion { start, end, kind };
            self.len += 1;
        }
    }

    /// Takes a range out of the usable regions and lists it as the bootloader's.
    fn reserve(&mut self, start: u64, end: u64) {
        let (start, end) = (start & !0xfff, (end + 0xfff) & !0xfff);
        for index in 0..self.len {
            let region = self.regions[index];
            if region.kind != MemoryRegionKind::Usable || end <= region.start || region.end <= start
            {
                continue;
            }
            self.regions[index].end = start.max(region.start);
            self.push(end, region.end, MemoryRegionKind::Usable);
        }
        self.push(start, end, MemoryRegionKind::Bootloader);
    }
}

/// Called by `entry` with the physical address of the start info block.
pub(crate) extern "sysv64" fn pvh_main(start_info: u64) -> ! {
    static REGIONS: Once<[MemoryRegion; MAX_REGIONS]> =
        Once(UnsafeCell::new([MemoryRegion::empty(); MAX_REGIONS]));
    static BOOT_INFO: Once<Option<BootInfo>> = Once(UnsafeCell::new(None));

    // SAFETY: QEMU put the block there, below 4 GiB, which the entry tables map.
    let info = unsafe { &*(physical(start_info) as *const StartInfo) };
    assert!(info.magic == MAGIC, "the boot block has magic {:#x}, not PVH's", info.magic);
    assert!(info.version >= 1, "the boot block has no memory map; QEMU 4.0 or newer is needed");
    // SAFETY: the block says so many entries are there.
    let map = unsafe {
        core::slice::from_raw_parts(
            physical(info.memmap_paddr) as *const MemoryMapEntry,
            info.memmap_entries as usize,
        )
    };
    // SAFETY: as above.
    let modules = unsafe {
        let count = info.nr_modules as usize;
        let first = if count == 0 {
            core::ptr::dangling()
        } else {
            physical(info.modlist_paddr) as *const Module
        };
        core::slice::from_raw_parts(first, count)
    };

    // SAFETY: this function runs once, on one CPU; nobody else names the static.
    let regions = unsafe { &mut *REGIONS.0.get() };
    let mut regions = Regions { regions, len: 0 };
    for entry in map {
        let kind = match entry.kind {
            E820_RAM => MemoryRegionKind::Usable,
            other => MemoryRegionKind::UnknownBios(other),
        };
        regions.push(entry.addr, entry.addr + entry.size, kind);
    }
    let image = (&raw const kernel_start as u64, &raw const kernel_end as u64);
    regions.reserve(0, 1 << 20);
    regions.reserve(image.0 - KERNEL_OFFSET, image.1 - KERNEL_OFFSET);
    regions.reserve(start_info, start_info + size_of::<StartInfo>() as u64);
    for module in modules {
        regions.reserve(module.paddr, module.paddr + module.size);
    }

    let Regions { regions, len } = regions;
    let mut boot_info = BootInfo::new(MemoryRegions::from(&mut regions[..len]));
    boot_info.physical_memory_offset = Optional::Some(PHYSICAL_MEMORY_OFFSET);
    boot_info.rsdp_addr = match info.rsdp_paddr {
        0 => Optional::None,
        address => Optional::Some(address),
    };
    if let Some(ramdisk) = modules.first() {
        boot_info.ramdisk_addr = Optional::Some(physical(ramdisk.paddr));
        boot_info.ramdisk_len = ramdisk.size;
    }
    boot_info.kernel_addr = image.0 - KERNEL_OFFSET;
    boot_info.kernel_len = image.1 - image.0;

    // SAFETY: as for REGIONS; the reference is handed on for good.
    let slot = unsafe { &mut *BOOT_INFO.0.get() };
    let boot_info = slot.insert(boot_info);
    // SAFETY: `entry_point!` in the kernel defines `_start` with this signature.
    unsafe { _start(boot_info) }
}

fn physical(address: u64) -> u64 {
    PHYSICAL_MEMORY_OFFSET + address
}
