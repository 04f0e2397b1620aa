//! One step after the other of a task's program.
//!
//! The host has checked the program ([`abi::program::check`]), so every number in it is good.

use super::arrivals::Arrivals;
use super::{
    barrier, burn, condition, measure, mutex, pipe, pool, program, progress, semaphore, timer,
};
use crate::arch;
use crate::irqsoff::let_interrupts_in;
use crate::sched::{self, Leave};
use crate::task::{self, Task};
use crate::{cpu, run};
use abi::Op;
use abi::program::{MAX_COUNTERS, Since};
use abi::trace::Event;

/// Where every task begins: on its own stack, interrupts off, just switched to. One of a pool
/// begins again each time it is spawned.
pub(crate) extern "C" fn task_entry() -> ! {
    let id = cpu::this().current().expect("a task has been switched to");
    let task = task::by_id(id);
    loop {
        Interpreter::new(task).run();
        progress::ended(task);
        sched::exit(task, || pool::give_back(task));
        assert!(task.pool.is_some(), "task {id} runs after its end");
    }
}

/// A task's place in its program.
struct Interpreter {
    task: &'static Task,
    /// When the task's own time began.
    epoch_ns: u64,
    arrivals: Arrivals,
    counters: [u64; MAX_COUNTERS as usize],
    /// What [`Op::LockThisCpu`] locked.
    cpu_mutex: Option<u32>,
}

impl Interpreter {
    fn new(task: &'static Task) -> Self {
        Self {
            task,
            // Not when it first got the CPU: timers of tasks that start together stay together.
            epoch_ns: if task.pool.is_some() { now() } else { run::start_ns() },
            arrivals: Arrivals::new(run::config().seed, task.id),
            counters: [0; MAX_COUNTERS as usize],
            cpu_mutex: None,
        }
    }

    fn run(&mut self) {
        let program = program(self.task.program);
        let mut at = 0;
        loop {
            burn::pay(self.task);
            let Some(op) = program.get(at) else { return };
            let_interrupts_in();
            let cpu = cpu::this();
            cpu.note_operation();
            // A waker that is to be preempted is, before it goes on.
            if cpu.need_resched() {
                sched::schedule(Leave::Preempted);
                burn::pay(self.task);
            }
            at = match self.step(op, at + 1) {
                Some(next) => next,
                None => return,
            };
        }
    }

    /// Does one operation; says which one is next, if the task goes on.
    #[inline(always)]
    fn step(&mut self, op: &Op, next: usize) -> Option<usize> {
        let task = self.task;
        match *op {
            Op::Run(ns) => burn::run(task, ns),
            Op::RunWall(ns) => burn::run_until(task, now() + ns),
            Op::RunUntil(ns) => burn::run_until(task, run::start_ns() + ns),
            Op::RunForever => burn::run_forever(task),
            Op::Sleep(ns) => sched::sleep_until(task, now() + ns),
            Op::SleepUntil(ns) => sched::sleep_until(task, run::start_ns() + ns),
            Op::SleepPoisson { mean_ns, at_tick_pct } => {
                let arrival_ns = self.arrivals.next(run::start_ns(), mean_ns);
                let at_ns = match self.arrivals.happens(at_tick_pct) {
                    true => tick_at_or_after(arrival_ns),
                    false => arrival_ns,
                };
                sched::sleep_until(task, at_ns);
            }
            Op::Epoch(ns) => self.epoch_ns = run::start_ns() + ns,
            Op::Timer { timer, period_ns, late } => {
                let at_ns = timer::advance(timer, self.epoch_ns, period_ns, late, now());
                sched::sleep_until(task, at_ns);
            }
            Op::SemWait(semaphore) => semaphore::wait(semaphore, task),
            Op::SemPost(semaphore) => semaphore::post(semaphore),
            Op::Lock(mutex) => mutex::lock(mutex, task),
            Op::Unlock(mutex) => mutex::unlock(mutex),
            Op::LockThisCpu(first) => {
                let mutex = first + cpu::this().id;
                mutex::lock(mutex, task);
                self.cpu_mutex = Some(mutex);
            }
            Op::UnlockThisCpu => {
                if let Some(mutex) = self.cpu_mutex.take() {
                    mutex::unlock(mutex);
                }
            }
            Op::CondWait { condition, mutex } => condition::wait(condition, mutex, task),
            Op::Signal(condition) => condition::signal(condition),
            Op::Broadcast(condition) => condition::broadcast(condition),
            Op::Barrier(barrier) => barrier::wait(barrier, task),
            Op::PipeWrite { pipe, bytes } => pipe::write(pipe, bytes, task),
            Op::PipeRead { pipe, bytes } => pipe::read(pipe, bytes, task),
            Op::Yield => sched::schedule(Leave::Yields),
            Op::Spawn(pool) => pool::spawn(pool),
            Op::SetNice(nice) => sched::set_nice(task, nice),
            Op::SetPolicy(policy) => sched::set_policy(task, policy),
            Op::SetSlice(slice_ns) => sched::set_slice(task, slice_ns),
            Op::SetAffinity(set) => sched::set_affinity(task, set),
            Op::Mark(mark) => {
                let now = now();
                measure::mark(mark, now);
                cpu::this().trace.write(now, || Event::Mark { task: task.id, mark });
            }
            Op::Measure { since, histogram } => {
                if let Some(since_ns) = self.time_of(since) {
                    let now = now();
                    let value_ns = now.saturating_sub(since_ns);
                    measure::record(histogram, value_ns);
                    let event = || Event::Measure { task: task.id, histogram, value_ns };
                    cpu::this().trace.write(now, event);
                }
            }
            Op::Count { counter, by } => measure::count(counter, by),
            Op::Sample { counter, histogram } => measure::sample(counter, histogram),
            Op::Clear(histogram) => measure::clear(histogram),
            Op::Jump(to) => return Some(to as usize),
            Op::Repeat { counter, times, to } => {
                let done = &mut self.counters[usize::from(counter)];
                *done += 1;
                if *done < times {
                    return Some(to as usize);
                }
                *done = 0;
            }
            Op::Exit => return None,
            Op::Crash(crash) => arch::crash::crash(crash),
        }
        Some(next)
    }

    fn time_of(&self, since: Since) -> Option<u64> {
        match since {
            Since::Start => Some(run::start_ns()),
            Since::Epoch => Some(self.epoch_ns),
            Since::Mark(mark) => measure::marked_ns(mark),
            Since::Wakeup => self.task.account.lock().last_wakeup_ns,
        }
    }
}

fn now() -> u64 {
    cpu::this().local.with(|local| local.time.now())
}

fn tick_at_or_after(ns: u64) -> u64 {
    cpu::this().local.with(|local| local.timers.tick_at_or_after_ns(ns))
}
