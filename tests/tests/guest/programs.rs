//! What tasks can do to each other and to themselves, to the nanosecond.

use abi::{
    CpuSet, Op,
    program::{Late, Since},
    record::Ending,
};
use runner::{Experiment, RunResult, Workload, expect::Verdict};
use tests::{MS, SECOND, moments, run, run_passing, task};

fn experiment(cpus: u32, load: impl FnOnce(&mut Workload)) -> Experiment {
    Experiment::new().smp(cpus).load(load).duration_ns(SECOND)
}

/// Runs tasks that all come to an end, on so many CPUs.
fn run_done(cpus: u32, load: impl FnOnce(&mut Workload)) -> RunResult {
    let result = run_passing(&experiment(cpus, load));
    assert_eq!(result.records.total.ending, Ending::Done);
    result
}

fn elapsed_ns(result: &RunResult) -> u64 {
    result.records.total.elapsed_ns
}

fn repeat(times: u64, to: u32) -> Op {
    Op::Repeat { counter: 0, times, to }
}

/// Smallest and largest value of a histogram.
fn extremes(result: &RunResult, histogram: u32) -> (u64, u64) {
    let moments = moments(&result.records.histograms[histogram as usize]);
    (moments.min, moments.max)
}

#[test]
fn a_mutex_lets_one_in_at_a_time() {
    let result = run_done(2, |load| {
        let mutex = load.shared.mutex("m".into());
        for name in ["a", "b"] {
            let program = [Op::Lock(mutex), Op::Run(MS), Op::Unlock(mutex), repeat(10, 0)];
            load.add(name.into(), program.to_vec());
        }
    });
    assert_eq!(elapsed_ns(&result), 20 * MS, "two CPUs, but never both at work");
    for name in ["a", "b"] {
        assert_eq!(task(&result, name).counters.runtime_ns, 10 * MS);
    }
}

#[test]
fn a_condition_hands_over_with_its_mutex() {
    let result = run_done(2, |load| {
        let (mutex, condition) = (load.shared.mutex("m".into()), load.shared.condition("c".into()));
        let (mark, latency) = (load.shared.mark(), load.shared.histogram());
        let wait = Op::CondWait { condition, mutex: Some(mutex) };
        let measure = Op::Measure { since: Since::Mark(mark), histogram: latency };
        let consumer =
            [Op::Lock(mutex), wait, measure, Op::Run(MS), Op::Unlock(mutex), repeat(5, 0)];
        load.add("consumer".into(), consumer.to_vec());
        // Signals with the mutex held: the waiter gets it 2 ms later.
        let producer = [
            Op::Sleep(10 * MS),
            Op::Lock(mutex),
            Op::Mark(mark),
            Op::Signal(condition),
            Op::Run(2 * MS),
            Op::Unlock(mutex),
            repeat(5, 0),
        ];
        load.add("producer".into(), producer.to_vec());
    });
    assert_eq!(extremes(&result, 0), (2 * MS, 2 * MS));
    assert_eq!(elapsed_ns(&result), 5 * 12 * MS + MS);
}

/// A signal that nobody waits for is lost; the one who comes later waits for ever.
#[test]
fn a_signal_leaves_nothing_behind() {
    let result = run(&experiment(2, |load| {
        let condition = load.shared.condition("c".into());
        load.add("early".into(), vec![Op::Signal(condition), Op::Run(MS)]);
        let wait = Op::CondWait { condition, mutex: None };
        load.add("late".into(), vec![Op::Sleep(5 * MS), wait]);
    }));
    assert_eq!(result.records.total.ending, Ending::Deadlock);
    assert_eq!(elapsed_ns(&result), 5 * MS);
}

#[test]
fn a_broadcast_wakes_all_and_a_barrier_waits_for_the_last() {
    let (mut woken, mut through) = (0, 0);
    let result = run_done(4, |load| {
        let condition = load.shared.condition("c".into());
        let barrier = load.shared.barrier("b".into(), 3);
        woken = load.shared.histogram();
        through = load.shared.histogram();
        let at = |histogram| Op::Measure { since: Since::Start, histogram };
        for number in 1..=3 {
            let program = [
                Op::CondWait { condition, mutex: None },
                at(woken),
                Op::Run(number * MS),
                Op::Barrier(barrier),
                at(through),
            ];
            load.add(format!("waiter{number}"), program.to_vec());
        }
        load.add("caller".into(), vec![Op::Sleep(7 * MS), Op::Broadcast(condition)]);
    });
    assert_eq!(extremes(&result, woken), (7 * MS, 7 * MS));
    assert_eq!(extremes(&result, through), (10 * MS, 10 * MS));
    assert_eq!(moments(&result.records.histograms[through as usize]).count, 3);
}

