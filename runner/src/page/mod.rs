//! `report`: results as one HTML file that needs nothing else: no network, and no script to read
//! the numbers.
//!
//! Each result is a section: what was asked and what came out, its table, its figures, and how to
//! get it again. Everything that comes from a result is escaped by the template library.

mod parts;
mod plot;
mod question;
mod run;
mod sweep;
mod trace;

use crate::{
    cli::ReportArgs,
    error::{Error, Refusal},
    report::{Document, Sink},
    results::{Content, Outcome, Question},
    sweep::Results,
    trace::read::{Fault, Trace, TraceError},
};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;
use std::{ffi::OsStr, path::Path};

const STYLE: &str = include_str!("style.css");

/// Reads results and writes their page.
///
/// # Errors
/// A result that cannot be read, or a page that cannot be written.
pub(crate) fn execute(arguments: &ReportArgs) -> Result<u8, Error> {
    let sink = Sink::prepare("--output", Some(&arguments.output))?;
    let sections =
        arguments.results.iter().map(|path| section(path)).collect::<Result<Vec<_>, Refusal>>()?;
    let page = page(&sections);
    sink.write(page.as_bytes())?;
    if !arguments.quiet && arguments.output != Path::new("-") {
        anstream::eprintln!("wrote {}", arguments.output.display());
    }
    Ok(0)
}

/// The page of a run that has just ended, with its trace where one was recorded.
///
/// # Errors
/// The trace cannot be read.
pub(crate) fn of_run(document: &Document, trace: Option<&Path>) -> Result<String, Refusal> {
    let mut section = run::section("result", document);
    if let Some(path) = trace {
        let figures = trace::figures(&open(path)?);
        section.body = html! { (section.body) h2 { "Timeline" } (figures) };
    }
    Ok(page(&[section]))
}

fn open(path: &Path) -> Result<Trace, Refusal> {
    Trace::open(path)
        .map_err(|error| Refusal::new("result", path.display(), error.cause.to_string()))
}

/// The page of an answer to a question, as its document has it.
pub(crate) fn of_answer(answer: &impl Serialize) -> String {
    let document = serde_json::to_value(answer).expect("all keys are strings");
    let question = Question::parse(&document).expect("an answer has cells");
    page(&[question::section(&question)])
}

/// The page of a sweep.
pub(crate) fn of_sweep(name: &str, results: &Results) -> String {
    page(&[sweep::section(name, results)])
}

fn section(path: &Path) -> Result<Section, Refusal> {
    if path.extension() == Some(OsStr::new("jsonl")) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        return Ok(sweep::section(&name, &Results::read(path)?));
    }
    match Trace::open(path) {
        Ok(trace) => {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            return Ok(trace::section(&name, &trace));
        }
        // What cannot be read at all is reported as the result that it may be.
        Err(TraceError { cause: Fault::NotATrace | Fault::Io(_), .. }) => {}
        Err(TraceError { cause, .. }) => {
            return Err(Refusal::new("result", path.display(), cause.to_string()));
        }
    }
    Outcome::read(path).map(|outcome| outcome_section(&outcome))
}

fn outcome_section(outcome: &Outcome) -> Section {
    match &outcome.content {
        Content::Run(document) => run::section(&outcome.name, document),
        Content::Question(question) => question::section(question),
    }
}

/// One result on the page.
struct Section {
    title: String,
    body: Markup,
}

fn page(sections: &[Section]) -> String {
    let title = match sections {
        [one] => one.title.clone(),
        several => format!("{} results", several.len()),
    };
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                // Nothing is fetched, whatever a result has in its names. The icon is none, so
                // that no browser asks for one.
                meta http-equiv="Content-Security-Policy"
                    content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
                link rel="icon" href="data:,";
                title { (title) " - slicelab" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @if let [one] = sections {
                    h1 { (one.title) }
                    (one.body)
                } @else {
                    h1 { (title) }
                    nav { ol {
                        @for (number, section) in sections.iter().enumerate() {
                            li { a href={ "#result-" (number) } { (section.title) } }
                        }
                    } }
                    @for (number, section) in sections.iter().enumerate() {
                        section id={ "result-" (number) } {
                            h1 { (section.title) }
                            (section.body)
                        }
                    }
                }
                footer {
                    "Made by slicelab " (env!("CARGO_PKG_VERSION"))
                    ". Under the virtual clock these numbers are exact and the same on every host."
                }
            }
        }
    }
    .into_string()
}
