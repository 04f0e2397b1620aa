//! The figures of a result: those that its workload measured, or else what every run accounts for.

use super::{Content, Outcome, question::PUBLISHED};
use crate::{
    report::{Document, TaskDocument},
    workload::Better,
};
use std::collections::BTreeMap;

/// One figure, in all seeds that there are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// The test that it belongs to.
    pub(crate) test: String,
    /// Which case of it.
    pub(crate) case: String,
    /// In what it is measured.
    pub(crate) unit: String,
    /// Which way it should go; nothing where that depends on what is wanted.
    pub(crate) better: Option<Better>,
    /// By seed.
    pub(crate) values: Vec<f64>,
}

impl Outcome {
    /// All figures, those of one test together.
    pub(crate) fn figures(&self) -> Vec<Figure> {
        let test = || self.question().unwrap_or_else(|| "run".into());
        match &self.content {
            Content::Run(document) if document.metrics.is_empty() => accounted(&test(), document),
            Content::Run(document) => measured(&test(), document),
            Content::Question(question) => {
                let mut figures = Vec::new();
                for cell in &question.cells {
                    let measured = cell.columns.iter().filter(|(name, _)| name != PUBLISHED);
                    for (column, (name, value)) in measured
                        .flat_map(|(column, numbers)| numbers.iter().map(move |n| (column, n)))
                    {
                        let (name, unit, better) = known(name);
                        figures.push(Figure {
                            test: format!("{}, {column}: {name}", question.name),
                            case: cell.name(),
                            unit: unit.into(),
                            better,
                            values: vec![*value],
                        });
                    }
                }
                figures
            }
        }
    }
}

/// The figures that the workload names.
fn measured(test: &str, document: &Document) -> Vec<Figure> {
    let values = |metric: &crate::workload::Metric| match &metric.repeats {
        Some(spread) => spread.values.iter().flatten().copied().collect(),
        None => metric.value.into_iter().collect(),
    };
    let figure = |metric: &crate::workload::Metric| Figure {
        test: test.to_owned(),
        case: metric.name.clone(),
        unit: metric.unit.to_string(),
        better: Some(metric.better),
        values: values(metric),
    };
    document.metrics.iter().map(figure).collect()
}

/// What every run accounts for, for tasks of one kind together.
fn accounted(test: &str, document: &Document) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut add = |case: String, unit: &str, better, value: f64| {
        let (test, unit) = (test.to_owned(), unit.to_owned());
        figures.push(Figure { test, case, unit, better, values: vec![value] });
    };
    let kinds = kinds(&document.tasks);
    let seconds = (document.totals.elapsed_ns as f64 / 1e9).max(f64::MIN_POSITIVE);
    for (kind, tasks) in &kinds {
        let stints: u64 = tasks.iter().map(|task| task.stint_ns.count).sum();
        if stints > 0 {
            let sum: f64 =
                tasks.iter().map(|task| task.stint_ns.mean * task.stint_ns.count as f64).sum();
            add(format!("{kind} mean stint"), "ms", None, sum / stints as f64 / 1e6);
        }
    }
    for (kind, tasks) in &kinds {
        let extra: u64 = tasks.iter().map(|task| task.extra_ticks).sum();
        let ends: u64 = tasks.iter().map(|task| task.switches.total).sum();
        if ends > 0 {
            let share = 100.0 * extra as f64 / ends as f64;
            add(format!("{kind} extra ticks"), "% of stints", Some(Better::Lower), share);
        }
    }
    for (kind, tasks) in &kinds {
        let worst = |of: fn(&TaskDocument) -> u64| tasks.iter().map(|task| of(task)).max();
        if tasks.iter().any(|task| task.wakeup_latency_ns.count > 0) {
            for (name, of) in [
                ("p99", (|task| task.wakeup_latency_ns.p99) as fn(&TaskDocument) -> u64),
                ("max", |task| task.wakeup_latency_ns.max),
            ] {
                let us = worst(of).unwrap_or(0) as f64 / 1e3;
                add(format!("{kind} wake-up latency {name}"), "us", Some(Better::Lower), us);
            }
        }
    }
    for (kind, tasks) in &kinds {
        let ms = tasks.iter().map(|task| task.runtime_ns as f64).sum::<f64>() / 1e6;
        add(format!("{kind} CPU time"), "ms", None, ms);
    }
    add("switches".into(), "1/s", None, document.totals.switches as f64 / seconds);
    add("migrations".into(), "1/s", None, document.totals.migrations as f64 / seconds);
    figures
}

/// Tasks by what their names have in common: `hog0` and `hog1` are of the kind `hog`.
pub(crate) fn kinds(tasks: &[TaskDocument]) -> Vec<(String, Vec<&TaskDocument>)> {
    let mut kinds: Vec<(String, Vec<&TaskDocument>)> = Vec::new();
    let mut places = BTreeMap::new();
    for task in tasks {
        let kind = kind(&task.name);
        let place = *places.entry(kind.to_owned()).or_insert_with(|| {
            kinds.push((kind.to_owned(), Vec::new()));
            kinds.len() - 1
        });
        kinds[place].1.push(task);
    }
    kinds
}

/// A task's name without its number.
pub(crate) fn kind(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = stem.trim_end_matches(['-', '.', '_']);
    if stem.is_empty() { name } else { stem }
}

/// Name, unit and direction of a number in a question's cell, by its key.
pub(crate) fn known(key: &str) -> (String, &'static str, Option<Better>) {
    let words = |key: &str| key.replace('_', " ");
    let cut = |suffix: &str| key.strip_suffix(suffix).map(words);
    let lower = ["latency", "extra_tick", "error"].iter().any(|word| key.contains(word));
    let higher = ["throughput", "per_s", "rps"].iter().any(|word| key.contains(word));
    let better = if lower { Some(Better::Lower) } else { higher.then_some(Better::Higher) };
    for (suffix, unit) in [("_ms", "ms"), ("_us", "us"), ("_ns", "ns"), ("_share", "part of all")] {
        if let Some(name) = cut(suffix) {
            return (name, unit, better);
        }
    }
    (words(key), "number", better)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_one_kind_differ_in_a_number() {
        assert_eq!(
            (kind("hog12"), kind("decoder-0"), kind("7"), kind("x")),
            ("hog", "decoder", "7", "x")
        );
    }

    #[test]
    fn keys_say_unit_and_direction() {
        assert_eq!(known("avg_run_ms"), ("avg run".into(), "ms", None));
        assert_eq!(known("extra_tick_share").2, Some(Better::Lower));
        assert_eq!(known("p99_latency_us"), ("p99 latency".into(), "us", Some(Better::Lower)));
    }
}
