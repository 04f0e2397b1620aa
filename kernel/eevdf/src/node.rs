//! One slot of the arena: an entity, where it stands, and its link in the tree.

use core::mem::offset_of;

use crate::entity::Entity;
use crate::tree::Link;

/// Index that names no node. The arena is never that long, so `nodes.get(NIL)` is `None`.
pub(crate) const NIL: u32 = u32::MAX;

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

/// One slot of a queue's storage; slot n belongs to `EntityId(n)`.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Node {
    pub(crate) link: Link,
    pub(crate) entity: Entity,
    pub(crate) place: Place,
}

// Searching and restoring the tree visits a path of nodes. What it reads there, the link and the
// first fields of the entity, is one cache line per node; large queues wait for little else.
const _: () = {
    assert!(offset_of!(Node, entity) + offset_of!(Entity, sum_exec_ns) == 64);
    assert!(size_of::<Node>() == 128);
};

impl Node {
    /// A slot nobody uses.
    pub const EMPTY: Node = Node { entity: Entity::NONE, place: Place::Off, link: Link::NONE };
}

impl Default for Node {
    fn default() -> Node {
        Node::EMPTY
    }
}
