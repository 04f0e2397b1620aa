//! One slot of the arena: an entity, where it stands, and room for a branch of the tree.
//!
//! Entity and branch of a slot have nothing to do with each other. A tree of n entities needs fewer than n
//! branches, so as many of them as slots is enough, whatever their number.

use core::mem::offset_of;

use crate::entity::Entity;
use crate::tree::Branch;

/// Index that names no slot. The arena is never that long, so `nodes.get(NIL)` is `None`.
pub(crate) const NIL: u32 = u32::MAX;

/// Entries of a branch. A slot of seven cache lines spreads over all sets of a cache; with sixteen
/// entries it would have eight, and all entities would share an eighth of the sets.
const FANOUT: usize = 14;

/// Where the entity of a slot stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Not on this queue.
    Off,
    /// In the tree, waiting.
    Tree,
    /// Running, hence out of the tree.
    Running,
    /// Left the competition during a wakeup test and waits to be handed out by the next pick.
    Parked,
}

/// What an entity hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// Slot of its leaf, `NIL` out of the tree.
    pub(crate) leaf: u32,
    /// Slot of the entity to its right in the chain of the parked.
    pub(crate) right: u32,
    /// Its lane in the leaf.
    pub(crate) lane: u8,
}

impl Link {
    pub(crate) const NONE: Link = Link { leaf: NIL, right: NIL, lane: 0 };
}

/// One slot of a queue's storage; slot n belongs to `EntityId(n)`.
pub type Node = Slot<FANOUT>;

/// A slot with a branch of `F` lanes.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Slot<const F: usize> {
    pub(crate) link: Link,
    pub(crate) place: Place,
    pub(crate) entity: Entity,
    pub(crate) branch: Branch<F>,
}

// What a switch reads of an entity is one cache line; large queues wait for little else.
const _: () = {
    assert!(offset_of!(Node, entity) + offset_of!(Entity, vlag) <= 64);
    assert!(offset_of!(Node, branch) == 128);
    assert!(size_of::<Node>() == 7 * 64);
};

impl<const F: usize> Slot<F> {
    /// A slot nobody uses.
    pub const EMPTY: Slot<F> =
        Slot { link: Link::NONE, entity: Entity::NONE, place: Place::Off, branch: Branch::EMPTY };
}

impl<const F: usize> Default for Slot<F> {
    fn default() -> Slot<F> {
        Slot::EMPTY
    }
}
