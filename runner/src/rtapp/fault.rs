//! What is wrong with a file, where, and what to do about it.

use crate::error::Refusal;
use crate::source::{At, Source};
use std::fmt::Write as _;

/// Faults that one message shows; more would drown the first.
pub(super) const SHOWN: usize = 3;
/// Faults after which looking for more stops.
pub(super) const ENOUGH: usize = 20;
/// Names among which the one that was meant is looked for.
const CANDIDATES: usize = 1024;
/// Bytes of a word that is compared with others or shown whole.
const LONGEST_WORD: usize = 48;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    at: At,
    task: Option<String>,
    key: Option<String>,
    reason: String,
}

impl Fault {
    /// Something wrong at a place.
    pub(super) fn new(at: At, reason: impl Into<String>) -> Self {
        Self { at, task: None, key: None, reason: reason.into() }
    }

    /// Adds the task that it is about, unless it names one.
    pub(super) fn in_task(mut self, name: &str) -> Self {
        self.task.get_or_insert_with(|| short(name));
        self
    }

    /// Adds the key that it is about, unless it names one.
    pub(super) fn in_key(mut self, key: &str) -> Self {
        self.key.get_or_insert_with(|| short(key));
        self
    }

    fn write(&self, source: &Source<'_>, to: &mut String) {
        let task = self.task.iter().map(|task| format!("task `{task}`"));
        let key = self.key.iter().map(|key| format!("key `{key}`"));
        let place: Vec<_> = task.chain(key).collect();
        if !place.is_empty() {
            _ = write!(to, "{}: ", place.join(", "));
        }
        _ = write!(to, "{}\n{}", self.reason, source.excerpt(self.at));
    }
}

/// Makes one message of all faults, in the order of the file.
///
/// # Panics
/// Without a fault.
pub(super) fn refusal(source: &Source<'_>, mut faults: Vec<Fault>) -> Refusal {
    faults.sort_by_key(|fault| fault.at);
    let place = |fault: &Fault| format!("{}:{}", source.name, source.position(fault.at));
    let mut reason = String::new();
    for (index, fault) in faults.iter().take(SHOWN).enumerate() {
        if index > 0 {
            _ = write!(reason, "{}: ", place(fault));
        }
        fault.write(source, &mut reason);
    }
    match faults.len() {
        ENOUGH.. => reason.push_str("and more"),
        count if count > SHOWN => _ = write!(reason, "and {} more", count - SHOWN),
        _ => {}
    }
    Refusal::new("workload", place(&faults[0]), reason.trim_end())
}

/// A name as messages show it: as it is, unless it is absurdly long or would move the cursor.
pub(super) fn short(name: &str) -> String {
    let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut shown: String = name.chars().take(LONGEST_WORD).map(printable).collect();
    if name.chars().nth(LONGEST_WORD).is_some() {
        shown.push_str("...");
    }
    shown
}

/// Says which of the known words was meant, where one is near.
pub(super) fn did_you_mean<'k>(
    word: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Option<&'k str> {
    // The distance costs memory by both lengths, and nobody mistypes so many letters.
    if word.len() > LONGEST_WORD {
        return None;
    }
    let distance = |name: &str| strsim::damerau_levenshtein(word, name);
    known
        .into_iter()
        .take(CANDIDATES)
        .map(|name| (distance(name), name))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, name)| distance <= 1 + name.chars().count() / 4)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_place_task_key_reason_and_line() {
        let source = Source { name: "a.json", text: "{\n  \"x\": 1\n}" };
        let fault = Fault::new(At(4), "unknown").in_task("t").in_key("x").in_task("other");
        assert_eq!(
            refusal(&source, vec![fault]).to_string(),
            "workload a.json:2:3: task `t`, key `x`: unknown\n  2 | \"x\": 1\n    | ^"
        );
    }

    #[test]
    fn several_faults_come_in_the_order_of_the_file() {
        let source = Source { name: "a.json", text: "12345" };
        let faults = [4, 1, 0, 2].map(|at| Fault::new(At(at), format!("fault {at}")));
        let text = refusal(&source, faults.to_vec()).to_string();
        assert!(text.starts_with("workload a.json:1:1: fault 0\n"), "{text}");
        assert!(text.contains("\na.json:1:2: fault 1\n"), "{text}");
        assert!(text.ends_with("and 1 more"), "{text}");
    }

    #[test]
    fn only_what_is_near_was_meant() {
        let known = ["run", "runtime", "policy"];
        assert_eq!(did_you_mean("polcy", known), Some("policy"));
        assert_eq!(did_you_mean("runtim", known), Some("runtime"));
        assert_eq!(did_you_mean("zebra", known), None);
    }
}
