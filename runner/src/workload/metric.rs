//! What a workload measures, and the figures that come of it.

use super::Workload;
use crate::{records::Records, repeat::Spread, report::Dist};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, ops::Range};

/// Which way a figure should go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// Which of a distribution's figures stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the usual statistics")]
pub enum Stat {
    Min,
    Mean,
    P50,
    P90,
    P99,
    P999,
    Max,
}

/// Where a figure comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// What a counter says.
    Counter(u32),
    /// A counter by the second of the run.
    Rate(u32),
    /// The sum of counters by the second of the run.
    Rates(Vec<u32>),
    /// The run's length for each count, ns.
    TimePer(u32),
    /// A figure of a histogram.
    Histogram(u32, Stat),
    /// When a goal was reached, ns; nothing where it was not.
    Reached(Goal),
    /// The CPU time of these tasks by the second of the run, ns.
    Runtime(Range<usize>),
}

/// What has to be done before a run's time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// What is done so often, in words.
    pub what: &'static str,
    /// The histogram that gets the time of each.
    pub histogram: u32,
    /// How often it has to be done.
    pub times: u64,
}

impl Goal {
    /// How often it was done.
    pub fn done(&self, records: &Records) -> u64 {
        records.histograms[self.histogram as usize].histogram().moments().count
    }

    /// When it was done for the last time, if it was done as often as it had to be, ns.
    pub fn reached_ns(&self, records: &Records) -> Option<u64> {
        let moments = records.histograms[self.histogram as usize].histogram().moments();
        (moments.count >= self.times).then_some(moments.max)
    }
}

/// One figure that a workload gives.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricSpec {
    /// What it is called, in words that scripts can use as a key.
    pub name: String,
    /// In what it is measured.
    pub unit: &'static str,
    /// Which way it should go.
    pub better: Better,
    /// Where it comes from.
    pub reading: Reading,
    /// What the reading is divided by to be in that unit.
    pub per_unit: f64,
}

/// One figure of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// What it is called.
    pub name: String,
    /// In what it is measured.
    pub unit: Cow<'static, str>,
    /// Which way it should go.
    pub better: Better,
    /// The figure; nothing where nothing was measured.
    pub value: Option<f64>,
    /// All that was measured, in ns or as sampled, where that is a distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Dist>,
    /// What its values are to be divided by to be in `unit`.
    #[serde(default, rename = "distribution_per_unit", skip_serializing_if = "Option::is_none")]
    pub per_unit: Option<f64>,
    /// The figure in all runs, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Spread>,
}

impl MetricSpec {
    /// The figure that a run gave.
    pub fn read(&self, records: &Records) -> Metric {
        let elapsed_ns = records.total.elapsed_ns as f64;
        let count = |counter: u32| records.counters[counter as usize] as f64;
        let (value, distribution) = match &self.reading {
            &Reading::Counter(counter) => (Some(count(counter)), None),
            &Reading::Rate(counter) => (Some(count(counter) * 1e9 / elapsed_ns), None),
            Reading::Rates(counters) => {
                let sum: f64 = counters.iter().map(|&counter| count(counter)).sum();
                (Some(sum * 1e9 / elapsed_ns), None)
            }
            &Reading::TimePer(counter) => {
                let times = count(counter);
                ((times > 0.0).then(|| elapsed_ns / times), None)
            }
            &Reading::Histogram(histogram, stat) => {
                let dist = Dist::from(records.histograms[histogram as usize].histogram());
                (dist.stat(stat), Some(dist))
            }
            Reading::Reached(goal) => (goal.reached_ns(records).map(|ns| ns as f64), None),
            Reading::Runtime(tasks) => {
                let runtime = |task: usize| records.tasks[task].counters.runtime_ns as f64;
                (Some(tasks.clone().map(runtime).sum::<f64>() * 1e9 / elapsed_ns), None)
            }
        };
        Metric {
            name: self.name.clone(),
            unit: self.unit.into(),
            better: self.better,
            value: value.filter(|value| value.is_finite()).map(|value| value / self.per_unit),
            per_unit: distribution.is_some().then_some(self.per_unit),
            distribution,
            repeats: None,
        }
    }
}

impl Workload {
    /// Adds a figure that a run gives: `reading` divided by `per_unit`, in `unit`.
    pub fn measure(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        better: Better,
        reading: Reading,
        per_unit: f64,
    ) {
        self.metrics.push(MetricSpec { name: name.into(), unit, better, reading, per_unit });
    }
}
