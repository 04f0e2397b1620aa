//! A run: what was run, what it measured, and what its accounting says, drawn.

use super::{
    Section, parts,
    plot::{self, Axes, Bar, Ink, Scale, Series},
};
use crate::{
    cli::repeatable,
    expect::Verdict,
    report::{self, CpuDocument, Document, TaskDocument},
    results::kinds,
    units,
};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Kinds of tasks that are drawn one by one, and lines of a table.
const KINDS: usize = 6;
const TASKS: usize = 64;
const CPUS: usize = 32;
/// Bars of a distribution whose values are many.
const BINS: usize = 24;

/// The section of a run.
pub(super) fn section(name: &str, document: &Document) -> Section {
    let body = html! {
        p.soft { (report::header(document)) }
        div.answer {
            p { (parts::verdict(document.verdict)) ": " (summary(document)) }
            @if !document.reason.is_empty() { p { "because " (document.reason) } }
            @for broken in document.expectations.iter().filter(|expectation| !expectation.ok) {
                p { (broken.what) ": " (broken.got) " (expected " (broken.expected) ")" }
            }
        }
        @if !document.metrics.is_empty() {
            h2 { "What it measured" }
            (metrics(document))
        }
        h2 { "Stints" }
        @for figure in stints(document) { (figure) }
        (extra_ticks(document))
        @if document.tasks.iter().any(|task| task.wakeup_latency_ns.count > 0) {
            h2 { "Wake-ups" }
            (wakeups(document))
        }
        h2 { "Ticks" }
        (ticks(document))
        h2 { "Tasks" }
        (tasks(document))
        h2 { "CPUs" }
        (cpus(document))
        (parts::repeat(&document.command))
        (configuration(document))
    };
    Section { title: title(name, document), body }
}

/// The workload's flags, which say more than a file's name.
fn title(name: &str, document: &Document) -> String {
    match repeatable::workload(&document.command) {
        words if words.is_empty() => format!("Run {name}"),
        words => words.trim_start_matches("--mix ").replace(" -- ", " "),
    }
}

fn summary(document: &Document) -> String {
    let totals = &document.totals;
    format!(
        "{} of guest time, {} switches, {} wake-ups, {} migrations",
        units::rounded(totals.elapsed_ns as f64),
        totals.switches,
        totals.wakeups,
        totals.migrations
    )
}

fn metrics(document: &Document) -> Markup {
    let number = |value: Option<f64>| value.map_or("-".into(), report::number);
    let is_repeated = document.repeat.is_some();
    let mut head = vec!["metric", "value", "unit", "better"];
    if is_repeated {
        head = vec!["metric", "mean", "median", "CV", "unit", "better"];
    }
    let rows: Vec<Vec<String>> = document
        .metrics
        .iter()
        .map(|metric| {
            let better = format!("{:?}", metric.better).to_lowercase();
            let figures = match &metric.repeats {
                Some(spread) => vec![
                    report::number(spread.mean),
                    report::number(spread.median),
                    format!("{:.2} %", spread.cv_pct),
                ],
                None if is_repeated => vec!["-".to_owned(); 3],
                None => vec![number(metric.value)],
            };
            [vec![metric.name.clone()], figures, vec![metric.unit.to_string(), better]].concat()
        })
        .collect();
    let seeds = document.repeat.as_ref().map(|repeat| repeat.seeds.len());
    html! {
        @if let Some(seeds) = seeds { p { "Of " (seeds) " seeds." } }
        (parts::table(&head.into_iter().map(str::to_owned).collect::<Vec<_>>(), &rows))
    }
}

fn tick_ns(document: &Document) -> u64 {
    1_000_000_000 / u64::from(document.config.hz.max(1))
}

