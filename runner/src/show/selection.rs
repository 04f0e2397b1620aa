//! Which part of a trace is of interest.

use crate::{
    cli::{ShowArgs, unknown},
    error::Refusal,
    trace::{read::Trace, stints::Stint},
};

/// A filter by time, CPU and task; without one everything passes.
#[derive(Debug)]
pub(super) struct Selection {
    from_ns: u64,
    to_ns: u64,
    /// By CPU number.
    cpus: Vec<bool>,
    /// By task.
    tasks: Vec<bool>,
}

impl Selection {
    /// What the flags ask for.
    ///
    /// # Errors
    /// A CPU or task that the trace does not have.
    pub(super) fn new(trace: &Trace, arguments: &ShowArgs) -> Result<Self, Refusal> {
        let (from_ns, to_ns) = arguments.time.unwrap_or((0, u64::MAX));
        let count = trace.description.cpus as usize;
        let asked = arguments.cpu.iter().flat_map(|set| set.iter());
        let mut cpus = vec![arguments.cpu.is_empty(); count];
        for cpu in asked {
            let reason = || format!("the trace has {count} CPUs, 0 to {}", count - 1);
            *cpus.get_mut(cpu).ok_or_else(|| Refusal::new("--cpu", cpu, reason()))? = true;
        }
        let all = &trace.description.tasks;
        let mut tasks = vec![arguments.task.is_empty(); all.len()];
        for wanted in &arguments.task {
            let mut is_there = false;
            for (place, task) in all.iter().enumerate() {
                if task.name == *wanted || task.pid.to_string() == *wanted {
                    tasks[place] = true;
                    is_there = true;
                }
            }
            if !is_there {
                let mut names: Vec<_> = all.iter().map(|task| task.name.as_str()).collect();
                names.dedup();
                return Err(Refusal::new("--task", wanted, unknown(wanted, &names)));
            }
        }
        Ok(Self { from_ns, to_ns, cpus, tasks })
    }

    /// Whether something at a time on a CPU is of interest.
    pub(super) fn has(&self, at_ns: u64, cpu: u32) -> bool {
        (self.from_ns..self.to_ns).contains(&at_ns) && self.cpus[cpu as usize]
    }

    /// Whether a task is.
    pub(super) fn has_task(&self, task: u32) -> bool {
        self.tasks[task as usize]
    }

    /// Whether a CPU is.
    pub(super) fn has_cpu(&self, cpu: u32) -> bool {
        self.cpus[cpu as usize]
    }

    /// Whether a stint is, or part of it. One that begins as the run ends is none.
    pub(super) fn has_stint(&self, stint: &Stint) -> bool {
        self.has_cpu(stint.cpu)
            && self.has_task(stint.task)
            && (stint.end.is_some() || stint.length_ns() > 0)
            && stint.start_ns < self.to_ns
            && stint.end_ns > self.from_ns
    }

    /// How much of a time from one moment to another is.
    pub(super) fn clip(&self, start_ns: u64, end_ns: u64) -> u64 {
        end_ns.min(self.to_ns).saturating_sub(start_ns.max(self.from_ns))
    }
}
