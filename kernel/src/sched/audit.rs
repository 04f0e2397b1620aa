//! Whether every task is in one place, when all CPUs have stopped.

use crate::cpu;
use crate::task::{self, OnRq, State, Task};
use alloc::vec;
use core::mem;
use eevdf::EntityId;

/// Checks all tasks. Takes the wake lists, which nobody drains any more.
///
/// # Panics
/// If one is lost, or in two places.
pub(crate) fn check_places() {
    let mut is_waking = vec![false; task::count()];
    for cpu in cpu::all() {
        for id in cpu.wake_list.take(|id| &task::by_id(id).wake_link) {
            let was_waking = mem::replace(&mut is_waking[id as usize], true);
            assert!(!was_waking, "task {id} is on two wake lists");
        }
    }
    for (task, is_waking) in task::all().iter().zip(is_waking) {
        check_place(task, is_waking);
    }
}

/// `is_waking` if the task is on a wake list: claimed by its waker, and where it was before.
fn check_place(task: &Task, is_waking: bool) {
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
                (state == State::Blocked || is_waking) == is_delayed,
                "task {id} is queued and {state:?}, delayed: {is_delayed}, waking: {is_waking}"
            );
        }
        OnRq::No => {
            assert!(first.is_none(), "task {id} is on no queue by its own word, but on {first:?}");
            assert!(is_parked, "task {id} is on no queue and its entity is nowhere");
            assert!(
                (state == State::Runnable) == is_waking,
                "task {id} is on no queue and {state:?}, waking: {is_waking}"
            );
        }
        OnRq::Migrating => panic!("task {id} is migrating, and all cpus have stopped"),
    }
}
