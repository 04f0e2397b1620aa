//! `slices --against linux`: the same load on a real Linux in the same QEMU.
//!
//! The data names kernels, tick rates, slices and whether interrupts are accounted for; each row is
//! run here under the rules of its kernel, with the same cost per tick, for the same time. Three
//! things are set as they were there, as far as that is known:
//!
//! 1. a tick costs the instructions that it cost Linux, where they are nobody's run time, and a
//!    slice timer comes as late;
//! 2. something wakes once a second with the tick, as one sees in the lengths of single runs; at
//!    which moment is not known, and was chosen among six by how well the cells come out;
//! 3. the background task, where there was one, wakes as often as it was told to.
//!
//! Where a slice is a whole number of ticks and interrupts are not accounted for, Linux decides by
//! parts of a microsecond whether a tick more is needed. Both answers are run, and Linux may be
//! anywhere between.

mod reference;
mod view;

use super::cell::Measured;
use crate::{
    batch,
    cli::SlicesArgs,
    commands::exit_code,
    config::Config,
    error::{EXIT_GUEST, Error},
    expect::Verdict,
    experiment::{Experiment, Host, RunResult},
    interrupt,
    progress::Progress,
    questions::Losses,
    report::{self, JsonSink, decimals},
    workload::Workload,
};
use abi::{Cost, Costs, Op, Program};
use eevdf::Feature;
use reference::Reference;
use serde::Serialize;
use std::{collections::BTreeMap, time::Instant};

/// Instructions of a tick of Linux with IRQ time accounting, at 8 ns each.
const IRQ_COST_NS: u64 = 2580 * 8;
/// What wakes once a second beside the processes that spin runs for this long: runs of one tick
/// that begin after it are so much shorter.
const HOUSEKEEPING_RUN_NS: u64 = 50_000;
/// How often it wakes, with the tick.
const HOUSEKEEPING_PERIOD_NS: u64 = 1_000_000_000;
/// Its first wake-up, with a tick at every HZ. Fitted: the best of six at HZ=100, see
/// `docs/against-linux.md`.
const HOUSEKEEPING_START_NS: u64 = 510_000_000;
/// From the end of a slice that HRTICK timed to the next choice: what the runs of Linux 7.3 are
/// longer than slices of 0.7 ms, without IRQ time accounting.
const SLICE_TIMER_NS: u32 = 17_300;
/// Run time of the background task at each wake-up.
const NOISE_RUN_NS: u64 = 20_000;
/// A cell may be this far from Linux, in percent.
const TOLERANCE_PCT: f64 = 2.0;

/// The whole answer.
#[derive(Clone, Debug, Serialize)]
struct Answer {
    schema: u32,
    question: &'static str,
    /// In the order of the data; without those that failed.
    cells: Vec<Cell>,
    irq_cost_ns: u64,
    slice_timer_ns: u32,
    housekeeping_run_ns: u64,
    housekeeping_period_ns: u64,
    tolerance_pct: f64,
    wall_s: f64,
    verdict: Verdict,
    #[serde(skip)]
    guest_s: f64,
    #[serde(skip)]
    losses: Losses,
}

/// One cell.
#[derive(Clone, Debug, Serialize)]
struct Cell {
    kernel: String,
    preset: &'static str,
    hz: u32,
    base_slice_ns: u64,
    irq_time_accounting: bool,
    /// Switched against the kernel's defaults.
    features: BTreeMap<&'static str, bool>,
    /// Of the background task, if there is one.
    wakeups_per_s: Option<u32>,
    published: Published,
    measured: Measured,
    /// The same with every tick a nanosecond short, where the slice is a whole number of ticks
    /// that nothing else makes short.
    measured_short: Option<Measured>,
    /// Distance of the average run from Linux's, in percent; 0 between two answers.
    error_pct: f64,
}

/// What Linux did.
#[derive(Clone, Debug, Serialize)]
struct Published {
    run: String,
    seconds: f64,
    avg_run_ms: f64,
    switches: u64,
}

