//! Comparisons as text: the table of the kernel mailing list, and the same as Markdown.

use super::{Case, Comparison, Setting, Test, posted::interpretation, sample::Sample};
use crate::report;
use std::fmt::Write;

/// Stands where there is no number.
const NONE: &str = "-";
/// Marks a difference within the spread.
const MARK: &str = " ~";

/// The table as it is posted.
pub(super) fn text(comparison: &Comparison) -> String {
    let mut text = String::new();
    if let Some(name) = &comparison.name {
        writeln!(text, "{name}\n").expect("a String takes everything");
    }
    text.push_str(&settings(comparison));
    text.push_str(&tables(comparison));
    text.push_str(&remarks(comparison));
    text
}

/// Each test by itself.
pub(super) fn tables(comparison: &Comparison) -> String {
    comparison.tests.iter().map(|test| table(comparison, test) + "\n").collect()
}

fn settings(comparison: &Comparison) -> String {
    if comparison.settings.is_empty() {
        return String::new();
    }
    let mut head = vec!["setting"];
    head.extend(comparison.results.iter().map(String::as_str));
    let mut text = report::table(&head, comparison.settings.iter().map(setting_row));
    text.push('\n');
    text
}

fn setting_row(setting: &Setting) -> Vec<String> {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| NONE.into());
    [setting.name.clone()].into_iter().chain(setting.values.iter().map(value)).collect()
}

