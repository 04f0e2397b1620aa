//! What the reader of a result should know about the file, each thing once.

use super::fault::short;
use crate::source::{At, Source};

/// Names that a note lists.
const LISTED: usize = 12;

/// Notes as they come up.
#[derive(Debug, Default)]
pub(super) struct Notes {
    ignored: Vec<String>,
    repeated: Option<(At, String)>,
    repetitions: usize,
    twice: Option<(At, String)>,
    lines: Vec<String>,
}

impl Notes {
    /// A key without a meaning here.
    pub(super) fn ignored(&mut self, key: &str) {
        if !self.ignored.iter().any(|known| known == key) && self.ignored.len() <= LISTED {
            self.ignored.push(short(key));
        }
    }

    /// A key that was there before in the same object.
    pub(super) fn repeated(&mut self, at: At, key: &str) {
        self.repeated.get_or_insert_with(|| (at, short(key)));
        self.repetitions += 1;
    }

    /// A task of the same name as one before.
    pub(super) fn twice(&mut self, at: At, name: &str) {
        self.twice.get_or_insert_with(|| (at, short(name)));
    }

    /// Anything else; what was said before is not said again.
    pub(super) fn say(&mut self, line: impl Into<String>) {
        let line = line.into();
        if !self.lines.contains(&line) && self.lines.len() < LISTED {
            self.lines.push(line);
        }
    }

    /// All of them as sentences.
    pub(super) fn finish(self, source: &Source<'_>) -> Vec<String> {
        let mut all = Vec::new();
        if let Some((at, key)) = self.repeated {
            let others = match self.repetitions {
                1 => String::new(),
                more => format!(", the first of {more}"),
            };
            all.push(format!(
                "`{key}` repeats in one object (at {}{others}): every one counts, as with \
                 rt-app's workgen; rt-app itself would keep the last alone",
                source.position(at)
            ));
        }
        if let Some((at, name)) = self.twice {
            all.push(format!(
                "several tasks are called `{name}` (again at {}): all of them run, and `fork` \
                 means the first; rt-app itself would keep the last alone",
                source.position(at)
            ));
        }
        if !self.ignored.is_empty() {
            let keys: Vec<_> =
                self.ignored.iter().take(LISTED).map(|key| format!("`{key}`")).collect();
            let more = if self.ignored.len() > LISTED { " and more" } else { "" };
            all.push(format!("without a meaning here: {}{more}", keys.join(", ")));
        }
        all.extend(self.lines);
        all
    }
}
