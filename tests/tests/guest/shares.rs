//! CPU time is divided by weight.
//!
//! A minute at HZ=1000: a share may be off by the lag that is left at the end, some ticks of
//! the lighter task, which is below a tenth of a point.

use abi::scenario::Policy;
use runner::Experiment;
use tests::{SECOND, run_passing, runtimes, shares};

const DURATION_NS: u64 = 60 * SECOND;
const TOLERANCE_POINTS: f64 = 0.1;

fn assert_shares(experiment: &Experiment, expected: &[f64]) {
    let result = run_passing(experiment);
    let got = shares(&result);
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        assert!((got - expected).abs() <= TOLERANCE_POINTS, "{got:.3} %, expected {expected} %");
    }
    assert_eq!(runtimes(&result).iter().sum::<u64>(), DURATION_NS);
}

fn hogs_of_nice(nice: &[i8]) -> Experiment {
    Experiment::new().hogs(nice.len()).load(|load| load.nice(nice)).duration_ns(DURATION_NS)
}

#[test]
fn nice_0_against_nice_1() {
    assert_shares(&hogs_of_nice(&[0, 1]), &[55.53, 44.47]);
}

#[test]
fn nice_0_against_nice_5() {
    assert_shares(&hogs_of_nice(&[0, 5]), &[75.35, 24.65]);
}

#[test]
fn nice_0_against_nice_10() {
    assert_shares(&hogs_of_nice(&[0, 10]), &[90.30, 9.70]);
}

#[test]
fn nice_0_against_nice_19() {
    assert_shares(&hogs_of_nice(&[0, 19]), &[98.56, 1.44]);
}

#[test]
fn two_of_nice_0_against_nice_5() {
    assert_shares(&hogs_of_nice(&[0, 0, 5]), &[42.97, 42.97, 14.06]);
}

/// SCHED_IDLE weighs 3, nice 0 weighs 1024.
#[test]
fn an_idle_task_against_a_normal_one() {
    let policies = [Policy::Idle, Policy::Normal];
    let experiment =
        Experiment::new().hogs(2).load(|load| load.policies(&policies)).duration_ns(DURATION_NS);
    assert_shares(&experiment, &[100.0 * 3.0 / 1027.0, 100.0 * 1024.0 / 1027.0]);
}
