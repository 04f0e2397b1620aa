//! Flags of the questions about benchmarks.

use super::{HostArgs, values};
use crate::model::Model;
use clap::Args;
use std::path::PathBuf;

/// Flags of all of them.
#[derive(Args, Debug)]
pub struct QuestionArgs {
    /// Run each benchmark with so many seeds, from 1 on
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = values::repeats, allow_hyphen_values = true)]
    pub repeat: u32,
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

/// Flags of `extra-tick`.
#[derive(Args, Debug)]
pub struct ExtraTickArgs {
    /// Run only these benchmarks, by the names of their tables, such as hackbench,tbench; `none`
    /// for none of them [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub tests: Vec<String>,
    /// Those of all questions.
    #[command(flatten)]
    pub question: QuestionArgs,
}

/// Flags of `wakeups`.
#[derive(Args, Debug)]
pub struct WakeupsArgs {
    /// Machine models to measure on: files, or skl and spr, which are set beside the machines of
    /// those names; others stand beside SPR
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "skl,spr",
        allow_hyphen_values = true
    )]
    pub model: Vec<Model>,
    /// Those of all questions.
    #[command(flatten)]
    pub question: QuestionArgs,
}

/// Flags of `overload`.
#[derive(Args, Debug)]
pub struct OverloadArgs {
    /// Run only these benchmarks, by the names of their tables, such as TCP_RR,tbench; `none` for
    /// none of them [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub tests: Vec<String>,
    /// Machine model to measure on: a file, or skl or spr
    #[arg(long, value_name = "FILE", default_value = "spr", allow_hyphen_values = true)]
    pub model: Model,
    /// Those of all questions.
    #[command(flatten)]
    pub question: QuestionArgs,
}
