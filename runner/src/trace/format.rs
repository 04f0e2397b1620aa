//! The file: a magic word, the version, then blocks with a checksum each.
//!
//! ```text
//! file  = "SLICETRC" version:u32 block...
//! block = tag:[u8; 4] length:u32 crc32:u32 payload:[u8; length]
//! ```
//!
//! All little-endian; the CRC-32 (ISO-HDLC) is of tag, length and payload. First a `DESC` block,
//! then any number of `RECS`, at last one `DONE`. A file that was cut has no `DONE`, and every
//! block before the cut can be read.

use abi::trace::Record;
use crc::{CRC_32_ISO_HDLC, Crc, Table};
use serde::{Deserialize, Serialize};

/// How every file begins.
pub(super) const MAGIC: [u8; 8] = *b"SLICETRC";
/// Version of the file, and of the records in it.
pub(super) const VERSION: u32 = 1;
/// Bytes before the first block.
pub(super) const PREFIX: usize = 12;
/// Bytes of a block before its payload.
pub(super) const FRAME: usize = 12;
/// The most that a payload may have; more is damage.
pub(super) const MAX_PAYLOAD: usize = 1 << 26;

/// What was run, as JSON.
pub(super) const DESCRIPTION: [u8; 4] = *b"DESC";
/// Records of one CPU, in postcard's encoding: its number, the number of the first of them, how
/// many there are, and then each with time and sequence as differences from the one before.
pub(super) const RECORDS: [u8; 4] = *b"RECS";
/// How it ended, as JSON.
pub(super) const CLOSING: [u8; 4] = *b"DONE";

static CHECKSUM: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);

/// What was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// Version of slicelab.
    pub slicelab: String,
    /// CPUs.
    pub cpus: u32,
    /// Ticks per second.
    pub hz: u32,
    /// The `config` of the result document.
    pub config: serde_json::Value,
    /// In the order of the scenario; records name a task by its place here.
    pub tasks: Vec<TaskDescription>,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskDescription {
    /// Its name.
    pub name: String,
    /// As in the result document: its place, counted from 1; 0 is the idle task.
    pub pid: u32,
    /// At the start.
    pub nice: i8,
    /// At the start.
    pub policy: String,
    /// The kernel's priority at the start: 120 and nice, or 99 less that of SCHED_FIFO.
    pub prio: i32,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// Why there is no more, where the run did not finish.
    pub failure: Option<String>,
    /// By CPU number.
    pub rings: Vec<RingTotal>,
}

/// What became of a CPU's records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingTotal {
    /// In the file.
    pub records: u64,
    /// Written over before they could be read.
    pub lost: u64,
}

/// What a block of records begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) cpu: u32,
    /// Number of the first record among those of its CPU.
    pub(super) first: u64,
    pub(super) count: u32,
}

/// Puts a block around its payload.
pub(super) fn frame(tag: [u8; 4], payload: &[u8]) -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    frame[..4].copy_from_slice(&tag);
    frame[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    let crc = checksum(&frame[..8], payload);
    frame[8..].copy_from_slice(&crc.to_le_bytes());
    frame
}

/// The checksum of a block: tag and length, then the payload.
pub(super) fn checksum(head: &[u8], payload: &[u8]) -> u32 {
    let mut digest = CHECKSUM.digest();
    digest.update(head);
    digest.update(payload);
    digest.finalize()
}

/// Turns times and sequences into differences, and back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deltas {
    at_ns: u64,
    sequence: u32,
}

impl Deltas {
    /// The record with differences from the one before. Times of a CPU never go back.
    pub(super) fn encode(&mut self, record: Record) -> Record {
        let coded = Record {
            at_ns: record.at_ns.wrapping_sub(self.at_ns),
            sequence: record.sequence.wrapping_sub(self.sequence),
            event: record.event,
        };
        *self = Self { at_ns: record.at_ns, sequence: record.sequence };
        coded
    }

    /// The record that this was made of; nothing if its time is beyond all numbers.
    pub(super) fn decode(&mut self, coded: Record) -> Option<Record> {
        let at_ns = self.at_ns.checked_add(coded.at_ns)?;
        let sequence = self.sequence.wrapping_add(coded.sequence);
        *self = Self { at_ns, sequence };
        Some(Record { at_ns, sequence, event: coded.event })
    }
}
