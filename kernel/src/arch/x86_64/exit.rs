//! Leaving QEMU by its `isa-debug-exit` device.

use super::halt_forever;
use x86_64::instructions::port::Port;

/// Ends the emulator with a code of [`abi::exit`].
pub(crate) fn exit(code: u8) -> ! {
    // SAFETY: the port belongs to isa-debug-exit, and to nothing where that device is missing.
    unsafe { Port::<u8>::new(abi::exit::PORT).write(code) };
    // On a machine without the device the run still ends here.
    halt_forever()
}
