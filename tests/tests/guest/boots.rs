//! Machines of every width: each CPU starts, gets every tick and is busy all the time.

use runner::{Experiment, RunResult};
use std::time::Duration;
use tests::{MS, SECOND, assert_all, run_passing};

/// Two hogs for each CPU.
fn crowd(cpus: u32, hz: u32, duration_ns: u64) -> Experiment {
    Experiment::new().smp(cpus).hz(hz).hogs(2 * cpus as usize).duration_ns(duration_ns)
}

fn assert_all_cpus_tick_and_work(result: &RunResult) {
    let scenario = &result.plan.scenario;
    let (hz, duration_ns) = (u64::from(scenario.hz), scenario.duration_ns);
    assert_eq!(result.records.cpus.len(), scenario.cpus as usize);
    for cpu in &result.records.cpus {
        let of = format!("cpu{}", cpu.counters.cpu);
        assert_eq!(cpu.counters.ticks, hz * duration_ns / SECOND, "ticks of {of}");
        assert_eq!(cpu.counters.missed_ticks, 0, "missed ticks of {of}");
        assert_eq!(cpu.counters.busy_ns, duration_ns, "busy time of {of}");
        assert_eq!(cpu.counters.idle_ns, 0, "idle time of {of}");
        assert_all(&cpu.tick_interval, SECOND / hz, &format!("tick intervals of {of}"));
    }
    assert_eq!(result.records.total.elapsed_ns, duration_ns);
    assert_eq!(result.records.total.migrations, 0, "two hogs on each CPU need no move");
    assert_eq!(result.records.total.lag_violations, 0);
}

fn one_second(cpus: u32) {
    assert_all_cpus_tick_and_work(&run_passing(&crowd(cpus, 1000, SECOND)));
}

#[test]
fn one_cpu() {
    one_second(1);
}

#[test]
fn two_cpus() {
    one_second(2);
}

#[test]
fn four_cpus() {
    one_second(4);
}

#[test]
fn eight_cpus() {
    one_second(8);
}

#[test]
fn sixty_four_cpus_in_128_mib() {
    let mut experiment = crowd(64, 250, SECOND);
    experiment.host.memory_mib = Some(128);
    assert_all_cpus_tick_and_work(&run_passing(&experiment));
}

/// As many as xAPIC ids can name. Short: QEMU executes the CPUs one after another, and what
/// is tested here is that they all start and tick, not for how long.
#[test]
fn two_hundred_fifty_five_cpus() {
    let mut experiment = crowd(255, 250, 100 * MS);
    experiment.host.timeout = Some(Duration::from_secs(300));
    assert_all_cpus_tick_and_work(&run_passing(&experiment));
}
