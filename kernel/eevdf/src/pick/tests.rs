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
