//! The properties of a task or phase: everything in its object that is no event.

use super::{
    Machine, event,
    fault::{Fault, did_you_mean},
    global::once,
    json::{Member, Value},
    model::{Loops, SchedChange},
    notes::Notes,
    refuse,
};
use crate::source::At;
use crate::workload::{CUSTOM_SLICE_NS, NICE};
use abi::{
    CpuSet, MAX_CPUS,
    scenario::{FIFO_PRIORITIES, Policy},
};

/// Whose properties they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Task,
    Phase,
}

/// Properties that tasks and phases have.
const SHARED: [&str; 11] = [
    "loop",
    "policy",
    "priority",
    "cpus",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "util_min",
    "util_max",
    "nodes_membind",
    "taskgroup",
];
/// Properties that tasks alone have.
const OF_TASKS: [&str; 3] = ["instance", "delay", "phases"];

/// What an object says of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings<'v, 't> {
    pub(super) loops: Option<Loops>,
    pub(super) instances: Option<(u32, At)>,
    pub(super) delay_ns: u64,
    pub(super) phases: Option<&'v Value<'t>>,
    pub(super) policy: Option<Policy>,
    /// The policy that is meant where there is none.
    inherited: Option<Policy>,
    pub(super) nice: Option<i8>,
    /// The slice, `Some(None)` for the base slice.
    pub(super) slice_ns: Option<Option<u64>>,
    pub(super) cpus: Option<CpuSet>,
}

impl<'v, 't> Settings<'v, 't> {
    /// Reads them, and refuses what is neither a property nor an event.
    pub(super) fn read(
        members: &'v [Member<'t>],
        level: Level,
        inherited: Option<Policy>,
        machine: &Machine<'_>,
        notes: &mut Notes,
    ) -> Result<Self, Fault> {
        let mut settings = Self { inherited, ..Self::default() };
        // First, since it decides what the others may be.
        for member in members.iter().filter(|member| member.key == "policy") {
            settings.set(member, machine, notes)?;
        }
        let mut seen = Vec::new();
        for member in members {
            let key = &*member.key;
            if SHARED.contains(&key) || OF_TASKS.contains(&key) {
                once(&mut seen, member)?;
                if level == Level::Phase && OF_TASKS.contains(&key) {
                    let reason = "is the task's, not a phase's; move it out of `phases`";
                    return Err(Fault::new(member.at, reason).in_key(key));
                }
                settings.set(member, machine, notes)?;
            } else if event::kind(key).is_none() {
                return Err(unknown(member, level));
            }
        }
        Ok(settings)
    }

    fn set(
        &mut self,
        member: &'v Member<'t>,
        machine: &Machine<'_>,
        notes: &mut Notes,
    ) -> Result<(), Fault> {
        match &*member.key {
            "loop" => self.loops = Some(member.read(loops)?),
            "instance" => {
                let range = 0..=i64::from(i32::MAX);
                let count = member.read(|value| value.whole("a number of threads", &range))?;
                self.instances = Some((count as u32, member.needed()?.at));
            }
            "delay" => self.delay_ns = member.read(Value::time_ns)?,
            "phases" => self.phases = Some(member.needed()?),
            // Read already, with a priority perhaps.
            "policy" if self.policy.is_some() => {}
            "policy" => {
                let policy = |value: &Value<'_>| refuse::policy(value.text("a policy")?, value.at);
                self.policy = Some(member.read(policy)?);
            }
            "priority" if matches!(self.policy.or(self.inherited), Some(Policy::Fifo { .. })) => {
                let range = (*FIFO_PRIORITIES.start()).into()..=(*FIFO_PRIORITIES.end()).into();
                let priority = member.read(|value| value.whole("a SCHED_FIFO priority", &range))?;
                self.policy = Some(Policy::Fifo { priority: priority as u8 });
            }
            "priority" => {
                let range = i64::from(*NICE.start())..=i64::from(*NICE.end());
                let nice = member.read(|value| value.whole("a nice value", &range))?;
                self.nice = Some(nice as i8);
            }
            "cpus" => self.cpus = Some(member.read(|value| cpus(value, machine))?),
            "dl-runtime" => {
                let asked = member.read(Value::time_ns)?;
                if let Some(preset) = machine.without_slices.filter(|_| asked > 0) {
                    let reason =
                        format!("{preset} has no slices of a task's own; choose a newer --preset");
                    return Err(Fault::new(member.needed()?.at, reason).in_key("dl-runtime"));
                }
                self.slice_ns = Some((asked > 0).then_some(asked).map(|ns| clamped(ns, notes)));
            }
            "taskgroup" => {
                let group = |value: &Value<'_>| match &value.kind {
                    super::json::Kind::Text(name) => refuse::task_group(name, value.at),
                    _ => value.text("a task group").map(|_| ()),
                };
                member.read(group)?;
            }
            key => notes.ignored(key),
        }
        Ok(())
    }

    /// What changes when a phase with these begins. As in rt-app, a policy brings nice 0 along.
    pub(super) fn change(&self) -> SchedChange {
        SchedChange {
            policy: self.policy,
            nice: self.nice.or(self.policy.map(|_| 0)),
            slice_ns: self.slice_ns,
        }
    }
}

