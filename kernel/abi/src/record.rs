//! The records that a guest sends, each field with its unit.
//!
//! One run sends, in this order: [`Rings`], before it begins, if it is traced; [`Machine`], one
//! [`Cpu`] and one [`Wakeups`] per CPU, one [`Task`] per task, with [`Moments`] and [`Buckets`]
//! (distributions) in between, one [`Counter`] per counter and the distributions of the programs'
//! histograms, a [`Wait`] for each task that waits for another and a [`Held`] for each mutex that
//! is held, any number of [`Pick`] with their [`Candidate`]s, one [`Total`], one [`End`]. A guest
//! that gives up sends [`Fail`] instead of what is missing, and `End` with status `failed` where
//! it still can. `End` counts the records before it.

use crate::line::LineError;
use core::fmt::{self, Write};

/// A value that a field can have: no blank in its text form.
trait Field: Sized {
    fn write(&self, out: &mut dyn Write) -> fmt::Result;
    fn parse(text: &str) -> Option<Self>;
}

macro_rules! number_fields {
    ($($number:ty),*) => { $(
        impl Field for $number {
            fn write(&self, out: &mut dyn Write) -> fmt::Result {
                write!(out, "{self}")
            }
            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }
    )* };
}
number_fields!(u32, u64, i64, u128);

