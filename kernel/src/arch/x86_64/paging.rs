//! The kernel's own page tables.
//!
//! | range | what | rights |
//! | --- | --- | --- |
//! | `0xffff_8000_...` | physical memory to 4 GiB, without the kernel's image | data; uncached above the RAM |
//! | `0xffff_c000_...` | stacks, see [`super::stack`] | data, guard pages unmapped |
//! | `0xffff_ffff_8000_...` | the kernel's image | code: execute; rodata: read; data: write |
//!
//! Nothing else is mapped: a null pointer faults. The start page of other CPUs is there only
//! while they start. Built once on the boot CPU from whatever tables the boot door left; all
//! changes happen before other CPUs run, so no TLB but this CPU's can be stale.

use super::memory::PHYSICAL_MEMORY_OFFSET;
use super::{Owner, Stack, ThisCpu};
use alloc::alloc::alloc_zeroed;
use alloc::vec::Vec;
use bootloader_api::info::{MemoryRegion, MemoryRegionKind};
use core::alloc::Layout;
use core::arch::asm;
use ksync::IrqLock;
use x86_64::registers::control::{Cr0, Cr0Flags, Cr3, Cr3Flags, Efer, EferFlags};
use x86_64::structures::paging::{
    FrameAllocator, Mapper, OffsetPageTable, Page, PageSize, PageTable, PageTableFlags, PhysFrame,
    Size2MiB, Size4KiB, Translate,
};
use x86_64::{PhysAddr, VirtAddr};

const DATA: PageTableFlags = PageTableFlags::PRESENT
    .union(PageTableFlags::WRITABLE)
    .union(PageTableFlags::NO_EXECUTE)
    .union(PageTableFlags::GLOBAL);
const UNCACHED: PageTableFlags = PageTableFlags::NO_CACHE.union(PageTableFlags::WRITE_THROUGH);
const RODATA: PageTableFlags = PageTableFlags::PRESENT.union(PageTableFlags::NO_EXECUTE);
const CODE: PageTableFlags = PageTableFlags::PRESENT;
const END: u64 = 4 << 30;

static TABLES: IrqLock<Option<OffsetPageTable<'static>>, ThisCpu> = IrqLock::new(None);

unsafe extern "C" {
    static text_start: u8;
    static text_end: u8;
    static rodata_start: u8;
    static rodata_end: u8;
    static data_start: u8;
    static data_end: u8;
}

/// Builds the tables, makes a guarded boot stack, and goes on in `then` with both.
///
/// # Panics
/// If memory runs out.
pub(crate) fn continue_with_own_tables(regions: &[MemoryRegion], then: extern "C" fn() -> !) -> ! {
    // SAFETY: turns on features that the tables below rely on; every x86_64 CPU that QEMU or
    // `bootloader` starts has them.
    unsafe {
        Efer::update(|efer| *efer |= EferFlags::NO_EXECUTE_ENABLE);
    }
    // SAFETY: as above; nothing relies on writing to read-only pages.
    unsafe { Cr0::update(|cr0| *cr0 |= Cr0Flags::WRITE_PROTECT) };

    let root = build(regions);
    // Tasks with their histograms pass over this stack while the run is set up.
    let stack = Stack::new(Owner::Idle(0), 224 * 1024).top();
    // SAFETY: the new tables map this code, the heap and the new stack where they were or will
    // be used; the old stack is given up for good.
    unsafe {
        asm!(
            "mov cr3, {root}",
            "mov rsp, {stack}",
            "xor ebp, ebp",
            "call {then}",
            "ud2",
            root = in(reg) root.start_address().as_u64(),
            stack = in(reg) stack,
            then = in(reg) then,
            options(noreturn),
        )
    }
}

/// The root table, for a CPU that starts.
pub(super) fn root() -> PhysFrame {
    Cr3::read().0
}

/// Maps fresh zeroed memory for data at a page-aligned address.
pub(super) fn map_new(start: u64, size: u64) {
    let mut tables = TABLES.lock();
    let tables = tables.as_mut().expect("stacks come after the tables");
    for address in (start..start + size).step_by(Size4KiB::SIZE as usize) {
        let frame = Frames.allocate_frame().expect("no memory left for stacks");
        map(tables, VirtAddr::new(address), frame, DATA);
    }
}

/// Maps a low page at its own address, executable, as long as `f` runs.
pub(super) fn with_identity_page<R>(address: u64, f: impl FnOnce() -> R) -> R {
    let frame = PhysFrame::<Size4KiB>::containing_address(PhysAddr::new(address));
    let page = Page::<Size4KiB>::containing_address(VirtAddr::new(address));
    {
        let mut tables = TABLES.lock();
        let tables = tables.as_mut().expect("other CPUs start after the tables are built");
        map(tables, VirtAddr::new(address), frame, CODE);
    }
    let result = f();
    let mut tables = TABLES.lock();
    let tables = tables.as_mut().expect("still there");
    let (_, flush) = tables.unmap(page).expect("mapped above");
    flush.flush();
    result
}

