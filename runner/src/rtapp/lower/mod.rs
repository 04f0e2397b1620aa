//! From what a file says to what a guest runs: threads with programs, and what is measured.
//!
//! A thread is called as rt-app calls it, `<task>-<n>` with `n` counting the threads of all
//! tasks. What tasks fork waits in pools, one for each task that is forked.

mod forks;
mod length;
mod program;

pub use length::{Length, length};

use super::model::{Description, Task};
use crate::workload::{Better, MetricSpec, Reading, Stat, Workload};
use abi::CpuSet;
use program::{Counts, Numbers};

/// Phases that are measured one by one; more would hide the tasks' own figures.
const MEASURED_PHASES: usize = 64;

/// The workload on so many CPUs, for a run of so many ns.
pub fn lower(description: &Description, cpus: u32, duration_ns: u64) -> Workload {
    let mut workload = Workload::default();
    let resources = &description.resources;
    let shared = &mut workload.shared;
    let mut numbers = Numbers::default();
    numbers.mutexes.extend(resources.mutexes.iter().map(|name| shared.mutex(name.clone())));
    let conditions = resources.conditions.iter().map(|name| shared.condition(name.clone()));
    numbers.conditions.extend(conditions);
    let semaphores = resources.semaphores.iter().map(|name| shared.semaphore(name.clone()));
    numbers.semaphores.extend(semaphores);
    for barrier in &resources.barriers {
        numbers.barriers.push(shared.barrier(barrier.name.clone(), barrier.parties));
    }
    for timer in &resources.timers {
        // Those of single threads follow with the threads.
        let number = if timer.of_task.is_none() { shared.timer() } else { u32::MAX };
        numbers.timers.push((number, timer.absolute));
    }
    let forked = forks::most(description, duration_ns);
    numbers.pools = forked.iter().map(|&most| (most > 0).then(|| shared.pool())).collect();
    let counts = measured(description, &mut workload);

    let mut builder = Builder { workload, numbers, description, all: CpuSet::first(cpus as usize) };
    let mut index = 0;
    for (number, task) in description.tasks.iter().enumerate() {
        for _ in 0..task.instances {
            builder.thread(number, task, &counts[number], format!("{}-{index}", task.name), None);
            index += 1;
        }
    }
    for (number, task) in description.tasks.iter().enumerate() {
        let pool = builder.numbers.pools[number];
        for nth in 0..forked[number] {
            let name = format!("{}-{index}-{nth:04}", task.name);
            builder.thread(number, task, &counts[number], name, pool);
            index += 1;
        }
    }
    builder.workload
}

/// Adds threads to a workload.
struct Builder<'d> {
    workload: Workload,
    numbers: Numbers,
    description: &'d Description,
    all: CpuSet,
}

impl Builder<'_> {
    fn thread(
        &mut self,
        number: usize,
        task: &Task,
        counts: &Counts,
        name: String,
        pool: Option<u32>,
    ) {
        let timers = self.description.resources.timers.iter().enumerate();
        for (timer, _) in timers.filter(|(_, timer)| timer.of_task == Some(number)) {
            self.numbers.timers[timer].0 = self.workload.shared.timer();
        }
        let shared = &mut self.workload.shared;
        let program = program::of(task, &self.numbers, counts, self.all, shared);
        let first = task.phases[0].cpus.or(task.cpus);
        let thread = self.workload.add(name, program);
        thread.nice = task.sched.nice;
        thread.policy = task.sched.policy;
        thread.slice_ns = task.sched.slice_ns;
        thread.pin = first;
        thread.pool = pool;
    }
}

/// Counts the activations of each task (as rt-app does, each pass of a phase is one), and those
/// of its phases with when they begin.
fn measured(description: &Description, workload: &mut Workload) -> Vec<Counts> {
    let phases = |task: &Task| if task.phases.len() > 1 { task.phases.len() } else { 0 };
    let are_few = description.tasks.iter().map(phases).sum::<usize>() <= MEASURED_PHASES;
    let mut all = Vec::new();
    for task in &description.tasks {
        let mut counts = Counts { activations: workload.shared.counter(), phases: Vec::new() };
        workload.metrics.push(MetricSpec {
            name: format!("{} activations", task.name),
            unit: "1/s",
            better: Better::Higher,
            reading: Reading::Rate(counts.activations),
            per_unit: 1.0,
        });
        for (number, phase) in task.phases.iter().enumerate() {
            if !are_few || task.phases.len() == 1 {
                break;
            }
            let (counter, begins) = (workload.shared.counter(), workload.shared.histogram());
            let phase = match &phase.name {
                // The name may be there twice.
                Some(name) => format!("{} phase {number} {name}", task.name),
                None => format!("{} phase {number}", task.name),
            };
            workload.metrics.push(MetricSpec {
                name: format!("{phase} activations"),
                unit: "",
                better: Better::Higher,
                reading: Reading::Counter(counter),
                per_unit: 1.0,
            });
            workload.metrics.push(MetricSpec {
                name: format!("{phase} begins"),
                unit: "ms",
                better: Better::Lower,
                reading: Reading::Histogram(begins, Stat::Mean),
                per_unit: 1e6,
            });
            counts.phases.push((counter, begins));
        }
        all.push(counts);
    }
    all
}

#[cfg(test)]
mod tests;
