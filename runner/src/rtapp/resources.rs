//! What tasks share by name, as numbers: rt-app makes each thing when its name is first used.
//!
//! Each kind has its own names, so a mutex, a condition and a timer may be called the same.
//! `suspend` and `resume` use the condition *and* the mutex of their name, the very ones that
//! `wait`, `signal` and `lock` use under it.

use std::collections::HashMap;

/// What the tasks share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Names of the mutexes.
    pub mutexes: Vec<String>,
    /// Names of the conditions.
    pub conditions: Vec<String>,
    /// Names of the semaphores.
    pub semaphores: Vec<String>,
    /// The barriers.
    pub barriers: Vec<Barrier>,
    /// The timers.
    pub timers: Vec<Timer>,
}

/// A point where tasks wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// Its name.
    pub name: String,
    /// How many must come: each mention counts once for each instance of its task.
    pub parties: u32,
}

/// A timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Its name.
    pub name: String,
    /// The task whose instances have one each; shared by all that name it without.
    pub of_task: Option<usize>,
    /// Whether its periods go on as planned when it was missed.
    pub absolute: bool,
}

/// A kind of thing, with the task for what each instance has of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Mutex,
    Condition,
    Semaphore,
    Barrier,
    Timer(Option<usize>),
}

/// Numbers names as they come.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: HashMap<Kind, HashMap<String, u32>>,
    found: Resources,
}

impl Names {
    pub(super) fn mutex(&mut self, name: &str) -> u32 {
        self.number(Kind::Mutex, name, |all| all.mutexes.push(name.into()))
    }

    pub(super) fn condition(&mut self, name: &str) -> u32 {
        self.number(Kind::Condition, name, |all| all.conditions.push(name.into()))
    }

    pub(super) fn semaphore(&mut self, name: &str) -> u32 {
        self.number(Kind::Semaphore, name, |all| all.semaphores.push(name.into()))
    }

    /// A mention of a barrier in a task with so many instances.
    pub(super) fn barrier(&mut self, name: &str, instances: u32) -> u32 {
        let new = || Barrier { name: name.into(), parties: 0 };
        let number = self.number(Kind::Barrier, name, |all| all.barriers.push(new()));
        let barrier = &mut self.found.barriers[number as usize];
        barrier.parties = barrier.parties.saturating_add(instances);
        number
    }

    /// A mention of a timer in a task. A name that begins with `unique` is each instance's own.
    pub(super) fn timer(&mut self, name: &str, task: usize, absolute: bool) -> u32 {
        let of_task = name.starts_with("unique").then_some(task);
        let new = || Timer { name: name.into(), of_task, absolute: false };
        let number = self.number(Kind::Timer(of_task), name, |all| all.timers.push(new()));
        // The mode is the timer's, not the event's.
        self.found.timers[number as usize].absolute |= absolute;
        number
    }

    /// What there is.
    pub(super) fn so_far(&self) -> &Resources {
        &self.found
    }

    pub(super) fn finish(self) -> Resources {
        self.found
    }

    fn number(&mut self, kind: Kind, name: &str, add: impl FnOnce(&mut Resources)) -> u32 {
        let numbers = self.numbers.entry(kind).or_default();
        if let Some(&number) = numbers.get(name) {
            return number;
        }
        let number = match kind {
            Kind::Mutex => self.found.mutexes.len(),
            Kind::Condition => self.found.conditions.len(),
            Kind::Semaphore => self.found.semaphores.len(),
            Kind::Barrier => self.found.barriers.len(),
            Kind::Timer(_) => self.found.timers.len(),
        } as u32;
        add(&mut self.found);
        numbers.insert(name.to_owned(), number);
        number
    }
}
