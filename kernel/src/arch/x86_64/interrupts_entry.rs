//! Where the CPU enters on interrupts and faults.
//!
//! Interrupts save the caller-saved registers, run their handler, and on the way out switch to
//! another task if this CPU was asked to: that is where the kernel is preempted. Interrupts run
//! on the stack of what they interrupt, so a preempted task keeps its half-finished interrupt
//! on its own stack and leaves it when it runs again.
//!
//! Faults save everything, report and end the run; no fault is expected.

use super::lapic;
use super::stack;
use crate::fail;
use core::arch::naked_asm;
use x86_64::registers::control::Cr2;

pub(super) const TIMER_VECTOR: u8 = 0x40;
pub(super) const RESCHEDULE_VECTOR: u8 = 0x41;
pub(super) const ERROR_VECTOR: u8 = 0xfe;
pub(super) const SPURIOUS_VECTOR: u8 = 0xff;

macro_rules! interrupt_entry {
    ($(#[$doc:meta])* $name:ident => $handler:path) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub(super) extern "C" fn $name() {
            // The CPU aligns the stack to 16 before it pushes five words; with nine more it is
            // aligned again at the call.
            naked_asm!(
                "push rax", "push rcx", "push rdx", "push rsi", "push rdi",
                "push r8", "push r9", "push r10", "push r11",
                "cld",
                "call {handler}",
                "pop r11", "pop r10", "pop r9", "pop r8",
                "pop rdi", "pop rsi", "pop rdx", "pop rcx", "pop rax",
                "iretq",
                handler = sym $handler,
            )
        }
    };
}

interrupt_entry! {
    /// The LAPIC timer.
    timer => on_timer
}
interrupt_entry! {
    /// Another CPU asks this one to look at its runqueue.
    reschedule => on_reschedule
}

extern "C" fn on_timer() {
    lapic::end_of_interrupt();
    crate::irqsoff::in_interrupt(crate::events::on_timer);
}

extern "C" fn on_reschedule() {
    lapic::end_of_interrupt();
    crate::irqsoff::in_interrupt(crate::events::on_reschedule);
}

/// An interrupt that went away before the CPU asked for its vector: nothing to do, not even
/// an end-of-interrupt (Intel SDM vol. 3A, 11.9).
#[unsafe(naked)]
pub(super) extern "C" fn spurious() {
    naked_asm!("iretq")
}

/// What is on the stack when a fault handler runs; the registers are for a debugger.
#[repr(C)]
struct Frame {
    r15: u64,
    r14: u64,
    r13: u64,
    r12: u64,
    r11: u64,
    r10: u64,
    r9: u64,
    r8: u64,
    rbp: u64,
    rdi: u64,
    rsi: u64,
    rdx: u64,
    rcx: u64,
    rbx: u64,
    rax: u64,
    vector: u64,
    error_code: u64,
    rip: u64,
    cs: u64,
    rflags: u64,
    rsp: u64,
    ss: u64,
}

/// Entry of a fault without error code.
#[unsafe(naked)]
pub(super) extern "C" fn fault<const VECTOR: u8>() {
    naked_asm!(
        "push 0",
        "push {vector}",
        "jmp {save}",
        vector = const VECTOR,
        save = sym save_and_report,
    )
}

/// Entry of a fault for which the CPU has pushed an error code.
#[unsafe(naked)]
pub(super) extern "C" fn fault_with_code<const VECTOR: u8>() {
    naked_asm!("push {vector}", "jmp {save}", vector = const VECTOR, save = sym save_and_report)
}

#[unsafe(naked)]
extern "C" fn save_and_report() {
    naked_asm!(
        "push rax", "push rbx", "push rcx", "push rdx", "push rsi", "push rdi", "push rbp",
        "push r8", "push r9", "push r10", "push r11", "push r12", "push r13", "push r14",
        "push r15",
        "cld",
        "mov rdi, rsp",
        "call {report}",
        "ud2",
        report = sym report,
    )
}

extern "C" fn report(frame: &Frame) -> ! {
    const PAGE_FAULT: u64 = 14;
    const DOUBLE_FAULT: u64 = 8;
    let address = Cr2::read_raw();
    if matches!(frame.vector, PAGE_FAULT | DOUBLE_FAULT)
        && let Some(owner) = stack::overflowed(address)
    {
        fail::stack_overflow(owner, frame.rip);
    }
    fail::fault(format_args!(
        "exception {} ({}) at {:#x}, error code {:#x}, cr2 {address:#x}",
        frame.vector,
        name(frame.vector),
        frame.rip,
        frame.error_code,
    ))
}

fn name(vector: u64) -> &'static str {
    match vector {
        0 => "divide error",
        1 => "debug",
        2 => "NMI",
        3 => "breakpoint",
        6 => "invalid opcode",
        8 => "double fault",
        13 => "general protection",
        14 => "page fault",
        18 => "machine check",
        0xfe => "APIC error",
        _ => "unexpected",
    }
}
