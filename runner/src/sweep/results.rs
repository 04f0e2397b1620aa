//! Results of a sweep: a file of JSON lines that only grows, and survives whatever ends the sweep.
//!
//! The first line says which sweep it is; each other line is a cell that has ended. A line is on
//! disk before the next cell's is written, so a crash can tear the last line only, and a line
//! without its newline is cut off when the sweep goes on. Of several lines for one cell the last
//! counts. One process writes at a time: the file is locked.

use super::spec::{Axis, Spec, steps};
use crate::{
    error::{Error, Refusal, SetupError},
    report::Document,
};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

/// Version of the file.
const VERSION: u32 = 1;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    slicelab_sweep: u32,
    axes: Vec<Axis>,
}

/// Any other line: one of the two.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    cell: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<Box<Document>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
}

/// Why a cell has no result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// What `run` would have exited with.
    pub(crate) exit_code: u8,
    /// In words.
    pub(crate) cause: String,
}

/// How a cell ended.
#[derive(Clone, Debug)]
pub(crate) enum Ended {
    /// With a result.
    Done(Box<Document>),
    /// Without one.
    Failed(Failure),
}

impl Line {
    fn new(cell: usize, ended: Ended) -> Self {
        let (document, failure) = match ended {
            Ended::Done(document) => (Some(document), None),
            Ended::Failed(failure) => (None, Some(failure)),
        };
        Self { cell, document, failure }
    }

    fn ended(self) -> Option<Ended> {
        match (self.document, self.failure) {
            (Some(document), None) => Some(Ended::Done(document)),
            (None, Some(failure)) => Some(Ended::Failed(failure)),
            _ => None,
        }
    }
}

/// The cells of a sweep that have ended.
#[derive(Debug)]
pub(crate) struct Results {
    path: PathBuf,
    /// Open while the sweep runs.
    file: Option<Locked>,
    head: Head,
    ended: BTreeMap<usize, Ended>,
}

/// A file that is locked, or on a file system without locks.
///
/// Unlocked by name, not by closing it alone: a child that was forked but is no QEMU yet has it
/// open as well, and would hold the lock until then.
#[derive(Debug)]
struct Locked(File);

