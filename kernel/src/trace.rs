//! The trace: what this CPU does, written into a ring that the host reads in guest memory.
//!
//! Each CPU writes its own ring, with interrupts off, so there is nothing to lock: a record takes
//! a bounded number of instructions (50 on average, a look at the lag included), whatever
//! the ring holds and whether or not anybody reads it. [`abi::trace::ring`] has the layout and what the order of the stores means.
//!
//! Nothing here reads a clock: a record carries the time at which its CPU acts, which whoever
//! writes it has looked up anyway. Asking once more might move time on.

use crate::arch::{interrupts_are_on, memory, serial};
use crate::cpu::Cpu;
use crate::task::Moved;
use abi::record::{Record, Rings};
use abi::trace::ring::{self, LINE_WORDS, Layout};
use abi::trace::{Event, Joins, Leaves, Move, Pick, Preempts};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicU64, Ordering};
use eevdf::{Dequeue, Enqueue, PickReason, Resched};
use spin::Once;

/// A line of the rings' memory.
#[derive(Default)]
#[repr(C, align(64))]
struct Line([AtomicU64; LINE_WORDS]);

static MEMORY: Once<Box<[Line]>> = Once::new();
/// What the next record of any CPU gets.
static SEQUENCE: AtomicU64 = AtomicU64::new(0);
/// Place of a ring's latest time in the line of its counter; of no interest to the host.
const LATEST_NS: usize = 1;

/// A CPU's part in the trace; none if the run is not traced.
pub(crate) struct Tracer(Option<Ring>);

struct Ring {
    counter: &'static Line,
    slots: &'static [Line],
}

/// Sets the rings' memory aside. Once.
pub(crate) fn init(cpus: u32, slots: Option<u32>) {
    let Some(slots) = slots else { return };
    let layout = Layout { cpus, slots };
    let memory = MEMORY.call_once(|| (0..layout.lines()).map(|_| Line::default()).collect());
    // Relaxed: nobody knows of it yet.
    let set = |word: usize, value: u64| memory[0].0[word].store(value, Ordering::Relaxed);
    set(ring::HEADER_VERSION, ring::VERSION);
    set(ring::HEADER_CPUS, cpus.into());
    set(ring::HEADER_SLOTS, slots.into());
    set(ring::HEADER_MAGIC, ring::MAGIC);
}

/// What memory the rings take.
pub(crate) fn bytes(cpus: u32, slots: Option<u32>) -> usize {
    slots.map_or(0, |slots| Layout { cpus, slots }.bytes())
}

/// Tells the host where the rings are; returns how many records that took.
pub(crate) fn announce(cpus: u32, slots: Option<u32>) {
    let (Some(memory), Some(slots)) = (MEMORY.get(), slots) else { return };
    let at = memory::physical(memory.as_ptr().addr() as u64);
    let rings = Rings { version: ring::VERSION, at, cpus, slots };
    serial::with(|out| abi::line::write(out, &Record::Rings(rings)));
}

/// How many records [`announce`] sent.
pub(crate) fn announced() -> u64 {
    u64::from(MEMORY.get().is_some())
}

/// The run begins at this time, by the counter.
pub(crate) fn begin(start_ns: u64) {
    if let Some(memory) = MEMORY.get() {
        memory[0].0[ring::HEADER_START_NS].store(start_ns, Ordering::Relaxed);
    }
}

impl Tracer {
    /// That of a CPU, after [`init`].
    pub(crate) fn new(cpu: u32, cpus: u32, slots: Option<u32>) -> Self {
        let ring = MEMORY.get().zip(slots).map(|(memory, slots)| {
            let layout = Layout { cpus, slots };
            let first = layout.first_slot(cpu);
            Ring {
                counter: &memory[layout.counter(cpu)],
                slots: &memory[first..first + slots as usize],
            }
        });
        Self(ring)
    }

    /// Writes what happens on the executing CPU, whose tracer this is, at `at_ns`. Interrupts
    /// must be off. The event is made only if it is wanted.
    #[inline(always)]
    pub(crate) fn write(&self, at_ns: u64, event: impl FnOnce() -> Event) {
        if let Some(ring) = &self.0 {
            ring.put(at_ns, event());
        }
    }
}

impl Ring {
    #[inline(always)]
    fn put(&self, at_ns: u64, event: Event) {
        debug_assert!(!interrupts_are_on());
        let (counter, latest) = (&self.counter.0[0], &self.counter.0[LATEST_NS]);
        // Relaxed, all but the last store: nobody else writes here, and who reads is not a CPU
        // of this machine.
        let number = counter.load(Ordering::Relaxed);
        // A switch may have been ahead of its CPU, with the time that a pulled task brought.
        let at_ns = at_ns.max(latest.load(Ordering::Relaxed));
        latest.store(at_ns, Ordering::Relaxed);
        let sequence = SEQUENCE.fetch_add(1, Ordering::Relaxed);
        let slot = &self.slots[number as usize & (self.slots.len() - 1)];
        let [a, b, c, d] = event.to_words();
        for (word, value) in slot.0.iter().zip([at_ns, sequence, a, b, c, d]) {
            word.store(value, Ordering::Relaxed);
        }
        // Release: who sees the count sees the record.
        counter.store(number + 1, Ordering::Release);
    }
}

/// The task that does what happens here; none while a timer's events are handled.
pub(crate) fn actor(this: &Cpu) -> Option<u32> {
    let is_timer = this.local.with(|local| local.is_handling);
    this.current().filter(|_| !is_timer)
}

/// The policy's words in those of the trace.
pub(crate) fn joins(how: Enqueue) -> Joins {
    match how {
        Enqueue::Wakeup => Joins::Wakeup,
        Enqueue::Initial => Joins::New,
        Enqueue::Migrate | Enqueue::Restore => Joins::Migrate,
    }
}

/// See [`joins`].
pub(crate) fn leaves(why: Dequeue) -> Leaves {
    match why {
        Dequeue::Sleep | Dequeue::SleepSpecial => Leaves::Sleep,
        Dequeue::Migrate | Dequeue::Change => Leaves::Migrate,
        Dequeue::Exit => Leaves::Exit,
    }
}

/// See [`joins`].
pub(crate) fn moved(why: Moved) -> Move {
    match why {
        Moved::Wakeup => Move::Wakeup,
        Moved::Periodic | Moved::Newidle | Moved::Nohz => Move::Pull,
        Moved::Active => Move::Push,
        Moved::Affinity => Move::Affinity,
    }
}

/// See [`joins`].
pub(crate) fn pick(reason: PickReason) -> Pick {
    match reason {
        PickReason::Only => Pick::Only,
        PickReason::Buddy => Pick::Buddy,
        PickReason::Protected => Pick::Protected,
        PickReason::EarliestDeadline => Pick::Deadline,
    }
}

/// See [`joins`].
pub(crate) fn preempts(request: Resched) -> Preempts {
    match request {
        Resched::No => Preempts::No,
        Resched::Lazy => Preempts::Lazy,
        Resched::Full => Preempts::Yes,
    }
}
