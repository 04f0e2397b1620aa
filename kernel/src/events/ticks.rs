//! When ticks are due: the n-th n / HZ seconds after the start, rounded down to the nanosecond.
//!
//! Computed from n, so no error adds up at any HZ; from one tick to the next by carrying the
//! remainder along, so that a tick costs no division.

const NS_PER_S: u64 = 1_000_000_000;

/// The ticks of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    hz: u64,
    begin_ns: u64,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tick {
    /// Counted from the start, which is tick 0.
    pub(super) number: u64,
    pub(super) at_ns: u64,
    /// What was rounded off, in 1 / HZ ns.
    rest: u64,
}

impl Ticks {
    pub(super) const fn new(hz: u32, begin_ns: u64) -> Self {
        Self { hz: hz as u64, begin_ns }
    }

    /// The tick of that number.
    pub(super) fn nth(&self, number: u64) -> Tick {
        let exact = u128::from(number) * u128::from(NS_PER_S);
        let hz = u128::from(self.hz);
        Tick { number, at_ns: self.begin_ns + (exact / hz) as u64, rest: (exact % hz) as u64 }
    }

    /// The one after.
    pub(super) const fn after(&self, tick: Tick) -> Tick {
        let rest = tick.rest + NS_PER_S % self.hz;
        let carry = rest >= self.hz;
        Tick {
            number: tick.number + 1,
            at_ns: tick.at_ns + NS_PER_S / self.hz + carry as u64,
            rest: if carry { rest - self.hz } else { rest },
        }
    }

    /// The last tick that is not after a time.
    pub(super) fn last_until(&self, ns: u64) -> Tick {
        let since = u128::from(ns.saturating_sub(self.begin_ns));
        let hz = u128::from(self.hz);
        // The inverse of the rounding in `nth`: the least number whose time is past, less 1.
        self.nth(((since * hz + hz - 1) / u128::from(NS_PER_S)) as u64)
    }
}
