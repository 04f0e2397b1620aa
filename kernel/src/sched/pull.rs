//! A CPU that runs dry takes a waiting task from another one.
//!
//! The source's lock is taken alone: the task leaves that queue with its lag, is in nobody's
//! hands but ours for a moment, and joins our queue afterwards. Tasks that may not run here,
//! that are still being switched away from, or that only wait out a debt stay where they are.

use super::{Why, wakeup};
use crate::cpu::{self, Cpu};
use crate::task::{self, TaskId};
use abi::CpuSet;
use abi::trace::{Event, Leaves, Move};
use eevdf::{Dequeue, EntityId};

/// How many tasks of a queue are looked at (Linux: `sched_nr_migrate`): interrupts are off
/// meanwhile, so the time must not grow with the queue.
const NR_MIGRATE: usize = 32;

/// A task in nobody's hands but the puller's.
pub(super) struct Pulled {
    pub(super) id: TaskId,
    /// When it left its queue, by that queue's clock.
    pub(super) clock_ns: u64,
}

/// Whether any CPU but this one has a task waiting, as of a moment ago.
pub(super) fn is_any_waiting(this: &Cpu) -> bool {
    cpu::all().iter().any(|cpu| cpu.id != this.id && cpu.waiting() > 0)
}

/// Takes the waiting task that is owed most from the fullest queue that has one for this CPU.
/// The caller holds no runqueue.
pub(super) fn pull(this: &Cpu) -> Option<Pulled> {
    let now = this.local.with(|local| local.time.now());
    let mut tried = CpuSet::EMPTY;
    loop {
        let waiting = cpu::all().iter().map(|cpu| match tried.contains(cpu.id as usize) {
            true => 0,
            false => cpu.waiting(),
        });
        let Some(source) = placement::simple::pull_from(this.id as usize, waiting) else {
            this.trace.write(now, || Event::Balance { from: None, moved: 0 });
            return None;
        };
        tried.insert(source);
        if let Some(pulled) = take_from(&cpu::all()[source], this, now) {
            return Some(pulled);
        }
    }
}

fn take_from(source: &Cpu, this: &Cpu, now: u64) -> Option<Pulled> {
    let mut rq = source.rq.lock();
    rq.advance(now);
    let is_movable = |&EntityId(id): &EntityId| {
        let task = task::by_id(id);
        task.affinity().contains(this.id as usize) && !task.context.on_cpu().is_on()
    };
    let id = rq
        .fair
        .queued()
        .take(NR_MIGRATE)
        .filter(|&id| Some(id) != rq.fair.curr() && !rq.fair.is_delayed(id))
        .filter(is_movable)
        .max_by_key(|&id| rq.fair.lag(id))?;
    let is_gone = rq.dequeue(task::by_id(id.0), Dequeue::Migrate);
    debug_assert!(is_gone, "only who sleeps is dequeued with delay");
    let request = rq.fair.resched();
    // The look at its clock may have shown that the task running there has used up its slice.
    wakeup::ask(this, source, &mut rq, request, Why::Slice, now);
    this.trace.write(now, || {
        let nr_running = rq.nr_runnable();
        Event::Dequeue { task: id.0, cpu: source.id, why: Leaves::Migrate, nr_running }
    });
    this.trace.write(now, || Event::Balance { from: Some(source.id), moved: 1 });
    let (task, from, to) = (id.0, source.id, this.id);
    this.trace.write(now, || Event::Migrate { task, from, to, why: Move::Pull });
    rq.publish(source);
    Some(Pulled { id: id.0, clock_ns: rq.clock_ns() })
}
