//! What `slices --against linux` compares, where both sides are plain: four busy tasks, nothing
//! else, exact to the nanosecond here. Linux 6.12.117 has 99.5 to 99.9 % of its runs there.

use eevdf::{Feature, Preset};
use runner::{Experiment, RunResult};
use tests::{MS, US, assert_all, finished_stints, run_passing, task};

/// A tick of Linux with IRQ time accounting: 2580 instructions of 8 ns.
const IRQ_COST_NS: u64 = 20_640;
/// Not a whole number of stints, so that the end of the run cuts one that is not counted.
const DURATION_NS: u64 = 1_202 * MS;

fn run(preset: Preset, hz: u32, base_slice_ns: u64, irq_cost_ns: u64) -> RunResult {
    let mut experiment = Experiment::new()
        .preset(preset)
        .hz(hz)
        .base_slice_ns(base_slice_ns)
        .hogs(4)
        .duration_ns(DURATION_NS);
    experiment.config.irq_cost_ns = irq_cost_ns;
    run_passing(&experiment)
}

/// Checks every stint, and how many there are.
fn assert_stints(result: &RunResult, stint_ns: u64, case: &str) {
    for name in ["hog0", "hog1", "hog2", "hog3"] {
        assert_all(&task(result, name).stint, stint_ns, &format!("{case}: {name}"));
    }
    let stints: u64 = result.records.tasks.iter().map(finished_stints).sum();
    assert_eq!(stints, DURATION_NS / stint_ns, "{case}");
}

/// With the tick's own time left out, three ticks are 2.94 ms: enough for 2.8, not for 3 ms.
#[test]
fn at_hz_1000_linux_6_12_needs_a_fourth_tick_for_3_ms_only() {
    assert_stints(&run(Preset::V6_12, 1000, 2_800 * US, IRQ_COST_NS), 3 * MS, "2.8 ms");
    assert_stints(&run(Preset::V6_12, 1000, 3 * MS, IRQ_COST_NS), 4 * MS, "3 ms");
}

/// Linux 7.3 ends slices by a timer unless told otherwise.
#[test]
fn at_hz_250_linux_7_3_follows_the_slice_by_default() {
    assert!(Preset::V7_3.features().contains(Feature::Hrtick));
    assert_stints(&run(Preset::V7_3, 250, 3 * MS, 0), 3 * MS, "HRTICK");
}
