//! The classes of a runqueue and their order: the deadline server, SCHED_FIFO, fair.
//!
//! Each class is a policy of its own (`rt`, `eevdf`); here they are asked in order, and a task
//! joins and leaves the one that its policy names. A real-time task's entity stays parked.
//!
//! The server lends fair tasks a priority above all; it picks nobody itself. It is charged whenever
//! the clock moves under a fair task, and told in [`Rq::publish`] when the first one comes or the
//! last one goes.

use super::rq::Rq;
use crate::cpu::{self, Cpu};
use crate::task::{self, Moved, Task, TaskId};
use abi::scenario::{self, Policy};
use abi::{Cost, Scenario};
use alloc::boxed::Box;
use alloc::vec;
use eevdf::{Dequeue, Dequeued, Enqueue, EntityId, Resched, Wake};
use rt::{DlServer, FifoQueue, Link, Stop};

/// What the server guarantees, and of which time (Linux: `fair_server/cpuN/{runtime,period}`).
const SERVER_RUNTIME_NS: u64 = 50_000_000;
const SERVER_PERIOD_NS: u64 = 1_000_000_000;
const SERVER_COSTS: [Cost; 2] = [Cost::DlServerStart, Cost::DlServerStop];

/// What a runqueue has besides its fair tasks.
pub(crate) struct RealTime {
    pub(super) queue: FifoQueue<Box<[Link]>>,
    /// The one on the CPU; nobody, if a fair task is.
    pub(super) curr: Option<TaskId>,
    server: Option<DlServer>,
    /// Whether there were fair tasks when the server was told last.
    had_fair: bool,
    /// The server's turn ended since the last pick.
    is_turn_over: bool,
}

impl RealTime {
    /// Room for the scenario's tasks, if there are real-time ones.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let has_fifo = scenario.has_fifo();
        // Nor for a server without real-time tasks, but where it costs something.
        let is_used = has_fifo || SERVER_COSTS.iter().any(|&cost| scenario.costs[cost] > 0);
        let links = if has_fifo { scenario.tasks.len() } else { 0 };
        let stop = match scenario.dl_server {
            scenario::DlServer::Off => None,
            scenario::DlServer::Eager => Some(Stop::Eager),
            scenario::DlServer::Lazy => Some(Stop::Lazy),
        };
        Self {
            queue: FifoQueue::new(vec![Link::EMPTY; links].into_boxed_slice()),
            curr: None,
            server: stop
                .filter(|_| is_used)
                .map(|stop| DlServer::new(stop, SERVER_RUNTIME_NS, SERVER_PERIOD_NS)),
            had_fair: false,
            is_turn_over: false,
        }
    }

    fn is_server_active(&self) -> bool {
        self.server.as_ref().is_some_and(DlServer::is_active)
    }
}

impl Rq {
    /// The task on the CPU.
    pub(crate) fn curr(&self) -> Option<TaskId> {
        self.rt.curr.or(self.fair.curr().map(|EntityId(id)| id))
    }

    /// How many tasks want to run, the one that does included.
    pub(crate) fn nr_runnable(&self) -> u32 {
        self.fair.nr_runnable() + self.rt.queue.len()
    }

    /// Whether nobody is queued, not even a delayed task.
    pub(super) fn is_empty(&self) -> bool {
        self.fair.nr_queued() == 0 && self.rt.queue.is_empty()
    }

    /// Puts a task on the queue of its class; `why` says why here if it was elsewhere.
    pub(crate) fn enqueue(&mut self, cpu: &Cpu, task: &Task, how: Enqueue, why: Moved) {
        match task.rt_priority() {
            Some(priority) => self.rt.queue.enqueue(task.id, priority),
            None => {
                let entity = task.parked.lock_masked().take();
                let entity = entity.expect("a task on no fair queue has its entity parked");
                self.track_join(cpu, task, entity.weight());
                if self.is_tracked() {
                    self.recency.join(task);
                    if !(entity.is_delayed() && how == Enqueue::Migrate) {
                        self.told.joins(task.affinity_id());
                    }
                }
                self.fair.enqueue(EntityId(task.id), entity, how, self.task_ns());
            }
        }
        task.join_rq(cpu.id, why);
    }

    /// A task that was delayed here competes again.
    pub(super) fn requeue_delayed(&mut self, task: &Task) {
        self.track_requeue(task);
        self.fair.requeue_delayed(EntityId(task.id), self.task_ns());
        if self.is_tracked() {
            self.told.joins(task.affinity_id());
        }
    }

    /// Takes a task off its queue and parks its entity; returns false if it stays delayed.
    pub(super) fn dequeue(&mut self, task: &Task, why: Dequeue) -> bool {
        if self.rt.queue.contains(task.id) {
            self.rt.queue.dequeue(task.id);
            if self.rt.curr == Some(task.id) {
                self.rt.curr = None;
            }
            return true;
        }
        let id = EntityId(task.id);
        let is_delayed = self.fair.is_delayed(id);
        if self.is_tracked() {
            let sleeps = matches!(why, Dequeue::Sleep | Dequeue::SleepSpecial);
            let goes_on = matches!(why, Dequeue::Migrate | Dequeue::Exit | Dequeue::Change);
            self.track_leave(task, sleeps, is_delayed, goes_on);
            if !is_delayed {
                self.told.leaves(task.affinity_id());
            }
        }
        match self.fair.dequeue(id, why, self.task_ns()) {
            Dequeued::Gone(entity) => {
                self.forget(task);
                task.park(entity);
                true
            }
            Dequeued::Delayed => false,
        }
    }

