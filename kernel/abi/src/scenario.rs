//! Everything one boot needs to know, from host to guest.
//!
//! Travels as the boot ramdisk: a magic word, the format's version, length and CRC-32 of the
//! payload, then the payload in postcard's encoding. The guest refuses an image that is not
//! exactly this, and says what it found.

use crate::{Costs, CpuSet, Op, Program, Resources, TopologySpec};
use alloc::{string::String, vec::Vec};
use crc::{CRC_32_ISO_HDLC, Crc};
use serde::{Deserialize, Serialize};

const MAGIC: [u8; 8] = *b"SLICELAB";
/// Version of the scenario's encoding and of the records; both sides must agree.
pub const VERSION: u32 = 13;
const HEADER_LEN: usize = 20;
static CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// Which clock the guest lives by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Clock {
    /// Guest time is counted in instructions; timer events carry the time they were set for.
    Virtual,
    /// Guest time is the host's; every time is read when it is needed.
    Real,
}

/// How a task that computes passes its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Burn {
    /// Halted until the next timer event, charged all the same.
    Halt,
    /// In a loop.
    Spin,
}

/// How the tick is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TickMode {
    /// Absolute deadlines on a one-shot timer that also serves sleepers and ends of bursts.
    Oneshot,
    /// The LAPIC's periodic mode; other events are then served at the next tick.
    Periodic,
}

/// What an idle CPU does with its tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum NohzMode {
    /// Keeps it.
    Off,
    /// Stops it until there is work.
    Idle,
}

/// Linux's preemption models. Between the first three tasks here cannot tell: what they do in
/// the kernel takes no time, so there is nothing in it to preempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Preempt {
    /// PREEMPT_NONE: a request is granted on the way back to the task.
    None,
    /// PREEMPT_VOLUNTARY: and at voluntary points in the kernel.
    Voluntary,
    /// PREEMPT: and anywhere in the kernel.
    Full,
    /// PREEMPT_LAZY: a lazy request to another CPU waits for that CPU's next interrupt.
    Lazy,
}

/// What decides where tasks go, on more than one CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Surroundings {
    /// A wakee goes back to its CPU if that idles, else to any idle CPU; a CPU that runs dry
    /// takes a waiting task from the fullest queue. Topology counts for nothing.
    Simple,
    /// As Linux has it: by scheduling domains, caches and load.
    Linux,
}

/// A hypervisor that takes the CPU away, on every CPU alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Steal {
    /// From one time to the next, ns.
    pub period_ns: u64,
    /// For how long, ns.
    pub time_ns: u64,
}

/// Which decisions are kept with all that led to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Explain {
    /// From this time of the run on, ns.
    pub from_ns: u64,
    /// Up to this time, ns.
    pub to_ns: u64,
    /// At most so many on each CPU.
    pub limit: u32,
}

/// The scheduler's rules by name; the guest resolves them with its own `eevdf`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RulesSpec {
    /// Preset name, such as `v6.8`.
    pub preset: String,
    /// Feature bits, as `eevdf::Features::bits` numbers them.
    pub features: u64,
    /// Feature bits, as `placement::Features::bits` numbers them.
    pub smp_features: u64,
    /// The base slice in force, scaled, in ns.
    pub base_slice_ns: u64,
}

/// One task of the scenario.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskSpec {
    /// What the reports call it.
    pub name: String,
    /// -20 to 19.
    pub nice: i8,
    /// SCHED_NORMAL, SCHED_BATCH or SCHED_IDLE.
    pub policy: Policy,
    /// Its own slice in ns, where it has one.
    pub slice_ns: Option<u64>,
    /// The CPUs it may run on.
    pub affinity: CpuSet,
    /// What it does: the number of a program of the scenario.
    pub program: u32,
    /// The pool that it waits in until it is spawned; at work from the start without one.
    pub pool: Option<u32>,
    /// Whether the run does not wait for its end: it is over once all others have ended.
    pub is_background: bool,
}

