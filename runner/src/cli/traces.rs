//! Flags of the commands that work from a finished trace.

use super::values;
use crate::{show::Columns, trace::export::Format};
use abi::CpuSet;
use clap::Args;
use std::path::PathBuf;

/// Flags of `trace`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The trace, as `--trace` wrote it
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What to write it as
    #[arg(long, value_name = "FORMAT")]
    pub to: Format,
    /// Where to write it; - for stdout [default: beside the trace, with the format's extension]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Flags of `show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// The trace, as `--trace` wrote it
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Sums for each task, as `perf sched timehist --summary`
    #[arg(long, group = "view")]
    pub summary: bool,
    /// How long tasks waited for a CPU, the longest first, as `perf sched latency`
    #[arg(long, group = "view")]
    pub latency: bool,
    /// Who is on which CPU after each switch, as `perf sched map`
    #[arg(long, group = "view")]
    pub map: bool,
    /// Add why each task was chosen and why it left, in words, and its lag
    #[arg(long, conflicts_with = "view")]
    pub reasons: bool,
    /// Add the state in which each task left
    #[arg(long, conflicts_with = "view")]
    pub state: bool,
    /// Add a line for each wake-up
    #[arg(long, conflicts_with = "view")]
    pub wakeups: bool,
    /// Add a line for each move to another CPU
    #[arg(long, conflicts_with = "view")]
    pub migrations: bool,
    /// Only what happened between two times of the run, such as 1s,1010ms; either may be left out
    #[arg(long, value_name = "FROM,TO", value_parser = values::interval, help_heading = "Filters")]
    pub time: Option<(u64, u64)>,
    /// Only these CPUs, such as 0,2-3
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::cpu_range, help_heading = "Filters")]
    pub cpu: Vec<CpuSet>,
    /// Only these tasks, by name or pid
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Filters")]
    pub task: Vec<String>,
}

/// How a trace is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ShowView {
    /// Stint by stint.
    Timehist(Columns),
    /// Sums.
    Summary,
    /// Delays.
    Latency,
    /// CPU by CPU.
    Map,
}

impl ShowArgs {
    /// The view that the flags name.
    pub(crate) const fn view(&self) -> ShowView {
        let Self { summary, latency, map, state, reasons, wakeups, migrations, .. } = *self;
        match (summary, latency, map) {
            (true, _, _) => ShowView::Summary,
            (_, true, _) => ShowView::Latency,
            (_, _, true) => ShowView::Map,
            _ => ShowView::Timehist(Columns { state, reasons, wakeups, migrations }),
        }
    }
}
