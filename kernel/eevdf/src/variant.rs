//! Every point where Linux versions decide differently, as a named rule.
//!
//! The rest of the crate asks a rule, never a version. A version is a row of rules (`preset`), and
//! an experiment is a row with one rule changed, which is how the effect of one commit is isolated.

/// Defines a rule: an enum whose variants have short names for reports, and whose documentation
/// says there what they mean.
macro_rules! rule {
    ($(#[doc = $about:literal])+ $name:ident { $($(#[doc = $note:literal])+ $variant:ident = $text:literal,)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[doc = $note])+ $variant,)+ }

        impl $name {
            /// What the rule decides.
            pub const ABOUT: &'static str = concat!($($about),+).trim_ascii();

            /// Returns the name used in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// Returns what it decides this way.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($note),+).trim_ascii(),)+ }
            }
        }
    };
}

/// One rule of a version, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleText {
    /// The name of the rule, as in `Rules::describe`.
    pub name: &'static str,
    /// What the rule decides.
    pub about: &'static str,
    /// The short name of how it is decided.
    pub value: &'static str,
    /// The same in a sentence.
    pub meaning: &'static str,
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
        /// The virtual distance to the deadline, in the time that interrupts leave of the CPU.
        RemainingVirtual = "remaining virtual time, stretched",
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

/// A rule and its value in words.
macro_rules! text {
    ($name:literal, $rule:ident, $value:expr) => {
        RuleText {
            name: $name,
            about: $rule::ABOUT,
            value: $value.name(),
            meaning: $value.meaning(),
        }
    };
}

impl Variant {
    /// Returns every rule in words, in the order of `Rules::describe`.
    pub const fn texts(&self) -> [RuleText; 24] {
        [
            text!("base", BaseRule, self.base),
            text!("vt_math", VtMath, self.vt_math),
            text!("lag_clamp", LagClamp, self.lag_clamp),
            text!("slice", SliceRule, self.slice),
            text!("fork", ForkRule, self.fork),
            text!("protection", Protection, self.protection),
            text!("protect_on", ProtectOn, self.protect_on),
            text!("protect_shrink", ProtectShrink, self.protect_shrink),
            text!("slice_end", SliceEnd, self.slice_end),
            text!("reweight", ReweightRule, self.reweight),
            text!("reweight_protect", ReweightProtect, self.reweight_protect),
            text!("yield", YieldRule, self.yielding),
            text!("delayed_lag", DelayedLag, self.delayed_lag),
            text!("buddy_pick", BuddyPick, self.buddy_pick),
            text!("next_buddy", NextBuddyRule, self.next_buddy),
            text!("idle_curr", IdleCurr, self.idle_curr),
            text!("short_wakee", ShortWakee, self.short_wakee),
            text!("delayed_wakee", DelayedWakee, self.delayed_wakee),
            text!("fork_wakee", ForkWakee, self.fork_wakee),
            text!("delayed_in_test", DelayedInTest, self.delayed_in_test),
            text!("pending_resched", PendingResched, self.pending_resched),
            text!("resched", ReschedRule, self.resched),
            text!("hrtick", HrtickRule, self.hrtick),
            text!("hrtick_resched", ReschedRule, self.hrtick_resched),
        ]
    }

    pub(crate) fn rows(&self) -> [(&'static str, &'static str); 24] {
        self.texts().map(|text| (text.name, text.value))
    }
}

#[cfg(test)]
mod tests {
    use crate::Preset;

    #[test]
    fn every_rule_is_put_into_words() {
        for text in Preset::ALL.iter().flat_map(|preset| preset.variant().texts()) {
            assert!(text.about.ends_with('.') && text.meaning.ends_with('.'), "{text:?}");
            assert!(!text.about.contains("  ") && !text.meaning.contains("  "), "{text:?}");
        }
    }
}
