//! The three sums and how time passes over them.
//!
//! Sums change by [`Signals::update`] and by what joins or leaves a queue, which adds or takes an
//! average times the divider; so an average that is not zero has a sum that is not zero.

use crate::decay::{MAX_SUM, PERIOD, decay, sum_over};

/// The smallest divisor there is, at the start of a period.
const MIN_DIVIDER: u64 = MAX_SUM - PERIOD;

/// What held since the last update.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) load: u64,
    /// How many want to run.
    pub(crate) runnable: u64,
    pub(crate) is_running: bool,
}

/// Sums over the past, the latest period last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signals {
    /// Up to when the past is in the sums, ns; a whole number of us after the first update.
    pub(crate) updated_ns: u64,
    /// How much of the present period has passed, us.
    pub(crate) into_period: u64,
    pub(crate) load: u64,
    /// In units of 1/1024, as util.
    pub(crate) runnable: u64,
    pub(crate) util: u64,
}

impl Signals {
    /// Lets the time up to `now_ns` pass; returns whether a microsecond did. A clock that goes
    /// back lets nothing pass.
    pub(crate) fn update(&mut self, now_ns: u64, held: Held) -> bool {
        let us = now_ns.saturating_sub(self.updated_ns) >> 10;
        if us == 0 {
            return false;
        }
        self.updated_ns += us << 10;
        let passed = self.into_period + us;
        let (periods, into_period) = (passed / PERIOD, passed % PERIOD);
        let mut sum = us;
        if periods > 0 {
            for signal in [&mut self.load, &mut self.runnable, &mut self.util] {
                *signal = decay(*signal, periods);
            }
            sum = sum_over(PERIOD - self.into_period, periods, into_period);
        }
        self.into_period = into_period;
        self.load += held.load * sum;
        self.runnable += (held.runnable * sum) << 10;
        self.util += (u64::from(held.is_running) * sum) << 10;
        true
    }

    /// The sum of something that was always 1.
    pub(crate) fn divider(&self) -> u64 {
        MIN_DIVIDER + self.into_period
    }
}
