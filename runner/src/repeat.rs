//! The same experiment with several seeds: how much its figures spread.
//!
//! The document of a repeated run is that of its first seed; each metric gets all values, and
//! the verdict is the worst of all. Under the virtual clock only what is random differs from
//! seed to seed; a load without anything random gives the same figures again.

use crate::{
    batch,
    error::{Error, Refusal},
    expect::Verdict,
    experiment::{Experiment, RunResult},
    progress::Progress,
    report::{Document, decimals},
};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// How often an experiment may be repeated.
pub const TIMES: RangeInclusive<u32> = 1..=1000;

/// What several runs gave of one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// In the order of the seeds; nothing where nothing was measured.
    pub values: Vec<Option<f64>>,
    /// Of those there are.
    pub mean: f64,
    /// The one in the middle, or the mean of the two there.
    pub median: f64,
    /// Standard deviation of the sample in percent of the mean.
    pub cv_pct: f64,
}

impl Spread {
    /// That of some values; nothing without any.
    pub fn of(values: Vec<Option<f64>>) -> Option<Self> {
        let mut known: Vec<f64> = values.iter().flatten().copied().collect();
        known.sort_by(f64::total_cmp);
        let count = known.len();
        if count == 0 {
            return None;
        }
        let mean = known.iter().sum::<f64>() / count as f64;
        let median = (known[(count - 1) / 2] + known[count / 2]) / 2.0;
        let squares: f64 = known.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        let cv_pct = if mean == 0.0 { 0.0 } else { 100.0 * deviation / mean.abs() };
        Some(Self { values, mean, median, cv_pct: decimals(cv_pct, 3) })
    }
}

/// Which runs a document stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    /// How many were asked for.
    pub asked: u32,
    /// The seeds of those that finished.
    pub seeds: Vec<u64>,
    /// Their verdicts.
    pub verdicts: Vec<Verdict>,
}

/// Runs that finished, and why there are no more.
#[derive(Debug)]
pub(crate) struct Finished {
    /// In the order of the seeds.
    pub(crate) results: Vec<RunResult>,
    /// What ended it early.
    pub(crate) error: Option<Error>,
}

/// Runs an experiment with so many seeds, from its own on.
///
/// # Errors
/// Nothing could run, or the seeds are used up.
pub(crate) fn run(experiment: &Experiment, times: u32) -> Result<Finished, Error> {
    if times == 1 {
        return Ok(Finished { results: vec![experiment.run()?], error: None });
    }
    let first = experiment.config.seed;
    first.checked_add(u64::from(times) - 1).ok_or_else(|| {
        let reason = format!("{times} seeds from here on do not exist");
        Refusal::new("--seed", first, reason)
    })?;
    let experiments: Vec<_> = (first..)
        .take(times as usize)
        .map(|seed| experiment.clone().seed(seed).labelled(&format!("seed{seed}")))
        .collect();
    let quiet = experiment.host.quiet || experiment.host.verbose;
    let progress = Progress::start("runs", experiments.len(), quiet);
    let mut finished = Finished { results: Vec::new(), error: None };
    for result in batch::run_all(&experiments, &progress)? {
        match result {
            Ok(result) => finished.results.push(result),
            // What broke says more than that the rest was left out.
            Err(error) => match (&finished.error, &error) {
                (Some(Error::Interrupted { .. }), Error::Interrupted { .. }) => {}
                (None | Some(Error::Interrupted { .. }), _) => finished.error = Some(error),
                (Some(_), _) => {}
            },
        }
    }
    Ok(finished)
}

/// The document of all runs; nothing without any.
pub(crate) fn document(results: &[RunResult], asked: u32) -> Option<Document> {
    let documents: Vec<Document> = results.iter().map(RunResult::document).collect();
    let mut merged = documents.first()?.clone();
    if asked == 1 {
        return Some(merged);
    }
    for (number, metric) in merged.metrics.iter_mut().enumerate() {
        let values = documents.iter().map(|document| document.metrics[number].value).collect();
        metric.repeats = Spread::of(values);
    }
    merged.repeat = Some(Repeats {
        asked,
        seeds: documents.iter().map(|document| document.config.seed).collect(),
        verdicts: documents.iter().map(|document| document.verdict).collect(),
    });
    let badness = |document: &&Document| match document.verdict {
        Verdict::Pass => 0,
        Verdict::Inconclusive => 1,
        Verdict::Fail => 2,
    };
    let worst = documents.iter().rev().max_by_key(badness).expect("there is a first one");
    merged.verdict = worst.verdict;
    if worst.config.seed != merged.config.seed {
        merged.expectations.clone_from(&worst.expectations);
        merged.reason = match worst.reason.as_str() {
            _ if worst.verdict == Verdict::Pass => String::new(),
            "" => format!("the run with seed {} did not pass", worst.config.seed),
            reason => format!("{reason} (seed {})", worst.config.seed),
        };
    }
    Some(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_the_values_that_there_are() {
        let spread = Spread::of(vec![Some(1.0), None, Some(3.0), Some(2.0)]).expect("there are");
        assert_eq!((spread.mean, spread.median, spread.cv_pct), (2.0, 2.0, 50.0));
        assert_eq!(spread.values.len(), 4);
        assert_eq!(Spread::of(vec![None]), None);
        let even = Spread::of(vec![Some(4.0), Some(1.0)]).expect("there are");
        assert_eq!(even.median, 2.5);
        assert_eq!(Spread::of(vec![Some(7.0)]).expect("there is").cv_pct, 0.0);
    }
}
