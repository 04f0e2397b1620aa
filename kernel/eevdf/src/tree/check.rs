//! Whether the tree is what it claims to be, by a walk over all of it.

use crate::entity::EntityId;
use crate::invariants::Violation;
use crate::node::{NIL, Place, Slot};
use crate::time::before;
use crate::tree::{Branch, Tree, slices};

/// What the walk has seen.
struct Walk {
    first: u32,
    last: u32,
    entities: u32,
    branches: u32,
    /// The last deadline or separator.
    latest: Option<u64>,
}

impl Walk {
    /// Goes on to a deadline or a separator.
    fn pass(&mut self, deadline: u64, slot: u32) -> Result<(), Violation> {
        if self.latest.is_some_and(|latest| before(deadline, latest)) {
            return Err(Violation::Order { id: EntityId(slot) });
        }
        self.latest = Some(deadline);
        Ok(())
    }
}

impl Tree {
    /// Checks order, aggregates and shape.
    pub(crate) fn check<const F: usize>(&self, nodes: &[Slot<F>]) -> Result<(), Violation> {
        let mut walk = Walk { first: NIL, last: NIL, entities: 0, branches: 0, latest: None };
        for &index in self.few.iter().take_while(|&&index| index != NIL) {
            let Slot { place, link, entity, .. } = &nodes[index as usize];
            if self.root != NIL || *place != Place::Tree || link.leaf != NIL {
                return Err(Violation::Shape { id: EntityId(index) });
            }
            walk.entities += 1;
            walk.pass(entity.deadline, index)?;
        }
        if let Some(root) = nodes.get(self.root as usize) {
            if root.branch.parent != NIL || !root.branch.is_leaf() && root.branch.len() < 2 {
                return Err(Violation::Shape { id: EntityId(self.root) });
            }
            self.check_branch(nodes, self.root, true, &mut walk)?;
        }
        if walk.first != self.first {
            return Err(Violation::Leftmost { expected: walk.first, found: self.first });
        }
        if walk.last != self.last {
            return Err(Violation::Rightmost { expected: walk.last, found: self.last });
        }
        if walk.entities != self.len {
            return Err(Violation::Count { expected: walk.entities, found: self.len });
        }
        let free = core::iter::successors(nodes.get(self.free as usize), |free| {
            nodes.get(free.branch.parent as usize)
        });
        let found = walk.branches + free.take(nodes.len() + 1).count() as u32;
        if found != self.fresh {
            return Err(Violation::Branches { expected: self.fresh, found });
        }
        Ok(())
    }

    fn check_branch<const F: usize>(
        &self,
        nodes: &[Slot<F>],
        at: u32,
        is_last: bool,
        walk: &mut Walk,
    ) -> Result<(), Violation> {
        let (branch, id) = (&nodes[at as usize].branch, EntityId(at));
        let may_be_small = is_last || at == self.first || at == self.root;
        if branch.len() < if may_be_small { 1 } else { Branch::<F>::MIN } {
            return Err(Violation::Shape { id });
        }
        if slices(nodes, branch) != (branch.min_slice_ns, branch.max_slice_ns) {
            return Err(Violation::Aggregate { id });
        }
        walk.branches += 1;
        if branch.is_leaf() {
            walk.first = if walk.first == NIL { at } else { walk.first };
            walk.last = at;
            return branch.entries().enumerate().try_for_each(|(rank, entry)| {
                let (child, id) = (&nodes[entry.child as usize], EntityId(entry.child));
                let place = (child.place, child.link.leaf, child.link.lane as usize);
                if place != (Place::Tree, at, branch.order.lane(rank)) {
                    return Err(Violation::Shape { id });
                }
                let of_entity = (child.entity.deadline, child.entity.vruntime);
                if (entry.deadline, entry.vruntime) != of_entity {
                    return Err(Violation::Aggregate { id });
                }
                walk.entities += 1;
                walk.pass(entry.deadline, entry.child)
            });
        }
        for (rank, entry) in branch.entries().enumerate() {
            let (child, id) = (&nodes[entry.child as usize].branch, EntityId(entry.child));
            let place = (child.parent, child.lane as usize, child.level + 1);
            if place != (at, branch.order.lane(rank), branch.level) {
                return Err(Violation::Shape { id });
            }
            if rank > 0 {
                walk.pass(entry.deadline, entry.child)?;
            }
            self.check_branch(nodes, entry.child, is_last && rank + 1 == branch.len(), walk)?;
            if child.min_vruntime() != entry.vruntime {
                return Err(Violation::Aggregate { id });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
