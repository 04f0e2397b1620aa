//! `features` and `presets`: what the rules know, as tables.

use crate::{report, units};
use eevdf::{Feature, Preset, RuleValue};
use std::fmt::Write;

/// Every feature: what it does, and its default in every preset.
pub(crate) fn features() -> String {
    let head: Vec<&str> = ["feature"].into_iter().chain(Preset::ALL.map(Preset::name)).collect();
    let cell = |preset: Preset, feature| match preset.has_feature(feature) {
        true if preset.features().contains(feature) => "on",
        true => "off",
        false => "-",
    };
    let rows = Feature::ALL.map(|feature| {
        let cells = Preset::ALL.map(|preset| cell(preset, feature).to_owned());
        [feature.name().to_owned()].into_iter().chain(cells).collect()
    });
    let mut text = report::table(&head, rows);
    text.push_str("\non, off: the default; -: this version does not have it. Change one with --feature NAME or NO_NAME.\n\n");
    for feature in Feature::ALL {
        writeln!(text, "{:<23} {}", feature.name(), feature.meaning())
            .expect("a String takes everything");
    }
    text
}

/// Every preset: its base slice and what it does not reproduce.
pub(crate) fn presets() -> String {
    let head = ["preset", "base slice of 1, 2, 4, 8 CPUs", "features on"];
    let rows = Preset::ALL.map(|preset| {
        let base = [1, 2, 4, 8].map(|cpus| {
            units::exact_unsigned(eevdf::Rules::new(preset, cpus, 1000).base_slice_ns())
        });
        vec![preset.name().into(), base.join(" "), preset.features().iter().count().to_string()]
    });
    let mut text = report::table(&head, rows);
    text.push_str("\nNot reproduced:\n");
    for preset in Preset::ALL {
        writeln!(text, "{:<6} {}", preset.name(), preset.missing().join("; "))
            .expect("a String takes everything");
    }
    writeln!(
        text,
        "\nThe default is {}. `slicelab presets A B` shows what differs.",
        crate::config::newest_preset().name()
    )
    .expect("a String takes everything");
    text
}

/// What differs between two presets.
pub(crate) fn difference(a: Preset, b: Preset) -> String {
    let shown = |value: RuleValue| match value {
        RuleValue::Ns(ns) => units::exact_unsigned(ns),
        other => other.to_string(),
    };
    let rows: Vec<_> = Preset::diff(a, b)
        .map(|(name, in_a, in_b)| vec![name.to_owned(), shown(in_a), shown(in_b)])
        .collect();
    if rows.is_empty() {
        return format!("{} and {} do not differ in any rule\n", a.name(), b.name());
    }
    report::table(&["rule", a.name(), b.name()], rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_without_a_feature_shows_it() {
        let text = features();
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with("DELAY_DEQUEUE"))
            .expect("a row");
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[1..4], ["-", "-", "on"], "{line}");
    }

    #[test]
    fn the_base_slice_is_what_6_15_changed() {
        let text = difference(Preset::V6_14, Preset::V6_15);
        assert!(text.contains("base_slice_ns") && text.contains("700us"), "{text}");
        assert!(difference(Preset::V6_8, Preset::V6_8).contains("do not differ"));
    }
}
