//! One line for each stint when it ends, as `perf sched timehist` has it.
//!
//! *wait time* is how long the task had been off any CPU before, *sch delay* how long of that it
//! could have run, *run time* how long it ran then. Times are cut to microseconds, as there.

use super::{msec, seconds, selection::Selection, task_label};
use crate::trace::{
    read::{Entry, Trace, What},
    stints::{Stint, Timeline},
};
use abi::trace::{Event, StintEnd};
use std::io::{self, Write};

/// What there is besides the usual columns and lines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Columns {
    /// The state in which each task left.
    pub(crate) state: bool,
    /// Why it was chosen and why it left, in words, and its lag.
    pub(crate) reasons: bool,
    /// A line for each wake-up.
    pub(crate) wakeups: bool,
    /// A line for each move to another CPU.
    pub(crate) migrations: bool,
}

const TASK_WIDTH: usize = 30;

/// Prints all that is selected.
pub(super) fn print(
    trace: &Trace,
    selection: &Selection,
    columns: Columns,
    out: &mut dyn Write,
) -> io::Result<()> {
    head(columns, out)?;
    let mut timeline = Timeline::new(&trace.description);
    for entry in trace.entries() {
        let actor = timeline.running(entry.cpu);
        if let Some(stint) = timeline.take(&entry)
            && selection.has_stint(&stint)
        {
            line(trace, &stint, columns, out)?;
        }
        if let Some((task, text)) = remark(trace, &entry, columns)
            && selection.has(entry.at_ns, entry.cpu)
            && (selection.has_task(task) || actor.is_some_and(|actor| selection.has_task(actor)))
        {
            begin(entry.at_ns, entry.cpu, &task_label(trace, actor), out)?;
            writeln!(out, " {:9}  {:9}  {:9}  {text}", "", "", "")?;
        }
    }
    Ok(())
}

fn head(columns: Columns, out: &mut dyn Write) -> io::Result<()> {
    let Columns { state, reasons, .. } = columns;
    let rule = "-".repeat(TASK_WIDTH);
    let last = |name: &str, unit: &str, rule: &str| {
        let state = if state { [" state", "      ", " -----"] } else { [""; 3] };
        let words = ["  lag (msec)  chosen because      left because", "", &"-".repeat(46)];
        let words = words.map(|text| if reasons { text.to_owned() } else { String::new() });
        [
            format!("{name}{}{}", state[0], words[0]),
            format!("{unit}{}", state[1]).trim_end().to_owned(),
            format!(
                "{rule}{}{}",
                state[2],
                if reasons { format!("  {}", words[2]) } else { String::new() }
            ),
        ]
    };
    let [name, unit, line] = last(" run time", "   (msec)", "---------");
    writeln!(
        out,
        "{:>15} {:>6}  {:<TASK_WIDTH$}  wait time  sch delay  {name}",
        "time", "cpu", "task name"
    )?;
    writeln!(
        out,
        "{:>15} {:>6}  {:<TASK_WIDTH$}     (msec)     (msec)  {unit}",
        "", "", "[tid/pid]"
    )?;
    writeln!(out, "--------------- ------  {rule}  ---------  ---------  {line}")
}

fn begin(at_ns: u64, cpu: u32, task: &str, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{:>15} [{cpu:04}]  {task:<TASK_WIDTH$} ", seconds(at_ns))
}

fn line(trace: &Trace, stint: &Stint, columns: Columns, out: &mut dyn Write) -> io::Result<()> {
    begin(stint.end_ns, stint.cpu, &task_label(trace, Some(stint.task)), out)?;
    let wait = msec(stint.off_ns.unwrap_or(0));
    let delay = msec(stint.delay_ns.unwrap_or(0));
    let mut text = format!(" {wait:>9}  {delay:>9}  {:>9}", msec(stint.length_ns()));
    if columns.state {
        text += &format!(" {:>5}", state(stint.end));
    }
    if columns.reasons {
        let lag_ms = stint.end_lag_ns.unwrap_or(stint.start_lag_ns) as f64 / 1e6;
        let left = stint.end.map_or("the run ended", StintEnd::word);
        text += &format!("  {lag_ms:>10.3}  {:<18}  {left}", stint.pick.word());
    }
    writeln!(out, "{text}")
}

/// What `perf` prints: `R` also of a task that was preempted.
const fn state(end: Option<StintEnd>) -> char {
    match end {
        Some(StintEnd::Block) => 'S',
        Some(StintEnd::Exit) => 'X',
        _ => 'R',
    }
}

/// A line of its own for an entry, and the task it is about.
fn remark(trace: &Trace, entry: &Entry, columns: Columns) -> Option<(u32, String)> {
    let What::Happened(event) = entry.what else { return None };
    match event {
        Event::Waking { task, .. } if columns.wakeups => {
            Some((task, format!("awakened: {}", task_label(trace, Some(task)))))
        }
        Event::Wakeup { task, is_new: true, .. } if columns.wakeups => {
            Some((task, format!("spawned: {}", task_label(trace, Some(task)))))
        }
        Event::Migrate { task, from, to, why } if columns.migrations => {
            let who = task_label(trace, Some(task));
            let why = if columns.reasons { format!(" ({})", why.word()) } else { String::new() };
            Some((task, format!("migrated: {who} cpu {from} => {to}{why}")))
        }
        _ => None,
    }
}
