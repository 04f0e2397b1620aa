//! The schedulable thing: what a task carries from queue to queue.
//!
//! Off a queue an entity keeps its lag and, after a migration or a change of attributes, the
//! distance to its deadline; vruntime and deadline proper mean something only relative to the queue
//! that placed them.
//!
//! Source: `struct sched_entity`; "sched/fair: Implement an EEVDF-like scheduling policy".

use crate::feature::Feature;
use crate::rules::Rules;
use crate::variant::{ForkRule, SliceRule};
use crate::weight::{IDLE_POLICY_WEIGHT, Nice, Weight};

/// A dense task number below the capacity of every queue; it names the same task on all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub u32);

/// A fair scheduling policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// `SCHED_NORMAL`.
    #[default]
    Normal,
    /// `SCHED_BATCH`: never preempts on wake-up.
    Batch,
    /// `SCHED_IDLE`: weight 3, and preempted by anything else that wakes.
    Idle,
}

/// Shortest custom slice; shorter ones are raised to it.
pub const MIN_SLICE_NS: u64 = 100_000;
/// Longest custom slice; longer ones are lowered to it.
pub const MAX_SLICE_NS: u64 = 100_000_000;

/// What a user can set about a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Attr {
    /// The nice level.
    pub nice: Nice,
    /// The policy.
    pub policy: Policy,
    /// A slice of its own, clamped to `MIN_SLICE_NS..=MAX_SLICE_NS`; `None` for the base slice. Versions
    /// without custom slices ignore it.
    pub slice_ns: Option<u64>,
}

impl Attr {
    pub(crate) const fn weight(self) -> Weight {
        match self.policy {
            Policy::Idle => Weight::new(IDLE_POLICY_WEIGHT),
            Policy::Normal | Policy::Batch => Weight::new(self.nice.weight()),
        }
    }

    /// Returns the slice these attributes ask for, if the rules allow one.
    pub(crate) fn custom_slice_ns(self, rules: &Rules) -> Option<u64> {
        match rules.variant.slice {
            SliceRule::BaseOnly => None,
            SliceRule::Custom => self.slice_ns.map(|ns| ns.clamp(MIN_SLICE_NS, MAX_SLICE_NS)),
        }
    }
}

/// A schedulable entity.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)] // what a switch reads comes first, see `Node`
pub struct Entity {
    pub(crate) vruntime: u64,
    /// Virtual deadline; while `has_rel_deadline`, the distance to it.
    pub(crate) deadline: u64,
    pub(crate) slice_ns: u64,
    pub(crate) sum_exec_ns: u64,
    pub(crate) weight: Weight,
    pub(crate) has_rel_deadline: bool,
    pub(crate) is_delayed: bool,
    /// Whether the attributes name a slice. They are on another cache line, and every new request
    /// would read them for this alone.
    pub(crate) has_own_slice: bool,
    pub(crate) vlag: i64,
    pub(crate) attr: Attr,
}

impl Entity {
    pub(crate) const NONE: Entity = Entity {
        attr: Attr { nice: Nice::ZERO, policy: Policy::Normal, slice_ns: None },
        weight: Weight::new(Nice::ZERO.weight()),
        vruntime: 0,
        vlag: 0,
        deadline: 0,
        has_rel_deadline: false,
        is_delayed: false,
        has_own_slice: false,
        slice_ns: 0,
        sum_exec_ns: 0,
    };

    /// Returns an entity that never ran, with no lag.
    pub fn new(attr: Attr, rules: &Rules) -> Entity {
        let mut entity = Entity { weight: attr.weight(), ..Entity::NONE };
        entity.set_slice(attr, rules);
        entity
    }

    /// Returns a child: attributes and slice of the parent, nothing of its history.
    pub fn fork(&self, rules: &Rules) -> Entity {
        let child = Entity {
            attr: self.attr,
            weight: self.weight,
            slice_ns: self.slice_ns,
            has_own_slice: self.has_own_slice,
            ..Entity::NONE
        };
        match rules.variant.fork {
            ForkRule::ClearsRelDeadline => child,
            ForkRule::KeepsRelDeadline => {
                Entity { deadline: self.deadline, has_rel_deadline: self.has_rel_deadline, ..child }
            }
        }
    }

