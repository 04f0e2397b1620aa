//! The benchmarks of the thread, scaled down to eight CPUs and fractions of a second.
//!
//! Sizes keep their published names, so that rows stand beside rows; the machines that the
//! published numbers are from were larger, and more of a size fits on them.

use super::{CPUS, NEW_NS, OLD_NS, machine};
use crate::{
    cli::Statistic,
    compare::{self, Comparison},
    questions::{
        bench::{Bench, Noise, Reading},
        matrix::{Matrix, Variant},
    },
};

/// The comparisons as they were posted, with their numbers.
const PUBLISHED: &str = include_str!("../../../data/default_slice_patch.csv");

/// Beside each benchmark something wakes up now and then, as on any machine; as often on each
/// CPU, and for as long, as beside the cells measured on Linux 6.12 (`data/linux`).
const NOISE: Noise = Noise { rate: 45.0 * CPUS as f64, run_ns: 20_000 };

const HACKBENCH: &[Reading] = &[Reading {
    test: "hackbench",
    units: "Normalized time in seconds",
    metric: "time",
    statistic: Statistic::Mean,
}];
const TBENCH: &[Reading] = &[Reading {
    test: "tbench",
    units: "Normalized throughput",
    metric: "throughput",
    statistic: Statistic::Mean,
}];
const NETPERF: &[Reading] = &[Reading {
    test: "netperf",
    units: "Normalized Throughput",
    metric: "transactions_per_second",
    statistic: Statistic::Mean,
}];
const LATENCY: &str = "Normalized 99th percentile latency in us";
const SCHBENCH: &[Reading] = &[Reading {
    test: "schbench",
    units: LATENCY,
    metric: "wakeup_latency_p99",
    statistic: Statistic::Median,
}];
const NEW_SCHBENCH: &[Reading] = &[
    Reading {
        test: "new-schbench-requests-per-second",
        units: "Normalized Requests per second",
        metric: "average_rps",
        statistic: Statistic::Median,
    },
    Reading {
        test: "new-schbench-wakeup-latency",
        units: LATENCY,
        metric: "wakeup_latency_p99",
        statistic: Statistic::Median,
    },
    Reading {
        test: "new-schbench-request-latency",
        units: LATENCY,
        metric: "request_latency_p99",
        statistic: Statistic::Median,
    },
];

/// The machines, in the order of their names in `PAIRS`.
pub(super) fn variants() -> Vec<Variant> {
    [(250, OLD_NS), (250, NEW_NS), (1000, OLD_NS), (1000, NEW_NS)]
        .map(|(hz, slice_ns)| {
            let ms = slice_ns as f64 / 1e6;
            let mut config = machine(hz, slice_ns);
            // What makes ticks come early on real machines.
            config.tick_error_ns = -1_000;
            Variant { name: format!("HZ={hz}, {ms:.1} ms"), config }
        })
        .into()
}

/// The comparisons: published name, base and new machine.
const PAIRS: [(&str, usize, usize); 3] =
    [("hz250_new_slice", 0, 1), ("hz1000_new_slice", 2, 3), ("hz250_vs_hz1000", 0, 2)];

/// The benchmarks by size.
pub(super) fn benches() -> Vec<Bench> {
    let bench = |mix, readings, case: String, options: &[String]| Bench {
        mix,
        options: options.to_vec(),
        case,
        counting: None,
        readings,
        noise: Some(NOISE),
    };
    let words = |text: String| text.split(' ').map(String::from).collect::<Vec<_>>();
    let mut benches = Vec::new();
    for groups in [1, 2, 4, 8, 16] {
        let options = words(format!("-g {groups} -f 10 -l 20 --op-cost 5us"));
        benches.push(bench("hackbench", HACKBENCH, format!("{groups}-groups"), &options));
    }
    let sizes = [1, 2, 4, 8, 16];
    for clients in sizes {
        let options = words(format!("-t 30ms --op-cost 5us {clients}"));
        benches.push(bench("tbench", TBENCH, clients.to_string(), &options));
    }
    for clients in sizes {
        let options = words(format!("-n {clients} -l 30ms --op-cost 5us"));
        benches.push(bench("rr", NETPERF, format!("{clients}-clients"), &options));
    }
    // The older schbench computes for 30 ms and thinks for as long.
    for workers in sizes {
        let options = words(format!("-m 2 -t {workers} -r 1s -L -s 30000 -n 9"));
        benches.push(bench("schbench", SCHBENCH, workers.to_string(), &options));
    }
    for workers in sizes {
        let options = words(format!("-m 2 -t {workers} -r 1s"));
        benches.push(bench("schbench", NEW_SCHBENCH, workers.to_string(), &options));
    }
    benches
}

/// Sets the machines side by side as the thread does, with its numbers; by published name.
pub(super) fn compare(matrix: &Matrix<'_>) -> Vec<(&'static str, Comparison)> {
    let posted = compare::built_in(PUBLISHED);
    let statistics: Vec<&Reading> =
        [HACKBENCH, TBENCH, NETPERF, SCHBENCH, NEW_SCHBENCH].into_iter().flatten().collect();
    let compared = |(name, base, new): (&'static str, usize, usize)| {
        let results = [base, new].map(|at| (matrix.name(at).to_owned(), matrix.figures(at)));
        let mut comparison = Comparison::of(results.into(), |figure| {
            let reading = statistics.iter().find(|reading| reading.test == figure.test);
            reading.expect("figures are those of the readings").statistic
        });
        comparison.name = Some(name.into());
        let known = posted.iter().find(|posted| posted.name.as_deref() == Some(name));
        comparison.beside("published", known.expect("the table has the three comparisons"));
        (name, comparison)
    };
    PAIRS.map(compared).into()
}

/// The tables of a comparison under its name.
pub(super) fn table(comparison: &Comparison) -> String {
    let name = comparison.name.as_deref().unwrap_or_default();
    format!("{name}\n\n{}", comparison.tables())
}
