//! The result document (`--json`).
//!
//! Keys and their order are a contract: programs read them, and two identical runs give two
//! identical documents but for `wall_s`. Keys may be added, never renamed; what is added to a document
//! that older versions have written gets `#[serde(default)]`, so that those can still be read.

use super::{
    dist::{Dist, decimals},
    explain::{self, DecisionDocument},
};
use crate::{
    expect::{Expectation, Judgement, Verdict, expected_ticks},
    experiment::{Plan, RunResult},
    qemu::Qemu,
    records::{CpuRecords, TaskRecords},
    repeat::Repeats,
    trace,
    workload::Metric,
};
use abi::{
    Burn, Clock, Cost, Histogram, NohzMode, Preempt, Scenario, Surroundings, TaskSpec, TickMode,
    TopologySpec, record,
    record::Wakeups,
    scenario::{DlServer, Policy},
};
use eevdf::Feature;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeMap};

/// Version of the document.
const SCHEMA: u32 = 1;

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Document {
    /// Version of this layout.
    pub schema: u32,
    /// The words after `slicelab` that give this result again, where it came from the command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// What was run.
    pub config: ConfigDocument,
    /// The machine as the guest found it.
    pub machine: MachineDocument,
    /// What the expectations say.
    pub verdict: Verdict,
    /// Why, where the expectations alone would say something else.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What had to hold.
    pub expectations: Vec<Expectation>,
    /// The run as a whole.
    pub totals: TotalsDocument,
    /// By CPU number.
    pub cpus: Vec<CpuDocument>,
    /// In the order of the scenario.
    pub tasks: Vec<TaskDocument>,
    /// What the workload measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Metric>,
    /// Which runs the metrics are of, where there were several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeats>,
    /// Where its trace is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<trace::Summary>,
    /// What `--explain` asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<DecisionDocument>,
}

/// What was run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the flags of the same names document them")]
pub struct ConfigDocument {
    pub hz: u32,
    pub cpus: u32,
    pub base_slice_ns: u64,
    pub preset: Cow<'static, str>,
    pub features: BTreeMap<String, bool>,
    pub clock: Cow<'static, str>,
    pub burn: Cow<'static, str>,
    pub accel: Cow<'static, str>,
    pub duration_ns: u64,
    pub seed: u64,
    pub qemu: String,
    pub tick: Cow<'static, str>,
    pub nohz: Cow<'static, str>,
    pub tick_error_ns: i64,
    pub irq_cost_ns: u64,
    pub preempt: Cow<'static, str>,
    #[serde(default)]
    pub dl_server: Cow<'static, str>,
    #[serde(default)]
    pub balance: bool,
    pub steal_period_ns: u64,
    pub steal_ns: u64,
    pub memory_mib: u32,
    #[serde(default)]
    pub topology: TopologyDocument,
    #[serde(default)]
    pub surroundings: Cow<'static, str>,
    /// What the machine's own doings take, ns; nothing without it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub costs_ns: BTreeMap<Cow<'static, str>, u32>,
}

/// How many CPUs each part of the machine has.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "`abi::TopologySpec` documents them")]
pub struct TopologyDocument {
    pub core: u32,
    pub cluster: u32,
    pub llc: u32,
    pub package: u32,
}

impl From<TopologySpec> for TopologyDocument {
    fn from(TopologySpec { core, cluster, llc, package }: TopologySpec) -> Self {
        Self { core, cluster, llc, package }
    }
}

/// The document's word for a policy.
pub(crate) const fn policy_word(policy: Policy) -> &'static str {
    match policy {
        Policy::Normal => "normal",
        Policy::Batch => "batch",
        Policy::Idle => "idle",
        Policy::Fifo { .. } => "fifo",
    }
}

/// The machine as the guest found it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "`abi::record::Machine` documents them")]
pub struct MachineDocument {
    pub tsc_hz: u64,
    pub lapic_hz: u64,
    pub reference: Cow<'static, str>,
    pub apic: Cow<'static, str>,
    pub timer: Cow<'static, str>,
    pub disabled_cpus: u32,
}

