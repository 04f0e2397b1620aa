//! From 32-bit protected mode without paging to Rust in the upper half.
//!
//! Source: Xen's `docs/misc/pvh.pandoc` (state at entry: ebx = address of `hvm_start_info`,
//! flat segments, paging off, interrupts off); Intel SDM vol. 3A, 9.8.5 (enabling IA-32e mode).
//!
//! The tables map the first 4 GiB three times with 2 MiB pages, all writable and executable:
//! at 0 for the instructions around the switch, at [`PHYSICAL_MEMORY_OFFSET`], and the first
//! GiB at [`KERNEL_OFFSET`]. The kernel replaces them by tables with proper permissions before
//! it does anything else. Symbols are linked high, so until paging is on each is used minus
//! `KERNEL_OFFSET`.

use crate::{KERNEL_OFFSET, PHYSICAL_MEMORY_OFFSET, pvh::pvh_main};
use core::arch::global_asm;

/// Bytes of the stack that lives until the kernel has built its own.
const STACK_SIZE: usize = 32 * 1024;

const PRESENT_WRITABLE: u32 = 0b11;
const HUGE: u32 = 1 << 7;
const CR4_PAE: u32 = 1 << 5;
const CR0_PAGING_WRITE_PROTECT: u32 = 1 << 31 | 1 << 16;
const MSR_EFER: u32 = 0xc000_0080;
const EFER_LONG_MODE_NO_EXECUTE: u32 = 1 << 8 | 1 << 11;
/// `XEN_ELFNOTE_PHYS32_ENTRY`
const NOTE_PHYS32_ENTRY: u32 = 18;

const fn table_index(address: u64, level: u32) -> usize {
    (address >> (12 + 9 * (level - 1)) & 511) as usize
}

global_asm!(
    // QEMU reads the entry address as a 64-bit word right behind the padded name.
    ".pushsection .note.pvh, \"a\", @note",
    ".balign 4",
    ".long 4, 8, {note_type}",
    ".asciz \"Xen\"",
    ".quad pvh_start - {offset}",
    ".popsection",

    ".pushsection .text.pvh, \"ax\", @progbits",
    ".code32",
    ".global pvh_start",
    "pvh_start:",
    "cld",
    "mov esi, ebx", // hvm_start_info, kept for pvh_main

    // 2048 pages of 2 MiB in four consecutive directories.
    "mov edi, offset pvh_directories - {offset}",
    "mov eax, {huge_page}",
    "mov ecx, 2048",
    "1:",
    "mov [edi], eax",
    "mov dword ptr [edi + 4], 0",
    "add eax, 0x200000",
    "add edi, 8",
    "dec ecx",
    "jnz 1b",

    // Low pointers: four directories.
    "mov edi, offset pvh_pointers_low - {offset}",
    "mov eax, offset pvh_directories - {offset} + {entry_flags}",
    "mov ecx, 4",
    "2:",
    "mov [edi], eax",
    "add eax, 4096",
    "add edi, 8",
    "dec ecx",
    "jnz 2b",

    // High pointers: the first GiB where the kernel is linked.
    "mov eax, offset pvh_directories - {offset} + {entry_flags}",
    "mov [pvh_pointers_high - {offset} + 8 * {kernel_pointer}], eax",

    "mov eax, offset pvh_pointers_low - {offset} + {entry_flags}",
    "mov [pvh_root - {offset}], eax",
    "mov [pvh_root - {offset} + 8 * {physical_root}], eax",
    "mov eax, offset pvh_pointers_high - {offset} + {entry_flags}",
    "mov [pvh_root - {offset} + 8 * {kernel_root}], eax",

    "mov eax, cr4",
    "or eax, {pae}",
    "mov cr4, eax",
    "mov eax, offset pvh_root - {offset}",
    "mov cr3, eax",
    "mov ecx, {efer}",
    "rdmsr",
    "or eax, {efer_bits}",
    "wrmsr",
    "mov eax, cr0",
    "or eax, {paging}",
    "mov cr0, eax",

    "lgdt [pvh_gdt_pointer - {offset}]",
    "push 8",
    "mov eax, offset pvh_long - {offset}",
    "push eax",
    "retf",

    ".code64",
    "pvh_long:",
    "xor eax, eax",
    "mov ds, eax",
    "mov es, eax",
    "mov ss, eax",
    "movabs rax, offset pvh_high",
    "jmp rax",
    "pvh_high:",
    "movabs rsp, offset pvh_stack_top",
    "xor ebp, ebp",
    "mov edi, esi",
    "call {main}",
    "ud2",

    ".balign 8",
    "pvh_gdt:",
    ".quad 0",
    ".quad 0x00af9b000000ffff", // 64-bit code, ring 0
    "pvh_gdt_pointer:",
    ".word 15",
    ".long pvh_gdt - {offset}",
    ".popsection",

    ".pushsection .bss.pvh, \"aw\", @nobits",
    ".balign 4096",
    "pvh_root: .skip 4096",
    "pvh_pointers_low: .skip 4096",
    "pvh_pointers_high: .skip 4096",
    "pvh_directories: .skip 4 * 4096",
    "pvh_stack: .skip {stack_size}",
    "pvh_stack_top:",
    ".popsection",

    offset = const KERNEL_OFFSET,
    note_type = const NOTE_PHYS32_ENTRY,
    huge_page = const PRESENT_WRITABLE | HUGE,
    entry_flags = const PRESENT_WRITABLE,
    kernel_pointer = const table_index(KERNEL_OFFSET, 3),
    kernel_root = const table_index(KERNEL_OFFSET, 4),
    physical_root = const table_index(PHYSICAL_MEMORY_OFFSET, 4),
    pae = const CR4_PAE,
    efer = const MSR_EFER,
    efer_bits = const EFER_LONG_MODE_NO_EXECUTE,
    paging = const CR0_PAGING_WRITE_PROTECT,
    stack_size = const STACK_SIZE,
    main = sym pvh_main,
);
