//! Random sequences of everything a kernel may do, by the rules of every version and by mixtures.
//!
//! `lane` drives and checks. `PROPTEST_CASES=100000 cargo test --release -p eevdf --test random_ops`
//! looks for longer.

mod common;
mod lane;

use common::{MS, nice};
use eevdf::{Attr, Dequeue, Features, Policy, Preset, Rules, Wake};
use lane::{Look, Op, go_through, mixed};
use proptest::prelude::*;
fn attrs() -> impl Strategy<Value = Attr> {
    let policy = prop_oneof![
        6 => Just(Policy::Normal),
        1 => Just(Policy::Batch),
        1 => Just(Policy::Idle),
    ];
    // Half of the levels are the extreme ones.
    let level = prop_oneof![Just(-20i8), Just(19i8), Just(0i8), -20i8..20];
    let slice_ns = prop_oneof![
        3 => Just(None),
        1 => Just(Some(100_000u64)),
        1 => Just(Some(100 * MS)),
        1 => (1u64..200 * MS).prop_map(Some),
    ];
    (policy, level, slice_ns).prop_map(|(policy, level, slice_ns)| Attr {
        policy,
        slice_ns,
        ..nice(level)
    })
}

fn ops(count: usize) -> impl Strategy<Value = Op> {
    let ns = prop_oneof![Just(0u64), 1u64..100_000, 1u64..12 * MS];
    let look = prop_oneof![Just(Look::Charge), Just(Look::Tick), Just(Look::SliceTimer)];
    let wake = (any::<bool>(), any::<bool>(), any::<bool>());
    let why = prop_oneof![
        3 => Just(Dequeue::Sleep),
        1 => Just(Dequeue::SleepSpecial),
        1 => Just(Dequeue::Migrate),
        1 => Just(Dequeue::Change),
        1 => Just(Dequeue::Exit),
    ];
    prop_oneof![
        6 => (ns, look).prop_map(|(ns, how)| Op::Run { ns, how }),
        8 => (0..count, wake).prop_map(|(id, (fork, sync, cpu_selected))| {
            Op::Wake { id, how: Wake { fork, sync, cpu_selected } }
        }),
        2 => (0..count, why).prop_map(|(id, why)| Op::Dequeue { id, why }),
        3 => Just(Op::Block),
        6 => Just(Op::Pick),
        1 => Just(Op::Yield),
        1 => (0..count).prop_map(|id| Op::YieldTo { id }),
        2 => (0..count, attrs()).prop_map(|(id, attr)| Op::SetAttr { id, attr }),
        1 => (0..count).prop_map(|id| Op::Migrate { id }),
        1 => (0..count, attrs()).prop_map(|(id, attr)| Op::Change { id, attr }),
    ]
}

/// The rules of a version; half of the time with features flipped, a third of it with rules of another
/// version mixed in.
fn rules() -> impl Strategy<Value = Rules> {
    let presets = || prop::sample::select(Preset::ALL.to_vec());
    let machine = (1u32..9, prop::sample::select(vec![100u32, 250, 1000]));
    let flipped = prop_oneof![Just(0u64), any::<u64>()];
    let foreign = prop_oneof![2 => Just(0u32), 1 => any::<u32>()];
    (presets(), presets(), machine, flipped, foreign).prop_map(
        |(preset, other, (cpus, hz), flipped, foreign)| {
            let rules = Rules::new(preset, cpus, hz);
            let features = Features::from_bits(rules.features().bits() ^ flipped);
            let mut rules = rules.with_features(features);
            rules.variant = mixed(preset.variant(), other.variant(), foreign);
            rules
        },
    )
}

fn worlds() -> impl Strategy<Value = (Rules, Vec<Attr>, Vec<Op>)> {
    let count = prop_oneof![3 => 2usize..8, 1 => 8usize..200];
    (rules(), count).prop_flat_map(|(rules, count)| {
        let steps = prop::collection::vec(ops(count), 40 + 2 * count);
        (Just(rules), prop::collection::vec(attrs(), count), steps)
    })
}

/// The number of cases; a number given in the source would hide the variable from proptest.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(600)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    /// B16, "sched/fair: Sanity check 'best' in pick_eevdf()", B40 and the wrap-around: something is always
    /// eligible, counts move by one, and it does not matter where time starts.
    #[test]
    fn b16_b40_any_sequence_keeps_the_invariants((rules, attrs, ops) in worlds()) {
        go_through(rules, &attrs, ops);
    }
}
