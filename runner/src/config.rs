//! What is simulated: the machine, its clock and the scheduler's rules, checked and resolved.

use crate::{
    error::Refusal,
    topology, units,
    workload::{Specs, Workload, time_range},
};
use abi::{
    Burn, Clock, Costs, Explain, MAX_CPUS, NohzMode, Preempt, Scenario, Steal, Surroundings,
    TickMode, TopologySpec,
    scenario::{DlServer, RulesSpec},
};
use eevdf::{Feature, Preset, Rules, SliceRule, TunableScaling};
use std::ops::RangeInclusive;

/// CPUs a guest can have.
pub const CPUS: RangeInclusive<u32> = 1..=MAX_CPUS as u32;
/// Tick rates a guest can have.
pub const HZ: RangeInclusive<u32> = 10..=10_000;
/// Guest memory, MiB: what lies below the 4 GiB that the guest maps, and below its devices.
pub const MEMORY_MIB: RangeInclusive<u32> = 1..=3072;
/// Base slices, ns.
pub const BASE_SLICE_NS: RangeInclusive<u64> = 100_000..=1_000_000_000;
/// The longest run: values up to this have histogram buckets of their own.
const MAX_DURATION_NS: u64 = 4 * 3600 * 1_000_000_000;
/// Decisions explained on each CPU; more would drown the reader before the guest.
const EXPLAINED_PER_CPU: u32 = 2000;
/// Rate of the TSC under the virtual clock: QEMU counts guest nanoseconds.
const VIRTUAL_TSC_HZ: u64 = 1_000_000_000;

/// The scenario without its tasks. [`Config::default`] is the command's default.
#[derive(Clone, Debug)]
pub struct Config {
    /// CPUs.
    pub cpus: u32,
    /// How they are put together; one socket with one cache without it.
    pub topology: Option<topology::Description>,
    /// What the machine's own doings take, and what it is called.
    pub costs: Costs,
    /// What decides where tasks go.
    pub surroundings: Surroundings,
    /// Ticks per second.
    pub hz: u32,
    /// The Linux version whose rules are in force.
    pub preset: Preset,
    /// Features switched on or off against the preset, in order.
    pub features: Vec<(Feature, bool)>,
    /// The same of those that decide on CPUs.
    pub smp_features: Vec<(placement::Feature, bool)>,
    /// The base slice in force; by preset and scaling without it.
    pub base_slice_ns: Option<u64>,
    /// How the preset's base slice grows with the CPUs.
    pub scaling: TunableScaling,
    /// Length of the run in guest time.
    pub duration_ns: u64,
    /// Virtual or real.
    pub clock: Clock,
    /// How tasks pass their time.
    pub burn: Burn,
    /// Where random streams start.
    pub seed: u64,
    /// Added to what each tick charges.
    pub tick_error_ns: i64,
    /// Taken by each tick, and by each slice timer, and charged to nobody.
    pub irq_cost_ns: u64,
    /// How the tick is made.
    pub tick: TickMode,
    /// What idle CPUs do with it.
    pub nohz: NohzMode,
    /// When requests to reschedule are granted; by preset without it.
    pub preempt: Option<Preempt>,
    /// What keeps real-time tasks from starving fair ones; by preset without it.
    pub dl_server: Option<DlServer>,
    /// What a hypervisor takes from every CPU.
    pub steal: Option<Steal>,
    /// The time, from and to, in which decisions are explained.
    pub explain: Option<(u64, u64)>,
    /// Whether the policy's invariants are checked after every operation.
    pub check_invariants: bool,
    /// Whether the kernel measures itself.
    pub kernel_cost: bool,
    /// Whether tasks are moved to even out load.
    pub balances: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            cpus: 1,
            topology: None,
            costs: Costs::default(),
            surroundings: Surroundings::Linux,
            hz: 1000,
            preset: newest_preset(),
            features: Vec::new(),
            smp_features: Vec::new(),
            base_slice_ns: None,
            scaling: TunableScaling::Log,
            duration_ns: 10_000_000_000,
            clock: Clock::Virtual,
            burn: Burn::Halt,
            seed: 1,
            tick_error_ns: 0,
            irq_cost_ns: 0,
            tick: TickMode::Oneshot,
            nohz: NohzMode::Off,
            preempt: None,
            dl_server: None,
            steal: None,
            explain: None,
            check_invariants: false,
            kernel_cost: false,
            balances: true,
        }
    }
}

/// The preset that is used when none is named: the newest that is reproduced whole.
pub const fn newest_preset() -> Preset {
    Preset::newest_complete()
}

