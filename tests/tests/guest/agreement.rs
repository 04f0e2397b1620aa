//! Agreement with a real Linux 6.12.117 in the same QEMU 7.2 (measured 2026-11-30; HZ=100,
//! PREEMPT_NONE, IRQ time accounting on, `-icount shift=3`, one CPU).
//!
//! Load: four processes that spin, and one that wakes at random, with exponential gaps, for
//! 20 us. Compared is the average run of the four, total run time over switches. Both sides are
//! one random sample of arrivals, theirs of 30 s, so they cannot agree better than to about a
//! percent, and the longer a slice, the more of its runs a wake-up cuts.

use eevdf::Preset;
use runner::{Experiment, RunResult};
use tests::{MS, SECOND, US, finished_stints, run_passing};

const HOGS: usize = 4;
const SLICES_MS: [u64; 6] = [3, 6, 9, 12, 22, 32];

/// Linux's average runs in ms by slice, with so many wake-ups a second.
const LINUX_25: [f64; 6] = [8.857, 9.031, 8.870, 14.803, 18.492, 20.939];
const LINUX_45: [f64; 6] = [8.116, 8.463, 8.181, 12.453, 14.321, 15.502];
const LINUX_65: [f64; 6] = [7.446, 7.958, 7.675, 10.652, 11.745, 12.235];

fn average_run_ms(result: &RunResult) -> f64 {
    let hogs = &result.records.tasks[..HOGS];
    let runtime: u64 = hogs.iter().map(|task| task.counters.runtime_ns).sum();
    let switches: u64 = hogs.iter().map(finished_stints).sum();
    runtime as f64 / switches as f64 / 1e6
}

fn assert_agrees(preset: Preset, rate: f64, linux_ms: [f64; 6], tolerance_pct: f64) {
    let mut misses = Vec::new();
    for (slice_ms, linux_ms) in SLICES_MS.into_iter().zip(linux_ms) {
        let experiment = Experiment::new()
            .preset(preset)
            .hz(100)
            .base_slice_ns(slice_ms * MS)
            .hogs(HOGS)
            .load(|load| load.background(rate, 20 * US, 0).expect("both are in range"))
            .duration_ns(60 * SECOND);
        let result = run_passing(&experiment);
        let cpu = &result.records.cpus[0].counters;
        assert_eq!((cpu.ticks, cpu.missed_ticks), (6000, 0));
        let ours_ms = average_run_ms(&result);
        let difference_pct = 100.0 * (ours_ms / linux_ms - 1.0);
        let line = format!(
            "slice {slice_ms} ms: {ours_ms:.3} ms, Linux {linux_ms} ms, {difference_pct:+.2} %"
        );
        println!("{line}");
        if difference_pct.abs() > tolerance_pct {
            misses.push(line);
        }
    }
    assert!(misses.is_empty(), "more than {tolerance_pct} % off:\n{}", misses.join("\n"));
}

/// Measured: -0.76, -0.24, +0.32, +0.54, +0.24, -0.28 %.
#[test]
fn average_runs_with_45_wakeups_a_second() {
    assert_agrees(Preset::V6_12, 45.0, LINUX_45, 1.5);
}

/// The rules that decide about this load are the same in both versions.
#[test]
fn average_runs_with_45_wakeups_a_second_under_the_rules_of_6_8() {
    assert_agrees(Preset::V6_8, 45.0, LINUX_45, 1.5);
}

/// Measured: -0.67, +0.79, +0.64, +0.90, +1.57, +3.62 %.
#[test]
fn average_runs_with_25_wakeups_a_second() {
    assert_agrees(Preset::V6_12, 25.0, LINUX_25, 4.0);
}

/// Measured: -0.86, -1.88, -2.21, -0.38, -3.19, -0.68 %.
#[test]
fn average_runs_with_65_wakeups_a_second() {
    assert_agrees(Preset::V6_12, 65.0, LINUX_65, 4.0);
}
