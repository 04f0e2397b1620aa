//! Who ran where, from when to when, and how long it had waited: what a trace says of tasks.
//!
//! A stint is known when it ends. Where records of a CPU are missing nobody knows who ran: a
//! stint that was open there is dropped rather than guessed at, and so is the one whose beginning
//! is missing.

use super::{
    Description,
    read::{Entry, What},
};
use abi::trace::{Event, Pick, StintEnd};

/// One stay of a task on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stint {
    /// Where.
    pub cpu: u32,
    /// Who.
    pub task: u32,
    /// From when, ns of the run.
    pub start_ns: u64,
    /// To when.
    pub end_ns: u64,
    /// Why it was chosen.
    pub pick: Pick,
    /// Why it left; the end of the run cut the stint without it.
    pub end: Option<StintEnd>,
    /// Its lag as it began, virtual ns.
    pub start_lag_ns: i64,
    /// Its lag as it left.
    pub end_lag_ns: Option<i64>,
    /// How long it had been off any CPU, if it had run before.
    pub off_ns: Option<u64>,
    /// How long of that it could have run: since it was woken or had to leave, if that is known.
    pub delay_ns: Option<u64>,
    /// Whether it was a wake-up that it waited since.
    pub was_woken: bool,
    /// The task that woke it, where a task did.
    pub waker: Option<u32>,
    /// The CPU it ran on before, where that was another one.
    pub moved_from: Option<u32>,
}

impl Stint {
    /// Its length.
    pub const fn length_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// Puts stints together from the entries of a trace.
#[derive(Debug)]
pub struct Timeline {
    /// What runs on each CPU.
    running: Vec<Option<Stint>>,
    tasks: Vec<TaskState>,
}

/// What is known of a task that does not run.
#[derive(Clone, Copy, Debug, Default)]
struct TaskState {
    /// When it left a CPU last.
    left_ns: Option<u64>,
    /// Since when it could run.
    ready_ns: Option<u64>,
    was_woken: bool,
    waker: Option<u32>,
    last_cpu: Option<u32>,
}

impl Timeline {
    /// The state before the first entry of a trace of this run.
    pub fn new(description: &Description) -> Self {
        Self {
            running: vec![None; description.cpus as usize],
            tasks: vec![TaskState::default(); description.tasks.len()],
        }
    }

    /// Takes the next entry; returns the stint that it ends.
    pub fn take(&mut self, entry: &Entry) -> Option<Stint> {
        let Entry { at_ns, cpu, what } = *entry;
        let What::Happened(event) = what else {
            self.running[cpu as usize] = None;
            return None;
        };
        match event {
            Event::Waking { task, waker, .. } => {
                self.tasks[task as usize].waker = waker;
                None
            }
            Event::Wakeup { task, .. } => {
                let state = &mut self.tasks[task as usize];
                state.ready_ns = Some(at_ns);
                state.was_woken = true;
                None
            }
            Event::Enqueue { task, .. } => {
                // One that moves goes on waiting; one that begins does so from here on.
                self.tasks[task as usize].ready_ns.get_or_insert(at_ns);
                None
            }
            Event::Switch { prev, next, .. } => {
                let ended = prev.and_then(|out| {
                    self.leaves(cpu, at_ns, out.task, Some(out.end), Some(out.lag_ns))
                });
                self.running[cpu as usize] =
                    next.map(|into| self.begins(cpu, at_ns, into.task, into.pick, into.lag_ns));
                ended
            }
            Event::End => {
                let task = self.running(cpu)?;
                self.leaves(cpu, at_ns, task, None, None)
            }
            _ => None,
        }
    }

    /// Who runs on a CPU.
    pub fn running(&self, cpu: u32) -> Option<u32> {
        self.running[cpu as usize].map(|stint| stint.task)
    }

    fn leaves(
        &mut self,
        cpu: u32,
        at_ns: u64,
        task: u32,
        end: Option<StintEnd>,
        end_lag_ns: Option<i64>,
    ) -> Option<Stint> {
        let state = &mut self.tasks[task as usize];
        state.left_ns = Some(at_ns);
        state.last_cpu = Some(cpu);
        let goes_on = !matches!(end, Some(StintEnd::Block | StintEnd::Exit));
        // It may have been woken while it was on its way out.
        if goes_on && state.ready_ns.is_none() {
            state.ready_ns = Some(at_ns);
        }
        let stint = self.running[cpu as usize].take().filter(|stint| stint.task == task)?;
        Some(Stint { end_ns: at_ns, end, end_lag_ns, ..stint })
    }

