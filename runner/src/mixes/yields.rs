//! `stress-ng --yield`: tasks that give up the CPU and nothing else.
//!
//! On one CPU nothing costs time, so the run counts what the kernel itself takes: the
//! instructions of a switch, to be set beside Linux's.

use super::{
    Built, Machine, Mix, check_tasks,
    finish::Finish,
    linux,
    options::{time, within},
    pipe::{counted, default_cost_ns},
    sequence::Sequence,
    stress::{self, Stressor},
};
use crate::{
    error::Refusal,
    workload::{Better, Workload},
};
use abi::Op;
use clap::Args;

/// stress-ng --yield: tasks that yield again and again
#[derive(Args, Debug)]
pub(super) struct Yields {
    /// Tasks
    #[arg(short = 'y', long = "yield", value_name = "N", default_value = "2", value_parser = within(1..=20_000u64))]
    tasks: u64,
    /// Yields of each task
    #[arg(short = 'l', long, value_name = "N", default_value = "100000", value_parser = within(1..=1_000_000_000u64))]
    loops: u64,
    /// What each yield costs [default: nothing on one CPU, where the kernel's own instructions
    /// are counted; else 639ns, Linux 6.12's at an instruction a nanosecond]
    #[arg(long, value_name = "TIME", value_parser = time)]
    op_cost: Option<u64>,
}

impl Mix for Yields {
    const NAME: &'static str = "yield";
    const ABOUT: &'static str = "tasks that yield again and again (stress-ng --yield)";

    fn build(self, machine: &Machine, load: &mut Workload) -> Result<Built, Refusal> {
        let Self { tasks, loops, op_cost } = self;
        check_tasks("-y", tasks, tasks)?;
        let op_cost_ns = op_cost.unwrap_or_else(|| default_cost_ns(machine, linux::yield_ns));
        let finish = Finish::of(load, tasks);
        for task in 0..tasks {
            let mut program = Sequence::new(op_cost_ns);
            program.times(loops, |body| {
                body.call(Op::Yield);
            });
            let program = program.then(finish.note()).program();
            load.add(format!("yield{task}"), program);
        }
        let yields = tasks * loops;
        load.measure("ns_per_yield", "ns", Better::Lower, finish.reading(), yields as f64);
        let instruction_ns = counted(machine, op_cost_ns);
        if let Some(ns) = instruction_ns {
            let per_unit = yields as f64 * ns as f64;
            let (name, unit) = ("instructions_per_yield", "instructions");
            load.measure(name, unit, Better::Lower, finish.reading(), per_unit);
        }
        Ok(Built::work(move |result| {
            let records = &result.records;
            let time_ns = finish.time_ns(records);
            let seconds = time_ns as f64 / 1e9;
            let runtime_ns: u64 =
                records.tasks[..tasks as usize].iter().map(|task| task.counters.runtime_ns).sum();
            let stressor = Stressor {
                name: "yield",
                bogo_ops: yields,
                real_s: seconds,
                usr_s: runtime_ns as f64 / 1e9,
            };
            // Beside other tasks the time is theirs too, and nothing to be compared.
            let is_alone = records.tasks.len() == tasks as usize;
            let instruction_ns = instruction_ns.filter(|_| is_alone);
            stress::text(
                stressor,
                &remarks(yields, records.total.switches, time_ns, instruction_ns),
            )
        }))
    }
}

/// Figures that stress-ng does not have.
fn remarks(yields: u64, switches: u64, time_ns: u64, instruction_ns: Option<u64>) -> Vec<String> {
    let mut remarks = vec![
        format!("{:.2} nanosecs per sched_yield call", time_ns as f64 / yields as f64),
        format!("{:.2} switches per second", switches as f64 / (time_ns as f64 / 1e9)),
    ];
    if let Some(ns) = instruction_ns {
        let per_switch = time_ns as f64 / ns as f64 / switches.max(1) as f64;
        remarks.push(format!("{per_switch:.1} instructions per switch"));
        remarks.push(linux::beside("yield_switch"));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_set_beside_those_of_linux() {
        let remarks = remarks(200, 100, 100_000, Some(1));
        assert_eq!(remarks[0], "500.00 nanosecs per sched_yield call");
        assert_eq!(remarks[1], "1000000.00 switches per second");
        assert_eq!(remarks[2], "1000.0 instructions per switch");
        assert!(remarks[3].starts_with("Linux in the same QEMU: 1797"), "{}", remarks[3]);
        assert_eq!(super::remarks(200, 100, 100_000, None).len(), 2);
    }
}
