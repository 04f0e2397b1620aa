//! What the tasks of a workload share, with the names that messages give it.

use abi::{CpuSet, Resources, record::Waits};

/// Hands out numbers and keeps names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shared {
    resources: Resources,
    semaphores: Vec<String>,
    mutexes: Vec<String>,
    conditions: Vec<String>,
    barriers: Vec<String>,
    pipes: Vec<String>,
}

impl Shared {
    /// All of it, as a scenario has it.
    pub fn resources(&self) -> &Resources {
        &self.resources
    }

    /// A new semaphore.
    pub fn semaphore(&mut self, name: String) -> u32 {
        self.semaphores.push(name);
        next(&mut self.resources.semaphores)
    }

    /// A new mutex.
    pub fn mutex(&mut self, name: String) -> u32 {
        self.mutexes.push(name);
        next(&mut self.resources.mutexes)
    }

    /// A new condition.
    pub fn condition(&mut self, name: String) -> u32 {
        self.conditions.push(name);
        next(&mut self.resources.conditions)
    }

    /// A new barrier for so many tasks, at least one.
    pub fn barrier(&mut self, name: String, parties: u32) -> u32 {
        self.barriers.push(name);
        push(&mut self.resources.barriers, parties.max(1))
    }

    /// A new pipe of so many bytes, at least one.
    pub fn pipe(&mut self, name: String, capacity: u32) -> u32 {
        self.pipes.push(name);
        push(&mut self.resources.pipes, capacity.max(1))
    }

    /// A new timer.
    pub fn timer(&mut self) -> u32 {
        next(&mut self.resources.timers)
    }

    /// A new mark.
    pub fn mark(&mut self) -> u32 {
        next(&mut self.resources.marks)
    }

    /// A new counter.
    pub fn counter(&mut self) -> u32 {
        next(&mut self.resources.counters)
    }

    /// A new histogram.
    pub fn histogram(&mut self) -> u32 {
        next(&mut self.resources.histograms)
    }

    /// The set of these CPUs; the same number for the same CPUs.
    pub fn cpu_set(&mut self, cpus: CpuSet) -> u32 {
        let sets = &mut self.resources.cpu_sets;
        match sets.iter().position(|&set| set == cpus) {
            Some(number) => number as u32,
            None => push(sets, cpus),
        }
    }

    /// A new pool of tasks to be spawned.
    pub fn pool(&mut self) -> u32 {
        next(&mut self.resources.pools)
    }

    /// What a task waits for, in words.
    pub fn describe(&self, on: Waits, number: u32) -> String {
        let (what, names) = match on {
            Waits::Semaphore => ("semaphore", &self.semaphores),
            Waits::Mutex => ("mutex", &self.mutexes),
            Waits::Condition => ("condition", &self.conditions),
            Waits::Barrier => ("barrier", &self.barriers),
            Waits::PipeData => ("data in pipe", &self.pipes),
            Waits::PipeRoom => ("room in pipe", &self.pipes),
        };
        let name = names.get(number as usize).map_or("?", String::as_str);
        format!("{what} {name}")
    }
}

fn next(count: &mut u32) -> u32 {
    *count += 1;
    *count - 1
}

fn push<T>(list: &mut Vec<T>, item: T) -> u32 {
    list.push(item);
    list.len() as u32 - 1
}
