//! Results of earlier runs, read back: what was asked, with which settings, and the figures.

mod figures;
pub(crate) mod question;

pub(crate) use figures::{Figure, kinds, known};
pub(crate) use question::Question;

use crate::{cli::repeatable, error::Refusal, report::Document};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};

/// A result document of either kind.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// One scenario, once or with several seeds.
    Run(Box<Document>),
    /// The answer to a question: a table of cells.
    Question(Question),
}

/// One result.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// What it is called where it stands beside others.
    pub(crate) name: String,
    /// What it says.
    pub(crate) content: Content,
}

impl Outcome {
    /// Reads a result document; it is called as its file is, without the ending.
    ///
    /// # Errors
    /// It cannot be read, or is not a result.
    pub(crate) fn read(path: &Path) -> Result<Self, Refusal> {
        let refused = |reason| Refusal::new("result", path.display(), reason);
        let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(Self { name, content: Content::parse(&text).map_err(refused)? })
    }

    /// The name of what was asked, where that is known.
    pub(crate) fn question(&self) -> Option<String> {
        match &self.content {
            Content::Question(question) => Some(question.name.clone()),
            Content::Run(document) => {
                let words = &document.command;
                let mix = words.iter().position(|word| word == "--mix").map(|at| at + 1);
                match mix.and_then(|at| words.get(at)) {
                    Some(mix) => Some(mix.clone()),
                    None => words.get(1).map(|word| match word.starts_with("--") {
                        true => "load flags".to_owned(),
                        false => word.clone(),
                    }),
                }
            }
        }
    }

    /// What it was measured with, by name.
    pub(crate) fn settings(&self) -> BTreeMap<String, String> {
        match &self.content {
            Content::Run(document) => settings(document),
            Content::Question(question) => {
                let mut settings = BTreeMap::new();
                for (name, value) in &question.settings {
                    flatten(name, value, &mut settings);
                }
                settings
            }
        }
    }
}

/// What a run was made with, by name.
pub(crate) fn settings(document: &Document) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    let config = serde_json::to_value(&document.config).expect("it was one");
    flatten("", &config, &mut settings);
    // How much memory a guest gets follows from the rest.
    settings.remove("memory_mib");
    if let Some(repeat) = &document.repeat {
        settings.insert("seeds".into(), repeat.seeds.len().to_string());
    }
    if !document.command.is_empty() {
        settings.insert("workload".into(), repeatable::workload(&document.command));
    }
    settings
}

impl Content {
    /// Reads a document.
    ///
    /// # Errors
    /// Why it is none.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let broken = |error: serde_json::Error| {
            format!("is not a result that `--json` wrote: {error}; run it again to get one")
        };
        let value: Value = serde_json::from_str(text).map_err(broken)?;
        if value.get("question").is_some() {
            return Question::parse(&value).map(Self::Question);
        }
        // From the text: its errors have a line, those of a value do not.
        serde_json::from_str(text).map(|document| Self::Run(Box::new(document))).map_err(broken)
    }
}

/// Adds the leaves of a value under their names; the names of groups are left out.
fn flatten(name: &str, value: &Value, to: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| flatten(name, value, to)),
        Value::String(text) => _ = to.insert(name.to_owned(), text.clone()),
        other => _ = to.insert(name.to_owned(), other.to_string()),
    }
}
