//! Leaving the CPU: choose who is next, account for the stint that ends, switch.
//!
//! Everything happens at one time, [`EventTime::at_switch`](crate::event_time::EventTime), under
//! the runqueue's lock, which is released before the switch: the chosen task is out of the
//! tree, so nobody else can choose it, and a task that is still being left is guarded by
//! its [`OnCpu`](ksync::OnCpu).
//!
//! The policy's answer is checked before it is acted on (Asterinas calls this safe policy
//! injection): runnable, allowed here, running nowhere.

use super::balance;
use super::domains;
use super::idle;
use super::rq::{Rq, Stint, Why};
use crate::account::End;
use crate::arch::{Context, ThisCpu, interrupts_are_on, switch};
use crate::cpu::{self, Cpu, Local};
use crate::events;
use crate::run;
use crate::task::{self, OnRq, State, Task, TaskId, Wait};
use crate::trace;
use abi::scenario::Policy;
use abi::trace::{self as traced, Event, Leaves, TaskIn, TaskOut};
use abi::{Clock, NohzMode};
use eevdf::{Dequeue, Entity, EntityId, Pick};
use ksync::IrqLockGuard;

/// How the running task leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leave {
    /// It was asked to.
    Preempted,
    /// It waits for something; its state says so already.
    Blocked,
    /// It gives others a chance.
    Yields,
    /// It may not stay here; its state says that it waits to be let in elsewhere.
    Migrates,
    /// It becomes a task of another class.
    Becomes(Policy),
    /// For good.
    Exits,
}

/// Gives the CPU to whoever the policy chooses; returns when it is this task's turn again.
/// Interrupts must be off.
pub(crate) fn schedule(leave: Leave) {
    if leave == Leave::Preempted && balance::push(cpu::this()) {
        return;
    }
    schedule_holding(leave, None);
}

/// The same, holding the leaving task's `wait` until its entity has left the queue: whoever
/// takes that lock next finds the entity where the state says it is.
fn schedule_holding(leave: Leave, wait: Option<IrqLockGuard<'_, Wait, ThisCpu>>) {
    debug_assert!(!interrupts_are_on());
    let cpu = cpu::this();
    let (now, is_tick_due) = cpu.local.with(|local| {
        let now = local.time.at_switch();
        if !local.time.is_held() {
            // From here on this CPU goes by the counter; others need not wait for it.
            cpu.set_acts(local.timers.next_ns().unwrap_or(u64::MAX));
        }
        (now, local.timers.is_tick_due_at(now))
    });
    let mut rq = cpu.rq.lock_masked();
    cpu.owe_lock(cpu, now);
    rq.advance(now);
    let why = rq.take_resched(cpu);
    let prev = rq.curr();
    let from = prev.map(task::by_id);
    let left = from.map(|task| (task, leave_queue(cpu, &mut rq, task, leave)));
    drop(wait);

    let mut reason = traced::Pick::Only;
    let next = loop {
        match pick(cpu, &mut rq) {
            Picked::Task(id, why) => {
                reason = why;
                break Some(id);
            }
            Picked::NotYet => {
                drop(rq);
                events::let_interrupts_wait(cpu);
                rq = cpu.rq.lock_masked();
            }
            Picked::Nobody => {
                // Others are to see that this CPU has no work, and so is the search.
                rq.publish(cpu);
                drop(rq);
                let found = balance::newidle(cpu);
                rq = cpu.rq.lock_masked();
                if !found && rq.is_empty() {
                    break None;
                }
            }
        }
    };
    let to = next.map(task::by_id);
    if let Some(to) = to {
        check(cpu, to, prev);
        if next != prev {
            rq.note_picked(to);
        }
    } else {
        cpu.note_idle(rq.clock_ns());
    }
    if next == prev && left.is_none_or(|(_, left)| left.is_queued) {
        rq.publish(cpu);
        let slice_end = rq.slice_end_ns();
        drop(rq);
        cpu.local.with(|local| {
            idle::note_choice(local);
            local.timers.set_slice_end(slice_end);
            arm(local, now, to);
        });
        return;
    }

    let now = rq.clock_ns();
    let stint = core::mem::replace(&mut rq.stint, Stint { start_ns: now, ticks: 0 });
    let mut out = None;
    if let Some((from, left)) = left {
        rq.busy_ns += now - stint.start_ns;
        let end = match leave {
            Leave::Preempted if why == Some(Why::Slice) => End::Slice,
            Leave::Preempted | Leave::Becomes(_) => End::Preempt,
            Leave::Blocked => End::Block,
            Leave::Yields => End::Yield,
            Leave::Migrates => End::Migrate,
            Leave::Exits => End::Exit,
        };
        // A tick at the very end belongs to the stint, though it is handled after the task acted.
        let ticks = stint.ticks + u64::from(is_tick_due && stint.start_ns < now);
        let mut account = from.account.lock_masked();
        account.end_stint(end, stint.start_ns..now, ticks, left.slice_ns, left.lag_ns);
        out = Some(TaskOut { task: from.id, end, lag_ns: left.lag_ns });
    }
    let mut into = None;
    if let Some(to) = to {
        let lag_ns = rq.fair.lag(EntityId(to.id)).unwrap_or(0);
        let mut account = to.account.lock_masked();
        let waited_ns = account.run_delay_ns;
        let last = account.begin_stint(now, cpu.id, to.moved_by(), lag_ns);
        rq.run_delay_ns += account.run_delay_ns - waited_ns;
        drop(account);
        if let Some(last) = last {
            cpu.owe_cold_caches(last);
        }
        into = Some(TaskIn { task: to.id, pick: reason, lag_ns });
    }
    cpu.trace.write(now, || {
        let nr_running = rq.nr_runnable();
        Event::Switch { prev: out, next: into, nr_running }
    });
    rq.switches += 1;
    rq.goes_idle += u64::from(next.is_none());
    cpu.set_current(next);
    rq.publish(cpu);
    if let (None, Some(linux)) = (next, domains::linux()) {
        cpu.seen.goes_idle(now);
        linux.note_idle(cpu);
    }
    let slice_end = rq.slice_end_ns();
    let server_timer = rq.server_timer_ns();
    drop(rq);

    hand_over_timers(cpu, now, from, to, [slice_end, server_timer]);
    // The same one again if it was woken while the queue was open.
    if next != prev {
        switch(context(cpu, from), context(cpu, to));
    }
}

