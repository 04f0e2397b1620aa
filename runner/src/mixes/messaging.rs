//! `perf bench sched messaging`: hackbench as perf has it.

use super::{
    Built, Machine, Mix,
    format::seconds_ms,
    groups::{self, Groups},
    options::{time, within},
};
use crate::{error::Refusal, workload::Workload};
use clap::Args;

/// Senders of each group, and receivers: fixed in perf.
const FDS: u64 = 20;
/// Bytes of a message: fixed in perf.
const MESSAGE_BYTES: u32 = 100;

/// perf bench sched messaging: groups of senders and receivers pass messages through pipes
#[derive(Args, Debug)]
pub(super) struct Messaging {
    /// Groups, each of 20 senders and 20 receivers
    #[arg(short, long, value_name = "N", default_value = "10", value_parser = within(1..=10_000u64))]
    group: u64,
    /// Messages from each sender to each receiver
    #[arg(short = 'l', long, value_name = "N", default_value = "100", value_parser = within(1..=1_000_000_000u64))]
    nr_loops: u64,
    /// Use pipes, as it always does here
    #[arg(short, long)]
    pipe: bool,
    /// Call the tasks threads; nothing else differs here
    #[arg(short, long)]
    thread: bool,
    /// What each write and read costs [default: 775ns, Linux 6.12's half of both, at an
    /// instruction a nanosecond]
    #[arg(long, value_name = "TIME", value_parser = time)]
    op_cost: Option<u64>,
}

impl Mix for Messaging {
    const NAME: &'static str = "messaging";
    const ABOUT: &'static str = "the same as perf bench sched messaging has it";

    fn build(self, _machine: &Machine, load: &mut Workload) -> Result<Built, Refusal> {
        let groups = Groups {
            groups: self.group,
            fds: FDS,
            loops: self.nr_loops,
            message_bytes: MESSAGE_BYTES,
            op_cost_ns: groups::op_cost_ns(self.op_cost),
        };
        let finish = groups.add(load)?;
        let tasks = if self.thread { "threads" } else { "processes" };
        Ok(Built::work(move |result| text(tasks, &groups, finish.time_ns(&result.records))))
    }
}

fn text(tasks: &str, groups: &Groups, time_ns: u64) -> String {
    format!(
        "# Running 'sched/messaging' benchmark:\n\
         # {FDS} sender and receiver {tasks} per group\n\
         # {} groups == {} {tasks} run\n\n \
         {:>14}: {} [sec]\n",
        groups.groups,
        groups.tasks(),
        "Total time",
        seconds_ms(time_ns),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_that_of_perf() {
        let groups = Groups { groups: 1, fds: 20, loops: 100, message_bytes: 100, op_cost_ns: 0 };
        assert_eq!(
            text("processes", &groups, 161_000_000),
            "# Running 'sched/messaging' benchmark:\n\
             # 20 sender and receiver processes per group\n\
             # 1 groups == 40 processes run\n\n     \
             Total time: 0.161 [sec]\n"
        );
    }
}
