//! Tasks: what the runqueues order and CPUs run.
//!
//! ```text
//!                 wake                      picked
//!   Blocked ---------------> Runnable ---------------> (on a CPU)
//!      ^                        ^                          |
//!      |                        +----- preempted, yield ---+
//!      +------------------------------ block --------------+--- exit --> Dead
//! ```
//!
//! | part | protected by |
//! | --- | --- |
//! | [`Task::wait`]: state | its lock, taken before any runqueue's |
//! | the entity | the runqueue it is on; `parked` while it is on none |
//! | [`Task::on_rq`], [`Task::cpu`] | written under that runqueue's lock |
//! | [`Task::rt_priority`] | the task itself, under the lock of the runqueue it is on |
//! | [`Task::burst`] | the CPU the task runs on |
//!
//! The entity of a real-time task is parked all the time: the fair queue does not know the task.
//!
//! A delayed dequeue leaves a blocked task's entity on its runqueue until its debt is repaid;
//! then `on_rq` is set although the state is `Blocked`.

use crate::account::TaskAccount;
use crate::arch::{Context, ThisCpu};
use crate::sched::{Place, Tracked};
use crate::waste::{self, SetId};
use crate::workload;
use abi::CpuSet;
use abi::record::Waits;
use abi::scenario::Policy;
use alloc::boxed::Box;
use alloc::string::String;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use eevdf::Entity;
use ksync::{IrqLock, WakeLink};
use placement::wakeup::History;
use rt::Priority;
use spin::Once;

/// A task's place in the scenario, and its `eevdf::EntityId`.
pub(crate) type TaskId = u32;

static TASKS: Once<Box<[Task]>> = Once::new();

/// Whether a task can run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Runnable,
    Blocked,
    Dead,
}

/// Where a task is with its runqueue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum OnRq {
    /// On none.
    No,
    /// On one.
    Queued,
    /// On its way from one to another, in the hands of the CPU that balances.
    Migrating,
}

/// Why a task joins another queue than before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Moved {
    Wakeup,
    Periodic,
    Newidle,
    Active,
    Nohz,
    Affinity,
}

impl Moved {
    pub(crate) const ALL: [Self; 6] =
        [Self::Wakeup, Self::Periodic, Self::Newidle, Self::Active, Self::Nohz, Self::Affinity];
}

/// A task's state, and a wake-up that came before it blocked.
#[derive(Debug)]
pub(crate) struct Wait {
    pub(crate) state: State,
    pub(crate) is_wake_pending: bool,
}

/// One task.
pub(crate) struct Task {
    pub(crate) id: TaskId,
    pub(crate) name: String,
    /// Where it may run until it chooses another set.
    affinity: CpuSet,
    /// Number of that set; none yet if it is [`Self::NO_SET`]. Written by the task itself.
    cpu_set: AtomicU32,
    /// Number of its program.
    pub(crate) program: u32,
    /// The pool it waits in while it is not alive.
    pub(crate) pool: Option<u32>,
    /// Whether the run does not wait for its end.
    pub(crate) is_background: bool,
    /// What it is like when it is spawned.
    pub(crate) newborn: Entity,
    /// Its policy then.
    pub(crate) newborn_policy: Policy,
    pub(crate) context: Context,
    pub(crate) wait: IrqLock<Wait, ThisCpu>,
    /// The entity while it is on no fair queue. Taken under any other lock, holds none.
    pub(crate) parked: IrqLock<Option<Entity>, ThisCpu>,
    on_rq: AtomicU8,
    /// What is tracked of its load.
    pub(crate) tracked: IrqLock<Tracked, ThisCpu>,
    /// Its place among those of its queue by when they ran.
    pub(crate) recency: Place,
    /// Up to when it ran, by its queue's task clock, ns; 0 on a CPU where it never did.
    ran_until_ns: AtomicU64,
    /// The number of [`Self::affinity`] among the sets of the scenario.
    affinity_id: AtomicU32,
    /// Why it joined another queue than before, last time it did: a [`Moved`].
    moved_by: AtomicU8,
    /// Of SCHED_FIFO; 0 if the task is a fair one.
    rt_priority: AtomicU8,
    /// What it was charged as a real-time task.
    rt_exec_ns: AtomicU64,
    cpu: AtomicU32,
    pub(crate) burst: Burst,
    /// Where it goes if it left a CPU to be let in elsewhere; see [`Self::departs`].
    moves_to: AtomicU32,
    /// What it waits for.
    pub(crate) waits: WaitsFor,
    /// Next in the line of what it waits for; under that thing's lock.
    pub(crate) next_waiter: AtomicU32,
    pub(crate) account: IrqLock<TaskAccount, ThisCpu>,
    /// Next on the wake list that it is on.
    pub(crate) wake_link: WakeLink,
    /// Where it ran and whom it woke. Taken under any other lock, holds none.
    pub(crate) history: IrqLock<History, ThisCpu>,
}