/// Runs every row that the data has.
///
/// # Errors
/// What keeps every cell from running, or an interrupt.
pub(super) fn execute(arguments: &SlicesArgs, host: &Host) -> Result<u8, Error> {
    let sink = JsonSink::prepare(arguments.json.as_deref())?;
    let rows = reference::rows();
    let experiments: Vec<Experiment> = rows
        .iter()
        .flat_map(|row| tick_errors(row).iter().map(move |&error_ns| (row, error_ns)))
        .map(|(row, error_ns)| experiment(row, error_ns, arguments, host))
        .collect();
    for experiment in &experiments {
        experiment.plan()?;
    }
    let start = Instant::now();
    let progress = Progress::start("against linux", experiments.len(), host.quiet);
    let results = batch::run_all(&experiments, &progress)?;
    drop(progress);
    let answer = Answer::new(&rows, results, start.elapsed().as_secs_f64());
    let to_stderr = sink.is_stdout();
    sink.write(&answer)?;
    if !host.quiet {
        report::print(&view::render(&answer), to_stderr)?;
    }
    if interrupt::requested() {
        let after_s = answer.wall_s;
        return Err(Error::Interrupted { after_s, console: Vec::new() });
    }
    Ok(if answer.losses.has_failures() { EXIT_GUEST } else { exit_code(answer.verdict) })
}

/// The errors of the tick that a row is run with.
fn tick_errors(row: &Reference) -> &'static [i64] {
    let tick_ns = 1_000_000_000 / u64::from(row.hz);
    let is_tie = !row.irq_time_accounting && row.base_slice_ns.is_multiple_of(tick_ns);
    // A slice timer does not wait for the tick.
    if is_tie && !has_hrtick(row) { &[0, -1] } else { &[0] }
}

fn has_hrtick(row: &Reference) -> bool {
    let switched = row.features.iter().find(|(feature, _)| *feature == Feature::Hrtick);
    switched.map_or(row.preset.features().contains(Feature::Hrtick), |&(_, on)| on)
}

fn experiment(row: &Reference, error_ns: i64, arguments: &SlicesArgs, host: &Host) -> Experiment {
    let irq_cost_ns = if row.irq_time_accounting { IRQ_COST_NS } else { 0 };
    let slice_timer_ns = if has_hrtick(row) { SLICE_TIMER_NS } else { 0 };
    let duration_ns = arguments.duration.min((row.seconds * 1e9) as u64);
    let mut workload = Workload::default();
    workload.hogs(row.hogs);
    if let Some(rate) = row.wakeups_per_s {
        workload
            .background(rate.into(), NOISE_RUN_NS, 0)
            .expect("the rates of the data are in range");
    }
    workload.add("housekeeping".into(), housekeeping(duration_ns));
    Experiment {
        config: Config {
            hz: row.hz,
            preset: row.preset,
            features: row.features.clone(),
            base_slice_ns: Some(row.base_slice_ns),
            duration_ns,
            seed: arguments.seed,
            irq_cost_ns,
            costs: Costs::default().with(Cost::SliceTimer, slice_timer_ns),
            tick_error_ns: error_ns,
            ..Config::default()
        },
        workload,
        host: host.clone(),
    }
}

/// Wakes at set times, like a timer that is set anew to whole seconds: one that counted from its
/// own last run would be late once, at the end of a stint, and then keep to the ends of stints.
fn housekeeping(duration_ns: u64) -> Program {
    let times = (HOUSEKEEPING_START_NS..duration_ns).step_by(HOUSEKEEPING_PERIOD_NS as usize);
    times.flat_map(|at_ns| [Op::SleepUntil(at_ns), Op::Run(HOUSEKEEPING_RUN_NS)]).collect()
}

