//! The answer to a question: the document that `--json` writes, the verdict, the words.

use super::losses::Losses;
use crate::{
    cli::QuestionArgs,
    commands::exit_code,
    compare::{Comparison, Sample, interpretation},
    error::{EXIT_GUEST, Error, Refusal},
    expect::{Expectation, Verdict},
    interrupt, page,
    report::{self, JsonSink, Sink, decimals},
};
use serde::Serialize;
use serde_json::{Value, json};
use std::{borrow::Cow, fmt::Write, time::Instant};

/// Where an answer goes besides the terminal, proved writable before anything runs.
pub(super) struct Sinks {
    json: JsonSink,
    page: Sink,
}

impl Sinks {
    /// Prepares what the flags name.
    pub(super) fn prepare(arguments: &QuestionArgs) -> Result<Self, Refusal> {
        let json = JsonSink::prepare(arguments.json.as_deref())?;
        let page = Sink::prepare("--report", arguments.report.as_deref())?;
        if json.is_stdout() && page.is_stdout() {
            let reason = "--json has it already; name a file for one of the two";
            return Err(Refusal::new("--report", "-", reason));
        }
        Ok(Self { json, page })
    }
}

/// A question that was answered.
pub(super) struct Answer {
    /// The name of the question.
    pub(super) question: &'static str,
    /// The question in words.
    pub(super) title: &'static str,
    /// In the order of the tables.
    pub(super) cells: Vec<Value>,
    /// What has to hold.
    pub(super) expectations: Vec<Expectation>,
    /// Whether the runs themselves did what every run must.
    pub(super) runs: Verdict,
    /// The tables.
    pub(super) tables: String,
    /// The answer in words.
    pub(super) words: String,
    /// Runs without figures.
    pub(super) losses: Losses,
    /// Guest time of all runs, ns.
    pub(super) guest_ns: u64,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    question: &'static str,
    title: &'static str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    command: &'a [String],
    seeds: u32,
    cells: &'a [Value],
    expectations: &'a [Expectation],
    verdict: Verdict,
    answer: Vec<&'a str>,
    wall_s: f64,
}

impl Answer {
    /// Writes and prints it; returns the exit code.
    pub(super) fn tell(
        &self,
        arguments: &QuestionArgs,
        sinks: Sinks,
        start: Instant,
    ) -> Result<u8, Error> {
        let wall_s = start.elapsed().as_secs_f64();
        let verdict = self.verdict();
        let to_stderr = sinks.json.is_stdout() || sinks.page.is_stdout();
        let document = Document {
            schema: 1,
            question: self.question,
            title: self.title,
            command: &arguments.command,
            seeds: arguments.repeat,
            cells: &self.cells,
            expectations: &self.expectations,
            verdict,
            answer: self.words.lines().collect(),
            wall_s: decimals(wall_s, 3),
        };
        sinks.json.write(&document)?;
        sinks.page.write(page::of_answer(&document).as_bytes())?;
        if !arguments.host.quiet {
            report::print(&self.text(verdict, wall_s), to_stderr)?;
        }
        if interrupt::requested() {
            return Err(Error::Interrupted { after_s: wall_s, console: Vec::new() });
        }
        Ok(if self.losses.has_failures() { EXIT_GUEST } else { exit_code(verdict) })
    }

    fn verdict(&self) -> Verdict {
        let holds = self.expectations.iter().all(|expectation| expectation.ok);
        match self.runs {
            Verdict::Pass if !holds => Verdict::Fail,
            Verdict::Pass if !self.losses.is_none() => Verdict::Inconclusive,
            verdict => verdict,
        }
    }

    fn text(&self, verdict: Verdict, wall_s: f64) -> String {
        let mut text = self.tables.clone();
        let mut add = |line: std::fmt::Arguments<'_>| {
            text.write_fmt(line).expect("a String takes everything");
        };
        add(format_args!("{}\n\n{}", self.words, self.losses));
        for Expectation { what, expected, got, ok, .. } in &self.expectations {
            let mark = if *ok { "ok " } else { "NOT" };
            add(format_args!("{mark} {what}: {got} (expected {expected})\n"));
        }
        let guest_s = self.guest_ns as f64 / 1e9;
        add(format_args!(
            "{}: {guest_s:.1} guest seconds in {wall_s:.1} s\n",
            report::verdict_word(verdict)
        ));
        text
    }
}

/// Something that must hold of the figures.
pub(super) fn expect(
    what: impl Into<Cow<'static, str>>,
    expected: impl Into<String>,
    got: impl Into<String>,
    ok: bool,
) -> Expectation {
    let (what, expected, got) = (what.into(), expected.into(), got.into());
    Expectation { what, expected, got, ok, is_timing: false }
}

/// The cells of a comparison of two machines, with what was published of the same.
pub(super) fn cells(name: &str, comparison: &Comparison) -> Vec<Value> {
    let mut cells = Vec::new();
    for test in &comparison.tests {
        for case in &test.cases {
            let [new, published] = &case.new[..] else {
                unreachable!("there are two machines, and what was published");
            };
            cells.push(json!({
                "comparison": name,
                "test": test.test,
                "case": case.case,
                "units": test.units,
                "interpretation": interpretation(test.better),
                "statistic": test.statistic,
                "published": numbers(published),
                "base": numbers(&case.base),
                "measured": numbers(new),
            }));
        }
    }
    cells
}

/// The numbers of a sample, as `--json` has them.
pub(super) fn numbers(sample: &Sample) -> Value {
    json!({
        "value": sample.value,
        "cv_pct": sample.cv_pct.map(|pct| decimals(pct, 3)),
        "normalized": sample.normalized.map(|ratio| decimals(ratio, 6)),
        "pct_imp": sample.pct_imp.map(|pct| decimals(pct, 3)),
        "within_spread": sample.within_spread,
    })
}
