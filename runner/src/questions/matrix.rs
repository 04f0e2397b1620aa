//! Every benchmark on every machine with every seed, and the figures that come of it.

use super::{bench::Bench, counts::Counted, losses::Losses};
use crate::{
    batch,
    config::Config,
    error::Error,
    expect::Verdict,
    experiment::{Experiment, Host, RunResult},
    interrupt,
    progress::Progress,
    results::Figure,
    workload::Better,
};

/// A machine, and what tables call it.
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) config: Config,
}

/// What was read of all runs.
pub(super) struct Matrix<'a> {
    variants: &'a [Variant],
    benches: &'a [Bench],
    seeds: usize,
    /// By variant, bench and seed; nothing where a run was lost.
    runs: Vec<Option<Run>>,
    /// Runs without figures, and why.
    pub(super) losses: Losses,
}

/// One run.
struct Run {
    /// By the bench's readings.
    readings: Vec<(Option<f64>, Better)>,
    /// By the piece of work.
    counted: Option<Counted>,
    passed: bool,
    guest_ns: u64,
}

impl<'a> Matrix<'a> {
    /// Runs everything, with seeds from 1 on, and keeps the figures of each run.
    ///
    /// # Errors
    /// What would make every run fail, or a bench that a machine cannot run.
    pub(super) fn run(
        what: &str,
        variants: &'a [Variant],
        benches: &'a [Bench],
        seeds: u32,
        host: &Host,
    ) -> Result<Self, Error> {
        let mut experiments: Vec<Experiment> = Vec::new();
        for variant in variants {
            for bench in benches {
                let experiment = bench.experiment(&variant.config, host)?;
                experiment.plan()?;
                for seed in 0..u64::from(seeds) {
                    experiments.push(experiment.clone().seed(variant.config.seed + seed));
                }
            }
        }
        let seeds = seeds as usize;
        let bench_of = |index: usize| &benches[index / seeds % benches.len()];
        let progress = Progress::start(what, experiments.len(), host.quiet);
        let read = |index, result| Run::new(bench_of(index), &result);
        let results = batch::run_map(&experiments, &progress, read)?;
        drop(progress);
        let mut losses = Losses::default();
        let mut runs = Vec::new();
        for (index, (experiment, result)) in experiments.iter().zip(results).enumerate() {
            if let Err(error) = &result {
                let Bench { mix, case, .. } = bench_of(index);
                let seed = experiment.config.seed;
                losses.add(format_args!("{mix} {case}, seed {seed}"), Some(error));
            }
            runs.push(result.ok());
        }
        if runs.iter().all(Option::is_none) && interrupt::requested() {
            return Err(Error::Interrupted { after_s: 0.0, console: Vec::new() });
        }
        Ok(Self { variants, benches, seeds, runs, losses })
    }

    /// The figures of a machine, in the order of the benches.
    pub(super) fn figures(&self, variant: usize) -> Vec<Figure> {
        let mut figures: Vec<Figure> = Vec::new();
        for (number, bench) in self.benches.iter().enumerate() {
            for (index, reading) in bench.readings.iter().enumerate() {
                let runs: Vec<_> = self.runs_of(variant, number).collect();
                let values: Vec<f64> =
                    runs.iter().filter_map(|run| run.readings[index].0).collect();
                figures.push(Figure {
                    test: reading.test.into(),
                    case: bench.case.clone(),
                    unit: reading.units.into(),
                    better: runs.first().map(|run| run.readings[index].1),
                    values,
                });
            }
        }
        figures
    }

    /// What CPUs counted for each piece of work of a bench on a machine.
    pub(super) fn counted(&self, variant: usize, bench: usize) -> Option<Counted> {
        Counted::mean(self.runs_of(variant, bench).filter_map(|run| run.counted))
    }

    fn runs_of(&self, variant: usize, bench: usize) -> impl Iterator<Item = &Run> {
        let first = (variant * self.benches.len() + bench) * self.seeds;
        self.runs[first..first + self.seeds].iter().flatten()
    }

    /// What machines are called.
    pub(super) fn name(&self, variant: usize) -> &'a str {
        &self.variants[variant].name
    }

    /// Fails if the expectations of any run did not hold.
    pub(super) fn verdict(&self) -> Verdict {
        match self.runs.iter().flatten().all(|run| run.passed) {
            true => Verdict::Pass,
            false => Verdict::Fail,
        }
    }

    /// Guest time of all runs, ns.
    pub(super) fn guest_ns(&self) -> u64 {
        self.runs.iter().flatten().map(|run| run.guest_ns).sum()
    }
}

impl Run {
    fn new(bench: &Bench, result: &RunResult) -> Self {
        Self {
            readings: bench.read(result),
            counted: bench.count(result),
            passed: result.judge().verdict == Verdict::Pass,
            guest_ns: result.records.total.elapsed_ns,
        }
    }
}
