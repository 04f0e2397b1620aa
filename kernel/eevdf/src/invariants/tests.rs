//! Each violation is found where it is the only one.

use super::*;
use crate::entity::{Attr, Entity};
use crate::preset::Preset;
use crate::rules::Rules;
use crate::runqueue::{Dequeue, Dequeued, Enqueue};
use std::vec;
use std::vec::Vec;

type Queue = RunQueue<Vec<Node>>;

const OFF: EntityId = EntityId(7);

/// Six entities, one of them running, one delayed; two slots stay empty.
fn sound() -> Queue {
    let rules = Rules::new(Preset::V7_0, 8, 1000);
    let mut rq = RunQueue::new(rules, vec![Node::EMPTY; 8]);
    for id in 0..6 {
        rq.enqueue(EntityId(id), Entity::new(Attr::default(), &rules), Enqueue::Initial, 0);
    }
    let mut now = 0;
    while rq.nr_runnable() == rq.nr_queued() {
        now += 700_000;
        let _ = rq.pick_next(now);
        now += 900_000;
        let curr = rq.curr().expect("somebody runs");
        if let Dequeued::Gone(entity) = rq.dequeue(curr, Dequeue::Sleep, now) {
            rq.enqueue(curr, entity, Enqueue::Wakeup, now);
        }
    }
    let _ = rq.pick_next(now);
    assert_eq!(rq.check_invariants(), Ok(()));
    rq
}

fn curr(rq: &Queue) -> EntityId {
    rq.curr().expect("somebody runs")
}

fn delayed(rq: &Queue) -> EntityId {
    rq.queued().find(|&id| rq.is_delayed(id)).expect("somebody is delayed")
}

/// What the check says of a sound queue after some damage.
fn found(damage: impl FnOnce(&mut Queue)) -> Violation {
    let mut rq = sound();
    damage(&mut rq);
    rq.check_invariants().expect_err("the queue is damaged")
}

#[test]
fn places_are_counted() {
    let count = Violation::Count { expected: 6, found: 5 };
    assert_eq!(found(|rq| rq.node_mut(OFF).place = Place::Tree), count);
}

#[test]
fn exactly_the_running_one_is_marked_so() {
    let id = curr(&sound());
    let running = Violation::Running { id };
    assert_eq!(found(|rq| rq.node_mut(id).place = Place::Off), running);
    assert_eq!(found(|rq| rq.node_mut(OFF).place = Place::Running), Violation::Running { id: OFF });
}

#[test]
fn a_delayed_entity_is_not_active() {
    let id = curr(&sound());
    let runs = found(|rq| rq.node_mut(id).entity.is_delayed = true);
    assert_eq!(runs, Violation::DelayedActive { id });
    let id = delayed(&sound());
    let is_buddy = found(|rq| rq.next_buddy = Some(id));
    assert_eq!(is_buddy, Violation::DelayedActive { id });
}

#[test]
fn slices_of_queued_entities_are_lengths() {
    let id = curr(&sound());
    for slice_ns in [0, u64::MAX] {
        let found = found(|rq| rq.node_mut(id).entity.slice_ns = slice_ns);
        assert_eq!(found, Violation::Slice { id, found: slice_ns });
    }
    // Nobody reads the slice of an empty slot.
    let mut rq = sound();
    rq.node_mut(OFF).entity.slice_ns = u64::MAX;
    assert_eq!(rq.check_invariants(), Ok(()));
}

#[test]
fn the_buddy_is_queued() {
    assert_eq!(found(|rq| rq.next_buddy = Some(OFF)), Violation::Buddy { id: OFF });
    let mut rq = sound();
    let buddy = rq.queued().find(|&id| !rq.is_delayed(id));
    rq.next_buddy = buddy;
    assert_eq!(rq.check_invariants(), Ok(()));
}

#[test]
fn the_delayed_are_counted() {
    let count = sound().nr_delayed;
    let more = Violation::Delayed { expected: count, found: count + 1 };
    assert_eq!(found(|rq| rq.nr_delayed += 1), more);
    // What an empty slot remembers does not count.
    let mut rq = sound();
    rq.node_mut(OFF).entity.is_delayed = true;
    assert_eq!(rq.check_invariants(), Ok(()));
}

#[test]
fn the_parked_are_on_their_chain() {
    let off = found(|rq| rq.node_mut(OFF).place = Place::Parked);
    assert_eq!(off, Violation::Parked { expected: 1, found: 0 });
    let not_parked = found(|rq| rq.parked = OFF.0);
    assert_eq!(not_parked, Violation::Parked { expected: 0, found: 1 });
    let endless = found(|rq| {
        rq.parked = OFF.0;
        rq.node_mut(OFF).link.right = OFF.0;
    });
    assert_eq!(endless, Violation::Parked { expected: 0, found: 9 });
    let mut rq = sound();
    rq.parked = OFF.0;
    rq.node_mut(OFF).place = Place::Parked;
    assert_eq!(rq.check_invariants(), Ok(()));
}

#[test]
fn the_tree_is_checked() {
    let id = delayed(&sound());
    let found = found(|rq| rq.node_mut(id).entity.vruntime += 1);
    assert_eq!(found, Violation::Aggregate { id });
}

#[test]
fn the_sums_are_those_of_the_tree() {
    let average = sound().average;
    let (base, weight) = (average.base(), average.weight());
    let heavier = found(|rq| rq.average.add(base, 5));
    assert_eq!(heavier, Violation::Weight { expected: weight, found: weight + 5 });
    let shifted = found(|rq| {
        rq.average.add(base.wrapping_add(3), 5);
        rq.average.remove(base, 5);
    });
    assert_eq!(shifted, Violation::Sum { expected: average.sum(), found: average.sum() + 15 });
}

#[test]
fn an_empty_queue_is_sound() {
    let rules = Rules::new(Preset::V7_0, 8, 1000);
    assert_eq!(RunQueue::new(rules, [Node::EMPTY; 2]).check_invariants(), Ok(()));
}
