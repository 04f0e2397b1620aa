//! `show` and `trace`: a finished trace in the terminal, or for other people's viewers.
//!
//! The views are those of `perf sched`, with its columns, so that whoever knows them can read
//! on. They work from the file alone.

mod latency;
mod map;
mod selection;
mod summary;
#[cfg(test)]
mod tests;
mod timehist;

use crate::{
    cli::{ExportArgs, ShowArgs, ShowView},
    error::{Error, Refusal, SetupError},
    report::Target,
    trace::{
        export::{self, Format},
        read::Trace,
    },
};
use selection::Selection;
use std::{
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};
pub(crate) use timehist::Columns;

/// Shows a trace in the terminal.
///
/// # Errors
/// It cannot be read, or a filter names what is not in it.
pub(crate) fn show(arguments: &ShowArgs) -> Result<u8, Error> {
    let trace = open(&arguments.file)?;
    let selection = Selection::new(&trace, arguments)?;
    to_target(Path::new("-"), |out| print(&trace, &selection, arguments.view(), out))?;
    Ok(0)
}

fn print(
    trace: &Trace,
    selection: &Selection,
    view: ShowView,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    match view {
        ShowView::Timehist(columns) => timehist::print(trace, selection, columns, out),
        ShowView::Summary => summary::print(trace, selection, out),
        ShowView::Latency => latency::print(trace, selection, out),
        ShowView::Map => map::print(trace, selection, out),
    }
}

/// Writes a trace in another format.
///
/// # Errors
/// It cannot be read, or the other file not written.
pub(crate) fn export(arguments: &ExportArgs) -> Result<u8, Error> {
    let trace = open(&arguments.file)?;
    let output = arguments.output.clone().unwrap_or_else(|| beside(&arguments.file, arguments.to));
    to_target(&output, |out| export::write(&trace, arguments.to, out))?;
    if output != Path::new("-") {
        anstream::eprintln!("{} written, {}", output.display(), opens_in(arguments.to));
    }
    Ok(0)
}

/// The name of an export where none is given.
fn beside(file: &Path, format: Format) -> PathBuf {
    file.with_extension(match format {
        Format::Perfetto => "pftrace",
        Format::Ftrace => "ftrace",
        Format::Chrome => "chrome.json",
        Format::Csv => "csv",
    })
}

const fn opens_in(format: Format) -> &'static str {
    match format {
        Format::Perfetto => "ui.perfetto.dev and trace_processor open it",
        Format::Ftrace => "ui.perfetto.dev and SchedViz open it",
        Format::Chrome => "chrome://tracing and ui.perfetto.dev open it",
        Format::Csv => "one line for each record",
    }
}

fn open(file: &Path) -> Result<Trace, Error> {
    let trace = Trace::open(file)
        .map_err(|error| Refusal::new("trace", error.file.display(), error.cause.to_string()))?;
    if let Some(failure) = &trace.closing.failure {
        anstream::eprintln!("note: this run did not finish: {failure}");
    }
    if trace.lost() > 0 {
        let cpus = (0..).zip(&trace.closing.rings).filter(|(_, ring)| ring.lost > 0);
        let cpus: Vec<_> = cpus.map(|(cpu, ring)| format!("cpu{cpu}: {}", ring.lost)).collect();
        anstream::eprintln!(
            "note: {} records are missing ({}); what is not known is left out",
            trace.lost(),
            cpus.join(", ")
        );
    }
    Ok(trace)
}

fn to_target(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Error> {
    let mut target = Target::prepare("--output", path)?;
    let what = format!("write {target}");
    let mut out = BufWriter::with_capacity(1 << 16, target.writer());
    let written = write(&mut out).and_then(|()| out.flush());
    drop(out);
    written.and_then(|()| target.finish()).map_err(SetupError::system(what))?;
    Ok(())
}

/// A time of the run as `perf` writes it: seconds with six decimals.
fn seconds(ns: u64) -> String {
    let us = ns / 1000;
    format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
}

/// A length as `perf` writes it: milliseconds with three decimals.
fn msec(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000_000, ns % 1_000_000 / 1000)
}

/// A task with its number. Each is a process of its own, so one number says all.
fn task_label(trace: &Trace, task: Option<u32>) -> String {
    match task {
        Some(number) => format!("{}[{}]", trace.name(number), trace.pid(task)),
        None => "<idle>".into(),
    }
}
