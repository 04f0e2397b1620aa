//! `overload`: is waking a short task on the waker's CPU worth it, and why only at 4x?
//!
//! The thread: Chen Yu's SIS_SHORT (2022 to 2023, never merged). Pairs of tasks that wake each other
//! gain a multiple at 4x load, one pair for each CPU, and nothing at others; asked was why 4x and
//! not 3x or 5x. Here every load from 1x to 8x is measured with and without, and what was counted
//! says why: what a wake-up would have done that the feature changes, and whether it may.
//!
//! Runs are short and begin on an idle machine, where SIS_UTIL, which goes by averages of load, lets
//! searches go far. What is left once they have settled is measured at 4x.
//!
//! SIS_CURRENT, what became of the proposal, asks that both have woken only each other for a second:
//! `--settle 1100ms` of the mixes and `--feature SIS_CURRENT` show it.

mod benches;
mod curve;
mod published;
mod table;
mod words;

use super::{
    answer::{Answer, Sinks, expect},
    bench,
    matrix::{Matrix, Variant},
};
use crate::{cli::OverloadArgs, config::Config, error::Error, expect::Expectation, model::Model};
use curve::{Curve, Point};
use eevdf::Preset;
use placement::Feature;
use std::{ops::RangeInclusive, time::Instant};

const CPUS: u32 = 8;
/// Loads, by a quarter of a pair for each CPU.
const TIMES: RangeInclusive<u32> = 1..=8;
/// The oldest rules there are; those of the thread were older.
const PRESET: Preset = Preset::V6_6;

/// Answers the question.
///
/// # Errors
/// What keeps everything from running, or an interrupt.
pub(crate) fn execute(arguments: &OverloadArgs) -> Result<u8, Error> {
    let sinks = Sinks::prepare(&arguments.question)?;
    let host = arguments.question.host.host();
    let start = Instant::now();
    let variants = variants(&arguments.model);
    let benches = bench::select(benches::benches(), &arguments.tests)?;
    let matrix = Matrix::run("benchmarks", &variants, &benches, arguments.question.repeat, &host)?;
    let curves = Curve::all(&matrix, &benches);
    let answer = Answer {
        question: "overload",
        title: "Is waking a short task on the waker's CPU worth it, and why only at 4x?",
        cells: curves.iter().flat_map(table::cells).collect(),
        expectations: curves.iter().flat_map(expectations).collect(),
        runs: matrix.verdict(),
        tables: curves.iter().map(table::text).collect(),
        words: words::answer(&curves),
        guest_ns: matrix.guest_ns(),
        losses: matrix.losses,
    };
    answer.tell(&arguments.question, sinks, start)
}

/// The machine without the feature and with it.
fn variants(model: &Model) -> [Variant; 2] {
    [("off", false), ("SIS_SHORT", true)].map(|(name, on)| Variant {
        name: name.into(),
        config: Config {
            cpus: CPUS,
            preset: PRESET,
            costs: model.costs,
            smp_features: vec![(Feature::SisShort, on)],
            ..Config::default()
        },
    })
}

/// What the thread says, as something that holds or not: it pays at 4x, and not at either end. And
/// what it does not say: that it pays only until averages of load have settled.
fn expectations(curve: &Curve) -> Vec<Expectation> {
    let gain = |points: &[Option<&Point>], is_wanted: bool, what: &str, expected: &str| {
        let pct = |point: &&Point| point.on.pct_imp.map(|pct| format!("{pct:+.1} %"));
        let words: Option<Vec<_>> =
            points.iter().map(|point| point.as_ref().and_then(pct)).collect();
        let is_it = |point: &Option<&Point>| {
            point.is_some_and(|point| curve::is_gain(&point.on) == is_wanted)
        };
        expect(
            format!("{}: {what}", curve.test),
            expected,
            words.map_or_else(|| "no numbers".into(), |words| words.join(", ")),
            points.iter().all(is_it),
        )
    };
    vec![
        gain(&[curve.at(4)], true, "gain at 4x", "more than seeds differ and than 1 %"),
        gain(&[curve.at(1), curve.at(8)], false, "gain at 1x and 8x", "none"),
        gain(&[curve.settled.as_ref()], false, "gain at 4x once averages have settled", "none"),
    ]
}
