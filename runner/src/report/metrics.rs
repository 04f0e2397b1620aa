//! What a workload measured, as a table.

use super::{Document, output::table};
use crate::workload::Metric;

/// Figures shown one by one.
const SHOWN: usize = 32;

/// A line for each figure; of several runs the mean, the median and how much they spread.
pub(super) fn table_of(document: &Document) -> String {
    let metrics = &document.metrics;
    let shown = metrics.iter().take(SHOWN);
    let mut text = match &document.repeat {
        None => table(&["metric", "value", "unit"], shown.map(row)),
        Some(repeat) => {
            let mut head = vec!["metric".to_owned()];
            head.extend([format!("mean of {}", repeat.seeds.len())]);
            head.extend(["median", "CV", "unit"].map(str::to_owned));
            let head: Vec<&str> = head.iter().map(String::as_str).collect();
            table(&head, shown.map(spread_row))
        }
    };
    let left_out = metrics.len().saturating_sub(SHOWN);
    if left_out > 0 {
        text.push_str(&format!("and {left_out} more metrics; --json has all\n"));
    }
    if let Some(repeat) = document.repeat.as_ref().filter(|repeat| is_short(repeat)) {
        text.push_str(&format!("only {} of {} runs finished\n", repeat.seeds.len(), repeat.asked));
    }
    text
}

fn is_short(repeat: &crate::repeat::Repeats) -> bool {
    repeat.seeds.len() < repeat.asked as usize
}

fn row(metric: &Metric) -> Vec<String> {
    let value = metric.value.map_or("-".into(), number);
    vec![metric.name.clone(), value, metric.unit.to_string()]
}

fn spread_row(metric: &Metric) -> Vec<String> {
    let figures = metric.repeats.as_ref().map_or([(); 3].map(|()| "-".to_owned()), |spread| {
        [number(spread.mean), number(spread.median), format!("{:.2} %", spread.cv_pct)]
    });
    let mut row = vec![metric.name.clone()];
    row.extend(figures);
    row.push(metric.unit.to_string());
    row
}

/// Three decimals, or none where the number is whole.
pub(crate) fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}
