//! What comes first of several things at one nanosecond; the rule is at the head of the kernel's
//! `events`. And that it is the same whatever the kernel did before.

use super::traces::record;
use abi::{CpuSet, Op, trace::Event};
use runner::{
    Experiment,
    trace::read::{Trace, What},
};
use tests::{MS, US, repeatable_document, run};

/// What a CPU does at a time, in order.
fn at(trace: &Trace, cpu: u32, at_ns: u64) -> Vec<String> {
    let here = trace.entries().filter(|entry| entry.cpu == cpu && entry.at_ns == at_ns);
    let said = here.filter_map(|entry| match entry.what {
        What::Happened(event) => say(trace, &event),
        What::Lost(_) => None,
    });
    said.collect()
}

fn say(trace: &Trace, event: &Event) -> Option<String> {
    let name = |task: Option<u32>| task.map_or("nobody", |task| trace.name(task)).to_owned();
    Some(match *event {
        Event::Tick { curr, .. } => format!("tick of {}", name(curr)),
        Event::Wakeup { task, .. } => format!("{} wakes", name(Some(task))),
        Event::Switch { prev, next, .. } => {
            let (prev, next) = (prev.map(|out| out.task), next.map(|into| into.task));
            format!("{} to {}", name(prev), name(next))
        }
        _ => return None,
    })
}

/// At 5 ms a sleeper's time comes, the running task has computed enough, and the fifth tick is due.
/// The sleeper is queued; the task does what it does after computing, which is to sleep, and the
/// CPU goes to the other one; whoever runs then has the tick.
#[test]
fn on_one_cpu_a_wakeup_goes_before_the_end_of_computing_and_the_tick_comes_last() {
    let experiment = Experiment::new().duration_ns(20 * MS).load(|load| {
        load.add("runs".into(), vec![Op::Run(5 * MS), Op::Sleep(MS)]);
        load.add("sleeps".into(), vec![Op::SleepUntil(5 * MS), Op::Run(MS)]);
    });
    let (_, trace) = record(&experiment);
    assert_eq!(at(&trace, 0, 5 * MS), ["sleeps wakes", "runs to sleeps", "tick of sleeps"]);
}

/// At 5 ms tasks on both CPUs have computed enough, and one of them wakes a third task on the other
/// CPU. Where CPU 0 wakes, CPU 1 has a task on its queue before its own one stops, and never
/// idles. Where CPU 1 wakes, CPU 0 is through with its 5 ms by then, its tick included: it goes idle,
/// and switches again at the same nanosecond.
#[test]
fn of_two_cpus_the_lower_number_is_through_with_a_time_first() {
    let trace = |waker, sleeper| {
        let experiment = Experiment::new().smp(2).duration_ns(20 * MS).load(|load| {
            let posted = load.shared.semaphore("posted".into());
            let on = |cpu| Some(CpuSet::only(cpu));
            load.add("posts".into(), vec![Op::Run(5 * MS), Op::SemPost(posted)]).pin = on(waker);
            load.add("runs".into(), vec![Op::Run(5 * MS), Op::Sleep(MS)]).pin = on(sleeper);
            load.add("waits".into(), vec![Op::SemWait(posted), Op::Run(MS)]).pin = on(sleeper);
        });
        record(&experiment).1
    };
    // The waker puts the task on the queue, so that it wakes is said on the waker's CPU.
    let up = trace(0, 1);
    assert_eq!(at(&up, 0, 5 * MS), ["waits wakes", "posts to nobody", "tick of nobody"]);
    assert_eq!(at(&up, 1, 5 * MS), ["runs to waits", "tick of waits"]);
    // On one that idles the CPU itself does so.
    let down = trace(1, 0);
    let twice = ["runs to nobody", "tick of nobody", "waits wakes", "nobody to waits"];
    assert_eq!(at(&down, 0, 5 * MS), twice);
    assert_eq!(at(&down, 1, 5 * MS), ["posts to nobody", "tick of nobody"]);
}

/// A traced kernel boots for longer and takes more instructions for everything. Where tasks go
/// depends on averages over periods of the clock, which begin with the run nevertheless.
#[test]
fn neither_booting_nor_the_kernels_own_instructions_change_a_result() {
    let experiment = Experiment::new().smp(3).duration_ns(300 * MS).load(|load| {
        load.pairs(2, 50 * US).expect("it is a stretch");
        load.background(1000.0, 50 * US, 100).expect("rate and time are in range");
    });
    for seed in 1..=4 {
        let mut experiment = experiment.clone();
        experiment.config.seed = seed;
        let [plain, traced] = [run(&experiment), record(&experiment).0].map(|result| {
            let mut document = repeatable_document(&result);
            document.as_object_mut().expect("a document").remove("trace");
            document
        });
        assert_eq!(plain, traced, "seed {seed}");
    }
}
