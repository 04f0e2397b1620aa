//! What must hold after every operation, checked by a full rescan.
//!
//! The sums and aggregates are redundant; this and the tree's own check recompute them the slow way. For tests, and for a
//! kernel that distrusts itself now and then: it takes linear time.

use crate::avg::Average;
use crate::entity::EntityId;
use crate::node::{Node, Place};
use crate::runqueue::RunQueue;

/// A broken invariant, with what was expected (or the bound) and what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are what the variant's line names")]
pub enum Violation {
    /// The weight of the queue is not the sum of its entities' weights.
    Weight { expected: u64, found: u64 },
    /// The weighted sum is not that of the queued entities.
    Sum { expected: i128, found: i128 },
    /// The number of entities in the tree is not the number of those that say they are in it.
    Count { expected: u32, found: u32 },
    /// The number of delayed entities is not the count.
    Delayed { expected: u32, found: u32 },
    /// An entity's deadline, or a separator, is before one to the left of it. The slot is that of the
    /// entity or of the branch.
    Order { id: EntityId },
    /// What the tree keeps about an entity, or about the branch in this slot, is not so.
    Aggregate { id: EntityId },
    /// A branch in this slot has too few entries, or the entity or branch in it is not where its
    /// own link says.
    Shape { id: EntityId },
    /// The first leaf is not where the tree says.
    Leftmost { expected: u32, found: u32 },
    /// The last leaf is not where the tree says.
    Rightmost { expected: u32, found: u32 },
    /// Some branches are neither in the tree nor free, or both.
    Branches { expected: u32, found: u32 },
    /// The running entity is not marked running, or another one is.
    Running { id: EntityId },
    /// A delayed entity runs or is the next buddy.
    DelayedActive { id: EntityId },
    /// The next buddy is not queued.
    Buddy { id: EntityId },
    /// Nothing is eligible.
    NothingEligible { queued: u32 },
    /// The sum of `w * (V - v)` is not what rounding V down by less than one took off.
    LagSum { found: i128, weight: u64 },
    /// A slice is zero, or the minimum over an empty queue.
    Slice { id: EntityId, found: u64 },
    /// The parked chain does not hold exactly the parked entities.
    Parked { expected: u32, found: u32 },
}

impl<S: AsRef<[Node]> + AsMut<[Node]>> RunQueue<S> {
    /// Checks the invariants of the queue.
    ///
    /// # Errors
    ///
    /// The first one that does not hold.
    pub fn check_invariants(&self) -> Result<(), Violation> {
        self.check_places()?;
        self.tree.check(self.nodes.as_ref())?;
        self.check_average()
    }

    fn check_places(&self) -> Result<(), Violation> {
        let nodes = self.nodes.as_ref();
        let count = |place| nodes.iter().filter(|node| node.place == place).count() as u32;
        let (expected, found) = (count(Place::Tree), self.tree.len());
        if expected != found {
            return Err(Violation::Count { expected, found });
        }
        for (index, node) in nodes.iter().enumerate() {
            let id = EntityId(index as u32);
            if self.is_running(id) != (node.place == Place::Running) {
                return Err(Violation::Running { id });
            }
            let is_active = node.place == Place::Running || self.next_buddy == Some(id);
            if node.entity.is_delayed && is_active {
                return Err(Violation::DelayedActive { id });
            }
            let slice_ns = node.entity.slice_ns;
            if self.is_queued(id) && (slice_ns == 0 || slice_ns == u64::MAX) {
                return Err(Violation::Slice { id, found: slice_ns });
            }
        }
        if let Some(id) = self.next_buddy.filter(|&id| !self.is_queued(id)) {
            return Err(Violation::Buddy { id });
        }
        let queued = nodes.iter().filter(|node| matches!(node.place, Place::Tree | Place::Running));
        let expected = queued.filter(|node| node.entity.is_delayed).count() as u32;
        if expected != self.nr_delayed {
            return Err(Violation::Delayed { expected, found: self.nr_delayed });
        }
        let parked = core::iter::successors(nodes.get(self.parked as usize), |node| {
            nodes.get(node.link.right as usize)
        });
        let (expected, found) = (count(Place::Parked), parked.take(nodes.len() + 1).count() as u32);
        if expected != found {
            return Err(Violation::Parked { expected, found });
        }
        Ok(())
    }

    fn check_average(&self) -> Result<(), Violation> {
        let mut scan = Average::new(self.average.base());
        for id in self.queued() {
            let entity = self.entity_of(id);
            scan.add(entity.vruntime, u64::from(entity.weight()));
        }
        if scan.weight() != self.average.weight() {
            return Err(Violation::Weight {
                expected: scan.weight(),
                found: self.average.weight(),
            });
        }
        if scan.sum() != self.average.sum() {
            return Err(Violation::Sum { expected: scan.sum(), found: self.average.sum() });
        }
        if self.nr_queued() == 0 {
            return Ok(());
        }
        if !self.queued().any(|id| self.is_eligible(id)) {
            return Err(Violation::NothingEligible { queued: self.nr_queued() });
        }
        let lag =
            |id| i128::from(self.lag(id).unwrap_or(0)) * i128::from(self.entity_of(id).weight());
        let (found, weight) = (self.queued().map(lag).sum::<i128>(), self.total_weight());
        // V is rounded down, so the weighted lags add up to minus what the rounding took off.
        if found != -self.average.sum().rem_euclid(i128::from(weight)) {
            return Err(Violation::LagSum { found, weight });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
