//! What happens on the CPUs, one [`Event`] each: the trace.
//!
//! Each CPU writes what it does itself into a ring of its own in guest memory ([`ring`]), also
//! what it does to another CPU's queue. The host reads the rings there, while the guest runs and
//! when it is dead.
//!
//! Order: a CPU's records are in the order of its time, and a [`Record::sequence`] that all CPUs
//! share puts cause before effect where records of two CPUs carry one time.

mod code;
pub mod ring;

use serde::{Deserialize, Serialize};

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// When, ns of the run.
    pub at_ns: u64,
    /// The place among the records of all CPUs; wraps.
    pub sequence: u32,
    /// What.
    pub event: Event,
}

/// What happened, on the CPU whose ring it is in unless it names another one.
///
/// Tasks go by their place in the scenario. A lag is positive if service is owed, in virtual ns.
/// `nr_running` is how many tasks of a queue compete afterwards, the running one included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Event {
    /// The measured run begins here.
    Begin,
    /// It ends here; what runs is cut.
    End,
    /// The timer tick.
    Tick {
        /// Who runs.
        curr: Option<u32>,
        /// Of this CPU's queue.
        nr_running: u32,
        /// Whether the running task has used up its slice and is to go.
        resched: bool,
    },
    /// A stint ends and another one begins.
    Switch {
        /// Whose stint ends; nobody's where the CPU idled.
        prev: Option<TaskOut>,
        /// Whose begins; nobody's where the CPU idles from here on.
        next: Option<TaskIn>,
        /// Of this CPU's queue.
        nr_running: u32,
    },
    /// Somebody makes a blocked task runnable; before it gets a CPU.
    Waking {
        /// The task.
        task: u32,
        /// The CPU on which it blocked.
        cpu: u32,
        /// The task that does so; a timer without one.
        waker: Option<u32>,
    },
    /// It is on a queue.
    Wakeup {
        /// The task.
        task: u32,
        /// Whose queue.
        cpu: u32,
        /// Whether it was spawned rather than woken.
        is_new: bool,
        /// Whether whoever runs there is to go for it.
        preempts: Preempts,
    },
    /// A task is to go on on another CPU.
    Migrate {
        /// The task.
        task: u32,
        /// Where it was last.
        from: u32,
        /// Where it will be.
        to: u32,
        /// Why.
        why: Move,
    },
    /// A task joins a queue.
    Enqueue {
        /// The task.
        task: u32,
        /// Whose queue.
        cpu: u32,
        /// How.
        how: Joins,
        /// Of that queue.
        nr_running: u32,
        /// The task's lag there.
        lag_ns: i64,
    },
    /// A task leaves a queue, or stops to compete on it.
    Dequeue {
        /// The task.
        task: u32,
        /// Whose queue.
        cpu: u32,
        /// Why.
        why: Leaves,
        /// Of that queue.
        nr_running: u32,
    },
    /// An interrupt is sent that asks another CPU to look at its queue.
    IpiSend {
        /// That CPU.
        cpu: u32,
    },
    /// This CPU does so.
    IpiReceive,
    /// This CPU looked for tasks of others.
    Balance {
        /// The CPU from which it took some; none if there were none to take.
        from: Option<u32>,
        /// How many.
        moved: u32,
    },
    /// The running task's program passes a mark.
    Mark {
        /// The task.
        task: u32,
        /// Number of the mark.
        mark: u32,
    },
    /// It measures something.
    Measure {
        /// The task.
        task: u32,
        /// Number of the histogram.
        histogram: u32,
        /// What was measured, ns.
        value_ns: u64,
    },
}

/// A task that leaves a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskOut {
    /// The task.
    pub task: u32,
    /// Why.
    pub end: StintEnd,
    /// Its lag as it leaves.
    pub lag_ns: i64,
}

/// A task that gets a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskIn {
    /// The task.
    pub task: u32,
    /// Why it was chosen.
    pub pick: Pick,
    /// Its lag as it begins.
    pub lag_ns: i64,
}

/// Declares an enumeration that travels as a byte: its place in the list.
macro_rules! byte_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub enum $name { $($(#[$variant_doc])* $variant),* }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// In words.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }

            pub(crate) fn from_byte(byte: u8) -> Option<Self> {
                Self::ALL.get(usize::from(byte)).copied()
            }
        }
    };
}

byte_enum! {
    /// Why a stint ended.
    StintEnd {
        /// The slice was used up.
        Slice = "slice used up",
        /// Another task woke that should run.
        Preempt = "preempted",
        /// It waits for something.
        Block = "blocked",
        /// It gave others a chance.
        Yield = "yielded",
        /// It must not stay on this CPU.
        Migrate = "moved away",
        /// It ended.
        Exit = "ended",
    }
}

byte_enum! {
    /// Why the policy chose a task.
    Pick {
        /// Nobody else was queued.
        Only = "alone",
        /// It was the next buddy, and eligible.
        Buddy = "next buddy",
        /// It ran, was eligible, and its slice was protected.
        Protected = "protected",
        /// It had the earliest deadline of those eligible.
        Deadline = "earliest deadline",
        /// It is a real-time task, and the first of those of the highest priority.
        Priority = "highest priority",
    }
}

byte_enum! {
    /// What a wake-up asks of whoever runs.
    Preempts {
        /// To go on.
        No = "no",
        /// To go at the next tick, or when it leaves the kernel anyway.
        Lazy = "lazily",
        /// To go at once.
        Yes = "yes",
    }
}

byte_enum! {
    /// Why a task changes CPU.
    Move {
        /// Its wake-up chose another one.
        Wakeup = "wake-up",
        /// A CPU without work, or with less, took it.
        Pull = "pulled",
        /// It ran, and a CPU without work, or with less, asked for it.
        Push = "pushed",
        /// It may not stay where it is.
        Affinity = "affinity",
    }
}

byte_enum! {
    /// How a task joins a queue.
    Joins {
        /// It was woken.
        Wakeup = "woken",
        /// It was woken while it only waited out a debt there.
        Requeue = "woken before its debt was repaid",
        /// It was spawned.
        New = "spawned",
        /// It comes from another queue.
        Migrate = "moved here",
    }
}

byte_enum! {
    /// Why a task leaves a queue.
    Leaves {
        /// It blocks.
        Sleep = "blocked",
        /// It blocks in debt: it stays in the tree until that is repaid, and does not compete.
        Delay = "blocked in debt",
        /// Its debt is repaid; it had blocked before.
        Repaid = "debt repaid",
        /// It goes to another queue.
        Migrate = "moved away",
        /// It ended.
        Exit = "ended",
    }
}
