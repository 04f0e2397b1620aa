//! The tasks of a scenario, what they share and what they measure.
//!
//! The kernel knows no kind of load; each is a program made of the operations it has. Tasks are
//! numbered in the order in which they are added.

mod loads;
mod metric;
mod shared;

pub use loads::WAKE_RATE;
pub use metric::{Better, Goal, Metric, MetricSpec, Reading, Stat};
pub use shared::Shared;

use crate::{error::Refusal, units};
use abi::{CpuSet, Program, TaskSpec, program, scenario::Policy};
use std::{collections::HashMap, ops::RangeInclusive};

/// The most tasks a scenario may have.
pub const MAX_TASKS: usize = 20_000;
/// Linux's nice values.
pub const NICE: RangeInclusive<i8> = -20..=19;
/// Slices that a task may ask for, ns; Linux clamps to the same.
pub const CUSTOM_SLICE_NS: RangeInclusive<u64> = 100_000..=100_000_000;

/// One task, before the number of CPUs is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// What the reports call it.
    pub name: String,
    /// -20 to 19.
    pub nice: i8,
    /// Its scheduling policy.
    pub policy: Policy,
    /// Its own slice, where it has one.
    pub slice_ns: Option<u64>,
    /// The CPUs it may run on; all without it.
    pub pin: Option<CpuSet>,
    /// What it does.
    pub program: Program,
    /// The pool in which it waits to be spawned, if it does not begin by itself.
    pub pool: Option<u32>,
    /// Whether the run does not wait for its end.
    pub is_background: bool,
}

/// All tasks of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    tasks: Vec<Task>,
    /// What the tasks share.
    pub shared: Shared,
    /// What a run of it measures.
    pub metrics: Vec<MetricSpec>,
    /// What a run of it has to have done at its end.
    pub goals: Vec<Goal>,
    /// How many tasks there are of each kind of load.
    kinds: HashMap<&'static str, usize>,
}

/// A workload as a scenario has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Specs {
    /// What tasks do, each program once.
    pub programs: Vec<Program>,
    /// The tasks.
    pub tasks: Vec<TaskSpec>,
}

impl Workload {
    /// The tasks in order.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Adds a task of any kind; it may be changed further.
    pub fn add(&mut self, name: String, program: Program) -> &mut Task {
        self.tasks.push(Task {
            name,
            nice: 0,
            policy: Policy::Normal,
            slice_ns: None,
            pin: None,
            program,
            pool: None,
            is_background: false,
        });
        self.tasks.last_mut().expect("one was added just now")
    }

    /// Gives the tasks their nice values in order; the last one repeats.
    pub fn nice(&mut self, values: &[i8]) {
        self.apply(values, |task, &nice| task.nice = nice);
    }

    /// Gives the tasks their own slices in order; `None` means the base slice.
    pub fn slices(&mut self, values: &[Option<u64>]) {
        self.apply(values, |task, &slice| task.slice_ns = slice);
    }

    /// Gives the tasks their policies in order.
    pub fn policies(&mut self, values: &[Policy]) {
        self.apply(values, |task, &policy| task.policy = policy);
    }

    /// Gives the tasks their CPUs in order; `None` means all.
    pub fn pins(&mut self, values: &[Option<CpuSet>]) {
        self.apply(values, |task, &pin| task.pin = pin);
    }

    /// Lets the run end without the tasks from this one on.
    pub fn background_from(&mut self, first: usize) {
        for task in &mut self.tasks[first..] {
            task.is_background = true;
        }
    }

    fn apply<T>(&mut self, values: &[T], set: impl Fn(&mut Task, &T)) {
        let Some(last) = values.last() else { return };
        for (index, task) in self.tasks.iter_mut().enumerate() {
            set(task, values.get(index).unwrap_or(last));
        }
    }

    /// Checks the tasks for a machine with so many CPUs and makes them the scenario's.
    ///
    /// # Errors
    /// The first value that is out of range.
    pub fn specs(&self, cpus: u32) -> Result<Specs, Refusal> {
        if self.tasks.iter().all(|task| task.pool.is_some()) {
            let reason = "there is no task; give at least one of --hogs, --bursts, --pairs, --background, --yielders, or a --mix";
            return Err(Refusal::new("workload", "(empty)", reason));
        }
        if self.tasks.len() > MAX_TASKS {
            let reason = format!("at most {MAX_TASKS} tasks are possible");
            return Err(Refusal::new("workload", format!("of {} tasks", self.tasks.len()), reason));
        }
        let mut specs = Specs { programs: Vec::new(), tasks: Vec::with_capacity(self.tasks.len()) };
        let mut numbers = HashMap::new();
        for task in &self.tasks {
            let program = *numbers.entry(&task.program).or_insert_with(|| {
                specs.programs.push(task.program.clone());
                specs.programs.len() as u32 - 1
            });
            specs.tasks.push(self.spec(task, program, cpus)?);
        }
        Ok(specs)
    }