impl Config {
    /// Length of a tick in ns.
    pub fn tick_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.hz)
    }

    /// The scheduler's rules for this machine.
    ///
    /// # Errors
    /// A value out of range, or a feature that the preset does not have.
    pub fn rules(&self) -> Result<Rules, Refusal> {
        check_range("--smp", self.cpus, &CPUS)?;
        check_range("--hz", self.hz, &HZ)?;
        let mut rules =
            Rules::new(self.preset, self.cpus, self.hz).with_scaling(self.scaling, self.cpus);
        if let Some(base_slice_ns) = self.base_slice_ns {
            if !BASE_SLICE_NS.contains(&base_slice_ns) {
                return Err(Refusal::new(
                    "--base-slice",
                    units::exact_unsigned(base_slice_ns),
                    format!("must be {}", time_range(&BASE_SLICE_NS)),
                ));
            }
            rules = rules.with_base_slice_ns(base_slice_ns);
        }
        let mut features = rules.features();
        for &(feature, on) in &self.features {
            if !self.preset.has_feature(feature) {
                return Err(Refusal::new(
                    "--feature",
                    feature.name(),
                    format!(
                        "{} does not have it; `slicelab features` shows which do",
                        self.preset.name()
                    ),
                ));
            }
            features = features.with(feature, on);
        }
        Ok(rules.with_features(features))
    }

    /// The rules of placement that are in force under Linux's surroundings.
    ///
    /// # Errors
    /// As [`Self::rules`].
    pub fn placement(&self) -> Result<placement::Rules, Refusal> {
        let rules = placement::Rules::new(self.preset, self.rules()?.base_slice_ns());
        let features = &self.smp_features;
        let features = features.iter().fold(rules.features, |set, &(name, on)| set.with(name, on));
        Ok(rules.with_features(features))
    }

    /// How the CPUs are put together.
    ///
    /// # Errors
    /// A number of CPUs out of range, or one that the description does not fit.
    pub fn topology(&self) -> Result<TopologySpec, Refusal> {
        check_range("--smp", self.cpus, &CPUS)?;
        match &self.topology {
            Some(description) => description.resolve(self.cpus),
            None => Ok(TopologySpec::flat(self.cpus)),
        }
    }

    /// The preemption model in force: the lazy one is the default from v7.0 on.
    pub fn preempt(&self) -> Preempt {
        self.preempt.unwrap_or(match self.preset {
            Preset::V7_0 | Preset::V7_3 => Preempt::Lazy,
            _ => Preempt::Full,
        })
    }

    /// The deadline server in force: none before 6.12, and since 6.17 the one that is left armed.
    pub fn dl_server(&self) -> DlServer {
        self.dl_server.unwrap_or(match self.preset {
            Preset::V6_6 | Preset::V6_8 => DlServer::Off,
            Preset::V6_12 | Preset::V6_14 | Preset::V6_15 => DlServer::Eager,
            _ => DlServer::Lazy,
        })
    }

    /// The whole scenario.
    ///
    /// # Errors
    /// The first value that is out of range.
    pub fn scenario(&self, workload: &Workload) -> Result<Scenario, Refusal> {
        let rules = self.rules()?;
        self.check_times()?;
        let Specs { programs, tasks } = workload.specs(self.cpus)?;
        let own_slice = tasks.iter().find_map(|task| task.slice_ns);
        if let Some(slice_ns) = own_slice.filter(|_| rules.variant.slice == SliceRule::BaseOnly) {
            return Err(Refusal::new(
                "--slice",
                units::exact_unsigned(slice_ns),
                format!(
                    "{} has no slices of a task's own; choose a newer --preset",
                    self.preset.name()
                ),
            ));
        }
        Ok(Scenario {
            seed: self.seed,
            clock: self.clock,
            tsc_hz: (self.clock == Clock::Virtual).then_some(VIRTUAL_TSC_HZ),
            cpus: self.cpus,
            topology: self.topology()?,
            costs: self.costs,
            surroundings: self.surroundings,
            hz: self.hz,
            tick: self.tick,
            nohz: self.nohz,
            duration_ns: self.duration_ns,
            burn: self.burn,
            tick_error_ns: self.tick_error_ns,
            irq_cost_ns: self.irq_cost_ns,
            preempt: self.preempt(),
            dl_server: self.dl_server(),
            steal: self.steal,
            explain: self.explain.map(|(from_ns, to_ns)| Explain {
                from_ns,
                to_ns,
                limit: EXPLAINED_PER_CPU,
            }),
            check_invariants: self.check_invariants,
            kernel_cost: self.kernel_cost,
            balances: self.balances,
            trace_slots: None,
            rules: RulesSpec {
                preset: self.preset.name().into(),
                features: rules.features().bits(),
                smp_features: self.placement()?.features.bits(),
                base_slice_ns: rules.base_slice_ns(),
            },
            resources: workload.shared.resources().clone(),
            programs,
            tasks,
        })
    }

    fn check_times(&self) -> Result<(), Refusal> {
        let tick_ns = self.tick_ns();
        let allowed = tick_ns..=MAX_DURATION_NS;
        if !allowed.contains(&self.duration_ns) {
            return Err(Refusal::new(
                "--duration",
                units::exact_unsigned(self.duration_ns),
                format!("must be {}: a tick at least", time_range(&allowed)),
            ));
        }
        // A tick that charges nothing, or more than twice its length, is no tick.
        if self.tick_error_ns.unsigned_abs() >= tick_ns {
            return Err(Refusal::new(
                "--tick-error",
                units::exact(self.tick_error_ns),
                format!("must be shorter than a tick, {}", units::exact_unsigned(tick_ns)),
            ));
        }
        if let Some((from_ns, _)) = self.explain.filter(|&(from_ns, _)| from_ns >= self.duration_ns)
        {
            return Err(Refusal::new(
                "--explain",
                format!("{}..", units::exact_unsigned(from_ns)),
                format!(
                    "must begin before the run ends, at {}",
                    units::exact_unsigned(self.duration_ns)
                ),
            ));
        }
        if let Some(Steal { period_ns, time_ns }) = self.steal
            && !(time_ns > 0 && time_ns <= period_ns / 2)
        {
            return Err(Refusal::new(
                "--steal",
                format!("{}:{}", units::exact_unsigned(period_ns), units::exact_unsigned(time_ns)),
                "TIME must be more than nothing and at most half of PERIOD",
            ));
        }
        if self.irq_cost_ns > tick_ns / 2 {
            return Err(Refusal::new(
                "--irq-cost",
                units::exact_unsigned(self.irq_cost_ns),
                format!("must be 0 to {}: half a tick", units::exact_unsigned(tick_ns / 2)),
            ));
        }
        Ok(())
    }
}

