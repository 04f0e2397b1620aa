//! SCHED_FIFO goes before fair tasks, and the deadline server sees to it that it leaves them some.

use abi::{
    Op,
    scenario::{DlServer, Policy},
};
use eevdf::Preset;
use runner::{Experiment, RunResult};
use tests::{MS, SECOND, US, assert_all, run_passing, runtimes, task};

const fn fifo(priority: u8) -> Policy {
    Policy::Fifo { priority }
}

/// A real-time hog and a fair one on one CPU, for ten seconds.
fn hogs_beside(server: Option<DlServer>, preset: Preset) -> RunResult {
    let mut experiment = Experiment::new().preset(preset).hogs(2);
    experiment = experiment.load(|load| load.policies(&[fifo(10), Policy::Normal]));
    experiment.config.dl_server = server;
    run_passing(&experiment)
}

/// The budget of 50 ms just fits from 950 ms on; the next one follows at 1 s, and then one comes at
/// each full second: 50 + 9 * 50 ms. The first two are one stint, since nobody comes in between.
#[test]
fn a_server_gives_fair_tasks_50_ms_of_each_second() {
    for server in [DlServer::Eager, DlServer::Lazy] {
        let result = hogs_beside(Some(server), Preset::newest_complete());
        assert_eq!(runtimes(&result), [9500 * MS, 500 * MS], "{server:?}");
        let fair = &task(&result, "hog1").counters;
        assert_eq!((fair.charged_ns, fair.preempt), (500 * MS, 9), "{server:?}");
        assert_eq!(task(&result, "hog0").counters.charged_ns, 9500 * MS, "{server:?}");
        assert_eq!(task(&result, "hog0").counters.extra_ticks, 0, "it has no slice");
    }
}

/// What a task waits for a CPU counts from when it wants one: the fair one waits for 30 ms, runs
/// for 10, waits for 10 more, and the real-time one never waits.
#[test]
fn run_delay_is_what_a_task_waits_for_a_cpu() {
    let result = run_passing(&Experiment::new().duration_ns(SECOND).load(|load| {
        let rt = vec![Op::Run(30 * MS), Op::Sleep(10 * MS), Op::Run(10 * MS)];
        load.add("rt".into(), rt).policy = fifo(1);
        load.add("fair".into(), vec![Op::Run(20 * MS)]);
    }));
    let delay_ns = |name| task(&result, name).counters.run_delay_ns;
    assert_eq!((delay_ns("rt"), delay_ns("fair")), (0, 40 * MS));
}

#[test]
fn without_a_server_fair_tasks_starve() {
    assert_eq!(
        runtimes(&hogs_beside(Some(DlServer::Off), Preset::newest_complete())),
        [10 * SECOND, 0]
    );
    assert_eq!(runtimes(&hogs_beside(None, Preset::V6_8)), [10 * SECOND, 0], "6.8 has none");
    assert_eq!(runtimes(&hogs_beside(None, Preset::V6_12)), [9500 * MS, 500 * MS]);
}

/// Ticks come every 4 ms, so the turn from 950 ms on ends at 1052 ms, 2 ms overdrawn; those from
/// 2000, 3000, ... on have 48 ms the first time and end in time with the 12th tick, then 50 ms less
/// or more than a whole number of ticks: 52, 48, 52, 48 and so on. 102 + 48 + 52 + ... + 48 + 52.
#[test]
fn what_a_late_tick_gave_is_taken_back() {
    let mut experiment = Experiment::new().hz(250).hogs(2);
    experiment = experiment.load(|load| load.policies(&[fifo(10), Policy::Normal]));
    let result = run_passing(&experiment);
    assert_eq!(runtimes(&result)[1], 102 * MS + 4 * (48 + 52) * MS);
}

#[test]
fn a_server_that_fair_tasks_do_not_need_changes_nothing() {
    let with = |server| {
        let mut experiment = Experiment::new().duration_ns(3 * SECOND).load(|load| {
            load.hogs(2);
            load.add("rt".into(), vec![Op::Sleep(10 * MS), Op::Run(MS), Op::Jump(0)]).policy =
                fifo(1);
        });
        experiment.config.dl_server = Some(server);
        run_passing(&experiment)
    };
    let without = with(DlServer::Off);
    for server in [DlServer::Eager, DlServer::Lazy] {
        let result = with(server);
        assert_eq!(runtimes(&result), runtimes(&without), "{server:?}");
        assert_eq!(result.records.total.switches, without.records.total.switches, "{server:?}");
    }
}

