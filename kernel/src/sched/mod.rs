//! The scheduler's mechanism: it asks `eevdf`, checks the answer and acts on it.
//!
//! | file | what |
//! | --- | --- |
//! | `rq.rs` | a CPU's runqueue: the policy's queue, its clocks, the stint in progress |
//! | `schedule.rs` | leaving the CPU: choose, account, switch |
//! | `wakeup.rs` | making a blocked task runnable, here or on another CPU |
//! | `tick.rs` | what the tick does |
//! | `pull.rs` | a CPU that runs dry looks for work |
//!
//! Lock order: a semaphore, a task's `wait`, a runqueue, then the leaves (a task's `parked`
//! and `account`). Never two runqueues at once. All with interrupts off, and interrupts off is
//! also what holds preemption off.

mod pull;
mod rq;
mod schedule;
pub(crate) mod tick;
pub(crate) mod wakeup;

pub(crate) use rq::{Rq, Why};
pub(crate) use schedule::{Leave, block, exit, idle_loop, leave_interrupt, schedule};