/// Declares an enumeration by the words that stand for it on the line.
macro_rules! word_field {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$variant_doc])* #[doc = concat!(" Written `", $word, "`.")] $variant),*
        }

        impl $name {
            /// The word on the line.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl Field for $name {
            fn write(&self, out: &mut dyn Write) -> fmt::Result {
                out.write_str(self.word())
            }
            fn parse(text: &str) -> Option<Self> {
                match text { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

/// Declares the records and, from the same list, how each is written and read.
macro_rules! records {
    ($($(#[$doc:meta])* $kind:literal => $name:ident {
        $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)?
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub struct $name { $($(#[$field_doc])* pub $field: $type),* }
        )*

        /// Any record.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[expect(missing_docs, reason = "each variant is the record of its name")]
        pub enum Record { $($name($name)),* }

        impl Record {
            /// The word after the mark.
            pub const fn kind(&self) -> &'static str {
                match self { $(Self::$name(_) => $kind),* }
            }

            pub(crate) fn write_fields(&self, out: &mut dyn Write) -> fmt::Result {
                match self {
                    $(Self::$name(record) => {
                        $(
                            out.write_str(concat!(" ", stringify!($field), "="))?;
                            record.$field.write(out)?;
                        )*
                        Ok(())
                    })*
                }
            }

            pub(crate) fn parse_fields(
                kind: &str,
                tokens: &mut dyn Iterator<Item = &str>,
            ) -> Result<Self, LineError> {
                match kind {
                    $($kind => Ok(Self::$name($name {
                        $($field: parse_field(tokens, stringify!($field))?),*
                    })),)*
                    _ => Err(LineError::UnknownKind),
                }
            }
        }
    };
}

fn parse_field<T: Field>(
    tokens: &mut dyn Iterator<Item = &str>,
    name: &'static str,
) -> Result<T, LineError> {
    tokens
        .next()
        .and_then(|token| token.split_once('='))
        .filter(|&(key, _)| key == name)
        .and_then(|(_, value)| T::parse(value))
        .ok_or(LineError::Field(name))
}

word_field! {
    /// The clock that TSC and LAPIC timer were measured against.
    Reference { Hpet = "hpet", PmTimer = "pm-timer", Pit = "pit" }
}

word_field! {
    /// How the local APIC is reached.
    ApicMode { XApic = "xapic", X2Apic = "x2apic" }
}

word_field! {
    /// How the per-CPU timer is programmed.
    TimerMode { Oneshot = "oneshot", TscDeadline = "tsc-deadline", Periodic = "periodic" }
}

word_field! {
    /// What a distribution describes.
    Measure {
        /// Task: lengths of its finished stints, ns.
        Stint = "stint_ns",
        /// Task: ticks seen in each finished stint.
        StintTicks = "stint_ticks",
        /// Task: from wake-up to running, ns.
        WakeupLatency = "wakeup_latency_ns",
        /// CPU: from tick to tick, ns.
        TickInterval = "tick_interval_ns",
        /// Histogram of the programs: what they measured, ns, or sampled.
        Measured = "measured",
        /// CPU: what a tick took that nobody was switched at, ns; only where it was measured.
        TickCost = "tick_cost_ns",
        /// CPU, real clock: how long after its time a timer event was handled, ns.
        TimerLate = "timer_late_ns",
    }
}

word_field! {
    /// Why a guest gave up.
    Failure {
        /// Not enough memory; `have` and `need` are MiB.
        Memory = "memory",
        /// CPUs did not start or are not there; `have` and `need` count them.
        Cpus = "cpus",
        /// One CPU did not start in time; `have` is its APIC id.
        CpuStart = "cpu-start",
        /// A clock's rate is not what the scenario states; `have` and `need` are Hz.
        ClockRate = "clock-rate",
        /// No reference clock was found.
        NoReference = "no-reference-clock",
        /// The ramdisk is not a scenario this kernel can run.
        Scenario = "scenario",
        /// A stack ran over its guard page; `have` is the task's number, or the CPU's count of
        /// tasks where a CPU's own stack overflowed.
        StackOverflow = "stack-overflow",
        /// A panic or an exception nobody expects; the text is on the line before.
        Panic = "panic",
    }
}

word_field! {
    /// Why the policy chose a task.
    PickReason {
        /// Nobody else is queued.
        Only = "only",
        /// It is the next buddy, and eligible.
        Buddy = "buddy",
        /// It runs, is eligible, and its slice is protected.
        Protected = "protected",
        /// It has the earliest deadline of all, and is eligible.
        Leftmost = "leftmost",
        /// It has the earliest deadline of those that are eligible; an earlier one is not.
        Search = "search",
    }
}

word_field! {
    /// What a task can wait for, other than time.
    Waits {
        /// A semaphore.
        Semaphore = "semaphore",
        /// A mutex.
        Mutex = "mutex",
        /// A condition.
        Condition = "condition",
        /// A barrier.
        Barrier = "barrier",
        /// Bytes in a pipe.
        PipeData = "pipe-data",
        /// Room in a pipe.
        PipeRoom = "pipe-room",
    }
}

word_field! {
    /// Why a run ended.
    Ending {
        /// Its time was over.
        Time = "time",
        /// All tasks had ended.
        Done = "done",
        /// Every task left waited for another one.
        Deadlock = "deadlock",
    }
}

word_field! {
    /// A truth value.
    Flag { No = "no", Yes = "yes" }
}

word_field! {
    /// How a run ended, as seen by the guest.
    Status { Ok = "ok", Failed = "failed" }
}

records! {
    /// Where the trace is in guest memory, before the run.
    "rings" => Rings {
        /// [`crate::trace::ring::VERSION`] of the guest.
        version: u64,
        /// Physical address of the header.
        at: u64,
        /// How many CPUs have a ring.
        cpus: u32,
        /// Records that a ring holds.
        slots: u32,
    }

    /// The machine as the guest found it.
    "machine" => Machine {
        /// [`crate::scenario::VERSION`] of the guest.
        version: u32,
        /// CPUs running.
        cpus: u32,
        /// CPUs that the firmware lists as disabled.
        disabled: u32,
        /// Rate of the TSC in force.
        tsc_hz: u64,
        /// Rate of the LAPIC timer in force, divider included.
        lapic_hz: u64,
        /// The independent clock.
        reference: Reference,
        /// xAPIC or x2APIC.
        apic: ApicMode,
        /// How the tick is made.
        timer: TimerMode,
    }

    /// One CPU's part of the run.
    "cpu" => Cpu {
        /// Logical number.
        cpu: u32,
        /// Its APIC id.
        apic_id: u32,
        /// Ticks handled.
        ticks: u64,
        /// Ticks that fell due but passed unhandled before the next one did.
        missed_ticks: u64,
        /// What the timer was programmed with for one tick, in its own units.
        timer_count: u64,
        /// Ticks per second as the timer's measured rate and that count make them, in mHz.
        measured_mhz: u64,
        /// Time with a task on the CPU.
        busy_ns: u64,
        /// Time without.
        idle_ns: u64,
        /// Time spent in ticks and not charged to any task.
        irq_ns: u64,
        /// Context switches, from or to the idle loop included.
        switches: u64,
        /// Reschedule interrupts received.
        ipis: u64,
        /// Longest time with interrupts off, ns; 0 where it was not measured.
        irqsoff_ns: u64,
        /// Switches to the idle loop.
        goes_idle: u64,
        /// Times a task yielded here.
        yields: u64,
        /// Time that tasks wanted to run and waited before they got this CPU, ns.
        run_delay_ns: u64,
    }

    /// Passes of load balancing over one domain of a CPU, for that CPU; only where there were any.
    "domain" => Domain {
        /// Logical number.
        cpu: u32,
        /// Which of its domains, counted from the bottom up.
        domain: u32,
        /// Passes while it was busy.
        busy: u64,
        /// Those that found nothing to even out, or left it to another CPU.
        busy_balanced: u64,
        /// Those that found an imbalance and could move nothing.
        busy_failed: u64,
        /// Tasks that they moved.
        busy_gained: u64,
        /// The same while it was idle.
        idle: u64,
        /// As above.
        idle_balanced: u64,
        /// As above.
        idle_failed: u64,
        /// As above.
        idle_gained: u64,
        /// The same when it ran dry.
        newly_idle: u64,
        /// As above.
        newly_idle_balanced: u64,
        /// As above.
        newly_idle_failed: u64,
        /// As above.
        newly_idle_gained: u64,
        /// Running tasks that other CPUs were asked to push here.
        pushes: u64,
    }

    /// What one CPU did to even out load.
    "balance" => Balance {
        /// Logical number.
        cpu: u32,
        /// Attempts at ticks, in any scheduling domain.
        attempts: u64,
        /// Those of them that found an imbalance and could move nothing.
        failed: u64,
        /// Tasks it pulled when it ran dry.
        newidle_pulls: u64,
        /// Times it ran dry while others had tasks waiting, looked, and could pull none.
        newidle_misses: u64,
        /// Running tasks that it asked other CPUs to push to it.
        pushes: u64,
        /// Idle CPUs that it kicked, to balance for those whose tick is stopped.
        kicks: u64,
        /// Time in which it idled while a task that may run on it waited on another CPU, ns.
        wasted_ns: u64,
        /// The longest such time without a break, ns.
        wasted_longest_ns: u64,
    }

    /// Why tasks moved between CPUs; without `fork` as many as [`Total::migrations`].
    "moves" => Moves {
        /// A wake-up chose another CPU.
        wakeup: u64,
        /// A task was spawned and began on another CPU than the one that spawned it.
        fork: u64,
        /// A CPU balanced at its tick.
        periodic: u64,
        /// A CPU ran dry.
        newidle: u64,
        /// A running task was pushed.
        active: u64,
        /// An idle CPU balanced for those whose tick is stopped.
        nohz: u64,
        /// A task chose other CPUs.
        affinity: u64,
        /// Time in which any CPU idled while a task that may run on it waited, ns.
        wasted_ns: u64,
    }

    /// Wake-ups that one CPU made, and what they and its switches took; all 0 on a single CPU.
    "wakeups" => Wakeups {
        /// The CPU.
        cpu: u32,
        /// Wake-ups of tasks that stay or join here.
        local: u64,
        /// Wake-ups of tasks that stay or join elsewhere.
        remote: u64,
        /// Those of both that change CPU.
        migrated: u64,
        /// By a waker that said it is about to sleep.
        sync: u64,
        /// Of tasks that were queued still, waiting out a debt.
        delayed: u64,
        /// Left to the other CPU, by its wake list.
        queued: u64,
        /// The waker's CPU was set against the wakee's.
        affine_attempts: u64,
        /// It was preferred.
        affine: u64,
        /// Searches for an idle CPU.
        searches: u64,
        /// CPUs that these looked at.
        probes: u64,
        /// Times another CPU's runqueue was locked.
        remote_rq_locks: u64,
        /// Time spent waiting for runqueue locks, ns: under the virtual clock what the costs of the
        /// machine make it, under the real clock what it took.
        contended_ns: u64,
        /// Reschedule interrupts sent.
        ipis_sent: u64,
        /// Deadline servers started.
        server_starts: u64,
        /// Deadline servers stopped.
        server_stops: u64,
        /// Time that the costs of the machine took of this CPU, waiting included, ns.
        cost_ns: u64,
    }

    /// One task's part of the run.
    "task" => Task {
        /// Its place in the scenario.
        task: u32,
        /// Slice in force at the end.
        slice_ns: u64,
        /// Time on a CPU by the clock, interrupted stints and the last, cut one included.
        runtime_ns: u64,
        /// Time charged: without interrupt time, tick errors included.
        charged_ns: u64,
        /// Stints ended because the slice was used up.
        slice: u64,
        /// Stints ended by a wake-up.
        preempt: u64,
        /// Stints ended by sleeping or waiting.
        block: u64,
        /// Stints ended by `sched_yield`.
        yields: u64,
        /// Stints ended by a move to another CPU.
        migrate: u64,
        /// How often it ended: once, or as often as it was spawned.
        exit: u64,
        /// Stints that lasted at least one tick longer than the slice needed.
        extra_ticks: u64,
        /// Moves to another CPU.
        migrations: u64,
        /// Wake-ups.
        wakeups: u64,
        /// Time it wanted to run and waited for a CPU, up to its last turn (Linux: `run_delay`).
        run_delay_ns: u64,
        /// Lowest lag seen at the start or end of a stint, virtual ns; 0 without one.
        lag_min_ns: i64,
        /// Highest lag seen at the start or end of a stint, virtual ns; 0 without one.
        lag_max_ns: i64,
    }

    /// What is exactly known of a distribution.
    "moments" => Moments {
        /// What it describes.
        of: Measure,
        /// The task or CPU it belongs to.
        owner: u32,
        /// Number of values.
        count: u64,
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
        /// Sum of the values.
        sum: u128,
        /// Sum of their squares.
        sum_of_squares: u128,
    }

    /// Some filled buckets of a distribution.
    "buckets" => Buckets {
        /// What it describes.
        of: Measure,
        /// The task or CPU it belongs to.
        owner: u32,
        /// `bucket:count`, ascending.
        filled: BucketList,
    }

    /// A counter of the programs.
    "counter" => Counter {
        /// Its number.
        counter: u32,
        /// What it counted.
        value: u64,
    }

    /// A task that waits for another one at the end of the run.
    "wait" => Wait {
        /// The task.
        task: u32,
        /// What for.
        on: Waits,
        /// Its number among those of its kind.
        object: u32,
    }

    /// A mutex that is held at the end of the run.
    "held" => Held {
        /// Its number.
        mutex: u32,
        /// By whom.
        task: u32,
    }

    /// A decision; its candidates follow.
    "pick" => Pick {
        /// The CPU that chose.
        cpu: u32,
        /// When, ns of the run.
        at_ns: u64,
        /// Whom.
        task: u32,
        /// Why.
        reason: PickReason,
        /// The weighted average V before, virtual ns.
        avg_vruntime: u64,
        /// How many candidates follow.
        candidates: u32,
    }

    /// One of those among whom the last decision was made.
    "candidate" => Candidate {
        /// Its number.
        task: u32,
        /// Where it stood, virtual ns.
        vruntime: u64,
        /// Its virtual deadline.
        deadline: u64,
        /// V less vruntime, virtual ns; owed if positive.
        lag_ns: i64,
        /// Its slice.
        slice_ns: u64,
        /// Its load weight; 1024 is nice 0.
        weight: u32,
        /// Whether it was eligible.
        eligible: Flag,
        /// Whether it had blocked and only waited out its debt.
        delayed: Flag,
    }

    /// The run as a whole.
    "total" => Total {
        /// Length of the run by the guest's clock.
        elapsed_ns: u64,
        /// Context switches of all CPUs.
        switches: u64,
        /// Moves between CPUs.
        migrations: u64,
        /// Wake-ups.
        wakeups: u64,
        /// Decisions that were asked for but found no room.
        lost_records: u64,
        /// Times a lag was out of the bound of the rules in force.
        lag_violations: u64,
        /// Times a pool was empty when a task was to be spawned; nothing was.
        failed_spawns: u64,
        /// Why the run ended.
        ending: Ending,
    }

    /// Why the guest gave up.
    "fail" => Fail {
        /// The kind of failure.
        what: Failure,
        /// The CPU that noticed.
        cpu: u32,
        /// What was found; see [`Failure`] for the unit.
        have: u64,
        /// What was needed.
        need: u64,
    }

    /// The last line of a run.
    "end" => End {
        /// How it went.
        status: Status,
        /// Records before this one.
        records: u64,
    }
}

impl Wakeups {
    /// Those of a CPU that has made none.
    pub const fn none(cpu: u32) -> Self {
        Self {
            cpu,
            local: 0,
            remote: 0,
            migrated: 0,
            sync: 0,
            delayed: 0,
            queued: 0,
            affine_attempts: 0,
            affine: 0,
            searches: 0,
            probes: 0,
            remote_rq_locks: 0,
            contended_ns: 0,
            ipis_sent: 0,
            server_starts: 0,
            server_stops: 0,
            cost_ns: 0,
        }
    }
}

/// As many buckets as fit a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BucketList {
    len: usize,
    items: [(u32, u32); Self::CAPACITY],
}

impl BucketList {
    /// Buckets on one line.
    pub const CAPACITY: usize = 32;

    /// Takes up to [`Self::CAPACITY`] buckets; `None` when there is none left.
    pub fn take_from(buckets: &mut impl Iterator<Item = (usize, u32)>) -> Option<Self> {
        let mut list = Self { len: 0, items: [(0, 0); Self::CAPACITY] };
        for (slot, (bucket, count)) in list.items.iter_mut().zip(buckets.take(Self::CAPACITY)) {
            *slot = (bucket as u32, count);
            list.len += 1;
        }
        (list.len > 0).then_some(list)
    }

    /// Bucket number and count of each.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.items[..self.len]
    }
}

impl Field for BucketList {
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        for (index, (bucket, count)) in self.as_slice().iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(out, "{separator}{bucket}:{count}")?;
        }
        Ok(())
    }

    fn parse(text: &str) -> Option<Self> {
        let mut list = Self { len: 0, items: [(0, 0); Self::CAPACITY] };
        for item in text.split(',') {
            let (bucket, count) = item.split_once(':')?;
            *list.items.get_mut(list.len)? = (bucket.parse().ok()?, count.parse().ok()?);
            list.len += 1;
        }
        Some(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line;
    use alloc::{string::String, vec::Vec};

    #[test]
    fn buckets_travel_in_portions() {
        let mut buckets = (0..40).map(|bucket| (bucket, 7));
        let portions: Vec<_> =
            core::iter::from_fn(|| BucketList::take_from(&mut buckets)).collect();
        assert_eq!(portions.iter().map(|list| list.as_slice().len()).collect::<Vec<_>>(), [32, 8]);

        let record = Record::Buckets(Buckets { of: Measure::Stint, owner: 3, filled: portions[1] });
        let mut text = String::new();
        line::write(&mut text, &record).expect("a String takes everything");
        assert!(text.starts_with("@buckets of=stint_ns owner=3 filled=32:7,33:7,"), "{text}");
        assert_eq!(line::parse(text.trim_end()), Ok(record));
    }

    #[test]
    fn a_task_survives_the_trip() {
        let task = Record::Task(Task {
            task: 0,
            slice_ns: 1,
            runtime_ns: 2,
            charged_ns: 2,
            slice: 0,
            preempt: 0,
            block: 0,
            yields: 5,
            migrate: 0,
            exit: 0,
            extra_ticks: 0,
            migrations: 0,
            wakeups: 0,
            run_delay_ns: 0,
            lag_min_ns: -4,
            lag_max_ns: 4,
        });
        let mut text = String::new();
        line::write(&mut text, &task).expect("a String takes everything");
        assert!(text.contains(" yields=5 ") && text.contains("lag_min_ns=-4"), "{text}");
        assert_eq!(line::parse(text.trim_end()), Ok(task));
    }
}
