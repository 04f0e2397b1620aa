//! The comparison with Linux for the terminal.

use super::{Answer, Cell, TOLERANCE_PCT};
use crate::{report, units};
use std::fmt::Write;

/// Renders the table and what it says.
pub(super) fn render(answer: &Answer) -> String {
    let head = [
        "Linux", "HZ", "slice", "irq time", "wake-ups", "Linux ms", "switches", "here ms",
        "switches", "error",
    ];
    let mut text = report::table(&head, answer.cells.iter().map(row));
    text.push('\n');
    write!(text, "{}", answer.losses).expect("a String takes everything");
    writeln!(
        text,
        "Set as they were there: {} per tick where irq time is accounted for (elsewhere it is run \
         time), {} from a slice timer to what it causes, and something that wakes once a second \
         with the tick for {}. a|b: a slice of whole ticks without irq time is a tie; both answers. \
         docs/against-linux.md explains the differences.",
        units::exact_unsigned(answer.irq_cost_ns),
        units::exact_unsigned(answer.slice_timer_ns.into()),
        units::exact_unsigned(answer.housekeeping_run_ns),
    )
    .expect("a String takes everything");
    for kernel in kernels(answer) {
        let cells = || answer.cells.iter().filter(|cell| cell.kernel == kernel);
        writeln!(
            text,
            "Linux {kernel}: {} of {} cells differ by more than {TOLERANCE_PCT} %, worst {:.1} %",
            cells().filter(|cell| cell.is_off()).count(),
            cells().count(),
            cells().map(|cell| cell.error_pct.abs()).fold(0.0, f64::max),
        )
        .expect("a String takes everything");
    }
    writeln!(
        text,
        "{}: {:.0} guest seconds in {:.1} s",
        report::verdict_word(answer.verdict),
        answer.guest_s,
        answer.wall_s,
    )
    .expect("a String takes everything");
    text
}

/// In the order of the cells, each once.
fn kernels(answer: &Answer) -> Vec<&str> {
    let mut kernels: Vec<_> = answer.cells.iter().map(|cell| cell.kernel.as_str()).collect();
    kernels.dedup();
    kernels
}

fn row(cell: &Cell) -> Vec<String> {
    let both = |one: String, other: Option<String>| match other {
        Some(other) => format!("{one}|{other}"),
        None => one,
    };
    let short = cell.measured_short;
    let release = cell.preset.trim_start_matches('v');
    let switched: String = cell
        .features
        .iter()
        .map(|(name, on)| format!(" {}{name}", if *on { "" } else { "NO_" }))
        .collect();
    vec![
        format!("{release}{switched}"),
        cell.hz.to_string(),
        units::exact_unsigned(cell.base_slice_ns),
        if cell.irq_time_accounting { "on" } else { "off" }.into(),
        cell.wakeups_per_s.map_or("-".into(), |rate| format!("{rate}/s")),
        format!("{:.3}", cell.published.avg_run_ms),
        cell.published.switches.to_string(),
        both(
            format!("{:.3}", cell.measured.avg_run_ms),
            short.map(|short| format!("{:.3}", short.avg_run_ms)),
        ),
        both(cell.measured.switches.to_string(), short.map(|short| short.switches.to_string())),
        format!("{:+.2} %{}", cell.error_pct, if cell.is_off() { " <" } else { "" }),
    ]
}
