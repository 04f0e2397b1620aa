//! What tasks do: a small interpreter of the scenario's programs.
//!
//! A task computes with interrupts on. Everything else it does with interrupts off: while an
//! event's time holds, nothing later may happen on its CPU. Where none holds, interrupts that
//! wait are let in between two operations. Nothing here allocates.

mod arrivals;
mod burn;
mod semaphore;

pub(crate) use semaphore::init as init_semaphores;

use crate::arch::{self, let_interrupts_in};
use crate::sched::{self, Leave};
use crate::task::{self, Task};
use crate::{cpu, run};
use abi::Op;
use arrivals::Arrivals;

/// Where every task begins: on its own stack, interrupts off, just switched to.
pub(crate) extern "C" fn task_entry() -> ! {
    let id = cpu::this().current().expect("a task has been switched to");
    let task = task::by_id(id);
    run_program(task);
    sched::exit(task)
}

fn run_program(task: &'static Task) {
    let mut arrivals = Arrivals::new(run::config().seed, task.id);
    let mut at = 0;
    while let Some(&op) = task.program.get(at) {
        at += 1;
        if !cpu::this().local.with(|local| local.time.is_held()) {
            let_interrupts_in();
        }
        match op {
            Op::Run(ns) => burn::run(task, Some(ns)),
            Op::RunForever => burn::run(task, None),
            Op::Sleep(ns) => sleep_until(task, now() + ns),
            Op::SleepPoisson { mean_ns, at_tick_pct } => {
                let arrival_ns = arrivals.next(run::start_ns(), mean_ns);
                let at_ns = match arrivals.happens(at_tick_pct) {
                    true => tick_at_or_after(arrival_ns),
                    false => arrival_ns,
                };
                sleep_until(task, at_ns);
            }
            Op::SemWait(id) => semaphore::wait(id, task),
            Op::SemPost(id) => semaphore::post(id),
            Op::Yield => sched::schedule(Leave::Yields),
            Op::Jump(to) => at = to as usize,
            Op::Exit => return,
            Op::Crash(crash) => arch::crash::crash(crash),
        }
    }
}

fn now() -> u64 {
    cpu::this().local.with(|local| local.time.now())
}

fn tick_at_or_after(ns: u64) -> u64 {
    cpu::this().local.with(|local| local.timers.tick_at_or_after_ns(ns))
}

/// Sleeps until a time, on this CPU's timer; a time that has passed does not sleep.
fn sleep_until(task: &'static Task, at_ns: u64) {
    let sleeps = cpu::this().local.with(|local| {
        let sleeps = at_ns > local.time.now();
        if sleeps {
            local.timers.add_sleeper(at_ns, task.id);
        }
        sleeps
    });
    if sleeps {
        sched::block(task);
    }
}
