//! What programs measure: marks, counters, histograms.

use crate::arch::ThisCpu;
use abi::Histogram;
use abi::histogram::TIME_BUCKETS;
use alloc::boxed::Box;
use core::sync::atomic::{AtomicU64, Ordering};
use ksync::IrqLock;
use spin::Once;

const UNSET: u64 = u64::MAX;

static MARKS: Once<Box<[AtomicU64]>> = Once::new();
static COUNTERS: Once<Box<[AtomicU64]>> = Once::new();
static HISTOGRAMS: Once<Box<[IrqLock<Measured, ThisCpu>]>> = Once::new();

/// Memory that a histogram takes.
pub(super) const BYTES: usize = size_of::<IrqLock<Measured, ThisCpu>>();

struct Measured {
    histogram: Histogram<TIME_BUCKETS>,
    /// What the counter said that was last sampled into it.
    sampled: u64,
}

pub(super) fn init(marks: u32, counters: u32, histograms: u32) {
    let empty = || IrqLock::new(Measured { histogram: Histogram::EMPTY, sampled: 0 });
    MARKS.call_once(|| (0..marks).map(|_| AtomicU64::new(UNSET)).collect());
    COUNTERS.call_once(|| (0..counters).map(|_| AtomicU64::new(0)).collect());
    HISTOGRAMS.call_once(|| (0..histograms).map(|_| empty()).collect());
}

// Relaxed for marks and counters: the order in which tasks pass them is that of the
// semaphores, mutexes and queues between them.

fn mark_at(number: u32) -> &'static AtomicU64 {
    &MARKS.get().expect("marks exist before tasks run")[number as usize]
}

pub(super) fn mark(number: u32, now_ns: u64) {
    mark_at(number).store(now_ns, Ordering::Relaxed);
}

pub(super) fn marked_ns(number: u32) -> Option<u64> {
    Some(mark_at(number).load(Ordering::Relaxed)).filter(|&ns| ns != UNSET)
}

fn counter(number: u32) -> &'static AtomicU64 {
    &COUNTERS.get().expect("counters exist before tasks run")[number as usize]
}

pub(super) fn count(number: u32, by: u32) {
    counter(number).fetch_add(by.into(), Ordering::Relaxed);
}

fn measured(number: u32) -> &'static IrqLock<Measured, ThisCpu> {
    &HISTOGRAMS.get().expect("histograms exist before tasks run")[number as usize]
}

pub(super) fn record(number: u32, ns: u64) {
    measured(number).lock().histogram.record(ns);
}

pub(super) fn sample(number: u32, histogram: u32) {
    let value = counter(number).load(Ordering::Relaxed);
    let mut measured = measured(histogram).lock();
    let since = value - core::mem::replace(&mut measured.sampled, value);
    measured.histogram.record(since);
}

pub(super) fn clear(histogram: u32) {
    measured(histogram).lock().histogram = Histogram::EMPTY;
}

/// What all counters say, in order. After the run.
pub(crate) fn counters() -> impl Iterator<Item = u64> {
    let counters: &[AtomicU64] = COUNTERS.get().map_or(&[], |counters| counters);
    counters.iter().map(|counter| counter.load(Ordering::Relaxed))
}

/// Shows all histograms, in order. After the run.
pub(crate) fn histograms<E>(
    mut show: impl FnMut(u32, &Histogram<TIME_BUCKETS>) -> Result<(), E>,
) -> Result<(), E> {
    let all = HISTOGRAMS.get().map_or(&[][..], |histograms| histograms);
    (0..).zip(all).try_for_each(|(number, measured)| show(number, &measured.lock().histogram))
}
