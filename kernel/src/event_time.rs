//! What time it is for the scheduler.
//!
//! Under the real clock: what the counter says, whenever it is asked.
//!
//! Under the virtual clock a timer event carries the time it was set for, and what follows
//! directly from it happens at that time: the handler, the wake-ups it makes, the switch on its
//! way out, the operations of the task that was switched to until it computes again. So the
//! kernel's own instructions take no time, results do not depend on the compiler that built
//! it, and a tick of 1 ms charges 1 000 000 ns and not 1 000 016. The event's time holds for
//! one switch more than there are tasks, so that each can act once and the CPU go idle again,
//! and for [`OPERATIONS`] of a task: tasks that go on without computing fall back to the counter,
//! or time would stand still. While it holds, interrupts that come in change nothing.
//!
//! Time never goes back on a CPU, whatever another CPU's wake-up says, and never beyond the end
//! of the run, however late the host lets that be noticed.

use crate::arch::clock;
use abi::Clock;
use alloc::boxed::Box;
use core::sync::atomic::{AtomicU32, Ordering};

/// The time of one CPU.
#[derive(Debug)]
pub(crate) struct EventTime {
    clock: Clock,
    latest_ns: u64,
    end_ns: u64,
    tasks: usize,
    event: Option<Event>,
    operations: &'static Operations,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    at_ns: u64,
    /// For how many more switches its time holds.
    switches_left: usize,
}

/// How many operations a task may do at one time.
const OPERATIONS: u32 = 10_000;

/// For how many more operations of the task that runs the event's time holds; none while no
/// event's does. Apart from the rest, since every operation counts down and asks for nothing else.
///
/// Relaxed: one CPU's own, and written with interrupts off.
#[derive(Debug, Default)]
pub(crate) struct Operations(AtomicU32);

impl Operations {
    fn set(&self, left: u32) {
        self.0.store(left, Ordering::Relaxed);
    }

    /// The running task does one more; returns whether that was too much for the event's time to
    /// hold on.
    #[inline]
    pub(crate) fn note(&self) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        if left == 0 {
            return false;
        }
        self.set(left - 1);
        left == 1
    }
}

impl EventTime {
    /// The time of a CPU in a scenario of so many tasks.
    pub(crate) fn new(clock: Clock, tasks: usize) -> Self {
        let operations = Box::leak(Box::default());
        Self { clock, latest_ns: 0, end_ns: u64::MAX, tasks, event: None, operations }
    }

    /// The count that goes down with every operation.
    pub(crate) fn operations(&self) -> &'static Operations {
        self.operations
    }

    /// The time now, ns.
    pub(crate) fn now(&mut self) -> u64 {
        let now = self.event.map_or_else(clock::now_ns, |event| event.at_ns);
        self.latest_ns = self.latest_ns.max(now).min(self.end_ns);
        self.latest_ns
    }

    /// Sets the end of the run.
    pub(crate) fn set_end(&mut self, end_ns: u64) {
        self.end_ns = end_ns;
    }

    /// An event that was due at `at_ns` is being handled.
    pub(crate) fn begin_event(&mut self, at_ns: u64) {
        if self.clock == Clock::Virtual {
            self.event = Some(Event { at_ns, switches_left: self.tasks + 1 });
            self.operations.set(OPERATIONS);
        }
    }

    /// The event took this long itself.
    pub(crate) fn spend(&mut self, ns: u64) {
        if let Some(event) = &mut self.event {
            event.at_ns += ns;
        }
    }

    /// The time of a decision to switch.
    pub(crate) fn at_switch(&mut self) -> u64 {
        if self.event.is_some_and(|event| event.switches_left == 0) {
            self.passes();
        }
        self.now()
    }

    /// A switch happened at a time, which may be later than this CPU's: another CPU's wake-up
    /// or a pulled task brought it along.
    pub(crate) fn note_switch(&mut self, at_ns: u64) {
        self.latest_ns = self.latest_ns.max(at_ns);
        if let Some(event) = &mut self.event {
            event.switches_left -= 1;
            self.operations.set(OPERATIONS);
        }
    }

    /// Whether an event's time holds, so that nothing else may happen yet.
    pub(crate) fn is_held(&self) -> bool {
        self.event.is_some()
    }

    /// Somebody computes or idles from here on.
    pub(crate) fn passes(&mut self) {
        self.event = None;
        self.operations.set(0);
    }
}