/// Wake-ups and what they took, of one CPU or of all; only where there are several.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "`abi::record::Wakeups` documents them")]
pub struct WakeupsDocument {
    pub local: u64,
    pub remote: u64,
    pub migrated: u64,
    pub sync: u64,
    pub delayed: u64,
    pub queued: u64,
    pub affine_attempts: u64,
    pub affine: u64,
    pub searches: u64,
    pub probes: u64,
    pub remote_rq_locks: u64,
    pub contended_ns: u64,
    pub ipis_sent: u64,
    #[serde(default)]
    pub server_starts: u64,
    #[serde(default)]
    pub server_stops: u64,
    #[serde(default)]
    pub cost_ns: u64,
}

impl WakeupsDocument {
    fn add(mut self, of: &Wakeups) -> Self {
        self.local += of.local;
        self.remote += of.remote;
        self.migrated += of.migrated;
        self.sync += of.sync;
        self.delayed += of.delayed;
        self.queued += of.queued;
        self.affine_attempts += of.affine_attempts;
        self.affine += of.affine;
        self.searches += of.searches;
        self.probes += of.probes;
        self.remote_rq_locks += of.remote_rq_locks;
        self.contended_ns += of.contended_ns;
        self.ipis_sent += of.ipis_sent;
        self.server_starts += of.server_starts;
        self.server_stops += of.server_stops;
        self.cost_ns += of.cost_ns;
        self
    }

    /// The sum over CPUs.
    fn of<'a>(cpus: impl IntoIterator<Item = &'a CpuRecords>) -> Self {
        cpus.into_iter().fold(Self::default(), |sum, cpu| sum.add(&cpu.wakeups))
    }
}

/// The run as a whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "`abi::record::Total` documents them")]
pub struct TotalsDocument {
    pub elapsed_ns: u64,
    pub switches: u64,
    pub migrations: u64,
    pub wakeups: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakeup_counts: Option<WakeupsDocument>,
    pub lost_records: u64,
    pub lag_violations: u64,
    pub failed_spawns: u64,
    /// Time in which any CPU idled while a task that may run on it waited on another one.
    #[serde(default)]
    pub wasted_core_ns: u64,
    #[serde(default)]
    pub moves: MovesDocument,
    pub ending: Cow<'static, str>,
    /// Host seconds; the only value that differs between identical runs.
    pub wall_s: f64,
}

/// One CPU.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "`abi::record::Cpu` documents them")]
pub struct CpuDocument {
    pub cpu: u32,
    pub apic_id: u32,
    pub ticks: u64,
    /// HZ times the run's length.
    pub expected_ticks: f64,
    pub missed_ticks: u64,
    pub busy_ns: u64,
    pub idle_ns: u64,
    pub irq_ns: u64,
    pub switches: u64,
    pub ipis: u64,
    /// Switches to the idle loop.
    #[serde(default)]
    pub goes_idle: u64,
    #[serde(default)]
    pub yields: u64,
    /// Time that tasks waited before they got this CPU.
    #[serde(default)]
    pub run_delay_ns: u64,
    #[serde(default)]
    pub balance: BalanceDocument,
    /// Passes over each scheduling domain, from the bottom up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<DomainDocument>,
    /// Time in which it idled while a task that may run on it waited on another one.
    #[serde(default)]
    pub wasted_ns: u64,
    /// The longest such time without a break.
    #[serde(default)]
    pub wasted_longest_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakeup_counts: Option<WakeupsDocument>,
    /// Longest time with interrupts off, where it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub irqsoff_ns: Option<u64>,
    /// What a tick took that nobody was switched at, where it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick_cost_ns: Option<Dist>,
    pub timer_count: u64,
    pub measured_hz: f64,
    pub tick_interval_ns: Dist,
    /// How many intervals were at least so long, ns, and shorter than the next.
    #[serde(default)]
    pub tick_intervals: BTreeMap<u64, u32>,
    /// How late timer events were handled. Only under the real clock: under the virtual one it
    /// is how QEMU's threads happened to meet, the one thing there that does not repeat, and
    /// events are accounted at the time they were set for anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_late_ns: Option<Dist>,
}

