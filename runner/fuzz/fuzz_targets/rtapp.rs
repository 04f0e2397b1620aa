//! Any text as an rt-app file: refused with a place in it, or read to something consistent, of
//! which programs are made that the kernel takes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use runner::rtapp::{self, Description, Machine, model::Event};

const MACHINE: Machine<'_> = Machine { cpus: 4, without_slices: None };

fuzz_target!(|text: &str| match rtapp::parse("f", text, &MACHINE) {
    Ok(description) => check(&description),
    Err(refusal) => {
        let place = refusal.value.strip_prefix("f:").expect("the file's name and a place");
        let (line, column) = place.split_once(':').expect("a line and a column");
        let line: usize = line.parse().expect("a number");
        let column: usize = column.parse().expect("a number");
        assert!(line >= 1 && column >= 1 && line <= 1 + text.matches('\n').count());
        assert!(!refusal.reason.is_empty());
    }
});

/// What the rest relies on.
fn check(description: &Description) {
    assert!(!description.tasks.is_empty());
    // Larger ones are the same again, slowly.
    if description.threads() <= 64 && description.tasks.len() <= 16 {
        let cpus = MACHINE.cpus;
        let duration_ns = rtapp::length(description).ns();
        rtapp::lower(description, cpus, duration_ns).specs(cpus).expect("the kernel takes it");
    }
    let have = &description.resources;
    for task in &description.tasks {
        assert!(!task.phases.is_empty());
        for step in task.phases.iter().flat_map(|phase| &phase.steps) {
            let (number, count) = match step.event {
                Event::Timer { timer, .. } => (timer, have.timers.len()),
                Event::Lock(mutex) | Event::Unlock(mutex) => (mutex, have.mutexes.len()),
                Event::Barrier(barrier) => {
                    assert!(have.barriers[barrier as usize].parties > 0);
                    continue;
                }
                Event::Wait { condition, mutex }
                | Event::Sync { condition, mutex, .. }
                | Event::Suspend { condition, mutex }
                | Event::Resume { condition, mutex } => {
                    assert!((condition as usize) < have.conditions.len());
                    (mutex, have.mutexes.len())
                }
                Event::Signal(condition) | Event::Broadcast(condition) => {
                    (condition, have.conditions.len())
                }
                Event::SemPost(semaphore) | Event::SemWait(semaphore) => {
                    (semaphore, have.semaphores.len())
                }
                Event::Fork(task) => (task as u32, description.tasks.len()),
                _ => continue,
            };
            assert!((number as usize) < count);
        }
    }
}
