//! What tasks do: the scenario's programs, and what they share.
//!
//! A task computes with interrupts on. Everything else it does with interrupts off, one
//! operation at a time; in between, interrupts that wait are let in. Nothing here allocates
//! once the run has begun.

mod arrivals;
mod barrier;
mod burn;
mod condition;
mod interpreter;
mod line;
mod measure;
mod mutex;
mod pipe;
mod pool;
mod progress;
mod semaphore;
mod timer;

pub(crate) use interpreter::task_entry;
pub(crate) use measure::{counters, histograms};
pub(crate) use mutex::held as held_mutexes;
pub(crate) use pool::failed_spawns;
pub(crate) use progress::starts as task_starts;

use abi::{CpuSet, Op, Program, Resources, Scenario};
use alloc::boxed::Box;
use alloc::vec::Vec;
use spin::Once;

static PROGRAMS: Once<Box<[Program]>> = Once::new();
static CPU_SETS: Once<Box<[CpuSet]>> = Once::new();

/// Makes everything that the scenario's programs share. Once, before tasks exist.
pub(crate) fn init(scenario: &Scenario) {
    let Resources {
        semaphores,
        mutexes,
        conditions,
        barriers,
        pipes,
        timers,
        marks,
        counters,
        histograms,
        cpu_sets,
        pools,
    } = &scenario.resources;
    PROGRAMS.call_once(|| scenario.programs.iter().cloned().collect());
    CPU_SETS.call_once(|| cpu_sets.iter().copied().collect());
    semaphore::init(*semaphores);
    mutex::init(*mutexes);
    condition::init(*conditions);
    barrier::init(barriers);
    pipe::init(pipes);
    timer::init(*timers);
    measure::init(*marks, *counters, *histograms);
    pool::init(*pools, &scenario.tasks);
}

/// Memory that [`init`] takes.
pub(crate) fn bytes(scenario: &Scenario) -> usize {
    let resources = &scenario.resources;
    let small = resources.semaphores + resources.mutexes + resources.conditions;
    let small = small + resources.timers + resources.marks + resources.counters;
    let small = small as usize + resources.barriers.len() + resources.pipes.len();
    let operations: usize = scenario.programs.iter().map(Vec::len).sum();
    // None of the small ones is larger than a cache line.
    small * 64
        + resources.histograms as usize * measure::BYTES
        + operations * size_of::<Op>()
        + resources.cpu_sets.len() * size_of::<CpuSet>()
}

fn program(number: u32) -> &'static [Op] {
    &PROGRAMS.get().expect("programs exist before tasks run")[number as usize]
}

/// A set of CPUs that a task moved to.
pub(crate) fn cpu_set(number: u32) -> &'static CpuSet {
    &CPU_SETS.get().expect("sets exist before tasks run")[number as usize]
}