/// What is known of a task that leaves, before the policy forgets it.
#[derive(Clone, Copy)]
struct Left {
    /// Without end, for a real-time task.
    slice_ns: u64,
    /// None, for a real-time task.
    lag_ns: i64,
    /// Whether it still competes.
    is_queued: bool,
}

fn leave_queue(cpu: &Cpu, rq: &mut Rq, task: &Task, leave: Leave) -> Left {
    let entity_id = EntityId(task.id);
    let task_ns = rq.task_ns();
    rq.track_task(task);
    task.set_ran_until(task_ns);
    // The answer is of no interest: whoever is here chooses anew anyway.
    let _ = rq.fair.update_curr(task_ns);
    let slice_ns = rq.fair.entity(entity_id).map_or(u64::MAX, Entity::slice_ns);
    let lag_ns = rq.fair.lag(entity_id).unwrap_or(0);
    if leave == Leave::Blocked
        && let Some(entity) = rq.fair.entity(entity_id)
        && domains::linux().is_some_and(|linux| linux.rules.needs_durations())
    {
        task.history.lock().duration.sleep(entity.sum_exec_ns());
    }
    let why = match leave {
        Leave::Preempted => None,
        Leave::Yields => {
            rq.yields += 1;
            rq.yield_curr();
            None
        }
        Leave::Becomes(policy) => {
            rq.change_class(cpu, task, policy);
            None
        }
        Leave::Blocked => Some(Dequeue::Sleep),
        Leave::Migrates => Some(Dequeue::Migrate),
        Leave::Exits => Some(Dequeue::Exit),
    };
    let is_queued = why.is_none();
    if let Some(why) = why {
        let why = match rq.dequeue(task, why) {
            true => {
                task.leave_rq();
                trace::leaves(why)
            }
            false => Leaves::Delay,
        };
        note_dequeue(cpu, rq, task.id, why);
    }
    Left { slice_ns, lag_ns, is_queued }
}

fn note_dequeue(cpu: &Cpu, rq: &Rq, task: TaskId, why: Leaves) {
    cpu.trace.write(rq.clock_ns(), || {
        let nr_running = rq.nr_runnable();
        Event::Dequeue { task, cpu: cpu.id, why, nr_running }
    });
}

/// What asking the policy came to.
enum Picked {
    Task(TaskId, traced::Pick),
    Nobody,
    /// Nothing yet, and interrupts have been off for long enough.
    NotYet,
}

/// Delayed dequeues that are finished at a stretch. A queue that runs dry may be full of them,
/// and neither the lock nor interrupts should wait for all.
const FLUSHES: usize = 16;

/// Asks the policy until it names somebody or nobody is left; finishes delayed dequeues.
fn pick(cpu: &Cpu, rq: &mut Rq) -> Picked {
    let (clock_ns, task_ns) = (rq.clock_ns(), rq.task_ns());
    for _ in 0..FLUSHES {
        if let Some(id) = rq.pick_rt() {
            return Picked::Task(id, traced::Pick::Priority);
        }
        let Rq { fair, decisions, .. } = rq;
        let before = decisions.as_mut().and_then(|decisions| decisions.before(clock_ns, fair));
        let pick = fair.pick_next(task_ns);
        if let (Some(decisions), Some(before)) = (decisions, before) {
            match pick {
                Pick::Run { id, reason } => decisions.after(cpu.id, before, id, reason),
                Pick::Flush { .. } | Pick::Idle => decisions.forget(&before),
            }
        }
        match pick {
            Pick::Run { id: EntityId(id), reason } => {
                return Picked::Task(id, trace::pick(reason));
            }
            Pick::Flush { id: EntityId(id), entity } => {
                let task = task::by_id(id);
                rq.forget(task);
                task.park(entity);
                task.leave_rq();
                note_dequeue(cpu, rq, id, Leaves::Repaid);
            }
            // All that were queued were delayed; if the server let them go first, others wait.
            Pick::Idle if !rq.is_empty() => {}
            Pick::Idle => return Picked::Nobody,
        }
    }
    Picked::NotYet
}