/// Linux's scheduling policies, as far as there are any here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Policy {
    /// SCHED_NORMAL (SCHED_OTHER).
    Normal,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
    /// SCHED_FIFO: before all fair tasks, and never ended by a slice.
    Fifo {
        /// 1 to 99; the larger one goes first.
        priority: u8,
    },
}

/// Priorities of SCHED_FIFO.
pub const FIFO_PRIORITIES: core::ops::RangeInclusive<u8> = 1..=99;

/// The server that guarantees fair tasks 50 ms of each second beside real-time ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum DlServer {
    /// There is none (before 6.12).
    Off,
    /// It stops with the last fair task of its CPU (up to 6.16).
    Eager,
    /// It stops after a period without a fair task (since 6.17).
    Lazy,
}

/// Everything one boot needs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Scenario {
    /// Where every random stream starts.
    pub seed: u64,
    /// Virtual or real.
    pub clock: Clock,
    /// The TSC's rate where the host knows it (virtual clock: 1 GHz); the guest checks it.
    pub tsc_hz: Option<u64>,
    /// CPUs the guest must find and start.
    pub cpus: u32,
    /// How they are put together.
    pub topology: TopologySpec,
    /// What the machine's own doings take.
    pub costs: Costs,
    /// What decides where tasks go.
    pub surroundings: Surroundings,
    /// Ticks per second.
    pub hz: u32,
    /// One-shot or periodic.
    pub tick: TickMode,
    /// Whether idle CPUs keep their tick.
    pub nohz: NohzMode,
    /// Length of the measured run, ns.
    pub duration_ns: u64,
    /// How tasks pass their time.
    pub burn: Burn,
    /// Added to what each tick charges, ns.
    pub tick_error_ns: i64,
    /// Time each tick, and the slice timer, takes from the task it interrupts without charging it, ns.
    pub irq_cost_ns: u64,
    /// When requests to reschedule are granted.
    pub preempt: Preempt,
    /// What keeps real-time tasks from starving fair ones.
    pub dl_server: DlServer,
    /// Time stolen from every CPU; clocks go on, tasks are not charged.
    pub steal: Option<Steal>,
    /// Which decisions to send with the report.
    pub explain: Option<Explain>,
    /// Whether the policy's invariants are checked after every operation.
    pub check_invariants: bool,
    /// Whether the kernel measures itself: the longest time with interrupts off, and ticks.
    pub kernel_cost: bool,
    /// How many records each CPU's trace ring holds, a power of two; no trace without.
    pub trace_slots: Option<u32>,
    /// Whether tasks are moved to even out load.
    pub balances: bool,
    /// The scheduler's rules.
    pub rules: RulesSpec,
    /// What the programs share.
    pub resources: Resources,
    /// What tasks do; several may do the same.
    pub programs: Vec<Program>,
    /// All tasks; those of no pool become runnable together at time 0, in this order.
    pub tasks: Vec<TaskSpec>,
}

/// Why a ramdisk is not a scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScenarioError {
    /// No ramdisk, or something else in it.
    NotAScenario,
    /// Made by another version of the runner.
    Version(u32),
    /// Shorter or longer than its header says, or its checksum is wrong.
    Damaged,
}

impl core::fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NotAScenario => {
                write!(f, "the ramdisk holds no scenario; boot through the runner")
            }
            Self::Version(found) => write!(
                f,
                "the scenario has format {found}, this kernel reads {VERSION}; build both from one tree"
            ),
            Self::Damaged => write!(f, "the scenario is damaged: length or checksum is wrong"),
        }
    }
}

impl core::error::Error for ScenarioError {}

impl Scenario {
    /// Whether a task is of SCHED_FIFO, or becomes one.
    pub fn has_fifo(&self) -> bool {
        let is_fifo = |policy: &Policy| matches!(policy, Policy::Fifo { .. });
        let becomes_fifo = |op: &Op| matches!(op, Op::SetPolicy(policy) if is_fifo(policy));
        self.tasks.iter().any(|task| is_fifo(&task.policy))
            || self.programs.iter().flatten().any(becomes_fifo)
    }

