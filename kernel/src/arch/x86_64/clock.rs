//! The time stamp counter, as nanoseconds since it was zero.
//!
//! Every rate is a 32.32 fixed-point factor, so that 1 GHz, the virtual clock's, converts
//! without any rounding. The TSCs of all CPUs are taken to be in step, which QEMU and every
//! machine with an invariant TSC guarantee; the start of the measured run is one instant on all.

use core::arch::x86_64::_rdtsc;
use spin::Once;

const NS_PER_S: u64 = 1_000_000_000;

static TSC: Once<Rate> = Once::new();
static LAPIC_TIMER: Once<Rate> = Once::new();

/// A counter's rate, ready for conversion.
#[derive(Clone, Copy, Debug)]
struct Rate {
    ns_per_count: u64,
    counts_per_ns: u64,
}

impl Rate {
    fn new(hz: u64) -> Self {
        let fixed = |numerator: u64, denominator: u64| {
            ((u128::from(numerator) << 32) / u128::from(denominator)) as u64
        };
        Self { ns_per_count: fixed(NS_PER_S, hz), counts_per_ns: fixed(hz, NS_PER_S) }
    }
}

fn scale(value: u64, factor: u64) -> u64 {
    ((u128::from(value) * u128::from(factor)) >> 32) as u64
}

/// Fixes the rates. Once, on the boot CPU, before any time is asked for.
pub(crate) fn set_rates(tsc_hz: u64, lapic_hz: u64) {
    TSC.call_once(|| Rate::new(tsc_hz));
    LAPIC_TIMER.call_once(|| Rate::new(lapic_hz));
}

fn tsc() -> &'static Rate {
    TSC.get().expect("the clock is calibrated before it is read")
}

fn lapic() -> &'static Rate {
    LAPIC_TIMER.get().expect("the timer is calibrated before it is used")
}

/// The counter itself.
pub(crate) fn cycles() -> u64 {
    // SAFETY: every x86_64 CPU has the instruction, and nothing here forbids it.
    unsafe { _rdtsc() }
}

/// Nanoseconds since the counter was zero.
pub(crate) fn now_ns() -> u64 {
    scale(cycles(), tsc().ns_per_count)
}

/// The same, or 0 before the clock is calibrated: for log lines.
pub(crate) fn now_ns_or_zero() -> u64 {
    TSC.get().map_or(0, |rate| scale(cycles(), rate.ns_per_count))
}

/// The counter's value at a time.
pub(crate) fn cycles_at(ns: u64) -> u64 {
    scale(ns, tsc().counts_per_ns)
}

/// How many units of the LAPIC timer a span has.
pub(crate) fn timer_counts(ns: u64) -> u64 {
    scale(ns, lapic().counts_per_ns)
}
