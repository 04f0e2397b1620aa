//! Reading a trace: checked as a whole, then handed out in one order.
//!
//! ```no_run
//! let trace = runner::trace::read::Trace::open("run.slt".as_ref())?;
//! for entry in trace.entries() {
//!     println!("{} ns, cpu {}: {:?}", entry.at_ns, entry.cpu, entry.what);
//! }
//! # Ok::<(), runner::trace::read::TraceError>(())
//! ```
//!
//! A file is read into memory as it is and decoded on the way, so a trace takes as much memory
//! as it takes on disk.

use super::format::{self, Closing, Deltas, Description, Head};
use abi::trace::{Event, Record};
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

/// Why a file cannot be read as a trace.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", .file.display())]
pub struct TraceError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub cause: Fault,
}

/// What is wrong with a trace.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// It cannot be read.
    #[error("cannot be read ({0})")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("is no trace; `slicelab run --trace FILE` writes one")]
    NotATrace,
    /// It was written by another version.
    #[error("has version {0} of the trace format, this slicelab reads {current}; record it again, or read it with the slicelab that wrote it", current = format::VERSION)]
    Version(u32),
    /// It ends too early.
    #[error("was cut off at byte {at}; {records} records before it are whole")]
    Truncated {
        /// Where the last whole block ends.
        at: usize,
        /// Records before.
        records: u64,
    },
    /// A block is not what was written.
    #[error("is damaged in the block at byte {at} ({what}); {records} records before it are whole")]
    Damaged {
        /// Where the block begins.
        at: usize,
        /// What is wrong with it.
        what: &'static str,
        /// Records before.
        records: u64,
    },
}

/// A trace.
#[derive(Debug)]
pub struct Trace {
    /// What was run.
    pub description: Description,
    /// How it ended.
    pub closing: Closing,
    bytes: Vec<u8>,
    /// Of each CPU, in the order of their records.
    blocks: Vec<Vec<Block>>,
}

/// Records of one CPU, in the file.
#[derive(Clone, Debug)]
struct Block {
    first: u64,
    count: u32,
    /// Where they are, after the block's head.
    bytes: Range<usize>,
}

/// Something in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When, ns of the run.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// What.
    pub what: What,
}

/// What is in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Something that happened.
    Happened(Event),
    /// So many records of this CPU are missing before its next one, which has this time.
    Lost(u64),
}

impl Trace {
    /// Reads a file and checks all of it.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where.
    pub fn open(file: &Path) -> Result<Self, TraceError> {
        let fault = |cause| TraceError { file: file.into(), cause };
        let bytes = fs::read(file).map_err(|error| fault(error.into()))?;
        Self::from_bytes(bytes).map_err(fault)
    }

    /// The same for what a file contains.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, Fault> {
        if bytes.get(..8) != Some(&format::MAGIC) {
            return Err(Fault::NotATrace);
        }
        match number(&bytes, 8) {
            Some(format::VERSION) => {}
            Some(other) => return Err(Fault::Version(other)),
            None => return Err(Fault::Truncated { at: bytes.len(), records: 0 }),
        }
        let mut check = Check::default();
        let mut at = format::PREFIX;
        while check.closing.is_none() {
            at = check.block(&bytes, at)?;
        }
        let Check { description, closing, blocks, records, .. } = check;
        if at != bytes.len() {
            return Err(Fault::Damaged { at, what: "something follows the end", records });
        }
        let (Some(description), Some(closing)) = (description, closing) else {
            return Err(Fault::Damaged { at, what: "there is no description", records });
        };
        Ok(Self { description, closing, bytes, blocks })
    }

    /// Everything in it, in the order in which it happened: by time, and of what has one time,
    /// causes before effects. Each CPU's part is in the order in which that CPU acted.
    pub fn entries(&self) -> Entries<'_> {
        Entries::new(self)
    }

    /// Records in it.
    pub fn records(&self) -> u64 {
        self.closing.rings.iter().map(|ring| ring.records).sum()
    }

    /// Records that are missing.
    pub fn lost(&self) -> u64 {
        self.closing.rings.iter().map(|ring| ring.lost).sum()
    }

    /// The name of a task.
    pub fn name(&self, task: u32) -> &str {
        &self.description.tasks[task as usize].name
    }

    /// The pid of a task; 0 for nobody, the idle task.
    pub fn pid(&self, task: Option<u32>) -> u32 {
        task.map_or(0, |task| self.description.tasks[task as usize].pid)
    }
}

