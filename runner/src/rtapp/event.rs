//! Events: what a key makes of its value. The beginning of the key says which event it is, so
//! `run`, `run0` and `run-long` are all the same.

use super::{
    Context,
    fault::{Fault, did_you_mean},
    json::{Kind as Json, Member, Value},
    model::{Event, Step},
};

/// What writing memory costs: 10 bytes a ns, a fast core filling its own cache.
const MEM_BYTES_PER_NS: u64 = 10;
/// What writing to a device costs the writer: 1 byte a ns, a copy with the way into the kernel.
const IO_BYTES_PER_NS: u64 = 1;
/// The most bytes of one event; rt-app's are of 31 bits.
const MAX_BYTES: i64 = i32::MAX as i64;

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Run,
    RunWall,
    Sleep,
    Mem,
    Io,
    Timer,
    Lock,
    Unlock,
    Wait,
    Signal,
    Broadcast,
    Sync,
    Barrier,
    Suspend,
    Resume,
    SemPost,
    SemWait,
    Yield,
    Fork,
}

/// How keys begin. Where one begins with another, the longer comes first.
const EVENTS: [(&str, Kind); 19] = [
    ("runtime", Kind::RunWall),
    ("run", Kind::Run),
    ("sleep", Kind::Sleep),
    ("mem", Kind::Mem),
    ("iorun", Kind::Io),
    ("timer", Kind::Timer),
    ("lock", Kind::Lock),
    ("unlock", Kind::Unlock),
    ("wait", Kind::Wait),
    ("signal", Kind::Signal),
    ("broad", Kind::Broadcast),
    ("sync", Kind::Sync),
    ("barrier", Kind::Barrier),
    ("suspend", Kind::Suspend),
    ("resume", Kind::Resume),
    ("sem_post", Kind::SemPost),
    ("sem_wait", Kind::SemWait),
    ("yield", Kind::Yield),
    ("fork", Kind::Fork),
];

/// How event keys begin.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    EVENTS.iter().map(|&(name, _)| name)
}

/// The event that a key stands for.
pub(super) fn kind(key: &str) -> Option<Kind> {
    // Keys of other things that begin like an event.
    if key == "lock_order" || key == "membind_nodes" {
        return None;
    }
    let &(name, kind) = EVENTS.iter().find(|(name, _)| key.starts_with(name))?;
    // `runtim` begins with `run` and is not meant so.
    let mistyped = key[name.len()..].starts_with(|c: char| c.is_ascii_lowercase())
        && did_you_mean(key, names()).is_some_and(|meant| meant != name);
    (!mistyped).then_some(kind)
}

/// Reads one event of a task.
pub(super) fn read(
    member: &Member<'_>,
    kind: Kind,
    context: &mut Context<'_>,
) -> Result<Step, Fault> {
    let event = match kind {
        Kind::Suspend => {
            let name = match &member.value {
                None => context.task.to_owned(),
                // rt-app's description lets it be empty for the task's own name.
                Some(Value { kind: Json::Text(name), .. }) if name.is_empty() => {
                    context.task.to_owned()
                }
                Some(_) => member.read(|value| name(value).map(str::to_owned))?,
            };
            let (condition, mutex) = context.both(&name);
            Event::Suspend { condition, mutex }
        }
        Kind::Yield => Event::Yield,
        _ => member.read(|value| valued(value, kind, context))?,
    };
    Ok(Step { at: member.at, event })
}

fn valued(value: &Value<'_>, kind: Kind, context: &mut Context<'_>) -> Result<Event, Fault> {
    Ok(match kind {
        Kind::Run => Event::Run(value.time_ns()?),
        Kind::RunWall => Event::RunWall(value.time_ns()?),
        Kind::Sleep => Event::Sleep(value.time_ns()?),
        Kind::Mem => Event::Run(bytes(value, MEM_BYTES_PER_NS, context)?),
        Kind::Io => Event::Run(bytes(value, IO_BYTES_PER_NS, context)?),
        Kind::Timer => timer(value, context)?,
        Kind::Lock => Event::Lock(context.names.mutex(name(value)?)),
        Kind::Unlock => Event::Unlock(context.names.mutex(name(value)?)),
        Kind::Wait => {
            let (condition, mutex) = condition_and_mutex(value, context)?;
            Event::Wait { condition, mutex }
        }
        Kind::Sync => {
            let (condition, mutex) = condition_and_mutex(value, context)?;
            Event::Sync { condition, mutex, held: true }
        }
        Kind::Signal => Event::Signal(context.names.condition(name(value)?)),
        Kind::Broadcast => Event::Broadcast(context.names.condition(name(value)?)),
        Kind::Barrier => {
            if context.instances == 0 {
                let reason = "a barrier in a task with `instance` 0: how many will come cannot be \
                              known before it is forked; use `wait` and `broad`";
                return Err(Fault::new(value.at, reason));
            }
            Event::Barrier(context.names.barrier(name(value)?, context.instances))
        }
        Kind::Resume => {
            let (condition, mutex) = context.both(name(value)?);
            Event::Resume { condition, mutex }
        }
        Kind::SemPost => Event::SemPost(context.names.semaphore(name(value)?)),
        Kind::SemWait => Event::SemWait(context.names.semaphore(name(value)?)),
        Kind::Fork => Event::Fork(context.task_called(name(value)?, value.at)?),
        Kind::Suspend | Kind::Yield => unreachable!("read without a value"),
    })
}

