//! A trace: who ran where in its first second, and how the lag of each task went.
//!
//! The timeline is written by the template library and not drawn: a plotting library has whole
//! pixels, and a stint is a hundredth of one. The script beside it only moves what is there, for
//! those who want to look closer.

use super::{
    Section, parts,
    plot::{self, Axes, Ink},
};
use crate::{
    trace::{
        read::Trace,
        stints::{Stint, Timeline},
    },
    units,
};
use abi::trace::StintEnd;
use maud::{Markup, PreEscaped, html};
use std::collections::BTreeMap;

const ZOOM: &str = include_str!("zoom.js");
/// What is shown of a run, ns.
const WINDOW_NS: u64 = 1_000_000_000;
/// Stints that are shown; with more the window ends earlier.
const STINTS: usize = 3000;
/// CPUs that are shown.
const CPUS: u32 = 32;
/// Tasks whose lag is drawn, each in a colour of its own.
const LAGS: usize = plot::SERIES;

/// The section of a trace.
pub(super) fn section(name: &str, trace: &Trace) -> Section {
    Section { title: format!("Trace {name}"), body: figures(trace) }
}

/// Its figures.
pub(super) fn figures(trace: &Trace) -> Markup {
    let Shown { stints, end_ns, is_cut } = first_stints(trace);
    if stints.is_empty() {
        return html! { p { "Nothing ran in this trace." } };
    }
    let inks = inks(&stints);
    let keys: Vec<_> = inks
        .iter()
        .take(24)
        .map(|(&task, &ink)| parts::Key { name: trace.name(task).into(), ink, is_cross: false })
        .collect();
    let shown = units::rounded(end_ns as f64);
    let why = match is_cut {
        true => format!(", as far as {STINTS} stints go"),
        false => String::new(),
    };
    let cpus = trace.description.cpus.min(CPUS);
    let caption = format!(
        "The first {shown}{why}: {} stints of {} tasks on {cpus} of {} CPUs. What is empty was idle.",
        stints.len(),
        inks.len(),
        trace.description.cpus
    );
    let lost = trace.lost();
    html! {
        figure.timeline {
            figcaption { strong { "Who ran where" } (caption) }
            ul.legend { @for key in &keys { (parts::key(key)) } }
            @for (class, wide) in [("wide", true), ("narrow", false)] {
                div class=(class) { (timeline(trace, &stints, &inks, cpus, end_ns, wide)) }
            }
        }
        (lags(trace, &stints, &inks))
        @if lost > 0 { p.fail { (lost) " records of this trace are missing." } }
        script { (PreEscaped(ZOOM)) }
    }
}

/// What is shown of a trace.
struct Shown {
    stints: Vec<Stint>,
    end_ns: u64,
    is_cut: bool,
}

fn first_stints(trace: &Trace) -> Shown {
    let mut timeline = Timeline::new(&trace.description);
    let ended = trace.entries().filter_map(|entry| timeline.take(&entry));
    let is_shown = |stint: &Stint| stint.start_ns < WINDOW_NS && stint.cpu < CPUS;
    // Stints come as they end, so of all CPUs none ends before one that is not reached yet.
    let mut stints: Vec<Stint> =
        ended.take_while(|stint| stint.end_ns < 2 * WINDOW_NS).filter(is_shown).collect();
    let is_cut = stints.len() > STINTS;
    stints.truncate(STINTS);
    let last_ns = stints.iter().map(|stint| stint.end_ns).max().unwrap_or(0);
    let end_ns = last_ns.min(WINDOW_NS);
    for stint in &mut stints {
        stint.end_ns = stint.end_ns.min(end_ns);
    }
    stints.retain(|stint| stint.start_ns < end_ns);
    Shown { stints, end_ns, is_cut }
}

/// A colour for each task, in the order of the scenario.
fn inks(stints: &[Stint]) -> BTreeMap<u32, Ink> {
    let mut inks: BTreeMap<u32, Ink> = stints.iter().map(|s| (s.task, Ink::Text)).collect();
    inks.values_mut().enumerate().for_each(|(number, ink)| *ink = Ink::Series(number));
    inks
}

/// Where things are in a timeline, in pixels.
struct Place {
    width: f64,
    left: f64,
    right: f64,
    row: f64,
    end_ns: u64,
}

