//! The tree against linear scans: every small tree, and many random large ones.
//!
//! Small trees have four lanes to a branch, so that a handful of entities makes a tree of
//! several levels, and as many as a queue has where that is the question.

use super::*;
use crate::entity::{Attr, Entity};
use crate::node::{Node, Place};
use crate::time::{distance, earlier};
use std::vec;
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

fn slot<const F: usize>(vruntime: u64, deadline: u64, slice_ns: u64) -> Slot<F> {
    let entity = Entity { attr: Attr::default(), vruntime, deadline, slice_ns, ..Entity::NONE };
    Slot { entity, place: Place::Tree, ..Slot::EMPTY }
}

fn inserted<const F: usize>(nodes: &mut [Slot<F>]) -> Tree {
    let mut tree = Tree::EMPTY;
    (0..nodes.len() as u32).for_each(|index| tree.insert(nodes, index));
    tree
}

/// The entities in order.
fn listed<const F: usize>(tree: &Tree, nodes: &[Slot<F>]) -> Vec<u32> {
    let first = Some(tree.leftmost(nodes)).filter(|&first| first != NIL);
    let next = |&at: &u32| Some(tree.next(nodes, at)).filter(|&next| next != NIL);
    std::iter::successors(first, next).collect()
}

/// Holds the tree against its own check, and what it says against a list in the expected order.
fn check<const F: usize>(tree: &Tree, nodes: &[Slot<F>], expected: &[u32]) {
    assert_eq!(tree.check(nodes), Ok(()));
    assert_eq!(listed(tree, nodes), expected);
    assert_eq!(tree.len() as usize, expected.len());
    let scan = || expected.iter().map(|&index| &nodes[index as usize].entity);
    let slices = scan().map(|entity| entity.slice_ns);
    assert_eq!(tree.slices(nodes), slices.clone().min().zip(slices.max()));
    assert_eq!(tree.min_vruntime(nodes), scan().map(|entity| entity.vruntime).reduce(earlier));
}

/// The root of a tree that has branches.
fn root<'a, const F: usize>(tree: &Tree, nodes: &'a [Slot<F>]) -> &'a Branch<F> {
    &nodes[tree.root as usize].branch
}

