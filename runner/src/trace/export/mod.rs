//! A trace in the formats of other people's viewers.
//!
//! | format | opens in |
//! | --- | --- |
//! | `perfetto` | ui.perfetto.dev, trace_processor: CPU tracks, counters, who woke whom |
//! | `ftrace` | the same, SchedViz, and scripts that read the kernel's text |
//! | `chrome` | chrome://tracing, speedscope and others that take its JSON |
//! | `csv` | spreadsheets, pandas: every record, nothing left out |
//!
//! All times are ns of the run, exact: what a task's slices add up to in any of them is its CPU
//! time in the result document.

mod chrome;
mod csv;
mod ftrace;
mod perfetto;

use super::read::{Trace, What};
use abi::trace::{Event, StintEnd};
use std::io::{self, Write};

/// What a trace can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Perfetto's protobuf
    Perfetto,
    /// The kernel's text, as trace-cmd and tracefs print it
    Ftrace,
    /// Chrome's JSON
    Chrome,
    /// One line for each record
    Csv,
}

/// Writes a trace in a format.
///
/// # Errors
/// Those of `out`.
pub fn write(trace: &Trace, format: Format, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Perfetto => perfetto::write(trace, out),
        Format::Ftrace => ftrace::write(trace, out),
        Format::Chrome => chrome::write(trace, out),
        Format::Csv => csv::write(trace, out),
    }
}

/// What runs on each CPU, as far as the records have come.
struct Current(Vec<Option<u32>>);

impl Current {
    fn new(trace: &Trace) -> Self {
        Self(vec![None; trace.description.cpus as usize])
    }

    /// Takes the next record into account.
    fn follow(&mut self, cpu: u32, what: &What) {
        match what {
            What::Happened(Event::Switch { next, .. }) => {
                self.0[cpu as usize] = next.map(|into| into.task);
            }
            What::Happened(Event::End) | What::Lost(_) => self.0[cpu as usize] = None,
            What::Happened(_) => {}
        }
    }

    fn on(&self, cpu: u32) -> Option<u32> {
        self.0[cpu as usize]
    }
}

/// A task as the kernel's trace events name it.
struct Comm<'a> {
    comm: &'a str,
    pid: u32,
    prio: i32,
}

/// Priority of the idle task.
const IDLE_PRIO: i32 = 120;

/// A task's name, pid and priority; those of the idle task for none.
fn comm(trace: &Trace, task: Option<u32>) -> Comm<'_> {
    match task.map(|task| &trace.description.tasks[task as usize]) {
        Some(task) => Comm { comm: &task.name, pid: task.pid, prio: task.prio },
        None => Comm { comm: "swapper", pid: 0, prio: IDLE_PRIO },
    }
}

/// The state in which a task leaves a CPU, as bits and as the kernel prints them.
///
/// One that must go although it could run is preempted (`R+`), one that offers to is not.
const fn prev_state(end: Option<StintEnd>) -> (i64, &'static str) {
    match end {
        // TASK_REPORT_MAX of Linux 4.14 and newer.
        Some(StintEnd::Slice | StintEnd::Preempt) => (0x100, "R+"),
        Some(StintEnd::Yield | StintEnd::Migrate) | None => (0, "R"),
        Some(StintEnd::Block) => (1, "S"),
        Some(StintEnd::Exit) => (0x10, "X"),
    }
}