/// It wakes 272 times at 10 ms, 21 ms, 32 ms, ... and always runs at once.
#[test]
fn a_real_time_task_preempts_at_once() {
    let experiment = Experiment::new().duration_ns(3 * SECOND).load(|load| {
        load.hogs(1);
        load.add("rt".into(), vec![Op::Sleep(10 * MS), Op::Run(MS), Op::Jump(0)]).policy = fifo(1);
    });
    let result = run_passing(&experiment);
    let rt = task(&result, "rt");
    assert_eq!((rt.counters.wakeups, rt.counters.runtime_ns), (272, 272 * MS));
    assert_all(&rt.wakeup_latency, 0, "latencies");
    assert_eq!(task(&result, "hog0").counters.preempt, 272);
}

/// Each of the lower ones runs when those above sleep; those of one priority do not disturb each
/// other, and the preempted one goes on before the one that came after it.
#[test]
fn priorities_order_and_equals_wait() {
    let experiment = Experiment::new().duration_ns(100 * MS).load(|load| {
        let mut add = |name: &str, priority, program| {
            load.add(name.into(), program).policy = fifo(priority);
        };
        add("high", 50, vec![Op::Sleep(10 * MS), Op::Run(5 * MS), Op::Exit]);
        add("first", 20, vec![Op::Run(30 * MS), Op::Exit]);
        add("second", 20, vec![Op::Run(30 * MS), Op::Exit]);
        add("low", 19, vec![Op::RunForever]);
    });
    let result = run_passing(&experiment);
    assert_eq!(runtimes(&result), [5 * MS, 30 * MS, 30 * MS, 35 * MS]);
    let ends = |name| {
        let counters = &task(&result, name).counters;
        (counters.preempt, counters.exit)
    };
    assert_eq!((ends("high"), ends("first"), ends("second")), ((0, 1), (1, 1), (0, 1)));
}

/// Of two that yield after each millisecond, each gets half; one that does not waits for none.
#[test]
fn who_yields_goes_to_the_end_of_its_line() {
    let experiment = Experiment::new().duration_ns(SECOND).load(|load| {
        load.yielders(2, MS).expect("it is a stretch");
        load.policies(&[fifo(7)]);
    });
    let result = run_passing(&experiment);
    assert_eq!(runtimes(&result), [500 * MS, 500 * MS]);
    assert_all(&task(&result, "yielder0").stint, MS, "stints");
}

/// 100 ms as a fair task beside a fair hog: half of it each. Then alone, until it is fair again.
#[test]
fn a_task_changes_class_while_it_runs() {
    let mut experiment = Experiment::new().duration_ns(300 * MS).load(|load| {
        let program = vec![
            Op::RunUntil(100 * MS),
            Op::SetPolicy(fifo(3)),
            Op::RunUntil(200 * MS),
            Op::SetPolicy(Policy::Normal),
            Op::RunForever,
        ];
        load.add("changes".into(), program);
        load.hogs(1);
    });
    experiment.config.check_invariants = true;
    let result = run_passing(&experiment);
    let [changes, hog] = runtimes(&result)[..] else { panic!("two tasks") };
    assert_eq!(changes + hog, 300 * MS);
    // Lag is bounded by a slice and a tick, on either side of the change.
    assert!((196 * MS..=204 * MS).contains(&changes), "{changes}");
    assert_eq!(task(&result, "changes").counters.charged_ns, changes);
}

/// A woken real-time task goes to an idle CPU like any other.
#[test]
fn real_time_tasks_take_idle_cpus() {
    let experiment = Experiment::new().smp(2).duration_ns(SECOND).load(|load| {
        load.hogs(1);
        load.add("rt".into(), vec![Op::Sleep(500 * US), Op::Run(500 * US), Op::Jump(0)]).policy =
            fifo(1);
    });
    let result = run_passing(&experiment);
    assert_eq!(runtimes(&result), [SECOND, 500 * MS]);
}
