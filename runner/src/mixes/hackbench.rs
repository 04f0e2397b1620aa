//! hackbench of rt-tests: groups of senders and receivers that pass small messages.

use super::{
    Built, Machine, Mix,
    format::seconds_ms,
    groups::{self, Groups},
    options::{time, within},
};
use crate::{error::Refusal, workload::Workload};
use clap::Args;

/// hackbench: groups of senders and receivers pass messages through pipes
#[derive(Args, Debug)]
pub(super) struct Hackbench {
    /// Groups
    #[arg(short, long, value_name = "N", default_value = "10", value_parser = within(1..=10_000u64))]
    groups: u64,
    /// Senders of each group, and receivers
    #[arg(short, long, value_name = "N", default_value = "20", value_parser = within(1..=10_000u64))]
    fds: u64,
    /// Messages from each sender to each receiver
    #[arg(short, long, value_name = "N", default_value = "100", value_parser = within(1..=1_000_000_000u64))]
    loops: u64,
    /// Bytes of a message, at most what a pipe holds
    #[arg(short = 's', long, value_name = "BYTES", default_value = "100", value_parser = groups::message)]
    datasize: u32,
    /// Use pipes, as it always does here
    #[arg(short, long)]
    pipe: bool,
    /// Call the tasks threads; nothing else differs here
    #[arg(short = 'T', long, conflicts_with = "process")]
    threads: bool,
    /// Call the tasks processes
    #[arg(short = 'P', long)]
    process: bool,
    /// What each write and read costs [default: 775ns, Linux 6.12's half of both, at an
    /// instruction a nanosecond]
    #[arg(long, value_name = "TIME", value_parser = time)]
    op_cost: Option<u64>,
}

impl Mix for Hackbench {
    const NAME: &'static str = "hackbench";
    const ABOUT: &'static str =
        "groups of senders and receivers pass messages (rt-tests hackbench)";

    fn build(self, _machine: &Machine, load: &mut Workload) -> Result<Built, Refusal> {
        let groups = Groups {
            groups: self.groups,
            fds: self.fds,
            loops: self.loops,
            message_bytes: self.datasize,
            op_cost_ns: groups::op_cost_ns(self.op_cost),
        };
        let finish = groups.add(load)?;
        let mode = if self.threads { "threaded" } else { "process" };
        Ok(Built::work(move |result| text(mode, &groups, finish.time_ns(&result.records))))
    }
}

fn text(mode: &str, groups: &Groups, time_ns: u64) -> String {
    let Groups { groups: count, fds, loops, message_bytes, .. } = groups;
    format!(
        "Running in {mode} mode with {count} groups using {} file descriptors each (== {} tasks)\n\
         Each sender will pass {loops} messages of {message_bytes} bytes\n\
         Time: {}\n",
        2 * fds,
        groups.tasks(),
        seconds_ms(time_ns),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_that_of_hackbench() {
        let groups = Groups { groups: 2, fds: 20, loops: 500, message_bytes: 100, op_cost_ns: 0 };
        assert_eq!(
            text("threaded", &groups, 626_999_999),
            "Running in threaded mode with 2 groups using 40 file descriptors each (== 80 tasks)\n\
             Each sender will pass 500 messages of 100 bytes\n\
             Time: 0.626\n"
        );
    }
}
