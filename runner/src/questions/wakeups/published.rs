//! The published numbers: requests per second of two machines, by kernel and run.

use super::steps::{STEPS, Step};
use crate::{cli::Statistic, compare::Sample, workload::Better};
use serde::Deserialize;

const TABLE: &str = include_str!("../../../data/schbench_regression.csv");

/// The machine that others than the two are set beside: all steps were measured on it.
const COMPLETE: &str = "SPR";

#[derive(Debug, Deserialize)]
struct Row {
    machine: String,
    kernel: String,
    average_rps: f64,
}

/// One machine's numbers.
#[derive(Clone, Debug)]
pub(super) struct Published {
    /// What the table calls it.
    pub(super) machine: String,
    /// By step, each by the first; empty where nothing was published.
    pub(super) steps: [Sample; STEPS.len()],
}

impl Published {
    /// The numbers beside which a model's are set: those of the machine of that name, or of
    /// the one on which every step was measured.
    pub(super) fn beside(model: &str) -> Self {
        let rows: Vec<Row> = csv::Reader::from_reader(TABLE.as_bytes())
            .deserialize()
            .collect::<Result<_, _>>()
            .expect("the table is part of this program");
        let is_it = |row: &&Row| row.machine.eq_ignore_ascii_case(model);
        let machine = rows.iter().find(is_it).map_or(COMPLETE, |row| &row.machine);
        let sample = |Step { kernel, .. }: Step| {
            let of = |row: &&Row| row.machine == machine && row.kernel == kernel;
            let runs: Vec<f64> = rows.iter().filter(of).map(|row| row.average_rps).collect();
            Sample::of(&runs, Statistic::Mean)
        };
        let steps = STEPS.map(sample);
        let against_first = |step: &Sample| step.against(&steps[0], Some(Better::Higher));
        Self { machine: machine.into(), steps: std::array::from_fn(|at| against_first(&steps[at])) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(model: &str) -> Vec<Option<String>> {
        let two_digits = |step: &Sample| step.normalized.map(|ratio| format!("{ratio:.3}"));
        Published::beside(model).steps.iter().map(two_digits).collect()
    }

    /// 2 040 360.55, 2 038 846.78 and 2 037 892.28 are 2 039 033 on average; 1 905 947 are
    /// 0.935 of that.
    #[test]
    fn each_step_is_seen_by_the_first() {
        let skl = ["1.000", "0.935", "", "0.983", "0.988", "1.000"];
        let spr = ["1.000", "0.969", "0.982", "1.012", "1.019", "1.026"];
        let expected = |ratios: [&str; 6]| {
            ratios.map(|ratio| (!ratio.is_empty()).then(|| ratio.to_owned())).to_vec()
        };
        assert_eq!(normalized("skl"), expected(skl));
        assert_eq!(normalized("spr"), expected(spr));
    }

    #[test]
    fn a_model_of_another_machine_stands_beside_the_complete_one() {
        assert_eq!(Published::beside("mine.toml").machine, "SPR");
        assert_eq!(Published::beside("skl").machine, "SKL");
    }
}
