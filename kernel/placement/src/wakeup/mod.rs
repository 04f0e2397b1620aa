//! Where a waking task goes (Linux: `select_task_rq_fair()` for a wake-up).
//!
//! In this order, and nothing of it may be swapped: the waker's CPU or the wakee's last one
//! (`affine`); then an idle CPU near that one (`sibling`), of a few that are likely, then of
//! all that share its last-level cache (`scan`).
//!
//! Left out, for machines that there are none of here: energy-aware placement, CPUs of different
//! capacity, core scheduling, the `WF_CURRENT_CPU` hint, and kernel threads bound to a CPU.

mod affine;
mod history;
mod queue;
mod scan;
mod short;
mod sibling;
#[cfg(test)]
mod tests;

pub use history::{Duration, Flips, History};
pub use queue::{Remote, queues};

use crate::{Rules, Snapshot, Topology};
use abi::CpuSet;

/// Who wakes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waker {
    /// The CPU it runs on.
    pub cpu: usize,
    /// The task; `None` for the idle task of that CPU, on which timers wake.
    pub task: Option<u32>,
    /// Whom it wakes, this wake-up recorded.
    pub flips: Flips,
    /// How long it runs.
    pub duration: Duration,
    /// What it adds to its CPU's load.
    pub load: u64,
    /// Whether it says that it is about to sleep (`WF_SYNC`).
    pub sync: bool,
}

/// Who is woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wakee<'a> {
    /// The task.
    pub task: u32,
    /// Where it ran last.
    pub prev: usize,
    /// Where it may run; `prev` is in it.
    pub allowed: &'a CpuSet,
    /// What is remembered of it.
    pub history: History,
    /// What it would add to a CPU's load, and still adds to that of `prev`.
    pub load: u64,
}

/// Where it goes, and what that took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    /// The CPU.
    pub cpu: usize,
    /// Whether the waker's CPU was set against the wakee's (`nr_wakeups_affine_attempts`).
    pub affine_attempt: bool,
    /// Whether the waker's was preferred (`nr_wakeups_affine`).
    pub affine: bool,
    /// What the wakee's `recent_used` becomes, if it changes.
    pub recent_used: Option<usize>,
    /// How many CPUs the search looked at.
    pub probed: u32,
    /// Whether it found that no core of that cache is idle though some were thought to be.
    pub no_idle_cores: bool,
}

/// Chooses a CPU for a wakee that may run on more than one.
pub fn select(
    cpus: &impl Snapshot,
    topology: &Topology,
    rules: &Rules,
    waker: &Waker,
    wakee: &Wakee<'_>,
) -> Choice {
    let mut choice = Choice { cpu: wakee.prev, ..Choice::default() };
    let this = waker.cpu;
    let llc_size = topology.llc(this).weight as u32;
    let is_wide = affine::wake_wide(waker.flips.count(), wakee.history.flips.count(), llc_size);
    let mut target = wakee.prev;
    // Every domain allows affine wake-ups, and the top one spans all CPUs, so there is one.
    if !is_wide && wakee.allowed.contains(this) && this != wakee.prev {
        choice.affine_attempt = true;
        if affine::prefers_this(cpus, topology, rules, waker, wakee) {
            choice.affine = true;
            target = this;
        }
    }
    sibling::select(cpus, topology, rules, waker, wakee, target, &mut choice);
    choice
}
