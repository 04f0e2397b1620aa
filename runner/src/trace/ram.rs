//! The memory of a guest, as a file that this process can read.
//!
//! A memory file (`memfd_create`) that QEMU opens through `/proc` and shares: it takes no room
//! in any folder, and is gone with the last process that holds it, however that ends. It is read
//! with `pread`, which sees the same pages as QEMU does, so nothing is mapped here and nothing
//! is `unsafe`.

use rustix::fs::{MemfdFlags, memfd_create};
use std::{
    fs::File,
    io,
    os::{fd::AsRawFd, unix::fs::FileExt},
    path::PathBuf,
    process,
};

/// Memory that can be read while somebody else writes it.
pub(super) trait Memory {
    /// Reads as many bytes as there is room for, from a physical address on.
    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()>;
}

/// A guest's memory; physical addresses are places in the file, below the hole for devices at
/// least, and the guest uses nothing above it.
#[derive(Debug)]
pub(crate) struct GuestRam(File);

impl GuestRam {
    /// Memory of a guest that is about to be started.
    pub(crate) fn new(mib: u32) -> io::Result<Self> {
        let file = File::from(memfd_create("slicelab-guest", MemfdFlags::CLOEXEC)?);
        file.set_len(u64::from(mib) << 20)?;
        Ok(Self(file))
    }

    /// Where another process of this user finds it while this one holds it.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/{}/fd/{}", process::id(), self.0.as_raw_fd()).into()
    }
}

impl Memory for GuestRam {
    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(bytes, at)
    }
}
