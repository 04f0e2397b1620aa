//! One node of the tree: up to `F` entries, each an entity or a whole branch.
//!
//! An entry says of what is below it what the two searches ask: where its deadlines begin, and the
//! smallest vruntime. Both are kept in arrays and compared with all of them at once, without a branch that
//! depends on the outcome: for so few, that is faster than any search that predicts wrongly.
//!
//! The deadline of a branch's entry is a separator, not always a deadline that is still there: nothing
//! below the entry is earlier, nothing below its predecessor is later. That of the first entry of
//! a branch means nothing, as it has no predecessor there, and is never compared. Above the leaves,
//! lanes out of use hold the first separator there is, that of the second entry, so that a search can
//! count all lanes and need not ask which are in use.

use crate::node::NIL;
use crate::time::{before, distance, earlier};
use crate::tree::order::{MAX_LANES, Order};

/// What a branch keeps of one child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) deadline: u64,
    pub(crate) vruntime: u64,
    /// Slot of the entity in a leaf, of the branch elsewhere.
    pub(crate) child: u32,
}

/// A node of the tree.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Branch<const F: usize> {
    pub(crate) order: Order,
    deadlines: [u64; F],
    children: [u32; F],
    /// Slot of the branch above, `NIL` for the root; of the next free branch while free.
    pub(crate) parent: u32,
    /// The lane of this branch in the one above.
    pub(crate) lane: u8,
    /// Distance to the leaves.
    pub(crate) level: u8,
    /// The smallest slice of all entities below.
    pub(crate) min_slice_ns: u64,
    /// The largest slice of all entities below.
    pub(crate) max_slice_ns: u64,
    vruntimes: [u64; F],
}

impl<const F: usize> Branch<F> {
    const HAS_LANES: () = assert!(F >= 4 && F <= MAX_LANES, "a branch has 4 to 16 lanes");

    /// Entries below which a branch in the middle of its level takes some from its neighbour.
    pub(crate) const MIN: usize = F / 4 + 1;

    /// Entries up to which two neighbours become one branch. Not all that fit: the next one to join would
    /// split it again. Above it, each half of them is at least `MIN`.
    pub(crate) const COMFORTABLE: usize = F - F / 4;

    pub(crate) const EMPTY: Branch<F> = Branch::new(0);

    pub(crate) const fn new(level: u8) -> Branch<F> {
        let () = Self::HAS_LANES;
        Branch {
            order: Order::EMPTY,
            parent: NIL,
            lane: 0,
            level,
            min_slice_ns: u64::MAX,
            max_slice_ns: 0,
            vruntimes: [0; F],
            deadlines: [0; F],
            children: [NIL; F],
        }
    }

    /// Makes a branch without entries of one that was free. What lanes out of use hold is never read.
    pub(crate) const fn clear(&mut self, level: u8) {
        self.order = Order::EMPTY;
        (self.parent, self.lane, self.level) = (NIL, 0, level);
        (self.min_slice_ns, self.max_slice_ns) = (u64::MAX, 0);
    }

