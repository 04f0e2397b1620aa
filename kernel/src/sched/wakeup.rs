//! Making a blocked task runnable (Linux: `try_to_wake_up`).
//!
//! Three cases. The task has not blocked yet: the wake-up is kept for it. It blocked but its
//! dequeue was delayed: it is requeued in place, on the CPU where it blocked. It is off its
//! queue: once nobody stands on its stack any more, it gets a CPU and joins that queue. In the
//! last two, the CPU concerned may be left to do the rest itself (`ttwu_queue.rs`).
//!
//! The waker holds the task's lock throughout, so two wakers cannot both find it blocked, and
//! takes at most one runqueue lock below it.

use super::rq::Rq;
use super::{Why, select, ttwu_queue};
use crate::arch::{ThisCpu, clock, lapic, spin_hint};
use crate::cpu::{self, Cpu};
use crate::run;
use crate::task::{Moved, OnRq, State, Task};
use crate::trace;
use abi::trace::{Event, Joins};
use abi::{Clock, Cost, Preempt};
use eevdf::{Enqueue, EntityId, Resched, Wake};
use ksync::IrqLockGuard;

/// Wakes a task; without effect on one that is runnable or at its end. Interrupts must be off.
pub(crate) fn wake(task: &'static Task, how: Wake) {
    let this = cpu::this();
    let now = this.local.with(|local| local.time.now());
    let mut wait = task.wait.lock_masked();
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
    let prev = cpu::by_id(task.cpu());
    if task.on_rq() != OnRq::No
        && (ttwu_queue::queue(this, prev, task, true, now) || requeue_delayed(this, task, how, now))
    {
        count(this, prev, task, how, true);
        return;
    }
    // The CPU on which it blocked may not have left its stack yet.
    if task.context.on_cpu().is_on() {
        if ttwu_queue::queue_on_cpu(this, prev, task, now) {
            count(this, prev, task, how, false);
            return;
        }
        task.context.on_cpu().wait_until_off();
    }
    if let Some(goes_to) = task.arrives() {
        let (why, target) = match goes_to {
            Some(cpu) => (Moved::Active, cpu::by_id(cpu)),
            None => (Moved::Affinity, select::anywhere(task)),
        };
        count(this, target, task, how, false);
        note_move(this, task, target, why, now);
        activate(this, target, task, Enqueue::Migrate, why, how, now);
        return;
    }
    let mut how = how;
    let target = select::for_wakeup(this, task, &mut how, now);
    count(this, target, task, how, false);
    if !ttwu_queue::queue(this, target, task, false, now) {
        note_move(this, task, target, Moved::Wakeup, now);
        activate(this, target, task, Enqueue::Wakeup, Moved::Wakeup, how, now);
    }
}

/// Counts a wake-up, on the CPU that makes it.
fn count(this: &Cpu, target: &Cpu, task: &Task, how: Wake, is_delayed: bool) {
    if cpu::all().len() == 1 {
        return;
    }
    this.local.with(|local| {
        let counts = &mut local.wakeups;
        counts.local += u64::from(target.id == this.id);
        counts.remote += u64::from(target.id != this.id);
        counts.migrated += u64::from(target.id != task.cpu());
        counts.delayed += u64::from(is_delayed);
        counts.sync += u64::from(how.sync);
    });
}

/// Notes that a task which is on no queue goes to another CPU than its last one.
pub(super) fn note_move(this: &Cpu, task: &Task, target: &Cpu, why: Moved, now: u64) {
    let (from, to, why) = (task.cpu(), target.id, trace::moved(why));
    if from != to {
        this.trace.write(now, || Event::Migrate { task: task.id, from, to, why });
    }
}

/// Puts a task that is on no queue, its entity parked, on that of `target`. The caller holds the
/// task's lock.
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
    let mut rq = lock_rq(this, target, now);
    rq.advance(now);
    rq.enqueue(target, task, enqueue, why);
    if enqueue != Enqueue::Migrate {
        task.account.lock_masked().wake(rq.clock_ns());
    }
    preempt(this, target, &mut rq, task, trace::joins(enqueue), how, now);
}

