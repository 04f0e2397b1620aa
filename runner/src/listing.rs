//! `features` and `presets`: what the rules know, as tables.

use crate::{model::Model, report, units};
use abi::Cost;
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
    text.push_str("\nOn several CPUs (--surroundings linux):\n");
    for feature in placement::Feature::ALL {
        let has = |preset: &Preset| placement::Features::of(*preset).contains(feature);
        let state = match Preset::ALL.iter().find(|preset| has(preset)) {
            None => "off".into(),
            Some(first) if *first == Preset::ALL[0] => "on".into(),
            Some(first) => format!("on from {}", first.name()),
        };
        let origin = if feature.is_merged() { "" } else { " (a proposal, never merged)" };
        writeln!(text, "{:<23} {state:<12} {}{origin}", feature.name(), feature.meaning())
            .expect("a String takes everything");
    }
    text
}

/// Every cost of a machine: what it is in the models that come along, and where that is from.
pub(crate) fn models() -> String {
    let models = Model::built_in();
    let head: Vec<&str> = ["cost"].into_iter().chain(Model::names()).collect();
    let rows = Cost::ALL.map(|cost| {
        let times = models.iter().map(|model| units::exact_unsigned(model.costs[cost].into()));
        [cost.name().to_owned()].into_iter().chain(times).collect()
    });
    let mut text = report::table(&head, rows);
    text.push_str("\nNothing takes any time without --model; --cost NAME=TIME changes one.\n\n");
    for cost in Cost::ALL {
        writeln!(text, "{:<15} {}", cost.name(), cost.meaning())
            .expect("a String takes everything");
    }
    for model in &models {
        writeln!(text, "\n{}: {}", model.name, model.about).expect("a String takes everything");
        for (cost, origin) in &model.origins {
            let ns = units::exact_unsigned(model.costs[*cost].into());
            writeln!(text, "  {:<15} {ns:>6}  {origin}", cost.name())
                .expect("a String takes everything");
        }
    }
    text
}

/// Every preset: what it brought, its base slice, and what it does not reproduce.
pub(crate) fn presets() -> String {
    let head = ["preset", "base slice of 1, 2, 4, 8 CPUs", "rules"];
    let rows = Preset::ALL.map(|preset| {
        let base = [1, 2, 4, 8].map(|cpus| {
            units::exact_unsigned(eevdf::Rules::new(preset, cpus, 1000).base_slice_ns())
        });
        let rules = match preset.missing().len() {
            0 => "complete".into(),
            lacking => format!("{lacking} lacking"),
        };
        vec![preset.name().into(), base.join(" "), rules]
    });
    let mut text = report::table(&head, rows);
    text.push('\n');
    for preset in Preset::ALL {
        writeln!(text, "{:<6} {}", preset.name(), preset.meaning())
            .expect("a String takes everything");
    }
    text.push_str("\nLacking:\n");
    for preset in Preset::ALL.into_iter().filter(|preset| !preset.is_complete()) {
        for missing in preset.missing() {
            writeln!(text, "{:<6} {missing}", preset.name()).expect("a String takes everything");
        }
    }
    writeln!(
        text,
        "All: overflow of 64-bit sums and products; here they are 128 bits wide.\n\nThe default is {}, the newest complete one. `slicelab presets A B` shows what differs.",
        crate::config::newest_preset().name()
    )
    .expect("a String takes everything");
    text
}

/// What differs between two presets, and what the rules that do mean.
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
    let mut text = report::table(&["rule", a.name(), b.name()], rows);
    let texts = a.variant().texts().into_iter().zip(b.variant().texts());
    for (in_a, in_b) in texts.filter(|(in_a, in_b)| in_a.value != in_b.value) {
        write!(
            text,
            "\n{}: {}\n  {:<6} {}\n  {:<6} {}\n",
            in_a.name,
            in_a.about,
            a.name(),
            in_a.meaning,
            b.name(),
            in_b.meaning
        )
        .expect("a String takes everything");
    }
    text
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
    fn a_preset_is_complete_or_says_what_it_lacks() {
        let text = presets();
        for preset in Preset::ALL {
            let lines: Vec<_> =
                text.lines().filter(|line| line.trim_start().starts_with(preset.name())).collect();
            assert_eq!(lines.len(), 2 + preset.missing().len(), "{text}");
            assert_eq!(lines[0].trim_end().ends_with("complete"), preset.is_complete(), "{text}");
        }
    }

    #[test]
    fn rules_that_differ_are_put_into_words() {
        let text = difference(Preset::V6_15, Preset::V7_0);
        assert!(text.contains("yield: What `sched_yield()` does."), "{text}");
        assert!(!text.contains("vt_math"), "{text}");
    }

    #[test]
    fn the_base_slice_is_what_6_15_changed() {
        let text = difference(Preset::V6_14, Preset::V6_15);
        assert!(text.contains("base_slice_ns") && text.contains("700us"), "{text}");
        assert!(difference(Preset::V6_8, Preset::V6_8).contains("do not differ"));
    }
}
