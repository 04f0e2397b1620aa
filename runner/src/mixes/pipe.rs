//! `perf bench sched pipe`: two tasks that send a byte to and fro.
//!
//! On one CPU nothing else costs time, so the run counts what the kernel itself takes: the
//! instructions of a round trip, to be set beside Linux's.

use super::{
    Built, Machine, Mix,
    finish::Finish,
    linux,
    options::{time, within},
    pairs::{Measured, Talk},
};
use crate::{
    error::Refusal,
    workload::{Better, Workload},
};
use clap::Args;

/// What perf sends: an int.
const BYTES: u32 = 4;

/// perf bench sched pipe: two tasks send a few bytes to and fro
#[derive(Args, Debug)]
pub(super) struct Pipe {
    /// Round trips (perf's default is 1000000)
    #[arg(short = 'l', long = "loop", value_name = "N", default_value = "100000", value_parser = within(1..=1_000_000_000u64))]
    loops: u64,
    /// Call the tasks threads; nothing else differs here
    #[arg(short = 'T', long)]
    threaded: bool,
    /// What each write and read costs [default: nothing on one CPU, where the kernel's own
    /// instructions are counted; else 775ns, Linux 6.12's half of both]
    #[arg(long, value_name = "TIME", value_parser = time)]
    op_cost: Option<u64>,
}

impl Mix for Pipe {
    const NAME: &'static str = "pipe";
    const ABOUT: &'static str = "two tasks send a few bytes to and fro (perf bench sched pipe)";

    fn build(self, machine: &Machine, load: &mut Workload) -> Result<Built, Refusal> {
        let Self { loops, threaded, op_cost } = self;
        let op_cost_ns =
            op_cost.unwrap_or_else(|| default_cost_ns(machine, linux::pipe_operation_ns));
        let finish = Finish::of(load, 2);
        let talk = Talk {
            names: ["ping", "pong"],
            request_bytes: BYTES,
            response_bytes: BYTES,
            work_ns: 0,
            op_cost_ns,
            settle_ns: 0,
            times: Some((loops, finish)),
        };
        let counter = load.shared.counter();
        talk.add(load, 0, Measured { counter, latency: None });
        let per_op = 1e3 * loops as f64;
        load.measure("usecs_per_op", "us", Better::Lower, finish.reading(), per_op);
        let instruction_ns = counted(machine, op_cost_ns);
        if let Some(ns) = instruction_ns {
            let per_unit = loops as f64 * ns as f64;
            let (name, unit) = ("instructions_per_round_trip", "instructions");
            load.measure(name, unit, Better::Lower, finish.reading(), per_unit);
        }
        let tasks = if threaded { "threads" } else { "processes" };
        Ok(Built::work(move |result| {
            let time_ns = finish.time_ns(&result.records);
            let mut text = text(tasks, loops, time_ns);
            // Beside other tasks the time is theirs too, and nothing to be compared.
            let is_alone = result.plan.scenario.tasks.len() == 2;
            if let Some(ns) = instruction_ns.filter(|_| is_alone) {
                let own = time_ns as f64 / (loops as f64 * ns as f64);
                text += &format!(
                    "\n# {own:.1} instructions per round trip\n# {}\n",
                    linux::beside("pipe_round_trip")
                );
            }
            text
        }))
    }
}

/// What a system call costs unless `--op-cost` says otherwise: nothing where instructions can
/// be counted instead, which only repeats on one CPU; ns.
pub(super) fn default_cost_ns(machine: &Machine, modelled: fn() -> u64) -> u64 {
    match machine.cpus {
        1 => 0,
        _ => modelled(),
    }
}

/// How long an instruction takes, if the run's time is nothing but the kernel's instructions; ns.
pub(super) fn counted(machine: &Machine, op_cost_ns: u64) -> Option<u64> {
    machine.instruction_ns.filter(|_| machine.cpus == 1 && op_cost_ns == 0)
}

fn text(tasks: &str, loops: u64, time_ns: u64) -> String {
    let seconds = time_ns as f64 / 1e9;
    format!(
        "# Running 'sched/pipe' benchmark:\n\
         # Executed {loops} pipe operations between two {tasks}\n\n \
         {:>14}: {} [sec]\n\n \
         {:>14.6} usecs/op\n \
         {:>14} ops/sec\n",
        "Total time",
        super::format::seconds_ms(time_ns),
        seconds * 1e6 / loops as f64,
        (loops as f64 / seconds) as u64,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_that_of_perf() {
        assert_eq!(
            text("processes", 20_000, 325_873_000),
            "# Running 'sched/pipe' benchmark:\n\
             # Executed 20000 pipe operations between two processes\n\n     \
             Total time: 0.325 [sec]\n\n      \
             16.293650 usecs/op\n          \
             61373 ops/sec\n"
        );
    }

    #[test]
    fn instructions_are_counted_where_nothing_else_takes_time() {
        let one = Machine::small();
        assert_eq!((default_cost_ns(&one, || 7), counted(&one, 0)), (0, Some(1)));
        assert_eq!(counted(&one, 5), None);
        let two = Machine { cpus: 2, ..one };
        assert_eq!((default_cost_ns(&two, || 7), counted(&two, 0)), (7, None));
    }
}
