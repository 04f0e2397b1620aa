//! The table of a sweep: a line for each cell, seeds summed up in one.

use super::{
    results::{Ended, Results, label},
    spec::steps,
};
use crate::{
    cli::unknown,
    error::Refusal,
    expect::Verdict,
    repeat::Spread,
    report,
    results::{Content, Figure, Outcome},
};
use std::fmt::Write;

/// Figures shown where none is asked for.
const SHOWN: usize = 6;
/// The axis that lines sum up.
const SEED: &str = "seed";

/// A table of figures.
#[derive(Debug)]
pub(crate) struct Table {
    /// Names of the axes that vary, without the seed.
    axes: Vec<String>,
    /// Figures, each with its unit.
    figures: Vec<(String, String)>,
    rows: Vec<Row>,
    /// Cells without a result, and why.
    failures: Vec<String>,
    /// Cells whose expectations did not hold.
    broken: Vec<String>,
    ended: usize,
    cells: usize,
}

/// The cells that differ in their seed only.
#[derive(Debug)]
struct Row {
    /// Values of the axes.
    labels: Vec<String>,
    seeds: usize,
    /// By figure.
    spreads: Vec<Option<Spread>>,
}

impl Table {
    /// Sums up what has ended.
    pub(crate) fn new(results: &Results) -> Self {
        let axes = results.axes();
        let shown: Vec<usize> =
            (0..axes.len()).filter(|&n| axes[n].varies() && axes[n].name != SEED).collect();
        let mut table = Self {
            axes: shown.iter().map(|&number| axes[number].name.clone()).collect(),
            figures: Vec::new(),
            rows: Vec::new(),
            failures: Vec::new(),
            broken: Vec::new(),
            ended: results.ended().len(),
            cells: results.cells(),
        };
        // By row and figure, the values of all seeds.
        let mut values: Vec<Vec<Vec<Option<f64>>>> = Vec::new();
        for (&cell, ended) in results.ended() {
            let document = match ended {
                Ended::Done(document) => document,
                Ended::Failed(failure) => {
                    table.failures.push(format!("{}: {}", label(axes, cell), failure.cause));
                    continue;
                }
            };
            if document.verdict == Verdict::Fail {
                let what = document.expectations.iter().find(|expectation| !expectation.ok);
                let what = what.map_or("an expectation", |expectation| &expectation.what);
                table.broken.push(format!("{}: {what} did not hold", label(axes, cell)));
            }
            let steps = steps(axes, cell);
            let labels: Vec<_> = shown.iter().map(|&n| axes[n].label(steps[n])).collect();
            let row = match table.rows.iter().position(|row| row.labels == labels) {
                Some(row) => row,
                None => {
                    table.rows.push(Row { labels, seeds: 0, spreads: Vec::new() });
                    values.push(Vec::new());
                    table.rows.len() - 1
                }
            };
            table.rows[row].seeds += 1;
            let name = String::new();
            let outcome = Outcome { name, content: Content::Run(document.clone()) };
            for Figure { case, unit, values: measured, .. } in outcome.figures() {
                let figure = (case, unit);
                let number = match table.figures.iter().position(|known| *known == figure) {
                    Some(number) => number,
                    None => {
                        table.figures.push(figure);
                        table.figures.len() - 1
                    }
                };
                let row = &mut values[row];
                row.resize(row.len().max(number + 1), Vec::new());
                row[number].extend(measured.into_iter().map(Some));
            }
        }
        for (row, figures) in table.rows.iter_mut().zip(values) {
            row.spreads = figures.into_iter().map(Spread::of).collect();
            row.spreads.resize(table.figures.len(), None);
        }
        table
    }

