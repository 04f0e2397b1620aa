//! The walk finds every kind of damage: a checker that is blind would let all other tests pass.

use super::*;
use crate::entity::Entity;
use crate::node::Link;
use crate::tree::branch::Entry;
use std::vec;
use std::vec::Vec;

const COUNT: u64 = 26;

/// Three levels of four lanes each; every entity has its own deadline, vruntime and slice.
fn sound() -> (Tree, Vec<Slot<4>>) {
    let entity = |index: u64| Entity {
        deadline: 100 + index,
        vruntime: 50 + index * 7 % 40,
        slice_ns: 1000 + index * 11 % 40,
        ..Entity::NONE
    };
    let slot = |index| Slot { entity: entity(index), place: Place::Tree, ..Slot::EMPTY };
    let mut nodes: Vec<Slot<4>> = (0..COUNT).map(slot).collect();
    let mut tree = Tree::EMPTY;
    // Out of order, or leaves would be full and the last branches as small as they may be.
    (0..COUNT as u32).for_each(|index| tree.insert(&mut nodes, index * 5 % COUNT as u32));
    assert_eq!(nodes[tree.root as usize].branch.level, 2);
    assert_eq!(tree.check(&nodes), Ok(()));
    (tree, nodes)
}

/// The child at a path of ranks from the root.
fn at(tree: &Tree, nodes: &[Slot<4>], path: &[usize]) -> u32 {
    path.iter().fold(tree.root, |at, &rank| nodes[at as usize].branch.entry(rank).child)
}

/// What the check says of a sound tree after some damage.
fn found(damage: impl FnOnce(&mut Tree, &mut Vec<Slot<4>>)) -> Violation {
    let (mut tree, mut nodes) = sound();
    damage(&mut tree, &mut nodes);
    tree.check(&nodes).expect_err("the tree is damaged")
}

fn branch(nodes: &mut [Slot<4>], index: u32) -> &mut Branch<4> {
    &mut nodes[index as usize].branch
}

#[test]
fn a_root_has_no_parent_and_two_children() {
    let (tree, nodes) = sound();
    let shape = Violation::Shape { id: EntityId(tree.root) };
    assert_eq!(found(|tree, nodes| branch(nodes, tree.root).parent = 0), shape);
    let others = nodes[tree.root as usize].branch.len() - 1;
    let is_only_child = found(|tree, nodes| {
        (0..others).for_each(|_| _ = branch(nodes, tree.root).remove(1));
    });
    assert_eq!(is_only_child, shape);
}

#[test]
fn the_tree_knows_its_ends_and_counts() {
    let (tree, _) = sound();
    let (first, last) = (tree.first, tree.last);
    assert_eq!(
        found(|tree, _| tree.first = last),
        Violation::Leftmost { expected: first, found: last }
    );
    assert_eq!(
        found(|tree, _| tree.last = first),
        Violation::Rightmost { expected: last, found: first }
    );
    assert_eq!(found(|tree, _| tree.len += 1), Violation::Count { expected: 26, found: 27 });
    let used = tree.fresh;
    let lost = Violation::Branches { expected: used + 1, found: used };
    assert_eq!(found(|tree, _| tree.fresh += 1), lost);
    let twice = found(|tree, nodes| {
        let spare = tree.fresh;
        (tree.free, branch(nodes, spare).parent) = (spare, NIL);
    });
    assert_eq!(twice, Violation::Branches { expected: used, found: used + 1 });
    let endless = found(|tree, nodes| {
        let spare = tree.fresh;
        (tree.free, branch(nodes, spare).parent) = (spare, spare);
    });
    let found = used + COUNT as u32 + 1;
    assert_eq!(endless, Violation::Branches { expected: used, found }, "no cycle is followed");
}

