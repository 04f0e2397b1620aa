//! will-it-scale's `context_switch1`: pairs that send a byte to and fro for a time.

use super::{
    Built, Machine, Mix, check_tasks, linux,
    options::{length, seconds, time, within},
    pairs::{Measured, Settle, Talk},
};
use crate::{
    error::Refusal,
    workload::{Better, Reading, Workload},
};
use clap::Args;

/// Short, because every operation is simulated by itself: a second costs the host half a minute.
const DEFAULT_NS: u64 = 1_000_000_000;

/// will-it-scale context_switch1: pairs of tasks send a byte to and fro for a time
#[derive(Args, Debug)]
pub(super) struct ContextSwitch {
    /// Pairs
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = within(1..=10_000u64))]
    tasks: u64,
    /// Length of the run: seconds, or a time such as 500ms [default: --duration, or 1]
    #[arg(short, long, value_name = "TIME", value_parser = seconds)]
    seconds: Option<u64>,
    /// What each write and read costs [default: 775ns, Linux 6.12's half of both, at an
    /// instruction a nanosecond]
    #[arg(long, value_name = "TIME", value_parser = time)]
    op_cost: Option<u64>,
    #[command(flatten)]
    settle: Settle,
}

impl Mix for ContextSwitch {
    const NAME: &'static str = "context_switch1";
    const ABOUT: &'static str = "pairs of tasks send a byte to and fro for a time (will-it-scale)";

    fn build(self, machine: &Machine, load: &mut Workload) -> Result<Built, Refusal> {
        check_tasks("-t", self.tasks, 2 * self.tasks)?;
        let duration_ns = length("-s", self.seconds, machine, DEFAULT_NS)?;
        let settle = self.settle;
        let talk = Talk {
            names: ["ping", "pong"],
            request_bytes: 1,
            response_bytes: 1,
            work_ns: 0,
            op_cost_ns: self.op_cost.unwrap_or_else(linux::pipe_operation_ns),
            settle_ns: settle.ns(),
            times: None,
        };
        let counters: Vec<u32> = (0..self.tasks).map(|_| load.shared.counter()).collect();
        for (pair, &counter) in (0..).zip(&counters) {
            talk.add(load, pair, Measured { counter, latency: None });
        }
        let reading = Reading::Rates(counters.clone());
        load.measure(
            "round_trips_per_second",
            "1/s",
            Better::Higher,
            reading,
            settle.share(duration_ns),
        );
        Ok(Built::time(settle.whole_ns(duration_ns), move |result| {
            let seconds = settle.counted_s(&result.records);
            let count = |&counter: &u32| result.records.counters[counter as usize];
            let counts: Vec<u64> = counters.iter().map(count).collect();
            text(&counts, seconds)
        }))
    }
}

fn text(counts: &[u64], seconds: f64) -> String {
    let by_second = |count: u64| (count as f64 / seconds) as u64;
    let min = by_second(counts.iter().copied().min().unwrap_or(0));
    let max = by_second(counts.iter().copied().max().unwrap_or(0));
    let total = by_second(counts.iter().sum());
    format!(
        "testcase:Context switch via pipes\n\
         measurement\n\
         min:{min} max:{max} total:{total}\n\
         average:{total}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_that_of_will_it_scale() {
        assert_eq!(
            text(&[20, 24], 2.0),
            "testcase:Context switch via pipes\nmeasurement\nmin:10 max:12 total:22\naverage:22\n"
        );
    }
}