/// For each kind of task and slice, how many ticks its stints took, and how many they needed.
fn stints(document: &Document) -> Vec<Markup> {
    let tick_ns = tick_ns(document);
    let mut figures = Vec::new();
    for (kind, tasks) in kinds(&document.tasks).into_iter().take(KINDS) {
        let mut slices: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
        for task in tasks {
            let counts = slices.entry(task.slice_ns).or_default();
            for (&ticks, &count) in &task.stint_ticks {
                *counts.entry(ticks).or_default() += u64::from(count);
            }
        }
        for (slice_ns, counts) in slices {
            let total: u64 = counts.values().sum();
            let Some((&last, _)) = counts.last_key_value() else { continue };
            let ideal = slice_ns.div_ceil(tick_ns);
            let first = counts.first_key_value().map_or(0, |(&ticks, _)| ticks).min(ideal);
            let most = last.max(ideal).min(first + BINS as u64);
            let share = |ticks: u64| {
                let count = match ticks == most {
                    // The last bar has what is longer as well.
                    true => counts.range(ticks..).map(|(_, &count)| count).sum(),
                    false => counts.get(&ticks).copied().unwrap_or(0),
                };
                100.0 * count as f64 / total as f64
            };
            let bars: Vec<Bar> = (first..=most)
                .map(|ticks| Bar {
                    label: if ticks == most && last > most {
                        format!("{ticks}+")
                    } else {
                        ticks.to_string()
                    },
                    value: share(ticks),
                    note: percent(share(ticks)),
                    ink: match ticks.cmp(&ideal) {
                        std::cmp::Ordering::Less => Ink::Series(0),
                        std::cmp::Ordering::Equal => Ink::Good,
                        std::cmp::Ordering::Greater => Ink::Bad,
                    },
                })
                .collect();
            let slice = units::exact_unsigned(slice_ns);
            let heading = format!("How long {kind} ran at a time, slice {slice}");
            let caption = format!(
                "{total} stints by the ticks they saw; a tick is {}. A slice of {slice} needs {ideal}, which is marked.",
                units::exact_unsigned(tick_ns)
            );
            let keys = [
                ("cut short", Ink::Series(0)),
                ("as long as the slice needs", Ink::Good),
                ("extra ticks", Ink::Bad),
            ]
            .map(|(name, ink)| parts::Key { name: name.into(), ink, is_cross: false });
            let axes = Axes { x: "ticks", y: "% of stints" };
            figures.push(parts::figure(
                &heading,
                &caption,
                &keys,
                &plot::bars(&heading, axes, &bars, Some((ideal - first) as usize)),
            ));
        }
    }
    figures
}

fn percent(value: f64) -> String {
    match value {
        0.0 => String::new(),
        value if value < 0.1 => "<0.1".into(),
        value if value.fract() == 0.0 => format!("{value:.0}"),
        value => format!("{value:.1}"),
    }
}

/// The part of stints that took more ticks than their slice needs, by task or by kind.
fn extra_ticks(document: &Document) -> Markup {
    let share = |tasks: &[&TaskDocument]| {
        let extra: u64 = tasks.iter().map(|task| task.extra_ticks).sum();
        let ends: u64 = tasks.iter().map(|task| task.switches.total).sum();
        100.0 * extra as f64 / ends.max(1) as f64
    };
    let groups: Vec<(String, f64)> = match document.tasks.len() {
        0..=BINS => document.tasks.iter().map(|task| (task.name.clone(), share(&[task]))).collect(),
        _ => {
            kinds(&document.tasks).into_iter().map(|(kind, tasks)| (kind, share(&tasks))).collect()
        }
    };
    let bars: Vec<Bar> = groups
        .into_iter()
        .map(|(label, value)| Bar {
            label,
            value,
            note: if value == 0.0 { "0".into() } else { percent(value) },
            ink: Ink::Bad,
        })
        .collect();
    let title = "Extra ticks";
    let caption = "Stints that lasted at least one tick longer than their slice needed.";
    let axes = Axes { x: "task", y: "% of stints" };
    parts::figure(title, caption, &[], &plot::bars(title, axes, &bars, None))
}

/// Percentiles of the wake-up latency, for each kind those of its worst task.
fn wakeups(document: &Document) -> Markup {
    let labels = ["min", "p50", "p90", "p99", "p99.9", "max"].map(str::to_owned);
    let kinds: Vec<_> = kinds(&document.tasks)
        .into_iter()
        .filter(|(_, tasks)| tasks.iter().any(|task| task.wakeup_latency_ns.count > 0))
        .collect();
    let worst = |tasks: &[&TaskDocument]| {
        let of = |pick: fn(&report::Dist) -> u64| {
            let woken = tasks.iter().filter(|task| task.wakeup_latency_ns.count > 0);
            woken.map(|task| pick(&task.wakeup_latency_ns)).max().unwrap_or(0)
        };
        [of(|d| d.min), of(|d| d.p50), of(|d| d.p90), of(|d| d.p99), of(|d| d.p999), of(|d| d.max)]
    };
    let values: Vec<[u64; 6]> = kinds.iter().map(|(_, tasks)| worst(tasks)).collect();
    let series: Vec<_> = values
        .iter()
        .enumerate()
        .take(plot::SERIES)
        .map(|(number, values)| Series {
            ink: Ink::Series(number),
            values: values.iter().map(|&ns| Some(ns as f64)).collect(),
            is_foreign: false,
        })
        .collect();
    let keys: Vec<_> = kinds
        .iter()
        .zip(&series)
        .map(|((kind, _), series)| parts::Key {
            name: kind.clone(),
            ink: series.ink,
            is_cross: false,
        })
        .collect();
    let title = "Wake-up latency";
    let caption = "From a wake-up until the task runs, on a scale of powers of ten; of several tasks of a kind the worst. \
                   What is below 1 ns is drawn there.";
    let axes = Axes { x: "percentile", y: "latency" };
    let drawing = plot::points(title, axes, &labels, &series, Scale::Log, &|ns| units::rounded(ns));
    let head: Vec<String> = ["kind".to_owned()].into_iter().chain(labels).collect();
    let rows: Vec<Vec<String>> = kinds
        .iter()
        .zip(&values)
        .map(|((kind, _), values)| {
            [kind.clone()]
                .into_iter()
                .chain(values.iter().map(|&ns| units::rounded(ns as f64)))
                .collect()
        })
        .collect();
    html! {
        (parts::figure(title, caption, &keys, &drawing))
        (parts::table(&head, &rows))
    }
}

