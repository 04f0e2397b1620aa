//! The deadline-ordered tree of queued entities, kept in the caller's arena.
//!
//! A B+ tree: entities hang on leaves, leaves on branches, all leaves at the same depth. It owns the
//! `branch` of every slot and the `link` of every entity that is in it.
//!
//! 1. Going through the leaves gives non-decreasing deadlines; among equal ones, insertion order.
//! 2. An entry knows the smallest vruntime below it, a branch the smallest and largest slice.
//! 3. `first` is the leaf with the earliest deadline, `last` the one with the last.
//! 4. Branches have at least `Branch::MIN` entries, except the first and the last leaf and branches
//!    above the last leaf.
//! 5. An entity does not change its vruntime, deadline or slice while it is in the tree.
//! 6. A tree that has not had more than `FEW` entities since it had at most `UPROOTED` has no branch:
//!    `few` lists them in order.
//!
//! The list because most queues are that short, and looking at each of a few entities takes less than
//! keeping aggregates of them. Wide nodes because a queue waits for memory and for branches predicted wrongly: a binary tree asks
//! both once per bit of the answer. The exception for the two ends is for queues that are what
//! the name says: what joins at one end and leaves at the other fills leaves completely and
//! never moves an entry to another leaf.
//!
//! Aggregates are corrected upwards, and only until one comes out as it was, as long as branches keep
//! their entries. Where entries moved, everything up to the root is computed anew. Copying
//! aggregates along with what moves is cheaper by a few loads and has broken in Linux twice,
//! once per field added ("sched/eevdf: Fix rb augmented with multi fields", "sched/eevdf: Fix
//! augmented max_slice").
//!
//! Source: "sched/eevdf: Sort the rbtree by virtual deadline"; "sched/fair: Fix lag clamp" for the
//! largest slice.

mod branch;
mod check;
mod few;
mod order;
mod shape;

pub(crate) use branch::{Branch, Entry};

use crate::entity::Entity;
use crate::node::{Link, NIL, Slot};
use crate::time::{before, earlier};

/// As many entities are kept without a branch.
const FEW: usize = 4;
/// At so many entities a tree gives up its branches. Less than `FEW`, or an entity that leaves and
/// returns would plant and uproot it each time.
const UPROOTED: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    root: u32,
    first: u32,
    last: u32,
    len: u32,
    /// The entities while there is no root.
    few: [u32; FEW],
    /// First of the branches that were used and are free again, chained through `parent`.
    free: u32,
    /// First of the branches that never were used.
    fresh: u32,
}

/// Where an entry is to go.
#[derive(Clone, Copy, Debug)]
struct Spot {
    /// Slot of the branch, `NIL` in an empty tree.
    branch: u32,
    rank: usize,
}

impl Tree {
    pub(crate) const EMPTY: Tree =
        Tree { root: NIL, first: NIL, last: NIL, len: 0, few: [NIL; FEW], free: NIL, fresh: 0 };

    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    /// Returns the entity with the earliest deadline, or `NIL`.
    pub(crate) fn leftmost<const F: usize>(&self, nodes: &[Slot<F>]) -> u32 {
        nodes.get(self.first as usize).map_or(self.few[0], |leaf| leaf.branch.entry(0).child)
    }

    /// Returns the smallest and the largest slice, or `None` for an empty tree.
    pub(crate) fn slices<const F: usize>(&self, nodes: &[Slot<F>]) -> Option<(u64, u64)> {
        match nodes.get(self.root as usize) {
            Some(Slot { branch, .. }) => Some((branch.min_slice_ns, branch.max_slice_ns)),
            None => {
                let mut slices = self.few(nodes).map(|entity| entity.slice_ns);
                let first = slices.next()?;
                Some(slices.fold((first, first), |(min, max), ns| (min.min(ns), max.max(ns))))
            }
        }
    }

    /// Returns the smallest vruntime, or `None` for an empty tree.
    pub(crate) fn min_vruntime<const F: usize>(&self, nodes: &[Slot<F>]) -> Option<u64> {
        match nodes.get(self.root as usize) {
            Some(Slot { branch, .. }) => Some(branch.min_vruntime()),
            None => self.few(nodes).map(|entity| entity.vruntime).reduce(earlier),
        }
    }

    #[inline]
    pub(crate) fn insert<const F: usize>(&mut self, nodes: &mut [Slot<F>], index: u32) {
        if self.root == NIL {
            if (self.len as usize) < FEW {
                self.list(nodes, index);
                return;
            }
            self.plant(nodes);
        }
        let spot = self.spot_for(nodes, nodes[index as usize].entity.deadline);
        self.insert_at(nodes, spot, index);
    }