/// Passes of load balancing over one domain, by what the CPU did that they were for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the first three are types of idleness, as Linux has them")]
pub struct DomainDocument {
    pub busy: PassesDocument,
    pub idle: PassesDocument,
    pub newly_idle: PassesDocument,
    /// Running tasks that other CPUs were asked for.
    pub pushes: u64,
}

/// How many there were, and what came of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "`abi::record::Domain` documents them")]
pub struct PassesDocument {
    pub count: u64,
    pub balanced: u64,
    pub failed: u64,
    /// Tasks that were moved.
    pub gained: u64,
}

impl From<record::Domain> for DomainDocument {
    fn from(of: record::Domain) -> Self {
        let passes =
            |count, balanced, failed, gained| PassesDocument { count, balanced, failed, gained };
        Self {
            busy: passes(of.busy, of.busy_balanced, of.busy_failed, of.busy_gained),
            idle: passes(of.idle, of.idle_balanced, of.idle_failed, of.idle_gained),
            newly_idle: passes(
                of.newly_idle,
                of.newly_idle_balanced,
                of.newly_idle_failed,
                of.newly_idle_gained,
            ),
            pushes: of.pushes,
        }
    }
}

/// Those of a CPU by the numbers of its domains; domains without any are there all the same.
fn domains(records: &[record::Domain]) -> Vec<DomainDocument> {
    let count = records.iter().map(|record| record.domain as usize + 1).max().unwrap_or(0);
    let mut domains = vec![DomainDocument::default(); count];
    for &record in records {
        domains[record.domain as usize] = record.into();
    }
    domains
}

/// What one CPU did to even out load.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct BalanceDocument {
    pub attempts: u64,
    pub failed: u64,
    pub newidle_pulls: u64,
    pub newidle_misses: u64,
    pub pushes: u64,
    pub kicks: u64,
}

impl From<record::Balance> for BalanceDocument {
    fn from(counters: record::Balance) -> Self {
        let record::Balance {
            attempts, failed, newidle_pulls, newidle_misses, pushes, kicks, ..
        } = counters;
        Self { attempts, failed, newidle_pulls, newidle_misses, pushes, kicks }
    }
}

/// Moves between CPUs by what made them; without `fork`, which is no migration, `migrations`.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct MovesDocument {
    pub wakeup: u64,
    pub fork: u64,
    pub periodic: u64,
    pub newidle: u64,
    pub active: u64,
    pub nohz: u64,
    pub affinity: u64,
}

impl From<record::Moves> for MovesDocument {
    fn from(moves: record::Moves) -> Self {
        let record::Moves { wakeup, fork, periodic, newidle, active, nohz, affinity, .. } = moves;
        Self { wakeup, fork, periodic, newidle, active, nohz, affinity }
    }
}

impl MovesDocument {
    /// With the names that the report uses.
    pub(super) fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("wakeup", self.wakeup),
            ("fork", self.fork),
            ("periodic", self.periodic),
            ("newidle", self.newidle),
            ("active", self.active),
            ("nohz", self.nohz),
            ("affinity", self.affinity),
        ]
    }
}

/// One task.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "`abi::record::Task` documents them")]
pub struct TaskDocument {
    pub name: String,
    /// Its place in the scenario, counted from 1; 0 is the idle task.
    pub pid: u32,
    pub nice: i8,
    pub policy: Cow<'static, str>,
    /// Of SCHED_FIFO.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    pub slice_ns: u64,
    pub runtime_ns: u64,
    pub charged_ns: u64,
    /// Its part of the busy time of all tasks.
    pub share: f64,
    pub migrations: u64,
    pub wakeups: u64,
    pub switches: SwitchesDocument,
    pub extra_ticks: u64,
    pub stint_ns: Dist,
    /// How many stints saw how many ticks.
    pub stint_ticks: BTreeMap<u64, u32>,
    pub wakeup_latency_ns: Dist,
    pub lag_ns: LagDocument,
}

/// Finished stints of a task by what ended them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the reasons of `abi::record::Task`")]
pub struct SwitchesDocument {
    pub total: u64,
    pub slice: u64,
    pub preempt: u64,
    pub block: u64,
    #[serde(rename = "yield")]
    pub yields: u64,
    pub migrate: u64,
    pub exit: u64,
}

