//! The fair tasks of a queue in the order in which they had the CPU last (Linux: `cfs_tasks`).
//!
//! Balancing takes from the far end, where caches are cold. A task is on one queue at a time, so
//! the links are in the tasks; they are touched under that queue's lock only, hence Relaxed.

use crate::task::{self, Task, TaskId};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

const NONE: TaskId = TaskId::MAX;

/// A task's place.
#[derive(Debug)]
pub(crate) struct Place {
    newer: AtomicU32,
    older: AtomicU32,
}

impl Place {
    /// Of a task that is on no queue.
    pub(crate) const fn new() -> Self {
        Self { newer: AtomicU32::new(NONE), older: AtomicU32::new(NONE) }
    }
}

/// The two ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recency {
    newest: TaskId,
    oldest: TaskId,
}

impl Recency {
    /// Nobody.
    pub(crate) const EMPTY: Self = Self { newest: NONE, oldest: NONE };

    /// A task joins, as if it had run just now.
    pub(super) fn join(&mut self, task: &Task) {
        task.recency.newer.store(NONE, Relaxed);
        task.recency.older.store(self.newest, Relaxed);
        match self.newest {
            NONE => self.oldest = task.id,
            newest => task::by_id(newest).recency.newer.store(task.id, Relaxed),
        }
        self.newest = task.id;
    }

    /// It leaves.
    pub(super) fn leave(&mut self, task: &Task) {
        let (newer, older) = (task.recency.newer.load(Relaxed), task.recency.older.load(Relaxed));
        match newer {
            NONE => self.newest = older,
            newer => task::by_id(newer).recency.older.store(older, Relaxed),
        }
        match older {
            NONE => self.oldest = newer,
            older => task::by_id(older).recency.newer.store(newer, Relaxed),
        }
    }

    /// It gets the CPU.
    pub(super) fn touch(&mut self, task: &Task) {
        if self.newest != task.id {
            self.leave(task);
            self.join(task);
        }
    }

    /// The one that has not run for the longest.
    pub(super) fn oldest(&self) -> Option<TaskId> {
        Some(self.oldest).filter(|&id| id != NONE)
    }

    /// The one that ran next after a task did.
    pub(super) fn newer_than(task: &Task) -> Option<TaskId> {
        Some(task.recency.newer.load(Relaxed)).filter(|&id| id != NONE)
    }
}
