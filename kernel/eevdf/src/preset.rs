//! Linux versions as rows of rules, each written as its difference from the one before.
//!
//! A row follows the release named, not the stable updates made after it. Rows of trees that could
//! be read are exact as far as the rules go; 6.6, 6.12 and 6.15 are deduced from the neighbouring
//! trees and from commit subjects, not checked against those trees.

use crate::feature::{Feature, Features};
use crate::rules::{RuleValue, Rules};
use crate::variant::{
    BaseRule, BuddyPick, DelayedInTest, DelayedLag, DelayedWakee, ForkRule, ForkWakee, HrtickRule,
    IdleCurr, LagClamp, NextBuddyRule, PendingResched, ProtectOn, ProtectShrink, Protection,
    ReschedRule, ReweightProtect, ReweightRule, ShortWakee, SliceEnd, SliceRule, Variant, VtMath,
    YieldRule,
};

/// A Linux release whose decisions can be reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Preset {
    /// The first with EEVDF (deduced, not checked against that tree).
    V6_6,
    /// Deadline-ordered tree; lag survives a change of weight.
    V6_8,
    /// Delayed dequeue and custom slices (deduced, not checked against that tree).
    V6_12,
    /// Lazy preemption.
    V6_14,
    /// Base slice of 0.70 ms (deduced, not checked against that tree).
    V6_15,
    /// Protection for the smallest slice instead of the whole request.
    V6_17,
    /// Lag limited by the largest slice; yield forfeits; the base follows V.
    V7_0,
    /// Exact virtual time; short wakees preempt when eligible.
    V7_3,
}

impl Preset {
    /// Every preset, oldest first.
    pub const ALL: [Preset; 8] = [
        Preset::V6_6,
        Preset::V6_8,
        Preset::V6_12,
        Preset::V6_14,
        Preset::V6_15,
        Preset::V6_17,
        Preset::V7_0,
        Preset::V7_3,
    ];

