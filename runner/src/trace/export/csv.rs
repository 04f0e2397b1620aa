//! Every record as a line; columns that an event does not have are empty.

use crate::trace::read::{Entry, Trace, What};
use abi::trace::{Event, Preempts};
use std::io::{self, Write};

const COLUMNS: [&str; 14] = [
    "time_ns",
    "cpu",
    "event",
    "task",
    "pid",
    "lag_ns",
    "reason",
    "next_task",
    "next_pid",
    "next_lag_ns",
    "next_reason",
    "other_cpu",
    "nr_running",
    "value",
];

/// What a line says.
#[derive(Default)]
struct Line {
    event: &'static str,
    task: Option<u32>,
    lag_ns: Option<i64>,
    reason: &'static str,
    next: Option<u32>,
    next_lag_ns: Option<i64>,
    next_reason: &'static str,
    other_cpu: Option<u32>,
    nr_running: Option<u32>,
    value: Option<u64>,
}

/// Writes a trace.
///
/// # Errors
/// Those of `out`.
pub(super) fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(COLUMNS)?;
    for Entry { at_ns, cpu, what } in trace.entries() {
        let line = match what {
            What::Happened(event) => line(&event),
            What::Lost(count) => Line { event: "lost", value: Some(count), ..Line::default() },
        };
        let name = |task: Option<u32>| task.map_or("", |task| trace.name(task));
        let pid = |task: Option<u32>| task.map(|task| trace.pid(Some(task)));
        csv.write_record([
            &at_ns.to_string(),
            &cpu.to_string(),
            line.event,
            name(line.task),
            &text(pid(line.task)),
            &text(line.lag_ns),
            line.reason,
            name(line.next),
            &text(pid(line.next)),
            &text(line.next_lag_ns),
            line.next_reason,
            &text(line.other_cpu),
            &text(line.nr_running),
            &text(line.value),
        ])?;
    }
    csv.flush()
}

fn text(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn line(event: &Event) -> Line {
    let none = Line::default();
    match *event {
        Event::Begin => Line { event: "begin", ..none },
        Event::End => Line { event: "end", ..none },
        Event::Tick { curr, nr_running, resched } => Line {
            event: "tick",
            task: curr,
            nr_running: Some(nr_running),
            reason: if resched { "slice used up" } else { "" },
            ..none
        },
        Event::Switch { prev, next, nr_running } => Line {
            event: "switch",
            task: prev.map(|out| out.task),
            lag_ns: prev.map(|out| out.lag_ns),
            reason: prev.map_or("", |out| out.end.word()),
            next: next.map(|into| into.task),
            next_lag_ns: next.map(|into| into.lag_ns),
            next_reason: next.map_or("", |into| into.pick.word()),
            nr_running: Some(nr_running),
            ..none
        },
        Event::Waking { task, cpu, waker } => Line {
            event: "waking",
            task: Some(task),
            other_cpu: Some(cpu),
            next: waker,
            reason: if waker.is_none() { "timer" } else { "task" },
            ..none
        },
        Event::Wakeup { task, cpu, is_new, preempts } => Line {
            event: if is_new { "wakeup_new" } else { "wakeup" },
            task: Some(task),
            other_cpu: Some(cpu),
            reason: match preempts {
                Preempts::No => "does not preempt",
                Preempts::Lazy => "preempts lazily",
                Preempts::Yes => "preempts",
            },
            ..none
        },
        Event::Migrate { task, from, to, why } => Line {
            event: "migrate",
            task: Some(task),
            other_cpu: Some(from),
            value: Some(to.into()),
            reason: why.word(),
            ..none
        },
        Event::Enqueue { task, cpu, how, nr_running, lag_ns } => Line {
            event: "enqueue",
            task: Some(task),
            other_cpu: Some(cpu),
            reason: how.word(),
            nr_running: Some(nr_running),
            lag_ns: Some(lag_ns),
            ..none
        },
        Event::Dequeue { task, cpu, why, nr_running } => Line {
            event: "dequeue",
            task: Some(task),
            other_cpu: Some(cpu),
            reason: why.word(),
            nr_running: Some(nr_running),
            ..none
        },
        Event::IpiSend { cpu } => Line { event: "ipi_send", other_cpu: Some(cpu), ..none },
        Event::IpiReceive => Line { event: "ipi_receive", ..none },
        Event::Balance { from, moved } => {
            Line { event: "balance", other_cpu: from, value: Some(moved.into()), ..none }
        }
        Event::Mark { task, mark } => {
            Line { event: "mark", task: Some(task), value: Some(mark.into()), ..none }
        }
        Event::Measure { task, histogram: _, value_ns } => {
            Line { event: "measure", task: Some(task), value: Some(value_ns), ..none }
        }
    }
}
