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
//! | [`Task::burst`] | the CPU the task runs on |
//!
//! A delayed dequeue leaves a blocked task's entity on its runqueue until its debt is repaid;
//! then `on_rq` is set although the state is `Blocked`.

use crate::account::TaskAccount;
use crate::arch::{Context, ThisCpu};
use abi::{CpuSet, Program};
use alloc::boxed::Box;
use alloc::string::String;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use eevdf::Entity;
use ksync::IrqLock;
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
    pub(crate) affinity: CpuSet,
    pub(crate) program: Program,
    pub(crate) context: Context,
    pub(crate) wait: IrqLock<Wait, ThisCpu>,
    /// The entity while it is on no runqueue. Taken under any other lock, holds none.
    pub(crate) parked: IrqLock<Option<Entity>, ThisCpu>,
    on_rq: AtomicBool,
    cpu: AtomicU32,
    pub(crate) burst: Burst,
    /// Next in the line of a semaphore; under that semaphore's lock.
    pub(crate) next_waiter: AtomicU32,
    pub(crate) account: IrqLock<TaskAccount, ThisCpu>,
}

impl Task {
    /// A task that is runnable and on no runqueue yet.
    pub(crate) fn new(
        id: TaskId,
        name: String,
        affinity: CpuSet,
        program: Program,
        context: Context,
        entity: Entity,
    ) -> Self {
        Self {
            id,
            name,
            affinity,
            program,
            context,
            wait: IrqLock::new(Wait { state: State::Runnable, is_wake_pending: false }),
            parked: IrqLock::new(Some(entity)),
            on_rq: AtomicBool::new(false),
            cpu: AtomicU32::new(0),
            burst: Burst::new(),
            next_waiter: AtomicU32::new(TaskId::MAX),
            account: IrqLock::new(TaskAccount::new()),
        }
    }

    /// Whether the entity is on the runqueue of [`Self::cpu`].
    pub(crate) fn on_rq(&self) -> bool {
        // Acquire: pairs with the Release in `leave_rq`; who sees false finds the entity parked.
        self.on_rq.load(Ordering::Acquire)
    }

    /// The CPU whose runqueue the task is on, or was last.
    pub(crate) fn cpu(&self) -> u32 {
        // Relaxed: read by those who hold the task's or the runqueue's lock, or want a hint.
        self.cpu.load(Ordering::Relaxed)
    }

    /// The entity joins the runqueue of `cpu`, whose lock the caller holds.
    pub(crate) fn join_rq(&self, cpu: u32) {
        self.cpu.store(cpu, Ordering::Relaxed);
        self.on_rq.store(true, Ordering::Release);
    }

    /// The entity left its runqueue, whose lock the caller holds, for good.
    pub(crate) fn leave_rq(&self, entity: Entity) {
        *self.parked.lock() = Some(entity);
        self.on_rq.store(false, Ordering::Release);
    }
}

/// The CPU time that a task is using up.
///
/// Relaxed everywhere: touched by the task itself and by its CPU's handlers and switches only.
/// When the task changes CPU, the runqueue's lock lies in between.
#[derive(Debug)]
pub(crate) struct Burst {
    /// Own CPU time still to use, ns; [`Burst::NO_END`] where there is no end. While the task
    /// runs, its CPU's timer has it instead.
    left_ns: AtomicU64,
    is_active: AtomicBool,
}

impl Burst {
    const NO_END: u64 = u64::MAX;

    const fn new() -> Self {
        Self { left_ns: AtomicU64::new(Self::NO_END), is_active: AtomicBool::new(false) }
    }

    /// The task computes from here on.
    pub(crate) fn begin(&self) {
        self.is_active.store(true, Ordering::Relaxed);
    }

    /// It has used up what it wanted.
    pub(crate) fn end(&self) {
        self.is_active.store(false, Ordering::Relaxed);
    }

    /// Whether it computes.
    pub(crate) fn is_active(&self) -> bool {
        self.is_active.load(Ordering::Relaxed)
    }

    /// What is left as of the last time the task left a CPU.
    pub(crate) fn left_ns(&self) -> Option<u64> {
        Some(self.left_ns.load(Ordering::Relaxed)).filter(|&left| left != Self::NO_END)
    }

    pub(crate) fn set_left_ns(&self, left: Option<u64>) {
        self.left_ns.store(left.unwrap_or(Self::NO_END), Ordering::Relaxed);
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
