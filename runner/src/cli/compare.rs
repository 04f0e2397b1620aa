//! Flags of `compare`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Flags of `compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Result documents (`--json` files), the one to compare with first; or tables in CSV with the
    /// columns that `--csv` writes
    #[arg(value_name = "BASE NEW", required = true)]
    pub results: Vec<PathBuf>,
    /// What stands for several seeds
    #[arg(long, value_name = "WHAT", default_value = "mean")]
    pub statistic: Statistic,
    /// Print the tables as Markdown
    #[arg(long)]
    pub markdown: bool,
    /// Also write the comparison as JSON (`-`: to stdout)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Also write the comparison as CSV (`-`: to stdout)
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// What stands for several values.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Their arithmetic mean
    Mean,
    /// The one in the middle
    Median,
}

impl Statistic {
    /// What kernel developers' tables call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Mean => "AMean",
            Self::Median => "Median",
        }
    }
}
