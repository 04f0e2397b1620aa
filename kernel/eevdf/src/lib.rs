//! EEVDF for one CPU: who runs next, and when that question is asked again.
//!
//! *Earliest Eligible Virtual Deadline First* shares a CPU in proportion to weights and lets every
//! entity ask for service in requests of its own length.
//!
//! - **vruntime** v: service received, divided by weight. It grows faster the lighter the entity.
//! - **V** (`avg_vruntime`): the weighted average of all v, the point where an entity has received exactly
//!   its share.
//! - **lag** V - v: owed service. Lags, weighted, add up to zero. Positive means owed.
//! - **eligible**: lag is not negative. Who got more than its share waits for V to catch up.
//! - **slice** r: the length of a request in real time. **deadline** d = v + r / w.
//! - The **pick** is the eligible entity with the earliest deadline. Short requests have near deadlines
//!   and are served soon; being eligible keeps that from being served more.
//!
//! In the paper lag stays within one request and one quantum whatever happens. Linux adds what
//! machines need (ticks that charge late, protection against too many switches, sleepers that may not
//! forget their debt) and changed those additions with almost every version. Each change is a named
//! rule here ([`Variant`]), each version a row of rules ([`Preset`]).
//!
//! The crate decides and does not act: time comes in as an argument, answers go out as values.
//! It has no lock, no clock and no allocation; a [`RunQueue`] lives in storage the caller gives it.
//!
//! ```
//! use eevdf::{Attr, Enqueue, Entity, EntityId, Node, Pick, Preset, Resched, RunQueue, Rules};
//!
//! let rules = Rules::new(Preset::V7_0, 8, 1000);
//! let mut rq = RunQueue::new(rules, [Node::EMPTY; 2]);
//! for id in [EntityId(0), EntityId(1)] {
//!     rq.enqueue(id, Entity::new(Attr::default(), &rules), Enqueue::Initial, 0);
//! }
//! assert!(matches!(rq.pick_next(0), Pick::Run { id: EntityId(0), .. }));
//! // A forked entity starts with half a slice, 1.4 ms, which ends between two ticks.
//! assert_eq!(rq.tick(1_000_000), Resched::No);
//! assert_eq!(rq.tick(2_000_000), Resched::Lazy);
//! assert!(matches!(rq.pick_next(2_000_000), Pick::Run { id: EntityId(1), .. }));
//! ```
//!
//! | file | decides |
//! | --- | --- |
//! | `weight`, `time` | units: nice levels, virtual time, clocks that wrap |
//! | `feature`, `variant`, `preset`, `rules` | which kernel this is |
//! | `entity`, `node`, `tree`, `avg` | what is kept: the entity, the arena, the order, V |
//! | `runqueue`, `inspect` | joining and leaving; looking |
//! | `place`, `lag`, `charge` | where an entity starts, what it may keep, what it pays |
//! | `pick`, `protect`, `preempt` | who runs, for how long, and who may interrupt |
//! | `delay`, `reweight`, `yielding`, `hrtick` | the special ways in and out |
//! | `invariants` | whether all that is still true |
//!
//! Sources: I. Stoica, H. Abdel-Wahab, "Earliest Eligible Virtual Deadline First: A Flexible and
//! Accurate Mechanism for Proportional Share Resource Allocation", TR-95-22, Old Dominion University,
//! 1995; Linux `kernel/sched/fair.c`, whose commits are cited by subject. What is marked *deduced* was
//! concluded from commit subjects and neighbouring versions.

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod avg;
mod charge;
mod delay;
mod entity;
mod feature;
mod hrtick;
mod inspect;
mod invariants;
mod lag;
mod node;
mod pick;
mod place;
mod preempt;
mod preset;
mod protect;
mod reweight;
mod rules;
mod runqueue;
mod time;
mod tree;
mod variant;
mod weight;
mod yielding;

pub use entity::{Attr, Entity, EntityId, MAX_SLICE_NS, MIN_SLICE_NS, Policy};
pub use feature::{Feature, Features};
pub use invariants::Violation;
pub use node::Node;
pub use pick::{Pick, PickReason};
pub use preempt::Wake;
pub use preset::Preset;
pub use rules::{RuleValue, Rules, TunableScaling};
pub use runqueue::{Dequeue, Dequeued, Enqueue, Resched, RunQueue};
pub use variant::{
    BaseRule, BuddyPick, DelayedInTest, DelayedLag, DelayedWakee, ForkRule, ForkWakee, HrtickRule,
    IdleCurr, LagClamp, NextBuddyRule, PendingResched, ProtectOn, ProtectShrink, Protection,
    ReschedRule, ReweightProtect, ReweightRule, RuleText, ShortWakee, SliceEnd, SliceRule, Variant,
    VtMath, YieldRule,
};
pub use weight::{IDLE_POLICY_WEIGHT, NICE_0_WEIGHT, Nice};
