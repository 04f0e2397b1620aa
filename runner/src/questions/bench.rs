//! A benchmark at one size: a mix with its options, and the figures it is run for.

use super::counts::Counted;
use crate::{
    cli::{Statistic, unknown},
    config::Config,
    error::{Error, Refusal},
    experiment::{Experiment, Host, RunResult},
    mixes::{self, Machine},
    workload::{Better, Metric},
};

/// In place of the name of a test: no test at all.
const NONE: &str = "none";

/// One benchmark at one size.
pub(super) struct Bench {
    /// Which mix.
    pub(super) mix: &'static str,
    /// Its options.
    pub(super) options: Vec<String>,
    /// The size, as tables name it.
    pub(super) case: String,
    /// What is counted beside.
    pub(super) counting: Option<Counting>,
    /// What is read off.
    pub(super) readings: &'static [Reading],
    /// What wakes up beside it.
    pub(super) noise: Option<Noise>,
}

/// What is counted for each piece of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counting {
    /// The pieces of work by the second, by the mix's own name for them.
    pub(super) rate: &'static str,
    /// So many CPUs, from the first on, are also counted by themselves.
    pub(super) first_cpus: usize,
    /// What the mix was told to do before pieces of work count, ns.
    pub(super) settle_ns: u64,
}

/// A figure of a benchmark under the name that tables give it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// The test it belongs to.
    pub(super) test: &'static str,
    /// Its unit, as posted.
    pub(super) units: &'static str,
    /// The mix's own name for it.
    pub(super) metric: &'static str,
    /// What stands for several seeds.
    pub(super) statistic: Statistic,
}

/// The benchmarks that were asked for by the names of their tables; all where none was named.
///
/// # Errors
/// There is no table of that name.
pub(super) fn select(benches: Vec<Bench>, names: &[String]) -> Result<Vec<Bench>, Refusal> {
    let has = |bench: &Bench, name: &str| bench.readings.iter().any(|reading| reading.test == name);
    for name in names.iter().filter(|name| *name != NONE) {
        if !benches.iter().any(|bench| has(bench, name)) {
            let mut known: Vec<_> = benches
                .iter()
                .flat_map(|bench| bench.readings)
                .map(|reading| reading.test)
                .collect();
            known.dedup();
            known.push(NONE);
            return Err(Refusal::new("--tests", name, unknown(name, &known)));
        }
    }
    let is_wanted = |bench: &Bench| names.is_empty() || names.iter().any(|name| has(bench, name));
    Ok(benches.into_iter().filter(is_wanted).collect())
}

/// A task that wakes at random: what makes one seed differ from another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noise {
    /// Wake-ups a second.
    pub(super) rate: f64,
    /// Run time of each, ns.
    pub(super) run_ns: u64,
}

impl Bench {
    /// The experiment on a machine, for as long as its options or the configuration say.
    pub(super) fn experiment(&self, config: &Config, host: &Host) -> Result<Experiment, Error> {
        let machine = Machine::new(config, None);
        let mix = mixes::prepare(self.mix, &self.options, &machine)?;
        let mut experiment = mix.experiment(config.clone());
        if let Some(Noise { rate, run_ns }) = self.noise {
            experiment.workload.background(rate, run_ns, 0)?;
        }
        experiment.host = host.clone();
        Ok(experiment)
    }

    /// What a run says and which way that should go, in the order of the readings; nothing where
    /// nothing was measured.
    pub(super) fn read(&self, result: &RunResult) -> Vec<(Option<f64>, Better)> {
        let metrics = result.metrics();
        let value = |reading: &Reading| {
            let metric = find(&metrics, reading.metric);
            (metric.value, metric.better)
        };
        self.readings.iter().map(value).collect()
    }

    /// What CPUs counted for each piece of work; nothing where none was done.
    pub(super) fn count(&self, result: &RunResult) -> Option<Counted> {
        let Counting { rate, first_cpus, settle_ns } = self.counting?;
        let by_second = find(&result.metrics(), rate).value?;
        let counted_ns = result.records.total.elapsed_ns.saturating_sub(settle_ns);
        let work = by_second * counted_ns as f64 / 1e9;
        Counted::of(&result.records, first_cpus, work)
    }
}

fn find<'a>(metrics: &'a [Metric], name: &str) -> &'a Metric {
    let metric = metrics.iter().find(|metric| metric.name == name);
    metric.expect("a bench names metrics that its mix has")
}

#[cfg(test)]
mod tests {
    use super::*;

    const READINGS: &[Reading] = &[Reading {
        test: "tbench",
        units: "throughput",
        metric: "throughput",
        statistic: Statistic::Mean,
    }];

    fn benches() -> Vec<Bench> {
        let bench = |case: &str| Bench {
            mix: "tbench",
            options: Vec::new(),
            case: case.into(),
            counting: None,
            readings: READINGS,
            noise: None,
        };
        vec![bench("1"), bench("2")]
    }

    #[test]
    fn tests_are_selected_by_name() {
        let selected = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
            select(benches(), &names).map(|benches| benches.len()).map_err(|e| e.to_string())
        };
        assert_eq!(selected(&[]), Ok(2));
        assert_eq!(selected(&["tbench"]), Ok(2));
        assert_eq!(selected(&["none"]), Ok(0));
        let error = selected(&["tbenhc"]).expect_err("it is no test");
        assert!(error.contains("--tests") && error.contains("did you mean tbench?"), "{error}");
    }
}