    /// Returns where a deadline goes.
    fn spot_for<const F: usize>(&self, nodes: &[Slot<F>], deadline: u64) -> Spot {
        let Some(Slot { branch: last, .. }) = nodes.get(self.last as usize) else {
            return Spot { branch: NIL, rank: 0 };
        };
        // Equal entities that use up their slices go to the end each time.
        if !before(deadline, last.entry(last.len() - 1).deadline) {
            return Spot { branch: self.last, rank: last.len() };
        }
        let mut leaf = self.root;
        let mut branch = &nodes[leaf as usize].branch;
        while !branch.is_leaf() {
            leaf = branch.child_for(deadline);
            branch = &nodes[leaf as usize].branch;
        }
        Spot { branch: leaf, rank: branch.rank_for(deadline) }
    }

    fn insert_at<const F: usize>(&mut self, nodes: &mut [Slot<F>], spot: Spot, index: u32) {
        let Entity { vruntime, deadline, slice_ns, .. } = nodes[index as usize].entity;
        let entry = Entry { deadline, vruntime, child: index };
        let Spot { branch: mut leaf, mut rank } = spot;
        if leaf == NIL {
            leaf = self.allocate(nodes, 0);
            (self.root, self.first, self.last) = (leaf, leaf, leaf);
        } else if nodes[leaf as usize].branch.len() == F {
            Spot { branch: leaf, rank } = self.split(nodes, spot, entry);
        }
        let lane = nodes[leaf as usize].branch.insert(rank, entry) as u8;
        nodes[index as usize].link = Link { leaf, lane, ..Link::NONE };
        self.len += 1;
        widen(nodes, leaf, vruntime, slice_ns);
    }

    /// Erases one entity and inserts another. Where both belong to the same leaf, which in a small
    /// queue is the only one, neither its shape nor the tree's is looked at.
    #[inline]
    pub(crate) fn exchange<const F: usize>(
        &mut self,
        nodes: &mut [Slot<F>],
        leaving: u32,
        joining: u32,
    ) {
        if self.len == 1 {
            debug_assert!(self.few[0] == leaving);
            self.few[0] = joining;
        } else if self.root == NIL {
            self.strike(leaving);
            self.list(nodes, joining);
        } else {
            self.exchange_among(nodes, leaving, joining);
        }
    }

    fn exchange_among<const F: usize>(
        &mut self,
        nodes: &mut [Slot<F>],
        leaving: u32,
        joining: u32,
    ) {
        let Entity { vruntime, deadline, slice_ns, .. } = nodes[joining as usize].entity;
        let spot = self.spot_for(nodes, deadline);
        let Slot { link: Link { leaf, lane, .. }, ref entity, .. } = nodes[leaving as usize];
        let (old_vruntime, old_slice_ns) = (entity.vruntime, entity.slice_ns);
        if spot.branch != leaf {
            self.insert_at(nodes, spot, joining);
            self.erase(nodes, leaving);
            return;
        }
        let entry = Entry { deadline, vruntime, child: joining };
        nodes[leaf as usize].branch.exchange(lane as usize, spot.rank, entry);
        nodes[leaving as usize].link.leaf = NIL;
        nodes[joining as usize].link = Link { leaf, lane, ..Link::NONE };
        // In this order. What is computed anew when one leaves counts the other already, and goes up
        // only as far as the one that left was known.
        widen(nodes, leaf, vruntime, slice_ns);
        narrow(nodes, leaf, old_vruntime, old_slice_ns);
    }

    #[inline]
    pub(crate) fn erase<const F: usize>(&mut self, nodes: &mut [Slot<F>], index: u32) {
        if self.root == NIL {
            self.strike(index);
            return;
        }
        self.erase_among(nodes, index);
        if self.len == UPROOTED {
            self.uproot(nodes);
        }
    }

    fn erase_among<const F: usize>(&mut self, nodes: &mut [Slot<F>], index: u32) {
        let Slot { link: Link { leaf, lane, .. }, entity, .. } = &mut nodes[index as usize];
        let Entity { vruntime, slice_ns, .. } = *entity;
        let (at, lane) = (core::mem::replace(leaf, NIL), *lane as usize);
        self.len -= 1;
        let branch = &mut nodes[at as usize].branch;
        branch.remove(branch.order.rank(lane));
        let is_end = at == self.first || at == self.last;
        if branch.len() >= Branch::<F>::MIN || is_end && branch.len() > 0 {
            narrow(nodes, at, vruntime, slice_ns);
        } else {
            self.repair(nodes, at, vruntime, slice_ns);
        }
    }

