//! What must hold between events and between tasks, where rt-app would hang or misbehave.

use super::{
    bounds::{size, time_passes},
    fault::{ENOUGH, Fault, SHOWN, did_you_mean},
    model::{Event, Loops, Task},
    notes::Notes,
    resources::{Names, Resources},
};
use crate::source::At;
use std::collections::BTreeSet;

/// Checks all tasks, and finds out which `sync` holds its mutex.
pub(super) fn between_tasks(
    tasks: &mut [Task],
    names: &Names,
    notes: &mut Notes,
) -> Result<(), Vec<Fault>> {
    let resources = names.so_far();
    // First, since it bounds what the others have to look at.
    if let Some(fault) = size(tasks, resources) {
        return Err(vec![fault]);
    }
    let mut faults = Vec::new();
    for task in &mut *tasks {
        let found = mutexes(task, resources, notes).and_then(|()| time_passes(task, resources));
        faults.extend(found.err().map(|fault| fault.in_task(&task.name)));
        if faults.len() == ENOUGH {
            return Err(faults);
        }
    }
    faults.extend(wakeups(tasks, resources, notes));
    faults.extend(forks(tasks, notes));
    faults.truncate(ENOUGH);
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Follows a task through its phases with the mutexes that it holds.
fn mutexes(task: &mut Task, resources: &Resources, notes: &mut Notes) -> Result<(), Fault> {
    let name = |mutex: u32| &resources.mutexes[mutex as usize];
    let again = task.loops != Loops::ONCE;
    let mut held = BTreeSet::new();
    for phase in &mut task.phases {
        // What the phase leaves otherwise than it found it.
        let mut changed = BTreeSet::new();
        for step in &mut phase.steps {
            if let Event::Lock(mutex) | Event::Unlock(mutex) = step.event
                && !changed.remove(&mutex)
            {
                changed.insert(mutex);
            }
            let fault = |reason: String| Err(Fault::new(step.at, reason));
            match &mut step.event {
                Event::Lock(mutex) => {
                    if !held.insert(*mutex) {
                        return fault(format!(
                            "locks `{}`, which the task holds already: it would wait for itself; \
                             unlock it before",
                            name(*mutex)
                        ));
                    }
                }
                Event::Unlock(mutex) => {
                    if !held.remove(mutex) {
                        return fault(format!(
                            "unlocks `{}`, which the task does not hold; lock it before",
                            name(*mutex)
                        ));
                    }
                }
                Event::Wait { mutex, .. } => {
                    if !held.contains(mutex) {
                        return fault(format!(
                            "waits without holding `{0}`; put \"lock\": \"{0}\" before and \
                             \"unlock\": \"{0}\" after it",
                            name(*mutex)
                        ));
                    }
                }
                Event::Sync { mutex, held: is_held, .. } => {
                    *is_held = held.contains(mutex);
                    if !*is_held {
                        notes.say(
                            "a `sync` without its mutex locks and unlocks it, as rt-app's \
                             description has it; rt-app itself does not",
                        );
                    }
                }
                Event::Suspend { mutex, .. } | Event::Resume { mutex, .. }
                    if held.contains(mutex) =>
                {
                    return fault(format!(
                        "suspending and resuming by `{0}` locks the mutex `{0}`, which the task \
                         holds already: it would wait for itself; unlock it before",
                        name(*mutex)
                    ));
                }
                _ => {}
            }
        }
        if phase.loops != Loops::ONCE
            && let Some(&mutex) = changed.first()
        {
            let mutex = name(mutex);
            let reason = format!(
                "the phase loops but does not leave `{mutex}` as it found it; lock and unlock it \
                 in the same phase"
            );
            return Err(Fault::new(phase.at, reason));
        }
    }
    match held.first() {
        Some(&mutex) if again => {
            let reason = format!(
                "the task loops but ends with `{0}` locked: it would wait for itself; add \
                 \"unlock\": \"{0}\"",
                name(mutex)
            );
            Err(Fault::new(task.at, reason))
        }
        _ => Ok(()),
    }
}

/// Who wakes whom, by condition and by semaphore.
#[derive(Default)]
struct Ends {
    /// First to wait.
    waits: Option<(usize, At)>,
    /// First to wake.
    wakes: Option<(usize, At)>,
}

/// Refuses what wakes nobody, which is a slip of the pen, and notes what nobody wakes.
fn wakeups(tasks: &[Task], resources: &Resources, notes: &mut Notes) -> Vec<Fault> {
    let mut ends: Vec<Ends> = resources.conditions.iter().map(|_| Ends::default()).collect();
    for (index, task) in tasks.iter().enumerate() {
        for step in task.phases.iter().flat_map(|phase| &phase.steps) {
            let here = (index, step.at);
            match step.event {
                Event::Wait { condition, .. } | Event::Suspend { condition, .. } => {
                    ends[condition as usize].waits.get_or_insert(here);
                }
                Event::Signal(condition)
                | Event::Broadcast(condition)
                | Event::Resume { condition, .. } => {
                    ends[condition as usize].wakes.get_or_insert(here);
                }
                Event::Sync { condition, .. } => {
                    ends[condition as usize].waits.get_or_insert(here);
                    ends[condition as usize].wakes.get_or_insert(here);
                }
                _ => {}
            }
        }
    }
    let mut faults = Vec::new();
    let waited = || {
        let names = resources.conditions.iter().zip(&ends);
        names.filter(|(_, ends)| ends.waits.is_some()).map(|(name, _)| name.as_str())
    };
    for (name, ends) in resources.conditions.iter().zip(&ends) {
        if faults.len() == ENOUGH {
            break;
        }
        match (ends.waits, ends.wakes) {
            (Some((task, _)), None) => notes.say(format!(
                "task `{}` waits for `{name}`, and nothing resumes or signals that",
                tasks[task].name
            )),
            (None, Some((task, at))) => {
                // Looked for only as long as somebody will read it.
                let meant = (faults.len() < SHOWN).then(|| did_you_mean(name, waited()));
                let reason = match meant.flatten() {
                    Some(meant) => {
                        format!("nothing waits for `{name}`; did you mean `{meant}`?")
                    }
                    None if tasks.iter().any(|task| task.name == *name) => {
                        format!("task `{name}` never suspends; add \"suspend\" to it")
                    }
                    None => format!("nothing waits for `{name}`, and no task is called so"),
                };
                faults.push(Fault::new(at, reason).in_task(&tasks[task].name));
            }
            _ => {}
        }
    }
    faults
}

/// Which tasks are forked, and whether anything runs at all.
fn forks(tasks: &[Task], notes: &mut Notes) -> Vec<Fault> {
    let mut forked = BTreeSet::new();
    let mut barriers = vec![None; tasks.len()];
    for (index, task) in tasks.iter().enumerate() {
        for step in task.phases.iter().flat_map(|phase| &phase.steps) {
            match step.event {
                Event::Fork(target) => _ = forked.insert(target),
                Event::Barrier(_) => _ = barriers[index].get_or_insert(step.at),
                _ => {}
            }
        }
    }
    if tasks.iter().all(|task| task.instances == 0) {
        let reason = "no task starts: each has `instance` 0; give one that forks the others 1";
        return vec![Fault::new(tasks[0].at, reason)];
    }
    for (index, task) in tasks.iter().enumerate() {
        if task.instances == 0 && !forked.contains(&index) {
            notes.say(format!("task `{}` has `instance` 0 and is never forked", task.name));
        }
    }
    let with_barrier = |&target: &usize| {
        let reason = "a barrier in a task that is forked: how many will come cannot be known; use \
                      `wait` and `broad`";
        barriers[target].map(|at| Fault::new(at, reason).in_task(&tasks[target].name))
    };
    forked.iter().filter_map(with_barrier).collect()
}