#[test]
fn free_branches_are_counted() {
    let (mut tree, mut nodes) = sound();
    (0..23).for_each(|index| tree.erase(&mut nodes, index));
    nodes[..23].iter_mut().for_each(|slot| slot.place = Place::Off);
    assert_eq!(tree.check(&nodes), Ok(()));
    assert_ne!(tree.free, NIL);
    tree.free = NIL;
    assert!(matches!(tree.check(&nodes), Err(Violation::Branches { .. })));
}

/// Only at the ends of the leaves and at the end of the branches above may few entries be left.
#[test]
fn a_branch_in_the_middle_is_not_too_small() {
    let (tree, nodes) = sound();
    let width = |path: &[usize]| nodes[at(&tree, &nodes, path) as usize].branch.len();
    let last = width(&[]) - 1;
    let ends = [vec![0, 0], vec![last, width(&[last]) - 1]];
    for first_rank in 0..=last {
        for rank in 0..width(&[first_rank]) {
            let path = vec![first_rank, rank];
            let (mut tree, mut nodes) = sound();
            let leaf = at(&tree, &nodes, &path);
            while nodes[leaf as usize].branch.len() > 1 {
                branch(&mut nodes, leaf).remove(1);
                tree.len -= 1;
            }
            let found = tree.check(&nodes);
            let is_small = found == Err(Violation::Shape { id: EntityId(leaf) });
            assert_eq!(is_small, !ends.contains(&path), "{path:?}: {found:?}");
        }
    }
    let is_small = found(|tree, nodes| {
        let inner = at(tree, nodes, &[0]);
        while nodes[inner as usize].branch.len() > 1 {
            branch(nodes, inner).remove(1);
        }
    });
    assert_eq!(is_small, Violation::Shape { id: EntityId(at(&tree, &nodes, &[0])) });
    let is_empty = found(|tree, nodes| {
        let leaf = tree.last;
        while nodes[leaf as usize].branch.len() > 0 {
            branch(nodes, leaf).remove(0);
        }
    });
    assert_eq!(is_empty, Violation::Shape { id: EntityId(tree.last) });
}

#[test]
fn ends_may_be_small() {
    let mut nodes: Vec<Slot<4>> = sound().1;
    for count in 1..=COUNT as u32 {
        nodes.iter_mut().for_each(|slot| (slot.branch, slot.link) = (Branch::EMPTY, Link::NONE));
        let mut tree = Tree::EMPTY;
        (0..count).for_each(|index| tree.insert(&mut nodes, index));
        assert_eq!(tree.check(&nodes), Ok(()), "{count} in order");
    }
}

#[test]
fn aggregates_follow_from_what_is_below() {
    let (tree, nodes) = sound();
    for path in [vec![], vec![1], vec![1, 1]] {
        let index = at(&tree, &nodes, &path);
        let wrong = Violation::Aggregate { id: EntityId(index) };
        // A slice beyond that of all others is a surprise to those above already.
        let above: Vec<u32> = (0..=path.len()).map(|len| at(&tree, &nodes, &path[..len])).collect();
        let is_seen = |found| matches!(found, Violation::Aggregate { id } if above.contains(&id.0));
        assert!(is_seen(found(|_, nodes| branch(nodes, index).min_slice_ns -= 1)));
        assert!(is_seen(found(|_, nodes| branch(nodes, index).max_slice_ns += 1)));
        if let Some((&rank, above)) = path.split_last() {
            let above = at(&tree, &nodes, above);
            let lane = nodes[above as usize].branch.order.lane(rank);
            let found = found(|_, nodes| branch(nodes, above).set_vruntime(lane, 0));
            assert_eq!(found, wrong);
        }
    }
}

