//! The tree against linear scans: every small tree, and many random large ones.

use super::*;
use crate::entity::{Attr, Entity};
use crate::node::Place;
use std::vec::Vec;

/// A small generator, so that a failure repeats (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % bound
    }
}

fn node(vruntime: u64, deadline: u64, slice_ns: u64) -> Node {
    let entity = Entity { attr: Attr::default(), vruntime, deadline, slice_ns, ..Entity::NONE };
    Node { entity, place: Place::Tree, ..Node::EMPTY }
}

/// Recomputes everything the slow way.
fn check(tree: &Tree, nodes: &[Node]) {
    fn walk(nodes: &[Node], index: u32, parent: u32, order: &mut Vec<u32>) {
        if index == NIL {
            return;
        }
        let link = nodes[index as usize].link;
        assert_eq!(link.parent, parent, "node {index}");
        assert_eq!(link, computed(nodes, index).0, "node {index}");
        assert!(height(nodes, link.left).abs_diff(height(nodes, link.right)) <= 1, "node {index}");
        walk(nodes, link.left, index, order);
        order.push(index);
        walk(nodes, link.right, index, order);
    }
    let mut order = Vec::new();
    walk(nodes, tree.root, NIL, &mut order);
    assert_eq!(order.len(), tree.len() as usize);
    assert_eq!(order.first().copied().unwrap_or(NIL), tree.leftmost());
    assert_eq!(order.last().copied().unwrap_or(NIL), tree.rightmost);
    for pair in order.windows(2) {
        let [left, right] = [pair[0], pair[1]].map(|index| nodes[index as usize].entity.deadline);
        assert!(!before(right, left), "{right} right of {left}");
        assert_eq!(tree.next(nodes, pair[0]), pair[1]);
    }
    if let Some(summary) = tree.summary(nodes) {
        let scan = || order.iter().map(|&index| &nodes[index as usize].entity);
        assert_eq!(Some(summary.min_slice_ns), scan().map(|entity| entity.slice_ns).min());
        assert_eq!(Some(summary.max_slice_ns), scan().map(|entity| entity.slice_ns).max());
        assert_eq!(
            Some(summary.min_vruntime),
            scan().map(|entity| entity.vruntime).reduce(earlier)
        );
    }
}

/// Calls `visit` with every order of `0..count`.
fn permutations(count: usize, visit: &mut impl FnMut(&[u64])) {
    fn extend(order: &mut Vec<u64>, count: usize, visit: &mut impl FnMut(&[u64])) {
        if order.len() == count {
            return visit(order);
        }
        for value in 0..count as u64 {
            if !order.contains(&value) {
                order.push(value);
                extend(order, count, visit);
                order.pop();
            }
        }
    }
    extend(&mut Vec::new(), count, visit);
}

/// B11, "sched/eevdf: Fix pick_eevdf()": the search must return the earliest eligible deadline, also
/// where it lies in a left branch already passed. Every tree of up to seven nodes, every pattern
/// of eligibility.
#[test]
fn b11_every_small_tree_picks_like_a_scan() {
    let mut picks = 0u64;
    for count in 1..=7 {
        permutations(count, &mut |deadlines| {
            let mut nodes: Vec<Node> = deadlines.iter().map(|&d| node(0, d, 1 + d)).collect();
            for pattern in 0u32..1 << count {
                for (index, node) in nodes.iter_mut().enumerate() {
                    node.entity.vruntime = u64::from(pattern >> index & 1);
                }
                let mut tree = Tree::EMPTY;
                (0..count as u32).for_each(|index| tree.insert(&mut nodes, index));
                let eligible = (0..count as u32).filter(|index| pattern >> index & 1 == 0);
                let expected = eligible.min_by_key(|&index| deadlines[index as usize]);
                assert_eq!(
                    tree.first_eligible(&nodes, |v| v == 0),
                    expected,
                    "{deadlines:?} {pattern:b}"
                );
                picks += 1;
            }
        });
    }
    assert_eq!(picks, 2 + 2 * 4 + 6 * 8 + 24 * 16 + 120 * 32 + 720 * 64 + 5040 * 128);
}

