//! `slices`: does the base slice matter when it is shorter than a tick?
//!
//! The published table has twelve cells: HZ 1000 and 100, six base slices, four busy threads on
//! one CPU. Each is run twice. Quiet, the answer is plain: a stint ends at the first tick at
//! which its slice is used up, so its length is a whole number of ticks. The published numbers
//! are shorter than that, as if something else had woken on that CPU some dozens of times a
//! second; a second run has such a task beside the four, and is what is compared.

mod against;
mod cell;
mod fit;
mod published;
mod view;

pub use cell::{Background, Measured};
pub use published::{Published, table as published_table};

use crate::{
    batch,
    cli::{Against, SlicesArgs},
    commands::exit_code,
    error::{EXIT_GUEST, Error, Refusal},
    expect::Verdict,
    experiment::{Experiment, Host, RunResult},
    interrupt, page,
    progress::Progress,
    questions::Losses,
    report::{self, JsonSink, Sink, decimals},
};

use serde::Serialize;
use std::time::Instant;

/// The background load per HZ, as `slices --fit` finds it. The machine that the table was
/// measured on is not known; this is the load that explains its numbers best.
pub const BACKGROUND: [Background; 2] = [
    Background { hz: 1000, wakeups_per_s: 52, run_us: 95, at_tick_pct: 45 },
    Background { hz: 100, wakeups_per_s: 42, run_us: 337, at_tick_pct: 20 },
];
/// A cell may be this far from the published number, in percent.
const TOLERANCE_PCT: f64 = 5.0;

/// The whole answer.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Version of this layout.
    pub schema: u32,
    /// The name of the question.
    pub question: &'static str,
    /// The question in words.
    pub title: &'static str,
    /// The words after `slicelab` that ask it again.
    pub command: Vec<String>,
    /// What the cells say to it.
    pub answer: Vec<String>,
    /// In the order of the published table; without those that failed.
    pub cells: Vec<Cell>,
    /// The background load used.
    pub background: Vec<Background>,
    /// Host seconds.
    pub wall_s: f64,
    /// Whether every cell is within the tolerance.
    pub verdict: Verdict,
    /// Guest seconds of all runs.
    #[serde(skip)]
    guest_s: f64,
    /// Cells that have no numbers, and why.
    #[serde(skip)]
    losses: Losses,
}

/// One cell.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// Ticks per second.
    pub hz: u32,
    /// The base slice.
    pub base_slice_ns: u64,
    /// What was published.
    pub published: PublishedNumbers,
    /// Measured with nothing else on the CPU.
    pub quiet: Measured,
    /// Measured with the background load.
    pub background: Measured,
    /// Distance of the latter from the published average run, in percent.
    pub error_pct: f64,
}

/// The numbers of a published row.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(missing_docs, reason = "`Published` documents them")]
pub struct PublishedNumbers {
    pub avg_run_ms: f64,
    pub switches: u64,
}

/// Answers the question, or searches the background load with `--fit`.
///
/// # Errors
/// What keeps every cell from running, or an interrupt before the first one was done.
pub(crate) fn execute(arguments: &SlicesArgs) -> Result<u8, Error> {
    let host = Host { trace: arguments.trace.request(), ..arguments.host.host() };
    if let Some(trace) =
        host.trace.as_ref().filter(|_| arguments.fit || arguments.against.is_some())
    {
        let reason = "traces are of the cells of the table; leave --fit and --against out";
        return Err(Refusal::new("--trace", trace.file.display(), reason).into());
    }
    if arguments.fit {
        return fit::execute(arguments, &host);
    }
    if let Some(Against::Linux) = arguments.against {
        return against::execute(arguments, &host);
    }
    let sink = JsonSink::prepare(arguments.json.as_deref())?;
    let page = Sink::prepare("--report", arguments.report.as_deref())?;
    let rows = published::table();
    let experiments: Vec<Experiment> = rows
        .iter()
        .flat_map(|row| [None, background_of(row.hz)].map(|load| (row, load)))
        .map(|(row, load)| cell::experiment(row, load, arguments.duration, arguments.seed, &host))
        .collect();
    for experiment in &experiments {
        experiment.plan()?;
    }
    let start = Instant::now();
    let progress = Progress::start("slices", experiments.len(), host.quiet);
    let results = batch::run_all(&experiments, &progress)?;
    drop(progress);
    let wall_s = start.elapsed().as_secs_f64();
    let answer = Answer::new(&rows, results, wall_s, arguments.command.clone());
    let (is_interrupted, has_failures) = (interrupt::requested(), answer.losses.has_failures());
    let to_stderr = sink.is_stdout();
    sink.write(&answer)?;
    page.write(page::of_answer(&answer).as_bytes())?;
    if !host.quiet {
        report::print(&view::render(&answer), to_stderr)?;
    }
    if is_interrupted {
        let after_s = answer.wall_s;
        return Err(Error::Interrupted { after_s, console: Vec::new() });
    }
    Ok(if has_failures { EXIT_GUEST } else { exit_code(answer.verdict) })
}

fn background_of(hz: u32) -> Option<&'static Background> {
    BACKGROUND.iter().find(|load| load.hz == hz)
}

impl Answer {
    fn new(
        rows: &[Published],
        results: Vec<Result<RunResult, Error>>,
        wall_s: f64,
        command: Vec<String>,
    ) -> Self {
        let mut cells = Vec::new();
        let mut losses = Losses::default();
        let mut guest_s = 0.0;
        let mut verdict = Verdict::Pass;
        let mut results = results.into_iter();
        for row in rows {
            let pair = (results.next(), results.next());
            let (Some(Ok(quiet)), Some(Ok(background))) = &pair else {
                let error = [pair.0, pair.1].into_iter().flatten().find_map(Result::err);
                let cell = format_args!("HZ={}, {} ms", row.hz, row.base_slice_ms);
                losses.add(cell, error.as_ref());
                continue;
            };
            for run in [quiet, background] {
                guest_s += run.records.total.elapsed_ns as f64 / 1e9;
                if run.judge().verdict != Verdict::Pass {
                    verdict = Verdict::Fail;
                }
            }
            cells.push(Cell::new(row, quiet, background));
        }
        if cells.iter().any(|cell| cell.error_pct.abs() > TOLERANCE_PCT) {
            verdict = Verdict::Fail;
        }
        if verdict == Verdict::Pass && !losses.is_none() {
            verdict = Verdict::Inconclusive;
        }
        Self {
            schema: 1,
            question: "slices",
            title: "Does base_slice matter when it is shorter than a tick?",
            command,
            answer: view::explanation(&cells),
            cells,
            background: BACKGROUND.to_vec(),
            wall_s: decimals(wall_s, 3),
            verdict,
            guest_s,
            losses,
        }
    }
}

impl Cell {
    fn new(row: &Published, quiet: &RunResult, background: &RunResult) -> Self {
        let background = Measured::of(background, row.threads);
        Self {
            hz: row.hz,
            base_slice_ns: row.base_slice_ns(),
            published: PublishedNumbers {
                avg_run_ms: row.avg_run_ms,
                switches: row.context_switches,
            },
            quiet: Measured::of(quiet, row.threads),
            error_pct: background.error_pct(row),
            background,
        }
    }
}
