//! Which CPU a task runs on: only allowed ones, an idle one if there is one.

use abi::{CpuSet, Op};
use runner::Experiment;
use tests::{MS, SECOND, US, assert_all, run_passing, task};

fn only(cpu: usize) -> Option<CpuSet> {
    Some(CpuSet::only(cpu))
}

#[test]
fn pinned_tasks_stay_and_leave_other_cpus_alone() {
    let pins = [0, 0, 0, 2, 2, 2, 2];
    let experiment = Experiment::new()
        .smp(4)
        .hogs(4)
        .load(|load| {
            load.bursts(1, 500 * US, 1500 * US).expect("both are stretches");
            load.pairs(1, 100 * US).expect("it is a stretch");
            load.pins(&pins.map(only));
        })
        .duration_ns(SECOND);
    let result = run_passing(&experiment);
    assert_eq!(result.records.total.migrations, 0);
    for (cpu, records) in result.records.cpus.iter().enumerate() {
        let tasks = pins.iter().zip(&result.records.tasks).filter(|&(&pin, _)| pin == cpu);
        let runtime: u64 = tasks.map(|(_, task)| task.counters.runtime_ns).sum();
        assert_eq!(records.counters.busy_ns, runtime, "cpu{cpu}");
    }
    assert_eq!(result.records.cpus[1].counters.busy_ns, 0);
    assert_eq!(result.records.cpus[3].counters.busy_ns, 0);
}

/// The sleeper's first CPU is taken by a task that may run nowhere else; the other one idles.
#[test]
fn a_woken_task_gets_an_idle_cpu() {
    let experiment = Experiment::new()
        .smp(2)
        .load(|load| {
            load.add("sleeper".into(), vec![Op::Sleep(MS / 2), Op::Run(MS), Op::Jump(0)]);
            load.hogs(1);
            load.pins(&[None, only(0)]);
        })
        .duration_ns(SECOND);
    let result = run_passing(&experiment);
    let sleeper = task(&result, "sleeper");
    assert_all(&sleeper.wakeup_latency, 0, "latencies");
    assert!(sleeper.counters.wakeups > 600, "{}", sleeper.counters.wakeups);
    assert!(sleeper.counters.migrations <= 1, "{}", sleeper.counters.migrations);
    assert_eq!(task(&result, "hog0").counters.preempt, 0, "the hog was disturbed");
}

#[test]
fn fewer_hogs_than_cpus_share_none() {
    let result = run_passing(&Experiment::new().smp(8).hogs(5).duration_ns(SECOND));
    for task in &result.records.tasks {
        assert_eq!(task.counters.runtime_ns, SECOND, "task {}", task.counters.task);
    }
    let mut busy: Vec<_> = result.records.cpus.iter().map(|cpu| cpu.counters.busy_ns).collect();
    busy.sort_unstable();
    assert_eq!(busy, [0, 0, 0, SECOND, SECOND, SECOND, SECOND, SECOND]);
}

/// Two hogs share CPU 0 in turns of 2 ms until the task on CPU 1 is gone; from that moment each
/// has its own. The one that waits then ran a millisecond ago: its cache is cold.
fn assert_pulls(first: Vec<Op>, busy_ns: u64) {
    let experiment = Experiment::new()
        .smp(2)
        .load(|load| {
            load.add("first".into(), first);
            load.hogs(2);
            load.pins(&[only(1), None]);
        })
        .duration_ns(SECOND);
    let result = run_passing(&experiment);
    assert_eq!(task(&result, "first").counters.runtime_ns, busy_ns);
    let hogs: u64 =
        ["hog0", "hog1"].map(|name| task(&result, name).counters.runtime_ns).iter().sum();
    assert_eq!(hogs, 2 * SECOND - busy_ns);
    assert_eq!(result.records.total.migrations, 1);
    for cpu in &result.records.cpus {
        assert_eq!(cpu.counters.idle_ns, 0, "cpu{} idled", cpu.counters.cpu);
    }
}

#[test]
fn a_cpu_whose_task_ends_pulls_a_waiting_one_at_once() {
    assert_pulls(vec![Op::Run(11 * MS), Op::Exit], 11 * MS);
}

#[test]
fn a_cpu_whose_task_sleeps_pulls_a_waiting_one_at_once() {
    assert_pulls(vec![Op::Run(11 * MS), Op::Sleep(2 * SECOND)], 11 * MS);
}
