//! Breaking the kernel on purpose, so that tests can see each failure being noticed and named.

use super::halt_forever;
use abi::Crash;
use core::arch::asm;
use x86_64::VirtAddr;
use x86_64::instructions::tables::lidt;
use x86_64::structures::DescriptorTablePointer;

unsafe extern "C" {
    static text_start: u8;
    static data_start: u8;
}

/// Breaks it; does not return.
pub(crate) fn crash(how: Crash) -> ! {
    match how {
        Crash::Panic => panic!("this task was told to panic"),
        Crash::StackOverflow => overflow(0),
        // SAFETY: none; the fault is what is wanted, here and below.
        Crash::NullRead => unsafe { asm!("mov rax, [0]", "ud2", options(noreturn)) },
        // SAFETY: see above.
        Crash::CodeWrite => unsafe {
            asm!("mov byte ptr [{}], 0", "ud2", in(reg) &raw const text_start, options(noreturn))
        },
        // SAFETY: see above.
        Crash::DataExecute => unsafe {
            asm!("jmp {}", in(reg) &raw const data_start, options(noreturn))
        },
        Crash::Hang => halt_forever(),
        Crash::TripleFault => triple_fault(),
    }
}

/// Every call keeps something on the stack that the next one depends on.
#[expect(unconditional_recursion, reason = "that is what it is for")]
fn overflow(depth: u64) -> ! {
    let kept = core::hint::black_box([depth; 32]);
    overflow(kept[31] + 1)
}

fn triple_fault() -> ! {
    let none = DescriptorTablePointer { limit: 0, base: VirtAddr::zero() };
    // SAFETY: none; with no IDT the next fault resets the machine.
    unsafe { lidt(&none) };
    // SAFETY: see above.
    unsafe { asm!("ud2", options(noreturn)) }
}