#[test]
fn a_leaf_says_what_its_entities_say() {
    let (tree, nodes) = sound();
    let index = at(&tree, &nodes, &[1, 1, 0]);
    let slot = |damage: fn(&mut Slot<4>)| found(|_, nodes| damage(&mut nodes[index as usize]));
    let shape = Violation::Shape { id: EntityId(index) };
    assert_eq!(slot(|slot| slot.place = Place::Off), shape);
    assert_eq!(slot(|slot| slot.link.leaf = NIL), shape);
    assert_eq!(slot(|slot| slot.link.lane ^= 1), shape);
    let wrong = Violation::Aggregate { id: EntityId(index) };
    assert_eq!(slot(|slot| slot.entity.deadline += 1), wrong);
    assert_eq!(slot(|slot| slot.entity.vruntime += 1), wrong);
}

#[test]
fn a_branch_hangs_where_it_says() {
    let (tree, nodes) = sound();
    for path in [vec![1], vec![1, 1]] {
        let index = at(&tree, &nodes, &path);
        let shape = Violation::Shape { id: EntityId(index) };
        assert_eq!(found(|_, nodes| branch(nodes, index).parent = NIL), shape);
        assert_eq!(found(|_, nodes| branch(nodes, index).lane ^= 1), shape);
        assert_eq!(found(|_, nodes| branch(nodes, index).level += 1), shape);
    }
}

#[test]
fn deadlines_and_separators_are_in_order() {
    let (tree, nodes) = sound();
    let index = at(&tree, &nodes, &[1, 1, 1]);
    let out_of_order = found(|tree, nodes| {
        let leaf = at(tree, nodes, &[1, 1]);
        let deadline = nodes[leaf as usize].branch.entry(0).deadline - 1;
        nodes[index as usize].entity.deadline = deadline;
        branch(nodes, leaf).set_deadline(1, deadline);
    });
    assert_eq!(out_of_order, Violation::Order { id: EntityId(index) });

    let inner = at(&tree, &nodes, &[1]);
    let Entry { deadline, child, .. } = nodes[inner as usize].branch.entry(1);
    let too_early = found(|_, nodes| branch(nodes, inner).set_deadline(1, deadline - 10));
    assert_eq!(too_early, Violation::Order { id: EntityId(child) });
    let first = nodes[child as usize].branch.entry(0).child;
    let too_late = found(|_, nodes| branch(nodes, inner).set_deadline(1, deadline + 1));
    assert_eq!(too_late, Violation::Order { id: EntityId(first) });
    // The first separator of a branch means nothing.
    let (tree, mut nodes) = sound();
    branch(&mut nodes, inner).set_deadline(0, deadline + 1000);
    assert_eq!(tree.check(&nodes), Ok(()));
}

#[test]
fn a_list_is_checked() {
    let few = || {
        let mut nodes = sound().1;
        let mut tree = Tree::EMPTY;
        nodes.iter_mut().for_each(|slot| slot.link = Link::NONE);
        [3, 9, 4].iter().for_each(|&index| tree.insert(&mut nodes, index));
        (tree, nodes)
    };
    let (tree, nodes) = few();
    assert_eq!(tree.check(&nodes), Ok(()));
    let found = |damage: fn(&mut Tree, &mut Slot<4>)| {
        let (mut tree, mut nodes) = few();
        damage(&mut tree, &mut nodes[4]);
        tree.check(&nodes).expect_err("the tree is damaged")
    };
    let shape = Violation::Shape { id: EntityId(4) };
    assert_eq!(found(|_, slot| slot.place = Place::Off), shape);
    assert_eq!(found(|_, slot| slot.link.leaf = 0), shape);
    assert_eq!(found(|tree, _| tree.root = 0), Violation::Shape { id: EntityId(3) });
    let order = Violation::Order { id: EntityId(4) };
    assert_eq!(found(|tree, _| tree.few.swap(1, 2)), order);
    assert_eq!(found(|_, slot| slot.entity.deadline = 0), order);
    assert_eq!(found(|tree, _| tree.len = 4), Violation::Count { expected: 3, found: 4 });
    assert_eq!(found(|tree, _| tree.few[2] = NIL), Violation::Count { expected: 2, found: 3 });
}
