//! Changing weight, slice or policy of an entity that is queued.
//!
//! A change of weight must keep `weight * lag` and V, or renicing becomes a way to make time. The
//! direct way scales the distances around V; leaving and joining again does the same in principle,
//! but goes wrong for the running entity, which V still counts while it is placed.
//!
//! Source: TR-95-22, section 4; `reweight_entity()`, `reweight_eevdf()`; "sched/eevdf: Fix vruntime
//! adjustment on reweight", "sched/fair: Revert 6d71a9c61604".

use crate::entity::{Attr, Entity, EntityId, rescale};
use crate::node::Node;
use crate::protect::Guard;
use crate::runqueue::{RunQueue, Running};
use crate::time::distance;
use crate::variant::{ProtectOn, ReweightProtect, ReweightRule};

impl<S: AsRef<[Node]> + AsMut<[Node]>> RunQueue<S> {
    /// Changes the attributes of a queued entity, running, waiting or delayed.
    ///
    /// A new weight goes by the reweight rule, as when the share of a group changes. A system call
    /// in Linux takes the way around instead: `dequeue` for a change, `Entity::set_attr`, `enqueue` to restore
    /// (deduced, not checked against every tree); a caller can do the same. A new slice alone is a leave and a
    /// return in all versions: the distance to the deadline stays, and the slice counts at once
    /// where slices are compared.
    ///
    /// # Panics
    ///
    /// If `id` is not queued.
    pub fn set_attr(&mut self, id: EntityId, attr: Attr, now: u64) {
        self.assert_queued(id, "given attributes");
        let is_running = self.is_running(id);
        let (from, to) = (self.entity_of(id).weight, attr.weight());
        if is_running || self.rules.variant.reweight != ReweightRule::DirectStale {
            self.charge(now);
        }
        if from == to {
            self.leave_and_return(id, attr);
        } else {
            match self.rules.variant.reweight {
                ReweightRule::DeadlineOnly => self.scale_deadline(id, attr),
                ReweightRule::DirectStale => self.scale_around_stale_mean(id, attr),
                ReweightRule::Direct => self.scale_around_mean(id, attr),
                ReweightRule::Replace => self.replace_reweighted(id, attr),
            }
        }
        self.advance_base();
        if is_running && self.rules.variant.protect_on == ProtectOn::EverySet {
            // The way through dequeue and enqueue sets it running again, and that protects it anew.
            self.arm_protection();
        }
    }

    fn leave_and_return(&mut self, id: EntityId, attr: Attr) {
        let rules = self.rules;
        let vlag = self.clamped_lag(id);
        let running = self.running.filter(|running| running.id == id);
        self.detach(id);
        let entity = &mut self.node_mut(id).entity;
        entity.vlag = vlag;
        entity.leave(true, &rules);
        entity.set_slice(attr, &rules);
        self.place(id, false, self.nr_queued());
        self.put_back(id, running);
    }

    fn scale_deadline(&mut self, id: EntityId, attr: Attr) {
        let mean = self.entity_of(id).vruntime;
        self.scale_around(id, attr, mean, 0);
    }

    fn scale_around_stale_mean(&mut self, id: EntityId, attr: Attr) {
        // V is read with a waiting entity already out of the sums, and unclamped lag has overflowed
        // ("sched/eevdf: Fix miscalculation in reweight_entity() when se is not curr", "sched/eevdf:
        // Prevent vlag from going out of bounds in reweight_eevdf()").
        let mean = match self.curr() {
            Some(curr) if curr == id => self.avg_vruntime(),
            _ => {
                let entity = self.entity_of(id);
                let mut others = self.average;
                others.remove(entity.vruntime, u64::from(entity.weight()));
                others.mean()
            }
        };
        let lag = distance(mean, self.entity_of(id).vruntime);
        self.scale_around(id, attr, mean, lag);
    }

    fn scale_around_mean(&mut self, id: EntityId, attr: Attr) {
        let lag = self.clamped_lag(id);
        let mean = self.avg_vruntime();
        self.scale_around(id, attr, mean, lag);
    }

    /// Scales lag and deadline around `mean`, and puts the entity where they say.
    fn scale_around(&mut self, id: EntityId, attr: Attr, mean: u64, lag: i64) {
        let old = self.entity_of(id).clone();
        let mut new = old.clone();
        new.weight = attr.weight();
        new.set_slice(attr, &self.rules);
        let scaled = |distance| rescale(distance, old.weight, new.weight);
        // A delayed entity is held to the lag it blocked with, so that scales too.
        new.vlag = scaled(lag);
        new.vruntime = mean.wrapping_add_signed(-new.vlag);
        new.deadline = mean.wrapping_add_signed(scaled(distance(old.deadline, mean)));
        let running = self.running.filter(|running| running.id == id);
        self.detach(id);
        let running = running.map(|running| self.scale_guard(running, &old, &new, mean));
        self.node_mut(id).entity = new;
        self.put_back(id, running);
    }

    /// Leaves, changes and is placed again. A running entity is still counted in V and W while it is
    /// placed, at its old vruntime with its new weight.
    fn replace_reweighted(&mut self, id: EntityId, attr: Attr) {
        let old = self.entity_of(id).clone();
        let mut new = old.clone();
        new.weight = attr.weight();
        new.set_slice(attr, &self.rules);
        let mean = self.avg_vruntime();
        new.vlag = rescale(self.clamped_lag(id), old.weight, new.weight);
        let until_deadline = distance(old.deadline, old.vruntime);
        new.deadline = rescale(until_deadline, old.weight, new.weight) as u64;
        new.has_rel_deadline = true;
        let running = self.running.filter(|running| running.id == id);
        self.detach(id);
        let others = self.nr_queued();
        let still_counted = (old.vruntime, u64::from(new.weight.get()));
        if running.is_some() {
            self.average.add(still_counted.0, still_counted.1);
        }
        self.node_mut(id).entity = new;
        self.place(id, false, others);
        if running.is_some() {
            self.average.remove(still_counted.0, still_counted.1);
        }
        let new = self.entity_of(id);
        let running = running.map(|running| self.scale_guard(running, &old, new, mean));
        self.put_back(id, running);
    }

    /// Returns the running entity with the end of its protection moved by the rule.
    fn scale_guard(&self, running: Running, old: &Entity, new: &Entity, mean: u64) -> Running {
        let Guard::Until(end) = running.guard else { return running };
        let scaled = |distance| rescale(distance, old.weight, new.weight);
        let end = match self.rules.variant.reweight_protect {
            ReweightProtect::Stale => end,
            ReweightProtect::AroundOwn => {
                new.vruntime.wrapping_add_signed(scaled(distance(end, old.vruntime)))
            }
            ReweightProtect::AroundMean => mean.wrapping_add_signed(scaled(distance(end, mean))),
        };
        Running { guard: Guard::Until(end), ..running }
    }

    /// Puts a changed entity back where it was: running, or in the tree.
    fn put_back(&mut self, id: EntityId, running: Option<Running>) {
        self.count(id);
        match running {
            Some(_) => self.running = running,
            None => self.hang(id),
        }
    }
}