fn table(comparison: &Comparison, test: &Test) -> String {
    let names: Vec<_> =
        comparison.results.iter().map(|name| format!("{name}[pct imp](CV)")).collect();
    let rows: Vec<Vec<String>> = test.cases.iter().map(row).collect();
    let case_width = width(test.cases.iter().map(|case| case.case.as_str()).chain(["Case:"]));
    let widths: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(column, name)| {
            width(rows.iter().map(|row| row[column].trim_end_matches(MARK)).chain([name.as_str()]))
        })
        .collect();
    let line = "=".repeat(66);
    let mut text = format!(
        "{line}\nTest          : {}\nUnits         : Normalized {}\nInterpretation: {}\n\
         Statistic     : {}\n{line}\n",
        test.test,
        plain_unit(&test.units),
        interpretation(test.better),
        test.statistic
    );
    write!(text, "{:<case_width$}", "Case:").expect("a String takes everything");
    for (name, width) in names.iter().zip(&widths) {
        write!(text, "  {name:>width$}  ").expect("a String takes everything");
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    for (case, cells) in test.cases.iter().zip(&rows) {
        let mut row = format!("{:<case_width$}", case.case);
        for (cell, width) in cells.iter().zip(&widths) {
            // The mark hangs out to the right, so that numbers stay in line.
            let (numbers, mark) = match cell.strip_suffix(MARK) {
                Some(numbers) => (numbers, MARK),
                None => (cell.as_str(), "  "),
            };
            write!(row, "  {numbers:>width$}{mark}").expect("a String takes everything");
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

fn row(case: &Case) -> Vec<String> {
    [&case.base].into_iter().chain(&case.new).map(cell).collect()
}

/// `1.00 [ -0.00]( 2.08)`, with a mark where the difference is within the spread.
fn cell(sample: &Sample) -> String {
    let number = |value: Option<f64>, width: usize| match value {
        Some(value) => format!("{value:width$.2}"),
        None => format!("{NONE:>width$}"),
    };
    let mark = if sample.within_spread == Some(true) { MARK } else { "" };
    format!(
        "{} [{}]({}){mark}",
        number(sample.normalized, 4),
        number(sample.pct_imp, 6),
        number(sample.cv_pct, 5)
    )
}

/// Tables that were posted say so already.
fn plain_unit(units: &str) -> &str {
    units.strip_prefix("Normalized ").unwrap_or(units)
}

fn width<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

/// What can be said of the differences, and what not.
fn remarks(comparison: &Comparison) -> String {
    let mut text = String::new();
    let pairs = || {
        let cases = |test: &'_ Test| test.cases.clone();
        comparison.tests.iter().flat_map(move |test| {
            cases(test)
                .into_iter()
                .flat_map(move |case| case.new.into_iter().map(move |new| (test.better, new)))
        })
    };
    let count = |is: &dyn Fn(bool, f64, Option<bool>) -> bool| {
        pairs()
            .filter(|(better, new)| {
                new.pct_imp.is_some_and(|pct| is(better.is_some(), pct, new.within_spread))
            })
            .count()
    };
    let within = count(&|_, _, within| within == Some(true));
    let outside = |within: Option<bool>| within != Some(true);
    let better = count(&|directed, pct, within| directed && pct > 0.0 && outside(within));
    let worse = count(&|directed, pct, within| directed && pct < 0.0 && outside(within));
    let other = count(&|directed, pct, within| !directed && pct != 0.0 && outside(within));
    let same = count(&|_, pct, _| pct == 0.0);
    let mut parts = vec![format!("{better} better"), format!("{worse} worse")];
    if other > 0 {
        parts.push(format!("{other} different where neither is better"));
    }
    parts.extend([format!("{within} within the spread (~)"), format!("{same} the same")]);
    writeln!(text, "{}", parts.join(", ")).expect("a String takes everything");
    let is_single = |sample: &Sample| sample.seeds == 1;
    if comparison.tests.iter().flat_map(|test| &test.cases).any(|case| is_single(&case.base)) {
        text.push_str(
            "one run each: no spread is known. Under the virtual clock a difference is exact for \
             this seed; `run --repeat N` tells how much others differ\n",
        );
    }
    if !comparison.left_out.is_empty() {
        writeln!(text, "only in some results, left out: {}", comparison.left_out.join(", "))
            .expect("a String takes everything");
    }
    text
}

/// The same as Markdown tables.
pub(super) fn markdown(comparison: &Comparison) -> String {
    let mut text = String::new();
    if let Some(name) = &comparison.name {
        writeln!(text, "## {name}\n").expect("a String takes everything");
    }
    if !comparison.settings.is_empty() {
        text.push_str(&markdown_table(
            "setting",
            &comparison.results,
            comparison.settings.iter().map(setting_row),
        ));
        text.push('\n');
    }
    for test in &comparison.tests {
        writeln!(
            text,
            "**{}**, normalized {}, {}, {}\n",
            test.test,
            plain_unit(&test.units),
            interpretation(test.better).to_lowercase(),
            test.statistic
        )
        .expect("a String takes everything");
        let rows = test
            .cases
            .iter()
            .map(|case| [case.case.clone()].into_iter().chain(row(case)).collect::<Vec<_>>());
        let heads: Vec<_> =
            comparison.results.iter().map(|name| format!("{name} [pct imp](CV)")).collect();
        text.push_str(&markdown_table("case", &heads, rows));
        text.push('\n');
    }
    text.push_str(&remarks(comparison));
    text
}

fn markdown_table(
    first: &str,
    heads: &[String],
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    // A bar would end the cell, and `[a](b)` would be a link.
    let escaped = |cell: &String| cell.trim().replace('|', "\\|").replace('[', "\\[");
    let mut text = format!("| {first} |");
    for head in heads {
        write!(text, " {} |", escaped(head)).expect("a String takes everything");
    }
    write!(text, "\n| --- |{}\n", " ---: |".repeat(heads.len()))
        .expect("a String takes everything");
    for row in rows {
        let cells: Vec<_> = row.iter().map(escaped).collect();
        writeln!(text, "| {} |", cells.join(" | ")).expect("a String takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cli::Statistic, workload::Better};

    fn comparison(base: &[f64], new: &[f64]) -> Comparison {
        let base = Sample::of(base, Statistic::Mean);
        let better = Some(Better::Lower);
        let case = Case {
            case: "1-groups".into(),
            new: vec![Sample::of(new, Statistic::Mean).against(&base, better)],
            base: base.against(&base, better),
        };
        let test = Test {
            test: "hackbench".into(),
            units: "time in seconds".into(),
            better,
            statistic: "AMean".into(),
            cases: vec![case],
        };
        Comparison {
            name: None,
            results: vec!["tip".into(), "my-change".into()],
            settings: vec![Setting {
                name: "preset".into(),
                values: vec![Some("v6.15".into()), Some("v7.0".into())],
            }],
            tests: vec![test],
            left_out: Vec::new(),
        }
    }

    /// As it was posted: 1.00 [ -0.00]( 9.88) and 1.09 [ -9.19](11.57).
    #[test]
    fn the_table_is_the_one_that_is_posted() {
        let text = text(&comparison(&[1.0, 1.0], &[1.0919, 1.0919]));
        let expected = "\
setting  tip    my-change
preset   v6.15  v7.0

==================================================================
Test          : hackbench
Units         : Normalized time in seconds
Interpretation: Lower is better
Statistic     : AMean
==================================================================
Case:              tip[pct imp](CV)    my-change[pct imp](CV)
1-groups      1.00 [ -0.00]( 0.00)      1.09 [ -9.19]( 0.00)

0 better, 1 worse, 0 within the spread (~), 0 the same
";
        let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeeze(&text), squeeze(expected), "{text}");
        let columns: Vec<_> =
            text.lines().filter(|line| line.contains("](")).map(str::len).collect();
        assert_eq!(columns[0], columns[1], "{text}");
    }

    #[test]
    fn what_is_within_the_spread_is_marked_and_not_counted_as_worse() {
        let text = text(&comparison(&[0.9, 1.1], &[1.0, 1.04]));
        assert!(text.contains("1.02 [ -2.00]( 2.77) ~"), "{text}");
        assert!(text.contains("0 better, 0 worse, 1 within the spread (~)"), "{text}");
    }

    #[test]
    fn markdown_cells_are_no_links() {
        let text = markdown(&comparison(&[1.0], &[2.0]));
        assert!(text.contains("| 1-groups | 1.00 \\[ -0.00](    -) |"), "{text}");
        assert!(text.contains("no spread is known"), "{text}");
    }
}
