//! The scheduler features that change which CPU a task gets, under their Linux names.
//!
//! The switches of `/sys/kernel/debug/sched/features` that a single queue looks at are
//! `eevdf`'s. Proposals that were never merged are here too, off unless switched on.

use eevdf::Preset;

/// A switch that CPU selection, remote wake-ups or load balancing look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Feature {
    /// Wake-ups go through the other CPU's wake list where taking its lock would cost more.
    TtwuQueue,
    /// The search for an idle CPU is cut short the busier the last-level cache's CPUs are.
    SisUtil,
    /// `wake_affine` looks at who idles.
    WaIdle,
    /// `wake_affine` compares loads.
    WaWeight,
    /// It favours the waker's CPU in that.
    WaBias,
    /// A CPU that runs dry looks for work in a domain as often as that finds some.
    NiRandom,
    /// A short wakee of a short waker that is alone stays where it would go without a search.
    SisShort,
    /// Two short tasks that wake only each other share the waker's CPU.
    SisCurrent,
    /// A task that its CPU has not left yet is put on that CPU's wake list, not waited for.
    TtwuQueueOnCpu,
    /// Wake-ups go through the wake list where nothing else decides.
    TtwuQueueDefault,
    /// So do wake-ups of tasks whose dequeue is delayed.
    TtwuQueueDelayed,
}

impl Feature {
    /// Every feature, Linux's own before the proposals.
    pub const ALL: [Self; 11] = [
        Self::TtwuQueue,
        Self::SisUtil,
        Self::WaIdle,
        Self::WaWeight,
        Self::WaBias,
        Self::NiRandom,
        Self::SisShort,
        Self::SisCurrent,
        Self::TtwuQueueOnCpu,
        Self::TtwuQueueDefault,
        Self::TtwuQueueDelayed,
    ];

    /// The name that Linux, or the proposal, prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TtwuQueue => "TTWU_QUEUE",
            Self::SisUtil => "SIS_UTIL",
            Self::WaIdle => "WA_IDLE",
            Self::WaWeight => "WA_WEIGHT",
            Self::WaBias => "WA_BIAS",
            Self::NiRandom => "NI_RANDOM",
            Self::SisShort => "SIS_SHORT",
            Self::SisCurrent => "SIS_CURRENT",
            Self::TtwuQueueOnCpu => "TTWU_QUEUE_ON_CPU",
            Self::TtwuQueueDefault => "TTWU_QUEUE_DEFAULT",
            Self::TtwuQueueDelayed => "TTWU_QUEUE_DELAYED",
        }
    }

    /// The feature of that name. A `NO_` prefix is the caller's to strip.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feature| feature.name() == name)
    }

    /// One line that says what it does when it is on.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::TtwuQueue => {
                "a wake-up on a CPU that idles or shares no cache goes through its wake list"
            }
            Self::SisUtil => {
                "the search for an idle CPU is shorter the busier the cache's CPUs are"
            }
            Self::WaIdle => "an idle CPU decides between the waker's and the wakee's CPU",
            Self::WaWeight => "else the loads of the two decide",
            Self::WaBias => "the waker's CPU may be a little busier in that",
            Self::NiRandom => "a CPU that runs dry looks for work as often as looking finds some",
            Self::SisShort => {
                "a short wakee of a short waker that is alone is not spread to an idle CPU"
            }
            Self::SisCurrent => "short tasks that wake only each other share the waker's CPU",
            Self::TtwuQueueOnCpu => {
                "a wakee whose CPU has not left it yet goes on that CPU's wake list"
            }
            Self::TtwuQueueDefault => "wake-ups on busy CPUs of the same cache use wake lists too",
            Self::TtwuQueueDelayed => {
                "wake-ups of delayed tasks use the wake list instead of the queue's lock"
            }
        }
    }

    /// Whether a released Linux has it. What has not been released is off in every preset.
    pub const fn is_merged(self) -> bool {
        matches!(
            self,
            Self::TtwuQueue
                | Self::SisUtil
                | Self::WaIdle
                | Self::WaWeight
                | Self::WaBias
                | Self::NiRandom
        )
    }

    const fn bit(self) -> u64 {
        1 << self as u8
    }
}

/// A set of features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features(u64);

impl Features {
    /// No feature at all.
    pub const NONE: Self = Self(0);

    /// What a version has on: all that were merged by then.
    ///
    /// `TTWU_QUEUE_ON_CPU` is a switch of a proposal for something that every version does, so
    /// it is on everywhere.
    pub fn of(preset: Preset) -> Self {
        let is_on = |feature| match feature {
            Feature::NiRandom => matches!(preset, Preset::V7_0 | Preset::V7_3),
            Feature::TtwuQueueOnCpu => true,
            feature => feature.is_merged(),
        };
        Feature::ALL
            .into_iter()
            .filter(|&feature| is_on(feature))
            .fold(Self::NONE, |set, feature| set.with(feature, true))
    }

    /// Whether `feature` is on.
    pub const fn contains(self, feature: Feature) -> bool {
        self.0 & feature.bit() != 0
    }

    /// The set with `feature` switched on or off.
    #[must_use]
    pub const fn with(self, feature: Feature, on: bool) -> Self {
        if on { Self(self.0 | feature.bit()) } else { Self(self.0 & !feature.bit()) }
    }

    /// The set as bits; bit n stands for `Feature::ALL[n]`.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The set with these bits; bits that name no feature are dropped.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits & ((1 << Feature::ALL.len()) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_bits_round_trip() {
        for (index, feature) in Feature::ALL.into_iter().enumerate() {
            assert_eq!(Feature::parse(feature.name()), Some(feature));
            assert_eq!(Features::NONE.with(feature, true).bits(), 1 << index);
            assert_eq!(eevdf::Feature::parse(feature.name()), None, "a name of its own");
        }
        assert_eq!(Features::from_bits(u64::MAX).bits().count_ones(), 11);
    }

    #[test]
    fn proposals_are_off_but_for_the_one_that_names_what_is_there() {
        for preset in Preset::ALL {
            let on = Features::of(preset);
            assert!(!on.contains(Feature::SisCurrent) && !on.contains(Feature::TtwuQueueDelayed));
            let is_new = matches!(preset, Preset::V7_0 | Preset::V7_3);
            assert_eq!(on.contains(Feature::NiRandom), is_new);
            assert!(on.contains(Feature::TtwuQueue) && on.contains(Feature::TtwuQueueOnCpu));
        }
    }
}
