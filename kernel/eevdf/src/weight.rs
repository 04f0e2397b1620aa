//! Nice levels, load weights and the conversion of real to virtual time.
//!
//! One nice level is worth about 10 % of CPU time between two tasks, which is a factor of about
//! 1.25 per step. Weights here are the small numbers of that table (nice 0 = 1024). Linux stores
//! them shifted left by ten on 64-bit machines and shifts them back for most uses; with whole tasks
//! only, and no fractions of a group's share, both scales give the same quotients.
//!
//! Source: `sched_prio_to_weight`, `sched_prio_to_wmult`, `__calc_delta()`; "sched/fair: Use full
//! weight to __calc_delta()" for the exact form.

use crate::variant::VtMath;

/// Weight of nice 0, and the fixed point of all conversions: its virtual time is real time.
pub const NICE_0_WEIGHT: u32 = 1024;

/// Weight of every `SCHED_IDLE` entity, whatever its nice level.
pub const IDLE_POLICY_WEIGHT: u32 = 3;

/// Weights of nice -20 to 19.
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, //
    9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277, //
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, //
    110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

const _: () = assert!(WEIGHTS[20] == NICE_0_WEIGHT);

/// A nice level, -20 (most weight) to 19 (least).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nice(i8);

impl Nice {
    /// The default level.
    pub const ZERO: Nice = Nice(0);
    /// The level with the most weight, -20.
    pub const MIN: Nice = Nice(-20);
    /// The level with the least weight, 19.
    pub const MAX: Nice = Nice(19);

    /// Returns the level, or `None` outside -20 to 19.
    pub const fn new(nice: i8) -> Option<Nice> {
        if nice < Self::MIN.0 || nice > Self::MAX.0 {
            return None;
        }
        Some(Nice(nice))
    }

    /// Returns the level as a number.
    pub const fn get(self) -> i8 {
        self.0
    }

    /// Returns the load weight of this level (nice 0 = 1024).
    pub const fn weight(self) -> u32 {
        WEIGHTS[(self.0 + 20) as usize]
    }
}

/// A load weight together with its reciprocal, so that charging needs no division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weight {
    weight: u32,
    /// floor(2^32 / weight). Not `u32::MAX / weight`: the two differ for powers of two.
    inverse: u32,
}

impl Weight {
    pub(crate) const fn new(weight: u32) -> Weight {
        assert!(weight > 1, "a weight of 0 or 1 has no 32-bit reciprocal");
        Weight { weight, inverse: ((1u64 << 32) / weight as u64) as u32 }
    }

    pub(crate) const fn get(self) -> u32 {
        self.weight
    }

    /// Converts real to virtual nanoseconds: `delta * 1024 / weight`.
    pub(crate) fn virtual_ns(self, delta_ns: u64, math: VtMath) -> u64 {
        if self.weight == NICE_0_WEIGHT {
            return delta_ns;
        }
        match math {
            VtMath::Exact => {
                let scaled = u128::from(delta_ns) * u128::from(NICE_0_WEIGHT);
                match u64::try_from(scaled) {
                    Ok(scaled) => scaled / u64::from(self.weight),
                    Err(_) => (scaled / u128::from(self.weight)) as u64,
                }
            }
            VtMath::Reciprocal => {
                // The multiplier loses its low bits until it fits 32 bits. That, not the final
                // shift, is what leaves the result a few parts per million short for light entities.
                let factor = u64::from(NICE_0_WEIGHT) * u64::from(self.inverse);
                let excess = 64u32.saturating_sub(factor.leading_zeros()).saturating_sub(32);
                let product = u128::from(delta_ns) * u128::from(factor >> excess);
                (product >> (32 - excess)) as u64
            }
        }
    }

    /// Converts virtual to real nanoseconds, rounding down.
    pub(crate) fn real_ns(self, virtual_ns: u64) -> u64 {
        (u128::from(virtual_ns) * u128::from(self.weight) / u128::from(NICE_0_WEIGHT)) as u64
    }
}
