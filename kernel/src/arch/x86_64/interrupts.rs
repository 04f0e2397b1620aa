//! Interrupts on and off, and waiting for them.

use x86_64::instructions::{hlt, interrupts};

pub(crate) use x86_64::instructions::interrupts::{
    are_enabled as interrupts_are_on, disable as interrupts_off, enable as interrupts_on,
};

/// Lets interrupts in and halts until one comes; returns with interrupts off again.
///
/// To be called with interrupts off, after the condition that one waits for was found false:
/// `sti` takes effect after the next instruction, so an interrupt that makes the condition true
/// in between ends the halt instead of being missed.
pub(crate) fn wait_for_interrupt() {
    debug_assert!(!interrupts::are_enabled());
    interrupts::enable_and_hlt();
    interrupts::disable();
}

/// Lets interrupts in that are waiting; returns with interrupts off again.
pub(crate) fn let_interrupts_in() {
    interrupts::enable();
    // `sti` takes effect after the next instruction, which must not be the `cli` below.
    x86_64::instructions::nop();
    interrupts::disable();
}

/// Stops this CPU for good.
pub(crate) fn halt_forever() -> ! {
    loop {
        interrupts::disable();
        hlt();
    }
}

/// In every loop that waits for another CPU: `pause`, which under QEMU's single-threaded TCG
/// also gives the next CPU its turn.
pub(crate) fn spin_hint() {
    core::hint::spin_loop();
}
