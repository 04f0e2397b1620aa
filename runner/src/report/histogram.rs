//! A distribution as bars in the terminal.

use std::fmt::Write;

/// The longest bar, in characters.
const WIDTH: usize = 50;
const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// One line for each bin: label, bar, count and percentage.
///
/// Bars are linear in the count. A bin that has anything shows at least an eighth of a
/// character, for rare outliers are what such a picture is looked at for.
pub(crate) fn bars(bins: &[(String, u64)]) -> String {
    let total: u64 = bins.iter().map(|(_, count)| count).sum();
    let largest = bins.iter().map(|&(_, count)| count).max().unwrap_or(0).max(1);
    let label_width = bins.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (label, count) in bins {
        let percentage = 100.0 * *count as f64 / total.max(1) as f64;
        let bar = bar(*count, largest);
        let padding = label_width - label.chars().count();
        writeln!(text, "  {:padding$}{label}  {count:>8} {percentage:6.2} %  {bar}", "")
            .expect("a String takes everything");
    }
    text
}

fn bar(count: u64, largest: u64) -> String {
    let eighths = (count as f64 / largest as f64 * (WIDTH * 8) as f64).round() as usize;
    let eighths = if count > 0 { eighths.max(1) } else { 0 };
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8]);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_bin_fills_the_width_and_rare_ones_show() {
        assert_eq!(bar(1000, 1000).chars().count(), WIDTH);
        assert_eq!(bar(1, 1_000_000), "▏");
        assert_eq!(bar(0, 10), "");
    }

    #[test]
    fn lines_align() {
        let text = bars(&[("a".into(), 1), ("long".into(), 3)]);
        assert_eq!(
            text.lines().map(|line| line.find("00 %")).collect::<Vec<_>>(),
            [text.lines().next().expect("a line").find("00 %"); 2]
        );
        assert!(text.contains("75.00 %"));
    }
}
