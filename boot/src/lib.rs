//! PVH entry: from QEMU's `-kernel` to the `bootloader_api` contract.
//!
//! QEMU enters at `pvh_start` in 32-bit protected mode without paging and hands over a
//! `hvm_start_info` block. `entry.rs` builds the page tables for the jump to 64 bits; then
//! `pvh.rs` turns the block into the [`bootloader_api::BootInfo`] that the `bootloader` crate
//! would have made, and calls the same `_start`. The kernel cannot tell the doors apart, apart
//! from [`PHYSICAL_MEMORY_OFFSET`] being covered up to 4 GiB only.
//!
//! Runs once, on the boot CPU, before anything else.

#![no_std]

mod entry;
mod pvh;

/// Where the entry tables map physical memory, as the kernel asks of `bootloader` too.
pub const PHYSICAL_MEMORY_OFFSET: u64 = 0xffff_8000_0000_0000;

/// Difference between a kernel symbol's virtual and physical address when loaded through PVH;
/// `KERNEL_OFFSET` of the linker script.
const KERNEL_OFFSET: u64 = 0xffff_ffff_8000_0000;
