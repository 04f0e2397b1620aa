//! Many experiments, as many guests at a time as the host has cores.
//!
//! Results come in the order of the experiments and do not depend on how many ran at once:
//! guests under the virtual clock do not feel each other.

use crate::{
    error::Error,
    experiment::{Experiment, RunResult},
    interrupt, kernel_image,
    progress::Progress,
    qemu::Qemu,
};
use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Runs all experiments; those that an interrupt left out are `Interrupted` as well.
///
/// # Errors
/// What would make every one of them fail: no QEMU, no kernel.
pub(crate) fn run_all(
    experiments: &[Experiment],
    progress: &Progress,
) -> Result<Vec<Result<RunResult, Error>>, Error> {
    let Some(first) = experiments.first() else { return Ok(Vec::new()) };
    Qemu::find(first.host.qemu.as_deref())?;
    kernel_image::build(first.host.quiet)?;

    let results: Vec<OnceLock<_>> = experiments.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        // Relaxed: the counter hands out numbers, the results have their own cells.
        while let Some((index, experiment)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            experiments.get(index).map(|experiment| (index, experiment))
        } {
            if interrupt::requested() {
                return;
            }
            // Each index is handed out once, so the cell is empty.
            let _ = results[index].set(experiment.run());
            progress.step();
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(experiments.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    let left_out = || Err(Error::Interrupted { after_s: 0.0, console: Vec::new() });
    Ok(results.into_iter().map(|cell| cell.into_inner().unwrap_or_else(left_out)).collect())
}
