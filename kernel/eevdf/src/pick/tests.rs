//! What a pick sees of lag.

use super::*;
use crate::entity::Attr;
use crate::preset::Preset;
use crate::rules::Rules;
use crate::runqueue::Enqueue;
use std::vec;

/// Lag is looked at when an entity is set running. Under the limit, which is two slices or a tick here,
/// nothing is counted, whether the lag is less than a request or more; over it, one violation.
#[test]
fn the_lag_of_a_picked_entity_is_counted_if_it_is_too_much() {
    let rules = Rules::new(Preset::V6_12, 1, 1000);
    let slice = rules.base_slice_ns() as i64;
    for (lag, violations) in [
        (0, 0),
        (slice / 2, 0),
        (slice * 3 / 2, 0),
        (2 * slice, 0),
        (2 * slice + 2, 1),
        (20 * slice, 1),
    ] {
        let mut rq = RunQueue::new(rules, vec![Node::EMPTY; 2]);
        let first = Entity::new(Attr::default(), &rules);
        let second = Entity { vlag: lag, deadline: 0, has_rel_deadline: true, ..first.clone() };
        rq.enqueue(EntityId(0), first, Enqueue::Wakeup, 0);
        rq.enqueue(EntityId(1), second, Enqueue::Migrate, 0);
        assert_eq!(rq.lag(EntityId(1)), Some(lag));
        let picked = Pick::Run { id: EntityId(1), reason: PickReason::EarliestDeadline };
        assert_eq!(rq.pick_next(0), picked);
        assert_eq!(rq.lag_violations(), violations, "lag {lag}");
    }
}

/// Another class takes the CPU for a while: the entity is charged up to then and not after, waits
/// where it stands, and is picked again by the same rules.
#[test]
fn an_entity_that_is_put_back_keeps_its_place() {
    let rules = Rules::new(Preset::V7_0, 1, 1000);
    let mut rq = RunQueue::new(rules, vec![Node::EMPTY; 2]);
    for id in 0..2 {
        rq.enqueue(EntityId(id), Entity::new(Attr::default(), &rules), Enqueue::Wakeup, 0);
    }
    let picked = rq.pick_next(0);
    assert!(matches!(picked, Pick::Run { id: EntityId(0), .. }));
    rq.put_curr(300_000);
    assert_eq!((rq.curr(), rq.nr_queued()), (None, 2));
    assert_eq!(rq.check_invariants(), Ok(()));
    assert_eq!(rq.entity_of(EntityId(0)).sum_exec_ns, 300_000);
    // It ran a part of its slice and is not eligible; the other one is.
    let picked = rq.pick_next(9_000_000);
    assert!(matches!(picked, Pick::Run { id: EntityId(1), .. }));
    assert_eq!(rq.entity_of(EntityId(0)).sum_exec_ns, 300_000);
    rq.put_curr(9_000_000);
    rq.put_curr(9_000_000);
    assert_eq!((rq.curr(), rq.nr_queued()), (None, 2));
}
