//! Which CPU this is, by its GS base.
//!
//! GS points at a [`Block`] from the moment a CPU's descriptor tables are loaded. Before that,
//! only the boot CPU runs (a starting CPU loads GS before it takes any lock), so "not loaded"
//! means CPU 0.

use super::lapic::Lapic;
use alloc::boxed::Box;
use core::arch::asm;
use core::sync::atomic::{AtomicBool, Ordering};
use ksync::LocalCell;
use x86_64::VirtAddr;
use x86_64::instructions::interrupts;
use x86_64::registers::model_specific::GsBase;

/// Set once the boot CPU has loaded its GS base.
static UP: AtomicBool = AtomicBool::new(false);

/// What the architecture keeps for each CPU.
#[repr(C)]
pub(super) struct Block {
    /// First, so that one instruction finds it.
    id: u32,
    /// The APIC of this CPU.
    pub(super) lapic: LocalCell<Option<Lapic>, ThisCpu>,
    /// The context that was left last and is not marked as left yet.
    pub(super) left: LocalCell<Option<&'static super::Context>, ThisCpu>,
}

/// This CPU, as locks and per-CPU cells see it.
#[derive(Debug)]
pub(crate) struct ThisCpu;

// SAFETY: `id` reads the number that `install` put behind this CPU's own GS base, once per
// number. `cli` keeps everything but NMI and machine check away, whose handlers only report.
unsafe impl ksync::Cpu for ThisCpu {
    fn disable_interrupts() -> bool {
        let were_on = interrupts::are_enabled();
        interrupts::disable();
        were_on
    }

    fn restore_interrupts(were_on: bool) {
        if were_on {
            interrupts::enable();
        }
    }

    fn id() -> u32 {
        if !UP.load(Ordering::Relaxed) {
            return 0;
        }
        let id;
        // SAFETY: GS points at this CPU's block, which begins with the number and is never freed.
        unsafe {
            asm!("mov {:e}, gs:[0]", out(reg) id, options(nostack, preserves_flags, readonly))
        };
        id
    }
}

/// Whether the boot CPU has its block; per-CPU data exists from then on.
pub(crate) fn is_up() -> bool {
    UP.load(Ordering::Relaxed)
}

/// Makes this CPU number `id`. Once per CPU and number.
pub(super) fn install(id: u32) {
    let block = Box::leak(Box::new(Block {
        id,
        lapic: LocalCell::new(id, None),
        left: LocalCell::new(id, None),
    }));
    GsBase::write(VirtAddr::from_ptr(block));
    // Relaxed: the boot CPU stores it before it starts another one.
    UP.store(true, Ordering::Relaxed);
}

/// This CPU's block.
pub(super) fn block() -> &'static Block {
    assert!(is_up(), "per-CPU data is used before it exists");
    // SAFETY: `install` has run on this CPU and leaked the block.
    unsafe { &*GsBase::read().as_ptr() }
}
