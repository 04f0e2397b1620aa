//! Flags of `report`.

use clap::Args;
use std::path::PathBuf;

/// Flags of `report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Result documents (`--json` files), results of sweeps (.jsonl) and traces (`--trace` files)
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<PathBuf>,
    /// The page to write (`-`: to stdout)
    #[arg(long, short, value_name = "FILE.html")]
    pub output: PathBuf,
    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}
