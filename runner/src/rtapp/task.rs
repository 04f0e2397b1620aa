//! A task: its properties, and its events by themselves or in phases.

use super::{
    Context, event,
    fault::Fault,
    global::DefaultPolicy,
    json::{Member, Value},
    model::{Loops, Phase, Sched, SchedChange, Step, Task},
    refuse,
    settings::{Level, Settings},
};
use crate::source::At;
use abi::scenario::Policy;
use std::collections::HashSet;

/// Bytes that a task's name may have; Linux shows 15 of a thread's.
const LONGEST_NAME: usize = 64;

/// Reads the task that the context is about.
pub(super) fn read(
    member: &Member<'_>,
    default: &DefaultPolicy,
    context: &mut Context<'_>,
) -> Result<Task, Fault> {
    check_name(member)?;
    let members = member.needed()?.object("a task")?;
    let default_policy = match members.iter().any(|member| member.key == "policy") {
        true => None,
        false => Some(
            refuse::policy(&default.name, default.at)
                .map_err(|fault| fault.in_key("default_policy"))?,
        ),
    };
    let settings =
        Settings::read(members, Level::Task, default_policy, context.machine, context.notes)?;
    let policy = settings.policy.or(default_policy).expect("one or the other");
    let (instances, at) = settings.instances.unwrap_or((1, member.at));
    context.count(instances, at)?;
    let phases = match settings.phases {
        None => vec![only_phase(members, member.at, context)?],
        Some(phases) => phases_of(phases, members, policy, context)?,
    };
    Ok(Task {
        name: member.key.as_ref().to_owned(),
        at: member.at,
        instances,
        delay_ns: settings.delay_ns,
        loops: settings.loops.unwrap_or(Loops::Forever),
        sched: Sched {
            policy,
            nice: settings.nice.unwrap_or(0),
            slice_ns: settings.slice_ns.flatten(),
        },
        cpus: settings.cpus,
        phases,
    })
}

/// Threads are called after their task, in tables and on consoles.
fn check_name(member: &Member<'_>) -> Result<(), Fault> {
    let name = &*member.key;
    if !name.is_empty() && name.len() <= LONGEST_NAME && !name.contains(char::is_control) {
        return Ok(());
    }
    let reason = format!("a task's name has 1 to {LONGEST_NAME} bytes, all of them printable");
    Err(Fault::new(member.at, reason))
}

/// The events of a task without phases.
fn only_phase(members: &[Member<'_>], at: At, context: &mut Context<'_>) -> Result<Phase, Fault> {
    Ok(Phase {
        name: None,
        at,
        loops: Loops::ONCE,
        change: SchedChange::default(),
        cpus: None,
        steps: steps(members, at, context)?,
    })
}

fn phases_of(
    value: &Value<'_>,
    beside: &[Member<'_>],
    policy: Policy,
    context: &mut Context<'_>,
) -> Result<Vec<Phase>, Fault> {
    let in_phases = |fault: Fault| fault.in_key("phases");
    if let Some(stray) = beside.iter().find(|member| event::kind(&member.key).is_some()) {
        let reason = "an event beside `phases`, where rt-app overlooks it; move it into a phase";
        return Err(Fault::new(stray.at, reason).in_key(&stray.key));
    }
    let members = value.object("phases by name").map_err(in_phases)?;
    if members.is_empty() {
        let reason = "there is no phase; add one, or leave `phases` out";
        return Err(in_phases(Fault::new(value.at, reason)));
    }
    note_repeated(members, |_| true, context);
    let mut phases = Vec::new();
    let mut policy = policy;
    for member in members {
        let phase = phase(member, policy, context)?;
        policy = phase.change.policy.unwrap_or(policy);
        phases.push(phase);
    }
    Ok(phases)
}

fn phase(member: &Member<'_>, policy: Policy, context: &mut Context<'_>) -> Result<Phase, Fault> {
    let members = member.needed()?.object("a phase").map_err(|fault| fault.in_key(&member.key))?;
    let settings =
        Settings::read(members, Level::Phase, Some(policy), context.machine, context.notes)?;
    Ok(Phase {
        name: Some(member.key.as_ref().to_owned()),
        at: member.at,
        loops: settings.loops.unwrap_or(Loops::ONCE),
        change: settings.change(),
        cpus: settings.cpus,
        steps: steps(members, member.at, context)?,
    })
}

fn steps(members: &[Member<'_>], at: At, context: &mut Context<'_>) -> Result<Vec<Step>, Fault> {
    note_repeated(members, |key| event::kind(key).is_some(), context);
    let mut steps = Vec::new();
    for member in members {
        if let Some(kind) = event::kind(&member.key) {
            steps.push(event::read(member, kind, context)?);
        }
    }
    if steps.is_empty() {
        return Err(Fault::new(
            at,
            "no event, and rt-app refuses that too; add one, such as \"run\": 1000",
        ));
    }
    Ok(steps)
}

/// Notes which keys are there more than once, where that is allowed.
pub(super) fn note_repeated(
    members: &[Member<'_>],
    allowed: impl Fn(&str) -> bool,
    context: &mut Context<'_>,
) {
    let mut seen = HashSet::new();
    for member in members.iter().filter(|member| allowed(&member.key)) {
        if !seen.insert(&*member.key) {
            context.notes.repeated(member.at, &member.key);
        }
    }
}
