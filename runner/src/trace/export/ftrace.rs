//! The kernel's text, as tracefs and `trace-cmd report` print it.
//!
//! Kept to what all readers take: a task's name without blanks or `=`, four characters of flags
//! (Perfetto's importer refuses five), seconds with nine decimals, and comments for what has no
//! line of its own. Times are small enough for readers that keep them in a double: a run of four
//! hours needs 44 bits of nanoseconds.

use super::{Current, comm, prev_state};
use crate::trace::read::{Entry, Trace, What};
use abi::trace::Event;
use std::{
    borrow::Cow,
    io::{self, Write},
};

const HEADER: &str = "\
# tracer: nop
#
#                                _-----=> irqs-off
#                               / _----=> need-resched
#                              | / _---=> hardirq/softirq
#                              || / _--=> preempt-depth
#                              ||| /
#           TASK-PID     CPU#  ||||   TIMESTAMP  FUNCTION
#              | |         |   ||||      |         |
";

/// Writes a trace.
///
/// # Errors
/// Those of `out`.
pub(super) fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(HEADER.as_bytes())?;
    let mut current = Current::new(trace);
    for entry in trace.entries() {
        let Entry { at_ns, cpu, what } = entry;
        match what {
            What::Lost(count) => writeln!(out, "# cpu {cpu} lost {count} records")?,
            What::Happened(event) => {
                if let Some(text) = line(trace, cpu, &event, current.on(cpu)) {
                    let who = Who::of(trace, cpu, current.on(cpu));
                    let name = if who.pid == 0 { "<idle>".into() } else { who.name };
                    let task = format!("{name}-{}", who.pid);
                    // What a timer does, a task did not.
                    let is_timer =
                        matches!(event, Event::Waking { waker: None, .. } | Event::Tick { .. });
                    let flags = if is_timer { "d.h2" } else { "d..2" };
                    let (seconds, ns) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
                    writeln!(out, "{task:>24} [{cpu:03}] {flags} {seconds:5}.{ns:09}: {text}")?;
                }
            }
        }
        current.follow(cpu, &what);
    }
    Ok(())
}

/// Event and arguments, where the kernel has such an event.
fn line(trace: &Trace, cpu: u32, event: &Event, current: Option<u32>) -> Option<String> {
    let task = |task: u32| {
        let who = Who::of(trace, 0, Some(task));
        format!("comm={} pid={} prio={}", who.name, who.pid, who.prio)
    };
    Some(match *event {
        Event::Switch { prev, next, .. } => {
            let state = prev_state(prev.map(|out| out.end)).1;
            let (prev, next) = (prev.map(|out| out.task), next.map(|into| into.task));
            switch(&Who::of(trace, cpu, prev), state, &Who::of(trace, cpu, next))
        }
        // The run ends with the idle task everywhere, or slices would have no end.
        Event::End => switch(&Who::of(trace, cpu, Some(current?)), "R", &Who::of(trace, cpu, None)),
        Event::Waking { task: woken, cpu: target, .. } => {
            format!("sched_waking: {} target_cpu={target:03}", task(woken))
        }
        Event::Wakeup { task: woken, cpu: target, is_new, .. } => {
            let name = if is_new { "sched_wakeup_new" } else { "sched_wakeup" };
            format!("{name}: {} target_cpu={target:03}", task(woken))
        }
        Event::Migrate { task: moved, from, to, .. } => {
            format!("sched_migrate_task: {} orig_cpu={from} dest_cpu={to}", task(moved))
        }
        Event::Mark { mark, .. } => format!("tracing_mark_write: slicelab_mark: mark={mark}"),
        Event::Measure { histogram, value_ns, .. } => format!(
            "tracing_mark_write: slicelab_measure: histogram={histogram} value_ns={value_ns}"
        ),
        _ => return None,
    })
}

fn switch(prev: &Who<'_>, state: &str, next: &Who<'_>) -> String {
    format!(
        "sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_state={state} ==> \
         next_comm={} next_pid={} next_prio={}",
        prev.name, prev.pid, prev.prio, next.name, next.pid, next.prio
    )
}

/// A task as the lines name it.
struct Who<'a> {
    name: Cow<'a, str>,
    pid: u32,
    prio: i32,
}

impl<'a> Who<'a> {
    /// A task, or the idle task of a CPU.
    fn of(trace: &'a Trace, cpu: u32, task: Option<u32>) -> Self {
        let who = comm(trace, task);
        let name = match task {
            Some(_) => without_blanks(who.comm),
            None => format!("{}/{cpu}", who.comm).into(),
        };
        Self { name, pid: who.pid, prio: who.prio }
    }
}

/// Readers split at blanks and `=`.
fn without_blanks(name: &str) -> Cow<'_, str> {
    let splits = |c: char| c.is_whitespace() || c == '=' || c.is_control();
    match name.contains(splits) {
        true => name.replace(splits, "_").into(),
        false => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_nothing_to_split_at() {
        assert_eq!(without_blanks("hog-1"), "hog-1");
        assert_eq!(without_blanks("my task=1\n"), "my_task_1_");
    }
}
