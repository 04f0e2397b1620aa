//! The deadline-ordered tree of queued entities, kept in the caller's arena.
//!
//! An AVL tree over node indices. It owns the `link` of every node that is in it.
//!
//! 1. In-order traversal gives non-decreasing deadlines; among equal ones, insertion order.
//! 2. Every node knows the smallest vruntime and the smallest and largest slice of its subtree.
//! 3. `leftmost` is the node with the earliest deadline, `rightmost` the last one.
//! 4. An entity does not change its vruntime, deadline or slice while it is in the tree.
//!
//! The aggregates are recomputed from the children wherever a child changed, upwards until a node
//! comes out as it was: above it nothing can have changed. A new leaf only widens those of its path,
//! which takes no look at the children beside it. Copying aggregates along in a rotation is
//! cheaper by a few loads and has broken in Linux twice, once per field added ("sched/eevdf: Fix rb
//! augmented with multi fields", "sched/eevdf: Fix augmented max_slice").
//!
//! Source: "sched/eevdf: Sort the rbtree by virtual deadline"; "sched/fair: Fix lag clamp" for the
//! largest slice.

use crate::entity::Entity;
use crate::node::{NIL, Node};
use crate::time::{before, earlier};

/// What a node knows about its place in the tree and about its subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) parent: u32,
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) height: i32,
    pub(crate) min_vruntime: u64,
    pub(crate) min_slice_ns: u64,
    pub(crate) max_slice_ns: u64,
}

impl Link {
    pub(crate) const NONE: Link = Link {
        parent: NIL,
        left: NIL,
        right: NIL,
        height: 0,
        min_vruntime: 0,
        min_slice_ns: 0,
        max_slice_ns: 0,
    };

    /// Widens the aggregates by those of another subtree.
    fn absorb(&mut self, other: &Link) {
        self.min_vruntime = earlier(self.min_vruntime, other.min_vruntime);
        self.min_slice_ns = self.min_slice_ns.min(other.min_slice_ns);
        self.max_slice_ns = self.max_slice_ns.max(other.max_slice_ns);
    }

    /// Tells whether a parent sees the same in both. Without branches: which of them differ is
    /// hard to predict.
    fn looks_like(&self, other: &Link) -> bool {
        (self.height == other.height)
            & (self.min_vruntime == other.min_vruntime)
            & (self.min_slice_ns == other.min_slice_ns)
            & (self.max_slice_ns == other.max_slice_ns)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    root: u32,
    leftmost: u32,
    rightmost: u32,
    len: u32,
}

impl Tree {
    pub(crate) const EMPTY: Tree = Tree { root: NIL, leftmost: NIL, rightmost: NIL, len: 0 };

    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    /// Returns the index of the root, or `NIL`.
    pub(crate) const fn root(&self) -> u32 {
        self.root
    }

    /// Returns the index of the node with the earliest deadline, or `NIL`.
    pub(crate) const fn leftmost(&self) -> u32 {
        self.leftmost
    }

    /// Returns the index of the node with the last deadline, or `NIL`.
    pub(crate) const fn rightmost(&self) -> u32 {
        self.rightmost
    }

