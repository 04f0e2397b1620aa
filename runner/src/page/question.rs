//! A question: its answer, the table beside the published one, and both drawn.

use super::{
    Section, parts,
    plot::{self, Axes, Ink, Scale, Series},
};
use crate::{
    report,
    results::{
        Question, known,
        question::{Cell, PUBLISHED, shown, title},
    },
};
use maud::{Markup, html};

/// The section of a question.
pub(super) fn section(question: &Question) -> Section {
    let body = html! {
        @if !question.answer.is_empty() {
            div.answer { @for line in &question.answer { p { (line) } } }
        }
        @if let Some(verdict) = question.verdict { p { (parts::verdict(verdict)) } }
        h2 { "Published and measured" }
        @for cells in shapes(&question.cells) {
            (table(cells))
            @for figure in figures(cells) { (figure) }
        }
        @if question.cells.is_empty() { p { "No cell has numbers." } }
        (parts::repeat(&question.command))
        @if !question.settings.is_empty() {
            h2 { "Configuration" }
            (parts::list(&settings(question)))
        }
    };
    let name = question.title.clone().unwrap_or_else(|| question.name.clone());
    Section { title: name, body }
}

fn settings(question: &Question) -> Vec<(String, String)> {
    question.settings.iter().map(|(key, value)| (title(key), shown(key, value))).collect()
}

/// Cells that follow each other and are of the same kind: each kind is a table by itself.
fn shapes(cells: &[Cell]) -> impl Iterator<Item = &[Cell]> {
    cells.chunk_by(|a, b| {
        let names = |cell: &Cell| {
            let identity = cell.identity.iter().map(|(key, _)| key.clone());
            identity.chain(cell.columns.iter().map(|(name, _)| name.clone())).collect::<Vec<_>>()
        };
        names(a) == names(b)
    })
}

/// One line for each cell; the columns of numbers under their names.
fn table(cells: &[Cell]) -> Markup {
    let first = &cells[0];
    let columns: Vec<(&str, Vec<&str>)> =
        first.columns.iter().map(|(name, _)| (name.as_str(), keys(cells, name))).collect();
    html! {
        div.scroll { table {
            thead {
                tr.groups {
                    th colspan=(first.identity.len()) {}
                    @for (name, keys) in &columns {
                        th scope="colgroup" colspan=(keys.len()) { (title(name)) }
                    }
                    @if !first.drawn.is_empty() { th colspan=(first.drawn.len()) {} }
                }
                tr {
                    @for (key, _) in &first.identity { th scope="col" { (title(key)) } }
                    @for (_, keys) in &columns { @for key in keys {
                        @let (name, unit, _) = known(key);
                        th scope="col" { (name) @if unit != "number" { ", " (unit) } }
                    } }
                    @for (key, _) in &first.drawn { th scope="col" { (title(key)) } }
                }
            }
            tbody { @for cell in cells { tr {
                @for (key, value) in &cell.identity { td { (shown(key, value)) } }
                @for (name, keys) in &columns { @for key in keys {
                    td { @match value(cell, name, key) {
                        Some(value) => (report::number(value)),
                        None => "-",
                    } }
                } }
                @for (_, value) in &cell.drawn { td { (format!("{value:+.1} %")) } }
            } } }
        } }
    }
}

/// The numbers that a column has in any of the cells: some cells lack some.
fn keys<'a>(cells: &'a [Cell], column: &str) -> Vec<&'a str> {
    let mut keys: Vec<&str> = Vec::new();
    let columns = cells.iter().flat_map(|cell| &cell.columns).filter(|(name, _)| name == column);
    for (key, _) in columns.flat_map(|(_, numbers)| numbers) {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    keys
}

/// A number of a cell, if it has that one.
fn value(cell: &Cell, column: &str, key: &str) -> Option<f64> {
    let (_, numbers) = cell.columns.iter().find(|(name, _)| name == column)?;
    numbers.iter().find(|(name, _)| name == key).map(|&(_, value)| value)
}

/// Every number that was published, beside what was measured of it. Cells that differ in the first
/// part of their name are drawn apart.
fn figures(cells: &[Cell]) -> Vec<Markup> {
    let mut figures = Vec::new();
    let first = &cells[0];
    for key in keys(cells, PUBLISHED) {
        for (group, cells) in groups(cells) {
            let (name, unit, _) = known(key);
            let value = |cell: &Cell, column: &str| value(cell, column, key);
            let columns: Vec<&str> = first
                .columns
                .iter()
                .map(|(name, _)| name.as_str())
                .filter(|column| cells.iter().any(|cell| value(cell, column).is_some()))
                .collect();
            let series: Vec<_> = columns
                .iter()
                .enumerate()
                .map(|(number, column)| Series {
                    ink: if *column == PUBLISHED { Ink::Text } else { Ink::Series(number) },
                    values: cells.iter().map(|cell| value(cell, column)).collect(),
                    is_foreign: *column == PUBLISHED,
                })
                .collect();
            let legend: Vec<_> = columns
                .iter()
                .zip(&series)
                .map(|(column, series)| parts::Key {
                    name: title(column),
                    ink: series.ink,
                    is_cross: series.is_foreign,
                })
                .collect();
            let labels: Vec<String> = cells.iter().map(|cell| label(cell)).collect();
            let heading = match group {
                Some(group) => format!("{name}, {group}"),
                None => name.clone(),
            };
            let y = if unit == "number" { name.clone() } else { format!("{name}, {unit}") };
            let x = axis(first);
            let axes = Axes { x: &x, y: &y };
            let format = |value: f64| report::number(decimals(value));
            let drawing = plot::points(&heading, axes, &labels, &series, Scale::Linear, &format);
            figures.push(parts::figure(&heading, "", &legend, &drawing));
        }
    }
    figures
}

/// Cells by the first part of their name, if the name has more parts and that one takes several
/// values for several cells each.
fn groups(cells: &[Cell]) -> Vec<(Option<String>, Vec<&Cell>)> {
    let first = |cell: &Cell| {
        let first = cell.identity.first();
        first.map(|(key, value)| format!("{}={}", title(key), shown(key, value)))
    };
    let mut groups: Vec<(Option<String>, Vec<&Cell>)> = Vec::new();
    for cell in cells {
        match groups.iter_mut().find(|(group, _)| *group == first(cell)) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((first(cell), vec![cell])),
        }
    }
    let has_parts = cells.iter().all(|cell| cell.identity.len() > 1);
    if !has_parts || groups.iter().all(|(_, cells)| cells.len() == 1) {
        return vec![(None, cells.iter().collect())];
    }
    groups
}

/// What tells a cell from the others of its group.
fn label(cell: &Cell) -> String {
    let skipped = usize::from(cell.identity.len() > 1);
    let values = cell.identity.iter().skip(skipped).map(|(key, value)| shown(key, value));
    values.collect::<Vec<_>>().join(" ")
}

/// The name of that.
fn axis(cell: &Cell) -> String {
    let skipped = usize::from(cell.identity.len() > 1);
    let names = cell.identity.iter().skip(skipped).map(|(key, _)| title(key));
    names.collect::<Vec<_>>().join(", ")
}

fn decimals(value: f64) -> f64 {
    report::decimals(value, 3)
}
