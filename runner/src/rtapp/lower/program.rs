//! One thread's program.

use crate::rtapp::model::{Event, Loops, Phase, SchedChange, Task};
use crate::workload::Shared;
use abi::{
    CpuSet, Op, Program,
    program::{Late, Since},
};

/// The loop counter of phases.
pub(super) const IN_PHASE: u8 = 0;
/// The loop counter of tasks.
pub(super) const IN_TASK: u8 = 1;

/// The numbers under which a scenario has what a file names.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    pub(super) mutexes: Vec<u32>,
    pub(super) conditions: Vec<u32>,
    pub(super) semaphores: Vec<u32>,
    pub(super) barriers: Vec<u32>,
    /// With whether they are absolute. Those of single threads are this thread's.
    pub(super) timers: Vec<(u32, bool)>,
    /// Of tasks that are forked.
    pub(super) pools: Vec<Option<u32>>,
}

/// What counts the activations of a task.
#[derive(Debug)]
pub(super) struct Counts {
    /// A counter of all.
    pub(super) activations: u32,
    /// A counter, and a histogram of when it begins, by phase; nothing where they are not told
    /// apart.
    pub(super) phases: Vec<(u32, u32)>,
}

/// The program of a thread of that task.
pub(super) fn of(
    task: &Task,
    numbers: &Numbers,
    counts: &Counts,
    all: CpuSet,
    shared: &mut Shared,
) -> Program {
    let mut ops = Vec::new();
    if task.delay_ns > 0 {
        ops.extend([Op::SleepUntil(task.delay_ns), Op::Epoch(task.delay_ns)]);
    }
    let start = here(&ops);
    let cpus_in = |phase: &Phase| phase.cpus.or(task.cpus).unwrap_or(all);
    // Where the first phase finds the thread: it begins there, and comes back from the last.
    let mut cpus = cpus_in(task.phases.last().expect("a task has phases"));
    for (number, phase) in task.phases.iter().enumerate() {
        if cpus_in(phase) != cpus {
            cpus = cpus_in(phase);
            ops.push(Op::SetAffinity(shared.cpu_set(cpus)));
        }
        change(&phase.change, &mut ops);
        let of_phase = counts.phases.get(number);
        if let Some(&(_, begins)) = of_phase {
            ops.push(Op::Measure { since: Since::Start, histogram: begins });
        }
        let first = here(&ops);
        for step in &phase.steps {
            event(step.event, numbers, &mut ops);
        }
        ops.push(Op::Count { counter: counts.activations, by: 1 });
        if let Some(&(counter, _)) = of_phase {
            ops.push(Op::Count { counter, by: 1 });
        }
        if !again(phase.loops, IN_PHASE, first, &mut ops) {
            // What follows is never reached.
            return ops;
        }
    }
    again(task.loops, IN_TASK, start, &mut ops);
    ops
}

/// Closes a loop; says whether it ever ends.
fn again(loops: Loops, counter: u8, to: u32, ops: &mut Program) -> bool {
    match loops {
        Loops::Forever => ops.push(Op::Jump(to)),
        Loops::Times(1) => {}
        Loops::Times(times) => ops.push(Op::Repeat { counter, times: times.into(), to }),
    }
    loops != Loops::Forever
}

fn here(ops: &Program) -> u32 {
    ops.len() as u32
}

fn change(change: &SchedChange, ops: &mut Program) {
    ops.extend(change.policy.map(Op::SetPolicy));
    ops.extend(change.nice.map(Op::SetNice));
    ops.extend(change.slice_ns.map(Op::SetSlice));
}

fn event(event: Event, numbers: &Numbers, ops: &mut Program) {
    let mutex = |number: u32| numbers.mutexes[number as usize];
    let condition = |number: u32| numbers.conditions[number as usize];
    let semaphore = |number: u32| numbers.semaphores[number as usize];
    let wait =
        |of: u32, with: u32| Op::CondWait { condition: condition(of), mutex: Some(mutex(with)) };
    match event {
        // Nothing at all, not even a look at the runqueue.
        Event::Run(0) | Event::RunWall(0) | Event::Sleep(0) => {}
        Event::Run(ns) => ops.push(Op::Run(ns)),
        Event::RunWall(ns) => ops.push(Op::RunWall(ns)),
        Event::Sleep(ns) => ops.push(Op::Sleep(ns)),
        Event::Timer { timer, period_ns } => {
            let (timer, is_absolute) = numbers.timers[timer as usize];
            let late = if is_absolute { Late::CatchUp } else { Late::Restart };
            ops.push(Op::Timer { timer, period_ns, late });
        }
        Event::Lock(number) => ops.push(Op::Lock(mutex(number))),
        Event::Unlock(number) => ops.push(Op::Unlock(mutex(number))),
        Event::Wait { condition: of, mutex: with } => ops.push(wait(of, with)),
        Event::Signal(number) => ops.push(Op::Signal(condition(number))),
        Event::Broadcast(number) => ops.push(Op::Broadcast(condition(number))),
        Event::Sync { condition: of, mutex: with, held } => {
            let signal_and_wait = [Op::Signal(condition(of)), wait(of, with)];
            if held {
                ops.extend(signal_and_wait);
            } else {
                ops.push(Op::Lock(mutex(with)));
                ops.extend(signal_and_wait);
                ops.push(Op::Unlock(mutex(with)));
            }
        }
        Event::Barrier(number) => ops.push(Op::Barrier(numbers.barriers[number as usize])),
        Event::Suspend { condition: of, mutex: with } => {
            ops.extend([Op::Lock(mutex(with)), wait(of, with), Op::Unlock(mutex(with))]);
        }
        Event::Resume { condition: of, mutex: with } => {
            let wake = Op::Broadcast(condition(of));
            ops.extend([Op::Lock(mutex(with)), wake, Op::Unlock(mutex(with))]);
        }
        Event::SemPost(number) => ops.push(Op::SemPost(semaphore(number))),
        Event::SemWait(number) => ops.push(Op::SemWait(semaphore(number))),
        Event::Yield => ops.push(Op::Yield),
        Event::Fork(task) => {
            ops.push(Op::Spawn(numbers.pools[task].expect("what is forked has a pool")));
        }
    }
}