    /// Changes the attributes of an entity that is on no queue. Lag and the distance to the
    /// deadline are scaled, so that `weight * lag` stays.
    pub fn set_attr(&mut self, attr: Attr, rules: &Rules) {
        let weight = attr.weight();
        self.vlag = rescale(self.vlag, self.weight, weight);
        if self.has_rel_deadline {
            self.deadline = rescale(self.deadline as i64, self.weight, weight) as u64;
        }
        self.weight = weight;
        self.set_slice(attr, rules);
    }

    /// Takes over attributes that do not move the entity: policy and slice, not weight.
    pub(crate) fn set_slice(&mut self, attr: Attr, rules: &Rules) {
        self.attr = attr;
        self.has_own_slice = attr.slice_ns.is_some();
        self.slice_ns = attr.custom_slice_ns(rules).unwrap_or(rules.base_slice_ns());
    }

    /// Takes over a changed base slice, unless the slice is its own.
    #[inline]
    pub(crate) fn refresh_slice(&mut self, rules: &Rules) {
        if !self.has_own_slice || rules.variant.slice == SliceRule::BaseOnly {
            self.slice_ns = rules.base_slice_ns();
        }
    }

    /// Turns the deadline into a distance for the next placement, if it is to survive that.
    pub(crate) fn leave(&mut self, keeps_deadline: bool, rules: &Rules) {
        if keeps_deadline && rules.has(Feature::PlaceRelDeadline) {
            self.deadline = self.deadline.wrapping_sub(self.vruntime);
            self.has_rel_deadline = true;
        }
    }

    #[inline]
    pub(crate) fn virtual_ns(&self, delta_ns: u64, rules: &Rules) -> u64 {
        self.weight.virtual_ns(delta_ns, rules.variant.vt_math)
    }

    #[inline]
    pub(crate) fn virtual_slice_ns(&self, rules: &Rules) -> u64 {
        self.virtual_ns(self.slice_ns, rules)
    }

    /// Tells whether a lag is less than the own request in either direction: by a fortieth, since
    /// converting a slice to virtual time may round it down by a few millionths.
    #[inline]
    pub(crate) fn is_small_lag(&self, lag: i64) -> bool {
        let owed = i128::from(lag) * i128::from(self.weight());
        owed.unsigned_abs() <= u128::from(self.slice_ns) * 1000
    }

    /// Returns the attributes as set.
    pub fn attr(&self) -> Attr {
        self.attr
    }

    /// Returns the load weight (nice 0 = 1024).
    pub fn weight(&self) -> u32 {
        self.weight.get()
    }

    /// Returns the virtual time it has run, in virtual nanoseconds; wraps.
    pub fn vruntime(&self) -> u64 {
        self.vruntime
    }

    /// Returns the lag it last left a queue with, in virtual nanoseconds; positive = owed service.
    pub fn vlag(&self) -> i64 {
        self.vlag
    }

    /// Returns the virtual deadline of the current request; the distance to it after a dequeue that
    /// keeps it.
    pub fn deadline(&self) -> u64 {
        self.deadline
    }

    /// Returns the length of a request in real nanoseconds.
    pub fn slice_ns(&self) -> u64 {
        self.slice_ns
    }

    /// Returns the real time it has run in all.
    pub fn sum_exec_ns(&self) -> u64 {
        self.sum_exec_ns
    }

    /// Tells whether it is asleep but still competing to repay its debt.
    pub fn is_delayed(&self) -> bool {
        self.is_delayed
    }
}

/// Scales a virtual distance so that `weight * distance` stays, truncating as Linux does.
pub(crate) fn rescale(distance: i64, from: Weight, to: Weight) -> i64 {
    (i128::from(distance) * i128::from(from.get()) / i128::from(to.get())) as i64
}

#[cfg(test)]
mod tests;
