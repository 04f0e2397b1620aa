//! One run for the terminal: what was run, the tasks, the CPUs, the verdict and why.

use super::{Document, TaskDocument, document::TotalsDocument, metrics, output::table};
use crate::{
    expect::{Expectation, Verdict},
    units,
};
use abi::record::Ending;
use anstyle::{AnsiColor, Style};
use std::fmt::Write;

/// CPUs shown one by one; of larger machines only the first and those that stand out.
const CPUS_SHOWN: usize = 16;
/// Tasks shown one by one.
const TASKS_SHOWN: usize = 64;

/// Whether there is a line for each task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tasks {
    /// There is.
    Shown,
    /// There is not: they are many and alike.
    Hidden,
}

/// Renders a run.
pub(crate) fn render(document: &Document, are: Tasks) -> String {
    let mut text = header(document);
    text.push('\n');
    if !document.metrics.is_empty() {
        text.push_str(&metrics::table_of(document));
        text.push('\n');
    }
    if are == Tasks::Shown {
        text.push_str(&tasks(document));
        text.push('\n');
    }
    text.push_str(&cpus(document));
    text.push_str(&wakeups(document));
    text.push('\n');
    text.push_str(&verdict(document));
    text
}

/// The verdict, coloured.
pub(crate) fn verdict_word(verdict: Verdict) -> String {
    let colour = match verdict {
        Verdict::Pass => AnsiColor::Green,
        Verdict::Fail => AnsiColor::Red,
        Verdict::Inconclusive => AnsiColor::Yellow,
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    format!("{style}{}{style:#}", verdict.word())
}

/// What was run, in a line.
pub(crate) fn header(document: &Document) -> String {
    let config = &document.config;
    let plural = if config.cpus == 1 { "" } else { "s" };
    // One that ended by itself could have taken longer.
    let limit = if document.totals.ending == Ending::Time.word() { "" } else { "at most " };
    let mut line = format!(
        "{} on {} CPU{plural}, HZ={}, base slice {}, {limit}{} of {} time, {} burn, seed {}",
        config.preset,
        config.cpus,
        config.hz,
        units::exact_unsigned(config.base_slice_ns),
        units::exact_unsigned(config.duration_ns),
        config.clock,
        config.burn,
        config.seed,
    );
    for (name, on) in switched(document) {
        write!(line, ", {}{name}", if on { "" } else { "NO_" }).expect("a String takes everything");
    }
    if config.tick_error_ns != 0 {
        write!(line, ", tick error {}", units::exact(config.tick_error_ns))
            .expect("a String takes everything");
    }
    if config.irq_cost_ns != 0 {
        write!(line, ", irq cost {}", units::exact_unsigned(config.irq_cost_ns))
            .expect("a String takes everything");
    }
    line.push('\n');
    line
}

/// The features that are not as the preset has them.
fn switched(document: &Document) -> impl Iterator<Item = (&str, bool)> {
    let preset = eevdf::Preset::parse(&document.config.preset);
    document.config.features.iter().filter_map(move |(name, &on)| {
        let is_default = match eevdf::Feature::parse(name) {
            Some(feature) => preset?.features().contains(feature) == on,
            None => {
                let feature = placement::Feature::parse(name)?;
                placement::Features::of(preset?).contains(feature) == on
            }
        };
        (!is_default).then_some((name.as_str(), on))
    })
}

fn tasks(document: &Document) -> String {
    let head = [
        "task",
        "nice",
        "slice",
        "runtime",
        "share",
        "switches",
        "slice end",
        "preempt",
        "block",
        "yield",
        "move",
        "mean stint",
        "ticks",
        "extra",
        "max latency",
    ];
    let shown = document.tasks.iter().take(TASKS_SHOWN);
    let mut text = table(&head, shown.map(task_row));
    let left_out = document.tasks.len().saturating_sub(TASKS_SHOWN);
    if left_out > 0 {
        writeln!(text, "and {left_out} more tasks; --json has all")
            .expect("a String takes everything");
    }
    text
}

fn task_row(task: &TaskDocument) -> Vec<String> {
    let switches = &task.switches;
    let latency = &task.wakeup_latency_ns;
    vec![
        task.name.clone(),
        task.nice.to_string(),
        units::exact_unsigned(task.slice_ns),
        units::rounded(task.runtime_ns as f64),
        format!("{:.2} %", 100.0 * task.share),
        switches.total.to_string(),
        switches.slice.to_string(),
        switches.preempt.to_string(),
        switches.block.to_string(),
        switches.yields.to_string(),
        switches.migrate.to_string(),
        if task.stint_ns.count == 0 { "-".into() } else { units::rounded(task.stint_ns.mean) },
        stint_ticks(task),
        task.extra_ticks.to_string(),
        if latency.count == 0 { "-".into() } else { units::rounded(latency.max as f64) },
    ]
}

/// The range of ticks that stints took, with the commonest in front: `3 (0-4)`.
fn stint_ticks(task: &TaskDocument) -> String {
    let counts = &task.stint_ticks;
    let commonest =
        counts.iter().max_by_key(|&(ticks, count)| (count, ticks)).map(|(ticks, _)| ticks);
    match (counts.first_key_value(), commonest, counts.last_key_value()) {
        (Some((first, _)), Some(common), Some((last, _))) if first != last => {
            format!("{common} ({first}-{last})")
        }
        (_, Some(common), _) => common.to_string(),
        _ => "-".into(),
    }
}

fn cpus(document: &Document) -> String {
    let head =
        ["cpu", "ticks", "expected", "missed", "busy", "switches", "interval mean", "interval max"];
    let row = |cpu: &super::CpuDocument| {
        let time = (cpu.busy_ns + cpu.idle_ns).max(1) as f64;
        vec![
            format!("cpu{}", cpu.cpu),
            cpu.ticks.to_string(),
            format!("{:.0}", cpu.expected_ticks),
            cpu.missed_ticks.to_string(),
            format!("{:.2} %", 100.0 * cpu.busy_ns as f64 / time),
            cpu.switches.to_string(),
            units::rounded(cpu.tick_interval_ns.mean),
            units::rounded(cpu.tick_interval_ns.max as f64),
        ]
    };
    let mut text = table(&head, document.cpus.iter().take(CPUS_SHOWN).map(row));
    let left_out = document.cpus.len().saturating_sub(CPUS_SHOWN);
    if left_out > 0 {
        writeln!(text, "and {left_out} more CPUs; --json has all")
            .expect("a String takes everything");
    }
    text
}

/// How wake-ups found their CPUs, and what that took.
fn wakeups(document: &Document) -> String {
    let Some(counts) =
        document.totals.wakeup_counts.filter(|counts| counts.local + counts.remote > 0)
    else {
        return String::new();
    };
    let share = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
    let all = counts.local + counts.remote;
    let mut text = format!(
        "wake-ups: {:.1} % on another CPU, {:.1} % by its wake list; {:.1} % moved; {} interrupts \
         sent, {} locks of other queues taken",
        share(counts.remote, all),
        share(counts.queued, all),
        share(counts.migrated, all),
        counts.ipis_sent,
        counts.remote_rq_locks,
    );
    if counts.contended_ns > 0 {
        write!(text, " ({} waiting)", units::rounded(counts.contended_ns as f64))
            .expect("a String takes everything");
    }
    if counts.searches > 0 {
        write!(
            text,
            "; {} searches looked at {:.1} CPUs each",
            counts.searches,
            counts.probes as f64 / counts.searches as f64
        )
        .expect("a String takes everything");
    }
    text.push('\n');
    text
}

fn verdict(document: &Document) -> String {
    let totals = &document.totals;
    let mut text = String::new();
    for expectation in &document.expectations {
        text.push_str(&expectation_line(expectation));
    }
    write!(
        text,
        "{}: {} of guest time in {} on this host, {} switches, {} wake-ups, {} migrations",
        verdict_word(document.verdict),
        units::rounded(totals.elapsed_ns as f64),
        units::rounded(totals.wall_s * 1e9),
        totals.switches,
        totals.wakeups,
        totals.migrations,
    )
    .expect("a String takes everything");
    text.push_str(&moves(totals));
    text.push('\n');
    if let Some(trace) = &document.trace {
        writeln!(text, "{}", trace.sentence()).expect("a String takes everything");
    }
    if !document.reason.is_empty() {
        writeln!(text, "because {}", document.reason).expect("a String takes everything");
    }
    text
}

/// Why tasks moved, and how long CPUs idled for nothing: ` (3 wakeup, 1 newidle), 2ms wasted`.
fn moves(totals: &TotalsDocument) -> String {
    let reasons = totals.moves.named().into_iter().filter(|&(_, count)| count > 0);
    let reasons: Vec<_> = reasons.map(|(reason, count)| format!("{count} {reason}")).collect();
    let mut text = match reasons.is_empty() {
        true => String::new(),
        false => format!(" ({})", reasons.join(", ")),
    };
    if totals.wasted_core_ns > 0 {
        let wasted = units::rounded(totals.wasted_core_ns as f64);
        write!(text, ", {wasted} of wasted core time").expect("a String takes everything");
    }
    text
}

fn expectation_line(expectation: &Expectation) -> String {
    let (colour, mark) = match expectation.ok {
        true => (AnsiColor::Green, "ok"),
        false => (AnsiColor::Red, "NO"),
    };
    let style = Style::new().fg_color(Some(colour.into()));
    format!(
        "{style}{mark}{style:#}  {}: {} (expected {})\n",
        expectation.what, expectation.got, expectation.expected
    )
}
