//! The machine: everything the rest of the kernel may ask of it, and nearly all `unsafe` code.
//!
//! The names below are the contract; another architecture would supply the same ones.
//!
//! | name | what it is |
//! | --- | --- |
//! | [`ThisCpu`] | interrupts on and off, which CPU this is |
//! | [`Context`], [`switch`] | a task's stack and registers; from one to another |
//! | [`lapic`] | the timer and IPIs of this CPU |
//! | [`clock`] | the cycle counter and its rate |
//! | [`serial`] | one console |
//! | [`exit`] | leaving the emulator |

mod x86_64;

pub(crate) use self::x86_64::*;