/// Linux does not refuse such slices, it bounds them.
fn clamped(asked_ns: u64, notes: &mut Notes) -> u64 {
    let ns = asked_ns.clamp(*CUSTOM_SLICE_NS.start(), *CUSTOM_SLICE_NS.end());
    if ns != asked_ns {
        notes.say("a `dl-runtime` is kept within 100 us and 100 ms, as Linux does with slices");
    }
    ns
}

fn loops(value: &Value<'_>) -> Result<Loops, Fault> {
    match value.whole("-1 (endless) or a number of loops", &(-1..=i64::from(i32::MAX)))? {
        -1 => Ok(Loops::Forever),
        0 => {
            let reason = "0 loops: rt-app does a phase endlessly then and a task never; use -1 for \
                          endless, or leave the object out";
            Err(Fault::new(value.at, reason))
        }
        times => Ok(Loops::Times(times as u32)),
    }
}

fn cpus(value: &Value<'_>, machine: &Machine<'_>) -> Result<CpuSet, Fault> {
    let mut set = CpuSet::EMPTY;
    for cpu in value.list("a list of CPUs such as [0, 1]")? {
        let number = cpu.whole("a CPU", &(0..=MAX_CPUS as i64 - 1))? as usize;
        if number >= machine.cpus as usize {
            let has = match machine.cpus {
                1 => "only cpu0".to_owned(),
                more => format!("cpu0 to cpu{}", more - 1),
            };
            let reason = format!("cpu{number}, and the machine has {has}; raise --smp");
            return Err(Fault::new(cpu.at, reason));
        }
        set.insert(number);
    }
    if set.is_empty() {
        return Err(Fault::new(value.at, "no CPU to run on; leave the key out for all CPUs"));
    }
    Ok(set)
}

fn unknown(member: &Member<'_>, level: Level) -> Fault {
    let key = &*member.key;
    if let Err(fault) = refuse::old_grammar(key, member.at) {
        return fault;
    }
    let of_level = match level {
        Level::Task => &OF_TASKS[..],
        Level::Phase => &[],
    };
    let known = SHARED.iter().chain(of_level).copied().chain(event::names());
    // `slep2` is meant as `sleep2`.
    let bare = key.trim_end_matches(|c: char| c.is_ascii_digit());
    let reason = match did_you_mean(bare, known) {
        Some(meant) => format!("unknown; did you mean `{meant}`?"),
        None => format!(
            "neither a property nor an event; events are {}",
            event::names().collect::<Vec<_>>().join(", ")
        ),
    };
    Fault::new(member.at, reason).in_key(key)
}