    fn spec(&self, task: &Task, program: u32, cpus: u32) -> Result<TaskSpec, Refusal> {
        if !NICE.contains(&task.nice) {
            return Err(Refusal::new("--nice", task.nice, "must be -20 to 19"));
        }
        if let Some(slice_ns) = task.slice_ns.filter(|slice| !CUSTOM_SLICE_NS.contains(slice)) {
            return Err(Refusal::new(
                "--slice",
                units::exact_unsigned(slice_ns),
                format!("must be {}", time_range(&CUSTOM_SLICE_NS)),
            ));
        }
        let all = CpuSet::first(cpus as usize);
        let affinity = task.pin.unwrap_or(all);
        if let Some(cpu) = affinity.iter().find(|&cpu| !all.contains(cpu)) {
            return Err(Refusal::new(
                "--pin",
                cpu,
                format!("task {} is to run on cpu{cpu}, {}", task.name, machine_has(cpus)),
            ));
        }
        if affinity.is_empty() {
            return Err(Refusal::new("--pin", "(empty)", format!("task {} has no CPU", task.name)));
        }
        program::check(&task.program, self.shared.resources())
            .map_err(|error| Refusal::new("task", &task.name, error.to_string()))?;
        Ok(TaskSpec {
            name: task.name.clone(),
            nice: task.nice,
            policy: task.policy,
            slice_ns: task.slice_ns,
            affinity,
            program,
            pool: task.pool,
            is_background: task.is_background,
        })
    }
}

/// What to say of a CPU that a machine with so many does not have.
pub(crate) fn machine_has(cpus: u32) -> String {
    match cpus {
        1 => "the machine has only cpu0; raise --smp".to_owned(),
        _ => format!("the machine has cpu0 to cpu{}; raise --smp", cpus - 1),
    }
}

/// Writes a range of times for a message.
pub(crate) fn time_range(range: &RangeInclusive<u64>) -> String {
    format!("{} to {}", units::exact_unsigned(*range.start()), units::exact_unsigned(*range.end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_list_repeats_its_last_value() {
        let mut load = Workload::default();
        load.hogs(3);
        load.nice(&[0, 5]);
        assert_eq!(load.tasks().iter().map(|task| task.nice).collect::<Vec<_>>(), [0, 5, 5]);
        load.nice(&[]);
        assert_eq!(load.tasks()[1].nice, 5);
    }

    #[test]
    fn every_kind_is_a_program_that_the_kernel_accepts() {
        let mut load = Workload::default();
        load.hogs(1);
        load.bursts(1, 1_000_000, 9_000_000).expect("fine");
        load.pairs(2, 50_000).expect("fine");
        load.background(64.0, 500_000, 0).expect("fine");
        load.yielders(1, 100_000).expect("fine");
        let names: Vec<_> =
            load.specs(1).expect("fine").tasks.into_iter().map(|task| task.name).collect();
        assert_eq!(
            names,
            ["hog0", "burst0", "ping0", "pong0", "ping1", "pong1", "waker0", "yielder0"]
        );
        assert_eq!(load.shared.resources().semaphores, 4);
    }

    #[test]
    fn tasks_that_do_the_same_have_one_program() {
        let mut load = Workload::default();
        load.hogs(3);
        load.yielders(1, 100_000).expect("fine");
        let specs = load.specs(1).expect("fine");
        assert_eq!(specs.programs.len(), 2);
        assert_eq!(specs.tasks.iter().map(|task| task.program).collect::<Vec<_>>(), [0, 0, 0, 1]);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let mut load = Workload::default();
        assert!(load.specs(1).unwrap_err().to_string().contains("--hogs"));
        assert!(load.bursts(1, 0, 5_000).unwrap_err().to_string().contains("1us to"));
        assert!(load.background(0.0, 5_000, 0).unwrap_err().to_string().contains("0.01 to 100000"));
        load.hogs(1);
        load.pins(&[Some(CpuSet::only(1))]);
        assert!(load.specs(1).unwrap_err().to_string().contains("only cpu0"));
        assert!(load.specs(2).is_ok());
        load.slices(&[Some(50_000)]);
        assert!(load.specs(2).unwrap_err().to_string().contains("100us to 100ms"));
    }
}
