//! Where results go: the terminal and the files that flags name.

use crate::error::{Error, Refusal, SetupError};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Stdout, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;

/// A target that a flag names, written at once; nowhere if it is not given.
#[derive(Debug)]
pub(crate) struct Sink(Option<Target>);

impl Sink {
    /// Prepares the target that `flag` names; `-` is stdout, `None` nowhere.
    ///
    /// # Errors
    /// It cannot be written to.
    pub(crate) fn prepare(flag: &'static str, path: Option<&Path>) -> Result<Self, Refusal> {
        path.map(|path| Target::prepare(flag, path)).transpose().map(Self)
    }

    /// Whether it takes up stdout, so that the report has to go elsewhere.
    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self.0, Some(Target::Stdout(_)))
    }

    /// Writes the whole content.
    ///
    /// # Errors
    /// Those of the operating system.
    pub(crate) fn write(self, content: &[u8]) -> Result<(), Error> {
        let Some(mut target) = self.0 else { return Ok(()) };
        let what = format!("write {target}");
        let written = target.writer().write_all(content);
        written.and_then(|()| target.finish()).map_err(SetupError::system(what))?;
        Ok(())
    }
}

/// The target of `--json`.
#[derive(Debug)]
pub struct JsonSink(Sink);

impl JsonSink {
    /// Prepares the target; `-` is stdout, `None` nowhere.
    ///
    /// # Errors
    /// It cannot be written to.
    pub fn prepare(path: Option<&Path>) -> Result<Self, Refusal> {
        Sink::prepare("--json", path).map(Self)
    }

    /// Whether the document takes up stdout, so that the report has to go elsewhere.
    pub fn is_stdout(&self) -> bool {
        self.0.is_stdout()
    }

    /// Writes the document.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn write(self, document: &impl Serialize) -> Result<(), Error> {
        let mut text = serde_json::to_string_pretty(document).expect("all keys are strings");
        text.push('\n');
        self.0.write(text.as_bytes())
    }
}

/// Where a result goes that a flag names a file for.
///
/// A file appears whole or not at all: readers never see half a document, and a run that fails
/// leaves the result of the run before.
#[derive(Debug)]
pub(crate) enum Target {
    /// For `-`.
    Stdout(Tolerant<Stdout>),
    /// A pipe or device, written in place.
    Open(PathBuf, Tolerant<File>),
    /// A file, written beside its place first.
    Replaced(PathBuf, NamedTempFile),
}

impl Target {
    /// Proves that it can be written to.
    ///
    /// # Errors
    /// It cannot.
    pub(crate) fn prepare(flag: &'static str, path: &Path) -> Result<Self, Refusal> {
        if path == Path::new("-") {
            return Ok(Self::Stdout(Tolerant::new(io::stdout())));
        }
        let refused = |error: io::Error| {
            // Without the name of the file beside it that is written first.
            let cause = error.raw_os_error().map(io::Error::from_raw_os_error).unwrap_or(error);
            Refusal::new(flag, path.display(), format!("cannot be written to ({cause})"))
        };
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                Err(Refusal::new(flag, path.display(), "is a folder; name a file or -"))
            }
            Ok(found) if !found.is_file() => {
                let file = OpenOptions::new().write(true).open(path).map_err(refused)?;
                Ok(Self::Open(path.into(), Tolerant::new(file)))
            }
            Ok(_) => {
                // Replacing would get around a file's own protection.
                OpenOptions::new().append(true).open(path).map_err(refused)?;
                Self::replacing(path).map_err(refused)
            }
            Err(_) => Self::replacing(path).map_err(refused),
        }
    }

    fn replacing(path: &Path) -> io::Result<Self> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let file = tempfile::Builder::new()
            .prefix(".slicelab-")
            // Less what the user's umask takes away, as for any new file.
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        Ok(Self::Replaced(path.into(), file))
    }

    /// What to write to.
    pub(crate) fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Stdout(stdout) => stdout,
            Self::Open(_, file) => file,
            Self::Replaced(_, file) => file,
        }
    }

    /// All is written: it appears.
    ///
    /// # Errors
    /// Those of the operating system.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.writer().flush()?;
        match self {
            Self::Stdout(_) | Self::Open(..) => Ok(()),
            Self::Replaced(path, file) => file.persist(path).map(drop).map_err(Into::into),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout(_) => write!(f, "stdout"),
            Self::Open(path, _) | Self::Replaced(path, _) => write!(f, "{}", path.display()),
        }
    }
}

/// A writer whose reader may have seen enough (`| head`): what comes then is dropped.
#[derive(Debug)]
pub(crate) struct Tolerant<W> {
    out: W,
    is_closed: bool,
}

impl<W> Tolerant<W> {
    const fn new(out: W) -> Self {
        Self { out, is_closed: false }
    }

    fn unless_closed<T>(&mut self, written: io::Result<T>, otherwise: T) -> io::Result<T> {
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(otherwise)
            }
            other => other,
        }
    }
}

impl<W: Write> Write for Tolerant<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed {
            return Ok(bytes.len());
        }
        let written = self.out.write(bytes);
        self.unless_closed(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.unless_closed(flushed, ())
    }
}

/// A reader that has seen enough (`| head`) is no error.
fn tolerate_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Prints a report, to stderr if stdout belongs to the document.
///
/// # Errors
/// Those of the operating system.
pub(crate) fn print(text: &str, to_stderr: bool) -> Result<(), Error> {
    let written = if to_stderr {
        anstream::stderr().write_all(text.as_bytes())
    } else {
        anstream::stdout().write_all(text.as_bytes())
    };
    tolerate_closed(written).map_err(SetupError::system("write the report"))?;
    Ok(())
}

/// A table in the one style of all reports: no frame, numbers to the right.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head.to_vec());
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = String::new();
    for line in table.to_string().lines() {
        // The style without a frame keeps the frame's padding.
        text.push_str(line.strip_prefix(' ').unwrap_or(line).trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_appears_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("result.json");
        let sink = JsonSink::prepare(Some(&path)).expect("writable");
        assert!(!path.exists());
        sink.write(&[1, 2]).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("there"), "[\n  1,\n  2\n]\n");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn a_run_that_fails_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        drop(JsonSink::prepare(Some(&folder.path().join("result.json"))).expect("writable"));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn unwritable_targets_are_refused() {
        for path in ["/nonexistent/result.json", "/", "/proc/result.json"] {
            let refusal = JsonSink::prepare(Some(Path::new(path))).expect_err(path);
            assert!(refusal.to_string().starts_with(&format!("--json {path}: ")), "{refusal}");
        }
    }
}
