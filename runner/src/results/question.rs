//! The answer to a question, read without knowing which: cells with what was published and what
//! was measured.
//!
//! The scalars of a cell say which cell it is, but for those ending in `_pct`, which are drawn
//! from its numbers. Its objects are columns of numbers; `published` is one of them.

use crate::{expect::Verdict, units};
use serde_json::{Map, Value};

/// The column that was not measured here.
pub(crate) const PUBLISHED: &str = "published";

/// A table of cells.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// The command that answers it.
    pub(crate) name: String,
    /// In the order of the document.
    pub(crate) cells: Vec<Cell>,
    /// What else the document says, by key.
    pub(crate) settings: Map<String, Value>,
    /// The question in words.
    pub(crate) title: Option<String>,
    /// What the cells say to it, in words.
    pub(crate) answer: Vec<String>,
    /// The words after `slicelab` that ask it again.
    pub(crate) command: Vec<String>,
    /// Its verdict.
    pub(crate) verdict: Option<Verdict>,
}

/// One cell.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// Which one: names and values.
    pub(crate) identity: Vec<(String, Value)>,
    /// Columns, each with its numbers.
    pub(crate) columns: Vec<(String, Vec<(String, f64)>)>,
    /// What is drawn from them, in percent.
    pub(crate) drawn: Vec<(String, f64)>,
}

impl Question {
    pub(crate) fn parse(document: &Value) -> Result<Self, String> {
        let text = |key: &str| document.get(key).and_then(Value::as_str);
        let name = text("question").ok_or("its `question` is no text")?.to_owned();
        let cells = document
            .get("cells")
            .and_then(Value::as_array)
            .ok_or_else(|| format!("`{name}` has no table of cells, which this needs"))?;
        let cells: Vec<Cell> = cells.iter().filter_map(Value::as_object).map(Cell::new).collect();
        let mut settings = document.as_object().cloned().unwrap_or_default();
        for said in ["schema", "question", "cells", "wall_s"] {
            settings.remove(said);
        }
        let mut part = |key: &str| settings.remove(key).unwrap_or_default();
        // Each may be missing: documents of older versions have none.
        let title = serde_json::from_value(part("title")).ok();
        let answer = serde_json::from_value(part("answer")).unwrap_or_default();
        let command = serde_json::from_value(part("command")).unwrap_or_default();
        let verdict = serde_json::from_value(part("verdict")).ok();
        // Tables within are results, not settings.
        settings.retain(|_, value| !value.is_array() && !value.is_null());
        Ok(Self { name, cells, settings, title, answer, command, verdict })
    }
}

impl Cell {
    fn new(cell: &Map<String, Value>) -> Self {
        let identity = cell
            .iter()
            .filter(|(key, value)| {
                !(value.is_object() || value.is_array() || key.ends_with("_pct"))
            })
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let numbers = |column: &Map<String, Value>| {
            column.iter().filter_map(|(key, value)| Some((key.clone(), value.as_f64()?))).collect()
        };
        let columns = cell
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), numbers(value.as_object()?))))
            .collect();
        let drawn = cell
            .iter()
            .filter_map(|(key, value)| {
                Some((key.strip_suffix("_pct")?.to_owned(), value.as_f64()?))
            })
            .collect();
        Self { identity, columns, drawn }
    }

    /// The cell in words: `HZ=1000, base slice 3ms`.
    pub(crate) fn name(&self) -> String {
        let words = self.identity.iter().map(|(key, value)| named(key, value));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// A key and its value as people write them: times with their unit, HZ in capitals.
fn named(key: &str, value: &Value) -> String {
    let shown = shown(key, value);
    match key {
        "hz" => format!("HZ={shown}"),
        _ => format!("{} {shown}", title(key)),
    }
}

/// A value as people write it.
pub(crate) fn shown(key: &str, value: &Value) -> String {
    match (key.ends_with("_ns"), value.as_u64()) {
        (true, Some(ns)) => units::exact_unsigned(ns),
        _ => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
    }
}

/// A key as a title, without the unit that its values are written with.
pub(crate) fn title(key: &str) -> String {
    match key {
        "hz" => "HZ".into(),
        _ => key.strip_suffix("_ns").unwrap_or(key).replace('_', " "),
    }
}
