//! A sweep: its table, what failed, and its axes.

use super::{Section, parts};
use crate::sweep::{Results, Table};
use maud::html;

/// The section of a sweep.
pub(super) fn section(name: &str, results: &Results) -> Section {
    let table = Table::new(results);
    let (head, rows) = table.all();
    let axes: Vec<_> = results
        .axes()
        .iter()
        .map(|axis| {
            let values = (0..axis.values.len()).map(|step| axis.label(step));
            (axis.name.clone(), values.collect::<Vec<_>>().join(", "))
        })
        .collect();
    let body = html! {
        p { (table.summary()) }
        (parts::table(&head, &rows))
        @for line in table.complaints() { p.fail { (line) } }
        h2 { "Configuration" }
        (parts::list(&axes))
    };
    Section { title: format!("Sweep {name}"), body }
}
