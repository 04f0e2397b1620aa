//! Chrome's JSON: a track for each CPU with the stints on it, arrows for wake-ups, counters.
//!
//! Times are microseconds with three decimals, written digit by digit: exact, which a float of
//! microseconds is not for long.

use super::Current;
use crate::trace::{
    read::{Entry, Trace, What},
    stints::{Stint, Timeline},
};
use abi::trace::Event;
use serde_json::{Value, json};
use std::{
    fmt,
    io::{self, Write},
};

/// The process that all CPUs are threads of.
const MACHINE: u32 = 0;

/// Writes a trace.
///
/// # Errors
/// Those of `out`.
pub(super) fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer { trace, out, is_begun: false };
    writer.out.write_all(b"{\"traceEvents\":[")?;
    writer.metadata("process_name", 0, "slicelab")?;
    for cpu in 0..trace.description.cpus {
        writer.metadata("thread_name", cpu, &format!("CPU{cpu}"))?;
    }
    let mut timeline = Timeline::new(&trace.description);
    let mut current = Current::new(trace);
    // The arrow that ends where each task runs next.
    let mut arrows: Vec<Option<u64>> = vec![None; trace.description.tasks.len()];
    let mut last_arrow = 0;
    for entry in trace.entries() {
        if let Some(stint) = timeline.take(&entry) {
            writer.stint(&stint)?;
        }
        let Entry { at_ns, cpu, what } = entry;
        if let What::Happened(event) = what {
            match event {
                Event::Tick { .. } => writer.event("i", "tick", at_ns, cpu, json!({ "s": "t" }))?,
                // An arrow begins inside a slice, which an idle CPU has not.
                Event::Waking { task, .. } if current.on(cpu).is_some() => {
                    last_arrow += 1;
                    arrows[task as usize] = Some(last_arrow);
                    writer.arrow("s", at_ns, cpu, last_arrow)?;
                }
                Event::Switch { next: Some(into), .. } => {
                    if let Some(arrow) = arrows[into.task as usize].take() {
                        writer.arrow("f", at_ns, cpu, arrow)?;
                    }
                }
                Event::Enqueue { cpu: target, nr_running, .. }
                | Event::Dequeue { cpu: target, nr_running, .. } => {
                    let args = json!({ "args": { format!("cpu{target}"): nr_running } });
                    writer.event("C", &format!("nr_running cpu{target}"), at_ns, target, args)?;
                }
                _ => {}
            }
        }
        current.follow(cpu, &what);
    }
    writer.out.write_all(b"\n],\"displayTimeUnit\":\"ns\"}\n")
}

struct Writer<'a> {
    trace: &'a Trace,
    out: &'a mut dyn Write,
    is_begun: bool,
}

impl Writer<'_> {
    fn stint(&mut self, stint: &Stint) -> io::Result<()> {
        let args = json!({ "args": {
            "pid": self.trace.pid(Some(stint.task)),
            "chosen": stint.pick.word(),
            "left": stint.end.map_or("the run ended", |end| end.word()),
            "lag_ns": stint.start_lag_ns,
            "lag_after_ns": stint.end_lag_ns,
            "delay_ns": stint.delay_ns,
        } });
        let name = self.trace.name(stint.task);
        self.put("X", name, stint.start_ns, stint.cpu, Some(stint.length_ns()), args)
    }

    fn arrow(&mut self, phase: &str, at_ns: u64, cpu: u32, id: u64) -> io::Result<()> {
        let bind = if phase == "f" { "e" } else { "" };
        self.event(phase, "wakes", at_ns, cpu, json!({ "id": id, "cat": "wakeup", "bp": bind }))
    }

    fn metadata(&mut self, name: &str, cpu: u32, value: &str) -> io::Result<()> {
        self.event("M", name, 0, cpu, json!({ "args": { "name": value } }))
    }

    fn event(
        &mut self,
        phase: &str,
        name: &str,
        at_ns: u64,
        cpu: u32,
        more: Value,
    ) -> io::Result<()> {
        self.put(phase, name, at_ns, cpu, None, more)
    }

    fn put(
        &mut self,
        phase: &str,
        name: &str,
        at_ns: u64,
        cpu: u32,
        length_ns: Option<u64>,
        more: Value,
    ) -> io::Result<()> {
        let separator = if std::mem::replace(&mut self.is_begun, true) { "," } else { "" };
        let name = Value::from(name);
        write!(
            self.out,
            "{separator}\n{{\"ph\":\"{phase}\",\"name\":{name},\"pid\":{MACHINE},\"tid\":{cpu},\"ts\":{}",
            Us(at_ns)
        )?;
        if let Some(length_ns) = length_ns {
            write!(self.out, ",\"dur\":{}", Us(length_ns))?;
        }
        for (key, value) in more.as_object().into_iter().flatten() {
            write!(self.out, ",{}:{value}", Value::from(key.as_str()))?;
        }
        self.out.write_all(b"}")
    }
}

/// Nanoseconds, written as microseconds.
struct Us(u64);

impl fmt::Display for Us {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}
