//! A log-linear histogram in bounded memory, recorded in the guest and evaluated on the host.
//!
//! 64 buckets an octave: values below 128 have a bucket of their own, larger ones share one
//! with values at most 1/64 away. Count, sum, sum of squares, minimum and maximum are exact,
//! so mean and standard deviation are too; only percentiles are rounded, to the middle of
//! their bucket, and never beyond the extremes. A distribution of one value is therefore exact
//! everywhere. The layout is that of Gil Tene's HdrHistogram with 6 significant bits.

use core::ops::Range;

const SUB_BITS: u32 = 6;
const SUB_BUCKETS: usize = 1 << SUB_BITS;

/// Buckets for values up to 2^44 ns (nearly five hours); larger ones fall into the last.
pub const TIME_BUCKETS: usize = buckets_for(44);
/// Buckets for tick counts up to 2^16.
pub const TICK_BUCKETS: usize = buckets_for(16);

const fn buckets_for(bits: u32) -> usize {
    (bits - SUB_BITS + 1) as usize * SUB_BUCKETS
}

/// Exact moments and `N` log-linear buckets of a distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram<const N: usize = TIME_BUCKETS> {
    moments: Moments,
    buckets: [u32; N],
}

/// What is known exactly of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moments {
    /// Number of values.
    pub count: u64,
    /// Smallest value; `u64::MAX` when there is none.
    pub min: u64,
    /// Largest value; 0 when there is none.
    pub max: u64,
    /// Sum of the values.
    pub sum: u128,
    /// Sum of their squares.
    pub sum_of_squares: u128,
}

impl Moments {
    /// The moments of no values.
    pub const EMPTY: Self = Self { count: 0, min: u64::MAX, max: 0, sum: 0, sum_of_squares: 0 };

    /// Arithmetic mean; 0 when there is no value.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// Population variance; 0 when there is no value.
    ///
    /// Computed in integers: the textbook difference of two large floats would lose what is
    /// left of a narrow distribution far from zero, which is just what tick intervals are.
    pub fn variance(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let count = u128::from(self.count);
        let mean = self.sum / count;
        // sum (x - m)^2 = sum x^2 - 2 m sum x + n m^2, exact for the integer m.
        let around_mean = self.sum_of_squares + count * mean * mean - 2 * mean * self.sum;
        let rest = (self.sum % count) as f64 / self.count as f64;
        (around_mean as f64 / self.count as f64 - rest * rest).max(0.0)
    }

    fn record(&mut self, value: u64) {
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += u128::from(value);
        self.sum_of_squares += u128::from(value) * u128::from(value);
    }

    /// Adds the values behind `other`.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
    }
}

impl<const N: usize> Histogram<N> {
    /// A histogram of no values.
    pub const EMPTY: Self = Self { moments: Moments::EMPTY, buckets: [0; N] };

    /// Adds a value.
    pub fn record(&mut self, value: u64) {
        self.moments.record(value);
        self.buckets[bucket_of(value).min(N - 1)] += 1;
    }

    /// Adds what a guest sent of a histogram: its moments and, later, its filled buckets.
    pub fn add_moments(&mut self, moments: &Moments) {
        self.moments.merge(moments);
    }

    /// Adds `count` to a bucket; `None` if the guest named one that does not exist.
    pub fn add_bucket(&mut self, bucket: usize, count: u32) -> Option<()> {
        *self.buckets.get_mut(bucket)? += count;
        Some(())
    }

