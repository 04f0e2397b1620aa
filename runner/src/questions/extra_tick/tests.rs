//! Benchmarks have what the published tables have.

use super::benches::benches;
use crate::{compare::built_in, questions::bench::Bench};

/// Every figure of ours has a published one beside it in all three comparisons, or the column
/// would be empty without anybody noticing.
#[test]
fn every_case_was_published() {
    let posted = built_in(include_str!("../../../data/default_slice_patch.csv"));
    assert_eq!(posted.len(), 3);
    for bench in benches() {
        let Bench { case, readings, .. } = bench;
        for reading in readings {
            for comparison in &posted {
                let test = comparison.tests.iter().find(|test| test.test == reading.test);
                let test = test.unwrap_or_else(|| panic!("{} was not published", reading.test));
                assert!(test.cases.iter().any(|known| known.case == case), "{}", reading.test);
                assert_eq!(test.statistic, reading.statistic.name(), "{}", reading.test);
            }
        }
    }
}
