//! The description of a sweep: keys are flags of `run`, lists and ranges are axes.
//!
//! The grid is every combination; the axis that stands first in the file changes slowest. All is
//! checked here, with line and column, before anything runs.

use super::{
    cell::{self, MODEL, OPTIONS, UNFIT, WORKLOAD},
    range::{self, Pace},
};
use crate::{
    cli::{HostArgs, unknown},
    error::{Error, Refusal},
    experiment::Experiment,
    model::Model,
    report::Document,
    source::{At, Source},
};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// Cells that one sweep may have.
const MOST_CELLS: usize = 100_000;

/// A checked sweep.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    name: String,
    text: String,
    /// Where paths in it count from.
    folder: PathBuf,
    axes: Vec<Axis>,
    /// Where each axis and each of its values stands.
    places: Vec<(At, Vec<At>)>,
}

/// A flag and its values; with one value it is the same in all cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Axis {
    /// The flag, without its dashes.
    pub(crate) name: String,
    /// How often it is given and with what, for each step.
    pub(crate) values: Vec<Vec<String>>,
}

impl Axis {
    /// A step as it stands in tables.
    pub(crate) fn label(&self, step: usize) -> String {
        match &self.values[step][..] {
            [] => "-".into(),
            values => values.join(" "),
        }
    }

    /// Whether it makes a difference.
    pub(crate) fn varies(&self) -> bool {
        self.values.len() > 1
    }
}

/// Which step of each axis a cell is.
pub(crate) fn steps(axes: &[Axis], cell: usize) -> Vec<usize> {
    let mut rest = cell;
    let mut steps: Vec<usize> = axes
        .iter()
        .rev()
        .map(|axis| {
            let step = rest % axis.values.len();
            rest /= axis.values.len();
            step
        })
        .collect();
    steps.reverse();
    steps
}

impl Spec {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub(super) fn read(path: &Path) -> Result<Self, Refusal> {
        let name = path.display().to_string();
        let text = fs::read_to_string(path)
            .map_err(|error| Refusal::new("spec", &name, format!("cannot be read ({error})")))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Self::parse(&name, &text, folder)
    }

    fn parse(name: &str, text: &str, folder: PathBuf) -> Result<Self, Refusal> {
        let mut spec = Self {
            name: name.to_owned(),
            text: text.to_owned(),
            folder,
            axes: Vec::new(),
            places: Vec::new(),
        };
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(At(0), |span| at(&span));
            spec.refusal(at, error.message())
        })?;
        let mut entries: Vec<_> = table.get_ref().iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in entries {
            let (axis, places) = axis(key.get_ref(), value).map_err(|(span, reason)| {
                let span = span.unwrap_or_else(|| key.span());
                spec.refusal(at(&span), &reason)
            })?;
            spec.axes.push(axis);
            spec.places.push((at(&key.span()), places));
        }
        let cells = spec.axes.iter().try_fold(1, |n: usize, axis| n.checked_mul(axis.values.len()));
        match cells.filter(|&cells| cells <= MOST_CELLS) {
            Some(_) if spec.axes.is_empty() => {
                let reason = "is empty; give flags of `slicelab run` as keys, such as hogs = 2";
                Err(Refusal::new("spec", name, reason))
            }
            Some(_) => Ok(spec),
            None => {
                let reason = format!("makes more than {MOST_CELLS} cells; split it in several");
                Err(Refusal::new("spec", name, reason))
            }
        }
    }

    /// How many cells there are.
    pub(super) fn cells(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }

    /// Its axes, in the order of the file.
    pub(super) fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// What it is called.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The words of a cell's `run`.
    pub(super) fn command(&self, cell: usize) -> Vec<String> {
        let mut words = vec!["run".to_owned()];
        let mut options = Vec::new();
        for (axis, step) in self.axes.iter().zip(steps(&self.axes, cell)) {
            for value in &axis.values[step] {
                match axis.name.as_str() {
                    OPTIONS => options.extend(shlex::split(value).unwrap_or_default()),
                    WORKLOAD => words.push(self.folder.join(value).display().to_string()),
                    MODEL if !Model::is_built_in(value) => {
                        let file = self.folder.join(value).display().to_string();
                        words.extend(["--model".to_owned(), file]);
                    }
                    // Whether a flag that takes no value is given is all there is to say.
                    name if cell::is_switch(name) => words.push(format!("--{name}")),
                    name => words.extend([format!("--{name}"), value.clone()]),
                }
            }
        }
        if !options.is_empty() {
            words.push("--".into());
            words.extend(options);
        }
        words
    }

    /// The experiment of a cell.
    ///
    /// # Errors
    /// Values that do not go together, with the place of the one that is to blame.
    pub(super) fn experiment(&self, cell: usize, host: &HostArgs) -> Result<Experiment, Error> {
        let arguments = cell::arguments(&self.command(cell))?;
        cell::experiment(&arguments, host).map_err(|error| self.blame(cell, error))
    }

    /// Runs a cell.
    ///
    /// # Errors
    /// Whatever leaves no result.
    pub(super) fn document(&self, cell: usize, host: &HostArgs) -> Result<Document, Error> {
        let arguments = cell::arguments(&self.command(cell))?;
        let result = cell::experiment(&arguments, host)?.run()?;
        Ok(Document { command: arguments.command, ..result.document() })
    }

    /// Adds the place that an error of a cell is about.
    pub(super) fn blame(&self, cell: usize, error: Error) -> Error {
        let Error::Refused(refusal) = error else { return error };
        let long = refusal.flag.strip_prefix("--");
        let is_it = |axis: &Axis| match long {
            Some(name) => axis.name == name,
            None if refusal.flag.starts_with('-') => axis.name == OPTIONS,
            None => refusal.flag == WORKLOAD && axis.name == WORKLOAD,
        };
        let steps = steps(&self.axes, cell);
        match self.axes.iter().position(is_it) {
            Some(number) => {
                let place = self.places[number].1[steps[number]];
                self.refusal(place, &refusal.to_string()).into()
            }
            None => {
                let reason = format!("cell `{}`: {refusal}", self.command(cell).join(" "));
                Refusal::new("spec", &self.name, reason).into()
            }
        }
    }

    fn refusal(&self, place: At, reason: &str) -> Refusal {
        let source = Source { name: &self.name, text: &self.text };
        let reason = format!("{reason}\n{}", source.excerpt(place).trim_end());
        Refusal::new("spec", format!("{}:{}", self.name, source.position(place)), reason)
    }
}

