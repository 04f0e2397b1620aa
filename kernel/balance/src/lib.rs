//! Load balancing: which CPU takes what from which other one, and when.
//!
//! A CPU looks after itself. In each of its scheduling domains, from the narrowest up, it compares
//! its own group of CPUs with the others and takes from the busiest: at ticks, seldom while it is
//! busy; and at once when it runs dry.
//!
//! | file | decides |
//! | --- | --- |
//! | `view` | what is seen of a CPU |
//! | `group` | what kind of busy a group of CPUs is |
//! | `busiest` | whether there is an imbalance, of what and how much; which CPU to take from |
//! | `detach` | which tasks may be taken, and when it is enough |
//! | `domain` | when to try again, and when to push a task that runs |
//! | `newidle` | whether looking for work is worth what it costs |
//! | `nohz` | who balances for CPUs whose tick is stopped |
//!
//! Nothing here reads a clock, takes a lock or moves a task. What is seen of other CPUs may be a
//! moment old; the kernel looks again under the lock of the one queue it takes from.
//!
//! Left out: all that needs groups of tasks, NUMA or CPUs of different capacity; the term for the
//! rate of calls that 7.2 adds to proportional newidle balancing (`NI_RATE`).
//!
//! Source: `kernel/sched/fair.c`, `sched_balance_rq()` and what it calls; "sched/fair: Rework
//! load_balance()".

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod busiest;
mod detach;
mod domain;
mod group;
mod newidle;
mod nohz;
mod view;

pub use busiest::{Busiest, Migration, find_busiest};
pub use detach::{Candidate, Detach, Verdict};
pub use domain::{DomainState, Outcome, should_balance};
pub use newidle::{AvgIdle, MIGRATION_COST_NS, NewidleRate};
pub use nohz::{may_kick, next_idle};
pub use view::{CpuView, Idle};
