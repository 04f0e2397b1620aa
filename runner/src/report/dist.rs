//! A distribution in the nine numbers that documents give of it.

use crate::workload::Stat;
use abi::Histogram;
use serde::{Deserialize, Serialize};

/// Count, extremes, moments and percentiles; all 0 when there is no value.
///
/// Count, minimum, maximum, mean and deviation are exact; percentiles are at most 1/64 off.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the document's and say it all")]
pub struct Dist {
    pub count: u64,
    pub min: u64,
    pub mean: f64,
    pub max: u64,
    pub stddev: f64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub p999: u64,
}

impl From<&Histogram> for Dist {
    fn from(histogram: &Histogram) -> Self {
        let moments = histogram.moments();
        Self {
            count: moments.count,
            min: if moments.count == 0 { 0 } else { moments.min },
            mean: decimals(moments.mean(), 3),
            max: moments.max,
            stddev: decimals(moments.variance().sqrt(), 3),
            p50: histogram.quantile(0.5),
            p90: histogram.quantile(0.9),
            p99: histogram.quantile(0.99),
            p999: histogram.quantile(0.999),
        }
    }
}

impl Dist {
    /// One of its figures; nothing without values.
    pub(crate) fn stat(&self, stat: Stat) -> Option<f64> {
        let value = match stat {
            Stat::Min => self.min as f64,
            Stat::Mean => self.mean,
            Stat::P50 => self.p50 as f64,
            Stat::P90 => self.p90 as f64,
            Stat::P99 => self.p99 as f64,
            Stat::P999 => self.p999 as f64,
            Stat::Max => self.max as f64,
        };
        (self.count > 0).then_some(value)
    }
}

/// Rounds to so many decimals, so that documents do not pretend to more.
pub(crate) fn decimals(value: f64, count: i32) -> f64 {
    let scale = 10f64.powi(count);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_values_are_zeros() {
        let dist = Dist::from(&Histogram::EMPTY);
        assert_eq!((dist.count, dist.min, dist.mean, dist.p999), (0, 0, 0.0, 0));
    }

    #[test]
    fn one_value_is_everywhere() {
        let mut histogram: Histogram = Histogram::EMPTY;
        (0..10).for_each(|_| histogram.record(3_000_000));
        let dist = Dist::from(&histogram);
        assert_eq!(
            (dist.min, dist.p50, dist.p999, dist.max),
            (3_000_000, 3_000_000, 3_000_000, 3_000_000)
        );
        assert_eq!((dist.mean, dist.stddev), (3_000_000.0, 0.0));
    }
}
