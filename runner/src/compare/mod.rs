//! `compare`: results side by side, in the table that kernel developers post.
//!
//! Each case shows, for each result, its value against that of the base, how much better it is in
//! percent, and how much it spreads over its seeds in percent (CV). A difference that is not
//! larger than the larger of the two spreads is marked and never called a change.
//!
//! What is compared has to answer the same question. Settings may differ, and are listed.

mod posted;
mod sample;
mod view;

use crate::{
    cli::{CompareArgs, Statistic},
    error::{Error, Refusal},
    report::{self, JsonSink, Sink},
    results::{Figure, Outcome},
    workload::Better,
};
pub(crate) use posted::interpretation;
pub(crate) use sample::Sample;
use serde::Serialize;
use std::{ffi::OsStr, path::PathBuf};

/// A base and what is compared with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Comparison {
    /// What it is called, where a file has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// What the results are called, the base first.
    pub(crate) results: Vec<String>,
    /// Settings that are not the same in all of them.
    settings: Vec<Setting>,
    /// In the order of the base.
    pub(crate) tests: Vec<Test>,
    /// Figures that only some of them have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
}

/// A setting that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Setting {
    name: String,
    /// In the order of the results.
    values: Vec<Option<String>>,
}

/// Cases in one unit, of which one direction is better.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Test {
    pub(crate) test: String,
    pub(crate) units: String,
    /// Nothing where it depends on what is wanted.
    pub(crate) better: Option<Better>,
    pub(crate) statistic: String,
    pub(crate) cases: Vec<Case>,
}

/// One figure in all results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Case {
    pub(crate) case: String,
    pub(crate) base: Sample,
    /// In the order of the results.
    pub(crate) new: Vec<Sample>,
}

/// Compares and prints.
///
/// # Errors
/// Results that cannot be read or do not belong together.
pub(crate) fn execute(arguments: &CompareArgs) -> Result<u8, Error> {
    let json = JsonSink::prepare(arguments.json.as_deref())?;
    let csv = Sink::prepare("--csv", arguments.csv.as_deref())?;
    if json.is_stdout() && csv.is_stdout() {
        let reason = "--json has it already; name a file for one of the two";
        return Err(Refusal::new("--csv", "-", reason).into());
    }
    let comparisons = read(arguments)?;
    let to_stderr = json.is_stdout() || csv.is_stdout();
    json.write(&Document { schema: 1, comparisons: &comparisons })?;
    csv.write(posted::write(&comparisons).as_bytes())?;
    if !arguments.quiet {
        let text: String = comparisons
            .iter()
            .map(|comparison| match arguments.markdown {
                true => view::markdown(comparison),
                false => view::text(comparison),
            })
            .collect::<Vec<_>>()
            .join("\n");
        report::print(&text, to_stderr)?;
    }
    Ok(0)
}

/// The comparisons of a table in CSV that is part of this program.
pub(crate) fn built_in(text: &str) -> Vec<Comparison> {
    posted::parse(text.as_bytes()).expect("the table is part of this program")
}

/// What `--json` writes.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    comparisons: &'a [Comparison],
}

fn read(arguments: &CompareArgs) -> Result<Vec<Comparison>, Error> {
    let paths = &arguments.results;
    let is_csv = |path: &&PathBuf| path.extension() == Some(OsStr::new("csv"));
    if paths.iter().any(|path| is_csv(&path)) {
        if let Some(other) = paths.iter().find(|path| !is_csv(path)) {
            let reason = "is no CSV file; a table in CSV has its base in it and stands alone";
            return Err(Refusal::new("result", other.display(), reason).into());
        }
        let tables: Result<Vec<_>, Refusal> = paths.iter().map(|path| posted::read(path)).collect();
        return Ok(tables?.concat());
    }
    let [base, ..] = &paths[..] else { return Ok(Vec::new()) };
    if paths.len() == 1 {
        let reason = "there is nothing to compare it with; name another result";
        return Err(Refusal::new("result", base.display(), reason).into());
    }
    let mut outcomes =
        paths.iter().map(|path| Outcome::read(path)).collect::<Result<Vec<_>, _>>()?;
    for (outcome, path) in outcomes.iter_mut().zip(paths) {
        let same = |other: &&PathBuf| other.file_stem() == path.file_stem();
        if paths.iter().filter(same).count() > 1 {
            outcome.name = path.display().to_string();
        }
    }
    Ok(vec![Comparison::new(&outcomes, arguments.statistic)?])
}

impl Comparison {
    /// That of figures measured together: machines and what each gave, the base first.
    pub(crate) fn of(
        results: Vec<(String, Vec<Figure>)>,
        statistic: impl Fn(&Figure) -> Statistic,
    ) -> Self {
        let (results, figures): (Vec<_>, Vec<_>) = results.into_iter().unzip();
        let (tests, left_out) = tabulate(&figures, statistic);
        Self { name: None, results, settings: Vec::new(), tests, left_out }
    }

