//! Random arrivals: a Poisson process per task, repeatable from the seed.
//!
//! Gaps are exponential by inversion, `-mean * ln(1 - u)`; the logarithm is `libm`'s, in
//! software, so that every compiler and machine gives the same arrivals.

use crate::task::TaskId;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// One task's stream.
pub(super) struct Arrivals {
    random: Xoshiro256PlusPlus,
    /// The last arrival; none before the first.
    last_ns: Option<u64>,
}

impl Arrivals {
    /// The stream of a task: all differ, whatever the seed.
    pub(super) fn new(seed: u64, task: TaskId) -> Self {
        let mut mix = SplitMix64::seed_from_u64(seed ^ u64::from(task) << 32);
        Self { random: Xoshiro256PlusPlus::seed_from_u64(mix.next_u64()), last_ns: None }
    }

    /// The next arrival, counted from the previous one, or from `start_ns`.
    pub(super) fn next(&mut self, start_ns: u64, mean_ns: u64) -> u64 {
        // Of 1 - u, which is never 0, so the logarithm is finite.
        let gap = -libm::log(1.0 - self.uniform()) * mean_ns as f64;
        let next = self.last_ns.unwrap_or(start_ns) + gap as u64;
        self.last_ns = Some(next);
        next
    }

    /// Whether something happens that does in `percent` of all cases. What never does draws
    /// nothing from the stream.
    pub(super) fn happens(&mut self, percent: u32) -> bool {
        percent > 0 && self.uniform() * 100.0 < f64::from(percent)
    }

    /// A double in [0, 1), one of 2^53.
    fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}