/// A pipe of 4 KiB takes one message of 4000 bytes: the writer is never more than one ahead.
#[test]
fn a_full_pipe_stops_the_writer_and_an_empty_one_the_reader() {
    let messages = 10;
    let result = run_done(2, |load| {
        let pipe = load.shared.pipe("p".into(), 4096);
        let write = Op::PipeWrite { pipe, bytes: 4000 };
        load.add("writer".into(), vec![write, repeat(messages, 0)]);
        let read = Op::PipeRead { pipe, bytes: 4000 };
        load.add("reader".into(), vec![read, Op::Run(MS), repeat(messages, 0)]);
    });
    assert_eq!(elapsed_ns(&result), messages * MS);
    let writer = &task(&result, "writer").counters;
    // The first message finds room, the second too once the reader has taken the first; every
    // other one waits for the reader to come back.
    assert_eq!(writer.block, messages - 1);
}

#[test]
fn a_message_larger_than_the_pipe_goes_through_in_parts() {
    let result = run_done(1, |load| {
        let pipe = load.shared.pipe("p".into(), 65_536);
        load.add("writer".into(), vec![Op::PipeWrite { pipe, bytes: 1_000_000 }]);
        load.add("reader".into(), vec![Op::PipeRead { pipe, bytes: 1_000_000 }]);
    });
    assert!(task(&result, "reader").counters.block > 10);
}

/// 15 ms of work in periods of 10 ms, then none: what was missed is forgotten, made up for or left
/// out.
#[test]
fn late_timers_restart_catch_up_or_skip() {
    for (late, end_ns) in
        [(Late::Restart, 75 * MS), (Late::CatchUp, 60 * MS), (Late::Skip, 90 * MS)]
    {
        let result = run_done(1, |load| {
            let timer = load.shared.timer();
            let tick = Op::Timer { timer, period_ns: 10 * MS, late };
            let program = [
                Op::Run(15 * MS),
                tick,
                repeat(3, 0),
                // At 45 ms, with timers that stand at 45 ms or at 30 ms; the one that skips has slept
                // from 15 to 20, 35 to 40 and 55 to 60 ms, and stands there.
                tick,
                repeat(3, 3),
            ];
            load.add("periodic".into(), program.to_vec());
        });
        assert_eq!(elapsed_ns(&result), end_ns, "{late:?}");
    }
}

#[test]
fn a_timer_counts_from_the_epoch_of_its_task() {
    let result = run_done(1, |load| {
        let timer = load.shared.timer();
        let tick = Op::Timer { timer, period_ns: 10 * MS, late: Late::Restart };
        load.add(
            "delayed".into(),
            vec![Op::SleepUntil(3 * MS), Op::Epoch(3 * MS), Op::Run(MS), tick],
        );
    });
    assert_eq!(elapsed_ns(&result), 13 * MS);
}

/// Beside a hog, 10 ms by the clock are 5 ms of CPU time, and 10 ms of CPU time are 20 ms.
#[test]
fn time_can_be_the_tasks_own_or_the_clocks() {
    let share = |op: Op| {
        let result = run_passing(&experiment(1, |load| {
            load.hogs(1);
            load.add("timed".into(), vec![op]);
        }));
        task(&result, "timed").counters.runtime_ns
    };
    assert_eq!(share(Op::Run(10 * MS)), 10 * MS);
    assert_eq!(share(Op::RunWall(10 * MS)), 5 * MS);
    assert_eq!(share(Op::RunUntil(10 * MS)), 5 * MS);
}

#[test]
fn the_spawned_run_and_their_places_are_used_again() {
    let mut alive_ns = 0;
    let result = run_done(2, |load| {
        let (pool, done) = (load.shared.pool(), load.shared.semaphore("done".into()));
        alive_ns = load.shared.histogram();
        let parent = [Op::Spawn(pool), Op::Spawn(pool), Op::SemWait(done), Op::SemWait(done)];
        load.add("parent".into(), [&parent[..], &[repeat(50, 0)]].concat());
        for number in 0..2 {
            let since = Since::Epoch;
            let child =
                [Op::Run(MS), Op::Measure { since, histogram: alive_ns }, Op::SemPost(done)];
            load.add(format!("child{number}"), child.to_vec()).pool = Some(pool);
        }
    });
    let children = ["child0", "child1"].map(|name| &task(&result, name).counters);
    assert_eq!(children.map(|child| child.exit).iter().sum::<u64>(), 100);
    assert_eq!(children.map(|child| child.runtime_ns).iter().sum::<u64>(), 100 * MS);
    assert_eq!(children.map(|child| child.charged_ns).iter().sum::<u64>(), 100 * MS);
    assert_eq!(elapsed_ns(&result), 50 * MS, "two at a time, on two CPUs");
    assert_eq!(extremes(&result, alive_ns), (MS, MS));
}