    /// Returns the aggregates over all nodes, or `None` for an empty tree.
    pub(crate) fn summary<'a>(&self, nodes: &'a [Node]) -> Option<&'a Link> {
        nodes.get(self.root as usize).map(|node| &node.link)
    }

    pub(crate) fn insert(&mut self, nodes: &mut [Node], index: u32) {
        let (parent, goes_left) = self.place_for(nodes, nodes[index as usize].entity.deadline);
        let Entity { vruntime, slice_ns, .. } = nodes[index as usize].entity;
        nodes[index as usize].link = Link {
            parent,
            height: 1,
            min_vruntime: vruntime,
            min_slice_ns: slice_ns,
            max_slice_ns: slice_ns,
            ..Link::NONE
        };
        match nodes.get_mut(parent as usize) {
            None => self.root = index,
            Some(above) if goes_left => above.link.left = index,
            Some(above) => above.link.right = index,
        }
        if goes_left && parent == self.leftmost || parent == NIL {
            self.leftmost = index;
        }
        if !goes_left && parent == self.rightmost || parent == NIL {
            self.rightmost = index;
        }
        self.len += 1;
        self.grow(nodes, index);
    }

    /// Returns the node that gets a new child for `deadline`, and whether that is its left one.
    fn place_for(&self, nodes: &[Node], deadline: u64) -> (u32, bool) {
        // Equal entities that use up their slices go to the end each time.
        if let Some(last) = nodes.get(self.rightmost as usize)
            && !before(deadline, last.entity.deadline)
        {
            return (self.rightmost, false);
        }
        let (mut parent, mut goes_left) = (NIL, false);
        let mut at = self.root;
        while let Some(node) = nodes.get(at as usize) {
            parent = at;
            goes_left = before(deadline, node.entity.deadline);
            at = if goes_left { node.link.left } else { node.link.right };
        }
        (parent, goes_left)
    }

    /// Lets the nodes above a new leaf know of it.
    ///
    /// What was added can only widen the aggregates, so only the path is looked at, and nobody beside
    /// it unless the path grew. `retrace` would read a cold cache line per level for nothing.
    fn grow(&mut self, nodes: &mut [Node], leaf: u32) {
        let new = nodes[leaf as usize].link;
        let (mut child_height, mut index) = (new.height, new.parent);
        while let Some(Node { link, .. }) = nodes.get_mut(index as usize) {
            let before = *link;
            link.absorb(&new);
            let is_widened = !link.looks_like(&before);
            let mut is_higher = child_height == before.height;
            if is_higher {
                link.height += 1;
                let lean = height(nodes, before.right) - height(nodes, before.left);
                if lean.abs() > 1 {
                    // Rebalancing gives the subtree the height it had before the insertion.
                    self.rebalance(nodes, index, lean);
                    is_higher = false;
                }
            }
            if !is_higher && !is_widened {
                return;
            }
            child_height = before.height + i32::from(is_higher);
            index = before.parent;
        }
    }

    pub(crate) fn erase(&mut self, nodes: &mut [Node], index: u32) {
        let Link { parent, left, right, .. } = nodes[index as usize].link;
        if self.leftmost == index {
            self.leftmost = if right == NIL { parent } else { first(nodes, right) };
        }
        if self.rightmost == index {
            self.rightmost = if left == NIL { parent } else { last(nodes, left) };
        }
        // `lowest` is the deepest node whose subtree changes; `next` is the node that moves up.
        let (lowest, next) = if left == NIL || right == NIL {
            self.replace(nodes, index, if left == NIL { right } else { left });
            (parent, NIL)
        } else {
            let next = first(nodes, right);
            let Link { parent: above_next, right: after_next, .. } = nodes[next as usize].link;
            let lowest = if above_next == index {
                next
            } else {
                self.replace(nodes, next, after_next);
                set_right(nodes, next, right);
                above_next
            };
            set_left(nodes, next, left);
            self.replace(nodes, index, next);
            (lowest, next)
        };
        nodes[index as usize].link = Link::NONE;
        self.len -= 1;
        self.retrace(nodes, lowest, next);
    }

    /// Returns the node with the earliest deadline among those whose vruntime is eligible.
    ///
    /// Left of a node lie the earlier deadlines, so the left subtree is searched first, and only if
    /// its smallest vruntime says that the search will succeed. That makes the descent a single path.
    pub(crate) fn first_eligible(
        &self,
        nodes: &[Node],
        is_eligible: impl Fn(u64) -> bool,
    ) -> Option<u32> {
        let leftmost = nodes.get(self.leftmost as usize)?;
        if is_eligible(leftmost.entity.vruntime) {
            return Some(self.leftmost);
        }
        let mut at = self.root;
        while let Some(node) = nodes.get(at as usize) {
            let left = nodes.get(node.link.left as usize);
            if left.is_some_and(|left| is_eligible(left.link.min_vruntime)) {
                at = node.link.left;
            } else if is_eligible(node.entity.vruntime) {
                return Some(at);
            } else {
                at = node.link.right;
            }
        }
        None
    }

    /// Returns the in-order successor of a node, or `NIL`.
    pub(crate) fn next(&self, nodes: &[Node], index: u32) -> u32 {
        let link = &nodes[index as usize].link;
        if link.right != NIL {
            return first(nodes, link.right);
        }
        let (mut child, mut at) = (index, link.parent);
        while at != NIL && nodes[at as usize].link.right == child {
            (child, at) = (at, nodes[at as usize].link.parent);
        }
        at
    }

    /// Puts `with` (or nothing, `NIL`) where `index` hangs.
    fn replace(&mut self, nodes: &mut [Node], index: u32, with: u32) {
        let parent = nodes[index as usize].link.parent;
        if let Some(node) = nodes.get_mut(with as usize) {
            node.link.parent = parent;
        }
        match nodes.get_mut(parent as usize) {
            None => self.root = with,
            Some(above) if above.link.left == index => above.link.left = with,
            Some(above) => above.link.right = with,
        }
    }

    /// Restores heights, aggregates and balance from `index` upwards until nothing changes any
    /// more, but past the node `through`: its link still speaks of its old place, and coming out
    /// as it was says nothing about the new one.
    fn retrace(&mut self, nodes: &mut [Node], mut index: u32, through: u32) {
        let mut may_stop = through == NIL;
        while let Some(node) = nodes.get(index as usize) {
            let parent = node.link.parent;
            let (link, lean) = computed(nodes, index);
            let is_changed = if lean.abs() <= 1 {
                update(nodes, index, &link)
            } else {
                let before = nodes[index as usize].link;
                let top = self.rebalance(nodes, index, lean);
                !nodes[top as usize].link.looks_like(&before)
            };
            if may_stop && !is_changed {
                return;
            }
            may_stop |= index == through;
            index = parent;
        }
    }

    /// Restores balance where one subtree is two levels higher, and returns the new top.
    fn rebalance(&mut self, nodes: &mut [Node], index: u32, lean: i32) -> u32 {
        let Link { left, right, .. } = nodes[index as usize].link;
        if lean < 0 {
            let Link { left: outer, right: inner, .. } = nodes[left as usize].link;
            if height(nodes, inner) > height(nodes, outer) {
                self.rotate_left(nodes, left);
            }
            self.rotate_right(nodes, index)
        } else {
            let Link { left: inner, right: outer, .. } = nodes[right as usize].link;
            if height(nodes, inner) > height(nodes, outer) {
                self.rotate_right(nodes, right);
            }
            self.rotate_left(nodes, index)
        }
    }

    fn rotate_left(&mut self, nodes: &mut [Node], index: u32) -> u32 {
        let up = nodes[index as usize].link.right;
        let inner = nodes[up as usize].link.left;
        self.replace(nodes, index, up);
        set_right(nodes, index, inner);
        set_left(nodes, up, index);
        refresh(nodes, index);
        refresh(nodes, up);
        up
    }

    fn rotate_right(&mut self, nodes: &mut [Node], index: u32) -> u32 {
        let up = nodes[index as usize].link.left;
        let inner = nodes[up as usize].link.right;
        self.replace(nodes, index, up);
        set_left(nodes, index, inner);
        set_right(nodes, up, index);
        refresh(nodes, index);
        refresh(nodes, up);
        up
    }
}

