//! Placement: where an entity that joins starts to compete.
//!
//! It is put at V less its lag, so that what it is owed or owes carries over. Joining moves V by
//! `-w * lag / (W + w)`, so the lag is first made larger by `(W + w) / W`; after the join it is
//! what it was. An empty queue has no competition and so no lag.
//!
//! The entity must not be counted yet. Counting it first divides by a weight of zero when it is
//! alone ("sched/fair: Adhere to place_entity() constraints").
//!
//! Source: TR-95-22, section 4, strategy 1; `place_entity()`.

use crate::entity::EntityId;
use crate::feature::Feature;
use crate::node::Node;
use crate::runqueue::RunQueue;

impl<S: AsRef<[Node]> + AsMut<[Node]>> RunQueue<S> {
    /// Gives an entity, in its slot but not counted, a vruntime and a deadline among `others` queued
    /// entities.
    pub(crate) fn place(&mut self, id: EntityId, is_initial: bool, others: u32) {
        let mean = self.read_mean();
        let total = self.average.weight();
        // A copy would be of three cache lines where two fields are wanted.
        let RunQueue { rules, nodes, .. } = self;
        let entity = &mut nodes.as_mut()[id.0 as usize].entity;
        entity.refresh_slice(rules);
        let mut lag = 0;
        if rules.has(Feature::PlaceLag) && others > 0 {
            lag = inflated(entity.vlag, u64::from(entity.weight()), total);
        }
        entity.vruntime = mean.wrapping_add_signed(-lag);
        let keeps_deadline = core::mem::take(&mut entity.has_rel_deadline);
        if keeps_deadline && rules.has(Feature::PlaceRelDeadline) {
            entity.deadline = entity.deadline.wrapping_add(entity.vruntime);
            return;
        }
        let mut request = entity.virtual_slice_ns(rules);
        if is_initial && rules.has(Feature::PlaceDeadlineInitial) {
            request /= 2;
        }
        entity.deadline = entity.vruntime.wrapping_add(request);
    }
}

/// Returns the lag to place with, so that `lag` is left after a join of `weight` to `total`.
///
/// A light queue makes this enormous for a heavy newcomer; the product needs 128 bits ("sched/fair:
/// Avoid overflow in enqueue_entity()").
fn inflated(lag: i64, weight: u64, total: u64) -> i64 {
    assert!(total > 0, "the queue counts entities but no weight");
    // 64 bits suffice nearly always, and divide many times faster.
    if let Some(product) = lag.checked_mul((total + weight) as i64) {
        return product / total as i64;
    }
    (i128::from(lag) * i128::from(total + weight) / i128::from(total)) as i64
}

#[cfg(test)]
mod tests {
    use super::inflated;
    use crate::avg::Average;

    /// The numbers of the report behind "sched/fair: Avoid overflow in enqueue_entity()".
    #[test]
    fn b7_heavy_newcomer_to_a_light_queue() {
        let (light, heavy, vlag) = (37, 90_891_264, 57_498);
        let lag = inflated(vlag, heavy, light);
        assert_eq!(lag, 141_245_081_754);
        let mut average = Average::new(0).with(0, light);
        let vruntime = average.mean().wrapping_add_signed(-lag);
        // 64 bits do not hold the weighted key.
        assert!((-lag).checked_mul(heavy as i64).is_none());
        average.add(vruntime, heavy);
        let left = average.mean().wrapping_sub(vruntime) as i64;
        assert!((left - vlag).abs() <= 1, "lag {left} after the join, {vlag} before");
    }
}