    pub(crate) const fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) const fn is_leaf(&self) -> bool {
        self.level == 0
    }

    pub(crate) fn entry(&self, rank: usize) -> Entry {
        self.in_lane(self.order.lane(rank))
    }

    pub(crate) fn in_lane(&self, lane: usize) -> Entry {
        Entry {
            deadline: self.deadlines[lane],
            vruntime: self.vruntimes[lane],
            child: self.children[lane],
        }
    }

    /// Returns the entries in order.
    pub(crate) fn entries(&self) -> impl DoubleEndedIterator<Item = Entry> + '_ {
        (0..self.len()).map(|rank| self.entry(rank))
    }

    /// Puts an entry at a rank, and returns its lane.
    pub(crate) fn insert(&mut self, rank: usize, entry: Entry) -> usize {
        let lane = self.order.insert(rank);
        self.deadlines[lane] = entry.deadline;
        self.vruntimes[lane] = entry.vruntime;
        self.children[lane] = entry.child;
        if !self.is_leaf() {
            self.pad();
        }
        lane
    }

    pub(crate) fn remove(&mut self, rank: usize) -> Entry {
        let lane = self.order.remove(rank);
        let entry = self.in_lane(lane);
        if !self.is_leaf() {
            self.pad();
        }
        entry
    }

    /// Moves the entries from a rank on to a new branch, where they take the first lanes.
    pub(crate) fn split_off(&mut self, rank: usize) -> Branch<F> {
        let mut right = Branch::new(self.level);
        for (to, from) in (rank..self.len()).enumerate() {
            let entry = self.entry(from);
            right.deadlines[to] = entry.deadline;
            right.vruntimes[to] = entry.vruntime;
            right.children[to] = entry.child;
        }
        right.order = Order::first(self.len() - rank);
        self.order.truncate(rank);
        if !self.is_leaf() {
            self.pad();
            right.pad();
        }
        right
    }

    /// Replaces the entry of a lane by one that goes to a rank, counted with the old one there.
    pub(crate) fn exchange(&mut self, lane: usize, rank: usize, entry: Entry) {
        let old_rank = self.order.rank(lane);
        self.order.shift(old_rank, if old_rank < rank { rank - 1 } else { rank });
        self.deadlines[lane] = entry.deadline;
        self.vruntimes[lane] = entry.vruntime;
        self.children[lane] = entry.child;
    }

    /// Moves the separator before an entry.
    pub(crate) fn set_deadline(&mut self, rank: usize, deadline: u64) {
        self.deadlines[self.order.lane(rank)] = deadline;
        self.pad();
    }

    pub(crate) fn set_vruntime(&mut self, lane: usize, vruntime: u64) {
        self.vruntimes[lane] = vruntime;
    }

    /// Lets the entry of a lane know of a vruntime below it, and tells whether that is news.
    pub(crate) fn widen_vruntime(&mut self, lane: usize, vruntime: u64) -> bool {
        let before = self.vruntimes[lane];
        self.vruntimes[lane] = earlier(before, vruntime);
        self.vruntimes[lane] != before
    }

    /// Takes slices below into account, and tells whether that is news.
    pub(crate) fn widen_slices(&mut self, min_ns: u64, max_ns: u64) -> bool {
        let before = (self.min_slice_ns, self.max_slice_ns);
        self.min_slice_ns = before.0.min(min_ns);
        self.max_slice_ns = before.1.max(max_ns);
        (self.min_slice_ns != before.0) | (self.max_slice_ns != before.1)
    }

    /// Returns the smallest vruntime of a branch that is not empty.
    pub(crate) fn min_vruntime(&self) -> u64 {
        let one = self.vruntimes[self.order.lane(0)];
        let lanes = (1..self.len()).map(|rank| self.order.lane(rank));
        let least = lanes.fold(0, |least, lane| distance(self.vruntimes[lane], one).min(least));
        one.wrapping_add_signed(least)
    }

    /// Returns the rank at which a leaf takes a deadline: behind its equals.
    pub(crate) fn rank_for(&self, deadline: u64) -> usize {
        self.none_after(&self.deadlines, deadline).count_ones() as usize
    }

    /// Returns the child that takes a deadline.
    pub(crate) fn child_for(&self, deadline: u64) -> u32 {
        // Lanes out of use are after it only if all separators are, and then it is the first child.
        let after: u64 = self.deadlines.iter().map(|&other| is_after(other, deadline)).sum();
        let after = after - is_after(self.deadlines[self.order.lane(0)], deadline);
        let rank = (self.len() - 1).saturating_sub(after as usize);
        self.children[self.order.lane(rank)]
    }

    /// Lets the lanes out of use hold the first separator, if there is one.
    fn pad(&mut self) {
        if self.len() < 2 {
            return;
        }
        let first = self.deadlines[self.order.lane(1)];
        for rank in self.len()..F {
            self.deadlines[self.order.lane(rank)] = first;
        }
    }

    /// Returns the first entry of which some vruntime is not after `latest`.
    pub(crate) fn first_not_after(&self, latest: u64) -> Option<Entry> {
        let is_eligible = |&lane: &usize| !before(latest, self.vruntimes[lane]);
        let mut lanes = (0..self.len()).map(|rank| self.order.lane(rank));
        lanes.find(is_eligible).map(|lane| self.in_lane(lane))
    }

    /// Returns the lanes in use whose value is not after `latest`, one bit each.
    fn none_after(&self, values: &[u64; F], latest: u64) -> u32 {
        let mut after = 0;
        for (lane, &value) in values.iter().enumerate() {
            after |= (is_after(value, latest) as u32) << lane;
        }
        !after & self.order.used()
    }
}

/// Returns 1 if `a` comes strictly after `b`: a number, as a sum takes no jump.
const fn is_after(a: u64, b: u64) -> u64 {
    b.wrapping_sub(a) >> 63
}
