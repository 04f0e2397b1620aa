//! What each task ran, as `perf sched timehist --summary` has it.

use super::{msec, selection::Selection, task_label};
use crate::trace::{
    read::{Entry, Trace, What},
    stints::Timeline,
};
use abi::trace::Event;
use std::io::{self, Write};

/// What is summed up of a task.
#[derive(Clone, Debug, Default)]
struct Sums {
    /// Of the parts of its stints that are selected, ns.
    lengths_ns: Vec<u64>,
    migrations: u64,
}

/// Prints the sums of all that is selected.
pub(super) fn print(trace: &Trace, selection: &Selection, out: &mut dyn Write) -> io::Result<()> {
    let cpus = trace.description.cpus;
    let mut tasks = vec![Sums::default(); trace.description.tasks.len()];
    let mut busy_ns = vec![0; cpus as usize];
    // From its first record to its last.
    let mut seen_ns: Vec<Option<(u64, u64)>> = vec![None; cpus as usize];
    let mut switches = 0_u64;
    let mut timeline = Timeline::new(&trace.description);
    for entry in trace.entries() {
        let Entry { at_ns, cpu, what } = entry;
        let seen = seen_ns[cpu as usize].get_or_insert((at_ns, at_ns));
        seen.1 = at_ns;
        if let Some(stint) = timeline.take(&entry) {
            let part_ns = selection.clip(stint.start_ns, stint.end_ns);
            busy_ns[cpu as usize] += part_ns;
            if selection.has_stint(&stint) {
                tasks[stint.task as usize].lengths_ns.push(part_ns);
            }
        }
        match what {
            What::Happened(Event::Switch { .. }) if selection.has(at_ns, cpu) => switches += 1,
            What::Happened(Event::Migrate { task, .. }) if selection.has(at_ns, cpu) => {
                tasks[task as usize].migrations += 1;
            }
            _ => {}
        }
    }

    let head =
        ["comm", "sched-in", "run-time", "min-run", "avg-run", "max-run", "stddev", "migrations"];
    let unit = ["", "(count)", "(msec)", "(msec)", "(msec)", "(msec)", "%", ""];
    writeln!(out, "\nRuntime summary")?;
    for cells in [head, unit] {
        row(cells, out)?;
    }
    writeln!(out, "{}", "-".repeat(104))?;
    let mut total_ns = 0;
    let mut unique = 0;
    for (task, sums) in (0..).zip(&tasks) {
        if sums.lengths_ns.is_empty() {
            continue;
        }
        unique += 1;
        total_ns += sums.lengths_ns.iter().sum::<u64>();
        let name = task_label(trace, Some(task));
        let cells = cells(sums);
        let [count, run, min, avg, max, deviation] = cells.each_ref().map(String::as_str);
        row([&name, count, run, min, avg, max, deviation, &sums.migrations.to_string()], out)?;
    }

    writeln!(out, "\nIdle stats:")?;
    let mut longest_ns = 0;
    for cpu in (0..cpus).filter(|&cpu| selection.has_cpu(cpu)) {
        let Some((from_ns, to_ns)) = seen_ns[cpu as usize] else { continue };
        let all_ns = selection.clip(from_ns, to_ns);
        let idle_ns = all_ns.saturating_sub(busy_ns[cpu as usize]);
        longest_ns = longest_ns.max(all_ns);
        let percent = 100.0 * idle_ns as f64 / all_ns.max(1) as f64;
        writeln!(out, "    CPU {cpu:3} idle for {:>12}  msec  ({percent:6.2}%)", msec(idle_ns))?;
    }
    writeln!(out, "\n    Total number of unique tasks: {unique}")?;
    writeln!(out, "Total number of context switches: {switches}")?;
    writeln!(out, "           Total run time (msec): {}", msec(total_ns))?;
    writeln!(out, "    Total scheduling time (msec): {} (x {cpus})", msec(longest_ns))
}

fn row(cells: [&str; 8], out: &mut dyn Write) -> io::Result<()> {
    let [name, count, run, min, avg, max, deviation, migrations] = cells;
    let line = format!(
        "{name:>30}  {count:>9}  {run:>12} {min:>10} {avg:>10} {max:>10} {deviation:>7}  {migrations:>10}"
    );
    writeln!(out, "{}", line.trim_end())
}

/// Count, run time, shortest, mean and longest stint, and the standard error of the mean in
/// percent of it, which is what `perf` calls `stddev`.
fn cells(sums: &Sums) -> [String; 6] {
    let lengths = &sums.lengths_ns;
    let (count, sum) = (lengths.len() as f64, lengths.iter().sum::<u64>());
    let mean = sum as f64 / count;
    let squares: f64 = lengths.iter().map(|&length| (length as f64 - mean).powi(2)).sum();
    let error = if count > 1.0 { (squares / (count - 1.0) / count).sqrt() } else { 0.0 };
    let percent = if mean > 0.0 { 100.0 * error / mean } else { 0.0 };
    let (min, max) = (lengths.iter().min(), lengths.iter().max());
    [
        lengths.len().to_string(),
        msec(sum),
        msec(*min.unwrap_or(&0)),
        msec(mean as u64),
        msec(*max.unwrap_or(&0)),
        format!("{percent:.2}"),
    ]
}