fn check_range(
    flag: &'static str,
    value: u32,
    allowed: &RangeInclusive<u32>,
) -> Result<(), Refusal> {
    if allowed.contains(&value) {
        return Ok(());
    }
    let reason = format!("must be {} to {}", allowed.start(), allowed.end());
    Err(Refusal::new(flag, value, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hog() -> Workload {
        let mut load = Workload::default();
        load.hogs(1);
        load
    }

    fn refused(change: impl FnOnce(&mut Config)) -> String {
        let mut config = Config::default();
        change(&mut config);
        config.scenario(&hog()).expect_err("must be refused").to_string()
    }

    #[test]
    fn the_default_is_a_scenario() {
        let scenario = Config::default().scenario(&hog()).expect("fine");
        assert_eq!(scenario.tsc_hz, Some(1_000_000_000));
        assert_eq!(Scenario::from_image(&scenario.to_image()), Ok(scenario));
    }

    #[test]
    fn the_base_slice_follows_preset_and_scaling() {
        let base = |cpus, scaling, preset| {
            let config = Config { cpus, scaling, preset, ..Config::default() };
            config.rules().expect("fine").base_slice_ns()
        };
        assert_eq!(base(1, TunableScaling::Log, Preset::V6_8), 750_000);
        assert_eq!(base(8, TunableScaling::Log, Preset::V6_15), 2_800_000);
        assert_eq!(base(8, TunableScaling::None, Preset::V6_15), 700_000);
    }

    #[test]
    fn bad_values_are_refused_with_their_range() {
        assert_eq!(refused(|config| config.hz = 0), "--hz 0: must be 10 to 10000");
        assert_eq!(refused(|config| config.cpus = 300), "--smp 300: must be 1 to 255");
        let text = refused(|config| config.base_slice_ns = Some(5));
        assert_eq!(text, "--base-slice 5ns: must be 100us to 1s");
        assert!(refused(|config| config.duration_ns = 0).contains("must be 1ms to 14400s"));
        assert!(
            refused(|config| config.tick_error_ns = -1_000_000).contains("shorter than a tick")
        );
        assert!(refused(|config| config.irq_cost_ns = 600_000).contains("0 to 500us"));
    }

    #[test]
    fn an_old_preset_has_neither_new_features_nor_own_slices() {
        let text = refused(|config| {
            config.preset = Preset::V6_8;
            config.features = vec![(Feature::PreemptShort, true)];
        });
        assert!(text.contains("v6.8 does not have it"), "{text}");
        let mut load = hog();
        load.slices(&[Some(3_000_000)]);
        let old = Config { preset: Preset::V6_8, ..Config::default() };
        assert!(old.scenario(&load).unwrap_err().to_string().contains("choose a newer"));
    }
}