fn build(regions: &[MemoryRegion]) -> PhysFrame {
    let offset = VirtAddr::new(PHYSICAL_MEMORY_OFFSET);
    let root = Frames.allocate_frame().expect("no memory for page tables");
    // SAFETY: the boot door's root, reachable because it maps all physical memory at `offset`;
    // only read, and dropped before anyone writes tables.
    let boot_root = unsafe { &mut *table_at(Cr3::read().0) };
    // SAFETY: as above.
    let boot = unsafe { OffsetPageTable::new(boot_root, offset) };
    // SAFETY: a fresh zeroed frame that nothing else refers to.
    let new_root = unsafe { &mut *table_at(root) };
    // SAFETY: its tables come from the heap, which lies in the map at `offset`.
    let mut tables = unsafe { OffsetPageTable::new(new_root, offset) };

    let mut image = Vec::new();
    let sections = [
        (&raw const text_start, &raw const text_end, CODE),
        (&raw const rodata_start, &raw const rodata_end, RODATA),
        (&raw const data_start, &raw const data_end, DATA),
    ];
    for (start, end, flags) in sections {
        for address in (start as u64..end as u64).step_by(Size4KiB::SIZE as usize) {
            let address = VirtAddr::new(address);
            let physical = boot.translate_addr(address).expect("this code runs from there");
            map(&mut tables, address, PhysFrame::containing_address(physical), flags);
            image.push(physical.as_u64());
        }
    }
    image.sort_unstable();

    let usable = regions.iter().filter(|region| region.kind == MemoryRegionKind::Usable);
    let ram_end = usable.map(|region| region.end).filter(|&end| end <= END).max().unwrap_or(END);
    for start in (0..END).step_by(Size2MiB::SIZE as usize) {
        let flags = if start < ram_end { DATA } else { DATA | UNCACHED };
        let end = start + Size2MiB::SIZE;
        // An alias of the image here would be a way around its rights.
        let first = image.partition_point(|&frame| frame < start);
        let inside = &image[first..image.partition_point(|&frame| frame < end)];
        if inside.is_empty() {
            map_huge(&mut tables, start, flags);
            continue;
        }
        for frame in (start..end).step_by(Size4KiB::SIZE as usize) {
            if inside.binary_search(&frame).is_err() {
                let physical = PhysFrame::containing_address(PhysAddr::new(frame));
                map(&mut tables, VirtAddr::new(PHYSICAL_MEMORY_OFFSET + frame), physical, flags);
            }
        }
    }
    *TABLES.lock() = Some(tables);
    root
}

fn map(
    tables: &mut OffsetPageTable<'_>,
    address: VirtAddr,
    frame: PhysFrame<Size4KiB>,
    flags: PageTableFlags,
) {
    let page = Page::<Size4KiB>::containing_address(address);
    // SAFETY: callers map either what is in use already at the same place, or fresh frames.
    let flush = unsafe { tables.map_to(page, frame, flags, &mut Frames) };
    flush.expect("page tables have memory and the page is free").flush();
}

fn map_huge(tables: &mut OffsetPageTable<'_>, start: u64, flags: PageTableFlags) {
    let page = Page::<Size2MiB>::containing_address(VirtAddr::new(PHYSICAL_MEMORY_OFFSET + start));
    let frame = PhysFrame::containing_address(PhysAddr::new(start));
    // SAFETY: the boot door has the same mapping at the same place.
    let flush = unsafe { tables.map_to(page, frame, flags, &mut Frames) };
    flush.expect("page tables have memory and the page is free").ignore();
}

fn table_at(frame: PhysFrame) -> *mut PageTable {
    (PHYSICAL_MEMORY_OFFSET + frame.start_address().as_u64()) as *mut PageTable
}

/// Frames from the heap: page-aligned, zeroed, never freed.
struct Frames;

// SAFETY: the heap hands out each page once.
unsafe impl FrameAllocator<Size4KiB> for Frames {
    fn allocate_frame(&mut self) -> Option<PhysFrame> {
        let layout = Layout::from_size_align(4096, 4096).expect("a page is a valid layout");
        // SAFETY: the layout is not empty.
        let page = unsafe { alloc_zeroed(layout) } as u64;
        let physical = page.checked_sub(PHYSICAL_MEMORY_OFFSET)?;
        Some(PhysFrame::containing_address(PhysAddr::new(physical)))
    }
}

/// Sets the control registers as the boot CPU has them. For a CPU that just started with the
/// tables of [`root`].
pub(super) fn adopt() {
    let (frame, _) = Cr3::read();
    // SAFETY: writes back what is there, and so drops what the TLB kept of the start page.
    unsafe { Cr3::write(frame, Cr3Flags::empty()) };
}
