//! The limit of lag.
//!
//! Theory bounds lag by the largest request and the quantum. Late ticks and lags carried in from
//! elsewhere can exceed that, and an entity must not hoard or owe more than it could have come by.
//!
//! The tick belongs in the limit however short slices are, because charging may be a tick late.
//! The limit of own slices alone takes away what an entity with a short slice is rightly owed by a
//! neighbour with a long one, which is why it gave way ("sched/fair: Fix lag clamp").
//!
//! Source: TR-95-22, theorem 1; `update_entity_lag()`.

use crate::entity::{Entity, EntityId};
use crate::feature::Feature;
use crate::node::Node;
use crate::runqueue::RunQueue;
use crate::time::distance;
use crate::variant::{DelayedLag, LagClamp};

impl<S: AsRef<[Node]> + AsMut<[Node]>> RunQueue<S> {
    /// Returns the lag a queued entity may keep in either direction, in its virtual nanoseconds.
    pub fn lag_limit(&self, id: EntityId) -> Option<i64> {
        self.entity(id).map(|entity| self.limit_of(entity))
    }

    fn limit_of(&self, entity: &Entity) -> i64 {
        let limit_ns = match self.rules.variant.lag_clamp {
            LagClamp::OwnSlice => (2 * entity.slice_ns).max(self.rules.tick_ns()),
            LagClamp::MaxSlice => self.max_slice_ns() + self.rules.tick_ns(),
        };
        entity.virtual_ns(limit_ns, &self.rules) as i64
    }

    /// Returns the lag a queued entity is to keep.
    pub(crate) fn clamped_lag(&mut self, id: EntityId) -> i64 {
        let mean = self.read_mean();
        let limit = self.limit_of(self.entity_of(id));
        let entity = self.entity_of(id);
        let own = distance(mean, entity.vruntime);
        let lag = own.clamp(-limit, limit);
        self.lag_violations += u64::from(lag != own);
        let entity = self.entity_of(id);
        if !entity.is_delayed || self.rules.variant.delayed_lag == DelayedLag::Fresh {
            return lag;
        }
        // V moves left when others join with credit or leave in debt; the sleeper did not cause that.
        let lag = lag.max(entity.vlag);
        if self.rules.has(Feature::DelayZero) { lag.min(0) } else { lag }
    }

    /// Counts the distance to V, if it is outside the limit. No limit forbids less than a request,
    /// which is what it mostly is, and to see that takes no division.
    pub(crate) fn observe_lag(&mut self, id: EntityId, mean: u64) {
        let entity = self.entity_of(id);
        let lag = distance(mean, entity.vruntime);
        if !entity.is_small_lag(lag) {
            self.lag_violations += u64::from(lag.unsigned_abs() > self.limit_of(entity) as u64);
        }
    }

    /// Returns the smallest slice of all queued entities, or `None` without any. Never all ones: an
    /// empty queue's minimum stored as a slice has crashed Linux ("sched/eevdf: Fix se->slice being
    /// set to U64_MAX and resulting crash").
    pub fn min_slice_ns(&self) -> Option<u64> {
        let waiting = self.tree.slices(self.nodes.as_ref()).map(|(min_ns, _)| min_ns);
        let running = self.running.map(|running| self.entity_of(running.id).slice_ns);
        waiting.into_iter().chain(running).min()
    }

    fn max_slice_ns(&self) -> u64 {
        let waiting = self.tree.slices(self.nodes.as_ref()).map(|(_, max_ns)| max_ns);
        let running = self.running.map(|running| self.entity_of(running.id).slice_ns);
        waiting.into_iter().chain(running).max().unwrap_or(0)
    }
}