    /// A fair task left for good.
    pub(super) fn forget(&mut self, task: &Task) {
        if self.is_tracked() {
            self.recency.leave(task);
        }
    }

    /// A fair task was chosen that was not the one on the CPU.
    pub(super) fn note_picked(&mut self, task: &Task) {
        if self.is_tracked() && task.rt_priority().is_none() {
            self.track_picked(task);
            self.recency.touch(task);
        }
    }

    /// The running task may run on other CPUs than before, by what `change` does.
    pub(super) fn change_affinity(&mut self, task: &Task, change: impl FnOnce()) {
        let is_told = self.is_tracked() && task.rt_priority().is_none();
        if is_told {
            self.told.leaves(task.affinity_id());
        }
        change();
        if is_told {
            self.told.joins(task.affinity_id());
        }
    }

    /// The running task gives others a chance.
    pub(super) fn yield_curr(&mut self) {
        match self.rt.curr {
            Some(id) => {
                let priority = self.rt.queue.priority(id).expect("the running task is in a line");
                self.rt.queue.dequeue(id);
                self.rt.queue.enqueue(id, priority);
            }
            None => self.fair.yield_curr(self.task_ns()),
        }
    }

    /// The running task becomes one of another class; it is to be picked anew.
    pub(super) fn change_class(&mut self, cpu: &Cpu, task: &Task, policy: Policy) {
        let is_gone = self.dequeue(task, Dequeue::Change);
        debug_assert!(is_gone, "only who sleeps is dequeued with delay");
        task.set_class(policy);
        self.enqueue(cpu, task, Enqueue::Restore, Moved::Affinity);
    }

    /// The real-time task that is to run, set running; nobody if it is a fair one's turn.
    pub(super) fn pick_rt(&mut self) -> Option<TaskId> {
        self.rt.is_turn_over = false;
        self.rt.curr = None;
        if self.rt.is_server_active() && self.fair.nr_queued() > 0 {
            return None;
        }
        let first = self.rt.queue.first()?;
        self.fair.put_curr(self.task_ns());
        self.rt.curr = Some(first);
        Some(first)
    }

    /// Whether a task that was queued just now should run at once.
    pub(super) fn wakeup_preempt(&mut self, task: &Task, how: Wake) -> Resched {
        let Some(curr) = self.curr() else { return Resched::Full };
        let goes_first = match (task.rt_priority(), self.rt.queue.priority(curr)) {
            (None, None) => {
                return self.fair.wakeup_preempt(EntityId(task.id), how, self.task_ns());
            }
            (None, Some(_)) => self.rt.is_server_active(),
            (Some(_), None) => !self.rt.is_server_active(),
            (Some(priority), Some(running)) => priority > running,
        };
        if goes_first { Resched::Full } else { Resched::No }
    }

    /// The tick, after the clock moved: only a fair task can have run for long enough.
    pub(super) fn tick(&mut self) -> Resched {
        match self.rt.curr {
            Some(_) => Resched::No,
            None => self.fair.tick(self.task_ns()),
        }
    }

    /// The running task ran for `ns` of the task clock.
    pub(super) fn charge(&mut self, ns: u64) {
        let now_ns = self.clock_ns();
        if let Some(id) = self.rt.curr {
            task::by_id(id).charge_rt(ns);
        } else if let Some(server) = &mut self.rt.server
            && self.fair.curr().is_some()
        {
            self.rt.is_turn_over |= server.charge(ns, now_ns);
        }
    }

    /// Tells the server whether there are fair tasks; returns whether its turn is over.
    pub(super) fn update_server(&mut self) -> bool {
        let now_ns = self.clock_ns();
        let Some(server) = &mut self.rt.server else { return false };
        let has_fair = self.fair.nr_runnable() > 0;
        match (core::mem::replace(&mut self.rt.had_fair, has_fair), has_fair) {
            (false, true) if server.fair_arrives(now_ns) => count_start(),
            (true, false) if server.fair_leaves() => count_stop(),
            _ => {}
        }
        core::mem::take(&mut self.rt.is_turn_over)
    }

    /// Whether there is a server; not without real-time tasks.
    pub(super) fn has_server(&self) -> bool {
        self.rt.server.is_some()
    }

    /// When the server wants to be asked.
    pub(super) fn server_timer_ns(&self) -> Option<u64> {
        self.rt.server.as_ref().and_then(DlServer::timer_ns)
    }

    /// The server's time has come; returns whether it is the turn of fair tasks now.
    pub(super) fn on_server_timer(&mut self) -> bool {
        let now_ns = self.clock_ns();
        let has_fair = self.fair.nr_runnable() > 0;
        self.rt.server.as_mut().is_some_and(|server| server.on_timer(has_fair, now_ns))
    }
}

/// A server started, by what this CPU did.
fn count_start() {
    let this = cpu::this();
    this.local.with(|local| local.wakeups.server_starts += 1);
    this.owe(Cost::DlServerStart, 1);
}

/// A server stopped, by what this CPU did.
fn count_stop() {
    let this = cpu::this();
    this.local.with(|local| local.wakeups.server_stops += 1);
    this.owe(Cost::DlServerStop, 1);
}
