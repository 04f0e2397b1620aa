//! From the bytes of the serial port to the records of a complete run.
//!
//! Pure: bytes in, a result out. Knows neither QEMU nor time.
//!
//! Invariants:
//! 1. Memory is bounded whatever the guest sends: lines are cut at 4 KiB, of the console only the
//!    last lines are kept, records land in places counted out beforehand.
//! 2. The first fault is the one reported. What follows a broken line is usually its echo.
//! 3. [`Decoder::finish`] says `Ok` only for a report that is complete and undamaged. A report
//!    that merely looks right is worth nothing: a lost line is a wrong number somewhere.

use crate::records::{CollectError, Collector, Records, Shape};
use abi::{
    line::{self, LineError, MARK},
    record::{End, Fail, Failure, Record, Rings, Status},
    scenario,
};
use std::collections::VecDeque;

/// Longest line kept, in bytes; a bucket line has less than 800.
const LINE_LIMIT: usize = 4096;
/// Console lines kept for the error message.
const CONSOLE_LINES: usize = 200;
/// How a line of the error level is marked.
const ERROR_MARK: &str = "[ERROR";
/// What a panicking guest's console line contains.
const PANIC_MARK: &str = "panicked at";
/// Lines kept of the guest's own explanation, which may go on over several.
const COMPLAINT_LINES: usize = 3;

/// What is wrong with a guest's report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The end line never came.
    #[error("no `@end` line after {records} records")]
    NoEnd {
        /// Records that did come.
        records: u64,
    },
    /// A machine line is damaged.
    #[error("line {number} is damaged, {cause}: {text}")]
    Line {
        /// Counted from 1, console lines included.
        number: u64,
        /// The line.
        text: String,
        /// What is wrong with it.
        cause: LineError,
    },
    /// Something follows the end line.
    #[error("there is a `@{kind}` after the `@end`")]
    AfterEnd {
        /// The record that follows.
        kind: &'static str,
    },
    /// Records were lost or made up.
    #[error("the guest sent {stated} records, {received} arrived")]
    Count {
        /// By the end line.
        stated: u64,
        /// As received.
        received: u64,
    },
    /// A record is missing, doubled or does not fit the others.
    #[error(transparent)]
    Content(#[from] CollectError),
    /// The kernel was built from another tree.
    #[error(
        "the kernel speaks version {guest} of the contract, this runner {}; build both from one tree",
        scenario::VERSION
    )]
    Version {
        /// The kernel's.
        guest: u32,
    },
    /// The guest panicked.
    #[error("panic: {0}")]
    Panic(String),
    /// The guest gave up and said why.
    #[error("{}", describe_with(.fail, .complaint))]
    GaveUp {
        /// Its failure record.
        fail: Fail,
        /// What it wrote before.
        complaint: String,
    },
    /// The guest gave up and did not say why.
    #[error("the run failed and the guest gave no reason")]
    Failed,
}

/// The guest's own words, after what its record adds to them.
fn describe_with(fail: &Fail, complaint: &str) -> String {
    match fail.what {
        // The record says the same in fewer words.
        Failure::StackOverflow | Failure::Panic if !complaint.is_empty() => complaint.to_owned(),
        _ if complaint.is_empty() => describe(fail),
        _ => format!("{}: {complaint}", describe(fail)),
    }
}

/// Says what a guest's failure record means and what to do about it.
fn describe(fail: &Fail) -> String {
    let Fail { what, cpu, have, need } = *fail;
    match what {
        Failure::Memory => {
            format!("it has {have} MiB of memory and needs {need}; raise --memory")
        }
        Failure::Cpus => format!("it found {have} of {need} CPUs"),
        Failure::CpuStart => format!("the CPU with APIC id {have} did not start in time"),
        Failure::ClockRate => format!(
            "its clock runs at {have} Hz where {need} were expected; this QEMU keeps another virtual time"
        ),
        Failure::NoReference => "it found no reference clock (HPET, PM timer, PIT)".into(),
        Failure::Scenario => {
            "it cannot run this scenario; build kernel and runner from one tree".into()
        }
        Failure::StackOverflow => format!("stack overflow on cpu{cpu}, task {have}"),
        Failure::Panic => format!("panic on cpu{cpu}"),
    }
}

/// Takes the serial port's bytes in portions of any size.
pub struct Decoder {
    line: Vec<u8>,
    lines: u64,
    bytes: u64,
    console: VecDeque<String>,
    collector: Collector,
    records: u64,
    end: Option<End>,
    fail: Option<Fail>,
    rings: Option<Rings>,
    complaint: Vec<String>,
    is_complaining: bool,
    fault: Option<DecodeError>,
}