    /// Returns the version as Linux tags it.
    pub const fn name(self) -> &'static str {
        match self {
            Preset::V6_6 => "v6.6",
            Preset::V6_8 => "v6.8",
            Preset::V6_12 => "v6.12",
            Preset::V6_14 => "v6.14",
            Preset::V6_15 => "v6.15",
            Preset::V6_17 => "v6.17",
            Preset::V7_0 => "v7.0",
            Preset::V7_3 => "v7.3",
        }
    }

    /// Returns the preset of that name, with or without the `v`, or `None`.
    pub fn parse(name: &str) -> Option<Preset> {
        let number = name.strip_prefix('v').unwrap_or(name);
        Preset::ALL.into_iter().find(|preset| preset.name()[1..] == *number)
    }

    /// Returns one line that says what the version brought to the scheduler.
    pub const fn meaning(self) -> &'static str {
        match self {
            Preset::V6_6 => "EEVDF replaces CFS: lag, deadlines, slices of 0.75 ms",
            Preset::V6_8 => "tree ordered by deadline; lag survives a change of weight",
            Preset::V6_12 => "delayed dequeue; slices of one's own, short ones preempt",
            Preset::V6_14 => "lazy preemption; a change of weight leaves and joins again",
            Preset::V6_15 => "slices of 0.70 ms, so that four ticks are not needed for three",
            Preset::V6_17 => "protection for the smallest slice, not the whole request",
            Preset::V7_0 => "lag limited by the largest slice; yield forfeits; the base follows V",
            Preset::V7_3 => "a timer ends slices (HRTICK); exact virtual time; short wakees first",
        }
    }

    /// Tells whether all that the version decides on one queue is reproduced.
    pub const fn is_complete(self) -> bool {
        self.missing().is_empty()
    }

    /// Returns the newest version that is reproduced whole.
    pub const fn newest_complete() -> Preset {
        let mut at = Preset::ALL.len() - 1;
        while !Preset::ALL[at].is_complete() {
            at -= 1;
        }
        Preset::ALL[at]
    }

    /// Returns the rules of the version.
    pub const fn variant(self) -> Variant {
        match self {
            Preset::V6_6 => V6_6,
            Preset::V6_8 => V6_8,
            Preset::V6_12 => V6_12,
            Preset::V6_14 => V6_14,
            Preset::V6_15 => V6_15,
            Preset::V6_17 => V6_17,
            Preset::V7_0 => V7_0,
            Preset::V7_3 => V7_3,
        }
    }

    /// Returns the features that are on by default.
    pub const fn features(self) -> Features {
        let first = Features::NONE
            .with(Feature::PlaceLag, true)
            .with(Feature::PlaceDeadlineInitial, true)
            .with(Feature::RunToParity, true)
            .with(Feature::WakeupPreemption, true);
        let delayed = first
            .with(Feature::PlaceRelDeadline, true)
            .with(Feature::PreemptShort, true)
            .with(Feature::PickBuddy, true)
            .with(Feature::DelayDequeue, true)
            .with(Feature::DelayZero, true);
        match self {
            Preset::V6_6 | Preset::V6_8 => first,
            Preset::V7_3 => delayed.with(Feature::Hrtick, true),
            _ => delayed,
        }
    }

    /// Tells whether the version has that switch, so that a front end can refuse the others.
    pub const fn has_feature(self, feature: Feature) -> bool {
        match feature {
            Feature::PlaceRelDeadline
            | Feature::PreemptShort
            | Feature::PickBuddy
            | Feature::DelayDequeue
            | Feature::DelayZero => !matches!(self, Preset::V6_6 | Preset::V6_8),
            _ => true,
        }
    }

    /// Returns the base slice of one CPU: 0.75 ms, or 0.70 ms since "sched: Reduce the default slice
    /// to avoid tasks getting an extra tick".
    pub const fn normalized_base_slice_ns(self) -> u64 {
        match self {
            Preset::V6_6 | Preset::V6_8 | Preset::V6_12 | Preset::V6_14 => 750_000,
            _ => 700_000,
        }
    }

    /// Returns what differs between two versions on the same machine: name, value in `a`, value in `b`.
    pub fn diff(
        a: Preset,
        b: Preset,
    ) -> impl Iterator<Item = (&'static str, RuleValue, RuleValue)> + use<> {
        Rules::new(a, 1, 1000).diff(&Rules::new(b, 1, 1000))
    }

    /// Returns what the version does on one queue that the rules here do not reproduce. None
    /// reproduces the overflow of 64-bit sums and products: here they are 128 bits wide.
    pub const fn missing(self) -> &'static [&'static str] {
        match self {
            Preset::V6_6 => &[
                "order among equal deadlines (its tree is keyed by vruntime)",
                "placement of a forked task against its parent's queue, which its first enqueue replaces",
                "DOUBLE_TICK (off by default)",
            ],
            Preset::V6_8 => &[
                "placement of a forked task against its parent's queue, which its first enqueue replaces",
                "DOUBLE_TICK (off by default)",
            ],
            Preset::V6_12 => &["DOUBLE_TICK (off by default)"],
            Preset::V6_14 | Preset::V6_15 | Preset::V6_17 | Preset::V7_0 => &[],
            Preset::V7_3 => {
                &["PARANOID_AVG (off by default; guards 64-bit sums, and these have 128 bits)"]
            }
        }
    }
}

const V6_6: Variant = Variant {
    base: BaseRule::MinVruntime,
    vt_math: VtMath::Reciprocal,
    lag_clamp: LagClamp::OwnSlice,
    slice: SliceRule::BaseOnly,
    fork: ForkRule::KeepsRelDeadline,
    protection: Protection::Parity,
    protect_on: ProtectOn::EverySet,
    protect_shrink: ProtectShrink::Never,
    slice_end: SliceEnd::Expired,
    reweight: ReweightRule::DeadlineOnly,
    reweight_protect: ReweightProtect::Stale,
    yielding: YieldRule::PushDeadline,
    delayed_lag: DelayedLag::Fresh,
    buddy_pick: BuddyPick::NextBuddyOnly,
    next_buddy: NextBuddyRule::AnyWakee,
    idle_curr: IdleCurr::PreemptedAlways,
    short_wakee: ShortWakee::Ignored,
    delayed_wakee: DelayedWakee::Tested,
    fork_wakee: ForkWakee::Tested,
    delayed_in_test: DelayedInTest::Wins,
    pending_resched: PendingResched::EndsTest,
    resched: ReschedRule::Full,
    hrtick: HrtickRule::RemainingSlice,
    hrtick_resched: ReschedRule::Full,
};