/// Wakes a task whose entity is still on its queue; returns whether it was. The caller holds the
/// task's lock.
pub(super) fn requeue_delayed(this: &Cpu, task: &Task, how: Wake, now: u64) -> bool {
    let (target, mut rq) = loop {
        match task.on_rq() {
            OnRq::No => return false,
            // Whoever balances puts it down in a moment, and waits for nothing.
            OnRq::Migrating => spin_hint(),
            OnRq::Queued => {
                let target = cpu::by_id(task.cpu());
                let rq = lock_rq(this, target, now);
                // It may have moved on, or left for good, while this CPU waited for the lock.
                if task.cpu() == target.id && rq.fair.is_delayed(EntityId(task.id)) {
                    break (target, rq);
                }
            }
        }
    };
    rq.advance(now);
    rq.requeue_delayed(task);
    task.account.lock_masked().wake(rq.clock_ns());
    preempt(this, target, &mut rq, task, Joins::Requeue, how, now);
    true
}

/// Asks whether a task that is on the queue of `target` now should run at once, and has that CPU
/// do so.
fn preempt(this: &Cpu, target: &Cpu, rq: &mut Rq, task: &Task, joins: Joins, how: Wake, now: u64) {
    this.trace.write(now, || {
        let lag_ns = rq.fair.lag(EntityId(task.id)).unwrap_or(0);
        let nr_running = rq.nr_runnable();
        Event::Enqueue { task: task.id, cpu: target.id, how: joins, nr_running, lag_ns }
    });
    let request = rq.wakeup_preempt(task, how);
    this.trace.write(now, || Event::Wakeup {
        task: task.id,
        cpu: target.id,
        is_new: joins == Joins::New,
        preempts: trace::preempts(request),
    });
    rq.publish(target);
    // Whoever ran alone has a slice from here on. Another CPU sets its timer when it chooses.
    if target.id == this.id
        && let Some(slice_end) = rq.slice_end_ns()
    {
        this.local.with(|local| local.timers.set_slice_end(Some(slice_end)));
    }
    ask(this, target, rq, request, Why::Wakeup, now);
}

/// Locks a runqueue, perhaps another CPU's, which is counted: it is what remote wake-ups cost.
pub(super) fn lock_rq<'a>(this: &Cpu, target: &'a Cpu, now: u64) -> IrqLockGuard<'a, Rq, ThisCpu> {
    let guard = match target.id == this.id {
        true => target.rq.lock_masked(),
        false => lock_remote(this, target),
    };
    this.owe_lock(target, now);
    guard
}

fn lock_remote<'a>(this: &Cpu, target: &'a Cpu) -> IrqLockGuard<'a, Rq, ThisCpu> {
    let free = target.rq.try_lock();
    // Under the virtual clock waiting takes no time, and that another CPU is in there at all is
    // QEMU's doing.
    let is_timed = free.is_none() && run::config().clock == Clock::Real;
    let begin_ns = if is_timed { clock::now_ns() } else { 0 };
    let guard = free.unwrap_or_else(|| target.rq.lock_masked());
    this.local.with(|local| {
        local.wakeups.remote_rq_locks += 1;
        if is_timed {
            local.wakeups.contended_ns += clock::now_ns() - begin_ns;
        }
    });
    guard
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
        kick(this, target, now);
    }
}

/// Sends another CPU the interrupt that makes it look at its queue and its wake list, as of `now`.
pub(super) fn kick(this: &Cpu, target: &Cpu, now: u64) {
    this.trace.write(now, || Event::IpiSend { cpu: target.id });
    this.local.with(|local| local.wakeups.ipis_sent += 1);
    this.owe(Cost::IpiSend, 1);
    target.note_wake(now);
    lapic::send_reschedule(target.apic_id);
}
