//! A figure in one result: its value, its spread over seeds, and both against the base.

use crate::{cli::Statistic, repeat::Spread, workload::Better};
use serde::Serialize;

/// One cell of the table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Sample {
    /// In the test's unit.
    pub(crate) value: Option<f64>,
    /// Standard deviation of the seeds in percent of their mean; nothing with a single one.
    pub(crate) cv_pct: Option<f64>,
    /// How many seeds.
    pub(crate) seeds: usize,
    /// Value by the base's.
    pub(crate) normalized: Option<f64>,
    /// By how much it is better, in percent of the base; by how much it is more, where nothing is
    /// better.
    pub(crate) pct_imp: Option<f64>,
    /// Whether the difference is not larger than the spread of either; nothing where no spread is
    /// known, or there is no difference.
    pub(crate) within_spread: Option<bool>,
}

impl Sample {
    /// Sums up the values of all seeds.
    pub(crate) fn of(values: &[f64], statistic: Statistic) -> Self {
        let Some(spread) = Spread::of(values.iter().copied().map(Some).collect()) else {
            return Self::default();
        };
        let value = match statistic {
            Statistic::Mean => spread.mean,
            Statistic::Median => spread.median,
        };
        let cv_pct = (values.len() > 1).then_some(spread.cv_pct);
        Self { value: Some(value), cv_pct, seeds: values.len(), ..Self::default() }
    }

    /// A posted number: known is only by how much it is better, and the spread.
    pub(crate) fn posted(pct_imp: f64, cv_pct: Option<f64>, better: Option<Better>) -> Self {
        let value = match better {
            Some(Better::Lower) => 1.0 - pct_imp / 100.0,
            Some(Better::Higher) | None => 1.0 + pct_imp / 100.0,
        };
        Self { value: Some(value), cv_pct, ..Self::default() }
    }

    /// Sets it against a base.
    pub(crate) fn against(&self, base: &Self, better: Option<Better>) -> Self {
        let normalized = match (self.value, base.value) {
            // Both nothing is the same; by nothing alone nothing can be divided.
            (Some(0.0), Some(0.0)) => Some(1.0),
            (Some(value), Some(base)) if base != 0.0 => Some(value / base),
            _ => None,
        };
        let pct_imp = normalized.map(|normalized| {
            let more = (normalized - 1.0) * 100.0;
            // Kernel developers' tables have -0.00 where lower is better, and so has this.
            if better == Some(Better::Lower) { -more } else { more }
        });
        let spread = self.cv_pct.into_iter().chain(base.cv_pct).reduce(f64::max);
        let within_spread = pct_imp
            .filter(|pct| *pct != 0.0)
            .zip(spread)
            .map(|(difference, spread)| difference.abs() <= spread);
        Self { normalized, pct_imp, within_spread, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        Sample::of(values, Statistic::Mean)
    }

    #[test]
    fn the_sign_follows_what_is_better() {
        let (base, new) = (sample(&[100.0]), sample(&[80.0]));
        let pct = |better| new.against(&base, better).pct_imp.expect("both are known").round();
        assert_eq!(pct(Some(Better::Lower)), 20.0);
        assert_eq!(pct(Some(Better::Higher)), -20.0);
        assert_eq!(pct(None), -20.0);
    }

    #[test]
    fn a_difference_below_either_spread_is_none() {
        // Means 100 and 104; standard deviations of 10 and 1.
        let (base, new) = (sample(&[90.0, 100.0, 110.0]), sample(&[103.0, 104.0, 105.0]));
        assert_eq!(base.cv_pct, Some(10.0));
        assert_eq!(new.against(&base, None).within_spread, Some(true));
        // Seen from the narrow one, the wide one's spread counts all the same.
        assert_eq!(base.against(&new, None).within_spread, Some(true));
        let narrow = sample(&[99.0, 100.0, 101.0]);
        assert_eq!(new.against(&narrow, None).within_spread, Some(false));
    }

    #[test]
    fn one_seed_has_no_spread_and_equal_values_no_difference() {
        let one = sample(&[5.0]);
        assert_eq!((one.cv_pct, one.against(&one, None).within_spread), (None, None));
        let two = sample(&[5.0, 6.0]);
        assert_eq!(two.against(&two, None).within_spread, None);
        assert_eq!(sample(&[]).against(&one, None), Sample::default());
        let zero = sample(&[0.0]);
        assert_eq!(one.against(&zero, None).normalized, None);
        assert_eq!(zero.against(&zero, None).normalized, Some(1.0));
    }

    #[test]
    fn nothing_is_better_by_minus_nothing_where_lower_is_better() {
        let one = sample(&[5.0]);
        let shown = |better| format!("{:.2}", one.against(&one, better).pct_imp.expect("known"));
        assert_eq!(shown(Some(Better::Lower)), "-0.00");
        assert_eq!(shown(Some(Better::Higher)), "0.00");
    }
}