fn at(span: &Range<usize>) -> At {
    At(u32::try_from(span.start).unwrap_or(u32::MAX))
}

/// What is wrong, and where, unless it is the key.
type Fault = (Option<Range<usize>>, String);

/// Reads one key with its value.
fn axis(key: &str, value: &Spanned<DeValue<'_>>) -> Result<(Axis, Vec<At>), Fault> {
    let name = key.replace('_', "-");
    if let Some((_, instead)) = UNFIT.iter().find(|&&(unfit, _)| unfit == name) {
        return Err((None, format!("`{key}` is for a single run: {instead}")));
    }
    let keys = cell::keys();
    if !keys.contains(&name) {
        let known: Vec<&str> = keys.iter().map(String::as_str).collect();
        return Err((None, format!("`{key}`: {}", unknown(&name, &known))));
    }
    let steps: Vec<(Vec<String>, Range<usize>)> = match value.get_ref() {
        DeValue::Array(list) => {
            if list.is_empty() {
                return Err((Some(value.span()), "an axis needs a value at least".into()));
            }
            list.iter().map(|step| step_of(&name, step)).collect::<Result<_, _>>()?
        }
        DeValue::Table(table) => {
            let values = range_of(table).map_err(|reason| (Some(value.span()), reason))?;
            values.into_iter().map(|text| (vec![text], value.span())).collect()
        }
        _ => vec![step_of(&name, value)?],
    };
    for (values, span) in &steps {
        for text in values {
            cell::check(&name, text)
                .map_err(|reason| (Some(span.clone()), format!("`{name} = {text}`: {reason}")))?;
        }
    }
    for (index, (values, span)) in steps.iter().enumerate() {
        if steps[..index].iter().any(|(other, _)| other == values) {
            let text = values.join(" ");
            return Err((Some(span.clone()), format!("`{name}` has `{text}` twice")));
        }
    }
    let places = steps.iter().map(|(_, span)| at(span)).collect();
    let values = steps.into_iter().map(|(values, _)| values).collect();
    Ok((Axis { name, values }, places))
}

/// One step of an axis: how often the flag is given, and with what.
fn step_of(name: &str, value: &Spanned<DeValue<'_>>) -> Result<(Vec<String>, Range<usize>), Fault> {
    let fault = |reason: String| (Some(value.span()), reason);
    let values = match value.get_ref() {
        DeValue::Boolean(on) if cell::is_switch(name) => {
            if *on {
                vec!["true".to_owned()]
            } else {
                Vec::new()
            }
        }
        _ if cell::is_switch(name) => return Err(fault(format!("`{name}` is true or false"))),
        DeValue::Array(list) if cell::is_repeatable(name) => {
            list.iter().map(|value| scalar(value).map_err(fault)).collect::<Result<_, _>>()?
        }
        DeValue::Array(_) => {
            let reason = format!("`{name}` takes one value; write lists as on the command line");
            return Err(fault(reason));
        }
        _ => vec![scalar(value).map_err(fault)?],
    };
    if name == OPTIONS && values.iter().any(|text| shlex::split(text).is_none()) {
        return Err(fault("a quote is not closed".into()));
    }
    Ok((values, value.span()))
}

fn scalar(value: &Spanned<DeValue<'_>>) -> Result<String, String> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        other => Err(format!("must be a text or a number, not {}", other.type_str())),
    }
}