#[test]
fn every_erase_from_every_small_tree_leaves_a_tree() {
    for count in 1..=6 {
        permutations(count, &mut |deadlines| {
            for victim in 0..count as u32 {
                let mut nodes: Vec<Node> =
                    deadlines.iter().map(|&d| node(count as u64 - d, d, 1 + d * d % 5)).collect();
                let mut tree = Tree::EMPTY;
                (0..count as u32).for_each(|index| tree.insert(&mut nodes, index));
                check(&tree, &nodes);
                tree.erase(&mut nodes, victim);
                assert_eq!(nodes[victim as usize].link, Link::NONE);
                check(&tree, &nodes);
            }
        });
    }
}

/// B15, "sched/eevdf: Fix rb augmented with multi fields": a rebalance lost the slices. 10^5 inserts
/// and erases across a wrap, everything recomputed: often while small, now and then when large.
#[test]
fn b15_aggregates_survive_random_inserts_and_erases() {
    let mut random = Random(0x5eed);
    let mut nodes: Vec<Node> = (0..256).map(|_| Node::EMPTY).collect();
    let (mut tree, mut inside) = (Tree::EMPTY, [false; 256]);
    for step in 0..100_000 {
        // Breathes between nearly empty and nearly full.
        let span = if step / 5_000 % 2 == 0 { 256 } else { 24 };
        let index = random.below(span) as u32;
        let slot = index as usize;
        if inside[slot] {
            tree.erase(&mut nodes, index);
        } else {
            let near_wrap = u64::MAX - 500;
            let vruntime = near_wrap.wrapping_add(random.below(1000));
            let deadline = vruntime.wrapping_add(random.below(50));
            nodes[slot] = node(vruntime, deadline, 100_000 + random.below(10) * 10_000_000);
            tree.insert(&mut nodes, index);
        }
        inside[slot] ^= true;
        if tree.len() < 24 || step % 16 == 0 {
            check(&tree, &nodes);
        }
    }
}

/// B14, "sched/eevdf: Fix augmented max_slice".
#[test]
fn b14_the_root_knows_the_largest_slice() {
    let mut nodes: Vec<Node> =
        [100_000, 100_000_000, 100_000].map(|slice| node(0, slice, slice)).into();
    let mut tree = Tree::EMPTY;
    for (index, largest) in [100_000, 100_000_000, 100_000_000].into_iter().enumerate() {
        tree.insert(&mut nodes, index as u32);
        assert_eq!(tree.summary(&nodes).unwrap().max_slice_ns, largest);
    }
    tree.erase(&mut nodes, 1);
    assert_eq!(tree.summary(&nodes).unwrap().max_slice_ns, 100_000);
}

#[test]
fn among_equal_deadlines_the_first_comer_is_first() {
    let mut nodes: Vec<Node> = (0..40).map(|_| node(0, 7, 1)).collect();
    let mut tree = Tree::EMPTY;
    (0..40).for_each(|index| tree.insert(&mut nodes, index));
    for index in 0..40 {
        assert_eq!(tree.leftmost(), index);
        tree.erase(&mut nodes, index);
    }
    assert_eq!(tree, Tree::EMPTY);
}

/// A node that moves up has the same aggregates at its new place as it had at its old one, while its
/// parent knew others. Found by the random test; restoring stopped too soon.
#[test]
fn a_successor_that_looks_unchanged_is_not_the_end() {
    for victim_slice in [1, 5, 9] {
        for count in 3..32u32 {
            for victim in 0..count {
                let slice = |index| if index == victim { victim_slice } else { 5 };
                let mut nodes: Vec<Node> =
                    (0..count).map(|index| node(9, u64::from(index), slice(index))).collect();
                let mut tree = Tree::EMPTY;
                (0..count).for_each(|index| tree.insert(&mut nodes, index));
                tree.erase(&mut nodes, victim);
                check(&tree, &nodes);
            }
        }
    }
}
