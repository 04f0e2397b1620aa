//! `stress-ng --cpu`: tasks that compute.

use super::{
    Built, Machine, Mix, check_tasks,
    options::{length, seconds, within},
    stress::{self, Stressor},
};
use crate::{
    error::Refusal,
    workload::{Better, Reading, Workload},
};
use clap::Args;

/// CPU time of one bogo operation, ns.
const BOGO_NS: u64 = 1_000_000;
const DEFAULT_NS: u64 = 10_000_000_000;

/// stress-ng --cpu: tasks that compute until the time is over
#[derive(Args, Debug)]
pub(super) struct Hogs {
    /// Tasks; 0 for one on each CPU
    #[arg(short, long, value_name = "N", default_value = "0", value_parser = within(0..=20_000u64))]
    cpu: u64,
    /// Length of the run: seconds, or a time such as 500ms [default: --duration, or 10]
    #[arg(short, long, value_name = "TIME", value_parser = seconds)]
    timeout: Option<u64>,
    /// Print the metrics, as it always does here
    #[arg(long)]
    metrics_brief: bool,
}

impl Mix for Hogs {
    const NAME: &'static str = "hogs";
    const ABOUT: &'static str =
        "tasks that compute; a bogo op is 1 ms of CPU time (stress-ng --cpu)";

    fn build(self, machine: &Machine, load: &mut Workload) -> Result<Built, Refusal> {
        let count = if self.cpu == 0 { machine.cpus.into() } else { self.cpu };
        check_tasks("-c", count, count)?;
        let duration_ns = length("-t", self.timeout, machine, DEFAULT_NS)?;
        load.hogs(count as usize);
        let tasks = 0..count as usize;
        let reading = Reading::Runtime(tasks.clone());
        load.measure("bogo_ops_per_second", "ops/s", Better::Higher, reading, BOGO_NS as f64);
        Ok(Built::time(duration_ns, move |result| {
            let runtime_ns: u64 = result.records.tasks[tasks.clone()]
                .iter()
                .map(|task| task.counters.runtime_ns)
                .sum();
            let stressor = Stressor {
                name: "cpu",
                bogo_ops: runtime_ns / BOGO_NS,
                real_s: result.records.total.elapsed_ns as f64 / 1e9,
                usr_s: runtime_ns as f64 / 1e9,
            };
            stress::text(stressor, &[])
        }))
    }
}
