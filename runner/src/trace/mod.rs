//! Traces: every switch, wake-up, migration and tick of a run, in a file.
//!
//! ```text
//!  guest RAM (ram) -> drain: rings to records -> write -> FILE -> read -> entries
//!                     `---------- capture ----------'              |
//!                          while the guest runs        stints, export, show
//! ```
//!
//! [`read::Trace`] is the door for whatever works from a finished trace: it checks the file and
//! gives the records of all CPUs in one order. [`stints`] makes of them who ran where and how
//! long each task waited. `docs/trace-format.md` describes the file.

pub(crate) mod capture;
mod drain;
pub mod export;
mod format;
mod ram;
pub mod read;
pub mod stints;
mod write;

pub use drain::RingError;
pub use format::{Closing, Description, RingTotal, TaskDescription};
#[cfg(test)]
pub(crate) use write::file_of;

use std::{
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

/// Memory that each CPU's ring may take, KiB.
pub const RING_KIB: RangeInclusive<u32> = 4..=1 << 20;

/// What is to be kept of a run, and where.
#[derive(Clone, Debug)]
pub struct Request {
    /// The file.
    pub file: PathBuf,
    /// Records that each CPU's ring holds; by the number of CPUs without it.
    pub slots: Option<u32>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Summary {
    /// The file.
    pub file: PathBuf,
    /// Records in it.
    pub records: u64,
    /// Records that were written over before they could be read.
    pub lost: u64,
    /// Its size.
    pub bytes: u64,
    /// Guest memory that the rings took.
    pub ring_mib: u32,
}

impl Request {
    /// The same for one of several runs: `trace.slt` becomes `trace-LABEL.slt`.
    pub fn labelled(&self, label: &str) -> Self {
        Self { file: labelled(&self.file, label), ..self.clone() }
    }

    /// Records that each CPU's ring holds.
    pub(crate) fn slots(&self, cpus: u32) -> u32 {
        self.slots.unwrap_or_else(|| default_slots(cpus))
    }
}

fn labelled(file: &Path, label: &str) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let name = match file.extension() {
        Some(extension) => format!("{stem}-{label}.{}", extension.to_string_lossy()),
        None => format!("{stem}-{label}"),
    };
    file.with_file_name(name)
}

impl Summary {
    /// In a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Self { file, records, lost, bytes, .. } = self;
        let file = file.display();
        let kib = bytes.div_ceil(1024);
        let mut text = format!("trace of {records} records in {file} ({kib} KiB)");
        if *lost > 0 {
            text += &format!(
                "; {lost} more were lost because this host fell behind, raise --trace-buffer"
            );
        }
        text
    }
}

/// 4 MiB for each of up to 16 CPUs, 64 MiB for all of more: room for what the guest writes while
/// a busy host does something else for a good part of a second.
fn default_slots(cpus: u32) -> u32 {
    const ALL: u32 = 1 << 20;
    let fair = ALL / cpus.max(1);
    (1 << fair.ilog2()).min(1 << 16)
}

/// A trace of such a run with these blocks of CPU and records, each the first of its CPU.
#[cfg(test)]
pub(crate) fn example(
    description: &Description,
    blocks: &[(u32, &[abi::trace::Record])],
) -> read::Trace {
    use drain::Sink;
    let mut bytes = Vec::new();
    let whole = "a Vec takes everything";
    let mut writer = write::Writer::new(&mut bytes, description).expect(whole);
    for &(cpu, records) in blocks {
        writer.take(cpu, 0, records).expect(whole);
    }
    writer.close(None, &vec![0; description.cpus as usize]).expect(whole);
    read::Trace::from_bytes(bytes).expect("it is a trace")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_several_runs_has_a_file() {
        let name = |file: &str| labelled(Path::new(file), "seed2").display().to_string();
        assert_eq!(name("a/b.slt"), "a/b-seed2.slt");
        assert_eq!(name("trace"), "trace-seed2");
    }

    #[test]
    fn rings_of_all_cpus_take_at_most_64_mib() {
        let slots = [1, 8, 16, 17, 64, 255].map(default_slots);
        assert_eq!(slots, [65536, 65536, 65536, 32768, 16384, 4096]);
    }
}
