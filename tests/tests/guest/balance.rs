//! Tasks move to where there is room, by the rules and at the times that Linux has.

use abi::{CpuSet, NohzMode, Op, scenario::Policy};
use placement::Feature;
use runner::{Experiment, RunResult, Workload};
use tests::{MS, SECOND, US, run_passing, runtimes, shares, task};

/// Adds a hog that starts on one CPU and may run on any once it ran.
fn add_loose(load: &mut Workload, name: &str, cpu: usize, everywhere: u32) {
    let program = vec![Op::SetAffinity(everywhere), Op::RunForever];
    load.add(name.into(), program).pin = Some(CpuSet::only(cpu));
}

/// Hogs that start on these CPUs and may move once they ran.
fn loose(cpus: u32, starts: &[usize]) -> Experiment {
    Experiment::new().smp(cpus).duration_ns(SECOND).load(|load| {
        let everywhere = load.shared.cpu_set(CpuSet::first(cpus as usize));
        for (number, &cpu) in starts.iter().enumerate() {
            add_loose(load, &format!("loose{number}"), cpu, everywhere);
        }
    })
}

fn without_balancing(mut experiment: Experiment) -> Experiment {
    experiment.config.balances = false;
    experiment
}

fn always_looks(cpus: u32) -> Experiment {
    Experiment::new().smp(cpus).smp_feature(Feature::NiRandom, false)
}

/// Time that any CPU idled in vain, and that each one did.
fn wasted(result: &RunResult) -> (u64, Vec<u64>) {
    let each = result.records.cpus.iter().map(|cpu| cpu.balance.wasted_ns).collect();
    (result.records.moves.wasted_ns, each)
}

/// Queues of 1, 0, 2 and 1. The two share CPU 2 in slices of 2.1 ms, 3 ticks. The second one may
/// not move before it ran, at 3 ms; then the first one waits and may. CPU 1 looks every 4 ms, once
/// for each CPU of its domain: so at 4 ms, where caches of 1 ms ago are cold.
#[test]
fn an_idle_cpu_takes_a_waiting_task_at_its_tick() {
    let mut experiment = loose(4, &[0, 2, 2, 3]);
    experiment.config.check_invariants = true;
    let result = run_passing(&experiment);
    assert_eq!(wasted(&result), (MS, vec![0, MS, 0, 0]));
    assert_eq!(result.records.moves.periodic, 1);
    assert_eq!(result.records.total.migrations, 1);
    assert_eq!(task(&result, "loose1").counters.migrations, 1);
    let busy: Vec<_> = result.records.cpus.iter().map(|cpu| cpu.counters.busy_ns).collect();
    assert_eq!(busy, [SECOND, SECOND - 4 * MS, SECOND, SECOND], "one each from 4 ms on");
}

#[test]
fn without_balancing_the_counter_shows_the_waste() {
    let result = run_passing(&without_balancing(loose(4, &[0, 2, 2, 3])));
    let waste = SECOND - 3 * MS;
    assert_eq!(wasted(&result), (waste, vec![0, waste, 0, 0]));
    assert_eq!(result.records.total.migrations, 0);
    assert_eq!(result.records.cpus[1].balance.attempts, 0);
}

/// Two caches of four CPUs, and four hogs that may run on CPU 3 of the one and 4 to 6 of the other,
/// all of them on CPU 3 at first. By sums each cache would have two, and CPU 3 both of its own. As they
/// cannot be spread there, the other cache takes one more: each has a CPU to itself, within two
/// intervals of 8 ms for the caches and one of 4 ms for the CPUs.
#[test]
fn pinned_tasks_are_spread_though_sums_look_level() {
    let mut experiment = Experiment::new().smp(8).topology("llc=4").duration_ns(SECOND);
    experiment.config.check_invariants = true;
    let result = run_passing(&experiment.load(|load| {
        let some = load.shared.cpu_set((3..7).collect());
        for number in 0..4 {
            add_loose(load, &format!("loose{number}"), 3, some);
        }
    }));
    let busy = result.records.cpus.iter().map(|cpu| cpu.counters.busy_ns > 980 * MS);
    let expected = [false, false, false, true, true, true, true, false];
    assert!(busy.eq(expected), "{:?}", wasted(&result));
}

