//! A file that describes something, as its author sees it: lines and columns, and the place a message is about.

use std::fmt;

/// Characters of a line that a message shows.
const SHOWN: usize = 96;

/// A place in the file, in bytes from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At(pub u32);

/// A line and a column, both from 1. Columns count characters; a tab is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A file's text under its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    /// What messages call it.
    pub(crate) name: &'a str,
    /// Its text, without a byte order mark.
    pub(crate) text: &'a str,
}

impl<'a> Source<'a> {
    /// Line and column of a place.
    pub(crate) fn position(&self, at: At) -> Position {
        let before = self.before(at);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Position {
            line: 1 + before.matches('\n').count(),
            column: 1 + before[line_start..].chars().count(),
        }
    }

    /// The line of a place with a caret below, both ending in a newline.
    pub(crate) fn excerpt(&self, at: At) -> String {
        let before = self.before(at);
        let Position { line, column } = self.position(at);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let text = self.text[line_start..].lines().next().unwrap_or_default();
        // A file may be one line of megabytes.
        let skipped = (column - 1).saturating_sub(SHOWN * 3 / 4);
        let shown: String = text.chars().skip(skipped).take(SHOWN).map(printable).collect();
        let indent = shown.len() - shown.trim_start().len();
        let caret = (column - 1 - skipped).saturating_sub(indent);
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        format!("  {number} | {}\n  {margin} | {}^\n", shown.trim(), " ".repeat(caret))
    }

    fn before(&self, at: At) -> &'a str {
        let mut end = self.text.len().min(at.0 as usize);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        &self.text[..end]
    }
}

/// Keeps the columns of a terminal where the caret expects them.
fn printable(c: char) -> char {
    match c {
        c if c.is_whitespace() => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, at: u32) -> (usize, usize) {
        let Position { line, column } = Source { name: "a.json", text }.position(At(at));
        (line, column)
    }

    #[test]
    fn lines_and_columns_count_from_one() {
        assert_eq!(of("ab\n\tcd", 0), (1, 1));
        assert_eq!(of("ab\n\tcd", 2), (1, 3));
        assert_eq!(of("ab\n\tcd", 4), (2, 2));
        assert_eq!(of("\u{e4}\u{f6}x", 4), (1, 3));
        assert_eq!(of("", 9), (1, 1));
    }

    #[test]
    fn the_caret_stands_below_the_place() {
        let source = Source { name: "a.json", text: "{\n\t\"run\" : x,\n}" };
        assert_eq!(source.excerpt(At(11)), "  2 | \"run\" : x,\n    |         ^\n");
        let long = format!("{}X{}", " a".repeat(500), " b".repeat(500));
        let shown = Source { name: "a.json", text: &long }.excerpt(At(1000));
        let [line, caret] = shown.lines().collect::<Vec<_>>()[..] else { panic!("{shown}") };
        assert_eq!(line.find('X'), caret.find('^'));
        assert!(line.len() < 120);
    }
}
