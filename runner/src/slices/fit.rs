//! `slices --fit`: which background load explains the published numbers best?
//!
//! For each HZ, a grid of rates, run times and shares of wake-ups that come with the tick is
//! tried, then ever smaller steps around the best point, one number at a time. The measure is
//! the worst relative error of the six cells; among equals the smaller numbers win, so the
//! search always ends at the same point.

use super::{
    cell::{self, Background, Measured},
    published::{self, Published},
};
use crate::{
    batch,
    cli::SlicesArgs,
    error::Error,
    experiment::Host,
    progress::Progress,
    report::{self, JsonSink, decimals},
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Wake-ups a second on the grid.
const RATES: [u32; 7] = [20, 30, 40, 50, 60, 70, 80];
/// Run times on the grid, us.
const RUNS_US: [u32; 4] = [100, 300, 1000, 3000];
/// Percent of the wake-ups that come with the tick, on the grid.
const AT_TICK_PCT: [u32; 2] = [0, 30];
/// Steps around the best point, coarse to fine: rate, run time in percent, percent at the tick.
const STEPS: [(u32, u32, u32); 5] = [(6, 50, 15), (4, 30, 10), (2, 20, 5), (1, 10, 3), (1, 5, 2)];

/// A background load to try: rate, run time in us, percent at the tick.
type Point = (u32, u32, u32);

/// The best load of one HZ.
#[derive(Serialize)]
struct Best {
    #[serde(flatten)]
    load: Background,
    worst_error_pct: f64,
}

/// Searches for every HZ of the table.
///
/// # Errors
/// The first run that fails, or an interrupt.
pub(super) fn execute(arguments: &SlicesArgs, host: &Host) -> Result<u8, Error> {
    let sink = JsonSink::prepare(arguments.json.as_deref())?;
    let to_stderr = sink.is_stdout();
    let table = published::table();
    let mut tick_rates: Vec<u32> = table.iter().map(|row| row.hz).collect();
    tick_rates.dedup();
    let mut found = Vec::new();
    for hz in tick_rates {
        let rows = table.iter().filter(|row| row.hz == hz).copied().collect();
        let best = Search { rows, arguments, host, hz, tried: BTreeMap::new() }.run()?;
        report::print(
            &format!("HZ={hz}: {}, worst error {:.2} %\n", best.load, best.worst_error_pct),
            to_stderr,
        )?;
        found.push(best);
    }
    sink.write(&found)?;
    Ok(0)
}

struct Search<'a> {
    rows: Vec<Published>,
    arguments: &'a SlicesArgs,
    host: &'a Host,
    hz: u32,
    /// Worst error of each load.
    tried: BTreeMap<Point, f64>,
}

impl Search<'_> {
    fn run(mut self) -> Result<Best, Error> {
        let mut grid = Vec::new();
        for rate in RATES {
            for run_us in RUNS_US {
                grid.extend(AT_TICK_PCT.map(|at_tick_pct| (rate, run_us, at_tick_pct)));
            }
        }
        self.try_points("grid", grid)?;
        for (rate_step, run_step_pct, tick_step) in STEPS {
            // Until no step of this size helps.
            loop {
                let (rate, run_us, at_tick_pct) = self.best().0;
                let run_step = (run_us * run_step_pct / 100).max(1);
                let around = vec![
                    (rate.saturating_sub(rate_step).max(1), run_us, at_tick_pct),
                    (rate + rate_step, run_us, at_tick_pct),
                    (rate, run_us.saturating_sub(run_step).max(1), at_tick_pct),
                    (rate, run_us + run_step, at_tick_pct),
                    (rate, run_us, at_tick_pct.saturating_sub(tick_step)),
                    (rate, run_us, (at_tick_pct + tick_step).min(100)),
                ];
                self.try_points("around the best", around)?;
                if self.best().0 == (rate, run_us, at_tick_pct) {
                    break;
                }
            }
        }
        let (point, worst) = self.best();
        Ok(Best { load: self.load(point), worst_error_pct: decimals(worst, 3) })
    }

    fn load(&self, (wakeups_per_s, run_us, at_tick_pct): Point) -> Background {
        Background { hz: self.hz, wakeups_per_s, run_us, at_tick_pct }
    }

    fn try_points(&mut self, what: &str, points: Vec<Point>) -> Result<(), Error> {
        let new: Vec<_> =
            points.into_iter().filter(|point| !self.tried.contains_key(point)).collect();
        let mut experiments = Vec::new();
        for &point in &new {
            let load = self.load(point);
            for row in &self.rows {
                let (duration, seed) = (self.arguments.duration, self.arguments.seed);
                experiments.push(cell::experiment(row, Some(&load), duration, seed, self.host));
            }
        }
        let Some(first) = experiments.first() else { return Ok(()) };
        first.plan()?;
        let label = format!("HZ={}, {what}", self.hz);
        let progress = Progress::start(&label, experiments.len(), self.host.quiet);
        let results = batch::run_all(&experiments, &progress)?;
        let mut errors = Vec::with_capacity(results.len());
        for (result, row) in results.into_iter().zip(self.rows.iter().cycle()) {
            errors.push(Measured::of(&result?, row.threads).error_pct(row).abs());
        }
        for (point, errors) in new.into_iter().zip(errors.chunks(self.rows.len())) {
            self.tried.insert(point, errors.iter().copied().fold(0.0, f64::max));
        }
        drop(progress);
        if !self.host.quiet {
            let (point, worst) = self.best();
            anstream::eprintln!("{label}: best so far {}, {worst:.2} %", self.load(point));
        }
        Ok(())
    }

    fn best(&self) -> (Point, f64) {
        // The first of equals, in the map's order.
        let best = self.tried.iter().min_by(|a, b| a.1.total_cmp(b.1));
        best.map(|(&point, &worst)| (point, worst)).expect("the grid is not empty")
    }
}
