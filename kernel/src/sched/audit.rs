//! Whether every task is in one place, when all CPUs have stopped.

use crate::cpu;
use crate::task::{self, OnRq, State, Task};
use eevdf::EntityId;

/// Checks all tasks.
///
/// # Panics
/// If one is lost, or in two places.
pub(crate) fn check_places() {
    task::all().iter().for_each(check_place);
}

fn check_place(task: &Task) {
    let id = task.id;
    let state = task.wait.lock().state;
    let is_parked = task.parked.lock().is_some();
    let queued_on = cpu::all().iter().filter(|cpu| {
        let rq = cpu.rq.lock();
        rq.fair.entity(EntityId(id)).is_some() || rq.rt.queue.contains(id)
    });
    let mut queued_on = queued_on.map(|cpu| cpu.id);
    let (first, second) = (queued_on.next(), queued_on.next());
    assert!(second.is_none(), "task {id} is on the queues of cpus {first:?} and {second:?}");
    match task.on_rq() {
        OnRq::Queued => {
            // A delayed one that left in the middle of a wake-up test is with its queue, uncounted.
            let is_delayed = cpu::by_id(task.cpu()).rq.lock().fair.is_delayed(EntityId(id));
            let is_there = first == Some(task.cpu()) || first.is_none() && is_delayed;
            assert!(
                is_there,
                "task {id} is queued on {} by its own word, on {first:?} by theirs",
                task.cpu()
            );
            assert!(
                (state == State::Blocked) == is_delayed,
                "task {id} is queued and {state:?}, delayed: {is_delayed}"
            );
        }
        OnRq::No => {
            assert!(first.is_none(), "task {id} is on no queue by its own word, but on {first:?}");
            assert!(is_parked, "task {id} is on no queue and its entity is nowhere");
            assert!(state != State::Runnable, "task {id} is runnable and on no queue");
        }
        OnRq::Migrating => panic!("task {id} is migrating, and all cpus have stopped"),
    }
}
