//! One pass over a domain, for one CPU: find whom to take from, detach, attach.

use super::{imbalance, push};
use crate::cpu::{self, Cpu};
use crate::run;
use crate::sched::recency::Recency;
use crate::sched::{Rq, Why, domains, wakeup};
use crate::task::{self, Moved, Task, TaskId};
use ::balance::{
    Busiest, Candidate, Detach, DomainState, Idle, Migration, Outcome, Verdict, find_busiest,
    should_balance,
};
use abi::CpuSet;
use abi::trace::{Event, Joins, Leaves, Move};
use eevdf::{Dequeue, Enqueue, EntityId, Policy, Preset, Resched, Wake};
use placement::topology::Domain;

/// For whom a pass is made, and why.
#[derive(Clone, Copy)]
pub(super) struct Pass<'a> {
    /// The executing CPU.
    pub(super) this: &'a Cpu,
    /// The CPU that is to get tasks.
    pub(super) dest: &'a Cpu,
    pub(super) idle: Idle,
    pub(super) why: Moved,
    pub(super) now: u64,
}

/// What a pass came to.
pub(super) struct Result {
    pub(super) outcome: Outcome,
    /// How many tasks moved.
    pub(super) moved: u64,
    /// Whether wider domains are this CPU's business too.
    pub(super) goes_on: bool,
}

/// Tasks on their way; as many as one pass may take.
struct Detached {
    tasks: [TaskId; Self::CAPACITY],
    len: usize,
    /// When they left, by their queue's clock.
    clock_ns: u64,
}

impl Detached {
    const CAPACITY: usize = 32;

    fn as_slice(&self) -> &[TaskId] {
        &self.tasks[..self.len]
    }
}

impl Pass<'_> {
    /// Balances one domain. No runqueue is held.
    pub(super) fn run(&self, domain: &Domain, state: &DomainState) -> Result {
        let done = |outcome| Result { outcome, moved: 0, goes_on: true };
        let dest = self.dest.id as usize;
        let topology = cpu::topology();
        let view = |cpu: usize| cpu::all()[cpu].view();
        if !should_balance(topology, domain, dest, self.idle, |cpu| cpu::all()[cpu].is_unwanted()) {
            return Result { goes_on: false, ..done(Outcome::Balanced) };
        }
        if let Some(linux) = domains::linux()
            && self.idle != Idle::Newly
            && domain.span == topology.llc(dest)
        {
            linux.update_budget(self.dest);
        }
        let is_imbalanced = |first| imbalance::is_noted(domain, first);
        let mut excluded = CpuSet::EMPTY;
        loop {
            let found =
                find_busiest(topology, domain, dest, self.idle, &excluded, view, is_imbalanced);
            let Some(Busiest { cpu, migration }) = found else {
                if !excluded.is_empty() {
                    return done(Outcome::Pinned);
                }
                imbalance::note(topology, domain, false);
                return done(Outcome::Balanced);
            };
            let source = &cpu::all()[cpu];
            let (moved, detach) = self.pull(source, migration, domain, state.failed());
            if detach.is_hampered() {
                imbalance::note(topology, domain, true);
            }
            if moved > 0 {
                return Result { moved, ..done(Outcome::Moved) };
            }
            if detach.are_all_pinned() {
                excluded.insert(cpu);
                continue;
            }
            let moves_tasks = matches!(migration, Migration::Tasks(_));
            let capacity_here = self.dest.view().capacity;
            if !state.needs_push(domain, self.idle, moves_tasks, &source.view(), capacity_here) {
                return done(Outcome::Failed);
            }
            return done(match push::ask(self.this, source, self.dest, self.now) {
                true => Outcome::Pushed,
                false => Outcome::Pinned,
            });
        }
    }

    /// Moves tasks from the source, and those that may not run on the destination to others of its
    /// group; returns how many, and the last look at the source.
    fn pull(
        &self,
        source: &Cpu,
        migration: Migration,
        domain: &Domain,
        failed: u32,
    ) -> (u64, Detach) {
        let mut moved = 0;
        let mut pass = *self;
        let mut migration = migration;
        // Those that had their turn.
        let mut tried = CpuSet::EMPTY;
        loop {
            tried.insert(pass.dest.id as usize);
            let (detached, detach) = pass.detach(source, migration, domain, failed, &tried);
            if detached.len > 0 {
                moved += detached.len as u64;
                pass.attach(source, &detached);
            }
            let Some((instead, rest)) = detach.instead() else { return (moved, detach) };
            pass.dest = &cpu::all()[instead];
            migration = rest;
        }
    }

    /// Takes tasks off the source. `tried` are the CPUs of the destination's group that others are
    /// not to go to instead.
    fn detach(
        &self,
        source: &Cpu,
        migration: Migration,
        domain: &Domain,
        failed: u32,
        tried: &CpuSet,
    ) -> (Detached, Detach) {
        let mut detached = Detached { tasks: [0; Detached::CAPACITY], len: 0, clock_ns: 0 };
        let mut rq = source.rq.lock();
        self.this.owe_lock(source, self.now);
        rq.advance(self.now);
        // "sched/fair: Don't move tasks in debt to a CPU that has work" (6.13).
        let spares_indebted = !self.dest.is_unwanted() && has_lag_rule(rq.fair.rules().preset());
        let mut detach = Detach::new(migration, self.idle, failed, domain, spares_indebted);
        if rq.nr_runnable() < 2 && self.idle == Idle::No {
            return (detached, detach);
        }
        let group = domain.group_of(self.dest.id as usize);
        let others: CpuSet = group.cpus().filter(|&cpu| !tried.contains(cpu)).collect();
        let mut next = rq.recency.oldest();
        while let Some(id) = next {
            let task = task::by_id(id);
            next = Recency::newer_than(task);
            let Some(candidate) = candidate(&rq, task, self.dest, &others) else { continue };
            match detach.consider(rq.nr_runnable(), &candidate) {
                Verdict::Take => {
                    let is_gone = rq.dequeue(task, Dequeue::Migrate);
                    debug_assert!(is_gone, "only who sleeps is dequeued with delay");
                    task.departs_from_rq();
                    self.note_detached(source, &rq, id);
                    detached.tasks[detached.len] = id;
                    detached.len += 1;
                }
                Verdict::Leave => {}
                Verdict::Stop => break,
            }
        }
        detached.clock_ns = rq.clock_ns();
        // The look at its clock may have shown that the task running there has used up its slice.
        let request = rq.fair.resched();
        wakeup::ask(self.this, source, &mut rq, request, Why::Slice, self.now);
        rq.publish(source);
        (detached, detach)
    }

    /// Lets detached tasks join the destination.
    fn attach(&self, source: &Cpu, detached: &Detached) {
        let dest = self.dest;
        let mut rq = dest.rq.lock();
        self.this.owe_lock(dest, self.now);
        // Their CPU may be ahead: here they cannot run before they left there.
        rq.advance(self.now.max(detached.clock_ns));
        let mut request = Resched::No;
        for task in detached.as_slice().iter().map(|&id| task::by_id(id)) {
            check_lag_is_kept(&mut rq, task, |rq| {
                rq.enqueue(dest, task, Enqueue::Migrate, self.why);
            });
            self.note_attached(source, &rq, task.id);
            request = request.max(rq.wakeup_preempt(task, Wake::default()));
        }
        if self.idle != Idle::Newly {
            // One that runs dry is about to choose anyway.
            wakeup::ask(self.this, dest, &mut rq, request, Why::Wakeup, self.now);
        }
        rq.publish(dest);
    }

    fn note_detached(&self, source: &Cpu, rq: &Rq, task: TaskId) {
        self.this.trace.write(self.now, || {
            let nr_running = rq.nr_runnable();
            Event::Dequeue { task, cpu: source.id, why: Leaves::Migrate, nr_running }
        });
        let (from, to) = (source.id, self.dest.id);
        self.this.trace.write(self.now, || Event::Migrate { task, from, to, why: Move::Pull });
    }

    fn note_attached(&self, source: &Cpu, rq: &Rq, task: TaskId) {
        self.this.trace.write(self.now, || Event::Balance { from: Some(source.id), moved: 1 });
        self.this.trace.write(self.now, || {
            let lag_ns = rq.fair.lag(EntityId(task)).unwrap_or(0);
            let (cpu, how, nr_running) = (self.dest.id, Joins::Migrate, rq.nr_runnable());
            Event::Enqueue { task, cpu, how, nr_running, lag_ns }
        });
    }
}

