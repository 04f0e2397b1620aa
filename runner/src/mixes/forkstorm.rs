//! `stress-ng --fork`: parents that start children which run and end.
//!
//! Children wait in a pool; one that has ended can be started again as a new task.

use super::{
    Built, Machine, Mix,
    finish::Finish,
    options::{time, within},
    sequence::Sequence,
    stress::{self, Stressor},
};
use crate::{
    error::Refusal,
    workload::{Better, MAX_TASKS, Reading, Workload},
};
use abi::Op;
use clap::Args;

/// Children in a pool for each that is to be alive at once: one that has said that it is done
/// may not have left yet when its parent goes on.
const SPARE: u64 = 4;
/// What a fork costs by default. Not measured: tens of microseconds on common machines, ns.
const FORK_NS: &str = "30us";

/// stress-ng --fork: parents start children which run and end
#[derive(Args, Debug)]
pub(super) struct Forkstorm {
    /// Parents
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = within(1..=20_000u64))]
    fork: u64,
    /// Children that each parent starts in all
    #[arg(short = 'l', long, value_name = "N", default_value = "1000", value_parser = within(1..=1_000_000_000u64))]
    loops: u64,
    /// Children that each parent starts before it waits for them
    #[arg(short = 'm', long, value_name = "N", default_value = "4", value_parser = within(1..=5_000u64))]
    fork_max: u64,
    /// CPU time of each child
    #[arg(long, value_name = "TIME", default_value = "50us", value_parser = time)]
    run: u64,
    /// What each fork costs the parent; an assumption, no measurement
    #[arg(long, value_name = "TIME", default_value = FORK_NS, value_parser = time)]
    op_cost: u64,
}

impl Mix for Forkstorm {
    const NAME: &'static str = "forkstorm";
    const ABOUT: &'static str = "parents start children which run and end (stress-ng --fork)";

    fn build(self, _machine: &Machine, load: &mut Workload) -> Result<Built, Refusal> {
        let Self { fork: parents, loops, run: run_ns, .. } = self;
        let batch = self.fork_max.min(loops);
        let each = 1 + SPARE * batch;
        if each > MAX_TASKS as u64 {
            let reason = format!(
                "a parent and the pool of its children make {each} tasks; at most {MAX_TASKS} \
                 are possible, so -m {} at most",
                (MAX_TASKS as u64 - 1) / SPARE
            );
            return Err(Refusal::new("-m", self.fork_max, reason));
        }
        if parents * each > MAX_TASKS as u64 {
            let reason = format!(
                "{parents} parents with a pool of {} children each make {} tasks; at most \
                 {MAX_TASKS} are possible, so -f {} at most, or a lower -m",
                each - 1,
                parents * each,
                MAX_TASKS as u64 / each,
            );
            return Err(Refusal::new("-f", parents, reason));
        }
        let finish = Finish::of(load, parents);
        let ended = load.shared.counter();
        load.measure("children", "children", Better::Higher, Reading::Counter(ended), 1.0);
        for parent in 0..parents {
            let pool = load.shared.pool();
            let done = load.shared.semaphore(format!("children of parent{parent}"));
            let mut program = Sequence::new(self.op_cost);
            let some = |program: &mut Sequence, count| {
                program.times(count, |body| {
                    body.call(Op::Spawn(pool));
                });
                program.times(count, |body| {
                    body.then(Op::SemWait(done));
                });
            };
            program.times(loops / batch, |body| some(body, batch));
            some(&mut program, loops % batch);
            let program = program.then(finish.note()).program();
            load.add(format!("parent{parent}"), program);

            let mut program = Sequence::new(0);
            program.run(run_ns).then(Op::Count { counter: ended, by: 1 });
            let program = program.then(Op::SemPost(done)).program();
            for child in 0..SPARE * batch {
                load.add(format!("child{parent}.{child}"), program.clone()).pool = Some(pool);
            }
        }
        let forks = parents * loops;
        load.measure("ns_per_fork", "ns", Better::Lower, finish.reading(), forks as f64);
        Ok(Built::work(move |result| {
            let records = &result.records;
            let runtime_ns: u64 = records.tasks.iter().map(|task| task.counters.runtime_ns).sum();
            let stressor = Stressor {
                name: "fork",
                bogo_ops: records.counters[ended as usize],
                real_s: finish.time_ns(records) as f64 / 1e9,
                usr_s: runtime_ns as f64 / 1e9,
            };
            stress::text(stressor, &[])
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_over_is_started_too() {
        let mut load = Workload::default();
        let mix = Forkstorm { fork: 1, loops: 7, fork_max: 3, run: 10, op_cost: 20 };
        mix.build(&Machine::small(), &mut load).expect("fine");
        let parent = &load.tasks()[0].program;
        let times = |op: &Op| match *op {
            Op::Repeat { times, .. } => Some(times),
            _ => None,
        };
        assert_eq!(parent.iter().filter_map(times).collect::<Vec<_>>(), [3, 3, 2, 1, 1]);
        assert_eq!(load.tasks().len(), 13);
        assert!(load.tasks()[1..].iter().all(|child| child.pool == Some(0)));
    }
}
