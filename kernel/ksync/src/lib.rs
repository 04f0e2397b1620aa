//! What CPUs share and how they stay out of each other's way.
//!
//! | type | protects | held by |
//! | --- | --- | --- |
//! | [`IrqLock`] | data that any CPU may touch | one CPU, interrupts off |
//! | [`LocalCell`] | data of one CPU | that CPU, interrupts off |
//! | [`OnCpu`] | a task's stack and saved registers | the CPU the task runs on |
//! | [`WakeList`] | tasks that others woke for a CPU | any CPU pushes, that CPU takes |
//! | [`NeedResched`] | a request to choose again | any CPU under the runqueue's lock |
//!
//! How interrupts are switched and which CPU this is comes in through [`Cpu`], so that
//! everything here is tested on the host; `--cfg loom` swaps the atomics for the model
//! checker's (`RUSTFLAGS="--cfg loom" cargo test -p ksync --release`).

#![no_std]

#[cfg(any(test, loom))]
extern crate std;

mod irq_lock;
mod local;
mod need_resched;
mod on_cpu;
mod shim;
mod wake_list;

pub use irq_lock::{IrqLock, IrqLockGuard};
pub use local::LocalCell;
pub use need_resched::NeedResched;
pub use on_cpu::OnCpu;
pub use wake_list::{Batch, WakeLink, WakeList};

/// What a lock must know of the machine.
///
/// # Safety
/// `id` must name the executing CPU, never the same for two of them, and between
/// `disable_interrupts` and the matching `restore_interrupts` no other code may run on it
/// except what cannot touch the data protected (NMI and machine check handlers that only
/// report).
pub unsafe trait Cpu {
    /// Switches interrupts off; returns whether they were on.
    fn disable_interrupts() -> bool;
    /// Switches them on again if `were_on`.
    fn restore_interrupts(were_on: bool);
    /// The executing CPU. Only meaningful while interrupts are off.
    fn id() -> u32;
}
