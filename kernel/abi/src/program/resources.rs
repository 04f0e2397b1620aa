//! What the tasks of a scenario share, by number.

use crate::CpuSet;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// How many there are of each kind, and what is special about each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resources {
    /// Semaphores, all zero at the start.
    pub semaphores: u32,
    /// Mutexes, all free.
    pub mutexes: u32,
    /// Conditions.
    pub conditions: u32,
    /// Barriers, each with the number of tasks that it waits for, at least 1.
    pub barriers: Vec<u32>,
    /// Pipes, each with its capacity in bytes, at least 1.
    pub pipes: Vec<u32>,
    /// Timers.
    pub timers: u32,
    /// Marks.
    pub marks: u32,
    /// Counters.
    pub counters: u32,
    /// Histograms.
    pub histograms: u32,
    /// Sets of CPUs that tasks move to.
    pub cpu_sets: Vec<CpuSet>,
    /// Pools of tasks that wait to be spawned.
    pub pools: u32,
}

/// A kind of shared thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is what `Resources` calls so")]
pub enum Resource {
    Semaphore,
    Mutex,
    Condition,
    Barrier,
    Pipe,
    Timer,
    Mark,
    Counter,
    Histogram,
    CpuSet,
    Pool,
}

impl Resource {
    /// What messages call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Semaphore => "semaphore",
            Self::Mutex => "mutex",
            Self::Condition => "condition",
            Self::Barrier => "barrier",
            Self::Pipe => "pipe",
            Self::Timer => "timer",
            Self::Mark => "mark",
            Self::Counter => "counter",
            Self::Histogram => "histogram",
            Self::CpuSet => "set of CPUs",
            Self::Pool => "pool",
        }
    }
}

impl Resources {
    /// How many there are of a kind.
    pub fn count(&self, kind: Resource) -> u32 {
        match kind {
            Resource::Semaphore => self.semaphores,
            Resource::Mutex => self.mutexes,
            Resource::Condition => self.conditions,
            Resource::Barrier => self.barriers.len() as u32,
            Resource::Pipe => self.pipes.len() as u32,
            Resource::Timer => self.timers,
            Resource::Mark => self.marks,
            Resource::Counter => self.counters,
            Resource::Histogram => self.histograms,
            Resource::CpuSet => self.cpu_sets.len() as u32,
            Resource::Pool => self.pools,
        }
    }
}
