//! The real clock: the host decides how many ticks arrive, but time still adds up.

use abi::Clock;
use runner::Experiment;
use tests::{MS, run, runtimes, shares};

/// Four hogs on two CPUs. Nothing is said about ticks or latencies: a busy host delays and
/// swallows them. Run times and busy times are two sums over the same stints.
#[test]
fn run_times_add_up_to_busy_times() {
    let duration_ns = 1500 * MS;
    let experiment = Experiment::new().smp(2).hogs(4).clock(Clock::Real).duration_ns(duration_ns);
    let result = run(&experiment);
    let records = &result.records;
    assert_eq!(records.total.elapsed_ns, duration_ns);
    let busy: u64 = records.cpus.iter().map(|cpu| cpu.counters.busy_ns).sum();
    assert_eq!(runtimes(&result).iter().sum::<u64>(), busy);
    for cpu in &records.cpus {
        assert_eq!(cpu.counters.busy_ns + cpu.counters.idle_ns, duration_ns);
        assert!(cpu.counters.ticks > 0, "cpu{} had no tick at all", cpu.counters.cpu);
    }
    // Equal tasks: far from a quarter each only if the host stops a CPU for most of the run.
    for share in shares(&result) {
        assert!((5.0..=45.0).contains(&share), "a share of {share:.2} %");
    }
}