/// The state of the check of a file.
#[derive(Default)]
struct Check {
    description: Option<Description>,
    closing: Option<Closing>,
    blocks: Vec<Vec<Block>>,
    /// Time of each CPU's last record.
    latest_ns: Vec<u64>,
    records: u64,
}

impl Check {
    /// Checks the block at a place and returns where it ends.
    fn block(&mut self, bytes: &[u8], at: usize) -> Result<usize, Fault> {
        let records = self.records;
        let truncated = || Fault::Truncated { at, records };
        let damaged = |what| Fault::Damaged { at, what, records };
        let head = bytes.get(at..at + format::FRAME).ok_or_else(truncated)?;
        let length = number(head, 4).expect("a frame is that long") as usize;
        if length > format::MAX_PAYLOAD {
            return Err(damaged("its length is impossible"));
        }
        let start = at + format::FRAME;
        let payload = bytes.get(start..start + length).ok_or_else(truncated)?;
        if number(head, 8) != Some(format::checksum(&head[..8], payload)) {
            return Err(damaged("its checksum is wrong"));
        }
        let tag: [u8; 4] = head[..4].try_into().expect("four bytes");
        match (tag, &self.description) {
            (format::DESCRIPTION, None) => {
                let description: Description =
                    serde_json::from_slice(payload).map_err(|_| damaged("it describes no run"))?;
                self.blocks = vec![Vec::new(); description.cpus as usize];
                self.latest_ns = vec![0; description.cpus as usize];
                self.description = Some(description);
            }
            (format::RECORDS, Some(_)) => {
                self.records(payload, start).map_err(damaged)?;
            }
            (format::CLOSING, Some(description)) => {
                let closing: Closing =
                    serde_json::from_slice(payload).map_err(|_| damaged("it is no end"))?;
                let counted = self.blocks.iter().map(|blocks| -> u64 {
                    blocks.iter().map(|block| u64::from(block.count)).sum()
                });
                if closing.rings.len() != description.cpus as usize
                    || !counted.eq(closing.rings.iter().map(|ring| ring.records))
                {
                    return Err(damaged("records are missing before it"));
                }
                self.closing = Some(closing);
            }
            _ => return Err(damaged("it does not belong there")),
        }
        Ok(start + length)
    }

    /// Checks a block of records, whose payload is at `start`.
    fn records(&mut self, payload: &[u8], start: usize) -> Result<(), &'static str> {
        let (head, mut rest) =
            postcard::take_from_bytes::<Head>(payload).map_err(|_| "it has no head")?;
        let end = start + payload.len();
        let block = Block { first: head.first, count: head.count, bytes: end - rest.len()..end };
        let blocks = self.blocks.get_mut(head.cpu as usize).ok_or("there is no such cpu")?;
        let next = blocks.last().map_or(0, |last| last.first + u64::from(last.count));
        if head.first < next {
            return Err("its records were there before");
        }
        let description = self.description.as_ref().expect("it comes first");
        let latest_ns = &mut self.latest_ns[head.cpu as usize];
        let mut deltas = Deltas::default();
        for _ in 0..head.count {
            let (coded, left) = postcard::take_from_bytes(rest).map_err(|_| "a record is none")?;
            rest = left;
            let record = deltas.decode(coded).ok_or("a time is beyond all numbers")?;
            if record.at_ns < *latest_ns {
                return Err("time goes back");
            }
            *latest_ns = record.at_ns;
            if !names_what_is_there(&record.event, description) {
                return Err("a record names a task or cpu that is not there");
            }
        }
        if !rest.is_empty() {
            return Err("it has more than its records");
        }
        self.records += u64::from(head.count);
        blocks.push(block);
        Ok(())
    }
}