fn range_of(table: &DeTable<'_>) -> Result<Vec<String>, String> {
    let get = |key: &str| {
        let found = table.iter().find(|(name, _)| name.get_ref() == key);
        found.map(|(_, value)| scalar(value)).transpose()
    };
    const KNOWN: [&str; 4] = ["from", "to", "step", "times"];
    let stranger = table.iter().find(|(name, _)| !KNOWN.contains(&&**name.get_ref()));
    if let Some((name, _)) = stranger {
        return Err(format!("range: `{}` is {}", name.get_ref(), unknown(name.get_ref(), &KNOWN)));
    }
    let (Some(from), Some(to)) = (get("from")?, get("to")?) else {
        return Err("a range needs `from` and `to`".into());
    };
    let pace = match (get("step")?, get("times")?) {
        (Some(_), Some(_)) => return Err("a range has a `step` or `times`, not both".into()),
        (Some(step), None) => Some(Pace::Step(step)),
        (None, Some(times)) => Some(Pace::Times(times)),
        (None, None) => None,
    };
    range::values(&from, &to, pace.as_ref()).map_err(|reason| format!("the range {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Spec, Refusal> {
        Spec::parse("sweep.toml", text, PathBuf::new())
    }

    fn commands(text: &str) -> Vec<String> {
        let spec = parse(text).unwrap_or_else(|refusal| panic!("{refusal}"));
        (0..spec.cells()).map(|cell| spec.command(cell).join(" ")).collect()
    }

    #[track_caller]
    fn refused(text: &str, place: &str, words: &str) {
        let refusal = match parse(text) {
            Err(refusal) => refusal.to_string(),
            Ok(spec) => {
                let host = HostArgs::default();
                let faults = (0..spec.cells()).find_map(|cell| {
                    let experiment = spec.experiment(cell, &host);
                    let planned =
                        experiment.and_then(|e| e.plan().map_err(|error| spec.blame(cell, error)));
                    planned.err()
                });
                faults.expect("must be refused").to_string()
            }
        };
        let start = format!("spec sweep.toml{place}: ");
        assert!(refusal.starts_with(&start), "`{start}` does not begin: {refusal}");
        assert!(refusal.contains(words), "`{words}` is not in: {refusal}");
    }

    #[test]
    fn the_first_axis_changes_slowest() {
        let text = "hogs = 2\nhz = [250, 1000]\nbase_slice = { from = \"1ms\", to = \"3ms\", step = \"2ms\" }\n";
        assert_eq!(
            commands(text),
            [
                "run --hogs 2 --hz 250 --base-slice 1ms",
                "run --hogs 2 --hz 250 --base-slice 3ms",
                "run --hogs 2 --hz 1000 --base-slice 1ms",
                "run --hogs 2 --hz 1000 --base-slice 3ms",
            ]
        );
    }

    #[test]
    fn flags_repeat_switch_and_belong_to_mixes() {
        let text = "mix = \"hackbench\"\noptions = [\"-g 1\", \"-g 2 -l 5\"]\nfeature = [[\"NO_PLACE_LAG\", \"NO_RUN_TO_PARITY\"], []]\ncheck-invariants = true\n";
        let commands = commands(text);
        assert_eq!(
            commands[0],
            "run --mix hackbench --feature NO_PLACE_LAG --feature NO_RUN_TO_PARITY --check-invariants -- -g 1"
        );
        assert_eq!(commands[3], "run --mix hackbench --check-invariants -- -g 2 -l 5");
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        refused("hogs = 2\nhzz = 5\n", ":2:1", "did you mean hz?");
        refused("hogs = 2\nhz = [250, 5]\n", ":2:12", "from 10 to 10000");
        refused("hogs = 2\nhz = [250, 250]\n", ":2:12", "has `250` twice");
        refused("hogs = 2\nhz = []\n", ":2:6", "a value at least");
        refused("hogs = 2\nhz = [250\n", ":2:10", "unclosed array");
        refused("hogs = 2\nhogs = 3\n", ":2:1", "duplicate key");
        refused("seed = { from = 3, to = 1 }\n", ":1:8", "ends before it begins");
        refused("seed = { from = 3, two = 1 }\n", ":1:8", "did you mean to?");
        refused("repeat = 3\n", ":1:1", "seed = { from = 1, to = 10 }");
        refused("json = \"x\"\n", ":1:1", "unknown");
        refused("check-invariants = 3\n", ":1:20", "true or false");
        refused("", "", "is empty");
        refused(
            "seed = { from = 1, to = 1000 }\nhz = { from = 10, to = 1000 }\nhogs=1\n",
            "",
            "100000 cells",
        );
    }

    #[test]
    fn values_that_do_not_go_together_are_found_before_anything_runs() {
        refused("hogs = 2\nduration = [\"1s\", \"50us\"]\n", ":2:19", "--duration 50us: must be");
        refused("mix = \"hackbench\"\noptions = [\"-g 1\", \"-g 1000\"]\n", ":2:20", "40000 tasks");
        refused("mix = [\"pipe\", \"pip\"]\n", ":1:16", "did you mean pipe?");
        refused("smp = 2\n", "", "there is no task");
    }
}
