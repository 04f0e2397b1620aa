//! Which CPU this is, by its GS base.
//!
//! GS points at a [`Block`] from the first thing that a CPU does: the boot CPU's is a static, the
//! others load theirs before they take any lock. Nothing asks whether it is loaded, as every lock
//! of a CPU's own data would have to.

use super::lapic::Lapic;
use crate::cpu::Cpu;
use alloc::boxed::Box;
use core::arch::asm;
use core::mem::offset_of;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};
use ksync::LocalCell;
use x86_64::VirtAddr;
use x86_64::instructions::interrupts;
use x86_64::registers::model_specific::GsBase;

static BOOT_CPU: Block = Block::new(0);

/// What the architecture keeps for each CPU.
#[repr(C)]
pub(super) struct Block {
    id: u32,
    /// Where this block is, so that one instruction finds the rest.
    this: AtomicPtr<Block>,
    /// What the kernel keeps for this CPU, once it does.
    cpu: AtomicPtr<Cpu>,
    /// The APIC of this CPU.
    pub(super) lapic: LocalCell<Option<Lapic>, ThisCpu>,
}

impl Block {
    const fn new(id: u32) -> Self {
        Self {
            id,
            this: AtomicPtr::new(null_mut()),
            cpu: AtomicPtr::new(null_mut()),
            lapic: LocalCell::new(id, None),
        }
    }
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
        let id;
        // SAFETY: GS points at this CPU's block, which is never freed.
        unsafe {
            asm!(
                "mov {:e}, gs:[{id}]",
                out(reg) id,
                id = const offset_of!(Block, id),
                options(nostack, preserves_flags, readonly),
            );
        }
        id
    }
}

/// Makes this the boot CPU, number 0. The first thing that the kernel does.
pub(crate) fn begin() {
    install(&BOOT_CPU);
}

/// Makes this CPU number `id`. Once per CPU and number, not on the boot CPU.
pub(super) fn become_number(id: u32) {
    install(Box::leak(Box::new(Block::new(id))));
}

fn install(block: &'static Block) {
    // Relaxed: only this CPU reads it.
    block.this.store((&raw const *block).cast_mut(), Ordering::Relaxed);
    GsBase::write(VirtAddr::from_ptr(block));
}

/// This CPU's block.
#[inline]
pub(super) fn block() -> &'static Block {
    let block: *const Block;
    // SAFETY: GS points at this CPU's block, which is never freed.
    unsafe {
        asm!(
            "mov {}, gs:[{this}]",
            out(reg) block,
            this = const offset_of!(Block, this),
            options(nostack, preserves_flags, readonly),
        );
    }
    // SAFETY: `install` stored the address of the block there, which is never freed.
    unsafe { &*block }
}

/// Says what the kernel keeps for this CPU from now on.
pub(crate) fn set_this_cpu(cpu: &'static Cpu) {
    let block = block();
    assert!(block.id == cpu.id, "cpu {} takes itself for cpu {}", block.id, cpu.id);
    // Relaxed: only this CPU reads it.
    block.cpu.store((&raw const *cpu).cast_mut(), Ordering::Relaxed);
}

/// What the kernel keeps for this CPU, if [`set_this_cpu`] has been called.
#[inline]
pub(crate) fn this_cpu() -> Option<&'static Cpu> {
    let cpu: *const Cpu;
    // SAFETY: GS points at this CPU's block, which is never freed.
    unsafe {
        asm!(
            "mov {}, gs:[{cpu}]",
            out(reg) cpu,
            cpu = const offset_of!(Block, cpu),
            options(nostack, preserves_flags, readonly),
        );
    }
    // SAFETY: null, or what `set_this_cpu` got as a reference that lives for ever.
    unsafe { cpu.as_ref() }
}
