//! The `global` object: one key has a meaning for a run here, the others are about rt-app's log
//! and host.

use super::{
    fault::{Fault, did_you_mean},
    json::{Kind, Member, Value},
    model::Global,
    notes::Notes,
};
use crate::source::At;

/// The longest run, s.
const MAX_DURATION_S: i64 = 4 * 3600;
/// rt-app's policy where nothing names one.
const POLICY: &str = "SCHED_OTHER";
/// Keys that change nothing here. `pi_enabled` lends priorities, which fair tasks do not have.
const IGNORED: [&str; 14] = [
    "pi_enabled",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
    "frag",
    "fragment",
    "spacing",
    "disable_log",
];

/// The policy of tasks that name none, and where it is set; judged only where a task has it.
#[derive(Clone, Debug)]
pub(super) struct DefaultPolicy {
    pub(super) name: String,
    pub(super) at: At,
}

impl Default for DefaultPolicy {
    fn default() -> Self {
        Self { name: POLICY.into(), at: At(0) }
    }
}

/// Reads the object.
pub(super) fn read(value: &Value<'_>, notes: &mut Notes) -> Result<(Global, DefaultPolicy), Fault> {
    let mut global = Global::default();
    let mut policy = DefaultPolicy::default();
    let mut seen = Vec::new();
    for member in value.object("what holds for all tasks")? {
        once(&mut seen, member)?;
        match &*member.key {
            "duration" => {
                let range = -1..=MAX_DURATION_S;
                let seconds =
                    member.read(|value| value.whole("a whole number of seconds", &range))?;
                global.duration_ns =
                    u64::try_from(seconds).ok().filter(|&s| s > 0).map(|s| s * 1_000_000_000);
            }
            "default_policy" => {
                policy.name = member.read(|value| value.text("a policy").map(str::to_owned))?;
                policy.at = member.needed()?.at;
            }
            "calibration" => {
                member.read(calibration)?;
                notes.ignored("calibration");
            }
            key if IGNORED.contains(&key) => notes.ignored(key),
            key => {
                let known = ["duration", "default_policy", "calibration"].into_iter();
                let reason = match did_you_mean(key, known.chain(IGNORED)) {
                    Some(meant) => format!("unknown in `global`; did you mean `{meant}`?"),
                    None => "unknown in `global`; leave it out".into(),
                };
                return Err(Fault::new(member.at, reason).in_key(key));
            }
        }
    }
    Ok((global, policy))
}

/// Refuses a key that was there before: which of two values is meant cannot be known.
pub(super) fn once<'v>(seen: &mut Vec<&'v str>, member: &'v Member<'_>) -> Result<(), Fault> {
    // A handful: keys that are not known are refused elsewhere.
    if seen.contains(&&*member.key) {
        let reason = "is given a second time, and only events may repeat; keep one of them";
        return Err(Fault::new(member.at, reason).in_key(&member.key));
    }
    seen.push(&member.key);
    Ok(())
}

/// The speed of a loop or the CPU to measure it on. Run times are exact here without either,
/// but a value that rt-app would refuse is a slip.
fn calibration(value: &Value<'_>) -> Result<(), Fault> {
    match &value.kind {
        Kind::Number(_) => value.whole("ns per loop", &(0..=i64::from(i32::MAX))).map(|_| ()),
        Kind::Text(text) if cpu_name(text) => Ok(()),
        _ => {
            let reason = "a CPU such as \"CPU0\" or a whole number of ns per loop is expected";
            Err(Fault::new(value.at, reason))
        }
    }
}

fn cpu_name(text: &str) -> bool {
    text.strip_prefix("CPU").is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    })
}
