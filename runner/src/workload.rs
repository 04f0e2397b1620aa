//! The tasks of a scenario: loads by kind, and the attributes their tasks get in order.
//!
//! The kernel knows no kind of load; each is a program made of the few operations it has.
//! Tasks are numbered in the order in which loads are added.

use crate::{error::Refusal, units};
use abi::{CpuSet, Crash, Op, Program, TaskSpec, program, scenario::Policy};
use std::ops::RangeInclusive;

/// The most tasks a scenario may have.
pub const MAX_TASKS: usize = 4096;
/// Linux's nice values.
pub const NICE: RangeInclusive<i8> = -20..=19;
/// Slices that a task may ask for, ns; Linux clamps to the same.
pub const CUSTOM_SLICE_NS: RangeInclusive<u64> = 100_000..=100_000_000;
/// Times that a task may run, sleep or wait at a stretch, ns.
const STRETCH_NS: RangeInclusive<u64> = 1_000..=3_600_000_000_000;
/// Wake-ups a second that one background task may ask for.
pub const WAKE_RATE: RangeInclusive<f64> = 0.01..=100_000.0;

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
}

/// All tasks of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    tasks: Vec<Task>,
    semaphores: u32,
    hogs: usize,
    bursts: usize,
    pairs: usize,
    wakers: usize,
    yielders: usize,
}

impl Workload {
    /// The tasks in order.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// How many semaphores the programs use.
    pub fn semaphores(&self) -> u32 {
        self.semaphores
    }

    /// Adds tasks that compute until the run is over: `hog0`, `hog1`, ...
    pub fn hogs(&mut self, count: usize) {
        for _ in 0..count {
            self.add(format!("hog{}", self.hogs), vec![Op::RunForever]);
            self.hogs += 1;
        }
    }

    /// Adds tasks that run and sleep in turn: `burst0`, ...
    ///
    /// # Errors
    /// A time that is no stretch.
    pub fn bursts(&mut self, count: usize, run_ns: u64, sleep_ns: u64) -> Result<(), Refusal> {
        check_stretch("--bursts", run_ns)?;
        check_stretch("--bursts", sleep_ns)?;
        for _ in 0..count {
            let program = vec![Op::Run(run_ns), Op::Sleep(sleep_ns), Op::Jump(0)];
            self.add(format!("burst{}", self.bursts), program);
            self.bursts += 1;
        }
        Ok(())
    }

    /// Adds pairs of tasks that wake each other in turn: `ping0` and `pong0`, ...
    ///
    /// # Errors
    /// A time that is no stretch.
    pub fn pairs(&mut self, count: usize, run_ns: u64) -> Result<(), Refusal> {
        check_stretch("--pairs", run_ns)?;
        for _ in 0..count {
            let (to_pong, to_ping) = (self.semaphores, self.semaphores + 1);
            self.semaphores += 2;
            let ping = [Op::Run(run_ns), Op::SemPost(to_pong), Op::SemWait(to_ping), Op::Jump(0)];
            let pong = [Op::SemWait(to_pong), Op::Run(run_ns), Op::SemPost(to_ping), Op::Jump(0)];
            self.add(format!("ping{}", self.pairs), ping.to_vec());
            self.add(format!("pong{}", self.pairs), pong.to_vec());
            self.pairs += 1;
        }
        Ok(())
    }

    /// Adds a task that wakes at random, so many times a second on average, `at_tick_pct`
    /// percent of them with the next tick: `waker0`, ...
    ///
    /// # Errors
    /// A rate, time or share out of range.
    pub fn background(&mut self, rate: f64, run_ns: u64, at_tick_pct: u32) -> Result<(), Refusal> {
        check_stretch("--background", run_ns)?;
        if !WAKE_RATE.contains(&rate) {
            let reason = format!(
                "the rate must be {} to {} wake-ups a second",
                WAKE_RATE.start(),
                WAKE_RATE.end()
            );
            return Err(Refusal::new("--background", rate, reason));
        }
        if at_tick_pct > 100 {
            let reason = "0 to 100 % of the wake-ups can come with the tick";
            return Err(Refusal::new("--background", format!("{at_tick_pct}%"), reason));
        }
        let mean_ns = (1e9 / rate).round() as u64;
        let program = vec![Op::SleepPoisson { mean_ns, at_tick_pct }, Op::Run(run_ns), Op::Jump(0)];
        self.add(format!("waker{}", self.wakers), program);
        self.wakers += 1;
        Ok(())
    }

    /// Adds tasks that run for a while and yield: `yielder0`, ...
    ///
    /// # Errors
    /// A time that is no stretch.
    pub fn yielders(&mut self, count: usize, run_ns: u64) -> Result<(), Refusal> {
        check_stretch("--yielders", run_ns)?;
        for _ in 0..count {
            let program = vec![Op::Run(run_ns), Op::Yield, Op::Jump(0)];
            self.add(format!("yielder{}", self.yielders), program);
            self.yielders += 1;
        }
        Ok(())
    }

    /// Adds a task that breaks the guest after a while: `crash`.
    pub fn crash(&mut self, how: Crash, after_ns: u64) {
        self.add("crash".into(), vec![Op::Sleep(after_ns), Op::Crash(how)]);
    }

    /// Adds a task of any kind.
    pub fn add(&mut self, name: String, program: Program) {
        self.tasks.push(Task {
            name,
            nice: 0,
            policy: Policy::Normal,
            slice_ns: None,
            pin: None,
            program,
        });
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
    pub fn specs(&self, cpus: u32) -> Result<Vec<TaskSpec>, Refusal> {
        if self.tasks.is_empty() {
            let reason = "there is no task; give at least one of --hogs, --bursts, --pairs, --background, --yielders";
            return Err(Refusal::new("workload", "(empty)", reason));
        }
        if self.tasks.len() > MAX_TASKS {
            let reason = format!("at most {MAX_TASKS} tasks are possible");
            return Err(Refusal::new("workload", format!("of {} tasks", self.tasks.len()), reason));
        }
        self.tasks.iter().map(|task| self.spec(task, cpus)).collect()
    }

    fn spec(&self, task: &Task, cpus: u32) -> Result<TaskSpec, Refusal> {
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
                format!(
                    "task {} is to run on cpu{cpu}, the machine has {}; raise --smp",
                    task.name,
                    match cpus {
                        1 => "only cpu0".to_owned(),
                        _ => format!("cpu0 to cpu{}", cpus - 1),
                    }
                ),
            ));
        }
        if affinity.is_empty() {
            return Err(Refusal::new("--pin", "(empty)", format!("task {} has no CPU", task.name)));
        }
        program::check(&task.program, self.semaphores)
            .map_err(|error| Refusal::new("task", &task.name, error.to_string()))?;
        Ok(TaskSpec {
            name: task.name.clone(),
            nice: task.nice,
            policy: task.policy,
            slice_ns: task.slice_ns,
            affinity,
            program: task.program.clone(),
        })
    }
}

fn check_stretch(flag: &'static str, ns: u64) -> Result<(), Refusal> {
    if STRETCH_NS.contains(&ns) {
        return Ok(());
    }
    let reason = format!("a task can run or sleep for {}", time_range(&STRETCH_NS));
    Err(Refusal::new(flag, units::exact_unsigned(ns), reason))
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
            load.specs(1).expect("fine").into_iter().map(|task| task.name).collect();
        assert_eq!(
            names,
            ["hog0", "burst0", "ping0", "pong0", "ping1", "pong1", "waker0", "yielder0"]
        );
        assert_eq!(load.semaphores(), 4);
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
