//! The scheduler's mechanism: it asks `eevdf`, checks the answer and acts on it.
//!
//! | file | what |
//! | --- | --- |
//! | `rq.rs` | a CPU's runqueue: the policy's queue, its clocks, the stint in progress |
//! | `class.rs` | the classes of a runqueue and their order |
//! | `schedule.rs` | leaving the CPU: choose, account, switch |
//! | `wakeup.rs` | making a blocked task runnable, here or on another CPU |
//! | `ttwu_queue.rs` | leaving the rest of a wake-up to the other CPU |
//! | `select.rs` | choosing a CPU for a wake-up or a fork |
//! | `domains.rs` | the topology and rules in force, and what a cache's CPUs share |
//! | `seen.rs` | what other CPUs see of a CPU |
//! | `sleep.rs` | sleeping until a time |
//! | `fork.rs` | a new task gets a CPU |
//! | `change.rs` | what a task changes about itself |
//! | `tick.rs` | what the tick does |
//! | `idle.rs` | a CPU without a task, and its way back |
//! | `load.rs` | averages of load |
//! | `recency.rs` | tasks in the order in which they ran |
//! | `balance/` | moving tasks between CPUs |
//! | `audit.rs` | whether every task is in one place, at the end |
//!
//! Lock order: a task's `wait`, a runqueue, then the leaves (a task's `parked`, `account` and
//! `tracked`, a CPU's `balance`).
//! What tasks wait for (semaphores, pipes, ...) has locks that are released before any of these is
//! taken. Never two runqueues at once. All with interrupts off, and interrupts off is
//! also what holds preemption off.

mod audit;
mod balance;
mod change;
mod class;
pub(crate) mod domains;
mod fork;
mod idle;
mod load;
mod recency;
mod rq;
mod schedule;
mod seen;
mod select;
mod sleep;
pub(crate) mod tick;
pub(crate) mod ttwu_queue;
pub(crate) mod wakeup;

pub(crate) use audit::check_places;
pub(crate) use balance::{NOBODY, Passes, State as BalanceState, on_kick};
pub(crate) use change::{set_affinity, set_nice, set_policy, set_slice};
pub(crate) use class::RealTime;
pub(crate) use fork::spawn;
pub(crate) use idle::{Idling, idle_loop};
pub(crate) use load::{Removed, Tracked, Tracker};
pub(crate) use recency::Place;
pub(crate) use rq::{Rq, Why};
pub(crate) use schedule::{Leave, block, exit, leave_interrupt, schedule};
pub(crate) use seen::Seen;
pub(crate) use sleep::sleep_until;

/// The fair policy's word for a policy of the scenario; what a real-time task is when it becomes a
/// fair one is said by then.
pub(crate) fn policy(policy: abi::scenario::Policy) -> eevdf::Policy {
    match policy {
        abi::scenario::Policy::Normal | abi::scenario::Policy::Fifo { .. } => eevdf::Policy::Normal,
        abi::scenario::Policy::Batch => eevdf::Policy::Batch,
        abi::scenario::Policy::Idle => eevdf::Policy::Idle,
    }
}
