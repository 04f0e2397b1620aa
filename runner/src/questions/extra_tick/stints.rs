//! Two busy tasks on one CPU of eight: how long they run at a stretch, by HZ, base slice and what a
//! tick charges too little.
//!
//! All of it is exact: a stint ends at the first tick at which the slice is used up.

use super::{CPUS, NEW_NS, OLD_NS, machine};
use crate::{
    batch,
    config::Config,
    error::Error,
    expect::{Expectation, Verdict},
    experiment::{Experiment, Host},
    progress::Progress,
    questions::answer::expect,
    report::{self, decimals},
    slices::Measured,
    units,
    workload::Workload,
};
use abi::{CpuSet, NohzMode};
use serde_json::{Value, json};

/// The busy tasks.
const HOGS: usize = 2;
/// Guest time of each run, ns: some thousand stints.
const LENGTH_NS: u64 = 10_000_000_000;
/// What a tick charges beside its length, ns. The middle one is what kernels see: interrupt time
/// that is left out of the task clock, and timers that are rounded.
const TICK_ERRORS_NS: [i64; 3] = [0, -1_000, -100_000];
/// Base slices around three ticks of 1 ms, ns.
const SLICES_NS: [u64; 5] = [2_600_000, NEW_NS, 2_900_000, OLD_NS, 3_100_000];

/// One run.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) hz: u32,
    pub(super) base_slice_ns: u64,
    pub(super) tick_error_ns: i64,
    pub(super) measured: Measured,
}

/// All runs.
pub(super) struct Stints {
    pub(super) cells: Vec<Cell>,
    verdict: Verdict,
    pub(super) guest_ns: u64,
}

/// Runs two tasks on CPU 0 under each setting.
pub(super) fn measure(host: &Host) -> Result<Stints, Error> {
    let mut settings = Vec::new();
    for hz in [1000, 250] {
        for base_slice_ns in SLICES_NS {
            settings.extend(TICK_ERRORS_NS.map(|error_ns| (hz, base_slice_ns, error_ns)));
        }
    }
    let experiments: Vec<Experiment> = settings.iter().map(|&at| experiment(at, host)).collect();
    for experiment in &experiments {
        experiment.plan()?;
    }
    let progress = Progress::start("stints", experiments.len(), host.quiet);
    let results = batch::run_all(&experiments, &progress)?;
    drop(progress);
    let mut stints = Stints { cells: Vec::new(), verdict: Verdict::Pass, guest_ns: 0 };
    for ((hz, base_slice_ns, tick_error_ns), result) in settings.into_iter().zip(results) {
        let result = result?;
        if result.judge().verdict != Verdict::Pass {
            stints.verdict = Verdict::Fail;
        }
        stints.guest_ns += result.records.total.elapsed_ns;
        let measured = Measured::of(&result, HOGS);
        stints.cells.push(Cell { hz, base_slice_ns, tick_error_ns, measured });
    }
    Ok(stints)
}

fn experiment((hz, base_slice_ns, tick_error_ns): (u32, u64, i64), host: &Host) -> Experiment {
    let mut workload = Workload::default();
    workload.hogs(HOGS);
    workload.pins(&[Some(CpuSet::first(1))]);
    let config = Config {
        duration_ns: LENGTH_NS,
        tick_error_ns,
        // The other seven have nothing to do.
        nohz: NohzMode::Idle,
        ..machine(hz, base_slice_ns)
    };
    Experiment { config, workload, host: host.clone() }
}

impl Cell {
    /// As `--json` has it.
    pub(super) fn document(&self) -> Value {
        let Self { hz, base_slice_ns, tick_error_ns, measured } = self;
        json!({
            "hz": hz,
            "base_slice_ns": base_slice_ns,
            "tick_error_ns": tick_error_ns,
            "measured": measured,
        })
    }

    fn row(&self) -> Vec<String> {
        let per_s = self.measured.switches as f64 / (LENGTH_NS as f64 / 1e9);
        vec![
            self.hz.to_string(),
            units::exact_unsigned(self.base_slice_ns),
            units::exact(self.tick_error_ns),
            format!("{:.3} ms", self.measured.avg_run_ms),
            format!("{:.1} %", 100.0 * self.measured.extra_tick_share),
            format!("{per_s:.1}"),
        ]
    }
}

impl Stints {
    /// The cell of these settings.
    pub(super) fn at(&self, hz: u32, base_slice_ns: u64, tick_error_ns: i64) -> &Measured {
        let is_it = |cell: &&Cell| {
            (cell.hz, cell.base_slice_ns, cell.tick_error_ns) == (hz, base_slice_ns, tick_error_ns)
        };
        &self.cells.iter().find(is_it).expect("all settings were measured").measured
    }

    /// By how much more two tasks switch with the old slice replaced by the new one, in percent.
    pub(super) fn more_switches_pct(&self, hz: u32, tick_error_ns: i64) -> f64 {
        let switches = |slice| self.at(hz, slice, tick_error_ns).switches as f64;
        decimals(100.0 * (switches(NEW_NS) / switches(OLD_NS) - 1.0), 1)
    }

    /// The table.
    pub(super) fn table(&self) -> String {
        let head = ["HZ", "base slice", "tick error", "mean stint", "extra ticks", "switches/s"];
        format!(
            "Two busy tasks on one of {CPUS} CPUs, {}: an extra tick is one more than the slice needs\n\n{}\n",
            units::exact_unsigned(LENGTH_NS),
            report::table(&head, self.cells.iter().map(Cell::row))
        )
    }

    /// What the thread says, as something that holds or not.
    pub(super) fn expectations(&self) -> Vec<Expectation> {
        let pct = |measured: &Measured| 100.0 * measured.extra_tick_share;
        let (old, new) = (self.at(1000, OLD_NS, -1_000), self.at(1000, NEW_NS, -1_000));
        let more = self.more_switches_pct(1000, -1_000);
        let slow = self.more_switches_pct(250, -1_000);
        vec![
            expect("runs of two tasks", "pass", self.verdict.word(), self.verdict == Verdict::Pass),
            expect(
                "extra ticks at HZ=1000, ticks charged 1us short, slice 3ms",
                "nearly all stints, over 95 %",
                format!("{:.1} %", pct(old)),
                pct(old) > 95.0,
            ),
            expect(
                "the same with 2.8ms",
                "nearly none, under 5 %",
                format!("{:.1} %", pct(new)),
                pct(new) < 5.0,
            ),
            expect(
                "switches more with 2.8ms than with 3ms",
                "a third, 33.3 % within 1",
                format!("{more:.1} %"),
                (more - 100.0 / 3.0).abs() < 1.0,
            ),
            expect("the same at HZ=250", "0.0 %", format!("{slow:.1} %"), slow == 0.0),
        ]
    }
}