impl Decoder {
    /// A decoder for the report of a guest of this shape.
    pub fn new(shape: Shape) -> Self {
        Self {
            line: Vec::new(),
            lines: 0,
            bytes: 0,
            console: VecDeque::new(),
            collector: Collector::new(shape),
            records: 0,
            end: None,
            fail: None,
            rings: None,
            complaint: Vec::new(),
            is_complaining: false,
            fault: None,
        }
    }

    /// Takes the next bytes; each console line that they complete goes to `on_console`.
    pub fn feed(&mut self, bytes: &[u8], on_console: &mut dyn FnMut(&str)) {
        self.bytes += bytes.len() as u64;
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, complete) = match part.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (part, false),
            };
            let room = LINE_LIMIT.saturating_sub(self.line.len());
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            if complete {
                self.take_line(on_console);
            }
        }
    }

    /// Bytes seen so far.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where the guest's trace is, once it has said so.
    pub const fn take_rings(&mut self) -> Option<Rings> {
        self.rings.take()
    }

    /// Records seen so far.
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// The last console lines.
    pub fn console(&self) -> Vec<String> {
        self.console.iter().cloned().collect()
    }

    /// Judges the report after its last byte.
    ///
    /// # Errors
    /// The first thing that makes it less than complete.
    pub fn finish(mut self) -> Result<Records, DecodeError> {
        if !self.line.is_empty() {
            self.take_line(&mut |_| ());
        }
        // Where the guest says why it failed, that explains every other fault.
        let complaint = self.complaint.join(" ");
        if complaint.contains(PANIC_MARK) {
            return Err(DecodeError::Panic(complaint));
        }
        if let Some(fail) = self.fail {
            return Err(DecodeError::GaveUp { fail, complaint });
        }
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let end = self.end.ok_or(DecodeError::NoEnd { records: self.records })?;
        if end.status == Status::Failed {
            return Err(DecodeError::Failed);
        }
        if end.records != self.records {
            return Err(DecodeError::Count { stated: end.records, received: self.records });
        }
        Ok(self.collector.finish()?)
    }

    fn take_line(&mut self, on_console: &mut dyn FnMut(&str)) {
        self.lines += 1;
        let text = printable(&self.line);
        self.line.clear();
        if !text.starts_with(MARK) {
            self.take_console(text, on_console);
            return;
        }
        match line::parse(&text) {
            Ok(record) => {
                if let Err(fault) = self.take_record(record) {
                    self.fault.get_or_insert(fault);
                }
            }
            Err(cause) => {
                let number = self.lines;
                self.fault.get_or_insert(DecodeError::Line { number, text, cause });
            }
        }
    }

    fn take_console(&mut self, text: String, on_console: &mut dyn FnMut(&str)) {
        self.take_complaint(&text);
        on_console(&text);
        if self.console.len() == CONSOLE_LINES {
            self.console.pop_front();
        }
        self.console.push_back(text);
    }

    /// Keeps the first error: its line and those without a head of their own that go on with it.
    fn take_complaint(&mut self, text: &str) {
        let is_first =
            self.complaint.is_empty() && (text.contains(ERROR_MARK) || text.contains(PANIC_MARK));
        let goes_on =
            self.is_complaining && !text.starts_with('[') && self.complaint.len() < COMPLAINT_LINES;
        self.is_complaining = is_first || goes_on;
        if self.is_complaining {
            let message = text.split_once(ERROR_MARK).and_then(|(_, rest)| rest.split_once("] "));
            self.complaint.push(message.map_or(text, |(_, message)| message).trim().to_owned());
        }
    }

    fn take_record(&mut self, record: Record) -> Result<(), DecodeError> {
        if self.end.is_some() {
            return Err(DecodeError::AfterEnd { kind: record.kind() });
        }
        match record {
            Record::End(end) => {
                self.end = Some(end);
                return Ok(());
            }
            Record::Fail(fail) => {
                self.fail.get_or_insert(fail);
            }
            Record::Rings(rings) => self.rings = Some(rings),
            Record::Machine(machine) if machine.version != scenario::VERSION => {
                return Err(DecodeError::Version { guest: machine.version });
            }
            _ => {}
        }
        self.records += 1;
        Ok(self.collector.take(record)?)
    }
}

/// Makes text of a line: no carriage return at its end, and nothing that a terminal would obey.
fn printable(line: &[u8]) -> String {
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line))
        .chars()
        .map(|c| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}
