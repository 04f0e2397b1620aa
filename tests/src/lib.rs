//! What the guest tests share: times, running an experiment or failing with the reason, and
//! reading results.
//!
//! The tests are in `tests/guest`, one file per theme and one test per scenario. Each boots the
//! real kernel in QEMU, through the same library as the command. Under the virtual clock a
//! result repeats to the nanosecond, so they assert exact values and not ranges; where a range
//! is all that can be said, the test says why.

use abi::histogram::Moments;
use runner::{
    Error, Experiment, RunResult,
    expect::Verdict,
    records::{Distribution, TaskRecords},
};
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write};

/// A microsecond in ns.
pub const US: u64 = 1_000;
/// A millisecond in ns.
pub const MS: u64 = 1_000_000;
/// A second in ns.
pub const SECOND: u64 = 1_000_000_000;

/// Runs a guest to its end.
///
/// # Panics
/// If there is no result, with the reason and the guest's last lines. A missing QEMU or target
/// is a failure too: a test that did not run has not passed.
pub fn run(experiment: &Experiment) -> RunResult {
    experiment.run().unwrap_or_else(|error| panic!("{}", explain(&error)))
}

/// Runs a guest and checks what must hold in every run.
///
/// # Panics
/// As [`run`] does, and if an expectation does not hold.
pub fn run_passing(experiment: &Experiment) -> RunResult {
    let result = run(experiment);
    let judgement = result.judge();
    assert_eq!(judgement.verdict, Verdict::Pass, "{:#?}", judgement.expectations);
    result
}

/// What a test says when there is no result.
pub fn explain(error: &Error) -> String {
    let mut text = format!("no result: {error}");
    if let Error::Setup(_) = error {
        text.push_str("\nThese tests boot guests in QEMU. Run ./setup once, then test again.");
    }
    for line in error.console() {
        write!(text, "\n| {line}").expect("a String takes everything");
    }
    text
}

/// The records of the task of that name.
///
/// # Panics
/// If there is none.
pub fn task<'a>(result: &'a RunResult, name: &str) -> &'a TaskRecords {
    let number = result.task_number(name).unwrap_or_else(|| panic!("there is no task {name}"));
    &result.records.tasks[number]
}

/// The run times of all tasks in order, ns.
pub fn runtimes(result: &RunResult) -> Vec<u64> {
    result.records.tasks.iter().map(|task| task.counters.runtime_ns).collect()
}

/// Parts of the run time of all tasks in order, in percent.
pub fn shares(result: &RunResult) -> Vec<f64> {
    let runtimes = runtimes(result);
    let all: u64 = runtimes.iter().sum();
    runtimes.into_iter().map(|runtime| 100.0 * runtime as f64 / all as f64).collect()
}

/// What is exactly known of a distribution.
pub fn moments(distribution: &Distribution) -> &Moments {
    distribution.histogram().moments()
}

/// Checks that every value of a distribution is `value`, and that there is one.
///
/// # Panics
/// If not; `what` names the distribution.
pub fn assert_all(distribution: &Distribution, value: u64, what: &str) {
    let Moments { count, min, max, .. } = *moments(distribution);
    assert!(count > 0, "{what}: there is no value");
    assert_eq!((min, max), (value, value), "{what}: smallest and largest of {count} values");
}

/// How many stints of a task saw how many ticks.
pub fn stint_ticks(task: &TaskRecords) -> BTreeMap<u64, u32> {
    // Counts below 128 ticks have a bucket of their own.
    let ranges = task.stint_ticks.histogram().ranges();
    ranges.map(|(range, count)| (range.start, count)).collect()
}

/// Stints of a task that ended before the run did.
pub fn finished_stints(task: &TaskRecords) -> u64 {
    let ends = &task.counters;
    ends.slice + ends.preempt + ends.block + ends.yields + ends.migrate + ends.exit
}

/// The result document without the one value that may differ between identical runs.
///
/// # Panics
/// If the document has no such value.
pub fn repeatable_document(result: &RunResult) -> Value {
    let mut document =
        serde_json::to_value(result.document()).expect("every document can be written");
    let totals = document["totals"].as_object_mut().expect("a document has totals");
    totals.remove("wall_s").expect("totals have the host's time");
    document
}