    /// For the terminal: the figures asked for, or the first few.
    ///
    /// # Errors
    /// There is no such figure.
    pub(super) fn text(&self, metrics: &[String]) -> Result<String, Refusal> {
        let columns = self.columns(metrics)?;
        let (head, rows) = self.lines(&columns);
        let mut text = String::new();
        if !rows.is_empty() {
            let head: Vec<_> = head.iter().map(String::as_str).collect();
            text = report::table(&head, rows);
            text.push('\n');
        }
        let left_out = self.figures.len().saturating_sub(columns.len());
        if left_out > 0 && metrics.is_empty() {
            writeln!(text, "{left_out} more figures: --metric NAME shows one, --csv has all")
                .expect("a String takes everything");
        }
        for line in self.complaints() {
            writeln!(text, "{line}").expect("a String takes everything");
        }
        text.push_str(&self.summary());
        text.push('\n');
        Ok(text)
    }

    /// Head and lines with all figures.
    pub(crate) fn all(&self) -> (Vec<String>, Vec<Vec<String>>) {
        self.lines(&(0..self.figures.len()).collect::<Vec<_>>())
    }

    /// Head and lines with these figures.
    fn lines(&self, columns: &[usize]) -> (Vec<String>, Vec<Vec<String>>) {
        let has_seeds = self.rows.iter().any(|row| row.seeds > 1);
        let mut head: Vec<String> = self.axes.clone();
        if has_seeds {
            head.push("seeds".into());
        }
        for &column in columns {
            let (name, unit) = &self.figures[column];
            head.push(format!("{name}, {unit}"));
            if has_seeds {
                head.push("CV".into());
            }
        }
        let line = |row: &Row| {
            let mut cells = row.labels.clone();
            if has_seeds {
                cells.push(row.seeds.to_string());
            }
            for &column in columns {
                let spread = row.spreads[column].as_ref();
                cells.push(spread.map_or("-".into(), |spread| report::number(spread.mean)));
                if has_seeds {
                    cells.push(spread.map_or("-".into(), |s| format!("{:.2} %", s.cv_pct)));
                }
            }
            cells
        };
        (head, self.rows.iter().map(line).collect())
    }

    /// Cells that failed, and those that did not pass.
    pub(crate) fn complaints(&self) -> impl Iterator<Item = String> {
        self.failures
            .iter()
            .map(|line| format!("failed: {line}"))
            .chain(self.broken.iter().cloned())
    }

    /// How far it is.
    pub(crate) fn summary(&self) -> String {
        format!(
            "{} of {} cells: {} failed, {} did not pass",
            self.ended,
            self.cells,
            self.failures.len(),
            self.broken.len()
        )
    }

    fn columns(&self, metrics: &[String]) -> Result<Vec<usize>, Refusal> {
        if metrics.is_empty() || self.figures.is_empty() {
            return Ok((0..self.figures.len().min(SHOWN)).collect());
        }
        let names: Vec<&str> = self.figures.iter().map(|(name, _)| name.as_str()).collect();
        let find = |metric: &String| {
            names
                .iter()
                .position(|name| name == metric)
                .ok_or_else(|| Refusal::new("--metric", metric, unknown(metric, &names)))
        };
        metrics.iter().map(find).collect()
    }

    /// All figures, for programs.
    pub(super) fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let head = self.axes.iter().cloned().chain(["seeds".to_owned()]).chain(
            self.figures
                .iter()
                .flat_map(|(name, unit)| [format!("{name} [{unit}]"), format!("{name} CV [%]")]),
        );
        writer.write_record(head).expect("memory takes everything");
        for row in &self.rows {
            let seeds = row.seeds.to_string();
            let figures = row.spreads.iter().flat_map(|spread| match spread {
                Some(spread) => [spread.mean.to_string(), spread.cv_pct.to_string()],
                None => [String::new(), String::new()],
            });
            let cells = row.labels.iter().cloned().chain([seeds]).chain(figures);
            writer.write_record(cells).expect("memory takes everything");
        }
        let bytes = writer.into_inner().expect("memory takes everything");
        String::from_utf8(bytes).expect("it was made of text")
    }
}
