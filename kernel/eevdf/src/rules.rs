//! All that makes a queue decide like one kernel on one machine: rules, features and times.
//!
//! Source: `sysctl_sched_base_slice`, `get_update_sysctl_factor()`.

use core::fmt;

use crate::feature::{Feature, Features};
use crate::preset::Preset;
use crate::variant::Variant;

/// How the base slice grows with the number of CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TunableScaling {
    /// Not at all.
    None,
    /// With the logarithm, up to eight CPUs: factor 1, 2, 3 or 4.
    #[default]
    Log,
    /// Linearly, up to eight CPUs.
    Linear,
}

impl TunableScaling {
    /// Returns the factor between the normalized and the effective base slice.
    pub const fn factor(self, cpus: u32) -> u64 {
        let cpus = if cpus == 0 {
            1
        } else if cpus > 8 {
            8
        } else {
            cpus
        };
        match self {
            TunableScaling::None => 1,
            TunableScaling::Log => 1 + cpus.ilog2() as u64,
            TunableScaling::Linear => cpus as u64,
        }
    }
}

/// All that a queue needs to know to decide like one kernel on one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    preset: Preset,
    features: Features,
    base_slice_ns: u64,
    normalized_base_slice_ns: u64,
    tick_ns: u64,
    /// The rules proper. Public, so that an experiment can change one.
    pub variant: Variant,
}

impl Rules {
    /// Returns the rules of a version on a machine with that many CPUs and ticks per second, the
    /// base slice scaled by the logarithm of the CPUs.
    ///
    /// # Panics
    ///
    /// If `hz` is zero or above 10^9.
    pub const fn new(preset: Preset, cpus: u32, hz: u32) -> Rules {
        assert!(
            hz > 0 && hz <= 1_000_000_000,
            "a tick lasts a whole number of nanoseconds, at least one"
        );
        let normalized_base_slice_ns = preset.normalized_base_slice_ns();
        Rules {
            preset,
            features: preset.features(),
            base_slice_ns: normalized_base_slice_ns * TunableScaling::Log.factor(cpus),
            normalized_base_slice_ns,
            tick_ns: 1_000_000_000 / hz as u64,
            variant: preset.variant(),
        }
    }

    /// Returns the rules with the base slice scaled anew from the normalized one.
    #[must_use]
    pub const fn with_scaling(mut self, scaling: TunableScaling, cpus: u32) -> Rules {
        self.base_slice_ns = self.normalized_base_slice_ns * scaling.factor(cpus);
        self
    }

    /// Returns the rules with this base slice, as after a write to `base_slice_ns` in debugfs: the
    /// normalized one stays.
    #[must_use]
    pub const fn with_base_slice_ns(mut self, base_slice_ns: u64) -> Rules {
        assert!(base_slice_ns > 0, "a request must have a length");
        self.base_slice_ns = base_slice_ns;
        self
    }

    /// Returns the rules with these features.
    #[must_use]
    pub const fn with_features(mut self, features: Features) -> Rules {
        self.features = features;
        self
    }

    /// Returns the version the rules started from.
    pub const fn preset(&self) -> Preset {
        self.preset
    }

    /// Returns the features that are on.
    pub const fn features(&self) -> Features {
        self.features
    }

    /// Returns the effective base slice.
    pub const fn base_slice_ns(&self) -> u64 {
        self.base_slice_ns
    }

    /// Returns the base slice of one CPU, which is the shortest run under NO_RUN_TO_PARITY.
    pub const fn normalized_base_slice_ns(&self) -> u64 {
        self.normalized_base_slice_ns
    }

    /// Returns the length of a tick.
    pub const fn tick_ns(&self) -> u64 {
        self.tick_ns
    }

    pub(crate) const fn has(&self, feature: Feature) -> bool {
        self.features.contains(feature)
    }

    /// Returns every setting with its name: times, then rules, then features.
    pub fn describe(&self) -> impl Iterator<Item = (&'static str, RuleValue)> + use<> {
        let times = [
            ("base_slice_ns", RuleValue::Ns(self.base_slice_ns)),
            ("normalized_base_slice_ns", RuleValue::Ns(self.normalized_base_slice_ns)),
            ("tick_ns", RuleValue::Ns(self.tick_ns)),
        ];
        let rules = self.variant.rows().map(|(name, value)| (name, RuleValue::Name(value)));
        let features = self.features;
        let switches = Feature::ALL
            .map(|feature| (feature.name(), RuleValue::Switch(features.contains(feature))));
        times.into_iter().chain(rules).chain(switches)
    }

    /// Returns the settings in which two sets of rules differ: name, value here, value there.
    pub fn diff(
        &self,
        other: &Rules,
    ) -> impl Iterator<Item = (&'static str, RuleValue, RuleValue)> + use<> {
        self.describe()
            .zip(other.describe())
            .filter(|((_, here), (_, there))| here != there)
            .map(|((name, here), (_, there))| (name, here, there))
    }
}

/// The value of one setting, for a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleValue {
    /// The name of a rule's variant.
    Name(&'static str),
    /// Nanoseconds.
    Ns(u64),
    /// A feature, on or off.
    Switch(bool),
}

impl fmt::Display for RuleValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleValue::Name(name) => f.pad(name),
            RuleValue::Ns(ns) => fmt::Display::fmt(ns, f),
            RuleValue::Switch(true) => f.pad("on"),
            RuleValue::Switch(false) => f.pad("off"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variant::LagClamp;

    #[test]
    fn base_slice_scales_with_the_logarithm_of_the_cpus() {
        for (cpus, old, new) in [
            (1, 750, 700),
            (3, 1500, 1400),
            (4, 2250, 2100),
            (7, 2250, 2100),
            (8, 3000, 2800),
            (96, 3000, 2800),
        ] {
            assert_eq!(Rules::new(Preset::V6_8, cpus, 250).base_slice_ns(), old * 1000);
            assert_eq!(Rules::new(Preset::V6_15, cpus, 250).base_slice_ns(), new * 1000);
        }
        let rules = Rules::new(Preset::V7_0, 8, 1000);
        assert_eq!(rules.with_scaling(TunableScaling::None, 8).base_slice_ns(), 700_000);
        assert_eq!(rules.with_scaling(TunableScaling::Linear, 6).base_slice_ns(), 4_200_000);
    }

    #[test]
    fn a_diff_names_exactly_what_differs() {
        let rules = Rules::new(Preset::V7_0, 1, 1000);
        assert_eq!(rules.diff(&rules).count(), 0);
        let mut other = rules.with_features(rules.features().with(Feature::RunToParity, false));
        other.variant.lag_clamp = LagClamp::OwnSlice;
        let mut rows = rules.diff(&other);
        assert_eq!(
            rows.next(),
            Some(("lag_clamp", RuleValue::Name("max slice"), RuleValue::Name("own slice")))
        );
        assert_eq!(
            rows.next(),
            Some(("RUN_TO_PARITY", RuleValue::Switch(true), RuleValue::Switch(false)))
        );
        assert_eq!(rows.next(), None);
    }
}
