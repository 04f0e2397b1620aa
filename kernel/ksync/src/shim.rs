//! The atomics, real or loom's.

#[cfg(not(loom))]
pub(crate) use core::{hint::spin_loop, sync::atomic};
#[cfg(loom)]
pub(crate) use loom::{hint::spin_loop, sync::atomic};
