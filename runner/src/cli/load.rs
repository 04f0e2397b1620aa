//! Flags that make up a load.

use super::values;
use crate::{error::Refusal, workload::Workload};
use abi::{CpuSet, Crash, scenario::Policy};
use clap::Args;

/// How long each task of a pair runs before it wakes the other, ns.
const PAIR_RUN_NS: u64 = 50_000;
/// When a crash comes, ns: all CPUs run tasks by then.
const CRASH_AFTER_NS: u64 = 10_000_000;
/// How long a yielder runs before it yields, ns.
const YIELDER_RUN_NS: u64 = 100_000;

/// The tasks of a run.
#[derive(Args, Debug)]
#[command(next_help_heading = "Load (tasks are numbered in this order)")]
pub struct LoadArgs {
    /// Tasks that compute until the end
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::count, allow_hyphen_values = true)]
    pub hogs: usize,
    /// Tasks that run and sleep in turn, such as 2:1ms:9ms (repeatable)
    #[arg(long, value_name = "N:RUN:SLEEP", value_parser = values::bursts, allow_hyphen_values = true)]
    pub bursts: Vec<(usize, u64, u64)>,
    /// Pairs of tasks that wake each other, running for RUN [default: 50us] in between (repeatable)
    #[arg(long, value_name = "N[:RUN]", value_parser = values::counted, allow_hyphen_values = true)]
    pub pairs: Vec<(usize, Option<u64>)>,
    /// A task that wakes at random RATE times a second and runs for RUN, such as 64:500us; with
    /// 64:500us:25% a quarter of its wake-ups wait for the tick, as with a timer wheel (repeatable)
    #[arg(long, value_name = "RATE:RUN[:SHARE%]", value_parser = values::background, allow_hyphen_values = true)]
    pub background: Vec<(f64, u64, u32)>,
    /// Tasks that run for RUN [default: 100us] and yield (repeatable)
    #[arg(long, value_name = "N[:RUN]", value_parser = values::counted, allow_hyphen_values = true)]
    pub yielders: Vec<(usize, Option<u64>)>,
    /// Break the guest in this way, to see that it is noticed
    #[arg(long, value_name = "HOW", hide = true, value_parser = values::crash)]
    pub crash: Option<Crash>,
    /// Nice values of the tasks in order, -20 to 19; the last one repeats [default: 0]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::nice, allow_hyphen_values = true)]
    pub nice: Vec<i8>,
    /// Slices of the tasks' own in order, such as 100ms,2.8ms; `-` for the base slice
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::slice, allow_hyphen_values = true)]
    pub slice: Vec<Option<u64>>,
    /// Policies of the tasks in order: normal, batch, idle, or fifo:PRIORITY such as fifo:10, which
    /// goes before all others (1 to 99) [default: normal]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::policy)]
    pub policy: Vec<Policy>,
    /// CPUs of the tasks in order, such as 0,0,1 or 0-3,any; `-` or `any` for all CPUs
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::pin, allow_hyphen_values = true)]
    pub pin: Vec<Option<CpuSet>>,
}

impl LoadArgs {
    /// The first flag that says something of tasks, where the tasks come from somewhere else.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--hogs", self.hogs > 0),
            ("--bursts", !self.bursts.is_empty()),
            ("--pairs", !self.pairs.is_empty()),
            ("--background", !self.background.is_empty()),
            ("--yielders", !self.yielders.is_empty()),
            ("--crash", self.crash.is_some()),
            ("--nice", !self.nice.is_empty()),
            ("--slice", !self.slice.is_empty()),
            ("--policy", !self.policy.is_empty()),
            ("--pin", !self.pin.is_empty()),
        ];
        given.into_iter().find(|&(_, is_given)| is_given).map(|(flag, _)| flag)
    }

    /// The tasks that the flags describe, after those that are there already; lists of nice
    /// values and the like apply to all of them.
    ///
    /// # Errors
    /// A time out of range.
    pub fn workload(&self, mut load: Workload) -> Result<Workload, Refusal> {
        let beside = load.tasks().len();
        load.hogs(self.hogs);
        for &(count, run_ns, sleep_ns) in &self.bursts {
            load.bursts(count, run_ns, sleep_ns)?;
        }
        for &(count, run_ns) in &self.pairs {
            load.pairs(count, run_ns.unwrap_or(PAIR_RUN_NS))?;
        }
        for &(rate, run_ns, at_tick_pct) in &self.background {
            load.background(rate, run_ns, at_tick_pct)?;
        }
        for &(count, run_ns) in &self.yielders {
            load.yielders(count, run_ns.unwrap_or(YIELDER_RUN_NS))?;
        }
        if let Some(how) = self.crash {
            load.crash(how, CRASH_AFTER_NS);
        }
        if !load.goals.is_empty() {
            // What was to be done is done when the mix has done it, whatever runs beside it.
            load.background_from(beside);
        }
        let tasks = load.tasks().len();
        let lists = [
            ("--nice", self.nice.len()),
            ("--slice", self.slice.len()),
            ("--policy", self.policy.len()),
            ("--pin", self.pin.len()),
        ];
        // A list for more tasks than there are was meant for another load.
        if let Some((flag, values)) = lists.into_iter().find(|&(_, values)| values > tasks.max(1)) {
            let reason = format!("there are only {tasks} tasks; give at most one value for each");
            return Err(Refusal::new(flag, format!("with {values} values"), reason));
        }
        load.nice(&self.nice);
        load.slices(&self.slice);
        load.policies(&self.policy);
        load.pins(&self.pin);
        Ok(load)
    }
}
