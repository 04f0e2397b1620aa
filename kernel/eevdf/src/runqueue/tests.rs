//! Ways off a queue that only show from inside.

use super::*;
use crate::entity::Attr;
use crate::preset::Preset;
use std::vec;
use std::vec::Vec;

fn queue(preset: Preset, count: u32) -> RunQueue<Vec<Node>> {
    let rules = Rules::new(preset, 1, 1000);
    let mut rq = RunQueue::new(rules, vec![Node::EMPTY; 8]);
    for id in 0..count {
        rq.enqueue(EntityId(id), Entity::new(Attr::default(), &rules), Enqueue::Wakeup, 0);
    }
    rq
}

/// Whoever leaves the chain of the parked, first, last or between, takes nobody along.
#[test]
fn each_of_the_parked_is_taken_alone() {
    for taken in 0..4 {
        let mut rq = queue(Preset::V7_0, 5);
        for id in (0..4).map(EntityId) {
            rq.delay(id);
            rq.park(id);
            assert_eq!(rq.check_invariants(), Ok(()));
        }
        assert!(matches!(rq.dequeue(EntityId(taken), Dequeue::Exit, 0), Dequeued::Gone(_)));
        assert_eq!(rq.check_invariants(), Ok(()));
        let rest = core::iter::from_fn(|| rq.take_parked()).map(|(id, _)| id.0);
        let expected: Vec<u32> = (0..4).rev().filter(|&id| id != taken).collect();
        assert_eq!(rest.collect::<Vec<_>>(), expected, "the last one first");
    }
}

/// DELAY_ZERO takes credit away. No lag at all is not credit: the sleeper stays where it is, with
/// the deadline it has.
#[test]
fn a_delayed_entity_without_lag_keeps_its_place() {
    let mut rq = queue(Preset::V6_12, 2);
    let part = rq.rules().base_slice_ns() / 4 * 3;
    let _ = rq.pick_next(0);
    assert_eq!(rq.dequeue(EntityId(0), Dequeue::Sleep, part), Dequeued::Delayed);
    let deadline = rq.entity_of(EntityId(0)).deadline;
    let _ = rq.pick_next(part);
    assert_eq!((rq.curr(), rq.lag(EntityId(0))), (Some(EntityId(1)), Some(-(part as i64) / 2)));
    for (until, lag, is_moved) in [(2 * part, 0, false), (2 * part + 2, 1, true)] {
        let mut rq = rq.clone();
        let _ = rq.update_curr(until);
        assert_eq!(rq.lag(EntityId(0)), Some(lag));
        rq.requeue_delayed(EntityId(0), until);
        assert_eq!(rq.lag(EntityId(0)), Some(0));
        assert_eq!(rq.entity_of(EntityId(0)).deadline != deadline, is_moved);
        assert_eq!(rq.check_invariants(), Ok(()));
    }
}

#[test]
#[should_panic(expected = "EntityId(3) is dequeued but not queued (Off)")]
fn who_is_not_queued_cannot_leave() {
    let _ = queue(Preset::V7_0, 2).dequeue(EntityId(3), Dequeue::Exit, 0);
}

#[test]
#[should_panic(expected = "EntityId(1) is enqueued (Wakeup) while it is on the queue (Tree)")]
fn who_is_queued_cannot_join() {
    let mut rq = queue(Preset::V7_0, 2);
    let entity = Entity::new(Attr::default(), rq.rules());
    rq.enqueue(EntityId(1), entity, Enqueue::Wakeup, 0);
}

#[test]
#[should_panic(expected = "EntityId(8) is beyond the capacity of 8")]
fn an_id_beyond_the_storage_is_refused() {
    let mut rq = queue(Preset::V7_0, 2);
    let entity = Entity::new(Attr::default(), rq.rules());
    rq.enqueue(EntityId(8), entity, Enqueue::Wakeup, 0);
}

#[test]
#[should_panic(expected = "virtual time cannot jump under 1 queued entities")]
fn virtual_time_does_not_jump() {
    let _ = queue(Preset::V7_0, 1).starting_at(5);
}
