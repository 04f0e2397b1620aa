//! Tasks that wake: at once, wherever they are, and as often as they should.

use abi::CpuSet;
use runner::{Experiment, RunResult};
use tests::{MS, SECOND, US, assert_all, finished_stints, moments, run_passing, task};

/// Two tasks on different CPUs that wake each other a hundred thousand times. A wake-up that
/// gets lost or waits for a tick would show as a latency of up to 1 ms, and as fewer wake-ups.
#[test]
fn no_wakeup_across_cpus_waits_for_a_tick() {
    let duration_ns = 2100 * MS;
    let run_ns = 20 * US;
    let experiment = Experiment::new()
        .smp(2)
        .load(|load| {
            load.pairs(1, run_ns).expect("it is a stretch");
            load.pins(&[Some(CpuSet::only(0)), Some(CpuSet::only(1))]);
        })
        .duration_ns(duration_ns);
    let result = run_passing(&experiment);
    let wakeups = result.records.total.wakeups;
    assert!(wakeups >= 100_000, "only {wakeups} wake-ups");
    // One after every turn; the last turn may end with the run.
    let turns = duration_ns / run_ns;
    assert!((turns - 1..=turns).contains(&wakeups), "{wakeups} wake-ups in {turns} turns");
    for name in ["ping0", "pong0"] {
        assert_all(&task(&result, name).wakeup_latency, 0, &format!("latencies of {name}"));
        assert_eq!(task(&result, name).counters.migrations, 0);
        assert_eq!(moments(&task(&result, name).stint).max, run_ns, "longest turn of {name}");
    }
}

/// One interrupt for each wake-up of a task on another, idle CPU, and no other. The second CPU
/// gets one more: the one that starts the run.
#[test]
fn each_wakeup_across_cpus_sends_one_interrupt() {
    let experiment = Experiment::new()
        .smp(2)
        .load(|load| {
            load.pairs(1, 50 * US).expect("it is a stretch");
            load.pins(&[Some(CpuSet::only(0)), Some(CpuSet::only(1))]);
        })
        // Not the end of a turn: a wake-up at the very end finds the other CPU stopped.
        .duration_ns(200 * MS + 10 * US);
    let result = run_passing(&experiment);
    let interrupts = |cpu: usize| result.records.cpus[cpu].counters.ipis;
    assert_eq!(interrupts(0), task(&result, "ping0").counters.wakeups);
    assert_eq!(interrupts(1), task(&result, "pong0").counters.wakeups + 1);
}

#[test]
fn a_sleeper_alone_runs_as_much_as_it_wants_at_once() {
    let experiment = Experiment::new()
        .load(|load| load.bursts(1, MS, 9 * MS).expect("both are stretches"))
        .duration_ns(10 * SECOND);
    let result = run_passing(&experiment);
    let burst = task(&result, "burst0");
    assert_eq!(burst.counters.runtime_ns, SECOND);
    assert_eq!(burst.counters.block, 1000);
    assert_eq!(finished_stints(burst), 1000);
    assert_all(&burst.stint, MS, "stints");
    // From one tick to the next: more than the slice, and no extra tick.
    assert_all(&burst.stint_ticks, 1, "ticks in stints");
    assert_eq!(burst.counters.extra_ticks, 0);
    assert_all(&burst.wakeup_latency, 0, "latencies");
    assert_eq!(result.records.cpus[0].counters.idle_ns, 9 * SECOND);
}

/// A task that ends its work a moment before a tick acts before that tick: no stint of a task
/// that is alone is longer or shorter than its work, however close the two come.
#[test]
fn work_ends_to_the_nanosecond() {
    let work_ns = 500 * US;
    let experiment = Experiment::new()
        .load(|load| load.background(64.0, work_ns, 0).expect("both are in range"))
        .duration_ns(60 * SECOND);
    let result = run_passing(&experiment);
    let finished_ns = moments(&task(&result, "waker0").stint).sum;
    assert!(finished_ns > 0 && finished_ns.is_multiple_of(work_ns.into()), "{finished_ns} ns");
}

const RATE: u64 = 64;
const SECONDS: u64 = 30;

fn background(seed: u64) -> RunResult {
    let experiment = Experiment::new()
        .load(|load| load.background(RATE as f64, 20 * US, 0).expect("both are in range"))
        .duration_ns(SECONDS * SECOND)
        .seed(seed);
    run_passing(&experiment)
}

/// Arrivals of a Poisson process: the count's variance is its mean.
#[test]
fn a_background_task_wakes_at_its_rate() {
    let (result, other) = (background(1), background(2));
    let expected = (RATE * SECONDS) as f64;
    for result in [&result, &other] {
        let wakeups = result.records.total.wakeups as f64;
        let deviations = (wakeups - expected) / expected.sqrt();
        assert!(deviations.abs() <= 4.0, "{wakeups} wake-ups, expected {expected}");
        assert_all(&task(result, "waker0").wakeup_latency, 0, "latencies");
    }
    let count = |result: &RunResult| result.records.total.wakeups;
    assert_eq!(count(&background(1)), count(&result), "the same seed, the same arrivals");
    assert_ne!(count(&other), count(&result), "another seed, other arrivals");
}

fn pinned_pair(run_ns: u64) -> Experiment {
    Experiment::new()
        .smp(2)
        .load(|load| {
            load.pairs(1, run_ns).expect("it is a stretch");
            load.pins(&[Some(CpuSet::only(0)), Some(CpuSet::only(1))]);
        })
        .duration_ns(600 * MS)
}

/// The kernel's own instructions take no time: turn follows turn without a gap.
#[test]
fn a_pair_on_two_cpus_uses_exactly_the_whole_time() {
    let result = run_passing(&pinned_pair(20 * US));
    assert_eq!(task(&result, "ping0").counters.runtime_ns, 300 * MS);
    assert_eq!(task(&result, "pong0").counters.runtime_ns, 300 * MS);
    assert_all(&task(&result, "ping0").stint, 20 * US, "turns");
}

/// CPUs handle their events at different moments; what one does to another's queue must not
/// make time go back there, or a latency of nearly 2^64 ns comes out.
#[test]
fn nobody_waits_where_cpus_are_free() {
    let experiment = Experiment::new()
        .smp(8)
        .hogs(1)
        .load(|load| {
            load.bursts(2, 700 * US, 1900 * US).expect("both are stretches");
            load.pairs(1, 50 * US).expect("it is a stretch");
            load.background(300.0, 150 * US, 0).expect("rate and time are in range");
            load.yielders(1, 100 * US).expect("it is a stretch");
        })
        .duration_ns(500 * MS);
    let result = run_passing(&experiment);
    for records in &result.records.tasks {
        assert_eq!(moments(&records.wakeup_latency).max, 0);
    }
}