impl Answer {
    fn new(rows: &[Reference], results: Vec<Result<RunResult, Error>>, wall_s: f64) -> Self {
        let mut answer = Self {
            schema: 1,
            question: "slices against linux",
            cells: Vec::new(),
            irq_cost_ns: IRQ_COST_NS,
            slice_timer_ns: SLICE_TIMER_NS,
            housekeeping_run_ns: HOUSEKEEPING_RUN_NS,
            housekeeping_period_ns: HOUSEKEEPING_PERIOD_NS,
            tolerance_pct: TOLERANCE_PCT,
            wall_s: decimals(wall_s, 3),
            verdict: Verdict::Pass,
            guest_s: 0.0,
            losses: Losses::default(),
        };
        let mut results = results.into_iter();
        for row in rows {
            // All of the row first: stopping at an error would leave the others to the next row.
            let runs: Vec<_> = results.by_ref().take(tick_errors(row).len()).collect();
            match runs.into_iter().collect::<Result<Vec<_>, _>>() {
                Ok(runs) => answer.add(row, &runs),
                Err(error) => answer.losses.add(&row.run, Some(&error)),
            }
        }
        if answer.verdict == Verdict::Pass && !answer.losses.is_none() {
            answer.verdict = Verdict::Inconclusive;
        }
        answer
    }

    fn add(&mut self, row: &Reference, runs: &[RunResult]) {
        for run in runs {
            self.guest_s += run.records.total.elapsed_ns as f64 / 1e9;
            if run.judge().verdict != Verdict::Pass {
                self.verdict = Verdict::Fail;
            }
        }
        let cell = Cell::new(row, runs);
        if cell.is_off() {
            self.verdict = Verdict::Fail;
        }
        self.cells.push(cell);
    }
}

impl Cell {
    fn new(row: &Reference, runs: &[RunResult]) -> Self {
        let measured: Vec<Measured> =
            runs.iter().map(|run| Measured::charged(run, row.hogs)).collect();
        Self {
            kernel: row.kernel.clone(),
            preset: row.preset.name(),
            hz: row.hz,
            base_slice_ns: row.base_slice_ns,
            irq_time_accounting: row.irq_time_accounting,
            features: row.features.iter().map(|&(feature, on)| (feature.name(), on)).collect(),
            wakeups_per_s: row.wakeups_per_s,
            published: Published {
                run: row.run.clone(),
                seconds: row.seconds,
                avg_run_ms: row.avg_run_ms,
                switches: row.switches,
            },
            measured: measured[0],
            measured_short: measured.get(1).copied(),
            error_pct: error_pct(row.avg_run_ms, &measured),
        }
    }

    fn is_off(&self) -> bool {
        self.error_pct.abs() > TOLERANCE_PCT
    }
}

/// How far the nearest of our answers is from Linux; nothing if Linux is between them.
fn error_pct(linux_ms: f64, ours: &[Measured]) -> f64 {
    let errors = || ours.iter().map(|ours| 100.0 * (ours.avg_run_ms / linux_ms - 1.0));
    let (low, high) =
        errors().fold((f64::MAX, f64::MIN), |(low, high), error| (low.min(error), high.max(error)));
    if low <= 0.0 && high >= 0.0 && ours.len() > 1 {
        return 0.0;
    }
    decimals(if high < 0.0 { high } else { low }, 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(avg_run_ms: f64) -> Measured {
        Measured { avg_run_ms, switches: 1, extra_tick_share: 0.0 }
    }

    #[test]
    fn one_answer_is_measured_by_its_distance() {
        assert_eq!(error_pct(4.0, &[of(4.1)]), 2.5);
        assert_eq!(error_pct(4.0, &[of(3.9)]), -2.5);
    }

    #[test]
    fn a_tie_may_be_anywhere_between_its_two_answers() {
        assert_eq!(error_pct(3.8, &[of(3.0), of(4.0)]), 0.0);
        assert_eq!(error_pct(4.0, &[of(4.4), of(4.1)]), 2.5);
        assert_eq!(error_pct(4.0, &[of(3.0), of(3.9)]), -2.5);
    }

    #[test]
    fn only_whole_ticks_without_irq_time_accounting_are_ties() {
        let ties: Vec<_> =
            reference::rows().into_iter().filter(|row| tick_errors(row).len() == 2).collect();
        assert!(ties.iter().all(|row| !row.irq_time_accounting && !has_hrtick(row)));
        let slices_at = |hz| ties.iter().filter(|row| row.hz == hz).count();
        assert_eq!([1000, 250, 100].map(slices_at), [6, 2, 0]);
    }
}
