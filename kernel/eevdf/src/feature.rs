//! The scheduler features that change what one queue decides, under their Linux names.
//!
//! A feature is a switch that exists at run time in Linux (`/sys/kernel/debug/sched/features`); a
//! difference between versions that cannot be switched there is a rule instead, see `rules`.
//! Features of CPU selection and load balancing belong to whoever decides those.

/// A switch of `/sys/kernel/debug/sched/features` that a queue looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Feature {
    /// An entity that joins a queue keeps the lag it left the last one with.
    PlaceLag,
    /// A forked entity starts with half a slice, so that it blends in sooner.
    PlaceDeadlineInitial,
    /// Migration and attribute changes keep the distance to the deadline.
    PlaceRelDeadline,
    /// The running entity is not preempted before it has used its request.
    RunToParity,
    /// A wakee with a shorter slice may break into the protected run.
    PreemptShort,
    /// A wakee becomes the next buddy.
    NextBuddy,
    /// Picking honours the next buddy while it is eligible.
    PickBuddy,
    /// An entity that blocks in debt keeps competing until the debt is repaid.
    DelayDequeue,
    /// A delayed entity leaves, or is woken, with no positive lag.
    DelayZero,
    /// Wake-ups may preempt at all.
    WakeupPreemption,
    /// A precise timer ends slices between ticks.
    Hrtick,
}

impl Feature {
    /// Every feature, in the order of the kernel's own list.
    pub const ALL: [Feature; 11] = [
        Feature::PlaceLag,
        Feature::PlaceDeadlineInitial,
        Feature::PlaceRelDeadline,
        Feature::RunToParity,
        Feature::PreemptShort,
        Feature::NextBuddy,
        Feature::PickBuddy,
        Feature::DelayDequeue,
        Feature::DelayZero,
        Feature::WakeupPreemption,
        Feature::Hrtick,
    ];

    /// Returns the name Linux prints.
    pub const fn name(self) -> &'static str {
        match self {
            Feature::PlaceLag => "PLACE_LAG",
            Feature::PlaceDeadlineInitial => "PLACE_DEADLINE_INITIAL",
            Feature::PlaceRelDeadline => "PLACE_REL_DEADLINE",
            Feature::RunToParity => "RUN_TO_PARITY",
            Feature::PreemptShort => "PREEMPT_SHORT",
            Feature::NextBuddy => "NEXT_BUDDY",
            Feature::PickBuddy => "PICK_BUDDY",
            Feature::DelayDequeue => "DELAY_DEQUEUE",
            Feature::DelayZero => "DELAY_ZERO",
            Feature::WakeupPreemption => "WAKEUP_PREEMPTION",
            Feature::Hrtick => "HRTICK",
        }
    }

    /// Returns the feature of that name, or `None`. A `NO_` prefix is the caller's to strip: it
    /// says which way to switch, not which feature.
    pub fn parse(name: &str) -> Option<Feature> {
        Feature::ALL.into_iter().find(|feature| feature.name() == name)
    }

    /// Returns one line that says what the feature does when it is on.
    pub const fn meaning(self) -> &'static str {
        match self {
            Feature::PlaceLag => "a task that joins a queue keeps the lag it left with",
            Feature::PlaceDeadlineInitial => "a forked task starts with half a slice",
            Feature::PlaceRelDeadline => {
                "migration and attribute changes keep the distance to the deadline"
            }
            Feature::RunToParity => {
                "the running task is not preempted before it has used its request"
            }
            Feature::PreemptShort => "a woken task with a shorter slice may end the protected run",
            Feature::NextBuddy => "a woken task becomes the preferred next one",
            Feature::PickBuddy => "the preferred next task is picked while it is eligible",
            Feature::DelayDequeue => {
                "a task that blocks in debt competes on until the debt is repaid"
            }
            Feature::DelayZero => "a delayed task never keeps positive lag",
            Feature::WakeupPreemption => "wake-ups may preempt",
            Feature::Hrtick => "a precise timer ends slices between ticks",
        }
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
    pub const NONE: Features = Features(0);

    /// Tells whether `feature` is on.
    pub const fn contains(self, feature: Feature) -> bool {
        self.0 & feature.bit() != 0
    }

    /// Returns the set with `feature` switched on or off.
    #[must_use]
    pub const fn with(self, feature: Feature, on: bool) -> Features {
        if on { Features(self.0 | feature.bit()) } else { Features(self.0 & !feature.bit()) }
    }

    /// Returns the set as bits; bit n stands for `Feature::ALL[n]`.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns the set with these bits; bits that name no feature are dropped.
    pub const fn from_bits(bits: u64) -> Features {
        Features(bits & ((1 << Feature::ALL.len()) - 1))
    }

    /// Returns the features that are on, in the order of `Feature::ALL`.
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.into_iter().filter(move |&feature| self.contains(feature))
    }
}

impl FromIterator<Feature> for Features {
    fn from_iter<I: IntoIterator<Item = Feature>>(features: I) -> Features {
        features.into_iter().fold(Features::NONE, |set, feature| set.with(feature, true))
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
        }
        assert_eq!(Feature::parse("NO_RUN_TO_PARITY"), None);
        assert_eq!(Features::from_bits(u64::MAX).iter().count(), Feature::ALL.len());
    }
}
