//! Tasks that wait to be spawned.
//!
//! Everything a task needs exists before the run; a pool holds the numbers of those that are
//! not alive. One that ends goes back to it and may be spawned again, as a new task with the
//! same number.

use super::progress;
use crate::arch::ThisCpu;
use crate::sched;
use crate::task::{self, Task, TaskId};
use abi::TaskSpec;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use ksync::IrqLock;
use spin::Once;

static POOLS: Once<Box<[IrqLock<Pool, ThisCpu>]>> = Once::new();
static FAILED: AtomicU64 = AtomicU64::new(0);

struct Pool {
    /// Tasks that are not alive, the next to be spawned last.
    free: Vec<TaskId>,
}

pub(super) fn init(count: u32, tasks: &[TaskSpec]) {
    let pool = |number| {
        let of_pool = (0..).zip(tasks).filter(|(_, task)| task.pool == Some(number));
        let mut free: Vec<TaskId> = of_pool.map(|(id, _)| id).collect();
        free.reverse();
        IrqLock::new(Pool { free })
    };
    POOLS.call_once(|| (0..count).map(pool).collect());
}

fn get(number: u32) -> &'static IrqLock<Pool, ThisCpu> {
    &POOLS.get().expect("pools exist before tasks run")[number as usize]
}

/// Starts a task of a pool, if one is left. Interrupts must be off.
pub(super) fn spawn(number: u32) {
    let free = get(number).lock().free.pop();
    match free {
        Some(id) => {
            let task = task::by_id(id);
            progress::starts(task);
            sched::spawn(task);
        }
        // Relaxed: a count that is read after the run.
        None => {
            FAILED.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The running task is about to end. Whoever takes it from the pool waits until it has left.
pub(super) fn give_back(task: &Task) {
    if let Some(pool) = task.pool {
        // No allocation: there was room for all of them.
        get(pool).lock().free.push(task.id);
    }
}

/// How often no task was left to be spawned.
pub(crate) fn failed_spawns() -> u64 {
    FAILED.load(Ordering::Relaxed)
}
