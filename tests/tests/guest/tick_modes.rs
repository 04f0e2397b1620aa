//! Ways to make the tick, and to leave it out.

use abi::{CpuSet, NohzMode, TickMode};
use runner::{Experiment, expect::Verdict};
use tests::{MS, SECOND, assert_all, moments, run, run_passing, task};

/// HZ ticks a second at any rate, at one distance from each other.
fn assert_ticks(hz: u32, mode: TickMode, cpus: u32) {
    let mut experiment =
        Experiment::new().smp(cpus).hz(hz).hogs(2 * cpus as usize).duration_ns(2 * SECOND);
    experiment.config.tick = mode;
    let result = run_passing(&experiment);
    for cpu in &result.records.cpus {
        let what = format!("HZ={hz} {mode:?} cpu{}", cpu.counters.cpu);
        assert_eq!(cpu.counters.ticks, 2 * u64::from(hz), "ticks, {what}");
        assert_eq!(cpu.counters.missed_ticks, 0, "missed ticks, {what}");
        // Where HZ does not divide a second, each tick is at the nanosecond before its time,
        // and nothing adds up.
        let interval = moments(&cpu.tick_interval);
        let period_ns = SECOND / u64::from(hz);
        let longest_ns = SECOND.div_ceil(hz.into());
        assert_eq!((interval.min, interval.max), (period_ns, longest_ns), "interval, {what}");
    }
}

#[test]
fn a_periodic_timer_gives_every_tick() {
    assert_ticks(1000, TickMode::Periodic, 1);
    assert_ticks(250, TickMode::Periodic, 2);
}

#[test]
fn the_slowest_rate_keeps_its_ticks() {
    assert_ticks(10, TickMode::Oneshot, 1);
}

#[test]
fn a_rate_that_does_not_divide_a_second_keeps_its_ticks() {
    assert_ticks(300, TickMode::Oneshot, 2);
}

#[test]
fn the_fastest_rate_keeps_its_ticks() {
    assert_ticks(10_000, TickMode::Oneshot, 1);
}

/// CPU 1 works for 1.5 ms of every 100 ms. Its tick goes on while it works, in phase, and
/// stops while it idles; that of the busy CPU never stops.
#[test]
fn an_idle_cpu_stops_its_tick_and_a_busy_one_does_not() {
    let mut experiment = Experiment::new()
        .smp(2)
        .hogs(1)
        .load(|load| {
            load.bursts(1, 1500 * 1000, 98_500 * 1000).expect("both are stretches");
            load.pins(&[Some(CpuSet::only(0)), Some(CpuSet::only(1))]);
        })
        .duration_ns(SECOND);
    experiment.config.nohz = NohzMode::Idle;
    let result = run(&experiment);
    assert_eq!(result.judge().verdict, Verdict::Pass);
    let ticks = |cpu: usize| result.records.cpus[cpu].counters.ticks;
    assert_eq!(ticks(0), 1000);
    assert_eq!(ticks(1), 10, "one for each of ten bursts");
    assert_eq!(task(&result, "burst0").counters.runtime_ns, 15 * MS);
    assert_all(&task(&result, "burst0").wakeup_latency, 0, "latencies");
    assert_eq!(result.records.cpus[1].counters.missed_ticks, 0);
}

#[test]
fn a_cpu_that_never_has_a_task_never_ticks() {
    let mut experiment = Experiment::new().smp(4).hogs(2).duration_ns(SECOND);
    experiment.config.nohz = NohzMode::Idle;
    let result = run_passing(&experiment);
    for cpu in result.records.cpus.iter().map(|cpu| &cpu.counters) {
        let expected = if cpu.busy_ns == 0 { 0 } else { 1000 };
        assert_eq!(cpu.ticks, expected, "cpu{}", cpu.cpu);
    }
}
