//! Stacks with a guard page below each.
//!
//! They lie in a region of their own, one [`SLOT`] apart, each at the upper end of its slot;
//! what is below stays unmapped. A fault there is an overflow, and the slot's number says whose.

use super::{ThisCpu, paging};
use alloc::vec::Vec;
use ksync::IrqLock;

/// Where the region starts.
const REGION: u64 = 0xffff_c000_0000_0000;
/// Distance between stacks; the largest stack is a guard page smaller.
const SLOT: u64 = 256 * 1024;
const PAGE: u64 = 4096;

/// Whose stack it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The CPU's boot and idle code.
    Idle(u32),
    /// The CPU's handler of faults that need a stack of their own.
    Fault(u32),
    /// A task, by its number.
    Task(u32),
}

static OWNERS: IrqLock<Vec<Owner>, ThisCpu> = IrqLock::new(Vec::new());

/// Memory for a stack, never freed.
#[derive(Debug)]
pub(crate) struct Stack {
    top: u64,
    size: u64,
}

impl Stack {
    /// Maps a new stack of `size` bytes, rounded up to pages.
    ///
    /// # Panics
    /// If memory runs out or `size` does not fit a slot.
    pub(crate) fn new(owner: Owner, size: u64) -> Self {
        let size = size.next_multiple_of(PAGE);
        assert!(size + PAGE <= SLOT, "a stack of {size} bytes leaves no room for its guard page");
        let slot = {
            let mut owners = OWNERS.lock();
            owners.push(owner);
            owners.len() as u64 - 1
        };
        let top = REGION + (slot + 1) * SLOT;
        paging::map_new(top - size, size);
        Self { top, size }
    }

    /// The address just above, 16-byte aligned.
    pub(crate) fn top(&self) -> u64 {
        self.top
    }

    /// Writes words at the top, the first of them lowest; returns the address of the first.
    pub(super) fn push_frame(&self, words: &[u64]) -> u64 {
        let bytes = size_of_val(words) as u64;
        assert!(bytes <= self.size, "a frame of {bytes} bytes does not fit the stack");
        let at = self.top - bytes;
        // SAFETY: the range is inside this stack's mapping, aligned, and nobody runs on the
        // stack while the owner still holds it as a value.
        unsafe { core::ptr::copy_nonoverlapping(words.as_ptr(), at as *mut u64, words.len()) };
        at
    }
}

/// Whose stack an address overflowed, if it lies in the unmapped part of a slot.
pub(super) fn overflowed(address: u64) -> Option<Owner> {
    let slot = address.checked_sub(REGION)? / SLOT;
    let owners = OWNERS.try_lock()?;
    owners.get(usize::try_from(slot).ok()?).copied()
}