impl Task {
    const NO_SET: u32 = u32::MAX;
    /// Not on its way, in `moves_to`.
    const STAYS: u32 = u32::MAX;
    /// On its way to wherever it may run, in `moves_to`.
    const ANYWHERE: u32 = u32::MAX - 1;

    /// A task on no runqueue yet, runnable unless it waits in a pool.
    ///
    /// `here` are the CPUs that there are.
    pub(crate) fn new(
        id: TaskId,
        spec: &abi::TaskSpec,
        here: &CpuSet,
        context: Context,
        entity: Entity,
    ) -> Self {
        let state = match spec.pool {
            Some(_) => State::Dead,
            None => State::Runnable,
        };
        Self {
            id,
            name: spec.name.clone(),
            affinity: spec.affinity,
            cpu_set: AtomicU32::new(Self::NO_SET),
            program: spec.program,
            pool: spec.pool,
            is_background: spec.is_background,
            newborn: entity.clone(),
            newborn_policy: spec.policy,
            context,
            wait: IrqLock::new(Wait { state, is_wake_pending: false }),
            parked: IrqLock::new(Some(entity)),
            on_rq: AtomicU8::new(OnRq::No as u8),
            tracked: IrqLock::new(Tracked::newborn()),
            recency: Place::new(),
            ran_until_ns: AtomicU64::new(0),
            affinity_id: AtomicU32::new(waste::set_id(&spec.affinity.intersection(here))),
            moved_by: AtomicU8::new(Moved::Wakeup as u8),
            rt_priority: AtomicU8::new(rt_priority(spec.policy)),
            rt_exec_ns: AtomicU64::new(0),
            cpu: AtomicU32::new(0),
            burst: Burst::new(),
            moves_to: AtomicU32::new(Self::STAYS),
            waits: WaitsFor::nothing(),
            next_waiter: AtomicU32::new(TaskId::MAX),
            account: IrqLock::new(TaskAccount::new()),
            wake_link: WakeLink::new(),
            history: IrqLock::new(History::default()),
        }
    }

    /// The CPUs it may run on. They change only while it runs.
    pub(crate) fn affinity(&self) -> &CpuSet {
        // Relaxed: what others read after the task left its CPU, they read under a lock that it
        // held since.
        match self.cpu_set.load(Ordering::Relaxed) {
            Self::NO_SET => &self.affinity,
            set => workload::cpu_set(set),
        }
    }

    /// The running task may run on the CPUs of this set from here on.
    pub(crate) fn set_affinity(&self, set: u32) {
        self.cpu_set.store(set, Ordering::Relaxed);
        self.affinity_id.store(waste::program_set_id(set), Ordering::Relaxed);
    }

    /// The number of [`Self::affinity`] among the sets of the scenario.
    pub(crate) fn affinity_id(&self) -> SetId {
        self.affinity_id.load(Ordering::Relaxed)
    }

    /// Whether it is to be let in on another CPU. The caller holds `wait`.
    pub(crate) fn is_moving(&self) -> bool {
        self.moves_to.load(Ordering::Relaxed) != Self::STAYS
    }

    /// It leaves its CPU for another one, or for any on which it may run. The caller holds `wait`.
    pub(crate) fn departs(&self, to: Option<u32>) {
        self.moves_to.store(to.unwrap_or(Self::ANYWHERE), Ordering::Relaxed);
    }