    fn begins(&mut self, cpu: u32, at_ns: u64, task: u32, pick: Pick, lag_ns: i64) -> Stint {
        let state = &mut self.tasks[task as usize];
        let TaskState { left_ns, ready_ns, was_woken, waker, last_cpu } = *state;
        *state = TaskState { left_ns, last_cpu, ..TaskState::default() };
        Stint {
            cpu,
            task,
            start_ns: at_ns,
            end_ns: at_ns,
            pick,
            end: None,
            start_lag_ns: lag_ns,
            end_lag_ns: None,
            off_ns: left_ns.map(|left_ns| at_ns - left_ns),
            delay_ns: ready_ns.map(|ready_ns| at_ns.saturating_sub(ready_ns)),
            was_woken,
            waker: waker.filter(|_| was_woken),
            moved_from: last_cpu.filter(|&last| last != cpu),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::TaskDescription;
    use abi::trace::{Joins, Preempts, TaskIn, TaskOut};

    fn timeline() -> Timeline {
        let (name, policy) = ("a".into(), "normal".into());
        let task = TaskDescription { name, pid: 1, nice: 0, policy, prio: 120 };
        Timeline::new(&Description {
            slicelab: String::new(),
            cpus: 2,
            hz: 1000,
            config: serde_json::Value::Null,
            tasks: vec![task; 2],
        })
    }

    fn switch(prev: Option<(u32, StintEnd)>, next: Option<u32>) -> Event {
        Event::Switch {
            prev: prev.map(|(task, end)| TaskOut { task, end, lag_ns: -1 }),
            next: next.map(|task| TaskIn { task, pick: Pick::Only, lag_ns: 1 }),
            nr_running: 0,
        }
    }

    /// The stints of these events of time, CPU and kind.
    fn stints(events: &[(u64, u32, Event)]) -> Vec<Stint> {
        let mut timeline = timeline();
        let entry = |&(at_ns, cpu, event)| Entry { at_ns, cpu, what: What::Happened(event) };
        events.iter().map(entry).filter_map(|entry| timeline.take(&entry)).collect()
    }

    const WAKING: Event = Event::Waking { task: 0, cpu: 0, waker: Some(1) };
    const ENQUEUE: Event =
        Event::Enqueue { task: 0, cpu: 1, how: Joins::Wakeup, nr_running: 1, lag_ns: 0 };
    const WAKEUP: Event = Event::Wakeup { task: 0, cpu: 1, is_new: false, preempts: Preempts::Yes };

    #[test]
    fn a_woken_task_waits_from_its_wake_up_on() {
        let found = stints(&[
            (10, 0, switch(None, Some(0))),
            (30, 0, switch(Some((0, StintEnd::Block)), None)),
            (70, 1, WAKING),
            (70, 1, ENQUEUE),
            (70, 1, WAKEUP),
            (75, 1, switch(None, Some(0))),
            (100, 1, Event::End),
        ]);
        let [first, second] = found[..] else { panic!("{found:?}") };
        assert_eq!((first.cpu, first.start_ns, first.end_ns), (0, 10, 30));
        assert_eq!((first.end, first.off_ns, first.delay_ns), (Some(StintEnd::Block), None, None));
        assert_eq!((second.cpu, second.length_ns(), second.end), (1, 25, None));
        assert_eq!((second.off_ns, second.delay_ns), (Some(45), Some(5)));
        assert_eq!((second.was_woken, second.waker), (true, Some(1)));
        assert_eq!(second.moved_from, Some(0));
    }

    #[test]
    fn a_preempted_task_waits_from_there_on() {
        let found = stints(&[
            (10, 0, switch(None, Some(0))),
            (30, 0, switch(Some((0, StintEnd::Preempt)), Some(1))),
            (34, 0, switch(Some((1, StintEnd::Block)), Some(0))),
            (50, 0, switch(Some((0, StintEnd::Slice)), None)),
        ]);
        let last = found[2];
        assert_eq!((last.off_ns, last.delay_ns, last.was_woken), (Some(4), Some(4), false));
        assert_eq!((last.start_lag_ns, last.end_lag_ns), (1, Some(-1)));
    }

    /// The wake-up came between its leaving the queue and the choice of the next.
    #[test]
    fn a_task_woken_on_its_way_out_begins_anew() {
        let found = stints(&[
            (10, 0, switch(None, Some(0))),
            (30, 1, WAKING),
            (30, 1, ENQUEUE),
            (30, 1, WAKEUP),
            (30, 0, switch(Some((0, StintEnd::Block)), Some(0))),
            (50, 0, switch(Some((0, StintEnd::Slice)), None)),
        ]);
        assert_eq!(found.len(), 2);
        assert_eq!((found[1].off_ns, found[1].delay_ns), (Some(0), Some(0)));
        assert!(found[1].was_woken);
    }

    #[test]
    fn what_is_missing_is_not_made_up() {
        let mut timeline = timeline();
        let at = |at_ns, what| Entry { at_ns, cpu: 0, what };
        timeline.take(&at(10, What::Happened(switch(None, Some(0)))));
        assert_eq!(timeline.take(&at(90, What::Lost(3))), None);
        let other = switch(Some((1, StintEnd::Slice)), Some(0));
        assert_eq!(timeline.take(&at(90, What::Happened(other))), None);
        assert_eq!(timeline.running(0), Some(0));
    }
}