    /// Adds all values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        for (bucket, other) in self.buckets.iter_mut().zip(&other.buckets) {
            *bucket += other;
        }
    }

    /// What is known exactly.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// The filled buckets in ascending order: number and count.
    pub fn filled(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.buckets.iter().copied().enumerate().filter(|&(_, count)| count > 0)
    }

    /// The filled buckets in ascending order: the values they stand for and their count.
    pub fn ranges(&self) -> impl Iterator<Item = (Range<u64>, u32)> + '_ {
        self.filled().map(|(bucket, count)| (range_of(bucket), count))
    }

    /// The number of values in the buckets; equals `moments().count` unless a line was lost.
    pub fn bucket_total(&self) -> u64 {
        self.buckets.iter().map(|&count| u64::from(count)).sum()
    }

    /// The value below or at which `fraction` (0 to 1) of the values lie; 0 when there is none.
    pub fn quantile(&self, fraction: f64) -> u64 {
        let total = self.bucket_total();
        // At least one value, so that the quantile 0 is the minimum.
        let wanted = ((fraction * total as f64) - 1e-9).max(0.0) as u64 + 1;
        let mut seen = 0;
        for (range, count) in self.ranges() {
            seen += u64::from(count);
            if seen >= wanted.min(total) {
                let middle = range.start + (range.end - range.start - 1) / 2;
                return middle.clamp(self.moments.min, self.moments.max);
            }
        }
        0
    }
}

/// The bucket of a value in an unbounded histogram.
#[inline]
fn bucket_of(value: u64) -> usize {
    if value < SUB_BUCKETS as u64 {
        return value as usize;
    }
    let octave = value.ilog2() - SUB_BITS;
    let sub = (value >> octave) as usize - SUB_BUCKETS;
    (octave as usize + 1) * SUB_BUCKETS + sub
}

/// The values that fall into a bucket.
fn range_of(bucket: usize) -> Range<u64> {
    let (row, sub) = (bucket / SUB_BUCKETS, (bucket % SUB_BUCKETS) as u64);
    if row == 0 {
        return sub..sub + 1;
    }
    let octave = row as u32 - 1;
    let start = (SUB_BUCKETS as u64 + sub) << octave;
    start..start + (1 << octave)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_numbers() {
        let mut next = 0;
        for bucket in 0..TIME_BUCKETS {
            let range = range_of(bucket);
            assert_eq!(range.start, next, "bucket {bucket}");
            assert_eq!(bucket_of(range.start), bucket);
            assert_eq!(bucket_of(range.end - 1), bucket);
            next = range.end;
        }
        assert_eq!(next, 1 << 44);
    }

    #[test]
    fn small_values_are_exact_and_large_ones_close() {
        assert_eq!(range_of(bucket_of(127)), 127..128);
        let range = range_of(bucket_of(1_000_016));
        assert!(range.end - range.start <= 1_000_016 / 64);
    }

    #[test]
    fn one_value_is_exact_everywhere() {
        let mut histogram: Histogram = Histogram::EMPTY;
        for _ in 0..1000 {
            histogram.record(3_999_999);
        }
        assert_eq!(histogram.quantile(0.0), 3_999_999);
        assert_eq!(histogram.quantile(0.999), 3_999_999);
        assert_eq!(histogram.moments().variance(), 0.0);
        assert_eq!(histogram.moments().mean(), 3_999_999.0);
    }

    #[test]
    fn quantiles_of_small_numbers_are_ranks() {
        let mut histogram: Histogram<TICK_BUCKETS> = Histogram::EMPTY;
        (1..=100).for_each(|value| histogram.record(value));
        assert_eq!(histogram.quantile(0.5), 50);
        assert_eq!(histogram.quantile(0.99), 99);
        assert_eq!(histogram.quantile(1.0), 100);
    }

    #[test]
    fn variance_survives_a_large_offset() {
        let mut histogram: Histogram = Histogram::EMPTY;
        for value in [1_000_000_000_000, 1_000_000_000_002, 1_000_000_000_001] {
            histogram.record(value);
        }
        assert!((histogram.moments().variance() - 2.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn values_past_the_end_land_in_the_last_bucket() {
        let mut histogram: Histogram<TICK_BUCKETS> = Histogram::EMPTY;
        histogram.record(u64::MAX);
        assert_eq!(histogram.filled().collect::<alloc::vec::Vec<_>>(), [(TICK_BUCKETS - 1, 1)]);
        assert_eq!(histogram.quantile(0.5), u64::MAX);
    }
}
