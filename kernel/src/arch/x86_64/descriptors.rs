//! Segment, task-state and interrupt descriptors.
//!
//! One IDT for all CPUs, built once; a GDT and a TSS for each. Faults that mean the stack may
//! be unusable (double fault, NMI, machine check, page fault) have stacks of their own: a page
//! fault on a guard page could not push its frame on the stack that just overflowed.

use super::interrupts_entry as entry;
use super::stack::{Owner, Stack};
use super::this_cpu;
use alloc::boxed::Box;
use spin::Once;
use x86_64::VirtAddr;
use x86_64::instructions::segmentation::{CS, DS, ES, SS, Segment};
use x86_64::instructions::tables::load_tss;
use x86_64::structures::gdt::{Descriptor, GlobalDescriptorTable, SegmentSelector};
use x86_64::structures::idt::InterruptDescriptorTable;
use x86_64::structures::tss::TaskStateSegment;

/// Stacks for faults, by their place in the interrupt stack table.
#[repr(u16)]
#[derive(Clone, Copy)]
enum FaultStack {
    DoubleFault,
    NonMaskable,
    MachineCheck,
    PageFault,
}

const FAULT_STACKS: usize = 4;
/// Enough to format a message; the handlers do nothing else.
const FAULT_STACK_SIZE: u64 = 16 * 1024;

/// The boot CPU has had its number since it began.
const BOOT_CPU: u32 = 0;

static IDT: Once<InterruptDescriptorTable> = Once::new();

/// Gives this CPU its number, descriptors and fault stacks. Once per CPU, interrupts off.
pub(super) fn load(id: u32, fault_stacks: FaultStacks) {
    let mut tss = Box::new(TaskStateSegment::new());
    // The field is unaligned in its packed struct: no reference to it, whole values only.
    let mut tops = tss.interrupt_stack_table;
    for (slot, stack) in tops.iter_mut().zip(&fault_stacks.0) {
        *slot = VirtAddr::new(stack.top());
    }
    tss.interrupt_stack_table = tops;
    let mut gdt = Box::new(GlobalDescriptorTable::new());
    let code = gdt.append(Descriptor::kernel_code_segment());
    let data = gdt.append(Descriptor::kernel_data_segment());
    let task = gdt.append(Descriptor::tss_segment(Box::leak(tss)));
    Box::leak(gdt).load();
    // SAFETY: the selectors are those of the table just loaded, of the right kinds.
    unsafe { load_segments(code, data, task) };
    // Loading a selector into GS would have cleared its base; nobody does.
    if id != BOOT_CPU {
        this_cpu::become_number(id);
    }
    IDT.call_once(build_idt).load();
}

/// Fault stacks of one CPU, made before it starts.
pub(super) struct FaultStacks([Stack; FAULT_STACKS]);

impl FaultStacks {
    pub(super) fn new(id: u32) -> Self {
        Self(core::array::from_fn(|_| Stack::new(Owner::Fault(id), FAULT_STACK_SIZE)))
    }
}

/// # Safety
/// The selectors must fit the loaded GDT.
unsafe fn load_segments(code: SegmentSelector, data: SegmentSelector, task: SegmentSelector) {
    // SAFETY: by this function's contract.
    unsafe { CS::set_reg(code) };
    // SAFETY: by this function's contract.
    unsafe { SS::set_reg(data) };
    // SAFETY: the null selector is always valid for data segments in 64-bit mode.
    unsafe { DS::set_reg(SegmentSelector::NULL) };
    // SAFETY: as above.
    unsafe { ES::set_reg(SegmentSelector::NULL) };
    // SAFETY: by this function's contract; the TSS is leaked and not loaded elsewhere.
    unsafe { load_tss(task) };
}

fn build_idt() -> InterruptDescriptorTable {
    let mut idt = InterruptDescriptorTable::new();
    macro_rules! set {
        ($slot:expr, $stub:expr $(, $stack:ident)?) => {{
            let address = VirtAddr::new($stub as *const () as u64);
            // SAFETY: the stub is an entry of that kind of vector and leaves by iretq, or never.
            let _options = unsafe { $slot.set_handler_addr(address) };
            $(
                // SAFETY: every CPU fills that slot of its TSS before it loads the IDT, and
                // no other vector uses the stack.
                unsafe { _options.set_stack_index(FaultStack::$stack as u16) };
            )?
        }};
    }
    set!(idt.divide_error, entry::fault::<0>);
    set!(idt.debug, entry::fault::<1>);
    set!(idt.non_maskable_interrupt, entry::fault::<2>, NonMaskable);
    set!(idt.breakpoint, entry::fault::<3>);
    set!(idt.overflow, entry::fault::<4>);
    set!(idt.bound_range_exceeded, entry::fault::<5>);
    set!(idt.invalid_opcode, entry::fault::<6>);
    set!(idt.device_not_available, entry::fault::<7>);
    set!(idt.double_fault, entry::fault_with_code::<8>, DoubleFault);
    set!(idt.invalid_tss, entry::fault_with_code::<10>);
    set!(idt.segment_not_present, entry::fault_with_code::<11>);
    set!(idt.stack_segment_fault, entry::fault_with_code::<12>);
    set!(idt.general_protection_fault, entry::fault_with_code::<13>);
    set!(idt.page_fault, entry::fault_with_code::<14>, PageFault);
    set!(idt.x87_floating_point, entry::fault::<16>);
    set!(idt.alignment_check, entry::fault_with_code::<17>);
    set!(idt.machine_check, entry::fault::<18>, MachineCheck);
    set!(idt.simd_floating_point, entry::fault::<19>);
    set!(idt[entry::TIMER_VECTOR], entry::timer);
    set!(idt[entry::RESCHEDULE_VECTOR], entry::reschedule);
    set!(idt[entry::ERROR_VECTOR], entry::fault::<{ entry::ERROR_VECTOR }>);
    set!(idt[entry::SPURIOUS_VECTOR], entry::spurious);
    idt
}
