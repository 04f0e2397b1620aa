//! What is printed about rules.

use eevdf::{Preset, RuleValue, Rules, TunableScaling};

#[test]
fn values_are_padded_like_text_and_numbers() {
    for (value, text) in [
        (RuleValue::Name("zero_vruntime"), "zero_vruntime   |"),
        (RuleValue::Ns(700_000), "          700000|"),
        (RuleValue::Switch(true), "on              |"),
        (RuleValue::Switch(false), "off             |"),
    ] {
        assert_eq!(format!("{value:16}|"), text);
    }
}

/// The factor grows up to eight CPUs, by the rule, and no CPU counts as one.
#[test]
fn scaling_ends_at_eight_cpus() {
    let factors = |scaling: TunableScaling| [0, 1, 2, 4, 7, 8, 9, 64].map(|n| scaling.factor(n));
    assert_eq!(factors(TunableScaling::None), [1; 8]);
    assert_eq!(factors(TunableScaling::Log), [1, 1, 2, 3, 3, 4, 4, 4]);
    assert_eq!(factors(TunableScaling::Linear), [1, 1, 2, 4, 7, 8, 8, 8]);
    assert_eq!(Rules::new(Preset::V7_0, 0, 1000), Rules::new(Preset::V7_0, 1, 1000));
}
