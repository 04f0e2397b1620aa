//! What a task changes about itself while it runs: nice value, policy, slice, CPUs.
//!
//! Interrupts must be off throughout.

use super::schedule::leave_for;
use super::{Leave, Rq, Why, schedule};
use crate::cpu;
use crate::task::Task;
use abi::scenario;
use eevdf::{Attr, EntityId, Nice, Policy};

/// Sets the running task's nice value (`setpriority`).
pub(crate) fn set_nice(task: &Task, nice: i8) {
    let nice = Nice::new(nice).expect("the host sends no nice value that is none");
    set_attr(task, |attr| attr.nice = nice);
}

/// Sets its policy (`sched_setscheduler`). One of another class, or another priority, makes it
/// start there at the end of the line.
pub(crate) fn set_policy(task: &Task, policy: scenario::Policy) {
    let changes_class =
        matches!(policy, scenario::Policy::Fifo { .. }) || task.rt_priority().is_some();
    if changes_class {
        schedule(Leave::Becomes(policy));
    }
    set_attr(task, |attr| attr.policy = super::policy(policy));
}

/// Sets its slice (`sched_setattr`); `None` for the base slice.
pub(crate) fn set_slice(task: &Task, slice_ns: Option<u64>) {
    set_attr(task, |attr| attr.slice_ns = slice_ns);
}

/// A task that makes itself weaker lets others have a look, as Linux's `prio_changed_fair` does.
fn set_attr(task: &Task, change: impl FnOnce(&mut Attr)) {
    let cpu = cpu::this();
    let now = cpu.local.with(|local| local.time.now());
    let id = EntityId(task.id);
    let mut rq = cpu.rq.lock();
    rq.advance(now);
    let Rq { fair, .. } = &mut *rq;
    if let Some(entity) = &mut *task.parked.lock() {
        // A real-time task: it takes effect once it is a fair one.
        let mut attr = entity.attr();
        change(&mut attr);
        entity.set_attr(attr, fair.rules());
        return;
    }
    let task_ns = rq.task_ns();
    let old = rq.fair.entity(id).expect("the running task is on its queue").attr();
    let mut new = old;
    change(&mut new);
    rq.fair.set_attr(id, new, task_ns);
    if (new.policy == Policy::Idle, new.nice) > (old.policy == Policy::Idle, old.nice) {
        rq.request_resched(cpu, Why::Wakeup);
    }
    rq.publish(cpu);
    drop(rq);
    if cpu.need_resched() {
        schedule(Leave::Preempted);
    }
}

/// From here on the running task may run on the CPUs of this set; it leaves a CPU that is not
/// in it (`sched_setaffinity`).
pub(crate) fn set_affinity(task: &'static Task, set: u32) {
    let cpu = cpu::this();
    let now = cpu.local.with(|local| local.time.now());
    let mut rq = cpu.rq.lock();
    rq.advance(now);
    rq.change_affinity(task, || task.set_affinity(set));
    rq.publish(cpu);
    drop(rq);
    if !task.affinity().contains(cpu.id as usize) {
        leave_for(task, None);
    }
}
