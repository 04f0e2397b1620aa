//! The same experiment gives the same document, whatever the host does meanwhile.

use runner::Experiment;
use std::{
    hint,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};
use tests::{MS, US, repeatable_document, run};

/// Every kind of task at once, twice as many as there are CPUs and more.
fn everything(cpus: u32) -> Experiment {
    let experiment = Experiment::new().smp(cpus).hogs(2 * cpus as usize).load(|load| {
        load.bursts(2, 700 * US, 1900 * US).expect("both are stretches");
        load.pairs(1, 50 * US).expect("it is a stretch");
        load.background(300.0, 150 * US, 30).expect("rate and time are in range");
        load.yielders(1, 100 * US).expect("it is a stretch");
    });
    experiment.duration_ns(500 * MS)
}

/// Fewer tasks than CPUs, most of which idle at any time and look for work.
fn mostly_idle(cpus: u32) -> Experiment {
    let experiment = Experiment::new().smp(cpus).hogs(1).load(|load| {
        load.bursts(3, 700 * US, 1900 * US).expect("both are stretches");
        load.pairs(1, 50 * US).expect("it is a stretch");
        load.background(300.0, 150 * US, 30).expect("rate and time are in range");
    });
    experiment.duration_ns(1000 * MS)
}

fn assert_repeats(experiment: &Experiment) {
    let (first, second) = (run(experiment), run(experiment));
    assert_eq!(repeatable_document(&first), repeatable_document(&second));
    assert!(first.records.total.wakeups > 300, "the load hardly wakes anybody");
}

#[test]
fn a_full_cpu_repeats() {
    assert_repeats(&everything(1));
}

#[test]
fn eight_full_cpus_repeat() {
    assert_repeats(&everything(8));
}

#[test]
fn eight_cpus_that_idle_repeat() {
    assert_repeats(&mostly_idle(8));
}

/// Two threads that never rest take the host's time from QEMU at every moment.
#[test]
fn a_busy_host_changes_nothing() {
    let experiment = everything(4);
    let quiet = run(&experiment);
    let is_over = AtomicBool::new(false);
    let busy = thread::scope(|scope| {
        for _ in 0..2 {
            // Relaxed: the flag carries no data.
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    hint::spin_loop()
                }
            });
        }
        // Caught, or the threads would keep the scope open for ever.
        let result = std::panic::catch_unwind(|| run(&experiment));
        is_over.store(true, Ordering::Relaxed);
        result
    });
    let busy = busy.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    assert_eq!(repeatable_document(&quiet), repeatable_document(&busy));
}

#[test]
fn another_seed_gives_other_numbers() {
    let experiment = everything(1);
    let (first, second) = (run(&experiment), run(&experiment.clone().seed(2)));
    let tasks = |result| repeatable_document(result)["tasks"].clone();
    assert_ne!(tasks(&first), tasks(&second));
}
