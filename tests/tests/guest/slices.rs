//! Stints are whole ticks: they end at the first tick at which the slice is used up.
//!
//! Two hogs on one CPU take turns, so the whole run follows from the length of a stint.

use abi::{Cost, Costs, Op};
use eevdf::Preset;
use runner::{Experiment, RunResult};
use tests::{MS, US, assert_all, moments, run_passing, runtimes, task};

const DURATION_NS: u64 = 1_200 * MS;

/// Runs two hogs and checks every stint, every count and both run times.
fn assert_stints(experiment: Experiment, stint_ns: u64) {
    let result = run_passing(&experiment.hogs(2).duration_ns(DURATION_NS));
    let scenario = &result.plan.scenario;
    let case = format!(
        "{} HZ={} slice {} ns",
        scenario.rules.preset, scenario.hz, scenario.rules.base_slice_ns
    );
    for name in ["hog0", "hog1"] {
        let task = task(&result, name);
        assert_all(&task.stint, stint_ns, &format!("{case}: stints of {name}"));
        let ticks = stint_ns * u64::from(scenario.hz) / 1_000_000_000;
        assert_all(&task.stint_ticks, ticks, &format!("{case}: ticks in stints of {name}"));
        assert_eq!(task.counters.extra_ticks, 0, "{case}: extra ticks of {name}");
        assert_eq!(task.counters.preempt, 0, "{case}: preemptions of {name}");
    }

    // The first of the two has the odd stint, where there is one; the end of the run cuts the
    // stint of whose turn it is.
    let (whole, cut_ns) = (DURATION_NS / stint_ns, DURATION_NS % stint_ns);
    let (second, first) = (whole / 2 * stint_ns, whole.div_ceil(2) * stint_ns);
    let cut_is_firsts = whole.is_multiple_of(2);
    let mut expected =
        if cut_is_firsts { [first + cut_ns, second] } else { [first, second + cut_ns] };
    let mut got = runtimes(&result);
    expected.sort_unstable();
    got.sort_unstable();
    assert_eq!(got, expected, "{case}: run times");
    let counted: u64 = ["hog0", "hog1"].map(|name| task(&result, name).counters.slice).iter().sum();
    assert_eq!(counted, whole, "{case}: stints that the slice ended");
}

/// Tries (slice in us, stint in ms) pairs.
fn assert_table(hz: u32, table: &[(u64, u64)]) {
    for &(slice_us, stint_ms) in table {
        assert_stints(Experiment::new().hz(hz).base_slice_ns(slice_us * US), stint_ms * MS);
    }
}

#[test]
fn at_hz_1000_a_slice_is_rounded_up_to_a_millisecond() {
    let table = [(700, 1), (1400, 2), (2100, 3), (2800, 3), (3900, 4), (4100, 5), (8500, 9)];
    assert_table(1000, &table);
}

#[test]
fn at_hz_250_all_slices_below_4_ms_are_the_same() {
    let table = [(700, 4), (1400, 4), (2100, 4), (2800, 4), (3900, 4), (4100, 8), (8500, 12)];
    assert_table(250, &table);
}

#[test]
fn at_hz_100_all_slices_below_10_ms_are_the_same() {
    let table = [(700, 10), (1400, 10), (2100, 10), (2800, 10), (3900, 10), (4100, 10), (8500, 10)];
    assert_table(100, &table);
}

/// Equal tasks that never sleep leave the versions nothing to differ in but the slice timer.
#[test]
fn every_preset_rounds_alike() {
    for preset in Preset::ALL {
        let experiment = Experiment::new().preset(preset).feature(eevdf::Feature::Hrtick, false);
        assert_stints(experiment.base_slice_ns(2800 * US), 3 * MS);
    }
}

/// HRTICK ends slices where they end and not at the next tick.
#[test]
fn with_hrtick_a_slice_is_not_rounded() {
    let experiment = Experiment::new()
        .feature(eevdf::Feature::Hrtick, true)
        .hz(100)
        .base_slice_ns(2500 * US)
        .hogs(2)
        .duration_ns(DURATION_NS);
    let result = run_passing(&experiment);
    for name in ["hog0", "hog1"] {
        assert_all(&task(&result, name).stint, 2500 * US, name);
    }
    assert_eq!(runtimes(&result), [DURATION_NS / 2; 2]);
}

/// A task that runs alone has no slice timer; the one that wakes beside it sets one. The hog is
/// charged by ticks only, so its request is that of the tick at 10 ms: until 12.5 ms, and not until
/// the next tick.
#[test]
fn a_wake_up_sets_the_slice_timer_of_whoever_ran_alone() {
    let late = [Op::SleepUntil(11 * MS), Op::Run(5 * MS)].into_iter().collect();
    let experiment = Experiment::new()
        .preset(Preset::V7_3)
        .hz(100)
        .base_slice_ns(2500 * US)
        .duration_ns(30 * MS)
        .load(|load| {
            load.add("late".into(), late);
            load.hogs(1);
        });
    let result = run_passing(&experiment);
    assert_eq!(moments(&task(&result, "hog0").stint).max, 12_500 * US);
}

/// Two hogs with a slice timer, HZ=100 and slices of 8 ms; an interrupt takes 100 us, and the first
/// one begins the run.
fn with_costly_interrupts(preset: Preset, cost_ns: u32, duration_ns: u64) -> RunResult {
    let mut experiment = Experiment::new()
        .preset(preset)
        .feature(eevdf::Feature::Hrtick, true)
        .hz(100)
        .base_slice_ns(8 * MS)
        .duration_ns(duration_ns)
        .hogs(2);
    experiment.config.irq_cost_ns = 100 * US;
    experiment.config.costs = Costs::default().with(Cost::SliceTimer, cost_ns);
    run_passing(&experiment)
}

/// The slice timer measures the clock, a slice what is charged, and the timer's own interrupt is
/// the last 100 us of a stint. hog0 has no tick in its 8 ms. hog1 has one, so the timer comes with 100 us of the
/// slice left; it is eligible, and runs them, but that is two interrupts more for one slice.
#[test]
fn an_interrupt_makes_the_slice_timer_early() {
    let result = with_costly_interrupts(Preset::V7_0, 0, 20 * MS);
    assert_all(&task(&result, "hog0").stint, 8_100 * US, "hog0");
    assert_all(&task(&result, "hog1").stint, (8_000 + 300) * US, "hog1");
}

/// 7.3 sets the timer later by the average load of interrupts. After the first one that is 97 us (of 1024 ns)
/// in 46 718 + 97, or 2 of 1024, and 8 ms * 1024 / 1022 = 8.015655 ms.
#[test]
fn the_slice_timer_is_set_later_by_the_load_of_interrupts() {
    let result = with_costly_interrupts(Preset::V7_3, 0, 15 * MS);
    assert_all(&task(&result, "hog0").stint, 8_015_655 + 100 * US, "7.3");
}

/// What the timer takes to come is run time; the interrupt that it brings is not.
#[test]
fn a_slice_timer_that_takes_time_comes_late() {
    let result = with_costly_interrupts(Preset::V7_0, 25_000, 15 * MS);
    assert_all(&task(&result, "hog0").stint, 8_125 * US, "stint");
    assert_eq!(task(&result, "hog0").counters.charged_ns, 8_025 * US);
}
