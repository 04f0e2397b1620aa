//! Data of one CPU, reachable from that CPU only.
//!
//! No lock and no atomics: what makes it sound is checked on every access. The caller must be
//! the owning CPU, interrupts are off while the data is borrowed, and a second borrow inside
//! the first (from a fault handler, or a callback that forgot) panics instead of aliasing.

use crate::Cpu;
use core::cell::{Cell, UnsafeCell};
use core::marker::PhantomData;

/// A value that only CPU `owner` may touch, with interrupts off.
#[derive(Debug)]
pub struct LocalCell<T, C: Cpu> {
    value: UnsafeCell<T>,
    borrowed: Cell<bool>,
    owner: u32,
    cpu: PhantomData<fn() -> C>,
}

// SAFETY: `with` lets no CPU but the owner get at `value` or `borrowed`, and `C::id` is never
// the same for two CPUs; so there is no concurrent access. `T: Send`, since the cell is made on
// another CPU than the one that uses it.
unsafe impl<T: Send, C: Cpu> Sync for LocalCell<T, C> {}

impl<T, C: Cpu> LocalCell<T, C> {
    /// A value for CPU `owner`.
    pub const fn new(owner: u32, value: T) -> Self {
        Self { value: UnsafeCell::new(value), borrowed: Cell::new(false), owner, cpu: PhantomData }
    }

    /// Runs `f` on the value, interrupts off.
    ///
    /// # Panics
    /// On another CPU than the owner, and inside another `with` of the same cell.
    // Always inlined: called, it takes what `f` needs through memory, twice what it does itself.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let were_on = C::disable_interrupts();
        let here = C::id();
        if here != self.owner {
            not_here(here, self.owner);
        }
        if self.borrowed.replace(true) {
            in_use(here);
        }
        // SAFETY: this is the owning CPU, so nobody else is in here; interrupts are off and
        // `borrowed` was false, so no caller further up this stack is either.
        let result = f(unsafe { &mut *self.value.get() });
        self.borrowed.set(false);
        C::restore_interrupts(were_on);
        result
    }
}

// Out of line and by value: a message made in place keeps what it names in memory all the way.

#[cold]
fn not_here(here: u32, owner: u32) -> ! {
    panic!("cpu {here} reached for the local data of cpu {owner}");
}

#[cold]
fn in_use(here: u32) -> ! {
    panic!("local data of cpu {here} is already in use");
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct Zero;

    // SAFETY: the tests use each cell from one thread.
    unsafe impl Cpu for Zero {
        fn disable_interrupts() -> bool {
            false
        }
        fn restore_interrupts(_: bool) {}
        fn id() -> u32 {
            0
        }
    }

    #[test]
    fn the_owner_gets_in() {
        let cell = LocalCell::<_, Zero>::new(0, 1);
        cell.with(|value| *value += 1);
        assert_eq!(cell.with(|value| *value), 2);
    }

    #[test]
    #[should_panic(expected = "cpu 0 reached for the local data of cpu 1")]
    fn others_do_not() {
        LocalCell::<_, Zero>::new(1, ()).with(|()| ());
    }

    #[test]
    #[should_panic(expected = "already in use")]
    fn nor_does_the_owner_twice() {
        let cell = LocalCell::<_, Zero>::new(0, ());
        cell.with(|()| cell.with(|()| ()));
    }
}
