//! How the guest leaves QEMU: `isa-debug-exit` turns a written byte `v` into status `v << 1 | 1`.
//!
//! Status 0 can therefore not come from the guest: QEMU gives it for a triple fault under
//! `-no-reboot` and for SIGTERM. Status 1 is QEMU's own refusal of its arguments.

/// I/O port of the `isa-debug-exit` device.
pub const PORT: u16 = 0xf4;

/// Written by a guest whose run is complete and reported.
pub const OK: u8 = 0x10;
/// Written by a guest that gave up, after it said why.
pub const FAILED: u8 = 0x11;

/// QEMU's exit status for a byte written to [`PORT`].
pub const fn status(value: u8) -> i32 {
    ((value as i32) << 1) | 1
}

const _: () = assert!(status(OK) == 33 && status(FAILED) == 35);