    /// Whether it left for another CPU, and for which; it need not any more. The caller holds
    /// `wait`.
    pub(crate) fn arrives(&self) -> Option<Option<u32>> {
        match self.moves_to.swap(Self::STAYS, Ordering::Relaxed) {
            Self::STAYS => None,
            Self::ANYWHERE => Some(None),
            cpu => Some(Some(cpu)),
        }
    }

    /// Whether it is on the runqueue of [`Self::cpu`].
    pub(crate) fn on_rq(&self) -> OnRq {
        // Acquire: pairs with the Release in `leave_rq`; who sees `No` finds the entity parked.
        match self.on_rq.load(Ordering::Acquire) {
            byte if byte == OnRq::No as u8 => OnRq::No,
            byte if byte == OnRq::Queued as u8 => OnRq::Queued,
            _ => OnRq::Migrating,
        }
    }

    /// The CPU whose runqueue the task is on, or was last.
    pub(crate) fn cpu(&self) -> u32 {
        // Relaxed: read by those who hold the task's or the runqueue's lock, or want a hint.
        self.cpu.load(Ordering::Relaxed)
    }

    /// The entity joins the runqueue of `cpu`, whose lock the caller holds.
    pub(crate) fn join_rq(&self, cpu: u32, why: Moved) {
        if self.cpu.swap(cpu, Ordering::Relaxed) != cpu {
            self.moved_by.store(why as u8, Ordering::Relaxed);
        }
        self.on_rq.store(OnRq::Queued as u8, Ordering::Release);
    }

    /// It left its runqueue, whose lock the caller holds, and will join another one at once; its
    /// entity is parked.
    pub(crate) fn departs_from_rq(&self) {
        self.on_rq.store(OnRq::Migrating as u8, Ordering::Release);
    }

    /// Why it joined another queue than before, last time it did.
    pub(crate) fn moved_by(&self) -> Moved {
        let byte = self.moved_by.load(Ordering::Relaxed);
        Moved::ALL.into_iter().find(|&why| why as u8 == byte).unwrap_or(Moved::Wakeup)
    }

    /// Up to when it ran, by its queue's task clock.
    pub(crate) fn ran_until_ns(&self) -> u64 {
        self.ran_until_ns.load(Ordering::Relaxed)
    }

    /// It ran up to a time of its queue's task clock, whose lock the caller holds; 0 where it
    /// never did.
    pub(crate) fn set_ran_until(&self, task_ns: u64) {
        self.ran_until_ns.store(task_ns, Ordering::Relaxed);
    }

    /// The task left its runqueue, whose lock the caller holds, for good; its entity is parked.
    pub(crate) fn leave_rq(&self) {
        self.on_rq.store(OnRq::No as u8, Ordering::Release);
    }

    /// The entity left the fair queue, whose lock the caller holds.
    pub(crate) fn park(&self, entity: Entity) {
        *self.parked.lock_masked() = Some(entity);
    }

    /// Its priority, if it is a real-time task.
    pub(crate) fn rt_priority(&self) -> Option<Priority> {
        // Relaxed: written under the lock of the runqueue that asks.
        Priority::new(self.rt_priority.load(Ordering::Relaxed))
    }

    /// It is a task of that policy from here on, real-time or fair.
    pub(crate) fn set_class(&self, policy: Policy) {
        self.rt_priority.store(rt_priority(policy), Ordering::Relaxed);
    }

    /// It ran for so long as a real-time task.
    pub(crate) fn charge_rt(&self, ns: u64) {
        // Relaxed: under the lock of the runqueue it is on, or when all has ended.
        self.rt_exec_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// What it was charged as a real-time task.
    pub(crate) fn rt_exec_ns(&self) -> u64 {
        self.rt_exec_ns.load(Ordering::Relaxed)
    }
}

fn rt_priority(policy: Policy) -> u8 {
    match policy {
        Policy::Fifo { priority } => priority,
        Policy::Normal | Policy::Batch | Policy::Idle => 0,
    }
}

/// What a task waits for, other than time; for the report. Relaxed: read when all has ended.
#[derive(Debug)]
pub(crate) struct WaitsFor(AtomicU64);

impl WaitsFor {
    const NOTHING: u64 = u64::MAX;
    const ALL: [Waits; 6] = [
        Waits::Semaphore,
        Waits::Mutex,
        Waits::Condition,
        Waits::Barrier,
        Waits::PipeData,
        Waits::PipeRoom,
    ];