/// Where invariants are checked: a task joins a queue that is not empty with the lag that it left
/// the other one with. V is rounded down to the nanosecond before and after, and the change of V
/// by the newcomer is made up for in whole nanoseconds, which costs W / w + 1 of them at most.
fn check_lag_is_kept(rq: &mut Rq, task: &Task, enqueue: impl FnOnce(&mut Rq)) {
    let others = rq.fair.total_weight();
    let vlag = task.parked.lock().as_ref().map_or(0, eevdf::Entity::vlag);
    enqueue(rq);
    if run::config().check_invariants
        && others > 0
        && let Some(entity) = rq.fair.entity(EntityId(task.id))
    {
        let lag = rq.fair.lag(EntityId(task.id)).unwrap_or(0);
        let tolerance = others / u64::from(entity.weight()) + 1;
        let id = task.id;
        assert!(
            lag.abs_diff(vlag) <= tolerance,
            "task {id} left a queue with lag {vlag} and has {lag} on the next one, weight {others}"
        );
    }
}

/// What the policy is to know of a task; nothing of one that repaid its debt in the middle of a
/// wake-up test and only waits to be handed out.
fn candidate(rq: &Rq, task: &Task, dest: &Cpu, others: &CpuSet) -> Option<Candidate> {
    let id = EntityId(task.id);
    let entity = rq.fair.entity(id)?;
    rq.track_task(task);
    let tracked = task.tracked.lock();
    let allowed = task.affinity();
    Some(Candidate {
        is_allowed: allowed.contains(dest.id as usize),
        nearby: allowed.intersection(others).iter().next(),
        is_running: rq.fair.curr() == Some(id) || task.context.on_cpu().is_on(),
        is_delayed: entity.is_delayed(),
        is_eligible: rq.fair.is_eligible(id),
        is_indifferent: entity.attr().policy == Policy::Idle,
        idle_for_ns: rq.task_ns().saturating_sub(task.ran_until_ns()),
        load: tracked.load(),
        util: tracked.util_est(),
    })
}

fn has_lag_rule(preset: Preset) -> bool {
    !matches!(preset, Preset::V6_6 | Preset::V6_8 | Preset::V6_12)
}

/// Whether balancing is on, and there is anybody to balance with.
pub(super) fn is_on() -> bool {
    run::config().balances && cpu::all().len() > 1
}
