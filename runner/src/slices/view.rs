//! The answer of `slices` for the terminal.

use super::{Answer, Cell, TOLERANCE_PCT};
use crate::{report, units};
use std::fmt::Write;

/// Renders the table and what it says.
pub(super) fn render(answer: &Answer) -> String {
    let head = [
        "HZ",
        "slice",
        "published ms",
        "switches",
        "quiet ms",
        "switches",
        "extra ticks",
        "background ms",
        "switches",
        "error",
    ];
    let mut text = report::table(&head, answer.cells.iter().map(row));
    text.push('\n');
    write!(text, "{}", answer.losses).expect("a String takes everything");
    for load in &answer.background {
        writeln!(text, "background at HZ={}: {load}", load.hz).expect("a String takes everything");
    }
    for line in &answer.answer {
        writeln!(text, "{line}").expect("a String takes everything");
    }
    let worst = answer.cells.iter().map(|cell| cell.error_pct.abs()).fold(0.0, f64::max);
    writeln!(
        text,
        "{}: worst error {worst:.1} % of {TOLERANCE_PCT} %; {:.0} guest seconds in {:.1} s, {:.1} guest seconds per host second",
        report::verdict_word(answer.verdict),
        answer.guest_s,
        answer.wall_s,
        answer.guest_s / answer.wall_s.max(0.001),
    )
    .expect("a String takes everything");
    text
}

fn row(cell: &Cell) -> Vec<String> {
    vec![
        cell.hz.to_string(),
        units::exact_unsigned(cell.base_slice_ns),
        format!("{:.3}", cell.published.avg_run_ms),
        cell.published.switches.to_string(),
        format!("{:.3}", cell.quiet.avg_run_ms),
        cell.quiet.switches.to_string(),
        format!("{:.1} %", 100.0 * cell.quiet.extra_tick_share),
        format!("{:.3}", cell.background.avg_run_ms),
        cell.background.switches.to_string(),
        format!("{:+.1} %", cell.error_pct),
    ]
}

/// Says in numbers of this very run what a slice below a tick does.
pub(super) fn explanation(cells: &[Cell]) -> Vec<String> {
    let below_a_tick: Vec<&Cell> = cells
        .iter()
        .filter(|cell| cell.base_slice_ns < 1_000_000_000 / u64::from(cell.hz))
        .collect();
    let Some(hz) = below_a_tick.first().map(|cell| cell.hz) else { return Vec::new() };
    let list = |numbers: Vec<String>| match numbers.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => numbers.concat(),
    };
    let slices = below_a_tick.iter().map(|cell| units::exact_unsigned(cell.base_slice_ns));
    let quiet = below_a_tick.iter().map(|cell| format!("{:.2}", cell.quiet.avg_run_ms));
    let quiet_answer = format!(
        "A stint ends at the first tick at which its slice is used up, so at HZ={hz} base slices of {} give quiet stints of {} ms, one tick each: below a tick the slice does not matter.",
        list(slices.collect()),
        list(quiet.collect()),
    );
    let background_answer = "What makes published stints shorter than whole ticks is other tasks waking up: each wake-up may cut a stint in two, and the longer the slice, the more there is to cut.";
    vec![quiet_answer, background_answer.to_owned()]
}
