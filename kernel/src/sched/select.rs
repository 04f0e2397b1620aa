//! Choosing a CPU: what the policy sees, and what is made of its answer.
//!
//! The caller holds the task's `wait`, so nobody else moves the task, and no runqueue: the choice
//! looks at other CPUs without their locks.

use super::domains::{self, Linux};
use crate::cpu::{self, Cpu};
use crate::task::{self, Task};
use abi::Cost;
use eevdf::Wake;
use placement::wakeup::{Choice, Wakee, Waker};
use placement::{Snapshot, fork, simple, wakeup};

/// The CPUs as the policy sees them.
struct View<'a> {
    linux: &'a Linux,
}

impl Snapshot for View<'_> {
    fn is_idle(&self, cpu: usize) -> bool {
        cpu::all()[cpu].is_idle()
    }
    fn is_sched_idle(&self, cpu: usize) -> bool {
        cpu::all()[cpu].seen.is_sched_idle()
    }
    fn nr_queued(&self, cpu: usize) -> u32 {
        cpu::all()[cpu].seen.queued()
    }
    fn nr_delayed(&self, cpu: usize) -> u32 {
        let seen = &cpu::all()[cpu].seen;
        seen.queued().saturating_sub(seen.runnable())
    }
    fn load(&self, cpu: usize) -> u64 {
        cpu::all()[cpu].seen.load()
    }
    fn util(&self, cpu: usize) -> u64 {
        cpu::all()[cpu].seen.util()
    }
    fn runnable(&self, cpu: usize) -> u64 {
        cpu::all()[cpu].seen.runnable_avg()
    }
    fn idle_since_ns(&self, cpu: usize) -> u64 {
        cpu::all()[cpu].seen.idle_since_ns()
    }
    fn has_idle_cores(&self, cpu: usize) -> bool {
        self.linux.has_idle_cores(cpu)
    }
    fn nr_idle_scan(&self, cpu: usize) -> u32 {
        self.linux.nr_idle_scan(cpu)
    }
}

/// Any CPU for a task that had to leave its own, as Linux's stopper chooses; an idle one if there
/// is one.
pub(super) fn anywhere(task: &Task) -> &'static Cpu {
    if let [only] = cpu::all() {
        return only;
    }
    let cpu = simple::select_cpu(task.cpu() as usize, task.affinity(), &cpu::idle());
    cpu::by_id(cpu as u32)
}

/// The CPU for a task that wakes and is on no queue; its entity is parked. Marks `how` if a
/// search chose it.
pub(super) fn for_wakeup(
    this: &'static Cpu,
    task: &Task,
    how: &mut Wake,
    now: u64,
) -> &'static Cpu {
    let prev = task.cpu() as usize;
    // For real-time tasks Linux looks for the CPU that does the least important thing.
    let is_fair = task.rt_priority().is_none();
    let Some(linux) = domains::linux().filter(|_| is_fair) else { return anywhere(task) };
    let allowed = task.affinity();
    let mut others = allowed.iter().filter(|&cpu| cpu < cpu::topology().cpus());
    if let (Some(only), None) = (others.next(), others.next()) {
        return cpu::by_id(only as u32);
    }
    // As of when it fell asleep; it counts where it slept.
    let load = task.tracked.lock().load();
    let wakee = Wakee { task: task.id, prev, allowed, history: *task.history.lock(), load };
    let waker = waker(this, task, how.sync, now);
    let view = View { linux };
    let choice = wakeup::select(&view, cpu::topology(), &linux.rules, &waker, &wakee);
    how.cpu_selected = true;
    act_on(this, linux, task, &choice)
}

fn act_on(this: &Cpu, linux: &Linux, task: &Task, choice: &Choice) -> &'static Cpu {
    if let Some(recent_used) = choice.recent_used {
        task.history.lock().recent_used = recent_used;
    }
    if choice.no_idle_cores {
        linux.no_idle_cores(choice.cpu);
    }
    this.local.with(|local| {
        let counts = &mut local.wakeups;
        counts.affine_attempts += u64::from(choice.affine_attempt);
        counts.affine += u64::from(choice.affine);
        counts.searches += u64::from(choice.probed > 0);
        counts.probes += u64::from(choice.probed);
    });
    this.owe(Cost::IdleProbe, u64::from(choice.probed));
    assert!(
        task.affinity().contains(choice.cpu),
        "task {} was to wake on cpu {}, where it may not run",
        task.id,
        choice.cpu
    );
    cpu::by_id(choice.cpu as u32)
}

/// What runs on this CPU, with the wake-up recorded.
fn waker(this: &Cpu, wakee: &Task, sync: bool, now: u64) -> Waker {
    let cpu = this.id as usize;
    match this.current().map(task::by_id) {
        Some(task) => {
            let mut history = task.history.lock();
            history.flips.record(wakee.id, now);
            let load = task.tracked.lock().load();
            let (flips, duration) = (history.flips, history.duration);
            Waker { cpu, task: Some(task.id), flips, duration, load, sync }
        }
        None => {
            let flips = this.local.with(|local| {
                local.idle_flips.record(wakee.id, now);
                local.idle_flips
            });
            Waker { cpu, task: None, flips, duration: Default::default(), load: 0, sync }
        }
    }
}

/// The CPU for a new task.
pub(super) fn for_fork(this: &'static Cpu, task: &Task) -> &'static Cpu {
    let here = this.id as usize;
    let cpu = match domains::linux() {
        Some(linux) => {
            let view = View { linux };
            fork::select(&view, cpu::topology(), here, task.affinity())
        }
        None => simple::select_cpu(here, task.affinity(), &cpu::idle()),
    };
    cpu::by_id(cpu as u32)
}