/// Inserts into a list as into the tree: by deadline, behind equals.
fn insert_sorted<const F: usize>(list: &mut Vec<u32>, nodes: &[Slot<F>], index: u32) {
    let deadline = |index: u32| nodes[index as usize].entity.deadline;
    let place = list.iter().position(|&other| before(deadline(index), deadline(other)));
    list.insert(place.unwrap_or(list.len()), index);
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
/// where it lies in a left branch already passed. Every tree of up to seven entities, every pattern
/// of eligibility.
fn every_small_tree_picks_like_a_scan<const F: usize>() {
    let mut picks = 0u64;
    for count in 1..=7 {
        permutations(count, &mut |deadlines| {
            let mut nodes: Vec<Slot<F>> = deadlines.iter().map(|&d| slot(0, d, 1 + d)).collect();
            for pattern in 0u32..1 << count {
                for (index, slot) in nodes.iter_mut().enumerate() {
                    slot.entity.vruntime = u64::from(pattern >> index & 1);
                }
                let tree = inserted(&mut nodes);
                let eligible = (0..count as u32).filter(|index| pattern >> index & 1 == 0);
                let expected = eligible.min_by_key(|&index| deadlines[index as usize]);
                let found = tree.first_eligible(&nodes, 0).map(|entry| entry.child);
                assert_eq!(found, expected, "{deadlines:?} {pattern:b}");
                picks += 1;
            }
        });
    }
    assert_eq!(picks, 2 + 2 * 4 + 6 * 8 + 24 * 16 + 120 * 32 + 720 * 64 + 5040 * 128);
}

#[test]
fn b11_every_small_tree_picks_like_a_scan() {
    every_small_tree_picks_like_a_scan::<4>();
}

#[test]
fn b11_every_small_tree_of_one_leaf_picks_like_a_scan() {
    every_small_tree_picks_like_a_scan::<14>();
}

#[test]
fn every_erase_from_every_small_tree_leaves_a_tree() {
    let mut tallest = 0;
    for count in 1..=7 {
        permutations(count, &mut |deadlines| {
            let mut list: Vec<u32> = (0..count as u32).collect();
            list.sort_by_key(|&index| deadlines[index as usize]);
            for victim in 0..count as u32 {
                let mut nodes: Vec<Slot<4>> =
                    deadlines.iter().map(|&d| slot(count as u64 - d, d, 1 + d * d % 5)).collect();
                let mut tree = inserted(&mut nodes);
                check(&tree, &nodes, &list);
                if count > 4 {
                    tallest = tallest.max(root(&tree, &nodes).level);
                }
                tree.erase(&mut nodes, victim);
                assert_eq!(nodes[victim as usize].link.leaf, NIL);
                let rest: Vec<u32> =
                    list.iter().copied().filter(|&index| index != victim).collect();
                check(&tree, &nodes, &rest);
            }
        });
    }
    assert_eq!(tallest, 1, "two levels at least");
}

/// Every order in which a tree of three levels can be taken down, as far as the first six go.
#[test]
fn every_way_to_take_down_a_tall_tree() {
    let mut seen = 0;
    permutations(6, &mut |victims| {
        for stride in [1, 2, 3, 4] {
            let mut nodes: Vec<Slot<4>> =
                (0..26).map(|index| slot(index * 7 % 26, index * 5 % 26, 1 + index % 3)).collect();
            let mut tree = inserted(&mut nodes);
            assert_eq!(root(&tree, &nodes).level, 2);
            let mut list = listed(&tree, &nodes);
            for &victim in victims {
                let victim = list.remove(victim as usize * stride % list.len());
                tree.erase(&mut nodes, victim);
                check(&tree, &nodes, &list);
            }
            seen += 1;
        }
    });
    assert_eq!(seen, 4 * 720);
}

/// B15, "sched/eevdf: Fix rb augmented with multi fields": a rebalance lost the slices. 10^5 inserts
/// and erases across a wrap, everything recomputed: often while small, now and then when large.
fn aggregates_survive_random_inserts_and_erases<const F: usize>() {
    let mut random = Random(0x5eed);
    let mut nodes: Vec<Slot<F>> = vec![Slot::EMPTY; 256];
    let (mut tree, mut list) = (Tree::EMPTY, Vec::new());
    for step in 0..100_000 {
        // Breathes between nearly empty and nearly full.
        let span = if step / 5_000 % 2 == 0 { 256 } else { 24 };
        let index = random.below(span) as u32;
        let place = list.iter().position(|&other| other == index);
        let leaves = match place {
            // A third of what joins takes the place of another one.
            None if random.below(3) == 0 && !list.is_empty() => {
                Some(random.below(list.len() as u64) as usize)
            }
            place => place,
        };
        let left = leaves.map(|place| list.remove(place));
        if place.is_none() {
            let near_wrap = u64::MAX - 500;
            let vruntime = near_wrap.wrapping_add(random.below(1000));
            let deadline = vruntime.wrapping_add(random.below(50));
            nodes[index as usize] = Slot {
                branch: nodes[index as usize].branch.clone(),
                ..slot(vruntime, deadline, 100_000 + random.below(10) * 10_000_000)
            };
            insert_sorted(&mut list, &nodes, index);
        }
        match left {
            Some(left) if left == index => tree.erase(&mut nodes, index),
            Some(left) => tree.exchange(&mut nodes, left, index),
            None => tree.insert(&mut nodes, index),
        }
        if let Some(left) = left {
            assert_eq!(nodes[left as usize].link.leaf, NIL);
        }
        let latest = (u64::MAX - 500).wrapping_add(random.below(1000));
        let is_eligible = |&&index: &&u32| !before(latest, nodes[index as usize].entity.vruntime);
        let found = tree.first_eligible(&nodes, latest).map(|entry| entry.child);
        assert_eq!(found, list.iter().find(is_eligible).copied());
        if tree.len() < 24 || step % 16 == 0 {
            check(&tree, &nodes, &list);
        }
    }
}

#[test]
fn b15_aggregates_survive_random_inserts_and_erases() {
    aggregates_survive_random_inserts_and_erases::<14>();
}

#[test]
fn b15_aggregates_survive_where_branches_are_small() {
    aggregates_survive_random_inserts_and_erases::<4>();
}

#[test]
fn b15_aggregates_survive_where_branches_are_full_words() {
    aggregates_survive_random_inserts_and_erases::<16>();
}

/// The only entity of a leaf gives way to one with another slice.
#[test]
fn an_exchange_of_the_only_entity_leaves_nothing_of_it() {
    let mut nodes: Vec<Node> = vec![slot(1, 1, 100_000), slot(2, 2, 300_000), slot(3, 3, 200_000)];
    let mut tree = Tree::EMPTY;
    tree.insert(&mut nodes, 0);
    for index in [1, 2, 0] {
        tree.exchange(&mut nodes, (index + 2) % 3, index);
        check(&tree, &nodes, &[index]);
    }
}

/// B14, "sched/eevdf: Fix augmented max_slice".
#[test]
fn b14_the_root_knows_the_largest_slice() {
    let mut nodes: Vec<Node> =
        [100_000, 100_000_000, 100_000].map(|slice| slot(0, slice, slice)).into();
    let mut tree = Tree::EMPTY;
    for (index, largest) in [100_000, 100_000_000, 100_000_000].into_iter().enumerate() {
        tree.insert(&mut nodes, index as u32);
        assert_eq!(tree.slices(&nodes).unwrap().1, largest);
    }
    tree.erase(&mut nodes, 1);
    assert_eq!(tree.slices(&nodes).unwrap().1, 100_000);
}

#[test]
fn among_equal_deadlines_the_first_comer_is_first() {
    let mut nodes: Vec<Node> = (0..400).map(|_| slot(0, 7, 1)).collect();
    let mut tree = inserted(&mut nodes);
    for index in 0..400 {
        assert_eq!(tree.leftmost(&nodes), index);
        tree.erase(&mut nodes, index);
    }
    assert_eq!(tree, Tree::EMPTY);
}

/// A run of equal deadlines in the middle grows at its end, over many leaves.
#[test]
fn equal_deadlines_keep_their_order_between_others() {
    let mut nodes: Vec<Slot<4>> =
        (0..120).map(|index| slot(0, [0, 7, 9, 7][index % 4], 1)).collect();
    let tree = inserted(&mut nodes);
    let mut expected: Vec<u32> = (0..120).collect();
    expected.sort_by_key(|&index| nodes[index as usize].entity.deadline);
    check(&tree, &nodes, &expected);
}

/// Slots hold as many branches as entities, and that is always enough: what is erased leaves as few
/// entries as branches may have, in every full queue of that many slots.
#[test]
fn a_full_queue_never_runs_out_of_branches() {
    for count in 1..=300u32 {
        let mut random = Random(u64::from(count));
        let mut nodes: Vec<Node> = vec![slot(0, 0, 1); count as usize];
        let mut tree = Tree::EMPTY;
        let mut is_in = vec![false; count as usize];
        for round in 0..6 {
            for index in 0..count {
                if !core::mem::replace(&mut is_in[index as usize], true) {
                    // Upwards, downwards and in between.
                    let deadline = [index, count - index, random.below(99) as u32][round % 3];
                    nodes[index as usize].entity.deadline = u64::from(deadline);
                    tree.insert(&mut nodes, index);
                }
            }
            assert_eq!(tree.check(&nodes), Ok(()));
            assert!(tree.fresh <= count, "{} branches for {count} entities", tree.fresh);
            for (rank, index) in listed(&tree, &nodes).into_iter().enumerate() {
                if rank % 4 != round % 4 {
                    tree.erase(&mut nodes, index);
                    is_in[index as usize] = false;
                }
            }
        }
    }
}

/// A queue that takes in at the end and hands out at the front fills its leaves.
#[test]
fn a_round_robin_fills_leaves() {
    let mut nodes: Vec<Node> = vec![slot(0, 0, 1); 1000];
    let mut tree = Tree::EMPTY;
    for step in 0..5000u64 {
        let index = (step % 1000) as u32;
        if step >= 1000 {
            assert_eq!(tree.leftmost(&nodes), index);
            tree.erase(&mut nodes, index);
        }
        nodes[index as usize].entity.deadline = step;
        tree.insert(&mut nodes, index);
    }
    assert_eq!(tree.check(&nodes), Ok(()));
    let leaves = nodes.iter().filter(|slot| slot.branch.is_leaf() && slot.branch.len() > 0);
    assert!(leaves.count() <= 1000 / 14 + 2);
}

/// What is left at either end is left alone until it is gone: no neighbour gives entries to a leaf
/// that is about to vanish, or takes them from one that is about to grow.
#[test]
fn leaves_at_the_ends_shrink_alone() {
    for is_first in [true, false] {
        let mut nodes: Vec<Node> = (0..70).map(|index| slot(0, index, 1)).collect();
        let mut tree = inserted(&mut nodes);
        let (leaf, other) =
            if is_first { (tree.first, tree.last) } else { (tree.last, tree.first) };
        for left in (0..14).rev() {
            tree.erase(&mut nodes, if is_first { 13 - left } else { 56 + left });
            let root = root(&tree, &nodes);
            let lens = root.entries().map(|entry| nodes[entry.child as usize].branch.len());
            assert_eq!(lens.filter(|&len| len == 14).count(), 4, "{left} are left");
            assert_eq!([tree.first, tree.last].contains(&leaf), left > 0);
            assert!([tree.first, tree.last].contains(&other));
        }
        assert_eq!(tree.check(&nodes), Ok(()));
    }
}

/// Two neighbours become one if a quarter of it stays free, and share what they have otherwise.
#[test]
fn neighbours_join_where_that_leaves_room() {
    for (others, expected) in
        [(7, vec![8, 11, 8]), (8, vec![8, 12, 8]), (9, vec![8, 6, 7, 8]), (12, vec![8, 8, 8, 8])]
    {
        let mut nodes: Vec<Slot<16>> = (0..100).map(|index| slot(0, index, 1)).collect();
        let mut tree = Tree::EMPTY;
        (0..64).for_each(|index| tree.insert(&mut nodes, index));
        let leaves = |tree: &Tree, nodes: &[Slot<16>]| -> Vec<usize> {
            let root = root(tree, nodes);
            root.entries().map(|entry| nodes[entry.child as usize].branch.len()).collect()
        };
        assert_eq!(leaves(&tree, &nodes), [16; 4]);
        // They shrink from their ends; then the second one has too few.
        for (leaf, left) in [(0, 8), (1, 5), (2, others), (3, 8)] {
            (leaf * 16 + left..leaf * 16 + 16).for_each(|index| tree.erase(&mut nodes, index));
        }
        assert_eq!(leaves(&tree, &nodes), [8, 5, others as usize, 8]);
        tree.erase(&mut nodes, 16);
        assert_eq!(leaves(&tree, &nodes), expected, "4 beside {others}");
        assert_eq!(tree.first_eligible(&nodes, 0).map(|entry| entry.child), Some(0));
    }
}

/// The depth grows with the logarithm, whatever was taken away before.
#[test]
fn the_tree_is_shallow() {
    let mut random = Random(7);
    let mut nodes: Vec<Node> = vec![slot(0, 0, 1); 20_000];
    for slot in &mut nodes {
        slot.entity.deadline = random.below(1 << 40);
    }
    let mut tree = inserted(&mut nodes);
    assert!(root(&tree, &nodes).level <= 4, "at least seven entries per branch");
    for (rank, index) in listed(&tree, &nodes).into_iter().enumerate() {
        if rank % 64 != 0 {
            tree.erase(&mut nodes, index);
        }
    }
    assert_eq!(tree.check(&nodes), Ok(()));
    assert!(root(&tree, &nodes).level <= 4, "at least four entries per branch");
}

/// Both searches of a branch, with values around the wrap and around zero, for every number of
/// entries: lanes that are not in use must not count whatever they hold.
#[test]
fn lanes_out_of_use_do_not_count() {
    for base in [0u64, u64::MAX - 3, i64::MAX as u64 - 3] {
        let mut branch = Branch::<14>::new(0);
        for index in 0..14 {
            let point = base.wrapping_add(index);
            branch.insert(index as usize, Entry { deadline: point, vruntime: point, child: 0 });
        }
        for len in (1..=14).rev() {
            assert_eq!(branch.len(), len);
            assert_eq!(branch.min_vruntime(), branch.entry(0).vruntime);
            for probe in -2..17i64 {
                let at = base.wrapping_add_signed(probe);
                let count = branch.entries().filter(|e| distance(e.deadline, at) <= 0).count();
                assert_eq!(branch.rank_for(at), count);
                assert_eq!(branch.first_not_after(at).is_some(), count > 0);
            }
            branch.remove(len / 3);
        }
    }
}

/// A few entities need no branch, whatever the tree was before, and more of them do.
#[test]
fn a_few_entities_need_no_branch() {
    let mut nodes: Vec<Slot<4>> = (0..26).map(|index| slot(index, index % 5, 1)).collect();
    let mut tree = Tree::EMPTY;
    let mut list = Vec::new();
    for _ in 0..3 {
        for index in 0..26 {
            assert_eq!(tree.root == NIL, index <= 4, "{index} entities");
            insert_sorted(&mut list, &nodes, index);
            tree.insert(&mut nodes, index);
            check(&tree, &nodes, &list);
        }
        for left in (0..26).rev() {
            tree.erase(&mut nodes, list.remove(left / 2));
            check(&tree, &nodes, &list);
            assert_eq!(tree.root == NIL, left <= 2, "{left} entities");
        }
        assert_eq!(tree, Tree::EMPTY);
    }
}

/// The same entities joining and leaving at random around the border between list and branches.
#[test]
fn lists_and_branches_say_the_same() {
    let mut random = Random(0xfe3);
    let mut nodes: Vec<Slot<4>> = vec![Slot::EMPTY; 7];
    let (mut tree, mut list) = (Tree::EMPTY, Vec::new());
    for _ in 0..50_000 {
        let index = random.below(7) as u32;
        if let Some(place) = list.iter().position(|&other| other == index) {
            list.remove(place);
            tree.erase(&mut nodes, index);
        } else {
            let branch = nodes[index as usize].branch.clone();
            nodes[index as usize] =
                Slot { branch, ..slot(random.below(9), random.below(5), 1 + random.below(3)) };
            let leaves = (!list.is_empty() && random.below(2) == 0)
                .then(|| list.remove(random.below(list.len() as u64) as usize));
            insert_sorted(&mut list, &nodes, index);
            match leaves {
                Some(leaves) => tree.exchange(&mut nodes, leaves, index),
                None => tree.insert(&mut nodes, index),
            }
        }
        check(&tree, &nodes, &list);
        let latest = random.below(9);
        let is_eligible = |&&index: &&u32| nodes[index as usize].entity.vruntime <= latest;
        let found = tree.first_eligible(&nodes, latest).map(|entry| entry.child);
        assert_eq!(found, list.iter().find(is_eligible).copied());
    }
}

#[test]
#[should_panic(expected = "slot 2 is in the tree but not on its list")]
fn who_is_not_listed_cannot_be_struck_off() {
    let mut nodes: Vec<Slot<4>> = (0..3).map(|index| slot(index, index, 1)).collect();
    let mut tree = Tree::EMPTY;
    (0..2).for_each(|index| tree.insert(&mut nodes, index));
    tree.erase(&mut nodes, 2);
}
