//! Every point where Linux versions decide differently, as a named rule.
//!
//! The rest of the crate asks a rule, never a version. A version is a row of rules (`preset`), and
//! an experiment is a row with one rule changed, which is how the effect of one commit is isolated.

use core::fmt;

use crate::feature::{Feature, Features};
use crate::preset::Preset;

/// Defines a rule: an enum whose variants have short names for reports.
macro_rules! rule {
    ($(#[$meta:meta])* $name:ident { $($(#[$note:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$note])* $variant,)+ }

        impl $name {
            /// Returns the name used in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

rule! {
    /// What vruntimes are kept relative to, and so where an empty queue places its first entity.
    BaseRule {
        /// The smallest vruntime, never going back.
        MinVruntime = "min_vruntime",
        /// V itself, moved whenever V is read ("sched/eevdf: Fix min_vruntime vs avg_vruntime").
        ZeroVruntime = "zero_vruntime",
    }
}

rule! {
    /// How real time becomes virtual time.
    VtMath {
        /// Multiplication by a 32-bit reciprocal: up to a few parts per million short.
        Reciprocal = "reciprocal",
        /// Exact division ("sched/fair: Use full weight to __calc_delta()").
        Exact = "exact",
    }
}

rule! {
    /// How much lag an entity may take along.
    LagClamp {
        /// Twice its own slice, at least a tick.
        OwnSlice = "own slice",
        /// The largest slice on the queue plus a tick ("sched/fair: Fix lag clamp").
        MaxSlice = "max slice",
    }
}

rule! {
    /// Whether an entity may ask for a slice of its own.
    SliceRule {
        /// All entities use the base slice.
        BaseOnly = "base only",
        /// `sched_setattr()` may set one ("sched/eevdf: Allow shorter slices to wakeup-preempt" series).
        Custom = "custom",
    }
}

rule! {
    /// What a child does with its parent's relative deadline.
    ForkRule {
        /// Keeps the mark, and so takes an absolute deadline for a distance.
        KeepsRelDeadline = "keeps rel_deadline",
        /// Drops it ("sched/fair: Clear rel_deadline when initializing forked entities").
        ClearsRelDeadline = "clears rel_deadline",
    }
}

rule! {
    /// How long the running entity is kept while it stays eligible.
    Protection {
        /// While its deadline is the one it was picked with ("sched/eevdf: Curb wakeup-preemption").
        Parity = "deadline unchanged",
        /// For the smallest slice on the queue ("sched/fair: Limit run to parity to the min slice of
        /// enqueued entities").
        Vprot = "min slice",
        /// As `Vprot`, but with a shorter slice waiting only until it is no longer eligible.
        VprotShort = "min slice, short-aware",
    }
}

rule! {
    /// What arms the protection of the running entity.
    ProtectOn {
        /// Each time it is set running, attribute changes included.
        EverySet = "every set",
        /// The first time only ("sched/fair: Only set slice protection at pick time").
        FirstPick = "first pick",
    }
}

rule! {
    /// Which wake-ups that do not preempt shorten the protection.
    ProtectShrink {
        /// None.
        Never = "never",
        /// Those of an entity with a shorter slice.
        ShortWakee = "short wakee",
        /// Those that lose the pick, under RUN_TO_PARITY.
        LosingWakee = "losing wakee",
        /// All, also those refused before any pick.
        EveryWakee = "every wakee",
    }
}

rule! {
    /// When charging the running entity asks for a reschedule.
    SliceEnd {
        /// When its slice is used up.
        Expired = "expired",
        /// Also when a short wakee cancelled its protection and it is no longer eligible.
        ExpiredOrShort = "expired or short wakee",
        /// Also when its protection is over ("sched/fair: Always trigger resched at the end of a
        /// protected period").
        ExpiredOrUnprotected = "expired or unprotected",
    }
}

rule! {
    /// How a queued entity changes its weight.
    ReweightRule {
        /// Only the deadline is scaled; lag changes with the weight.
        DeadlineOnly = "deadline only",
        /// Lag and deadline are scaled around V, unclamped and with V read at a bad moment
        /// ("sched/eevdf: Fix vruntime adjustment on reweight").
        DirectStale = "direct, stale V",
        /// Lag, clamped, and deadline are scaled around an up-to-date V ("sched/eevdf: Prevent vlag
        /// from going out of bounds in reweight_eevdf()").
        Direct = "direct",
        /// Leaves and is placed again, which inflates lag while V still counts it ("sched/fair:
        /// Fix EEVDF entity placement bug causing scheduling lag").
        Replace = "replace",
    }
}

rule! {
    /// What a reweight does to the end of the running entity's protection.
    ReweightProtect {
        /// Nothing: the old point stands.
        Stale = "stale",
        /// Its distance from the entity's own vruntime is scaled ("sched/fair: Update se->vprot in
        /// reweight_entity()").
        AroundOwn = "around own vruntime",
        /// Its distance from V is scaled.
        AroundMean = "around V",
    }
}

rule! {
    /// What `sched_yield()` does.
    YieldRule {
        /// Pushes the deadline one slice away.
        PushDeadline = "push deadline",
        /// If eligible, gives up the rest of the request ("sched/fair: Forfeit vruntime on yield").
        ForfeitVruntime = "forfeit vruntime",
    }
}

rule! {
    /// Which lag a delayed entity ends up with.
    DelayedLag {
        /// The one it has when it leaves or wakes.
        Fresh = "fresh",
        /// That one, but no worse than when it blocked ("sched/fair: Prevent negative lag increase
        /// during delayed dequeue").
        NoWorse = "no worse",
    }
}

rule! {
    /// Which picks honour the next buddy.
    BuddyPick {
        /// Real picks, if NEXT_BUDDY is on (deduced, not checked against that tree).
        NextBuddyOnly = "NEXT_BUDDY only",
        /// Real picks, not those of the wakeup test.
        RealPick = "real pick",
        /// All picks.
        EveryPick = "every pick",
        /// Picks that honour protection; a short wakee that preempts clears the buddy ("sched/eevdf:
        /// Clear buddies for preempt_short").
        ProtectedPick = "protected pick",
    }
}

rule! {
    /// Which wakee NEXT_BUDDY remembers.
    NextBuddyRule {
        /// The last one that is neither a fork nor delayed.
        AnyWakee = "any wakee",
        /// The one with the earliest deadline; a synchronous waker runs on for a while
        /// ("sched/fair: Reimplement NEXT_BUDDY to align with EEVDF goals").
        EarliestDeadline = "earliest deadline",
    }
}

rule! {
    /// What a wake-up does to a running `SCHED_IDLE` entity.
    IdleCurr {
        /// Preempts it, even with NO_WAKEUP_PREEMPTION.
        PreemptedAlways = "preempted always",
        /// Asks for its preemption, but the pick may still keep it while it is protected.
        Preempted = "preempted",
        /// Preempts it and ends its protection ("sched: Cancel the slice protection of the idle
        /// entity").
        PreemptedUnprotected = "preempted, unprotected",
    }
}

rule! {
    /// What PREEMPT_SHORT grants a wakee whose slice is shorter than that of the running entity.
    ShortWakee {
        /// Nothing.
        Ignored = "ignored",
        /// If it is eligible and would win, the running one loses its protection.
        CancelsProtection = "cancels protection",
        /// The wakeup test ignores protection ("sched/fair: Remove spurious shorter slice preemption").
        PicksUnprotected = "picks unprotected",
        /// In addition it preempts if it is merely eligible.
        PreemptsIfEligible = "preempts if eligible",
    }
}

rule! {
    /// What the wakeup test answers a wakee that arrives delayed, by load balancing.
    DelayedWakee {
        /// Treats it like any other.
        Tested = "tested",
        /// Refuses it unless its slice is shorter.
        RefusedUnlessShort = "refused unless short",
        /// Refuses it.
        Refused = "refused",
    }
}

rule! {
    /// What the wakeup test answers a forked entity.
    ForkWakee {
        /// Treats it like any other.
        Tested = "tested",
        /// Refuses it unless its slice is shorter.
        RefusedUnlessShort = "refused unless short",
    }
}

rule! {
    /// What the wakeup test does with a delayed entity that wins its pick.
    DelayedInTest {
        /// Counts it as somebody else: no preemption.
        Wins = "wins",
        /// Lets it leave for good and picks again ("sched/fair: Fix wakeup_preempt_fair() vs delayed
        /// dequeue").
        Leaves = "leaves",
    }
}

rule! {
    /// Whether a full reschedule that is already due ends the wakeup test early.
    PendingResched {
        /// Always.
        EndsTest = "ends test",
        /// Only under NO_PREEMPT_SHORT, so that protection is refreshed.
        EndsTestUnlessShort = "ends test unless PREEMPT_SHORT",
    }
}

rule! {
    /// Which kind of reschedule a decision asks for.
    ReschedRule {
        /// The kind that preempts at once.
        Full = "full",
        /// The kind that a LAZY kernel honours on return to user mode or at the next tick.
        Lazy = "lazy",
    }
}

rule! {
    /// What the slice timer measures.
    HrtickRule {
        /// The slice less what was run since the pick.
        RemainingSlice = "remaining slice",
        /// The virtual distance to the deadline.
        RemainingVirtual = "remaining virtual time",
    }
}

/// One rule of each kind: everything about a version that no feature switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each field is documented by its type")]
pub struct Variant {
    pub base: BaseRule,
    pub vt_math: VtMath,
    pub lag_clamp: LagClamp,
    pub slice: SliceRule,
    pub fork: ForkRule,
    pub protection: Protection,
    pub protect_on: ProtectOn,
    pub protect_shrink: ProtectShrink,
    pub slice_end: SliceEnd,
    pub reweight: ReweightRule,
    pub reweight_protect: ReweightProtect,
    pub yielding: YieldRule,
    pub delayed_lag: DelayedLag,
    pub buddy_pick: BuddyPick,
    pub next_buddy: NextBuddyRule,
    pub idle_curr: IdleCurr,
    pub short_wakee: ShortWakee,
    pub delayed_wakee: DelayedWakee,
    pub fork_wakee: ForkWakee,
    pub delayed_in_test: DelayedInTest,
    pub pending_resched: PendingResched,
    pub resched: ReschedRule,
    pub hrtick: HrtickRule,
    pub hrtick_resched: ReschedRule,
}

impl Variant {
    fn rows(&self) -> [(&'static str, &'static str); 24] {
        [
            ("base", self.base.name()),
            ("vt_math", self.vt_math.name()),
            ("lag_clamp", self.lag_clamp.name()),
            ("slice", self.slice.name()),
            ("fork", self.fork.name()),
            ("protection", self.protection.name()),
            ("protect_on", self.protect_on.name()),
            ("protect_shrink", self.protect_shrink.name()),
            ("slice_end", self.slice_end.name()),
            ("reweight", self.reweight.name()),
            ("reweight_protect", self.reweight_protect.name()),
            ("yield", self.yielding.name()),
            ("delayed_lag", self.delayed_lag.name()),
            ("buddy_pick", self.buddy_pick.name()),
            ("next_buddy", self.next_buddy.name()),
            ("idle_curr", self.idle_curr.name()),
            ("short_wakee", self.short_wakee.name()),
            ("delayed_wakee", self.delayed_wakee.name()),
            ("fork_wakee", self.fork_wakee.name()),
            ("delayed_in_test", self.delayed_in_test.name()),
            ("pending_resched", self.pending_resched.name()),
            ("resched", self.resched.name()),
            ("hrtick", self.hrtick.name()),
            ("hrtick_resched", self.hrtick_resched.name()),
        ]
    }
}

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