impl Drop for Locked {
    fn drop(&mut self) {
        // What cannot be unlocked was not locked.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl Results {
    /// Opens the file of a sweep, or begins one.
    ///
    /// # Errors
    /// It is of another sweep, damaged, in use, or cannot be written.
    pub(super) fn open(path: &Path, spec: &Spec) -> Result<Self, Error> {
        let refused = |reason: String| Refusal::new("--output", path.display(), reason);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| refused(format!("cannot be written to ({error})")))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(refused("is in use by another sweep".into()).into());
            }
            // Some file systems have no locks; one sweep at a time is then the user's care.
            Err(_) => {}
        }
        let mut locked = Locked(file);
        let Locked(file) = &mut locked;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(|error| refused(format!("cannot be read ({error})")))?;
        let whole = whole_lines(&bytes);
        let mut results = match whole.len() {
            0 => Self::empty(path, spec.axes()),
            _ => Self::parse(path, whole)?,
        };
        results.check(spec)?;
        let written = (|| {
            file.set_len(whole.len() as u64)?;
            file.seek(SeekFrom::End(0))?;
            if whole.is_empty() {
                file.write_all(line(&results.head).as_bytes())?;
            }
            file.sync_data()
        })();
        written.map_err(SetupError::system(format!("write {}", path.display())))?;
        results.file = Some(locked);
        Ok(results)
    }

    /// Reads the file of a sweep, as far as it has come.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub(crate) fn read(path: &Path) -> Result<Self, Refusal> {
        let bytes = std::fs::read(path)
            .map_err(|error| Refusal::new("results", path.display(), error.to_string()))?;
        Self::parse(path, whole_lines(&bytes))
    }

    fn empty(path: &Path, axes: &[Axis]) -> Self {
        Self {
            path: path.to_owned(),
            file: None,
            head: Head { slicelab_sweep: VERSION, axes: axes.to_vec() },
            ended: BTreeMap::new(),
        }
    }

    /// Reads whole lines.
    fn parse(path: &Path, whole: &[u8]) -> Result<Self, Refusal> {
        let refused = |number: usize, reason: &dyn std::fmt::Display| {
            let reason = format!("line {number} is not what a sweep writes: {reason}");
            Refusal::new("results", path.display(), reason)
        };
        let text = std::str::from_utf8(whole).map_err(|error| refused(1, &error))?;
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
        let (number, first) = lines.next().ok_or_else(|| refused(1, &"it is not there"))?;
        let head: Head = serde_json::from_str(first).map_err(|error| refused(number, &error))?;
        if head.slicelab_sweep != VERSION {
            let reason = format!("its version is {}, not {VERSION}", head.slicelab_sweep);
            return Err(refused(number, &reason));
        }
        let mut results = Self { head, ..Self::empty(path, &[]) };
        let cells = results.cells();
        for (number, text) in lines {
            let line: Line = serde_json::from_str(text).map_err(|error| refused(number, &error))?;
            let cell = line.cell;
            if cell >= cells {
                return Err(refused(number, &format!("there are only {cells} cells")));
            }
            let ended = line.ended().ok_or_else(|| refused(number, &"it has no result"))?;
            results.ended.insert(cell, ended);
        }
        Ok(results)
    }

    /// Refuses results of another sweep, and says what has changed.
    fn check(&self, spec: &Spec) -> Result<(), Refusal> {
        let Some(change) = change(&self.head.axes, spec.axes()) else { return Ok(()) };
        let path = self.path.display();
        let reason = format!(
            "has changed since {path} was begun: {change}. Name another --output, or remove {path} \
             to begin again"
        );
        Err(Refusal::new("spec", spec.name(), reason))
    }

    /// Keeps how a cell ended, on disk before it returns.
    ///
    /// # Errors
    /// Those of the operating system.
    pub(super) fn append(&mut self, cell: usize, ended: Ended) -> Result<(), Error> {
        let line = line(&Line::new(cell, ended.clone()));
        let Locked(file) = self.file.as_mut().expect("a sweep's own results are open");
        let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
        written.map_err(SetupError::system(format!("write {}", self.path.display())))?;
        self.ended.insert(cell, ended);
        Ok(())
    }

    /// Adds another part of the same sweep.
    ///
    /// # Errors
    /// It is of another sweep, or contradicts this one.
    pub(super) fn add(&mut self, part: Self) -> Result<(), Refusal> {
        let refused = |reason| Refusal::new("results", part.path.display(), reason);
        if let Some(change) = change(&self.head.axes, &part.head.axes) {
            let reason = format!("is of another sweep than {}: {change}", self.path.display());
            return Err(refused(reason));
        }
        for (&cell, ended) in &part.ended {
            match (self.ended.get(&cell), ended) {
                (Some(Ended::Done(one)), Ended::Done(other)) => {
                    if repeatable(one) != repeatable(other) {
                        let cell = label(&self.head.axes, cell);
                        let other = self.path.display();
                        let reason = format!("has another result for cell `{cell}` than {other}");
                        return Err(refused(reason));
                    }
                }
                // A result beats a failure.
                (Some(Ended::Done(_)), Ended::Failed(_)) => {}
                (Some(Ended::Failed(_)) | None, _) => {
                    self.ended.insert(cell, ended.clone());
                }
            }
        }
        Ok(())
    }

    /// The whole file, in the order of the cells.
    pub(super) fn to_text(&self) -> String {
        let mut text = line(&self.head);
        for (&cell, ended) in &self.ended {
            text.push_str(&line(&Line::new(cell, ended.clone())));
        }
        text
    }

    /// What has ended, by cell.
    pub(crate) fn ended(&self) -> &BTreeMap<usize, Ended> {
        &self.ended
    }

    /// The axes of the grid.
    pub(crate) fn axes(&self) -> &[Axis] {
        &self.head.axes
    }

    /// How many cells the whole sweep has.
    pub(crate) fn cells(&self) -> usize {
        self.head.axes.iter().map(|axis| axis.values.len()).product()
    }
}

/// What is before the last newline: a line that a crash has torn has none, and may end within a
/// character.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    &bytes[..end]
}

/// A cell in words, by what varies.
pub(crate) fn label(axes: &[Axis], cell: usize) -> String {
    let steps = steps(axes, cell);
    let words = axes
        .iter()
        .zip(steps)
        .filter(|(axis, _)| axis.varies())
        .map(|(axis, step)| format!("{}={}", axis.name, axis.label(step)));
    words.collect::<Vec<_>>().join(", ")
}

fn line(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value).expect("all keys are strings");
    text.push('\n');
    text
}

/// A document without the host's time, which is all that may differ under the virtual clock.
fn repeatable(document: &Document) -> serde_json::Value {
    let mut value = serde_json::to_value(document).expect("all keys are strings");
    if let Some(totals) = value.get_mut("totals").and_then(|totals| totals.as_object_mut()) {
        totals.remove("wall_s");
    }
    value
}

