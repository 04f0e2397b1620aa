//! What a benchmark gains at each load, and where the gain begins and ends.

use super::{CPUS, TIMES, benches, published};
use crate::{
    cli::Statistic,
    compare::Sample,
    questions::{
        bench::Bench,
        counts::{Count, Counts},
        matrix::Matrix,
    },
    workload::Better,
};

/// A gain of less is none, whatever the spread, percent.
const LEAST_PCT: f64 = 1.0;

/// One load.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// The load.
    pub(super) times: u32,
    /// Without the feature.
    pub(super) off: Sample,
    /// With it, by that.
    pub(super) on: Sample,
    /// What was published of the same.
    pub(super) published: Sample,
    /// What was counted without and with it; nothing where nothing ran.
    pub(super) counts: Option<[Counts; 2]>,
}

impl Point {
    /// A count without the feature (0) or with it (1), by transaction; no number where nothing ran.
    pub(super) fn count(&self, at: usize, count: Count) -> f64 {
        self.counts.map_or(f64::NAN, |counts| counts[at][count])
    }

    /// How many CPUs idled on average.
    pub(super) fn idle_cpus(&self, at: usize) -> f64 {
        let busy_and_idle = self.count(at, Count::IdleNs) + self.count(at, Count::BusyNs);
        self.count(at, Count::IdleNs) / busy_and_idle * f64::from(CPUS)
    }
}

/// One benchmark.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// Its name in tables.
    pub(super) test: &'static str,
    /// In the order of the loads.
    pub(super) points: Vec<Point>,
    /// At one of them, with averages that have settled.
    pub(super) settled: Option<Point>,
}

impl Curve {
    /// Those of all benchmarks that ran, with the feature off in the first variant.
    pub(super) fn all(matrix: &Matrix<'_>, all: &[Bench]) -> Vec<Self> {
        let figures = [0, 1].map(|variant| matrix.figures(variant));
        let mut curves: Vec<Self> = Vec::new();
        for (number, bench) in all.iter().enumerate() {
            let test = bench.readings[0].test;
            let [off, on] = [0, 1].map(|variant: usize| {
                Sample::of(&figures[variant][number].values, Statistic::Mean)
            });
            let load = TIMES.into_iter().find(|&times| benches::case(times) == bench.case);
            let times = load.unwrap_or(benches::SETTLED_TIMES);
            let counted = [0, 1].map(|variant| matrix.counted(variant, number));
            let point = Point {
                times,
                on: on.against(&off, Some(Better::Higher)),
                off: off.against(&off, Some(Better::Higher)),
                published: load.map(|times| published::gain(test, times)).unwrap_or_default(),
                counts: match counted {
                    [Some(off), Some(on)] => Some([off.all, on.all]),
                    _ => None,
                },
            };
            if curves.last().is_none_or(|curve| curve.test != test) {
                curves.push(Self { test, points: Vec::new(), settled: None });
            }
            let curve = curves.last_mut().expect("there is one by now");
            match load {
                Some(_) => curve.points.push(point),
                None => curve.settled = Some(point),
            }
        }
        curves
    }

    /// The loads at which more is gained than seeds differ, and not next to nothing.
    pub(super) fn paying(&self) -> Vec<u32> {
        self.points.iter().filter(|point| is_gain(&point.on)).map(|point| point.times).collect()
    }

    /// The same of the published numbers.
    pub(super) fn paid(&self) -> Vec<u32> {
        let points = self.points.iter().filter(|point| is_gain(&point.published));
        points.map(|point| point.times).collect()
    }

    /// The load at which most is gained.
    pub(super) fn peak(&self) -> Option<&Point> {
        let gain = |point: &&Point| point.on.pct_imp.unwrap_or(f64::NEG_INFINITY);
        self.points.iter().max_by(|a, b| gain(a).total_cmp(&gain(b)))
    }

    /// The point of a load.
    pub(super) fn at(&self, times: u32) -> Option<&Point> {
        self.points.iter().find(|point| point.times == times)
    }
}

/// Whether it is more than seeds differ, and than next to nothing.
pub(super) fn is_gain(sample: &Sample) -> bool {
    sample.within_spread != Some(true) && sample.pct_imp.is_some_and(|pct| pct > LEAST_PCT)
}

/// Loads in words: `3x to 5x`, `4x`, `none`.
pub(super) fn words(loads: &[u32]) -> String {
    let runs = loads.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [only] => format!("{only}x"),
        [first, .., last] => format!("{first}x to {last}x"),
        [] => unreachable!("a run has an end"),
    });
    let words: Vec<String> = runs.collect();
    if words.is_empty() { "none".into() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_that_follow_each_other_are_a_range() {
        assert_eq!(words(&[3, 4, 5, 7]), "3x to 5x, 7x");
        assert_eq!(words(&[]), "none");
    }

    #[test]
    fn a_gain_is_more_than_the_spread_and_than_next_to_nothing() {
        let gain = |values: &[f64]| {
            let base = Sample::of(&[99.0, 100.0, 101.0], Statistic::Mean);
            is_gain(&Sample::of(values, Statistic::Mean).against(&base, Some(Better::Higher)))
        };
        assert!(gain(&[103.0, 104.0, 105.0]));
        // 0.9 % with a spread of 1 %, and 3 % with one of 10 %.
        assert!(!gain(&[100.9, 100.9, 100.9]));
        assert!(!gain(&[93.0, 103.0, 113.0]));
    }
}
