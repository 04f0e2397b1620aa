//! Comparisons as CSV: as they are collected from mailing lists, and as `--csv` writes them.
//!
//! A posted table has values only by the base's and with two decimals; how much better they are
//! has more digits. So the values are computed back from that, and have to be what was posted.

use super::{Case, Comparison, Test, sample::Sample};
use crate::{error::Refusal, workload::Better};
use serde::{Deserialize, Serialize};
use std::{fs, path::Path};

/// Half of the last digit of a posted value, and what rounding adds.
const POSTED_PRECISION: f64 = 0.00501;

/// One case of a comparison.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    comparison: String,
    test: String,
    units: String,
    interpretation: String,
    statistic: String,
    case: String,
    base_cv_pct: Option<f64>,
    new_normalized: Option<f64>,
    new_pct_imp: Option<f64>,
    new_cv_pct: Option<f64>,
    /// Not in posted tables.
    #[serde(default)]
    base_value: Option<f64>,
    /// Not in posted tables.
    #[serde(default)]
    new_value: Option<f64>,
}

/// Reads the comparisons of a file.
pub(super) fn read(path: &Path) -> Result<Vec<Comparison>, Refusal> {
    let refused = |reason: String| Refusal::new("result", path.display(), reason);
    let text = fs::read(path).map_err(|error| refused(error.to_string()))?;
    parse(&text).map_err(refused)
}

/// Reads the comparisons of a text.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Comparison>, String> {
    let mut reader = csv::Reader::from_reader(text);
    let mut comparisons: Vec<Comparison> = Vec::new();
    for (index, row) in reader.deserialize::<Row>().enumerate() {
        let row =
            row.map_err(|error| format!("is no comparison as `compare --csv` writes it: {error}"))?;
        // The head is line 1.
        add(&mut comparisons, row).map_err(|why| format!("line {}: {why}", index + 2))?;
    }
    match comparisons.is_empty() {
        true => Err("has no rows".into()),
        false => Ok(comparisons),
    }
}

fn add(comparisons: &mut Vec<Comparison>, row: Row) -> Result<(), String> {
    let better = direction(&row.interpretation)?;
    let pct_imp = row.new_pct_imp.ok_or("there is no new_pct_imp")?;
    let (base, new) = match (row.base_value, row.new_value) {
        (Some(base), Some(new)) => (
            Sample { value: Some(base), cv_pct: row.base_cv_pct, ..Sample::default() },
            Sample { value: Some(new), cv_pct: row.new_cv_pct, ..Sample::default() },
        ),
        _ => (
            Sample { value: Some(1.0), cv_pct: row.base_cv_pct, ..Sample::default() },
            Sample::posted(pct_imp, row.new_cv_pct, better),
        ),
    };
    let (base, new) = (base.against(&base, better), new.against(&base, better));
    if let (Some(posted), Some(computed)) = (row.new_normalized, new.normalized)
        && (posted - computed).abs() > POSTED_PRECISION
    {
        return Err(format!(
            "new_normalized {posted} does not go with new_pct_imp {pct_imp} where {}",
            row.interpretation
        ));
    }
    let same = |comparison: &&mut Comparison| comparison.name.as_ref() == Some(&row.comparison);
    let at = match comparisons.iter_mut().find(same) {
        Some(comparison) => comparison,
        None => {
            comparisons.push(Comparison {
                name: Some(row.comparison.clone()),
                results: vec!["base".into(), "new".into()],
                settings: Vec::new(),
                tests: Vec::new(),
                left_out: Vec::new(),
            });
            comparisons.last_mut().expect("it was just added")
        }
    };
    let case = Case { case: row.case, base, new: vec![new] };
    let same = |test: &&mut Test| {
        (&test.test, &test.units, test.better, &test.statistic)
            == (&row.test, &row.units, better, &row.statistic)
    };
    match at.tests.iter_mut().find(same) {
        Some(test) => test.cases.push(case),
        None => at.tests.push(Test {
            test: row.test,
            units: row.units,
            better,
            statistic: row.statistic,
            cases: vec![case],
        }),
    }
    Ok(())
}

