//! Perfetto's protobuf: what traced would have recorded of a Linux with this load.
//!
//! CPU tracks come from ftrace bundles, so that trace_processor's `sched`, `thread_state` and
//! wake-up tables are filled and queries written for Linux work. Beside them, as track events:
//! counters (`nr_running` of each CPU, lag of each task), and a track for each task with its
//! stints, why each began and ended, and an arrow from every waker to the task that it woke.

mod messages;

use super::{Current, comm, prev_state};
use crate::trace::read::{Entry, Trace, What};
use abi::trace::Event;
use messages::{
    Counter, DebugAnnotation, FtraceEvent, FtraceEventBundle, ProcessTree, SchedEvent,
    SchedMigrateTask, SchedSwitch, SchedWakeup, SystemInfo, ThreadDescriptor, TracePacket,
    TrackDescriptor, TrackEvent, TreeProcess, TreeThread, Utsname, event_type,
};
use prost::Message;
use std::io::{self, Write};

/// Events of a CPU in one bundle.
const BUNDLE: usize = 512;
/// The one sequence that all packets belong to.
const SEQUENCE_ID: u32 = 1;
/// `SEQ_INCREMENTAL_STATE_CLEARED`, on the first packet of a sequence.
const STATE_CLEARED: u32 = 1;
/// What the bits of `prev_state` mean depends on the kernel's version.
const RELEASE: &str = "6.12.0-slicelab";
/// Pids of tasks begin at 1; their parent needs another one.
const NO_PARENT: u32 = 0;

/// Numbers of tracks: one of each kind for each CPU or task.
#[derive(Clone, Copy)]
#[repr(u64)]
enum Track {
    NrRunning = 1 << 32,
    Timer = 2 << 32,
    Task = 3 << 32,
    Lag = 4 << 32,
    Lags = 5 << 32,
}

impl Track {
    const fn of(self, number: u32) -> u64 {
        self as u64 + number as u64
    }
}

/// Writes a trace.
///
/// # Errors
/// Those of `out`.
pub(super) fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer {
        trace,
        out,
        bundles: vec![Vec::new(); trace.description.cpus as usize],
        current: Current::new(trace),
        is_begun: false,
        nr_running: vec![0; trace.description.cpus as usize],
        wakings: vec![0; trace.description.tasks.len()],
        last_flow: 0,
    };
    writer.declare()?;
    for entry in trace.entries() {
        writer.entry(&entry)?;
    }
    for cpu in 0..trace.description.cpus {
        writer.flush(cpu)?;
    }
    Ok(())
}

struct Writer<'a> {
    trace: &'a Trace,
    out: &'a mut dyn Write,
    /// Kernel events of each CPU that are not written yet.
    bundles: Vec<Vec<FtraceEvent>>,
    current: Current,
    is_begun: bool,
    nr_running: Vec<u32>,
    /// The arrow that ends where each task runs next; 0 without one.
    wakings: Vec<u64>,
    last_flow: u64,
}