/// Returns what a node's link says when it is computed from the node and its children, and how much
/// higher the right subtree is than the left one.
#[inline]
pub(crate) fn computed(nodes: &[Node], index: u32) -> (Link, i32) {
    let Node { link, entity, .. } = &nodes[index as usize];
    let mut link = Link {
        min_vruntime: entity.vruntime,
        min_slice_ns: entity.slice_ns,
        max_slice_ns: entity.slice_ns,
        ..*link
    };
    let (mut left_height, mut right_height) = (0, 0);
    if let Some(left) = nodes.get(link.left as usize) {
        link.absorb(&left.link);
        left_height = left.link.height;
    }
    if let Some(right) = nodes.get(link.right as usize) {
        link.absorb(&right.link);
        right_height = right.link.height;
    }
    link.height = 1 + left_height.max(right_height);
    (link, right_height - left_height)
}

/// Takes over what was computed about a subtree, and tells whether that is new. Field by field: a
/// copy of the whole link waits for the stores of its single fields to finish.
#[inline]
fn update(nodes: &mut [Node], index: u32, computed: &Link) -> bool {
    let link = &mut nodes[index as usize].link;
    let is_changed = !link.looks_like(computed);
    link.height = computed.height;
    link.min_vruntime = computed.min_vruntime;
    link.min_slice_ns = computed.min_slice_ns;
    link.max_slice_ns = computed.max_slice_ns;
    is_changed
}

fn refresh(nodes: &mut [Node], index: u32) {
    let (link, _) = computed(nodes, index);
    update(nodes, index, &link);
}

fn height(nodes: &[Node], index: u32) -> i32 {
    nodes.get(index as usize).map_or(0, |node| node.link.height)
}

fn first(nodes: &[Node], mut index: u32) -> u32 {
    while nodes[index as usize].link.left != NIL {
        index = nodes[index as usize].link.left;
    }
    index
}

fn last(nodes: &[Node], mut index: u32) -> u32 {
    while nodes[index as usize].link.right != NIL {
        index = nodes[index as usize].link.right;
    }
    index
}

fn set_left(nodes: &mut [Node], parent: u32, child: u32) {
    nodes[parent as usize].link.left = child;
    if let Some(node) = nodes.get_mut(child as usize) {
        node.link.parent = parent;
    }
}

fn set_right(nodes: &mut [Node], parent: u32, child: u32) {
    nodes[parent as usize].link.right = child;
    if let Some(node) = nodes.get_mut(child as usize) {
        node.link.parent = parent;
    }
}

#[cfg(test)]
mod tests;