    /// Returns the entry of the entity with the earliest deadline among those whose vruntime is not
    /// after `latest`.
    ///
    /// If the first leaf has one, no other leaf has an earlier deadline. Otherwise the search goes
    /// into the first branch whose smallest vruntime says that it will succeed: one path.
    pub(crate) fn first_eligible<const F: usize>(
        &self,
        nodes: &[Slot<F>],
        latest: u64,
    ) -> Option<Entry> {
        let Some(Slot { branch: first, .. }) = nodes.get(self.first as usize) else {
            let entries = self.few[..self.len as usize].iter().map(|&child| {
                let Entity { vruntime, deadline, .. } = nodes[child as usize].entity;
                Entry { deadline, vruntime, child }
            });
            return { entries }.find(|entry| !before(latest, entry.vruntime));
        };
        if let Some(entry) = first.first_not_after(latest) {
            return Some(entry);
        }
        let mut branch = &nodes[self.root as usize].branch;
        while !branch.is_leaf() {
            branch = &nodes[branch.first_not_after(latest)?.child as usize].branch;
        }
        branch.first_not_after(latest)
    }

    /// Returns the entity that follows another one, or `NIL`.
    pub(crate) fn next<const F: usize>(&self, nodes: &[Slot<F>], index: u32) -> u32 {
        let Link { leaf, lane, .. } = nodes[index as usize].link;
        let Some(Slot { branch: leaf, .. }) = nodes.get(leaf as usize) else {
            let at = self.few.iter().position(|&other| other == index);
            return at.and_then(|at| self.few.get(at + 1)).map_or(NIL, |&next| next);
        };
        let mut branch = leaf;
        let mut rank = branch.order.rank(lane as usize) + 1;
        while rank == branch.len() {
            let Some(above) = nodes.get(branch.parent as usize) else { return NIL };
            rank = above.branch.order.rank(branch.lane as usize) + 1;
            branch = &above.branch;
        }
        let mut child = branch.entry(rank).child;
        while !branch.is_leaf() {
            branch = &nodes[child as usize].branch;
            child = branch.entry(0).child;
        }
        child
    }
}

/// Lets a leaf and the branches above it know of a new entity.
///
/// What is added can only widen the aggregates, so nothing beside the path is looked at.
fn widen<const F: usize>(nodes: &mut [Slot<F>], mut at: u32, vruntime: u64, slice_ns: u64) {
    loop {
        let branch = &mut nodes[at as usize].branch;
        let mut is_wider = branch.widen_slices(slice_ns, slice_ns);
        let lane = branch.lane as usize;
        at = branch.parent;
        let Some(above) = nodes.get_mut(at as usize) else { return };
        is_wider |= above.branch.widen_vruntime(lane, vruntime);
        if !is_wider {
            return;
        }
    }
}

/// Lets a leaf and the branches above it know that an entity left, none of them empty.
fn narrow<const F: usize>(nodes: &mut [Slot<F>], mut at: u32, vruntime: u64, slice_ns: u64) {
    loop {
        let Branch { min_slice_ns: min, max_slice_ns: max, parent, lane, .. } =
            nodes[at as usize].branch;
        // Where all slices are equal the one that left is not missed.
        let mut is_changed = (slice_ns == min || slice_ns == max) && min != max;
        if is_changed {
            refresh_slices(nodes, at);
        }
        let Some(above) = nodes.get(parent as usize) else { return };
        if above.branch.in_lane(lane as usize).vruntime == vruntime {
            is_changed |= refresh_vruntime(nodes, at) != vruntime;
        }
        if !is_changed {
            return;
        }
        at = parent;
    }
}

/// Tells the branch above the smallest vruntime below a branch, and returns it.
fn refresh_vruntime<const F: usize>(nodes: &mut [Slot<F>], at: u32) -> u64 {
    let branch = &nodes[at as usize].branch;
    let (vruntime, lane, parent) = (branch.min_vruntime(), branch.lane, branch.parent);
    if let Some(above) = nodes.get_mut(parent as usize) {
        above.branch.set_vruntime(lane as usize, vruntime);
    }
    vruntime
}

fn refresh_slices<const F: usize>(nodes: &mut [Slot<F>], at: u32) {
    let (min_ns, max_ns) = slices(nodes, &nodes[at as usize].branch);
    let branch = &mut nodes[at as usize].branch;
    (branch.min_slice_ns, branch.max_slice_ns) = (min_ns, max_ns);
}

/// Returns the smallest and the largest slice below a branch.
fn slices<const F: usize>(nodes: &[Slot<F>], branch: &Branch<F>) -> (u64, u64) {
    branch.entries().fold((u64::MAX, 0), |(min_ns, max_ns), entry| {
        let Slot { entity, branch: below, .. } = &nodes[entry.child as usize];
        let (low, high) = if branch.is_leaf() {
            (entity.slice_ns, entity.slice_ns)
        } else {
            (below.min_slice_ns, below.max_slice_ns)
        };
        (min_ns.min(low), max_ns.max(high))
    })
}

#[cfg(test)]
mod tests;
