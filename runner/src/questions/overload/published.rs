//! The published numbers: SIS_SHORT against the kernel without, by benchmark and load.
//!
//! From a machine of 224 CPUs: a load of 1x is 56 pairs of tasks there, a quarter of the CPUs.

use crate::{compare::Sample, workload::Better};
use serde::Deserialize;

const TABLE: &str = include_str!("../../../data/sis_short.csv");

/// Pairs that are 1x.
const PAIRS: u32 = 56;

#[derive(Debug, Deserialize)]
struct Row {
    /// Of several of the benchmarks here, in which case `case` says of which.
    benchmark: String,
    case: String,
    /// Such as `56-threads`.
    load: String,
    baseline_std_pct: Option<f64>,
    compare_pct: f64,
    compare_std_pct: Option<f64>,
}

impl Row {
    fn test(&self) -> &str {
        if self.benchmark == "tbench" { &self.benchmark } else { &self.case }
    }

    fn times(&self) -> Option<u32> {
        let pairs: u32 = self.load.split(['-', ' ']).next()?.parse().ok()?;
        pairs.is_multiple_of(PAIRS).then_some(pairs / PAIRS)
    }
}

/// How much was gained, by test and load; empty where that was not published.
pub(super) fn gain(test: &str, times: u32) -> Sample {
    let rows = csv::Reader::from_reader(TABLE.as_bytes())
        .into_deserialize()
        .collect::<Result<Vec<Row>, _>>()
        .expect("the table is part of this program");
    let row = rows.iter().find(|row| row.test() == test && row.times() == Some(times));
    row.map_or_else(Sample::default, |row| {
        let base = Sample::posted(0.0, row.baseline_std_pct, Some(Better::Higher));
        let new = Sample::posted(row.compare_pct, row.compare_std_pct, Some(Better::Higher));
        new.against(&base, Some(Better::Higher))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::questions::overload::{TIMES, benches::READINGS};

    #[test]
    fn every_load_of_three_tests_was_published_and_one_of_context_switch1() {
        let count = |test: &str| TIMES.filter(|&times| gain(test, times).value.is_some()).count();
        let counts: Vec<_> =
            READINGS.iter().map(|reading| (reading.test, count(reading.test))).collect();
        assert_eq!(counts, [("context_switch1", 1), ("TCP_RR", 8), ("UDP_RR", 8), ("tbench", 8)]);
    }

    #[test]
    fn gains_are_those_of_the_table() {
        let pct = |test, times| gain(test, times).pct_imp.map(|pct| (pct * 100.0).round() / 100.0);
        assert_eq!(pct("context_switch1", 4), Some(946.68));
        assert_eq!(pct("TCP_RR", 4), Some(665.38));
        assert_eq!(pct("tbench", 2), Some(-0.41));
        // 0.57 % are not more than a spread of 1.12 %.
        assert_eq!(gain("TCP_RR", 1).within_spread, Some(true));
        assert_eq!(gain("TCP_RR", 4).within_spread, Some(false));
    }
}
