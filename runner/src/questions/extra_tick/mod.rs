//! `extra-tick`: why do tasks get an extra tick, and what does a base slice of 0.70 ms instead of
//! 0.75 ms change?
//!
//! The thread: "sched: Reduce the default slice to avoid tasks getting an extra tick". With eight
//! CPUs and more the base slice is four times that, 3.0 or 2.8 ms. At HZ=1000 the first is three
//! ticks exactly, so that a tick which charges the least bit less than its length leaves something
//! over and a fourth one follows.
//!
//! Two parts: what two busy tasks on one CPU do (`stints`), which is exact and asserted, and what
//! benchmarks make of it (`benches`), beside the published tables.

mod benches;
mod stints;
#[cfg(test)]
mod tests;
mod words;

use super::{
    answer::{self, Answer, Sinks},
    bench,
    matrix::Matrix,
};
use crate::{cli::ExtraTickArgs, config::Config, error::Error};
use eevdf::Preset;
use std::time::Instant;

/// The machine of both parts: the base slice grows with the CPUs up to eight.
const CPUS: u32 = 8;
/// The rules are the same before and after; the change was only the number.
const PRESET: Preset = Preset::V6_15;
/// 0.75 and 0.70 ms, four times.
const OLD_NS: u64 = 3_000_000;
const NEW_NS: u64 = 2_800_000;

/// Answers the question.
///
/// # Errors
/// What keeps everything from running, or an interrupt.
pub(crate) fn execute(arguments: &ExtraTickArgs) -> Result<u8, Error> {
    let sinks = Sinks::prepare(&arguments.question)?;
    let host = arguments.question.host.host();
    let start = Instant::now();
    let variants = benches::variants();
    let benches = bench::select(benches::benches(), &arguments.tests)?;
    let stints = stints::measure(&host)?;
    let matrix = Matrix::run("benchmarks", &variants, &benches, arguments.question.repeat, &host)?;
    let comparisons = benches::compare(&matrix);
    let mut cells: Vec<_> = stints.cells.iter().map(stints::Cell::document).collect();
    let mut tables = stints.table();
    for (key, comparison) in &comparisons {
        cells.extend(answer::cells(key, comparison));
        tables.push_str(&benches::table(comparison));
    }
    let answer = Answer {
        question: "extra-tick",
        title: "Why do tasks get an extra tick?",
        cells,
        expectations: stints.expectations(),
        runs: matrix.verdict(),
        tables,
        words: words::answer(&stints, &comparisons),
        guest_ns: stints.guest_ns + matrix.guest_ns(),
        losses: matrix.losses,
    };
    answer.tell(&arguments.question, sinks, start)
}

/// A machine with this tick rate and base slice.
fn machine(hz: u32, base_slice_ns: u64) -> Config {
    Config {
        cpus: CPUS,
        hz,
        preset: PRESET,
        base_slice_ns: Some(base_slice_ns),
        ..Config::default()
    }
}
