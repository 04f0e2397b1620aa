//! What changes which branches there are: making room, and giving it back.
//!
//! All of it is rare next to inserting and erasing, so it computes anew whatever it touched instead of
//! working out what changed.

use crate::node::{NIL, Slot};
use crate::tree::branch::{Branch, Entry};
use crate::tree::{Spot, Tree, narrow, refresh_slices, refresh_vruntime};

impl Tree {
    /// Takes a branch out of the free ones.
    pub(super) fn allocate<const F: usize>(&mut self, nodes: &mut [Slot<F>], level: u8) -> u32 {
        let index = if self.free == NIL { self.fresh } else { self.free };
        let branch = &mut nodes[index as usize].branch;
        if self.free == NIL {
            self.fresh += 1;
        } else {
            self.free = branch.parent;
        }
        branch.clear(level);
        index
    }

    fn release<const F: usize>(&mut self, nodes: &mut [Slot<F>], index: u32) {
        nodes[index as usize].branch.parent = self.free;
        self.free = index;
    }

    /// Splits a full branch that is to take `entry` at a spot, and returns where that is now.
    #[cold]
    pub(super) fn split<const F: usize>(
        &mut self,
        nodes: &mut [Slot<F>],
        spot: Spot,
        entry: Entry,
    ) -> Spot {
        let Spot { branch: at, rank } = spot;
        let Branch { level, parent, lane, .. } = nodes[at as usize].branch;
        // What grows at its end is not going to need the room in the middle.
        let kept = if rank == F && is_last(nodes, at) { F } else { F / 2 };
        let right = self.allocate(nodes, level);
        let (deadline, vruntime) = if kept == F {
            (entry.deadline, entry.vruntime)
        } else {
            let half = nodes[at as usize].branch.split_off(kept);
            let bounds = (half.entry(0).deadline, half.min_vruntime());
            for (lane, entry) in half.entries().enumerate() {
                link(nodes, right, lane as u8, entry.child);
            }
            nodes[right as usize].branch = half;
            bounds
        };
        let separator = Entry { deadline, vruntime, child: right };
        let above = match nodes.get(parent as usize) {
            None => Spot { branch: self.raise(nodes, at), rank: 1 },
            Some(above) => {
                let rank = above.branch.order.rank(lane as usize) + 1;
                let spot = Spot { branch: parent, rank };
                let is_full = above.branch.len() == F;
                if is_full { self.split(nodes, spot, separator) } else { spot }
            }
        };
        attach(nodes, above.branch, above.rank, separator);
        if self.last == at {
            self.last = right;
        }
        if kept == F {
            return Spot { branch: right, rank: 0 };
        }
        // The halves need not hang on the same branch if that was split too.
        let mut halves = (at, right);
        while halves.0 != halves.1 {
            refresh_both(nodes, halves.0, halves.1);
            let parent = |at: u32| nodes[at as usize].branch.parent;
            halves = (parent(halves.0), parent(halves.1));
        }
        // Between the halves it goes to the left: the right one begins at its separator.
        if rank <= kept {
            Spot { branch: at, rank }
        } else {
            Spot { branch: right, rank: rank - kept }
        }
    }

    /// Puts a new root above the old one.
    fn raise<const F: usize>(&mut self, nodes: &mut [Slot<F>], at: u32) -> u32 {
        let old = &nodes[at as usize].branch;
        let (level, deadline, vruntime) =
            (old.level + 1, old.entry(0).deadline, old.min_vruntime());
        self.root = self.allocate(nodes, level);
        attach(nodes, self.root, 0, Entry { deadline, vruntime, child: at });
        refresh_slices(nodes, self.root);
        self.root
    }

    /// Restores the shape above a leaf that has too few entries since an entity left it.
    #[cold]
    pub(super) fn repair<const F: usize>(
        &mut self,
        nodes: &mut [Slot<F>],
        leaf: u32,
        vruntime: u64,
        slice_ns: u64,
    ) {
        let mut at = leaf;
        loop {
            let Branch { parent, ref order, .. } = nodes[at as usize].branch;
            let is_alone = nodes.get(parent as usize).is_none_or(|above| above.branch.len() == 1);
            if order.len() == 0 {
                self.discard(nodes, at);
            } else if order.len() < Branch::<F>::MIN && !is_alone {
                self.share(nodes, at);
            } else {
                narrow(nodes, at, vruntime, slice_ns);
                break;
            }
            at = parent;
        }
        self.lower(nodes);
        if self.first == NIL {
            self.first = edge(nodes, self.root, |_| 0);
        }
        if self.last == NIL {
            self.last = edge(nodes, self.root, |branch| branch.len() - 1);
        }
    }

