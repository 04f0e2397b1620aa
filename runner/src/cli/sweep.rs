//! Flags of `sweep` and `merge`.

use super::HostArgs;
use clap::Args;
use std::{num::NonZero, path::PathBuf};

/// Flags of `sweep`.
#[derive(Args, Debug)]
pub struct SweepArgs {
    /// The grid: a TOML file with flags of `run` as keys and lists of values; see
    /// docs/sweep-on-a-cluster.md
    #[arg(value_name = "SPEC.toml")]
    pub spec: PathBuf,
    /// Results, one line for each cell as it ends; an interrupted sweep goes on with what is there
    /// [default: the spec's name with .jsonl, beside it]
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Run only every N-th cell, from the I-th on, such as 1/4; `slicelab merge` puts the parts
    /// together
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<Shard>,
    /// Run cells again that failed before
    #[arg(long)]
    pub retry: bool,
    /// Guests at a time [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZero<usize>>,
    /// What the table shows.
    #[command(flatten)]
    pub table: TableArgs,
    /// How to run guests.
    #[command(flatten)]
    pub host: HostArgs,
}

/// Flags of `merge`.
#[derive(Args, Debug)]
pub struct MergeArgs {
    /// Results of one sweep's shards
    #[arg(value_name = "RESULTS.jsonl", required = true)]
    pub parts: Vec<PathBuf>,
    /// Where to write all of them, in the order of the cells
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// What the table shows.
    #[command(flatten)]
    pub table: TableArgs,
    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}

/// What the table of a sweep shows.
#[derive(Args, Clone, Debug, Default)]
pub struct TableArgs {
    /// Figure to show (repeatable) [default: the first six]
    #[arg(long, value_name = "NAME")]
    pub metric: Vec<String>,
    /// Also write the table with all figures as CSV (`-`: to stdout)
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Also write the table as an HTML page
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
}

/// A part of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which part, from 1.
    pub number: usize,
    /// How many parts.
    pub of: usize,
}

impl Shard {
    /// Whether a cell belongs to it.
    pub(crate) const fn has(self, cell: usize) -> bool {
        cell % self.of == self.number - 1
    }
}

fn shard(text: &str) -> Result<Shard, String> {
    let (number, of) = text.split_once('/').ok_or("must be I/N, such as 1/4")?;
    match (number.parse(), of.parse()) {
        (Ok(number), Ok(of)) if (1..=of).contains(&number) => Ok(Shard { number, of }),
        _ => Err("must be I/N with 1 <= I <= N, such as 1/4".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_disjoint_and_leave_nothing_out() {
        let shards = ["1/3", "2/3", "3/3"].map(|text| shard(text).expect("a shard"));
        for cell in 0..10 {
            assert_eq!(shards.iter().filter(|shard| shard.has(cell)).count(), 1, "{cell}");
        }
        for bad in ["0/3", "4/3", "1/0", "1", "a/b", ""] {
            assert!(shard(bad).is_err(), "{bad}");
        }
    }
}
