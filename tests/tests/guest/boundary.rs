//! Slices that are a whole number of ticks: what a tick charges decides about one tick more.
//!
//! A tick that charges a microsecond less than its length makes three ticks less than 3 ms; so
//! does interrupt time that nobody is charged for. Then a slice of 3 ms takes four ticks and
//! one of 2.8 ms still three, which is why the default was lowered from 0.75 ms times four.

use runner::Experiment;
use std::collections::BTreeMap;
use tests::{MS, US, moments, run_passing, stint_ticks, task};

const DURATION_NS: u64 = 1_200 * MS;

struct Case {
    slice_us: u64,
    tick_error_ns: i64,
    irq_cost_ns: u64,
    ticks: u64,
}

/// Both the number of ticks in each stint and the count of extra ticks follow from the case.
fn assert_ticks(case: &Case) {
    let &Case { slice_us, tick_error_ns, irq_cost_ns, ticks } = case;
    let mut experiment =
        Experiment::new().hz(1000).base_slice_ns(slice_us * US).hogs(2).duration_ns(DURATION_NS);
    experiment.config.tick_error_ns = tick_error_ns;
    experiment.config.irq_cost_ns = irq_cost_ns;
    let result = run_passing(&experiment);
    let is_extra = ticks > slice_us.div_ceil(1000);
    let stints = DURATION_NS / (ticks * MS) / 2;
    let mut total_ns = 0;
    for name in ["hog0", "hog1"] {
        let task = task(&result, name);
        let what = format!("slice {slice_us} us, error {tick_error_ns} ns, {name}");
        let expected = BTreeMap::from([(ticks, stints as u32)]);
        assert_eq!(stint_ticks(task), expected, "{what}");
        assert_eq!(task.counters.slice, stints, "{what}");
        assert_eq!(task.counters.extra_ticks, if is_extra { stints } else { 0 }, "{what}");
        // Each tick charges its error on top and leaves its cost out.
        let charged = (DURATION_NS / 2).saturating_add_signed(tick_error_ns * 600);
        assert_eq!(task.counters.charged_ns, charged - irq_cost_ns * 600, "{what}");
        total_ns += moments(&task.stint).sum;
    }
    // The run's first interrupt costs as much as a tick does, before anybody runs.
    assert_eq!(total_ns, u128::from(DURATION_NS - irq_cost_ns));
}

#[test]
fn exact_ticks_fit_a_slice_of_three() {
    assert_ticks(&Case { slice_us: 3000, tick_error_ns: 0, irq_cost_ns: 0, ticks: 3 });
    assert_ticks(&Case { slice_us: 2800, tick_error_ns: 0, irq_cost_ns: 0, ticks: 3 });
}

#[test]
fn ticks_a_microsecond_early_cost_a_fourth() {
    assert_ticks(&Case { slice_us: 3000, tick_error_ns: -1000, irq_cost_ns: 0, ticks: 4 });
    assert_ticks(&Case { slice_us: 2800, tick_error_ns: -1000, irq_cost_ns: 0, ticks: 3 });
}

#[test]
fn late_ticks_change_nothing() {
    assert_ticks(&Case { slice_us: 3000, tick_error_ns: 5000, irq_cost_ns: 0, ticks: 3 });
    assert_ticks(&Case { slice_us: 2800, tick_error_ns: 5000, irq_cost_ns: 0, ticks: 3 });
}

#[test]
fn interrupt_time_costs_a_fourth_tick() {
    assert_ticks(&Case { slice_us: 3000, tick_error_ns: 0, irq_cost_ns: 5000, ticks: 4 });
    assert_ticks(&Case { slice_us: 2800, tick_error_ns: 0, irq_cost_ns: 5000, ticks: 3 });
}