/// The mechanism's check of the policy's answer.
fn check(cpu: &Cpu, next: &Task, prev: Option<TaskId>) {
    let (id, here) = (next.id, cpu.id);
    let is_queued = next.on_rq() == OnRq::Queued;
    assert!(is_queued, "cpu {here} picked task {id}, which is on no runqueue");
    assert!(next.cpu() == here, "cpu {here} picked task {id}, which is queued on {}", next.cpu());
    assert!(
        next.affinity().contains(here as usize),
        "cpu {here} picked task {id}, which may not run there"
    );
    assert!(
        Some(id) == prev || !next.context.on_cpu().is_on(),
        "cpu {here} picked task {id}, which is running"
    );
}

/// The burst of the task that leaves stops counting, that of the next one goes on.
fn hand_over_timers(
    cpu: &Cpu,
    now: u64,
    from: Option<&Task>,
    to: Option<&Task>,
    [slice_end, server_timer]: [Option<u64>; 2],
) {
    cpu.local.with(|local| {
        idle::note_choice(local);
        let burst_end = local.timers.burst_end_ns();
        if let Some(from) = from {
            from.burst.pause(burst_end, now);
        }
        let (burst_end, is_wall) = to.map_or((None, false), |to| to.burst.resume(now));
        local.timers.set_burst_end(burst_end, is_wall);
        local.timers.set_slice_end(slice_end);
        local.timers.set_server(server_timer);
        local.time.note_switch(now);
        arm(local, now, to);
    });
}

/// Sets the timer for what comes next, with a tick if somebody runs or idle CPUs keep it.
fn arm(local: &mut Local, now: u64, to: Option<&Task>) {
    if run::config().nohz == NohzMode::Idle {
        match to {
            Some(_) => local.timers.restart_tick(now),
            None => local.timers.stop_tick(),
        }
    }
    events::arm(local);
}

fn context(cpu: &'static Cpu, task: Option<&'static Task>) -> &'static Context {
    match task {
        Some(task) => &task.context,
        None => cpu.idle.get().expect("a CPU has an idle context before it schedules"),
    }
}

/// Blocks the running task until [`wake`](super::wakeup::wake), unless a wake-up came first.
/// Interrupts must be off, from before the task became findable to its waker.
pub(crate) fn block(task: &'static Task) {
    let mut wait = task.wait.lock_masked();
    if core::mem::take(&mut wait.is_wake_pending) {
        return;
    }
    wait.state = State::Blocked;
    schedule_holding(Leave::Blocked, Some(wait));
}

/// Ends the running task; returns only when it is spawned again. Interrupts must be off.
///
/// Who finds the task because of what `give_back` does waits for its lock, and so until it has
/// left its queue.
pub(crate) fn exit(task: &'static Task, give_back: impl FnOnce()) {
    let mut wait = task.wait.lock_masked();
    wait.state = State::Dead;
    give_back();
    schedule_holding(Leave::Exits, Some(wait));
}

/// The running task leaves this CPU for another one, or for any where it may run. Interrupts must
/// be off.
///
/// It cannot put itself on another queue: it would be picked while it stands on its own stack.
/// So it blocks, and this CPU's timer lets it in elsewhere at the same time, what a stopper
/// thread does in Linux.
pub(super) fn leave_for(task: &'static Task, to: Option<u32>) {
    let mut wait = task.wait.lock_masked();
    wait.state = State::Blocked;
    task.departs(to);
    cpu::this().local.with(|local| {
        let now = local.time.now();
        local.timers.add_sleeper(now, task.id);
    });
    schedule_holding(Leave::Migrates, Some(wait));
}

/// After an interrupt's work: preempt what it interrupted if asked to, else let its time go on.
pub(crate) fn leave_interrupt(cpu: &'static Cpu) {
    let cpu = match may_grant(cpu) {
        true => {
            schedule(Leave::Preempted);
            // Perhaps another CPU than before.
            cpu::this()
        }
        false => cpu,
    };
    match cpu.current().map(task::by_id) {
        None => idle::idle_on(cpu),
        Some(task) if task.burst.is_active() => {
            let owed_ns = cpu.debt.take();
            cpu.local.with(|local| {
                if owed_ns > 0 {
                    local.timers.prolong_burst(owed_ns);
                }
                if local.time.is_held() {
                    local.let_time_pass(cpu);
                }
            });
        }
        Some(_) => {}
    }
}

/// Whether a request to reschedule can be granted now. Under the virtual clock it waits for its
/// event: the request of another CPU may be from before something else that is due here.
pub(super) fn may_grant(cpu: &Cpu) -> bool {
    cpu.need_resched()
        && (run::config().clock == Clock::Real || cpu.local.with(|local| local.time.is_held()))
        && !idle::is_waking_up(cpu)
}