    /// The ramdisk image.
    pub fn to_image(&self) -> Vec<u8> {
        let payload =
            postcard::to_allocvec(self).expect("postcard encodes every value of this type");
        let mut image = Vec::with_capacity(HEADER_LEN + payload.len());
        image.extend_from_slice(&MAGIC);
        image.extend_from_slice(&VERSION.to_le_bytes());
        image.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend_from_slice(&CHECKSUM.checksum(&payload).to_le_bytes());
        image.extend_from_slice(&payload);
        image
    }

    /// Reads a ramdisk image; bytes after the payload (padding to a page) are ignored.
    ///
    /// # Errors
    /// Anything but an undamaged image of this version.
    pub fn from_image(image: &[u8]) -> Result<Self, ScenarioError> {
        let word = |at: usize| {
            let bytes = image.get(at..at + 4).ok_or(ScenarioError::NotAScenario)?;
            Ok(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
        };
        if image.get(..8) != Some(&MAGIC) {
            return Err(ScenarioError::NotAScenario);
        }
        if word(8)? != VERSION {
            return Err(ScenarioError::Version(word(8)?));
        }
        let payload = image
            .get(HEADER_LEN..)
            .and_then(|rest| rest.get(..word(12).ok()? as usize))
            .ok_or(ScenarioError::Damaged)?;
        if CHECKSUM.checksum(payload) != word(16)? {
            return Err(ScenarioError::Damaged);
        }
        postcard::from_bytes(payload).map_err(|_| ScenarioError::Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cost;

    fn scenario() -> Scenario {
        Scenario {
            seed: 7,
            clock: Clock::Virtual,
            tsc_hz: Some(1_000_000_000),
            cpus: 2,
            topology: TopologySpec::flat(2),
            costs: Costs::default().with(Cost::IdleExit, 1700),
            surroundings: Surroundings::Linux,
            hz: 250,
            tick: TickMode::Oneshot,
            nohz: NohzMode::Off,
            duration_ns: 1_000_000_000,
            burn: Burn::Halt,
            tick_error_ns: -1000,
            irq_cost_ns: 0,
            preempt: Preempt::Lazy,
            dl_server: DlServer::Lazy,
            steal: Some(Steal { period_ns: 10_000_000, time_ns: 100_000 }),
            explain: None,
            check_invariants: true,
            kernel_cost: false,
            balances: true,
            trace_slots: None,
            rules: RulesSpec {
                preset: "v6.8".into(),
                features: 3,
                smp_features: 5,
                base_slice_ns: 750_000,
            },
            resources: Resources::default(),
            programs: alloc::vec![alloc::vec![Op::RunForever]],
            tasks: alloc::vec![TaskSpec {
                name: "hog0".into(),
                nice: -5,
                policy: Policy::Normal,
                slice_ns: None,
                affinity: CpuSet::first(2),
                program: 0,
                pool: None,
                is_background: true,
            }],
        }
    }

    #[test]
    fn survives_the_trip_with_padding() {
        let mut image = scenario().to_image();
        image.resize(4096, 0);
        assert_eq!(Scenario::from_image(&image), Ok(scenario()));
    }

    #[test]
    fn damage_is_named() {
        let good = scenario().to_image();
        assert_eq!(Scenario::from_image(&[]), Err(ScenarioError::NotAScenario));
        assert_eq!(Scenario::from_image(&good[..good.len() - 1]), Err(ScenarioError::Damaged));
        for byte in HEADER_LEN..good.len() {
            let mut bad = good.clone();
            bad[byte] ^= 0x10;
            assert_eq!(Scenario::from_image(&bad), Err(ScenarioError::Damaged), "byte {byte}");
        }
        let mut other = good;
        other[8] = 99;
        assert_eq!(Scenario::from_image(&other), Err(ScenarioError::Version(99)));
    }
}
