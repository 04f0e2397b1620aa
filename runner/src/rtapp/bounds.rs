//! What a guest and this host can take: time must pass in loops, and programs have to fit.

use super::{
    fault::Fault,
    model::{Event, Loops, Phase, Task},
    resources::Resources,
};
use crate::source::At;

/// How often a loop may go round in no time: a burst, not what keeps a guest from ending.
const MOST_AT_ONCE: u64 = 10_000;

/// Events of all programs that a guest has; threads of a task share one unless they have timers
/// of their own.
const MOST_EVENTS: usize = 200_000;
/// Events of all threads, which the host writes down one by one.
const MOST_THREAD_EVENTS: usize = 4_000_000;

/// Refuses loops in which nothing takes time, unless they are short.
pub(super) fn time_passes(task: &Task, resources: &Resources) -> Result<(), Fault> {
    let takes_time = |phase: &Phase| {
        phase.steps.iter().any(|step| match step.event {
            Event::Run(ns) | Event::RunWall(ns) | Event::Sleep(ns) => ns > 0,
            Event::Timer { period_ns, .. } => period_ns > 0,
            Event::Barrier(barrier) => resources.barriers[barrier as usize].parties > 1,
            Event::Wait { .. } | Event::Sync { .. } | Event::Suspend { .. } | Event::SemWait(_) => {
                true
            }
            _ => false,
        })
    };
    let times = |loops: Loops| match loops {
        Loops::Forever => u64::MAX,
        Loops::Times(times) => times.into(),
    };
    let stuck = |at: At, what: &str| {
        let reason =
            format!("{what} loops on and nothing in it takes time; add a `run` or `sleep`");
        Err(Fault::new(at, reason))
    };
    if let Some(phase) =
        task.phases.iter().find(|phase| times(phase.loops) > MOST_AT_ONCE && !takes_time(phase))
    {
        return stuck(phase.at, "the phase");
    }
    if task.phases.iter().any(takes_time) {
        return Ok(());
    }
    let pass = task.phases.iter().map(|phase| times(phase.loops)).fold(0, u64::saturating_add);
    match times(task.loops).saturating_mul(pass) {
        0..=MOST_AT_ONCE => Ok(()),
        _ => stuck(task.at, "the task"),
    }
}

/// Refuses what would take more memory than it could be worth.
pub(super) fn size(tasks: &[Task], resources: &Resources) -> Option<Fault> {
    let has_own_timer = |task: &Task| {
        let mut steps = task.phases.iter().flat_map(|phase| &phase.steps);
        steps.any(|step| match step.event {
            Event::Timer { timer, .. } => resources.timers[timer as usize].of_task.is_some(),
            _ => false,
        })
    };
    let (mut of_programs, mut of_threads) = (0_usize, 0_usize);
    for task in tasks {
        let events: usize = task.phases.iter().map(|phase| phase.steps.len()).sum();
        let threads = task.instances.max(1) as usize;
        let programs = if has_own_timer(task) { threads } else { 1 };
        of_programs = of_programs.saturating_add(events.saturating_mul(programs));
        of_threads = of_threads.saturating_add(events.saturating_mul(threads));
        let (what, got, most) = if of_programs > MOST_EVENTS {
            ("events of different programs", of_programs, MOST_EVENTS)
        } else if of_threads > MOST_THREAD_EVENTS {
            ("events of all threads", of_threads, MOST_THREAD_EVENTS)
        } else {
            continue;
        };
        let reason = format!(
            "with the {events} events of this task there are {got} {what}, and at most \
             {most} are possible; use loops, or fewer instances"
        );
        return Some(Fault::new(task.at, reason).in_task(&task.name));
    }
    None
}