const V6_8: Variant = Variant { reweight: ReweightRule::DirectStale, ..V6_6 };

const V6_12: Variant = Variant {
    slice: SliceRule::Custom,
    slice_end: SliceEnd::ExpiredOrShort,
    reweight: ReweightRule::Direct,
    buddy_pick: BuddyPick::RealPick,
    idle_curr: IdleCurr::Preempted,
    short_wakee: ShortWakee::CancelsProtection,
    ..V6_8
};

const V6_14: Variant = Variant {
    reweight: ReweightRule::Replace,
    resched: ReschedRule::Lazy,
    hrtick_resched: ReschedRule::Lazy,
    ..V6_12
};

const V6_15: Variant = Variant { idle_curr: IdleCurr::PreemptedUnprotected, ..V6_14 };

const V6_17: Variant = Variant {
    protection: Protection::Vprot,
    protect_shrink: ProtectShrink::ShortWakee,
    slice_end: SliceEnd::ExpiredOrUnprotected,
    short_wakee: ShortWakee::PicksUnprotected,
    ..V6_15
};

const V7_0: Variant = Variant {
    base: BaseRule::ZeroVruntime,
    lag_clamp: LagClamp::MaxSlice,
    protect_on: ProtectOn::FirstPick,
    protect_shrink: ProtectShrink::LosingWakee,
    reweight_protect: ReweightProtect::AroundOwn,
    yielding: YieldRule::ForfeitVruntime,
    buddy_pick: BuddyPick::EveryPick,
    next_buddy: NextBuddyRule::EarliestDeadline,
    delayed_wakee: DelayedWakee::RefusedUnlessShort,
    fork_wakee: ForkWakee::RefusedUnlessShort,
    delayed_in_test: DelayedInTest::Leaves,
    ..V6_17
};

const V7_3: Variant = Variant {
    vt_math: VtMath::Exact,
    fork: ForkRule::ClearsRelDeadline,
    protection: Protection::VprotShort,
    protect_shrink: ProtectShrink::EveryWakee,
    reweight: ReweightRule::Direct,
    reweight_protect: ReweightProtect::AroundMean,
    delayed_lag: DelayedLag::NoWorse,
    buddy_pick: BuddyPick::ProtectedPick,
    short_wakee: ShortWakee::PreemptsIfEligible,
    delayed_wakee: DelayedWakee::Refused,
    pending_resched: PendingResched::EndsTestUnlessShort,
    hrtick: HrtickRule::RemainingVirtual,
    hrtick_resched: ReschedRule::Full,
    ..V7_0
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for preset in Preset::ALL {
            assert_eq!(Preset::parse(preset.name()), Some(preset));
            assert_eq!(Preset::parse(&preset.name()[1..]), Some(preset));
        }
        assert_eq!(Preset::parse("v6.1"), None);
        assert_eq!(Preset::parse(""), None);
    }

    #[test]
    fn one_commit_separates_6_14_from_6_15_on_a_queue() {
        let mut rows = Preset::diff(Preset::V6_14, Preset::V6_15).map(|(name, ..)| name);
        assert_eq!(rows.next(), Some("base_slice_ns"));
        assert_eq!(rows.next(), Some("normalized_base_slice_ns"));
        assert_eq!(rows.next(), Some("idle_curr"));
        assert_eq!(rows.next(), None);
    }

    #[test]
    fn the_newest_complete_version_lacks_nothing() {
        assert_eq!(Preset::newest_complete(), Preset::V7_0);
        assert_eq!(Preset::newest_complete().missing(), [""; 0]);
    }

    #[test]
    fn only_7_3_ends_slices_by_a_timer_by_default() {
        let with =
            Preset::ALL.into_iter().filter(|preset| preset.features().contains(Feature::Hrtick));
        assert!(with.eq([Preset::V7_3]));
    }

    #[test]
    fn no_feature_is_on_that_the_version_lacks() {
        for preset in Preset::ALL {
            assert!(preset.features().iter().all(|feature| preset.has_feature(feature)));
        }
    }
}
