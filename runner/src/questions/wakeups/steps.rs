//! The steps from 6.9 to the last patch of the proposal: which rules each has.
//!
//! Source of the proposal: "sched: Try and address some recent-ish regressions" (Peter Zijlstra,
//! 20 May 2025), with the kernels' names as its tables have them.

use crate::config::Config;
use abi::{Cost, Costs, scenario::DlServer};
use eevdf::Preset;
use placement::Feature;

/// A kernel that was measured, or one that comes between.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// What tables call it.
    pub(super) name: &'static str,
    /// Its name among the published numbers.
    pub(super) kernel: &'static str,
    preset: Preset,
    dl_server: DlServer,
    /// Whether a search for an idle CPU reads one cache line of each instead of two.
    ///
    /// The proposal drops the look at `rq->curr` from `idle_cpu()`, which `perf c2c` had found to
    /// miss the cache most. What it does beside, searching before the wakee's CPU has left it and
    /// not after, saves time only where that CPU is slow to leave; here that takes none.
    has_light_probes: bool,
    /// Proposals that are on.
    on: &'static [Feature],
}

/// In the order in which each adds to the one before.
pub(super) const STEPS: [Step; 6] = [
    Step {
        name: "6.9",
        kernel: "6.9.0",
        preset: Preset::V6_8,
        dl_server: DlServer::Off,
        has_light_probes: false,
        on: &[],
    },
    Step {
        name: "6.15",
        kernel: "6.15.0-rc6+",
        preset: Preset::V6_15,
        dl_server: DlServer::Eager,
        has_light_probes: false,
        on: &[],
    },
    Step {
        name: "+ lazy server",
        kernel: "6.15.0-rc6+-dl_server",
        preset: Preset::V6_15,
        dl_server: DlServer::Lazy,
        has_light_probes: false,
        on: &[],
    },
    Step {
        name: "+ ttwu",
        kernel: "6.15.0-rc6+-dirty",
        preset: Preset::V6_15,
        dl_server: DlServer::Lazy,
        has_light_probes: true,
        on: &[Feature::TtwuQueueOnCpu],
    },
    Step {
        name: "+ DELAYED",
        kernel: "6.15.0-rc6+-dirty-delayed",
        preset: Preset::V6_15,
        dl_server: DlServer::Lazy,
        has_light_probes: true,
        on: &[Feature::TtwuQueueOnCpu, Feature::TtwuQueueDelayed],
    },
    Step {
        name: "+ DEFAULT",
        kernel: "6.15.0-rc6+-dirty-delayed-default",
        preset: Preset::V6_15,
        dl_server: DlServer::Lazy,
        has_light_probes: true,
        on: &[Feature::TtwuQueueOnCpu, Feature::TtwuQueueDelayed, Feature::TtwuQueueDefault],
    },
];

impl Step {
    /// The machine with these rules.
    pub(super) fn config(&self, cpus: u32, costs: Costs) -> Config {
        let probe_ns = costs[Cost::IdleProbe] / if self.has_light_probes { 2 } else { 1 };
        Config {
            cpus,
            preset: self.preset,
            dl_server: Some(self.dl_server),
            smp_features: self.on.iter().map(|&feature| (feature, true)).collect(),
            costs: costs.with(Cost::IdleProbe, probe_ns),
            ..Config::default()
        }
    }
}
