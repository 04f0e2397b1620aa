//! V, the weighted average vruntime: the point of zero lag.
//!
//! The lags of all entities of a queue add up to zero, hence `V = sum(w * v) / sum(w)`. The sum is
//! kept relative to a base, `S = sum(w * (v - base))`, because products with absolute clocks
//! overflow anything. An entity must not change its v or w while it is counted.
//!
//! 1. `mean()` rounds toward minus infinity. Truncation rounds up left of the base, and then an
//!    entity placed at V is not eligible.
//! 2. Where the base lies never shows in V: moving it is exact. It shows only in an empty queue, where V
//!    is the base.
//! 3. The sum is 128 bits wide. Linux keeps 64 bits and chases the overflows (base at the smallest
//!    v, base at V, base nudged toward heavy newcomers, weights shifted on demand); here no
//!    history of joins can reach 2^127.
//!
//! Source: Stoica & Abdel-Wahab, TR-95-22, section 3; "sched/fair: Add cfs_rq::avg_vruntime";
//! "sched/eevdf: Fix avg_vruntime()".

use crate::time::distance;

/// A weighted sum of vruntimes, relative to a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Average {
    base: u64,
    sum: i128,
    weight: u64,
}

impl Average {
    pub(crate) const fn new(base: u64) -> Average {
        Average { base, sum: 0, weight: 0 }
    }

    pub(crate) const fn base(&self) -> u64 {
        self.base
    }

    pub(crate) const fn sum(&self) -> i128 {
        self.sum
    }

    pub(crate) const fn weight(&self) -> u64 {
        self.weight
    }

    #[inline]
    pub(crate) fn add(&mut self, vruntime: u64, weight: u64) {
        self.sum += self.term(vruntime, weight);
        self.weight += weight;
    }

    #[inline]
    pub(crate) fn remove(&mut self, vruntime: u64, weight: u64) {
        assert!(
            weight <= self.weight,
            "weight {weight} leaves an average of weight {}",
            self.weight
        );
        self.sum -= self.term(vruntime, weight);
        self.weight -= weight;
    }

    /// Lets an entity that is counted run on by so much virtual time.
    #[inline]
    pub(crate) fn advance(&mut self, virtual_ns: u64, weight: u64) {
        self.sum += product(virtual_ns as i64, weight);
    }

    /// Returns the average with one more entity in it.
    #[cfg(test)]
    pub(crate) fn with(mut self, vruntime: u64, weight: u64) -> Average {
        self.add(vruntime, weight);
        self
    }

    /// Returns V, rounded toward minus infinity; the base if nothing is counted.
    #[inline]
    pub(crate) fn mean(&self) -> u64 {
        // Where the base follows V it mostly is V.
        if (self.sum as u128) < u128::from(self.weight) || self.weight == 0 {
            return self.base;
        }
        // 64 bits suffice nearly always and divide many times faster.
        let offset = match i64::try_from(self.sum) {
            Ok(sum) => {
                // The floor by an unsigned division: left of zero, floor(s / w) is !(!s / w), where
                // !s is -1 - s. A signed one would ask for two cases that cannot be.
                let sign = sum >> 63;
                ((sum ^ sign) as u64 / self.weight) as i64 ^ sign
            }
            // Euclidean division by a positive number is the floor.
            Err(_) => self.sum.div_euclid(i128::from(self.weight)) as i64,
        };
        self.base.wrapping_add_signed(offset)
    }

    /// Tells whether an entity at `vruntime` has non-negative lag.
    ///
    /// Not `vruntime <= mean()`: the division would cost more, and a counted entity would be
    /// compared with a rounded V.
    #[inline]
    pub(crate) fn is_eligible(&self, vruntime: u64) -> bool {
        self.sum >= self.term(vruntime, self.weight)
    }

    /// Moves the base without moving V.
    #[inline]
    pub(crate) fn rebase(&mut self, base: u64) {
        self.sum -= self.term(base, self.weight);
        self.base = base;
    }

    fn term(&self, vruntime: u64, weight: u64) -> i128 {
        product(distance(vruntime, self.base), weight)
    }
}

/// Multiplies exactly. Weights stay far below 2^63; widened from a signed number, they make this one
/// instruction instead of three.
const fn product(distance: i64, weight: u64) -> i128 {
    distance as i128 * (weight as i64) as i128
}

#[cfg(test)]
mod tests;
