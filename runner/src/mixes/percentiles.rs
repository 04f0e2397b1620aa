//! Blocks of percentiles as schbench prints them.
//!
//! A value is the first of which so many percent of the samples are no larger. The samples
//! behind it are those since the percentile before, also where that one is not printed.

use abi::Histogram;
use std::{collections::BTreeMap, fmt::Write};

const STEPS: [f64; 5] = [20.0, 50.0, 90.0, 99.0, 99.9];
/// Of latencies.
pub(super) const LATENCY: Shown = Shown { steps: [false, true, true, true, true], star: 99.0 };
/// Of requests a second.
pub(super) const RATE: Shown = Shown { steps: [true, true, true, false, false], star: 50.0 };
/// Of wake-ups in a pipe test.
pub(super) const ALL: Shown = Shown { steps: [true; 5], star: 99.0 };
/// Those of schbench before 2023.
const OLD_STEPS: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9];

/// Which percentiles are printed, and which one is the headline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    steps: [bool; 5],
    star: f64,
}

/// Values in the unit they are printed in, with how often each came.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    counts: BTreeMap<u64, u64>,
    min: u64,
    max: u64,
}

impl Samples {
    /// Those of a histogram, its values divided by `unit` and cut off.
    pub(super) fn of(histogram: &Histogram, unit: u64) -> Self {
        let moments = histogram.moments();
        if moments.count == 0 {
            return Self::default();
        }
        let mut samples =
            Self { min: moments.min / unit, max: moments.max / unit, ..Self::default() };
        for (range, count) in histogram.ranges() {
            // The largest of the bucket: cut off, its middle could be a whole unit too small.
            let value = (range.end - 1).min(moments.max) / unit;
            *samples.counts.entry(value).or_default() += u64::from(count);
        }
        samples
    }

    /// Adds one more.
    pub(super) fn add(&mut self, value: u64) {
        let is_first = self.counts.is_empty();
        self.min = if is_first { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        *self.counts.entry(value).or_default() += 1;
    }

    pub(super) fn min(&self) -> u64 {
        self.min
    }

    pub(super) fn max(&self) -> u64 {
        self.max
    }

    /// Each percentile with its value.
    pub(super) fn percentiles(&self) -> impl Iterator<Item = (f64, u64)> {
        STEPS.into_iter().map(|percent| (percent, self.at(percent).0))
    }

    fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The value at a percentile and the samples up to it.
    fn at(&self, percent: f64) -> (u64, u64) {
        let wanted = percent / 100.0 * self.total() as f64;
        let mut seen = 0;
        for (&value, &count) in &self.counts {
            seen += count;
            if seen as f64 >= wanted {
                return (value, seen);
            }
        }
        (self.max, seen)
    }

    /// A block.
    pub(super) fn block(&self, label: &str, unit: &str, seconds: u64, shown: Shown) -> String {
        let mut text = format!(
            "{label} percentiles ({unit}) runtime {seconds} (s) ({} total samples)\n",
            self.total()
        );
        let mut before = 0;
        for (percent, is_shown) in STEPS.into_iter().zip(shown.steps) {
            let (value, seen) = self.at(percent);
            if is_shown {
                let star = if percent == shown.star { "* " } else { "  " };
                writeln!(text, "\t{star}{percent:.1}th: {value:<10} ({} samples)", seen - before)
                    .expect("a String takes everything");
            }
            before = seen;
        }
        writeln!(text, "\t  min={}, max={}", self.min, self.max)
            .expect("a String takes everything");
        text
    }

    /// The one block of schbench before 2023.
    pub(super) fn old_block(&self) -> String {
        let mut text = String::from("Latency percentiles (usec)\n");
        for percent in OLD_STEPS {
            let star = if percent == 99.0 { "*" } else { "" };
            let (value, _) = self.at(percent);
            writeln!(text, "\t{star}{percent:.4}th: {value}").expect("a String takes everything");
        }
        writeln!(text, "\tmin={}, max={}", self.min, self.max).expect("a String takes everything");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Samples {
        let mut histogram: Histogram = Histogram::EMPTY;
        (1..=100).for_each(|us| histogram.record(us * 1_000));
        Samples::of(&histogram, 1_000)
    }

    #[test]
    fn a_block_is_that_of_schbench() {
        let mut rates = Samples::default();
        [2996, 3004, 3004, 3020].into_iter().for_each(|rate| rates.add(rate));
        assert_eq!(
            rates.block("RPS", "requests", 4, RATE),
            "RPS percentiles (requests) runtime 4 (s) (4 total samples)\n\
             \t  20.0th: 2996       (1 samples)\n\
             \t* 50.0th: 3004       (2 samples)\n\
             \t  90.0th: 3020       (1 samples)\n\
             \t  min=2996, max=3020\n"
        );
    }

    /// The samples of the 20th percentile are counted, though it is not printed.
    #[test]
    fn samples_are_those_since_the_percentile_before() {
        let text = samples().block("Wakeup Latencies", "usec", 30, LATENCY);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[0],
            "Wakeup Latencies percentiles (usec) runtime 30 (s) (100 total samples)"
        );
        assert_eq!(lines[1], "\t  50.0th: 50         (30 samples)");
        assert_eq!(lines[2], "\t  90.0th: 90         (40 samples)");
        assert!(lines[3].starts_with("\t* 99.0th: 9"), "{}", lines[3]);
        assert_eq!(lines[5], "\t  min=1, max=100");
    }

    #[test]
    fn nothing_is_zeros() {
        let text = Samples::default().block("RPS", "requests", 0, RATE);
        assert!(text.contains("* 50.0th: 0          (0 samples)"), "{text}");
    }

    #[test]
    fn the_old_block_has_seven_percentiles() {
        let text = samples().old_block();
        assert!(text.starts_with("Latency percentiles (usec)\n\t50.0000th: 50\n\t75.0000th: "));
        assert!(
            text.contains("\n\t*99.0000th: ") && text.ends_with("\tmin=1, max=100\n"),
            "{text}"
        );
    }
}
