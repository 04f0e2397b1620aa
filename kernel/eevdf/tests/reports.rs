//! What is printed and written about rules, and names that go back and forth.

use eevdf::{Feature, Features, Nice, Node, Preset, RuleValue, Rules, RunQueue, TunableScaling};
use std::collections::HashSet;

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

/// The table of versions in the documentation is what the code does: every rule, every version.
#[test]
fn the_documented_table_is_the_one_in_force() {
    let text = include_str!("../../../docs/eevdf.md");
    let (_, section) = text.split_once("## Rules by version").expect("the section");
    let rows = section.lines().skip_while(|line| !line.starts_with("| rule")).skip(2);
    let mut rows = rows.take_while(|line| line.starts_with('|'));
    let presets = Preset::ALL.map(|preset| Rules::new(preset, 1, 1000));
    for (index, (name, _)) in presets[0].describe().enumerate() {
        if name == "tick_ns" {
            continue; // a matter of the machine
        }
        let row = rows.next().unwrap_or_else(|| panic!("no row for {name}"));
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        assert_eq!(cells.next().map(|cell| cell.trim_matches('`')), Some(name));
        let mut value = "";
        for rules in &presets {
            let cell = cells.next().expect("a cell for each version");
            value = if cell == "=" { value } else { cell };
            let (_, found) = rules.describe().nth(index).expect("the same rules in each version");
            assert_eq!(found.to_string(), value, "{name} of {}", rules.preset().name());
        }
        assert_eq!(cells.next(), None, "{name}");
    }
    assert_eq!(rows.next(), None);
}

/// One line each, and no two alike.
#[test]
fn features_and_versions_have_a_meaning_of_their_own() {
    let features = Feature::ALL.iter().map(|feature| feature.meaning());
    let meanings: Vec<&str> = features.chain(Preset::ALL.map(|preset| preset.meaning())).collect();
    assert!(meanings.iter().all(|text| (10..80).contains(&text.len())), "{meanings:?}");
    assert_eq!(meanings.iter().collect::<HashSet<_>>().len(), meanings.len());
}

#[test]
fn a_set_of_features_is_what_was_put_in() {
    for feature in Feature::ALL {
        let set: Features = Feature::ALL.into_iter().filter(|&other| other != feature).collect();
        assert_eq!(set.iter().count(), Feature::ALL.len() - 1);
        assert!(!set.contains(feature));
        assert_eq!(Features::from_bits(set.bits()), set);
    }
    assert_eq!(Features::from_bits(0), Features::NONE);
    assert_eq!(Features::from_bits(u64::MAX), Feature::ALL.into_iter().collect());
}

/// The switches that came with delayed dequeue are refused before it.
#[test]
fn a_version_has_the_switches_it_came_with() {
    let new = [
        Feature::PlaceRelDeadline,
        Feature::PreemptShort,
        Feature::PickBuddy,
        Feature::DelayDequeue,
        Feature::DelayZero,
    ];
    for feature in Feature::ALL {
        let is_old = !new.contains(&feature);
        assert_eq!(Preset::V6_6.has_feature(feature), is_old, "{}", feature.name());
        assert_eq!(Preset::V6_8.has_feature(feature), is_old, "{}", feature.name());
        assert!(Preset::V6_12.has_feature(feature) && Preset::V7_3.has_feature(feature));
    }
}

#[test]
fn nice_levels_go_from_minus_20_to_19() {
    let levels = (i8::MIN..=i8::MAX).filter_map(Nice::new).map(Nice::get);
    assert!(levels.eq(-20..=19));
}

#[test]
fn a_queue_holds_as_many_as_it_has_slots() {
    let rules = Rules::new(Preset::V7_0, 1, 1000);
    for slots in [0, 1, 5, 100] {
        assert_eq!(RunQueue::new(rules, vec![Node::EMPTY; slots]).capacity(), slots);
    }
}
