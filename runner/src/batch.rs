//! Many experiments, as many guests at a time as the host has cores.
//!
//! Results do not depend on how many ran at once: guests under the virtual clock do not feel each
//! other.

use crate::{
    error::Error,
    experiment::{Experiment, Host, RunResult},
    interrupt, kernel_image,
    progress::Progress,
    qemu::Qemu,
};
use std::{
    num::NonZero,
    ops::ControlFlow,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

/// Runs all experiments, and gives the results in their order; those that an interrupt left out
/// are `Interrupted` as well.
///
/// # Errors
/// What would make every one of them fail: no QEMU, no kernel.
pub(crate) fn run_all(
    experiments: &[Experiment],
    progress: &Progress,
) -> Result<Vec<Result<RunResult, Error>>, Error> {
    run_map(experiments, progress, |_, result| result)
}

/// The same, where only what `read` makes of each result, by its number, is kept.
///
/// # Errors
/// As above.
pub(crate) fn run_map<T: Send + Sync>(
    experiments: &[Experiment],
    progress: &Progress,
    read: impl Fn(usize, RunResult) -> T + Sync,
) -> Result<Vec<Result<T, Error>>, Error> {
    let Some(first) = experiments.first() else { return Ok(Vec::new()) };
    prepare(&first.host)?;
    let results: Vec<OnceLock<_>> = experiments.iter().map(|_| OnceLock::new()).collect();
    run_each(experiments.len(), None, &|index| {
        // Each index is handed out once, so the cell is empty.
        let _ = results[index].set(experiments[index].run().map(|result| read(index, result)));
        progress.step();
        ControlFlow::Continue(())
    });
    let left_out = || Err(Error::Interrupted { after_s: 0.0, console: Vec::new() });
    Ok(results.into_iter().map(|cell| cell.into_inner().unwrap_or_else(left_out)).collect())
}

/// Finds what every guest needs.
///
/// # Errors
/// No QEMU, no kernel.
pub(crate) fn prepare(host: &Host) -> Result<(), Error> {
    Qemu::find(host.qemu.as_deref())?;
    kernel_image::build(host.quiet)?;
    Ok(())
}

/// Does `work` for each number below `count`, so many at a time as there are cores or `jobs` says,
/// until an interrupt or a `Break`.
pub(crate) fn run_each(
    count: usize,
    jobs: Option<NonZero<usize>>,
    work: &(dyn Fn(usize) -> ControlFlow<()> + Sync),
) {
    let next = AtomicUsize::new(0);
    let is_over = AtomicBool::new(false);
    // Relaxed: the counter hands out numbers, the flag says when to stop; neither carries data.
    let worker = || {
        while !is_over.load(Ordering::Relaxed) && !interrupt::requested() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            if work(index).is_break() {
                is_over.store(true, Ordering::Relaxed);
            }
        }
    };
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let workers = jobs.map_or_else(cores, usize::from).min(count);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(worker);
        }
    });
}
