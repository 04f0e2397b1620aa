//! Flags of the questions about benchmarks.

use super::{HostArgs, values};
use clap::Args;
use std::path::PathBuf;

/// Flags of `extra-tick`, `wakeups` and `overload`.
#[derive(Args, Debug)]
pub struct QuestionArgs {
    /// Run each benchmark with so many seeds, from 1 on
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = values::repeats, allow_hyphen_values = true)]
    pub repeat: u32,
    /// Run only these benchmarks, by the names of their tables, such as hackbench,tbench; `none`
    /// for none of them [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub tests: Vec<String>,
    /// Also write the answer as JSON (`-`: to stdout)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Also write the answer as an HTML page with figures
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// The words after `slicelab` that ask for the same answer, see `repeatable`.
    #[arg(skip)]
    pub command: Vec<String>,
    /// How to run guests.
    #[command(flatten)]
    pub host: HostArgs,
}
