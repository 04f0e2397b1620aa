//! A workload as the file describes it: checked, with names resolved and times in ns.

use super::resources::Resources;
use crate::source::At;
use abi::{CpuSet, scenario::Policy};

/// What a file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// What holds for all tasks.
    pub global: Global,
    /// The kinds of task, in the order of the file.
    pub tasks: Vec<Task>,
    /// What the tasks share.
    pub resources: Resources,
    /// What the reader should know: what is ignored, or done otherwise than rt-app would.
    pub notes: Vec<String>,
}

impl Description {
    /// How many threads there are at the start.
    pub fn threads(&self) -> usize {
        self.tasks.iter().map(|task| task.instances as usize).sum()
    }
}

/// The `global` object, as far as it has a meaning here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Global {
    /// How long the run lasts, ns; until all tasks are through without it.
    pub duration_ns: Option<u64>,
}

/// One kind of task.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// Where it is in the file.
    pub at: At,
    /// How many there are at the start; those with none are there to be forked.
    pub instances: u32,
    /// When it starts, ns from the start of the run.
    pub delay_ns: u64,
    /// How often its phases are gone through.
    pub loops: Loops,
    /// Its scheduling attributes at the start.
    pub sched: Sched,
    /// The CPUs it may run on where a phase does not say otherwise; all without it.
    pub cpus: Option<CpuSet>,
    /// What it does.
    pub phases: Vec<Phase>,
}

/// How often something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loops {
    /// Until the run is over.
    Forever,
    /// So often, at least once.
    Times(u32),
}

impl Loops {
    /// Once, without a loop.
    pub const ONCE: Self = Self::Times(1);
}

/// Scheduling attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sched {
    /// The policy.
    pub policy: Policy,
    /// The nice value.
    pub nice: i8,
    /// The slice of its own, where it has one.
    pub slice_ns: Option<u64>,
}

/// A change of scheduling attributes; what it does not name stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedChange {
    /// The new policy.
    pub policy: Option<Policy>,
    /// The new nice value.
    pub nice: Option<i8>,
    /// The new slice; `Some(None)` is the base slice.
    pub slice_ns: Option<Option<u64>>,
}

/// A sequence of events that is repeated.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its name; a task without `phases` has one without a name.
    pub name: Option<String>,
    /// Where it is in the file.
    pub at: At,
    /// How often it is repeated before the next one.
    pub loops: Loops,
    /// What changes when it begins.
    pub change: SchedChange,
    /// The CPUs that it runs on; the task's without it.
    pub cpus: Option<CpuSet>,
    /// What happens in it, at least one event.
    pub steps: Vec<Step>,
}

/// An event and where it is in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The place.
    pub at: At,
    /// What happens.
    pub event: Event,
}

/// What a task does. Numbers are those of [`Resources`]; times are ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Use so much CPU time.
    Run(u64),
    /// Compute until so much time has passed.
    RunWall(u64),
    /// Sleep for so long.
    Sleep(u64),
    /// Move the timer on by a period and sleep until then.
    Timer {
        /// Which.
        timer: u32,
        /// The period.
        period_ns: u64,
    },
    /// Lock a mutex.
    Lock(u32),
    /// Unlock a mutex.
    Unlock(u32),
    /// Wait for a signal, without the mutex meanwhile.
    Wait {
        /// The condition.
        condition: u32,
        /// The mutex, which is held.
        mutex: u32,
    },
    /// Wake the longest waiter of a condition.
    Signal(u32),
    /// Wake all waiters of a condition.
    Broadcast(u32),
    /// Wake the longest waiter and wait for a signal.
    Sync {
        /// The condition.
        condition: u32,
        /// The mutex.
        mutex: u32,
        /// Whether the mutex is held; locked and unlocked around it otherwise.
        held: bool,
    },
    /// Wait for all others that come to this barrier.
    Barrier(u32),
    /// Wait to be resumed.
    Suspend {
        /// The condition of that name.
        condition: u32,
        /// The mutex of that name, locked around the wait.
        mutex: u32,
    },
    /// Wake all that are suspended under a name.
    Resume {
        /// The condition of that name.
        condition: u32,
        /// The mutex of that name, locked meanwhile.
        mutex: u32,
    },
    /// Add one to a semaphore.
    SemPost(u32),
    /// Take one from a semaphore.
    SemWait(u32),
    /// Give up the CPU without sleeping.
    Yield,
    /// Start another task of this kind.
    Fork(usize),
}