    const fn nothing() -> Self {
        Self(AtomicU64::new(Self::NOTHING))
    }

    pub(crate) fn set(&self, on: Waits, object: u32) {
        self.0.store((on as u64) << 32 | u64::from(object), Ordering::Relaxed);
    }

    pub(crate) fn clear(&self) {
        self.0.store(Self::NOTHING, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Option<(Waits, u32)> {
        let word = self.0.load(Ordering::Relaxed);
        Some((*Self::ALL.get((word >> 32) as usize)?, word as u32))
    }
}

/// The computing that a task is at.
///
/// Relaxed everywhere: touched by the task itself and by its CPU's handlers and switches only.
/// When the task changes CPU, the runqueue's lock lies in between.
#[derive(Debug)]
pub(crate) struct Burst {
    /// While it is off the CPU: the own CPU time still to use or, if `is_wall`, the time at
    /// which it ends, ns; [`Burst::NO_END`] without an end. While the task runs, its CPU's timer
    /// has it instead.
    rest_ns: AtomicU64,
    is_wall: AtomicBool,
    is_active: AtomicBool,
}

impl Burst {
    const NO_END: u64 = u64::MAX;

    const fn new() -> Self {
        Self {
            rest_ns: AtomicU64::new(Self::NO_END),
            is_wall: AtomicBool::new(false),
            is_active: AtomicBool::new(false),
        }
    }

    /// The task computes from here on, for a time of its own or up to a time of the clock.
    pub(crate) fn begin(&self, is_wall: bool) {
        self.is_wall.store(is_wall, Ordering::Relaxed);
        self.is_active.store(true, Ordering::Relaxed);
    }

    /// It has computed as long as it wanted.
    pub(crate) fn end(&self) {
        self.is_active.store(false, Ordering::Relaxed);
    }

    /// Whether it computes.
    pub(crate) fn is_active(&self) -> bool {
        self.is_active.load(Ordering::Relaxed)
    }

    /// The task leaves the CPU; its computing would have ended at `end_ns`.
    pub(crate) fn pause(&self, end_ns: Option<u64>, now_ns: u64) {
        let rest_ns = match end_ns {
            None => Self::NO_END,
            Some(end_ns) if self.is_wall.load(Ordering::Relaxed) => end_ns,
            Some(end_ns) => end_ns.saturating_sub(now_ns),
        };
        self.rest_ns.store(rest_ns, Ordering::Relaxed);
    }

    /// The task gets the CPU; when its computing ends if nothing comes in between, and whether
    /// that is a time of the clock.
    pub(crate) fn resume(&self, now_ns: u64) -> (Option<u64>, bool) {
        let is_wall = self.is_wall.load(Ordering::Relaxed);
        let end_ns = match self.rest_ns.load(Ordering::Relaxed) {
            Self::NO_END => None,
            end_ns if is_wall => Some(end_ns.max(now_ns)),
            left_ns => Some(now_ns + left_ns),
        };
        (end_ns, is_wall)
    }
}

/// Publishes the tasks, in the order of their numbers. Once.
pub(crate) fn init(tasks: Box<[Task]>) {
    TASKS.call_once(|| tasks);
}

/// All tasks; none before [`init`].
pub(crate) fn all() -> &'static [Task] {
    TASKS.get().map_or(&[], |tasks| tasks)
}

/// A task by number.
#[inline]
pub(crate) fn by_id(id: TaskId) -> &'static Task {
    &all()[id as usize]
}

/// How many tasks there are.
pub(crate) fn count() -> usize {
    all().len()
}

/// A task's name, for messages.
pub(crate) fn name(id: TaskId) -> &'static str {
    all().get(id as usize).map_or("?", |task| &task.name)
}
