//! How long tasks waited for a CPU, as `perf sched latency` has it: the longest delay first.

use super::{seconds, selection::Selection};
use crate::trace::{read::Trace, stints::Timeline};
use std::{
    cmp::Reverse,
    io::{self, Write},
};

/// What is known of a task's delays.
#[derive(Clone, Copy, Debug, Default)]
struct Delays {
    runtime_ns: u64,
    switches: u64,
    count: u64,
    sum_ns: u64,
    max_ns: u64,
    /// When the longest was over.
    max_end_ns: u64,
}

/// Prints those of the tasks that are selected.
pub(super) fn print(trace: &Trace, selection: &Selection, out: &mut dyn Write) -> io::Result<()> {
    let mut tasks = vec![Delays::default(); trace.description.tasks.len()];
    let mut timeline = Timeline::new(&trace.description);
    for stint in trace.entries().filter_map(|entry| timeline.take(&entry)) {
        if !selection.has_stint(&stint) {
            continue;
        }
        let delays = &mut tasks[stint.task as usize];
        delays.runtime_ns += selection.clip(stint.start_ns, stint.end_ns);
        delays.switches += 1;
        if let Some(delay_ns) = stint.delay_ns {
            delays.count += 1;
            delays.sum_ns += delay_ns;
            if delay_ns >= delays.max_ns {
                delays.max_ns = delay_ns;
                delays.max_end_ns = stint.start_ns;
            }
        }
    }
    let mut rows: Vec<_> = (0..).zip(tasks).filter(|(_, delays)| delays.switches > 0).collect();
    rows.sort_by_key(|&(task, delays)| (Reverse(delays.max_ns), task));

    writeln!(out)?;
    writeln!(out, " {}", "-".repeat(139))?;
    writeln!(
        out,
        "  Task                  |   Runtime ms  | Switches | Avg delay ms    | Max delay ms    | \
         Max delay start           | Max delay end          |"
    )?;
    writeln!(out, " {}", "-".repeat(139))?;
    let (mut runtime_ns, mut switches) = (0, 0);
    for (task, delays) in rows {
        let name = format!("{}:{}", trace.name(task), trace.pid(Some(task)));
        let mean_ms = delays.sum_ns as f64 / delays.count.max(1) as f64 / 1e6;
        writeln!(
            out,
            "  {name:<21} | {:>10.3} ms | {:>8} | avg:{mean_ms:>8.3} ms | max:{:>8.3} ms | \
             max start:{:>13} s | max end:{:>13} s",
            delays.runtime_ns as f64 / 1e6,
            delays.switches,
            delays.max_ns as f64 / 1e6,
            seconds(delays.max_end_ns - delays.max_ns),
            seconds(delays.max_end_ns),
        )?;
        runtime_ns += delays.runtime_ns;
        switches += delays.switches;
    }
    writeln!(out, " {}", "-".repeat(113))?;
    writeln!(
        out,
        "  TOTAL:                | {:>10.3} ms | {switches:>8} |",
        runtime_ns as f64 / 1e6
    )?;
    writeln!(out, " {}", "-".repeat(51))
}
