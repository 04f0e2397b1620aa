//! A spinlock that keeps interrupts off while it is held.
//!
//! Interrupt handlers take the same locks as tasks do. With interrupts on, a handler could
//! spin for a lock that the code it interrupted holds, on the same CPU, for ever.
//!
//! Waiting spins with `pause`; under QEMU's single-threaded TCG that also hands the host thread
//! to the next CPU, without which the holder could not run.

use crate::Cpu;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// Data behind a spinlock with interrupts off; `C` is the machine.
#[derive(Debug)]
pub struct IrqLock<T, C: Cpu> {
    lock: spin::mutex::SpinMutex<T>,
    cpu: PhantomData<fn() -> C>,
}

/// Access to what an [`IrqLock`] protects. Interrupts come back when the outermost guard goes.
#[derive(Debug)]
pub struct IrqLockGuard<'a, T, C: Cpu> {
    // Declared first: the lock must be free before an interrupt may come.
    guard: Option<spin::mutex::SpinMutexGuard<'a, T>>,
    were_on: bool,
    cpu: PhantomData<fn() -> C>,
}

impl<T, C: Cpu> IrqLock<T, C> {
    /// An open lock.
    pub const fn new(value: T) -> Self {
        Self { lock: spin::mutex::SpinMutex::new(value), cpu: PhantomData }
    }

    /// Switches interrupts off and waits for the lock.
    #[inline]
    pub fn lock(&self) -> IrqLockGuard<'_, T, C> {
        let were_on = C::disable_interrupts();
        IrqLockGuard { guard: Some(self.lock.lock()), were_on, cpu: PhantomData }
    }

    /// Waits for the lock where interrupts are off anyway: nothing to look up, nothing to bring
    /// back (Linux: `raw_spin_lock`, where `lock` is `raw_spin_lock_irqsave`).
    ///
    /// With interrupts on it may wait for ever, for what an interrupt found held; debug builds
    /// panic.
    #[inline]
    pub fn lock_masked(&self) -> IrqLockGuard<'_, T, C> {
        debug_assert!(!C::disable_interrupts(), "a lock was taken as if interrupts were off");
        IrqLockGuard { guard: Some(self.lock.lock()), were_on: false, cpu: PhantomData }
    }

    /// Takes the lock if it is free. For the panic path, which must not wait for a lock that
    /// the panicking code holds.
    pub fn try_lock(&self) -> Option<IrqLockGuard<'_, T, C>> {
        let were_on = C::disable_interrupts();
        match self.lock.try_lock() {
            Some(guard) => Some(IrqLockGuard { guard: Some(guard), were_on, cpu: PhantomData }),
            None => {
                C::restore_interrupts(were_on);
                None
            }
        }
    }
}

impl<T, C: Cpu> Deref for IrqLockGuard<'_, T, C> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().expect("held until drop")
    }
}

impl<T, C: Cpu> DerefMut for IrqLockGuard<'_, T, C> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("held until drop")
    }
}

impl<T, C: Cpu> Drop for IrqLockGuard<'_, T, C> {
    fn drop(&mut self) {
        self.guard = None;
        C::restore_interrupts(self.were_on);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::Arc;

    std::thread_local! {
        static ENABLED: Cell<bool> = const { Cell::new(true) };
    }

    struct Host;

    // SAFETY: there are no interrupts on a host thread; `id` is not used by locks.
    unsafe impl Cpu for Host {
        fn disable_interrupts() -> bool {
            ENABLED.replace(false)
        }
        fn restore_interrupts(were_on: bool) {
            ENABLED.set(were_on);
        }
        fn id() -> u32 {
            0
        }
    }

    #[test]
    fn interrupts_return_with_the_outermost_guard() {
        let (outer, inner) = (IrqLock::<_, Host>::new(1), IrqLock::<_, Host>::new(2));
        let first = outer.lock();
        let second = inner.lock();
        drop(second);
        assert!(!ENABLED.get(), "an inner guard must not switch them on");
        drop(first);
        assert!(ENABLED.get());
    }

    #[test]
    fn a_masked_lock_leaves_interrupts_off() {
        let (outer, inner) = (IrqLock::<_, Host>::new(1), IrqLock::<_, Host>::new(2));
        let first = outer.lock();
        drop(inner.lock_masked());
        assert!(!ENABLED.get());
        drop(first);
        assert!(ENABLED.get());
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "as if interrupts were off")]
    fn a_masked_lock_wants_interrupts_off() {
        IrqLock::<_, Host>::new(()).lock_masked();
    }

    #[test]
    fn a_failed_try_leaves_interrupts_as_they_were() {
        let lock = Arc::new(IrqLock::<_, Host>::new(0));
        let guard = lock.lock();
        let other = Arc::clone(&lock);
        std::thread::spawn(move || {
            assert!(other.try_lock().is_none());
            assert!(ENABLED.get());
        })
        .join()
        .expect("the other thread asserts nothing else");
        drop(guard);
        assert_eq!(*lock.try_lock().expect("free now"), 0);
    }

    #[test]
    fn excludes() {
        let lock = Arc::new(IrqLock::<_, Host>::new(0));
        let threads: std::vec::Vec<_> = (0..4)
            .map(|_| {
                let lock = Arc::clone(&lock);
                std::thread::spawn(move || (0..10_000).for_each(|_| *lock.lock() += 1))
            })
            .collect();
        for thread in threads {
            thread.join().expect("no panic while counting");
        }
        assert_eq!(*lock.lock(), 40_000);
    }
}