fn name<'v>(value: &'v Value<'_>) -> Result<&'v str, Fault> {
    value.text("a name")
}

fn bytes(value: &Value<'_>, per_ns: u64, context: &mut Context<'_>) -> Result<u64, Fault> {
    let bytes = value.whole("a number of bytes", &(0..=MAX_BYTES))?.unsigned_abs();
    context.notes.say(
        "`mem` and `iorun` are CPU time here: 1 ns for 10 bytes of memory, 1 ns for a byte of I/O",
    );
    Ok(bytes / per_ns)
}

fn timer(value: &Value<'_>, context: &mut Context<'_>) -> Result<Event, Fault> {
    let (mut timer, mut period_ns, mut absolute) = (None, None, false);
    for member in value.object("a timer such as {\"ref\": \"unique\", \"period\": 10000}")? {
        match &*member.key {
            "ref" => timer = Some(member.read(|value| name(value).map(str::to_owned))?),
            "period" => period_ns = Some(member.read(Value::time_ns)?),
            "mode" => absolute = member.read(is_absolute)?,
            _ => return Err(foreign(member, &["ref", "period", "mode"])),
        }
    }
    let missing = |what| Fault::new(value.at, format!("a timer without `{what}`; add it"));
    let timer = timer.ok_or_else(|| missing("ref"))?;
    let period_ns = period_ns.ok_or_else(|| missing("period"))?;
    Ok(Event::Timer { timer: context.names.timer(&timer, context.index, absolute), period_ns })
}

fn is_absolute(value: &Value<'_>) -> Result<bool, Fault> {
    match value.text("a mode")? {
        "absolute" => Ok(true),
        "relative" => Ok(false),
        other => {
            let reason = format!("unknown mode `{other}`; it is \"relative\" or \"absolute\"");
            Err(Fault::new(value.at, reason))
        }
    }
}

fn condition_and_mutex(value: &Value<'_>, context: &mut Context<'_>) -> Result<(u32, u32), Fault> {
    let (mut condition, mut mutex) = (None, None);
    for member in value.object("{\"ref\": CONDITION, \"mutex\": MUTEX}")? {
        match &*member.key {
            "ref" => {
                condition = Some(member.read(|value| Ok(context.names.condition(name(value)?)))?);
            }
            "mutex" => mutex = Some(member.read(|value| Ok(context.names.mutex(name(value)?)))?),
            _ => return Err(foreign(member, &["ref", "mutex"])),
        }
    }
    let missing = |what| Fault::new(value.at, format!("`{what}` is missing; add it"));
    Ok((condition.ok_or_else(|| missing("ref"))?, mutex.ok_or_else(|| missing("mutex"))?))
}

fn foreign(member: &Member<'_>, known: &[&'static str]) -> Fault {
    let reason = match did_you_mean(&member.key, known.iter().copied()) {
        Some(meant) => format!("unknown; did you mean `{meant}`?"),
        None => format!("unknown here; known are {}", known.join(", ")),
    };
    Fault::new(member.at, reason).in_key(&member.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_key_says_what_it_is() {
        let cases = [
            ("run", Some(Kind::Run)),
            ("run17", Some(Kind::Run)),
            ("runtime2", Some(Kind::RunWall)),
            ("timerA", Some(Kind::Timer)),
            ("sleep_long", Some(Kind::Sleep)),
            ("memrun", Some(Kind::Mem)),
            ("broadcast", Some(Kind::Broadcast)),
            ("unlock0", Some(Kind::Unlock)),
            ("runtim", None),
            ("lock_order", None),
            ("Run", None),
            ("loop", None),
        ];
        for (key, expected) in cases {
            assert_eq!(kind(key), expected, "{key}");
        }
    }
}