/// Extremes of a task's lag at the end of its stints.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct LagDocument {
    /// Lowest.
    pub min: i64,
    /// Highest.
    pub max: i64,
}

impl Document {
    pub(crate) fn new(result: &RunResult) -> Self {
        let Judgement { verdict, expectations, reason } = result.judge();
        let records = &result.records;
        let runtime_ns: u64 = records.tasks.iter().map(|task| task.counters.runtime_ns).sum();
        let elapsed_ns = records.total.elapsed_ns;
        let specs = &result.plan.scenario.tasks;
        Self {
            schema: SCHEMA,
            command: Vec::new(),
            config: ConfigDocument::new(&result.plan, &result.qemu),
            machine: MachineDocument {
                tsc_hz: records.machine.tsc_hz,
                lapic_hz: records.machine.lapic_hz,
                reference: records.machine.reference.word().into(),
                apic: records.machine.apic.word().into(),
                timer: records.machine.timer.word().into(),
                disabled_cpus: records.machine.disabled,
            },
            verdict,
            reason,
            expectations,
            totals: TotalsDocument {
                elapsed_ns,
                switches: records.total.switches,
                migrations: records.total.migrations,
                wakeups: records.total.wakeups,
                wakeup_counts: (records.cpus.len() > 1).then(|| WakeupsDocument::of(&records.cpus)),
                lost_records: records.total.lost_records,
                lag_violations: records.total.lag_violations,
                failed_spawns: records.total.failed_spawns,
                wasted_core_ns: records.moves.wasted_ns,
                moves: records.moves.into(),
                ending: records.total.ending.word().into(),
                wall_s: decimals(result.wall.as_secs_f64(), 3),
            },
            cpus: records
                .cpus
                .iter()
                .map(|cpu| CpuDocument::new(cpu, &result.plan.scenario, elapsed_ns))
                .collect(),
            metrics: result.metrics(),
            repeat: None,
            trace: result.trace.clone(),
            decisions: explain::documents(result),
            tasks: specs
                .iter()
                .zip(&records.tasks)
                .map(|(spec, task)| TaskDocument::new(spec, task, runtime_ns))
                .collect(),
        }
    }
}

impl ConfigDocument {
    pub(crate) fn new(plan: &Plan, qemu: &Qemu) -> Self {
        let scenario = &plan.scenario;
        let features = plan.rules.features();
        Self {
            hz: scenario.hz,
            cpus: scenario.cpus,
            base_slice_ns: plan.rules.base_slice_ns(),
            preset: plan.rules.preset().name().into(),
            features: Feature::ALL
                .into_iter()
                .map(|feature| (feature.name().to_owned(), features.contains(feature)))
                .chain(placement::Feature::ALL.into_iter().map(|feature| {
                    let on = placement::Features::from_bits(scenario.rules.smp_features);
                    (feature.name().to_owned(), on.contains(feature))
                }))
                .collect(),
            clock: match scenario.clock {
                Clock::Virtual => "virtual",
                Clock::Real => "real",
            }
            .into(),
            burn: match scenario.burn {
                Burn::Halt => "halt",
                Burn::Spin => "spin",
            }
            .into(),
            accel: plan.accel.name().into(),
            duration_ns: scenario.duration_ns,
            seed: scenario.seed,
            qemu: qemu.version.to_string(),
            tick: match scenario.tick {
                TickMode::Oneshot => "oneshot",
                TickMode::Periodic => "periodic",
            }
            .into(),
            nohz: match scenario.nohz {
                NohzMode::Off => "off",
                NohzMode::Idle => "idle",
            }
            .into(),
            tick_error_ns: scenario.tick_error_ns,
            irq_cost_ns: scenario.irq_cost_ns,
            preempt: match scenario.preempt {
                Preempt::None => "none",
                Preempt::Voluntary => "voluntary",
                Preempt::Full => "full",
                Preempt::Lazy => "lazy",
            }
            .into(),
            dl_server: match scenario.dl_server {
                DlServer::Off => "off",
                DlServer::Eager => "eager",
                DlServer::Lazy => "lazy",
            }
            .into(),
            balance: scenario.balances,
            steal_period_ns: scenario.steal.map_or(0, |steal| steal.period_ns),
            steal_ns: scenario.steal.map_or(0, |steal| steal.time_ns),
            memory_mib: plan.memory_mib,
            topology: scenario.topology.into(),
            surroundings: match scenario.surroundings {
                Surroundings::Simple => "simple",
                Surroundings::Linux => "linux",
            }
            .into(),
            costs_ns: Cost::ALL
                .into_iter()
                .filter(|&cost| scenario.costs[cost] > 0)
                .map(|cost| (cost.name().into(), scenario.costs[cost]))
                .collect(),
        }
    }
}