#[test]
fn a_spawn_from_an_empty_pool_is_told() {
    let result = run(&experiment(1, |load| {
        let pool = load.shared.pool();
        load.add("parent".into(), vec![Op::Spawn(pool), Op::Spawn(pool)]);
        load.add("child".into(), vec![Op::Run(MS)]).pool = Some(pool);
    }));
    assert_eq!(result.records.total.failed_spawns, 1);
    assert_eq!(result.judge().verdict, Verdict::Fail);
}

/// Equal for a second, then 1024 to 335.
#[test]
fn a_nice_value_changes_on_the_way() {
    let result = run_passing(
        &experiment(1, |load| {
            load.hogs(1);
            let program = [Op::RunUntil(SECOND), Op::SetNice(5), Op::RunForever];
            load.add("yielding".into(), program.to_vec());
        })
        .duration_ns(2 * SECOND),
    );
    let expected_ns = SECOND / 2 + SECOND * 335 / (1024 + 335);
    let got_ns = task(&result, "yielding").counters.runtime_ns;
    assert!(got_ns.abs_diff(expected_ns) <= 4 * MS, "{got_ns} ns, not {expected_ns}");
}

#[test]
fn a_task_moves_to_the_cpus_it_chooses() {
    let result = run_done(2, |load| {
        let sets = [0, 1].map(|cpu| load.shared.cpu_set(CpuSet::only(cpu)));
        let hop = [Op::SetAffinity(sets[1]), Op::Run(3 * MS), Op::SetAffinity(sets[0])];
        let program = [&hop[..], &[Op::Run(MS), repeat(10, 0)]].concat();
        load.add("hopper".into(), program).pin = Some(CpuSet::only(0));
    });
    let hopper = &task(&result, "hopper").counters;
    assert_eq!((hopper.migrate, hopper.migrations), (20, 20));
    assert_eq!(elapsed_ns(&result), 40 * MS);
    let busy = [0, 1].map(|cpu: usize| result.records.cpus[cpu].counters.busy_ns);
    assert_eq!(busy, [10 * MS, 30 * MS]);
}

#[test]
fn the_mutex_of_a_cpu_goes_with_the_cpu() {
    let result = run_done(2, |load| {
        let first = load.shared.mutex("cpu0".into());
        load.shared.mutex("cpu1".into());
        let program = [Op::LockThisCpu(first), Op::Sleep(MS), Op::UnlockThisCpu, repeat(4, 0)];
        for number in 0..4 {
            let pin = Some(CpuSet::only(number % 2));
            load.add(format!("locker{number}"), program.to_vec()).pin = pin;
        }
    });
    // Two on each CPU, one after the other; were the mutex one for all, it would take twice that.
    assert_eq!(elapsed_ns(&result), 8 * MS);
}

#[test]
fn counters_are_sampled() {
    let mut per_sample = 0;
    let result = run_done(1, |load| {
        let counter = load.shared.counter();
        per_sample = load.shared.histogram();
        let count = [Op::Sleep(MS), Op::Count { counter, by: 3 }, repeat(100, 0)];
        load.add("counting".into(), count.to_vec());
        let sample = Op::Sample { counter, histogram: per_sample };
        load.add("sampler".into(), vec![Op::Sleep(10 * MS + MS / 2), sample, repeat(9, 0)]);
    });
    assert_eq!(result.records.counters, [300]);
    assert_eq!(moments(&result.records.histograms[per_sample as usize]).count, 9);
    assert_eq!(extremes(&result, per_sample), (30, 33));
}

