//! `sweep`: a grid of scenarios, on as many guests at a time as there are cores.
//!
//! ```text
//! SPEC.toml -> spec::Spec (axes, checked) -> cells, each the flags of a `run`
//!                                              | those without a result yet, of this shard
//!                                              v
//!               results::Results  <- a line for each cell as it ends, on disk before the next
//!                                              v
//!                                            table
//! ```
//!
//! Whatever ends a sweep, what has been written stays, and the same command goes on from there. A
//! cell that failed is a result as well: its cause is kept, and the others go on.

mod cell;
mod range;
mod results;
mod spec;
mod table;

pub(crate) use results::Results;
pub(crate) use table::Table;

use crate::{
    batch,
    cli::{MergeArgs, SweepArgs, TableArgs},
    error::{EXIT_EXPECTATION, EXIT_GUEST, Error, Refusal},
    expect::Verdict,
    interrupt, page,
    progress::Progress,
    report::{self, Sink},
};
use results::{Ended, Failure};
use spec::Spec;
use std::{
    ops::ControlFlow,
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// Runs what is left of a sweep, and prints its table.
///
/// # Errors
/// A bad spec, results of another one, or what keeps every cell from running.
pub(crate) fn execute(arguments: &SweepArgs) -> Result<u8, Error> {
    let start = Instant::now();
    let spec = Spec::read(&arguments.spec)?;
    // Every cell is known to be possible before the first one runs.
    for cell in 0..spec.cells() {
        spec.experiment(cell, &arguments.host)?.plan().map_err(|error| spec.blame(cell, error))?;
    }
    let csv = Sink::prepare("--csv", arguments.table.csv.as_deref())?;
    let page = Sink::prepare("--report", arguments.table.report.as_deref())?;
    let path = match &arguments.output {
        Some(path) => path.clone(),
        None => arguments.spec.with_extension(match arguments.shard {
            Some(shard) => format!("{}-of-{}.jsonl", shard.number, shard.of),
            None => "jsonl".into(),
        }),
    };
    let results = Results::open(&path, &spec)?;
    let is_mine = |cell: usize| arguments.shard.is_none_or(|shard| shard.has(cell));
    let is_left = |cell: usize| match results.ended().get(&cell) {
        None => true,
        Some(Ended::Failed(_)) => arguments.retry,
        Some(Ended::Done(_)) => false,
    };
    let mine: Vec<usize> = (0..spec.cells()).filter(|&cell| is_mine(cell)).collect();
    let left: Vec<usize> = mine.iter().copied().filter(|&cell| is_left(cell)).collect();
    let quiet = arguments.host.quiet;
    if !quiet {
        let cells = |count: usize| if count == 1 { "cell" } else { "cells" };
        let mut line = format!("{} {} to run", left.len(), cells(left.len()));
        if left.len() < mine.len() {
            line += &format!("; {} have a result in {}", mine.len() - left.len(), path.display());
        }
        anstream::eprintln!("{line}");
    }
    let results = run(&spec, &left, results, arguments)?;
    let is_interrupted = interrupt::requested();
    let to_stderr = csv.is_stdout();
    let name = arguments.spec.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    page.write(page::of_sweep(&name, &results).as_bytes())?;
    show(&results, &arguments.table, csv, quiet, to_stderr)?;
    if is_interrupted {
        if !quiet {
            let path = path.display();
            anstream::eprintln!("what has ended is in {path}; the same command goes on from there");
        }
        let after_s = start.elapsed().as_secs_f64();
        return Err(Error::Interrupted { after_s, console: Vec::new() });
    }
    Ok(exit_code(&results))
}

fn run(
    spec: &Spec,
    left: &[usize],
    results: Results,
    arguments: &SweepArgs,
) -> Result<Results, Error> {
    if left.is_empty() {
        return Ok(results);
    }
    let first = spec.experiment(left[0], &arguments.host)?;
    batch::prepare(&first.host)?;
    let progress = Progress::start("cells", left.len(), first.host.quiet || first.host.verbose);
    let results = Mutex::new((results, None));
    batch::run_each(left.len(), arguments.jobs, &|index| {
        let cell = left[index];
        let ended = match spec.document(cell, &arguments.host) {
            Ok(document) => Ended::Done(Box::new(document)),
            // Not the cell's fault: it is still to be run.
            Err(Error::Interrupted { .. }) => return ControlFlow::Break(()),
            Err(error) => {
                let (exit_code, cause) = (error.exit_code(), error.to_string());
                Ended::Failed(Failure { exit_code, cause })
            }
        };
        let mut guard = results.lock().unwrap_or_else(PoisonError::into_inner);
        let (results, failure) = &mut *guard;
        match results.append(cell, ended) {
            Ok(()) => {
                drop(guard);
                progress.step();
                ControlFlow::Continue(())
            }
            Err(error) => {
                failure.get_or_insert(error);
                ControlFlow::Break(())
            }
        }
    });
    match results.into_inner().unwrap_or_else(PoisonError::into_inner) {
        (results, None) => Ok(results),
        (_, Some(error)) => Err(error),
    }
}

/// Puts the results of shards together.
///
/// # Errors
/// Parts that cannot be read, or are of different sweeps.
pub(crate) fn merge(arguments: &MergeArgs) -> Result<u8, Error> {
    let output = Sink::prepare("--output", Some(&arguments.output))?;
    let csv = Sink::prepare("--csv", arguments.table.csv.as_deref())?;
    if output.is_stdout() && csv.is_stdout() {
        let reason = "--output has it already; name a file for one of the two";
        return Err(Refusal::new("--csv", "-", reason).into());
    }
    let page = Sink::prepare("--report", arguments.table.report.as_deref())?;
    let mut merged: Option<Results> = None;
    for path in &arguments.parts {
        let part = Results::read(path)?;
        match &mut merged {
            None => merged = Some(part),
            Some(merged) => merged.add(part)?,
        }
    }
    let merged = merged.expect("clap asks for one part at least");
    let to_stderr = output.is_stdout() || csv.is_stdout();
    output.write(merged.to_text().as_bytes())?;
    let name = arguments.output.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    page.write(page::of_sweep(&name, &merged).as_bytes())?;
    show(&merged, &arguments.table, csv, arguments.quiet, to_stderr)?;
    Ok(exit_code(&merged))
}

fn show(
    results: &Results,
    arguments: &TableArgs,
    csv: Sink,
    quiet: bool,
    to_stderr: bool,
) -> Result<(), Error> {
    let table = Table::new(results);
    csv.write(table.csv().as_bytes())?;
    if !quiet {
        report::print(&table.text(&arguments.metric)?, to_stderr)?;
    }
    Ok(())
}

/// What failed says more than what did not hold; a cell that is missing is another shard's.
fn exit_code(results: &Results) -> u8 {
    let any = |is: &dyn Fn(&Ended) -> bool| results.ended().values().any(is);
    if any(&|ended| matches!(ended, Ended::Failed(_))) {
        EXIT_GUEST
    } else if any(&|ended| matches!(ended, Ended::Done(d) if d.verdict == Verdict::Fail)) {
        EXIT_EXPECTATION
    } else {
        0
    }
}