impl Writer<'_> {
    /// What there is: machine, tasks, tracks.
    fn declare(&mut self) -> io::Result<()> {
        let utsname = Utsname {
            sysname: "Linux".into(),
            version: "slicelab".into(),
            release: RELEASE.into(),
            machine: "x86_64".into(),
        };
        let system_info = Some(SystemInfo { utsname: Some(utsname) });
        self.packet(TracePacket { system_info, ..TracePacket::default() })?;
        let tasks = &self.trace.description.tasks;
        let process = |(pid, name): (u32, &str)| TreeProcess {
            pid: pid as i32,
            ppid: NO_PARENT as i32,
            cmdline: vec![name.into()],
        };
        let thread = |(pid, name): (u32, &str)| TreeThread {
            tid: pid as i32,
            name: name.into(),
            tgid: pid as i32,
        };
        let names = || tasks.iter().map(|task| (task.pid, task.name.as_str()));
        let process_tree = ProcessTree {
            processes: names().map(process).collect(),
            threads: names().map(thread).collect(),
        };
        self.packet(TracePacket { process_tree: Some(process_tree), ..TracePacket::default() })?;
        for cpu in 0..self.trace.description.cpus {
            self.counter_track(Track::NrRunning.of(cpu), None, format!("cpu{cpu} nr_running"))?;
            self.track(TrackDescriptor {
                uuid: Track::Timer.of(cpu),
                name: format!("cpu{cpu} timer"),
                ..TrackDescriptor::default()
            })?;
        }
        let lags = Track::Lags.of(0);
        self.track(TrackDescriptor {
            uuid: lags,
            name: "lag (virtual ns)".into(),
            ..TrackDescriptor::default()
        })?;
        for (task, description) in (0..).zip(tasks) {
            let (pid, name) = (description.pid as i32, description.name.clone());
            self.counter_track(Track::Lag.of(task), Some(lags), format!("lag {name}"))?;
            self.track(TrackDescriptor {
                uuid: Track::Task.of(task),
                name: name.clone(),
                thread: Some(ThreadDescriptor { pid, tid: pid.into(), thread_name: name }),
                ..TrackDescriptor::default()
            })?;
        }
        Ok(())
    }

    fn counter_track(&mut self, uuid: u64, parent: Option<u64>, name: String) -> io::Result<()> {
        let parent_uuid = parent.unwrap_or(0);
        let counter = Some(Counter {});
        self.track(TrackDescriptor {
            uuid,
            parent_uuid,
            name,
            counter,
            ..TrackDescriptor::default()
        })
    }

    fn track(&mut self, track: TrackDescriptor) -> io::Result<()> {
        self.packet(TracePacket { track_descriptor: Some(track), ..TracePacket::default() })
    }

    /// Writes what an entry shows; a stint is drawn only if its beginning is known.
    fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        let Entry { at_ns, cpu, what } = *entry;
        let What::Happened(event) = what else {
            if let Some(task) = self.current.on(cpu) {
                self.slice_end(at_ns, task, "records are missing", None)?;
            }
            self.current.follow(cpu, &what);
            return Ok(());
        };
        if let Some(kernel) = self.kernel_event(cpu, &event) {
            let pid = self.trace.pid(self.current.on(cpu));
            let kernel = FtraceEvent { timestamp: at_ns, pid, event: Some(kernel) };
            self.bundles[cpu as usize].push(kernel);
            if self.bundles[cpu as usize].len() == BUNDLE {
                self.flush(cpu)?;
            }
        }
        match event {
            Event::Switch { prev, next, nr_running } => {
                if let Some(out) = prev {
                    if self.current.on(cpu) == Some(out.task) {
                        self.slice_end(at_ns, out.task, out.end.word(), Some(out.lag_ns))?;
                    }
                    self.count(at_ns, Track::Lag.of(out.task), out.lag_ns)?;
                }
                if let Some(into) = next {
                    self.slice_begin(at_ns, cpu, into.task, into.pick.word(), into.lag_ns)?;
                    self.count(at_ns, Track::Lag.of(into.task), into.lag_ns)?;
                }
                self.runnable(at_ns, cpu, nr_running)?;
            }
            Event::End => {
                if let Some(task) = self.current.on(cpu) {
                    self.slice_end(at_ns, task, "the run ended", None)?;
                }
            }
            Event::Waking { task, waker, .. } => self.wakes(at_ns, cpu, task, waker)?,
            Event::Enqueue { task, cpu: target, nr_running, lag_ns, .. } => {
                self.count(at_ns, Track::Lag.of(task), lag_ns)?;
                self.runnable(at_ns, target, nr_running)?;
            }
            Event::Dequeue { cpu: target, nr_running, .. } => {
                self.runnable(at_ns, target, nr_running)?;
            }
            _ => {}
        }
        self.current.follow(cpu, &what);
        Ok(())
    }

    /// The event of the kernel that says the same, where there is one.
    fn kernel_event(&self, cpu: u32, event: &Event) -> Option<SchedEvent> {
        let trace = self.trace;
        Some(match *event {
            Event::Switch { prev, next, .. } => {
                let (prev_task, next_task) = (prev.map(|out| out.task), next.map(|into| into.task));
                let (from, to) = (comm(trace, prev_task), comm(trace, next_task));
                SchedEvent::Switch(SchedSwitch {
                    prev_comm: name_on(cpu, from.comm, prev_task),
                    prev_pid: from.pid as i32,
                    prev_prio: from.prio,
                    prev_state: prev_state(prev.map(|out| out.end)).0,
                    next_comm: name_on(cpu, to.comm, next_task),
                    next_pid: to.pid as i32,
                    next_prio: to.prio,
                })
            }
            // The run ends with the idle task everywhere, or slices would have no end.
            Event::End => {
                let task = self.current.on(cpu)?;
                let (from, to) = (comm(trace, Some(task)), comm(trace, None));
                SchedEvent::Switch(SchedSwitch {
                    prev_comm: from.comm.into(),
                    prev_pid: from.pid as i32,
                    prev_prio: from.prio,
                    prev_state: 0,
                    next_comm: name_on(cpu, to.comm, None),
                    next_pid: 0,
                    next_prio: to.prio,
                })
            }
            Event::Waking { task, cpu, .. } => SchedEvent::Waking(wakeup(trace, task, cpu)),
            Event::Wakeup { task, cpu, is_new: true, .. } => {
                SchedEvent::WakeupNew(wakeup(trace, task, cpu))
            }
            Event::Wakeup { task, cpu, .. } => SchedEvent::Wakeup(wakeup(trace, task, cpu)),
            Event::Migrate { task, from, to, .. } => {
                let who = comm(trace, Some(task));
                SchedEvent::MigrateTask(SchedMigrateTask {
                    comm: who.comm.into(),
                    pid: who.pid as i32,
                    prio: who.prio,
                    orig_cpu: from as i32,
                    dest_cpu: to as i32,
                })
            }
            _ => return None,
        })
    }

    fn slice_begin(
        &mut self,
        at_ns: u64,
        cpu: u32,
        task: u32,
        pick: &str,
        lag_ns: i64,
    ) -> io::Result<()> {
        let flow = std::mem::take(&mut self.wakings[task as usize]);
        self.track_event(
            at_ns,
            TrackEvent {
                r#type: event_type::SLICE_BEGIN,
                track_uuid: Track::Task.of(task),
                name: format!("on cpu{cpu}"),
                terminating_flow_ids: (flow != 0).then_some(flow).into_iter().collect(),
                debug_annotations: vec![
                    DebugAnnotation::text("chosen", pick),
                    DebugAnnotation::number("lag_ns", lag_ns),
                ],
                ..TrackEvent::default()
            },
        )
    }

    fn slice_end(
        &mut self,
        at_ns: u64,
        task: u32,
        why: &str,
        lag_ns: Option<i64>,
    ) -> io::Result<()> {
        let mut debug_annotations = vec![DebugAnnotation::text("left", why)];
        debug_annotations.extend(lag_ns.map(|lag| DebugAnnotation::number("lag_after_ns", lag)));
        self.track_event(
            at_ns,
            TrackEvent {
                r#type: event_type::SLICE_END,
                track_uuid: Track::Task.of(task),
                debug_annotations,
                ..TrackEvent::default()
            },
        )
    }

    /// The tail of an arrow, on the waker's track or on that of the timer.
    fn wakes(&mut self, at_ns: u64, cpu: u32, task: u32, waker: Option<u32>) -> io::Result<()> {
        self.last_flow += 1;
        self.wakings[task as usize] = self.last_flow;
        let track_uuid = waker.map_or(Track::Timer.of(cpu), |waker| Track::Task.of(waker));
        self.track_event(
            at_ns,
            TrackEvent {
                r#type: event_type::INSTANT,
                track_uuid,
                name: format!("wakes {}", self.trace.name(task)),
                flow_ids: vec![self.last_flow],
                ..TrackEvent::default()
            },
        )
    }

    fn runnable(&mut self, at_ns: u64, cpu: u32, nr_running: u32) -> io::Result<()> {
        match std::mem::replace(&mut self.nr_running[cpu as usize], nr_running) {
            before if before == nr_running => Ok(()),
            _ => self.count(at_ns, Track::NrRunning.of(cpu), nr_running.into()),
        }
    }

    fn count(&mut self, at_ns: u64, track_uuid: u64, value: i64) -> io::Result<()> {
        let counter_value = Some(value);
        let r#type = event_type::COUNTER;
        let event = TrackEvent { r#type, track_uuid, counter_value, ..TrackEvent::default() };
        self.track_event(at_ns, event)
    }

    fn track_event(&mut self, at_ns: u64, event: TrackEvent) -> io::Result<()> {
        let track_event = Some(event);
        self.packet(TracePacket { timestamp: Some(at_ns), track_event, ..TracePacket::default() })
    }

    fn flush(&mut self, cpu: u32) -> io::Result<()> {
        let event = std::mem::take(&mut self.bundles[cpu as usize]);
        let ftrace_events = Some(FtraceEventBundle { cpu, event });
        self.packet(TracePacket { ftrace_events, ..TracePacket::default() })
    }

    fn packet(&mut self, mut packet: TracePacket) -> io::Result<()> {
        packet.trusted_packet_sequence_id = SEQUENCE_ID;
        if !std::mem::replace(&mut self.is_begun, true) {
            packet.sequence_flags = STATE_CLEARED;
        }
        let trace = messages::Trace { packet: vec![packet] };
        self.out.write_all(&trace.encode_to_vec())
    }
}

fn wakeup(trace: &Trace, task: u32, cpu: u32) -> SchedWakeup {
    let who = comm(trace, Some(task));
    SchedWakeup {
        comm: who.comm.into(),
        pid: who.pid as i32,
        prio: who.prio,
        success: 1,
        target_cpu: cpu as i32,
    }
}

/// Each CPU has an idle task of its own.
fn name_on(cpu: u32, comm: &str, task: Option<u32>) -> String {
    match task {
        Some(_) => comm.into(),
        None => format!("{comm}/{cpu}"),
    }
}
