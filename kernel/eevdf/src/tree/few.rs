//! Entities that are too few for a branch: a sorted list of their slots.
//!
//! Behind the listed ones stands `NIL`. Their links say that they hang on no leaf.

use super::{FEW, Spot, Tree};
use crate::entity::Entity;
use crate::node::{Link, NIL, Slot};
use crate::time::before;

impl Tree {
    /// Returns the entities of a tree without a root, in order.
    #[inline]
    pub(super) fn few<'a, const F: usize>(
        &'a self,
        nodes: &'a [Slot<F>],
    ) -> impl Iterator<Item = &'a Entity> {
        let few = self.few.iter().take_while(|&&index| index != NIL);
        few.map(|&index| &nodes[index as usize].entity)
    }

    /// Lists one more: behind its equals.
    #[inline]
    pub(super) fn list<const F: usize>(&mut self, nodes: &[Slot<F>], index: u32) {
        let deadline = nodes[index as usize].entity.deadline;
        let mut at = self.len as usize % FEW;
        while let Some(&other) = self.few.get(at.wrapping_sub(1))
            && before(deadline, nodes[other as usize].entity.deadline)
        {
            self.few[at] = other;
            at -= 1;
        }
        self.few[at] = index;
        self.len += 1;
    }

    /// Takes one off the list.
    #[inline]
    pub(super) fn strike(&mut self, index: u32) {
        let mut behind = NIL;
        for slot in self.few.iter_mut().rev() {
            let this = core::mem::replace(slot, behind);
            if this == index {
                self.len -= 1;
                return;
            }
            behind = this;
        }
        unreachable!("slot {index} is in the tree but not on its list");
    }

    /// Hangs all that are listed on a leaf.
    #[cold]
    pub(super) fn plant<const F: usize>(&mut self, nodes: &mut [Slot<F>]) {
        let few = core::mem::replace(&mut self.few, [NIL; FEW]);
        self.len = 0;
        for (rank, index) in few.into_iter().enumerate() {
            self.insert_at(nodes, Spot { branch: self.root, rank }, index);
        }
    }

    /// Lists all that hang on leaves.
    #[cold]
    pub(super) fn uproot<const F: usize>(&mut self, nodes: &mut [Slot<F>]) {
        let mut few = [NIL; FEW];
        let mut next = self.leftmost(nodes);
        for slot in few.iter_mut().take(self.len as usize) {
            *slot = next;
            next = self.next(nodes, next);
        }
        for &index in few.iter().take(self.len as usize) {
            nodes[index as usize].link = Link::NONE;
        }
        // No branch is used any more, and so none is free for having been.
        *self = Tree { few, len: self.len, ..Tree::EMPTY };
    }
}
