//! Every benchmark on every machine with every seed, and the figures that come of it.

use super::{bench::Bench, losses::Losses};
use crate::{
    batch,
    config::Config,
    error::Error,
    expect::Verdict,
    experiment::{Experiment, Host, RunResult},
    interrupt, kernel_image,
    progress::Progress,
    qemu::Qemu,
    results::Figure,
    workload::Better,
};
use std::{ops::ControlFlow, sync::OnceLock};

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
    values: Vec<Option<f64>>,
    better: Vec<Better>,
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
        let mut experiments: Vec<(&Bench, Experiment)> = Vec::new();
        for variant in variants {
            for bench in benches {
                let experiment = bench.experiment(&variant.config, host)?;
                experiment.plan()?;
                for seed in 0..u64::from(seeds) {
                    let seed = variant.config.seed + seed;
                    experiments.push((bench, experiment.clone().seed(seed)));
                }
            }
        }
        Qemu::find(host.qemu.as_deref())?;
        kernel_image::build(host.quiet)?;
        let progress = Progress::start(what, experiments.len(), host.quiet);
        let results: Vec<OnceLock<Result<Run, Error>>> =
            experiments.iter().map(|_| OnceLock::new()).collect();
        batch::run_each(experiments.len(), None, &|index| {
            let (bench, experiment) = &experiments[index];
            let run = experiment.run().map(|result| Run::new(bench, &result));
            // Each number is handed out once, so the cell is empty.
            let _ = results[index].set(run);
            progress.step();
            ControlFlow::Continue(())
        });
        drop(progress);
        let mut losses = Losses::default();
        let mut runs = Vec::new();
        for ((bench, experiment), result) in experiments.iter().zip(results) {
            let result = result.into_inner();
            if !matches!(result, Some(Ok(_))) {
                let cell = format!("{} {}, seed {}", bench.mix, bench.case, experiment.config.seed);
                losses.add(cell, result.as_ref().and_then(|result| result.as_ref().err()));
            }
            runs.push(result.and_then(Result::ok));
        }
        if runs.iter().all(Option::is_none) && interrupt::requested() {
            return Err(Error::Interrupted { after_s: 0.0, console: Vec::new() });
        }
        Ok(Self { variants, benches, seeds: seeds as usize, runs, losses })
    }

    /// The figures of a machine, in the order of the benches.
    pub(super) fn figures(&self, variant: usize) -> Vec<Figure> {
        let mut figures: Vec<Figure> = Vec::new();
        for (number, bench) in self.benches.iter().enumerate() {
            for (index, reading) in bench.readings.iter().enumerate() {
                let runs: Vec<_> = self.runs_of(variant, number).collect();
                let values: Vec<f64> = runs.iter().filter_map(|run| run.values[index]).collect();
                figures.push(Figure {
                    test: reading.test.into(),
                    case: bench.case.clone(),
                    unit: reading.units.into(),
                    better: runs.first().map(|run| run.better[index]),
                    values,
                });
            }
        }
        figures
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
        let metrics = result.metrics();
        let better = |name: &str| {
            let metric = metrics.iter().find(|metric| metric.name == name);
            metric.expect("a bench names metrics that its mix has").better
        };
        Self {
            values: bench.read(result),
            better: bench.readings.iter().map(|reading| better(reading.metric)).collect(),
            passed: result.judge().verdict == Verdict::Pass,
            guest_ns: result.records.total.elapsed_ns,
        }
    }
}