fn names_what_is_there(event: &Event, description: &Description) -> bool {
    let task = |task: u32| (task as usize) < description.tasks.len();
    let cpu = |cpu: u32| cpu < description.cpus;
    match *event {
        Event::Begin | Event::End | Event::IpiReceive => true,
        Event::Tick { curr, .. } => curr.is_none_or(task),
        Event::Switch { prev, next, .. } => {
            prev.is_none_or(|out| task(out.task)) && next.is_none_or(|into| task(into.task))
        }
        Event::Waking { task: woken, cpu: on, waker } => {
            task(woken) && cpu(on) && waker.is_none_or(task)
        }
        Event::Wakeup { task: moved, cpu: on, .. }
        | Event::Enqueue { task: moved, cpu: on, .. }
        | Event::Dequeue { task: moved, cpu: on, .. } => task(moved) && cpu(on),
        Event::Migrate { task: moved, from, to, .. } => task(moved) && cpu(from) && cpu(to),
        Event::IpiSend { cpu: to } => cpu(to),
        Event::Balance { from, .. } => from.is_none_or(cpu),
        Event::Mark { task: by, .. } | Event::Measure { task: by, .. } => task(by),
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
}

/// Where reading one CPU's records has come to.
#[derive(Debug)]
struct Cursor<'a> {
    bytes: &'a [u8],
    blocks: std::slice::Iter<'a, Block>,
    /// Records of the current block that are left, in bytes.
    rest: &'a [u8],
    deltas: Deltas,
    /// Number of the record that comes next if none is lost.
    number: u64,
    /// Sequence of the last record, without wrapping.
    sequence: u64,
}

impl<'a> Cursor<'a> {
    fn new(bytes: &'a [u8], blocks: &'a [Block]) -> Self {
        let (blocks, deltas) = (blocks.iter(), Deltas::default());
        Self { bytes, blocks, rest: &[], deltas, number: 0, sequence: 0 }
    }

    /// The next record, and how many are missing before it.
    fn next(&mut self) -> Option<(Record, u64)> {
        let mut lost = 0;
        while self.rest.is_empty() {
            let block = self.blocks.next()?;
            lost += block.first - self.number;
            self.number = block.first;
            self.rest = &self.bytes[block.bytes.clone()];
            self.deltas = Deltas::default();
        }
        let checked = "the file was checked when it was opened";
        let (coded, rest) = postcard::take_from_bytes(self.rest).expect(checked);
        self.rest = rest;
        self.number += 1;
        let record = self.deltas.decode(coded).expect(checked);
        self.sequence += u64::from(record.sequence.wrapping_sub(self.sequence as u32));
        Some((record, lost))
    }
}

/// See [`Trace::entries`].
#[derive(Debug)]
pub struct Entries<'a> {
    cursors: Vec<Cursor<'a>>,
    /// The next event of each CPU, and how many records are missing before it.
    ahead: Vec<Option<(Event, u64)>>,
    /// Time, sequence and CPU of each of those.
    heads: BinaryHeap<Reverse<(u64, u64, u32)>>,
}

impl<'a> Entries<'a> {
    fn new(trace: &'a Trace) -> Self {
        let cursors: Vec<_> =
            trace.blocks.iter().map(|blocks| Cursor::new(&trace.bytes, blocks)).collect();
        let ahead = vec![None; cursors.len()];
        let mut entries = Self { cursors, ahead, heads: BinaryHeap::new() };
        for cpu in 0..entries.cursors.len() {
            entries.look_ahead(cpu);
        }
        entries
    }

    fn look_ahead(&mut self, cpu: usize) {
        let cursor = &mut self.cursors[cpu];
        self.ahead[cpu] = cursor.next().map(|(record, lost)| {
            self.heads.push(Reverse((record.at_ns, cursor.sequence, cpu as u32)));
            (record.event, lost)
        });
    }
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let &Reverse((at_ns, _, cpu)) = self.heads.peek()?;
        let entry = |what| Entry { at_ns, cpu, what };
        let (event, lost) = self.ahead[cpu as usize].as_mut().expect("each head has an event");
        if *lost > 0 {
            return Some(entry(What::Lost(std::mem::take(lost))));
        }
        let event = *event;
        self.heads.pop();
        self.look_ahead(cpu as usize);
        Some(entry(What::Happened(event)))
    }
}

#[cfg(test)]
mod tests;
