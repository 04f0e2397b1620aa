//! Cells of a table that have no numbers, and why.

use crate::error::Error;
use std::fmt;

/// What a table lacks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses {
    /// Cells that failed, each with its cause.
    failures: Vec<String>,
    /// Cells that an interrupt left out.
    interrupted: usize,
}

impl Losses {
    /// A cell has no numbers because of an error, or because its runs were not begun.
    pub(crate) fn add(&mut self, cell: impl fmt::Display, why: Option<&Error>) {
        match why {
            None | Some(Error::Interrupted { .. }) => self.interrupted += 1,
            Some(why) => self.failures.push(format!("{cell}: {why}")),
        }
    }

    /// Whether a cell failed for another reason than an interrupt.
    pub(crate) fn has_failures(&self) -> bool {
        !self.failures.is_empty()
    }

    /// Whether every cell has its numbers.
    pub(crate) fn is_none(&self) -> bool {
        !self.has_failures() && self.interrupted == 0
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for failure in &self.failures {
            writeln!(f, "no numbers for {failure}")?;
        }
        if self.interrupted > 0 {
            writeln!(f, "interrupted: {} cells have no numbers", self.interrupted)?;
        }
        Ok(())
    }
}
