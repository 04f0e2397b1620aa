//! The heap: all usable memory above 1 MiB that is in one piece.
//!
//! One pool for everything, page tables and stacks included, which are page-aligned allocations
//! like any other. All of it is taken while booting; no path of the scheduler allocates.
//! Allocations live in the map of physical memory, so a virtual address tells the physical one.

use super::ThisCpu;
use bootloader_api::BootInfo;
use bootloader_api::info::{MemoryRegionKind, Optional};
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::NonNull;
use ksync::IrqLock;
use linked_list_allocator::Heap;

/// Where all physical memory is mapped, in the boot's tables and in ours.
pub(crate) const PHYSICAL_MEMORY_OFFSET: u64 = boot::PHYSICAL_MEMORY_OFFSET;
/// Real-mode memory is left to the firmware and the start of other CPUs.
const LOWEST: u64 = 1 << 20;
/// What the PVH door maps; memory above is of no use here and left alone.
const MAPPED_AT_BOOT: u64 = 4 << 30;

struct Allocator(IrqLock<Heap, ThisCpu>);

#[global_allocator]
static ALLOCATOR: Allocator = Allocator(IrqLock::new(Heap::empty()));

// SAFETY: `Heap` hands out each byte once; the lock makes its calls exclusive.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.0.lock().allocate_first_fit(layout).map_or(core::ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let Some(pointer) = NonNull::new(pointer) else { return };
        // SAFETY: the caller got `pointer` from `alloc` with this layout.
        unsafe { self.0.lock().deallocate(pointer, layout) };
    }
}

/// Gives the largest usable region to the heap; returns its size in bytes.
///
/// # Panics
/// If the boot door is not one that this kernel knows, or there is no memory at all.
pub(crate) fn init(boot_info: &BootInfo) -> u64 {
    assert!(
        matches!(boot_info.physical_memory_offset, Optional::Some(PHYSICAL_MEMORY_OFFSET)),
        "the boot loader did not map physical memory at {PHYSICAL_MEMORY_OFFSET:#x}"
    );
    let usable = boot_info.memory_regions.iter().filter(|r| r.kind == MemoryRegionKind::Usable);
    let (start, end) = usable
        .map(|region| (region.start.max(LOWEST), region.end.min(MAPPED_AT_BOOT)))
        .filter(|(start, end)| start < end)
        .max_by_key(|(start, end)| end - start)
        .expect("the boot loader reports usable memory");
    // SAFETY: the region is usable, mapped at this address by both boot doors and by our own
    // tables, used by nothing else, and given away once.
    unsafe {
        ALLOCATOR
            .0
            .lock()
            .init((PHYSICAL_MEMORY_OFFSET + start) as *mut u8, (end - start) as usize);
    }
    end - start
}

/// The physical address of something on the heap.
pub(crate) fn physical(address: u64) -> u64 {
    address - PHYSICAL_MEMORY_OFFSET
}

/// Bytes still free.
pub(crate) fn free() -> u64 {
    ALLOCATOR.0.lock().free() as u64
}

/// Bytes in use.
pub(crate) fn used() -> u64 {
    ALLOCATOR.0.lock().used() as u64
}

/// The ramdisk's bytes; empty if the boot loader gave none.
pub(crate) fn ramdisk(boot_info: &BootInfo) -> &[u8] {
    match boot_info.ramdisk_addr {
        // SAFETY: both boot doors map the ramdisk at the address they give and leave it alone.
        Optional::Some(address) => unsafe {
            core::slice::from_raw_parts(address as *const u8, boot_info.ramdisk_len as usize)
        },
        Optional::None => &[],
    }
}