impl CpuDocument {
    fn new(records: &CpuRecords, scenario: &Scenario, elapsed_ns: u64) -> Self {
        let counters = &records.counters;
        Self {
            cpu: counters.cpu,
            apic_id: counters.apic_id,
            ticks: counters.ticks,
            expected_ticks: decimals(expected_ticks(scenario.hz, elapsed_ns), 3),
            missed_ticks: counters.missed_ticks,
            busy_ns: counters.busy_ns,
            idle_ns: counters.idle_ns,
            irq_ns: counters.irq_ns,
            switches: counters.switches,
            ipis: counters.ipis,
            goes_idle: counters.goes_idle,
            yields: counters.yields,
            run_delay_ns: counters.run_delay_ns,
            balance: records.balance.into(),
            domains: domains(&records.domains),
            wasted_ns: records.balance.wasted_ns,
            wasted_longest_ns: records.balance.wasted_longest_ns,
            wakeup_counts: (scenario.cpus > 1).then(|| WakeupsDocument::of([records])),
            irqsoff_ns: scenario.kernel_cost.then_some(counters.irqsoff_ns),
            tick_cost_ns: scenario.kernel_cost.then(|| Dist::from(records.tick_cost.histogram())),
            timer_count: counters.timer_count,
            measured_hz: counters.measured_mhz as f64 / 1e3,
            tick_interval_ns: records.tick_interval.histogram().into(),
            tick_intervals: by_start(records.tick_interval.histogram()),
            timer_late_ns: (scenario.clock == Clock::Real)
                .then(|| records.timer_late.histogram().into()),
        }
    }
}

impl TaskDocument {
    fn new(spec: &TaskSpec, records: &TaskRecords, runtime_of_all_ns: u64) -> Self {
        let counters = &records.counters;
        let switches = SwitchesDocument {
            total: counters.slice
                + counters.preempt
                + counters.block
                + counters.yields
                + counters.migrate
                + counters.exit,
            slice: counters.slice,
            preempt: counters.preempt,
            block: counters.block,
            yields: counters.yields,
            migrate: counters.migrate,
            exit: counters.exit,
        };
        let share = match runtime_of_all_ns {
            0 => 0.0,
            all => counters.runtime_ns as f64 / all as f64,
        };
        Self {
            name: spec.name.clone(),
            pid: counters.task + 1,
            nice: spec.nice,
            policy: policy_word(spec.policy).into(),
            priority: match spec.policy {
                Policy::Fifo { priority } => Some(priority),
                Policy::Normal | Policy::Batch | Policy::Idle => None,
            },
            slice_ns: counters.slice_ns,
            runtime_ns: counters.runtime_ns,
            charged_ns: counters.charged_ns,
            share: decimals(share, 9),
            migrations: counters.migrations,
            wakeups: counters.wakeups,
            switches,
            extra_ticks: counters.extra_ticks,
            stint_ns: records.stint.histogram().into(),
            stint_ticks: by_start(records.stint_ticks.histogram()),
            wakeup_latency_ns: records.wakeup_latency.histogram().into(),
            lag_ns: LagDocument { min: counters.lag_min_ns, max: counters.lag_max_ns },
        }
    }
}

/// Counts by the start of their buckets.
fn by_start(histogram: &Histogram) -> BTreeMap<u64, u32> {
    histogram.ranges().map(|(range, count)| (range.start, count)).collect()
}
