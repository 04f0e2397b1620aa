//! Halting and spinning tasks are scheduled alike.

use abi::Burn;
use runner::{Experiment, RunResult};
use tests::{MS, US, run_passing, shares};

/// Hogs of different weight and a sleeper that preempts them.
fn mixed(burn: Burn) -> RunResult {
    let experiment = Experiment::new()
        .hogs(3)
        .load(|load| {
            load.bursts(1, 300 * US, 4700 * US).expect("both are stretches");
            load.nice(&[0, 5, -3, 0]);
        })
        .duration_ns(4000 * MS)
        .burn(burn);
    run_passing(&experiment)
}

#[test]
fn halting_and_spinning_give_the_same_stints() {
    let (halted, spun) = (mixed(Burn::Halt), mixed(Burn::Spin));
    for (number, (halted, spun)) in halted.records.tasks.iter().zip(&spun.records.tasks).enumerate()
    {
        let of = &format!("task {number}");
        let ends = |task: &runner::records::TaskRecords| {
            let task = &task.counters;
            [task.slice, task.preempt, task.block, task.yields, task.exit]
        };
        assert_eq!(ends(halted), ends(spun), "ends of stints of {of}");
        assert_eq!(halted.counters.wakeups, spun.counters.wakeups, "wake-ups of {of}");
        assert_eq!(halted.counters.extra_ticks, spun.counters.extra_ticks, "extra ticks of {of}");
        let (halted_ticks, spun_ticks) = (&halted.stint_ticks, &spun.stint_ticks);
        assert_eq!(halted_ticks.histogram(), spun_ticks.histogram(), "ticks per stint of {of}");
    }
    for (halted, spun) in shares(&halted).into_iter().zip(shares(&spun)) {
        assert!((halted - spun).abs() <= 0.01, "shares {halted} % and {spun} %");
    }
    assert!(halted.records.tasks[0].counters.preempt > 0, "the load has no preemption");
}