/// Who may not run on the idle CPU does not wait for it.
#[test]
fn pinned_tasks_waste_nothing() {
    let experiment = Experiment::new().smp(2).duration_ns(SECOND).load(|load| {
        load.hogs(2);
        load.pins(&[Some(CpuSet::only(0))]);
    });
    let result = run_passing(&experiment);
    assert_eq!(wasted(&result), (0, vec![0, 0]));
    assert_eq!(result.records.total.migrations, 0);
}

/// One task too many goes around, so that all get two thirds.
#[test]
fn three_hogs_on_two_cpus_get_two_thirds_each() {
    let result = run_passing(&Experiment::new().smp(2).hogs(3));
    for (share, name) in shares(&result).into_iter().zip(["hog0", "hog1", "hog2"]) {
        assert!((2.0 * share - 66.7).abs() < 3.0, "{name}: {share} % of two CPUs");
    }
    let moves = result.records.moves;
    assert_eq!(moves.periodic, result.records.total.migrations);
    assert_eq!(wasted(&result).0, 0);
    // Without, whoever has a CPU to itself keeps it.
    let result = run_passing(&without_balancing(Experiment::new().smp(2).hogs(3)));
    assert_eq!(runtimes(&result), [5 * SECOND, 10 * SECOND, 5 * SECOND]);
}

/// Whatever happens, no CPU idles longer than the interval of its domain, 8 ms at the most for four
/// CPUs, while somebody else has a task waiting for it, whether or not a dice says to look when it
/// runs dry.
#[test]
fn no_cpu_idles_for_long_while_others_wait() {
    let experiment = Experiment::new().smp(4).duration_ns(2 * SECOND).load(|load| {
        load.bursts(9, 3 * MS, 2 * MS).expect("both are stretches");
        load.bursts(5, 700 * US, 9 * MS).expect("both are stretches");
        load.hogs(1);
    });
    let result = run_passing(&experiment);
    let any = wasted(&result).0;
    for cpu in &result.records.cpus {
        let longest_ns = cpu.balance.wasted_longest_ns;
        assert!(
            longest_ns > 0 && longest_ns <= 8 * MS,
            "cpu {}: {longest_ns} ns",
            cpu.counters.cpu
        );
    }
    let off = run_passing(&without_balancing(experiment));
    assert!(wasted(&off).0 > any, "{} without balancing, {any} with it", wasted(&off).0);
}

/// A CPU whose task ends looks at once, in the same nanosecond; what ran within the last half
/// millisecond has a warm cache and is left alone then. Without the dice of NI_RANDOM, here and below:
/// it looks whenever it can.
#[test]
fn a_cpu_that_runs_dry_takes_what_is_cold() {
    let until = |end_ns| {
        let experiment = always_looks(2).duration_ns(100 * MS).load(|load| {
            load.add("first".into(), vec![Op::Run(end_ns), Op::Exit]);
            load.hogs(2);
            load.pins(&[Some(CpuSet::only(1)), None]);
        });
        run_passing(&experiment)
    };
    // The hogs change at 2, 4, 6, 8 and 10 ms.
    let cold = until(11 * MS);
    assert_eq!(cold.records.moves.newidle, 1);
    assert_eq!((cold.records.cpus[1].balance.newidle_pulls, wasted(&cold).0), (1, 0));
    assert_eq!(cold.records.cpus[1].counters.idle_ns, 0);
    let hot = until(10 * MS + 400 * US);
    assert_eq!((hot.records.moves.newidle, hot.records.cpus[1].balance.newidle_misses), (0, 1));
    assert_eq!(hot.records.moves.periodic, 1);
    assert_eq!(wasted(&hot), (600 * US, vec![0, 600 * US]), "until the tick at 11 ms");
}