    /// That of columns which are each by their own first case.
    pub(crate) fn of_columns(results: Vec<String>, test: Test) -> Self {
        Self { name: None, results, settings: Vec::new(), tests: vec![test], left_out: Vec::new() }
    }

    /// Adds a column of posted numbers, where the same cases were posted.
    pub(crate) fn beside(&mut self, name: &str, posted: &Self) {
        self.results.push(name.into());
        for test in &mut self.tests {
            let known = posted.tests.iter().find(|known| known.test == test.test);
            for case in &mut test.cases {
                let known = known.and_then(|test| test.cases.iter().find(|k| k.case == case.case));
                case.new.push(known.map(|known| known.new[0].clone()).unwrap_or_default());
            }
        }
    }

    /// The tables as they are posted, without remarks.
    pub(crate) fn tables(&self) -> String {
        view::tables(self)
    }

    fn new(outcomes: &[Outcome], statistic: Statistic) -> Result<Self, Refusal> {
        let (base, news) = outcomes.split_first().expect("there are two at least");
        check_questions(base, news)?;
        let figures: Vec<_> = outcomes.iter().map(Outcome::figures).collect();
        let (tests, left_out) = tabulate(&figures, |_| statistic);
        if tests.is_empty() {
            let reason = format!("has no figure that {} has as well", base.name);
            return Err(Refusal::new("result", &news[0].name, reason));
        }
        let results = outcomes.iter().map(|outcome| outcome.name.clone()).collect();
        Ok(Self { name: None, results, settings: differing(outcomes), tests, left_out })
    }
}

/// Sets the figures of results against those of the first; also the cases that only some have.
fn tabulate(
    figures: &[Vec<Figure>],
    statistic: impl Fn(&Figure) -> Statistic,
) -> (Vec<Test>, Vec<String>) {
    let (base_figures, new_figures) = figures.split_first().expect("there is a base");
    let mut tests: Vec<Test> = Vec::new();
    let mut left_out = Vec::new();
    for figure in base_figures {
        let is_same = |other: &&Figure| {
            (&other.test, &other.case, &other.unit) == (&figure.test, &figure.case, &figure.unit)
        };
        let found: Vec<_> =
            new_figures.iter().map(|figures| figures.iter().find(is_same)).collect();
        if found.iter().all(Option::is_none) {
            left_out.push(figure.case.clone());
            continue;
        }
        let statistic = statistic(figure);
        let base = Sample::of(&figure.values, statistic);
        let against = |values: Option<&Figure>| match values {
            Some(new) => Sample::of(&new.values, statistic).against(&base, figure.better),
            None => Sample::default(),
        };
        let case = Case {
            case: figure.case.clone(),
            new: found.into_iter().map(against).collect(),
            base: base.against(&base, figure.better),
        };
        let is_of = |test: &&mut Test| {
            (&test.test, &test.units, test.better) == (&figure.test, &figure.unit, figure.better)
        };
        match tests.iter_mut().find(is_of) {
            Some(test) => test.cases.push(case),
            None => tests.push(Test {
                test: figure.test.clone(),
                units: figure.unit.clone(),
                better: figure.better,
                statistic: statistic.name().into(),
                cases: vec![case],
            }),
        }
    }
    for figure in new_figures.iter().flatten() {
        let in_base =
            base_figures.iter().any(|b| (&b.test, &b.case) == (&figure.test, &figure.case));
        if !in_base && !left_out.contains(&figure.case) {
            left_out.push(figure.case.clone());
        }
    }
    (tests, left_out)
}

fn check_questions(base: &Outcome, news: &[Outcome]) -> Result<(), Refusal> {
    // Documents of older versions do not say what was run; their figures have to do.
    let Some(asked) = base.question() else { return Ok(()) };
    for new in news {
        if let Some(other) = new.question().filter(|other| *other != asked) {
            let reason = format!(
                "answers another question ({other}) than {} ({asked}); only results of the same \
                 question, mix or workload can be compared",
                base.name
            );
            return Err(Refusal::new("result", &new.name, reason));
        }
    }
    Ok(())
}

/// Settings that are not the same everywhere.
fn differing(outcomes: &[Outcome]) -> Vec<Setting> {
    let settings: Vec<_> = outcomes.iter().map(Outcome::settings).collect();
    let mut names: Vec<_> = settings.iter().flat_map(|settings| settings.keys()).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .map(|name| Setting {
            name: name.clone(),
            values: settings.iter().map(|settings| settings.get(name).cloned()).collect(),
        })
        .filter(|setting| setting.values.iter().any(|value| *value != setting.values[0]))
        .collect()
}
