//! What is in force: features, and what differs between versions without a switch.

use crate::{Feature, Features};
use eevdf::Preset;

/// The rules of placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The switches.
    pub features: Features,
    /// Whether a synchronous waker counts as alone on its CPU though others wait out their debt
    /// there (from v6.16 on): "sched/fair: Fix the sync wakeup test with delayed tasks".
    pub sync_ignores_delayed: bool,
    /// Whether the wakee's own cluster comes first, in the search and among the CPUs tried before
    /// it: "sched/fair: Scan cluster before scanning LLC in wake-up path". That it came with
    /// v6.7 is by the announcement of that version, not checked against its tree.
    pub cluster_first: bool,
    /// The base slice in force, ns: what `SIS_SHORT` takes for the minimum granularity.
    pub base_slice_ns: u64,
}

impl Rules {
    /// The rules of a version with its default features.
    pub fn new(preset: Preset, base_slice_ns: u64) -> Self {
        let is_before = |later: Preset| {
            let age = |preset| Preset::ALL.iter().position(|&known| known == preset);
            age(preset) < age(later)
        };
        Self {
            features: Features::of(preset),
            sync_ignores_delayed: !is_before(Preset::V6_17),
            cluster_first: !is_before(Preset::V6_8),
            base_slice_ns,
        }
    }

    /// The same with other features.
    #[must_use]
    pub fn with_features(self, features: Features) -> Self {
        Self { features, ..self }
    }

    /// Whether a feature is on.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(feature)
    }

    /// Whether anything asks how long tasks run between two sleeps.
    pub fn needs_durations(&self) -> bool {
        self.has(Feature::SisShort) || self.has(Feature::SisCurrent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_where_they_should() {
        let rules = |preset| Rules::new(preset, 700_000);
        assert!(!rules(Preset::V6_6).cluster_first && rules(Preset::V6_8).cluster_first);
        assert!(!rules(Preset::V6_15).sync_ignores_delayed);
        assert!(rules(Preset::V6_17).sync_ignores_delayed);
    }
}