/// The distribution of tick intervals over all CPUs.
fn ticks(document: &Document) -> Markup {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for cpu in &document.cpus {
        for (&interval, &count) in &cpu.tick_intervals {
            *counts.entry(interval).or_default() += u64::from(count);
        }
    }
    let total: u64 = counts.values().sum();
    if total == 0 {
        return html! { p { "There is no tick interval." } };
    }
    let tick_ns = tick_ns(document);
    let shortest = document.cpus.iter().map(|c| c.tick_interval_ns.min).min().unwrap_or(0);
    let (low, high) = (
        counts.first_key_value().map_or(0, |(&ns, _)| ns),
        counts.last_key_value().map_or(0, |(&ns, _)| ns),
    );
    let bins: Vec<(String, u64)> = if counts.len() <= BINS {
        // A range may begin below the shortest interval.
        let label = |ns: u64| units::exact_unsigned(ns.max(shortest));
        counts.iter().map(|(&ns, &count)| (label(ns), count)).collect()
    } else {
        let width = (high - low).div_ceil(BINS as u64).max(1);
        let mut bins = vec![0; BINS + 1];
        for (&ns, &count) in &counts {
            bins[((ns - low) / width) as usize] += count;
        }
        while bins.last() == Some(&0) {
            bins.pop();
        }
        let label = |bin: usize| units::rounded((low + width * bin as u64) as f64);
        bins.into_iter().enumerate().map(|(bin, count)| (label(bin), count)).collect()
    };
    let bars: Vec<Bar> = bins
        .into_iter()
        .map(|(label, count)| {
            let value = 100.0 * count as f64 / total as f64;
            Bar { label, value, note: percent(value), ink: Ink::Series(5) }
        })
        .collect();
    let missed: u64 = document.cpus.iter().map(|cpu| cpu.missed_ticks).sum();
    let title = "Tick intervals";
    let caption = format!(
        "{total} intervals on {} CPUs, from {} to {}; the period is {}. Missed ticks: {missed}.",
        document.cpus.len(),
        units::rounded(shortest as f64),
        units::rounded(
            document.cpus.iter().map(|c| c.tick_interval_ns.max).max().unwrap_or(0) as f64
        ),
        units::exact_unsigned(tick_ns),
    );
    let axes = Axes { x: "time from tick to tick", y: "% of intervals" };
    parts::figure(title, &caption, &[], &plot::bars(title, axes, &bars, None))
}

fn tasks(document: &Document) -> Markup {
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
        "mean stint",
        "extra ticks",
        "worst latency",
        "lag",
    ]
    .map(str::to_owned);
    let row = |task: &TaskDocument| {
        let switches = &task.switches;
        let latency = &task.wakeup_latency_ns;
        let time = |ns: i64| units::rounded(ns as f64);
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
            if task.stint_ns.count == 0 { "-".into() } else { units::rounded(task.stint_ns.mean) },
            task.extra_ticks.to_string(),
            if latency.count == 0 { "-".into() } else { units::rounded(latency.max as f64) },
            format!("{} to {}", time(task.lag_ns.min), time(task.lag_ns.max)),
        ]
    };
    let rows: Vec<_> = document.tasks.iter().take(TASKS).map(row).collect();
    html! {
        (parts::table(&head, &rows))
        (left_out(document.tasks.len(), TASKS, "tasks"))
    }
}

fn cpus(document: &Document) -> Markup {
    let head =
        ["cpu", "ticks", "expected", "missed", "busy", "switches", "interval mean", "interval max"]
            .map(str::to_owned);
    let row = |cpu: &CpuDocument| {
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
    let rows: Vec<_> = document.cpus.iter().take(CPUS).map(row).collect();
    html! { (parts::table(&head, &rows)) (left_out(document.cpus.len(), CPUS, "CPUs")) }
}

fn left_out(all: usize, shown: usize, what: &str) -> Markup {
    html! { @if all > shown { p.soft { "and " (all - shown) " more " (what) } } }
}

fn configuration(document: &Document) -> Markup {
    let settings = crate::results::settings(document);
    let expectations: Vec<Vec<String>> = document
        .expectations
        .iter()
        .map(|e| {
            let verdict = if e.ok { Verdict::Pass } else { Verdict::Fail };
            vec![e.what.to_string(), e.got.clone(), e.expected.clone(), verdict.word().into()]
        })
        .collect();
    html! {
        h2 { "Configuration" }
        (parts::list(&settings.into_iter().collect::<Vec<_>>()))
        details {
            summary { "What had to hold" }
            (parts::table(&["what", "got", "expected", "verdict"].map(str::to_owned), &expectations))
        }
    }
}
