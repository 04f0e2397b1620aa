//! Making a blocked task runnable (Linux: `try_to_wake_up`).
//!
//! Three cases. The task has not blocked yet: the wake-up is kept for it. It blocked but its
//! dequeue was delayed: it is requeued in place, on the CPU where it blocked. It is off its
//! queue: once nobody stands on its stack any more, it gets a CPU and joins that queue.
//!
//! The waker holds the task's lock throughout, so two wakers cannot both find it blocked, and
//! takes at most one runqueue lock below it.

use super::Why;
use super::rq::Rq;
use crate::arch::{lapic, spin_hint};
use crate::cpu::{self, Cpu};
use crate::run;
use crate::task::{Moved, OnRq, State, Task};
use crate::trace;
use abi::Preempt;
use abi::trace::{Event, Joins};
use eevdf::{Enqueue, EntityId, Resched, Wake};

/// Wakes a task; without effect on one that is runnable or at its end. Interrupts must be off.
pub(crate) fn wake(task: &'static Task, how: Wake) {
    let this = cpu::this();
    let now = this.local.with(|local| local.time.now());
    let mut wait = task.wait.lock();
    match wait.state {
        State::Dead => return,
        State::Runnable => {
            wait.is_wake_pending = true;
            return;
        }
        State::Blocked => wait.state = State::Runnable,
    }
    let waker = || trace::actor(this);
    this.trace.write(now, || Event::Waking { task: task.id, cpu: task.cpu(), waker: waker() });
    if wake_delayed(this, task, how, now) {
        return;
    }
    // The CPU on which it blocked may not have left its stack yet.
    task.context.on_cpu().wait_until_off();
    let (enqueue, why, goes_to) = match task.arrives() {
        Some(Some(cpu)) => (Enqueue::Migrate, Moved::Active, Some(cpu)),
        Some(None) => (Enqueue::Migrate, Moved::Affinity, None),
        None => (Enqueue::Wakeup, Moved::Wakeup, None),
    };
    let target = goes_to.unwrap_or_else(|| {
        placement::simple::select_cpu(task.cpu() as usize, task.affinity(), &cpu::idle()) as u32
    });
    let target = cpu::by_id(target);
    if task.cpu() != target.id {
        let (from, to, why) = (task.cpu(), target.id, trace::moved(why));
        this.trace.write(now, || Event::Migrate { task: task.id, from, to, why });
    }
    activate(this, target, task, enqueue, why, how, now);
}

/// Puts a task that is on no queue on that of `target`. The caller holds the task's lock.
pub(super) fn activate(
    this: &Cpu,
    target: &Cpu,
    task: &Task,
    enqueue: Enqueue,
    why: Moved,
    how: Wake,
    now: u64,
) {
    target.note_work(now);
    let mut rq = target.rq.lock();
    rq.advance(now);
    rq.enqueue(target, task, enqueue, why);
    if enqueue != Enqueue::Migrate {
        task.account.lock().wake(rq.clock_ns());
    }
    note_enqueue(this, target, &rq, task, trace::joins(enqueue), now);
    let request = rq.wakeup_preempt(task, how);
    note_wakeup(this, target, task, enqueue == Enqueue::Initial, request, now);
    rq.publish(target);
    ask(this, target, &mut rq, request, Why::Wakeup, now);
}

/// Wakes a task whose entity is still on its queue; returns whether it was.
fn wake_delayed(this: &Cpu, task: &Task, how: Wake, now: u64) -> bool {
    let (target, mut rq) = loop {
        match task.on_rq() {
            OnRq::No => return false,
            // Whoever balances puts it down in a moment, and waits for nothing.
            OnRq::Migrating => spin_hint(),
            OnRq::Queued => {
                let target = cpu::by_id(task.cpu());
                let rq = target.rq.lock();
                // It may have moved on, or left for good, while this CPU waited for the lock.
                if task.cpu() == target.id && rq.fair.is_delayed(EntityId(task.id)) {
                    break (target, rq);
                }
            }
        }
    };
    rq.advance(now);
    rq.requeue_delayed(task);
    task.account.lock().wake(rq.clock_ns());
    note_enqueue(this, target, &rq, task, Joins::Requeue, now);
    let request = rq.wakeup_preempt(task, how);
    note_wakeup(this, target, task, false, request, now);
    rq.publish(target);
    ask(this, target, &mut rq, request, Why::Wakeup, now);
    true
}

fn note_enqueue(this: &Cpu, target: &Cpu, rq: &Rq, task: &Task, how: Joins, now: u64) {
    this.trace.write(now, || {
        let lag_ns = rq.fair.lag(EntityId(task.id)).unwrap_or(0);
        let nr_running = rq.nr_runnable();
        Event::Enqueue { task: task.id, cpu: target.id, how, nr_running, lag_ns }
    });
}

fn note_wakeup(this: &Cpu, target: &Cpu, task: &Task, is_new: bool, request: Resched, now: u64) {
    this.trace.write(now, || Event::Wakeup {
        task: task.id,
        cpu: target.id,
        is_new,
        preempts: trace::preempts(request),
    });
}

/// Hands a request of the policy to the CPU it is for, whose queue is `rq`.
pub(super) fn ask(this: &Cpu, target: &Cpu, rq: &mut Rq, request: Resched, why: Why, now: u64) {
    if request == Resched::No {
        return;
    }
    rq.request_resched(target, why);
    // A lazy request waits for whatever makes that CPU look next, at the latest its tick.
    let waits = request == Resched::Lazy && run::config().preempt == Preempt::Lazy;
    if target.id != this.id && !waits {
        this.trace.write(now, || Event::IpiSend { cpu: target.id });
        target.note_wake(now);
        lapic::send_reschedule(target.apic_id);
    }
}