/// The words of the tables for a direction.
pub(crate) fn interpretation(better: Option<Better>) -> &'static str {
    match better {
        Some(Better::Higher) => "Higher is better",
        Some(Better::Lower) => "Lower is better",
        None => "Neither is better",
    }
}

fn direction(words: &str) -> Result<Option<Better>, String> {
    [Some(Better::Higher), Some(Better::Lower), None]
        .into_iter()
        .find(|better| interpretation(*better).eq_ignore_ascii_case(words.trim()))
        .ok_or_else(|| {
            format!("interpretation `{words}`: must be Higher, Lower or Neither is better")
        })
}

/// Writes comparisons, each result after the base by itself.
pub(super) fn write(comparisons: &[Comparison]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for comparison in comparisons {
        for test in &comparison.tests {
            for case in &test.cases {
                for (name, new) in comparison.results.iter().skip(1).zip(&case.new) {
                    let pair = || format!("{} to {name}", comparison.results[0]);
                    let row = Row {
                        comparison: comparison.name.clone().unwrap_or_else(pair),
                        test: test.test.clone(),
                        units: test.units.clone(),
                        interpretation: interpretation(test.better).into(),
                        statistic: test.statistic.clone(),
                        case: case.case.clone(),
                        base_cv_pct: case.base.cv_pct,
                        new_normalized: new.normalized,
                        new_pct_imp: new.pct_imp,
                        new_cv_pct: new.cv_pct,
                        base_value: case.base.value,
                        new_value: new.value,
                    };
                    writer.serialize(row).expect("rows of text and numbers go into memory");
                }
            }
        }
    }
    let bytes = writer.into_inner().expect("memory takes everything");
    String::from_utf8(bytes).expect("it was made of text")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("data/default_slice_patch.csv")
    }

    /// Every percentage that was posted, `-0.00` included, comes out again; and the values that
    /// follow from them are the posted ones, or reading would have failed.
    #[test]
    fn a_posted_table_gives_its_percentages() {
        let comparisons = read(&published()).expect("a posted table");
        let mut reader = csv::Reader::from_path(published()).expect("there");
        let mut posted = 0;
        for row in reader.records() {
            let row = row.expect("a row");
            let case = comparisons
                .iter()
                .filter(|comparison| comparison.name.as_deref() == Some(&row[0]))
                .flat_map(|comparison| &comparison.tests)
                .filter(|test| test.test == row[1])
                .flat_map(|test| &test.cases)
                .find(|case| case.case == row[5])
                .expect("every row is a case");
            let shown = |value: Option<f64>| value.map(|value| format!("{value:.2}"));
            assert_eq!(shown(case.new[0].pct_imp).as_deref(), Some(&row[8]), "{row:?}");
            assert_eq!(shown(case.new[0].cv_pct).unwrap_or_default(), row[9], "{row:?}");
            posted += 1;
        }
        assert_eq!((posted, comparisons.len()), (243, 3));
    }

    #[test]
    fn what_is_written_can_be_read() {
        let first = read(&published()).expect("a posted table");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("again.csv");
        std::fs::write(&path, write(&first)).expect("written");
        let again = read(&path).expect("its own table");
        assert_eq!(write(&again), write(&first));
        assert_eq!(again[1].tests[2].cases[3].case, first[1].tests[2].cases[3].case);
    }

    #[test]
    fn a_wrong_sign_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("wrong.csv");
        let head = "comparison,test,units,interpretation,statistic,case,base_cv_pct,new_normalized,new_pct_imp,new_cv_pct";
        std::fs::write(&path, format!("{head}\na,t,s,Lower is better,AMean,1,1.0,1.09,9.19,1.0\n"))
            .expect("written");
        let text = read(&path).expect_err("9.19 % better is not 1.09 times as long").to_string();
        assert!(text.contains("line 2: new_normalized 1.09 does not go with"), "{text}");
    }
}