/// The first thing in which two grids differ.
fn change(old: &[Axis], new: &[Axis]) -> Option<String> {
    let values = |axis: &Axis| {
        (0..axis.values.len()).map(|step| axis.label(step)).collect::<Vec<_>>().join(", ")
    };
    for axis in new {
        match old.iter().find(|other| other.name == axis.name) {
            None => return Some(format!("`{}` is new", axis.name)),
            Some(other) if other.values != axis.values => {
                return Some(format!("`{}` was {}, is {}", axis.name, values(other), values(axis)));
            }
            Some(_) => {}
        }
    }
    if let Some(gone) = old.iter().find(|axis| new.iter().all(|other| other.name != axis.name)) {
        return Some(format!("`{}` is gone", gone.name));
    }
    (old != new).then(|| "its keys stand in another order".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(folder: &Path, text: &str) -> Spec {
        let path = folder.join("sweep.toml");
        std::fs::write(&path, text).expect("written");
        Spec::read(&path).expect("a good spec")
    }

    fn failed(cause: &str) -> Ended {
        Ended::Failed(Failure { exit_code: 4, cause: cause.into() })
    }

    #[test]
    fn a_file_torn_at_any_byte_goes_on_with_its_whole_lines() {
        let folder = tempfile::tempdir().expect("a folder");
        let spec = spec(folder.path(), "hogs = 1\nhz = [100, 250, 1000]\n");
        let path = folder.path().join("whole.jsonl");
        let mut results = Results::open(&path, &spec).expect("a new file");
        for cell in [2, 0, 1] {
            results
                .append(cell, failed(&format!("h\u{f6}r auf \u{1f4a5} {cell}")))
                .expect("written");
        }
        drop(results);
        let whole = std::fs::read(&path).expect("there");
        for length in 0..=whole.len() {
            let torn = folder.path().join("torn.jsonl");
            std::fs::write(&torn, &whole[..length]).expect("written");
            let mut results = Results::open(&torn, &spec).expect("a torn file is no fault");
            let lines = whole[..length].iter().filter(|&&byte| byte == b'\n').count();
            assert_eq!(results.ended().len(), lines.saturating_sub(1), "at {length}");
            results.append(1, failed("again")).expect("written");
            drop(results);
            let again = Results::read(&torn).expect("whole lines only");
            assert!(
                matches!(&again.ended()[&1], Ended::Failed(failure) if failure.cause == "again")
            );
        }
    }

    #[test]
    fn another_grid_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sweep.jsonl");
        drop(Results::open(&path, &spec(folder.path(), "hogs = 1\nhz = [100, 250]\n")));
        let refused = |text: &str| {
            let error = Results::open(&path, &spec(folder.path(), text)).expect_err("changed");
            error.to_string()
        };
        let text = refused("hogs = 1\nhz = [100, 1000]\n");
        assert!(text.contains("`hz` was 100, 250, is 100, 1000"), "{text}");
        assert!(text.contains("sweep.jsonl") && text.contains("--output"), "{text}");
        assert!(refused("hogs = 1\nhz = [100, 250]\nsmp = 2\n").contains("`smp` is new"));
        assert!(refused("hz = [100, 250]\n").contains("`hogs` is gone"));
        assert!(refused("hz = [100, 250]\nhogs = 1\n").contains("another order"));
    }

    #[test]
    fn two_sweeps_do_not_write_one_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, spec) = (folder.path().join("x.jsonl"), spec(folder.path(), "hogs = [1, 2]\n"));
        let first = Results::open(&path, &spec).expect("a new file");
        let text = Results::open(&path, &spec).expect_err("locked").to_string();
        assert!(text.contains("in use by another sweep"), "{text}");
        drop(first);
        assert!(Results::open(&path, &spec).is_ok());
    }

    #[test]
    fn damage_within_is_an_error_with_its_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, spec) = (folder.path().join("x.jsonl"), spec(folder.path(), "hogs = [1, 2]\n"));
        let mut results = Results::open(&path, &spec).expect("a new file");
        results.append(0, failed("x")).expect("written");
        drop(results);
        let mut text = std::fs::read_to_string(&path).expect("there");
        text.push_str("{\"cell\": 9, \"failure\": {\"exit_code\": 4, \"cause\": \"\"}}\n");
        std::fs::write(&path, &text).expect("written");
        let error = Results::read(&path).expect_err("there is no cell 9").to_string();
        assert!(error.contains("line 3") && error.contains("only 2 cells"), "{error}");
    }
}
