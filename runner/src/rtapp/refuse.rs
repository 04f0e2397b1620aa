//! What rt-app can do and a run here cannot: each thing is refused in one place, by name.

use super::fault::{Fault, did_you_mean, short};
use crate::source::At;
use abi::scenario::Policy;

/// The policies that can run, under rt-app's names.
const POLICIES: [(&str, Policy); 5] = [
    ("SCHED_OTHER", Policy::Normal),
    ("SCHED_NORMAL", Policy::Normal),
    ("SCHED_BATCH", Policy::Batch),
    ("SCHED_IDLE", Policy::Idle),
    ("SCHED_FIFO", Policy::Fifo { priority: DEFAULT_PRIORITY }),
];

/// What rt-app gives a SCHED_FIFO task that names no priority.
const DEFAULT_PRIORITY: u8 = 10;

/// Keys of the grammar before 1.0.
const OLD_KEYS: [&str; 6] = ["exec", "period", "deadline", "lock_order", "resources", "sched_data"];

/// The policy of that name.
pub(super) fn policy(name: &str, at: At) -> Result<Policy, Fault> {
    if let Some(&(_, policy)) = POLICIES.iter().find(|&&(known, _)| known == name) {
        return Ok(policy);
    }
    const INSTEAD: &str =
        "use SCHED_OTHER, SCHED_BATCH, SCHED_IDLE or SCHED_FIFO, or leave the task out";
    let reason = match name {
        "SCHED_DEADLINE" => {
            format!("SCHED_DEADLINE cannot run here: there is no deadline scheduler; {INSTEAD}")
        }
        "SCHED_RR" => {
            format!("SCHED_RR cannot run here: there is no round-robin scheduler; {INSTEAD}")
        }
        _ => match did_you_mean(name, POLICIES.map(|(known, _)| known)) {
            Some(meant) => format!("unknown policy `{}`; did you mean {meant}?", short(name)),
            None => format!("unknown policy `{}`; {INSTEAD}", short(name)),
        },
    };
    Err(Fault::new(at, reason))
}

/// Refuses groups other than the root, where every task is anyway.
pub(super) fn task_group(name: &str, at: At) -> Result<(), Fault> {
    if name.is_empty() || name == "/" {
        return Ok(());
    }
    let reason = "there are no task groups here; leave the key out to have tasks share by weight";
    Err(Fault::new(at, reason))
}

/// Refuses keys of the old grammar, which say nothing in the order in which it happens.
pub(super) fn old_grammar(key: &str, at: At) -> Result<(), Fault> {
    if !OLD_KEYS.contains(&key) {
        return Ok(());
    }
    let reason = "belongs to the grammar before rt-app 1.0, which cannot run here; write what \
                  happens as events in order, such as \"run\": 1000, \"lock\": \"m\", \
                  \"timer\": {\"ref\": \"unique\", \"period\": 10000}";
    Err(Fault::new(at, reason).in_key(key))
}