/// Nothing here may move, so each look is in vain. Of 4000 times that CPU 1 runs dry it looks 4000 times,
/// or half as often after each 512, from half of them on: 512 * (1/2 + 1/4 + ...) come to 512.
#[test]
fn a_cpu_that_finds_nothing_looks_rarely() {
    let misses = |is_random| {
        let experiment = Experiment::new().smp(2).duration_ns(4 * SECOND).load(|load| {
            load.hogs(2);
            load.bursts(1, 100 * US, 900 * US).expect("both are stretches");
            load.pins(&[Some(CpuSet::only(0)), Some(CpuSet::only(0)), Some(CpuSet::only(1))]);
        });
        let result = run_passing(&experiment.smp_feature(Feature::NiRandom, is_random));
        result.records.cpus[1].balance.newidle_misses
    };
    assert_eq!(misses(false), 4000);
    let rare = misses(true);
    assert!((450..=580).contains(&rare), "{rare}");
}

/// Two tasks on the threads of one core, and a core without any: nothing waits, so there is nothing
/// to take. After three attempts in vain, at intervals of 4 ms, one of those that run is pushed.
#[test]
fn a_running_task_is_pushed_to_an_idle_core() {
    let mut experiment = loose(4, &[0, 1]);
    experiment.config.topology = Some("2c2t".parse().expect("two cores of two threads"));
    experiment.config.check_invariants = true;
    let result = run_passing(&experiment);
    let moves = result.records.moves;
    assert_eq!((moves.active, result.records.total.migrations), (1, 1));
    let pushed: u64 = result.records.tasks.iter().map(|task| task.counters.migrate).sum();
    assert_eq!(pushed, 1, "its stint ended by that");
    assert_eq!(result.records.cpus.iter().map(|cpu| cpu.balance.pushes).sum::<u64>(), 1);
    assert_eq!(wasted(&result).0, 0, "nobody waited");
    assert_eq!(runtimes(&result), [SECOND, SECOND], "and the move took no time");
    let cores = [0, 2].map(|core| {
        let busy = |cpu: usize| result.records.cpus[cpu].counters.busy_ns;
        busy(core) + busy(core + 1)
    });
    assert!(cores[1] >= SECOND - 40 * MS, "{cores:?}");
}

/// The tick of the idle CPU is stopped; CPU 0, with two tasks, kicks it at its tick.
#[test]
fn idle_cpus_without_a_tick_are_kicked() {
    let mut experiment = loose(4, &[0, 0, 2]);
    experiment.config.nohz = NohzMode::Idle;
    experiment.config.check_invariants = true;
    let result = run_passing(&experiment);
    let moves = result.records.moves;
    assert_eq!((moves.nohz, result.records.total.migrations), (1, 1));
    let kicks: Vec<_> = result.records.cpus.iter().map(|cpu| cpu.balance.kicks).collect();
    assert!(kicks[0] > 0 && kicks[1..] == [0, 0, 0], "{kicks:?}");
    assert!(wasted(&result).0 <= 8 * MS, "{:?}", wasted(&result));
    assert_eq!(runtimes(&result)[2], SECOND);
}

/// What real-time tasks use is not there for fair ones. A fair task waits behind a real-time hog,
/// and it is all that waits; when CPU 1 runs dry, at 100 ms, it takes it.
#[test]
fn an_idle_cpu_takes_the_only_task_behind_a_real_time_one() {
    let experiment = always_looks(2).duration_ns(SECOND).load(|load| {
        load.add("rt".into(), vec![Op::RunForever]).policy = Policy::Fifo { priority: 1 };
        load.add("first".into(), vec![Op::Run(100 * MS), Op::Exit]);
        load.hogs(1);
        load.pins(&[Some(CpuSet::only(0)), Some(CpuSet::only(1)), None]);
    });
    let result = run_passing(&experiment);
    assert_eq!(runtimes(&result), [SECOND, 100 * MS, 900 * MS]);
    assert_eq!((result.records.cpus[1].balance.newidle_pulls, wasted(&result).0), (1, 0));
    assert_eq!(result.records.total.migrations, 0, "it ran nowhere before");
}