/// Two tasks that each hold what the other one wants. A third one has ended, none sleeps.
#[test]
fn a_deadlock_ends_the_run_and_names_who_waits_for_what() {
    let result = run(&experiment(2, |load| {
        let fork = load.shared.mutex("fork".into());
        let knife = load.shared.mutex("knife".into());
        for (name, first, second) in [("plato", fork, knife), ("kant", knife, fork)] {
            load.add(name.into(), vec![Op::Lock(first), Op::Run(2 * MS), Op::Lock(second)]);
        }
        load.add("guest".into(), vec![Op::Run(MS)]);
    }));
    assert_eq!(result.records.total.ending, Ending::Deadlock);
    let judgement = result.judge();
    assert_eq!(judgement.verdict, Verdict::Fail);
    let failed: Vec<_> = judgement.expectations.iter().filter(|e| !e.ok).collect();
    let [deadlock] = failed[..] else { panic!("{failed:#?}") };
    assert_eq!(deadlock.what, "deadlock");
    for part in [
        "plato waits for mutex knife, held by kant",
        "kant waits for mutex fork, held by plato",
        "deadlock at ",
    ] {
        assert!(deadlock.got.contains(part), "{}", deadlock.got);
    }
    assert!(!deadlock.got.contains("guest"), "{}", deadlock.got);
}

/// Whoever sleeps may yet wake the others: no deadlock as long as one does.
#[test]
fn a_sleeper_is_not_stuck() {
    let result = run_done(1, |load| {
        let semaphore = load.shared.semaphore("s".into());
        load.add("waiter".into(), vec![Op::SemWait(semaphore)]);
        load.add("sleeper".into(), vec![Op::Sleep(900 * MS), Op::SemPost(semaphore)]);
    });
    assert_eq!(elapsed_ns(&result), 900 * MS);
}

#[test]
fn the_end_under_the_real_clock_is_the_end_too() {
    let experiment = experiment(2, |load| {
        load.add("a".into(), vec![Op::Run(MS)]);
        load.add("b".into(), vec![Op::Run(2 * MS)]);
    });
    let result = run(&experiment.clock(abi::Clock::Real));
    assert_eq!(result.records.total.ending, Ending::Done);
    assert!(elapsed_ns(&result) < SECOND);
}

/// The longest time with interrupts off does not depend on how many tasks there are, though all
/// of them wait out their debt in one queue, sleep in one heap and wake at one time.
///
/// On one CPU: with more, QEMU's instruction counter goes on while others execute.
#[test]
fn interrupts_are_never_off_for_longer_the_more_tasks_there_are() {
    let longest_ns = |tasks: usize| {
        let mut experiment = Experiment::new().duration_ns(100 * MS).load(|load| {
            let barrier = load.shared.barrier("all".into(), tasks as u32);
            let program = [Op::Run(10_000), Op::Barrier(barrier), Op::SleepUntil(60 * MS)];
            for number in 0..tasks {
                load.add(format!("task{number}"), [&program[..], &[Op::Run(10_000)]].concat());
            }
        });
        experiment.config.kernel_cost = true;
        let result = run_passing(&experiment);
        assert_eq!(result.records.total.ending, Ending::Done);
        result.records.cpus.iter().map(|cpu| cpu.counters.irqsoff_ns).max().unwrap_or(0)
    };
    let (few, many) = (longest_ns(100), longest_ns(2000));
    assert!(few > 0 && many <= 2 * few, "{few} ns with 100 tasks, {many} ns with 2000");
}

#[test]
fn ten_thousand_tasks_run_at_once() {
    let tasks = 10_000;
    let result = run_passing(
        &Experiment::new()
            .smp(8)
            .load(|load| load.bursts(tasks, 10_000, 100 * MS).expect("both are stretches"))
            .duration_ns(50 * MS),
    );
    let first_turns: u64 = result.records.tasks.iter().map(|task| task.counters.block).sum();
    assert_eq!(first_turns, tasks as u64, "each has had its first turn and sleeps");
}

/// Two who hold what the other one wants are stuck, however long a third one goes on.
#[test]
fn a_circle_of_mutexes_is_a_deadlock_though_others_go_on() {
    let result = run(&experiment(3, |load| {
        let mutexes = ["m0", "m1"].map(|name| load.shared.mutex(name.into()));
        for (name, first, second) in [("a", 0, 1), ("b", 1, 0)] {
            let program = vec![Op::Lock(mutexes[first]), Op::Run(MS), Op::Lock(mutexes[second])];
            load.add(name.into(), program);
        }
        // Waits for one of them, but nobody waits for it.
        load.add("c".into(), vec![Op::Sleep(MS / 2), Op::Lock(mutexes[0])]);
        load.hogs(1);
    }));
    assert_eq!(result.records.total.ending, Ending::Time);
    let judgement = result.judge();
    let deadlock = judgement.expectations.iter().find(|e| e.what == "deadlock").expect("judged");
    assert!(!deadlock.ok);
    for part in ["a waits for mutex m1, held by b", "b waits for mutex m0, held by a"] {
        assert!(deadlock.got.contains(part), "{}", deadlock.got);
    }
    assert!(!deadlock.got.contains("c waits"), "{}", deadlock.got);
}