impl Place {
    fn x(&self, ns: u64) -> f64 {
        self.left + (self.right - self.left) * ns as f64 / self.end_ns as f64
    }
}

fn timeline(
    trace: &Trace,
    stints: &[Stint],
    inks: &BTreeMap<u32, Ink>,
    cpus: u32,
    end_ns: u64,
    wide: bool,
) -> Markup {
    let (width, marks) = if wide { (880.0, 8) } else { (360.0, 3) };
    let place = Place { width, left: 52.0, right: width - 14.0, row: 30.0, end_ns };
    let bottom = place.row * f64::from(cpus) + 6.0;
    let label = format!("Who ran on {cpus} CPUs in the first {}", units::rounded(end_ns as f64));
    html! {
        svg role="img" aria-label=(label) xmlns="http://www.w3.org/2000/svg"
            viewBox=(format!("0 0 {} {}", place.width, bottom + 40.0))
            data-left=(place.left) data-right=(place.right) data-end=(end_ns as f64 / 1e6)
        {
            @for cpu in 0..cpus {
                @let middle = f64::from(cpu) * place.row + place.row / 2.0;
                text x=(place.left - 8.0) y=(middle + 5.0) text-anchor="end" { "cpu" (cpu) }
            }
            @for stint in stints {
                @let (from, to) = (place.x(stint.start_ns), place.x(stint.end_ns));
                @let y = f64::from(stint.cpu) * place.row + 4.0;
                rect x=(format!("{from:.4}")) width=(format!("{:.4}", to - from)) y=(y) height="22"
                    fill=(format!("var({})", inks[&stint.task].variable()))
                {
                    @if wide { title { (describe(trace, stint)) } }
                }
            }
            line x1=(place.left) x2=(place.right) y1=(bottom) y2=(bottom) {}
            @for mark in 0..=marks {
                @let at = end_ns * mark / marks;
                @let x = place.x(at);
                line x1=(x) x2=(x) y1=(bottom) y2=(bottom + 5.0) {}
                text.time x=(x) y=(bottom + 19.0) text-anchor=(if mark == marks { "end" } else { "middle" }) {
                    (format!("{:.0}", at as f64 / 1e6))
                }
            }
            text x=((place.left + place.right) / 2.0) y=(bottom + 36.0) text-anchor="middle" {
                "time, ms"
            }
        }
    }
}

fn describe(trace: &Trace, stint: &Stint) -> String {
    let ms = |ns: u64| ns as f64 / 1e6;
    let left = stint.end.map_or("the run ended", StintEnd::word);
    format!(
        "{}: {:.3} to {:.3} ms, {}",
        trace.name(stint.task),
        ms(stint.start_ns),
        ms(stint.end_ns),
        left
    )
}

/// Lag over time: what each task was owed as its stints began and ended.
fn lags(trace: &Trace, stints: &[Stint], inks: &BTreeMap<u32, Ink>) -> Markup {
    let drawn: Vec<u32> = inks.keys().copied().take(LAGS).collect();
    let points = |task: u32| {
        let of_task = stints.iter().filter(move |stint| stint.task == task);
        let mut points: Vec<(f64, f64)> = of_task
            .flat_map(|stint| {
                let start = Some((stint.start_ns, stint.start_lag_ns));
                let end = stint.end_lag_ns.map(|lag| (stint.end_ns, lag));
                start.into_iter().chain(end)
            })
            .map(|(at_ns, lag_ns)| (at_ns as f64 / 1e6, lag_ns as f64))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        (inks[&task], points)
    };
    let series: Vec<_> = drawn.iter().map(|&task| points(task)).collect();
    let keys: Vec<_> = drawn
        .iter()
        .map(|&task| parts::Key {
            name: trace.name(task).into(),
            ink: inks[&task],
            is_cross: false,
        })
        .collect();
    let title = "Lag over time";
    let caption = "What each task is owed (above zero) or has had too much (below) as its stints begin and \
                   end. For tasks that always run, with equal weights, it stays within a slice and a tick of zero.";
    let axes = Axes { x: "time, ms", y: "lag" };
    parts::figure(title, caption, &keys, &plot::lines(title, axes, &series, &units::rounded))
}

#[cfg(test)]
mod tests;