    /// Takes away roots that lead to one branch only. A leaf has more than one entity as long as it
    /// is the root: before that it was uprooted.
    fn lower<const F: usize>(&mut self, nodes: &mut [Slot<F>]) {
        while nodes[self.root as usize].branch.len() == 1 {
            let below = nodes[self.root as usize].branch.entry(0).child;
            self.release(nodes, self.root);
            self.root = below;
            nodes[below as usize].branch.parent = NIL;
        }
    }

    /// Takes a branch that is not the root off the one above and frees it.
    fn discard<const F: usize>(&mut self, nodes: &mut [Slot<F>], at: u32) {
        for end in [&mut self.first, &mut self.last] {
            if *end == at {
                *end = NIL;
            }
        }
        let Branch { parent, lane, .. } = nodes[at as usize].branch;
        let above = &mut nodes[parent as usize].branch;
        above.remove(above.order.rank(lane as usize));
        self.release(nodes, at);
    }

    /// Makes one branch of two neighbours, or shares their entries evenly.
    fn share<const F: usize>(&mut self, nodes: &mut [Slot<F>], at: u32) {
        let Branch { parent, lane, level, .. } = nodes[at as usize].branch;
        let above = &nodes[parent as usize].branch;
        let rank = above.order.rank(lane as usize);
        let rank = if rank + 1 < above.len() { rank + 1 } else { rank };
        let (left, separator) = (above.entry(rank - 1).child, above.entry(rank));
        let right = separator.child;
        if level > 0 {
            // Once it has a predecessor its separator is compared.
            nodes[right as usize].branch.set_deadline(0, separator.deadline);
        }
        let len = |nodes: &[Slot<F>], at: u32| nodes[at as usize].branch.len();
        let total = len(nodes, left) + len(nodes, right);
        let is_merged = total <= Branch::<F>::COMFORTABLE;
        let wanted = if is_merged { total } else { total / 2 };
        while len(nodes, left) < wanted {
            let moved = nodes[right as usize].branch.remove(0);
            attach(nodes, left, len(nodes, left), moved);
        }
        while len(nodes, left) > wanted {
            let moved = nodes[left as usize].branch.remove(len(nodes, left) - 1);
            attach(nodes, right, 0, moved);
        }
        refresh_both(nodes, left, right);
        if is_merged {
            self.discard(nodes, right);
        } else {
            let deadline = nodes[right as usize].branch.entry(0).deadline;
            nodes[parent as usize].branch.set_deadline(rank, deadline);
        }
    }
}

/// Computes the aggregates of two branches anew that exchanged entries, for themselves and for those
/// above.
fn refresh_both<const F: usize>(nodes: &mut [Slot<F>], left: u32, right: u32) {
    let bounds = |at: u32| {
        let branch = &nodes[at as usize].branch;
        (branch.min_slice_ns, branch.max_slice_ns)
    };
    let ((left_min, left_max), (right_min, right_max)) = (bounds(left), bounds(right));
    let (min_ns, max_ns) = (left_min.min(right_min), left_max.max(right_max));
    for at in [left, right] {
        if min_ns == max_ns {
            // All are equal, which saves a look at entities that nobody else has to read now.
            let branch = &mut nodes[at as usize].branch;
            (branch.min_slice_ns, branch.max_slice_ns) = (min_ns, max_ns);
        } else {
            refresh_slices(nodes, at);
        }
        if nodes[at as usize].branch.len() > 0 {
            refresh_vruntime(nodes, at);
        }
    }
}

/// Hangs an entity or a branch on a branch that has room.
fn attach<const F: usize>(nodes: &mut [Slot<F>], at: u32, rank: usize, entry: Entry) {
    let lane = nodes[at as usize].branch.insert(rank, entry) as u8;
    link(nodes, at, lane, entry.child);
}

/// Tells an entity or a branch where it hangs.
fn link<const F: usize>(nodes: &mut [Slot<F>], at: u32, lane: u8, child: u32) {
    let is_leaf = nodes[at as usize].branch.is_leaf();
    let Slot { link, branch: below, .. } = &mut nodes[child as usize];
    if is_leaf {
        (link.leaf, link.lane) = (at, lane);
    } else {
        (below.parent, below.lane) = (at, lane);
    }
}

/// Tells whether no branch of the same level is to the right.
fn is_last<const F: usize>(nodes: &[Slot<F>], at: u32) -> bool {
    let mut branch = &nodes[at as usize].branch;
    while let Some(Slot { branch: above, .. }) = nodes.get(branch.parent as usize) {
        if above.order.rank(branch.lane as usize) + 1 < above.len() {
            return false;
        }
        branch = above;
    }
    true
}

/// Returns the leaf at the end of the entries whose rank `choose` returns.
fn edge<const F: usize>(
    nodes: &[Slot<F>],
    mut at: u32,
    choose: impl Fn(&Branch<F>) -> usize,
) -> u32 {
    while let Some(Slot { branch, .. }) = nodes.get(at as usize)
        && !branch.is_leaf()
    {
        at = branch.entry(choose(branch)).child;
    }
    at
}
