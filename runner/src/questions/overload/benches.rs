//! The benchmarks of the thread at every load, scaled down to eight CPUs and some milliseconds.

use super::{CPUS, TIMES};
use crate::{
    cli::Statistic,
    questions::bench::{Bench, Counting, Noise, Reading},
    units,
};

/// As beside other benchmarks: what makes one seed differ from another.
const NOISE: Noise = Noise { rate: 45.0 * CPUS as f64, run_ns: 20_000 };

/// Averages of load know only half of what was 32 ms ago: by then they are what they will be.
const SETTLE_NS: u64 = 500_000_000;
/// The load at which the benchmarks are also run with settled averages.
pub(super) const SETTLED_TIMES: u32 = 4;

const TRANSACTIONS: &str = "transactions_per_second";

const fn reading(test: &'static str, metric: &'static str) -> Reading {
    Reading { test, units: "Normalized throughput", metric, statistic: Statistic::Mean }
}

/// By benchmark.
pub(super) const READINGS: [Reading; 4] = [
    reading("context_switch1", "round_trips_per_second"),
    reading("TCP_RR", TRANSACTIONS),
    reading("UDP_RR", TRANSACTIONS),
    reading("tbench", "throughput"),
];

/// Each benchmark at each load of a machine that idled before, and at one of a machine that did not.
pub(super) fn benches() -> Vec<Bench> {
    let mut benches = Vec::new();
    for number in 0..READINGS.len() {
        benches.extend(TIMES.map(|times| bench(number, times, case(times), 0)));
        benches.push(bench(number, SETTLED_TIMES, settled_case(), SETTLE_NS));
    }
    benches
}

fn bench(number: usize, times: u32, case: String, settle_ns: u64) -> Bench {
    let pairs = pairs(times);
    // UDP takes less of a network stack than TCP does.
    let (mix, options) = match number {
        0 => ("context_switch1", format!("-t {pairs} -s 8ms")),
        1 => ("rr", format!("-t TCP_RR -n {pairs} -l 25ms --op-cost 5us")),
        2 => ("rr", format!("-t UDP_RR -n {pairs} -l 20ms --op-cost 4us")),
        _ => ("tbench", format!("-t 25ms --op-cost 5us {pairs}")),
    };
    let options = format!("--settle {} {options}", units::exact_unsigned(settle_ns));
    let rate = if number == 0 { READINGS[0].metric } else { TRANSACTIONS };
    Bench {
        mix,
        options: options.split(' ').map(String::from).collect(),
        case,
        counting: Some(Counting { rate, first_cpus: 0, settle_ns }),
        readings: &READINGS[number..=number],
        noise: Some(NOISE),
    }
}

/// Pairs of tasks at a load: with 4x, one for each CPU.
pub(super) fn pairs(times: u32) -> u32 {
    times * CPUS / 4
}

/// The load, as tables name it.
pub(super) fn case(times: u32) -> String {
    format!("{times}x")
}

/// The case of settled averages, as tables name it.
pub(super) fn settled_case() -> String {
    format!("{} settled", case(SETTLED_TIMES))
}
