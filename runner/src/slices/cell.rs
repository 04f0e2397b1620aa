//! One cell of the table: its two runs, quiet and with background, and what they say.

use super::published::Published;
use crate::{
    config::Config,
    experiment::{Experiment, Host, RunResult},
    report::decimals,
    workload::Workload,
};
use eevdf::Preset;
use serde::Serialize;
use std::fmt;

/// The rules of the kernels that the table was measured on.
pub(super) const PRESET: Preset = Preset::V6_8;

/// A load that wakes at random beside the busy threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Background {
    /// The tick rate it was fitted for.
    pub hz: u32,
    /// Wake-ups a second.
    pub wakeups_per_s: u32,
    /// Run time of each, us.
    pub run_us: u32,
    /// How many percent of them come with the tick.
    pub at_tick_pct: u32,
}

impl fmt::Display for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wakeups_per_s, run_us, at_tick_pct, .. } = self;
        write!(f, "{wakeups_per_s} wake-ups a second of {run_us} us, ")?;
        match at_tick_pct {
            0 => write!(f, "at random"),
            _ => write!(f, "at random, {at_tick_pct} % of them with the next tick"),
        }
    }
}

/// What one run says about a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Run time of the busy threads divided by their switches, ms.
    pub avg_run_ms: f64,
    /// Switches of the busy threads.
    pub switches: u64,
    /// Part of their stints that lasted a tick longer than their slice needed.
    pub extra_tick_share: f64,
}

impl Measured {
    /// Reads a run whose first `hogs` tasks are the busy threads; their run time as the clock says.
    pub fn of(result: &RunResult, hogs: usize) -> Self {
        Self::less(result, hogs, 0)
    }

    /// The same in charged time, which leaves out what interrupts took. The busy threads of one
    /// CPU have it to themselves but for a background too rare to be interrupted.
    pub(super) fn charged(result: &RunResult, hogs: usize) -> Self {
        let irq_ns = result.records.cpus.iter().map(|cpu| cpu.counters.irq_ns).sum();
        Self::less(result, hogs, irq_ns)
    }

    fn less(result: &RunResult, hogs: usize, irq_ns: u64) -> Self {
        let document = result.document();
        let hogs = &document.tasks[..hogs.min(document.tasks.len())];
        let runtime_ns = hogs.iter().map(|task| task.runtime_ns).sum::<u64>() - irq_ns;
        let switches: u64 = hogs.iter().map(|task| task.switches.total).sum();
        let extra: u64 = hogs.iter().map(|task| task.extra_ticks).sum();
        let per_switch = |value: f64| value / switches.max(1) as f64;
        Self {
            avg_run_ms: decimals(per_switch(runtime_ns as f64 / 1e6), 6),
            switches,
            extra_tick_share: decimals(per_switch(extra as f64), 6),
        }
    }

    /// How far it is from the published number, in percent of that.
    pub fn error_pct(&self, published: &Published) -> f64 {
        decimals(100.0 * (self.avg_run_ms / published.avg_run_ms - 1.0), 3)
    }
}

/// The experiment of a cell.
pub(super) fn experiment(
    row: &Published,
    background: Option<&Background>,
    duration_ns: u64,
    seed: u64,
    host: &Host,
) -> Experiment {
    let mut workload = Workload::default();
    workload.hogs(row.threads);
    if let Some(load) = background {
        workload
            .background(
                f64::from(load.wakeups_per_s),
                u64::from(load.run_us) * 1000,
                load.at_tick_pct,
            )
            .expect("the background loads tried are in range");
    }
    let experiment = Experiment {
        config: Config {
            cpus: row.cpus,
            hz: row.hz,
            preset: PRESET,
            base_slice_ns: Some(row.base_slice_ns()),
            duration_ns,
            seed,
            ..Config::default()
        },
        workload,
        host: host.clone(),
    };
    let load = if background.is_some() { "background" } else { "quiet" };
    experiment.labelled(&format!("hz{}-{}ms-{load}", row.hz, row.base_slice_ms))
}
