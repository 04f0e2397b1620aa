//! Whether a CPU still stands on a task's stack (Linux: `task_struct::on_cpu`).
//!
//! A task that blocks is off the runqueue before its registers are saved. A waker on another
//! CPU that comes in between must not let the task run until they are; it waits here.
//!
//! | store | pairs with | so that |
//! | --- | --- | --- |
//! | [`OnCpu::leave`], Release, by the next task after the switch | [`OnCpu::wait_until_off`], Acquire, by a waker; [`OnCpu::enter`], Acquire, by the CPU that runs the task next | the saved registers and everything the task wrote are seen |
//!
//! The waiting never deadlocks: the CPU that is switching out has interrupts off and takes no
//! lock between the dequeue and `leave`.

use crate::shim::{atomic::AtomicBool, atomic::Ordering, spin_loop};

/// Set while a CPU runs on the task's stack.
#[derive(Debug)]
pub struct OnCpu(AtomicBool);

impl OnCpu {
    /// The flag of a task that has never run.
    #[cfg(not(loom))]
    pub const fn off() -> Self {
        Self(AtomicBool::new(false))
    }

    /// The flag of a task that has never run.
    #[cfg(loom)]
    pub fn off() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Claims the stack for the executing CPU.
    ///
    /// # Panics
    /// If a CPU is on it: the task was picked twice.
    #[inline]
    pub fn enter(&self) {
        assert!(!self.0.swap(true, Ordering::Acquire), "a task was picked while it runs elsewhere");
    }

    /// Says that its registers are saved and nobody stands on the stack any more.
    #[inline]
    pub fn leave(&self) {
        self.0.store(false, Ordering::Release);
    }

    /// Whether a CPU is on the stack.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Spins until nobody is.
    #[inline]
    pub fn wait_until_off(&self) {
        while self.is_on() {
            spin_loop();
        }
    }
}

#[cfg(loom)]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    /// The blocker saves its registers after it became visible as blocked; the waker may see
    /// "blocked" at any time and then must see the saved registers.
    #[test]
    fn a_waker_sees_the_saved_registers() {
        loom::model(|| {
            let task = Arc::new((OnCpu::off(), AtomicBool::new(false), UnsafeCell::new(0)));
            task.0.enter();
            let blocker = Arc::clone(&task);
            let thread = loom::thread::spawn(move || {
                // Relaxed: in the kernel the task's lock orders this; the flag under test must
                // not lean on it.
                blocker.1.store(true, Ordering::Relaxed);
                blocker.2.with_mut(|registers| {
                    // SAFETY: loom checks that no other thread is in here.
                    unsafe { *registers = 7 }
                });
                blocker.0.leave();
            });
            if task.1.load(Ordering::Relaxed) {
                while task.0.is_on() {
                    loom::thread::yield_now();
                }
                task.0.enter();
                let registers = task.2.with(|registers| {
                    // SAFETY: loom checks that no other thread is writing.
                    unsafe { *registers }
                });
                assert_eq!(registers, 7);
            }
            thread.join().expect("the blocker does not panic");
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "picked while it runs elsewhere")]
    fn nobody_runs_twice() {
        let on_cpu = OnCpu::off();
        on_cpu.enter();
        on_cpu.enter();
    }
}
