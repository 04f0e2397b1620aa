//! How many threads of each task forks can make: what can be forked has to be there before the
//! run.

use super::length::{once, pass};
use crate::rtapp::model::{Description, Event, Loops, Task};

/// The most forks of one task; rt-app gives up at as many.
const LIMIT: u64 = 1024;

/// For each task, how many of it forks make at most, up to [`LIMIT`]. A thread that has ended
/// can be forked again, so fewer may do; more never do.
pub(super) fn most(description: &Description, duration_ns: u64) -> Vec<u32> {
    let tasks = &description.tasks;
    let forks: Vec<_> = tasks.iter().map(|task| by_one(task, duration_ns)).collect();
    let mut most = vec![0; tasks.len()];
    // Forked tasks fork too. Chains are short; what grows for longer is a fork bomb, which the
    // limit ends.
    for _ in 0..=LIMIT {
        let mut next = vec![0_u64; tasks.len()];
        for (parent, task) in tasks.iter().enumerate() {
            let threads = u64::from(task.instances) + most[parent];
            for &(child, times) in &forks[parent] {
                next[child] = next[child].saturating_add(threads.saturating_mul(times)).min(LIMIT);
            }
        }
        if next == most {
            break;
        }
        most = next;
    }
    most.into_iter().map(|count| count as u32).collect()
}

/// The tasks that one thread forks, and how often in its life.
fn by_one(task: &Task, duration_ns: u64) -> Vec<(usize, u64)> {
    // No more passes than fit, however often it is to loop.
    let fitting = |ns: u64| if ns == 0 { u64::MAX } else { duration_ns.div_ceil(ns) };
    let passes = bounded(task.loops, fitting(pass(task)));
    let mut all = Vec::new();
    for phase in &task.phases {
        let forks = phase.steps.iter().filter_map(|step| match step.event {
            Event::Fork(child) => Some(child),
            _ => None,
        });
        let times = bounded(phase.loops, fitting(once(phase)));
        for child in forks {
            all.push((child, passes.saturating_mul(times)));
        }
    }
    all
}

fn bounded(loops: Loops, most: u64) -> u64 {
    match loops {
        Loops::Forever => most,
        Loops::Times(times) => most.min(times.into()),
    }
}
