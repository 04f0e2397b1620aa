//! Short tasks that need not be spread: two proposals by Chen Yu, neither merged.
//!
//! `SIS_SHORT` (v4): the waker is alone on its CPU and both are short, that is, they run for less
//! than an eighth of the minimum granularity between sleeps; there is none any more, so the base
//! slice stands in. `SIS_CURRENT` (v8): shorter than the migration cost, and they wake only each
//! other. Whether v8 compared with `<` or `<=` is not known.

use super::{Duration, Wakee, Waker};
use crate::{Feature, Rules, Snapshot};

/// What it takes to build a cache footprint (`sysctl_sched_migration_cost`), ns.
const MIGRATION_COST_NS: u64 = 500_000;

/// The CPU on which a short wakee stays instead of being spread, if it does.
pub(super) fn stays(
    cpus: &impl Snapshot,
    rules: &Rules,
    waker: &Waker,
    wakee: &Wakee<'_>,
    target: usize,
) -> Option<usize> {
    let is_alone = || cpus.nr_queued(waker.cpu) <= 1;
    let both = |is_short: &dyn Fn(u64) -> bool| {
        let is_short = |duration: &Duration| duration.avg_ns().is_some_and(is_short);
        is_short(&waker.duration) && is_short(&wakee.history.duration)
    };
    if rules.has(Feature::SisCurrent)
        && wakee.allowed.contains(waker.cpu)
        && is_alone()
        && both(&|ns| ns < MIGRATION_COST_NS)
        && wake_only_each_other(waker, wakee)
    {
        return Some(waker.cpu);
    }
    (rules.has(Feature::SisShort) && is_alone() && both(&|ns| ns * 8 < rules.base_slice_ns))
        .then_some(target)
}

fn wake_only_each_other(waker: &Waker, wakee: &Wakee<'_>) -> bool {
    waker.flips.count() == 0
        && wakee.history.flips.count() == 0
        && waker.flips.last_wakee() == Some(wakee.task)
        && waker.task.is_some()
        && wakee.history.flips.last_wakee() == waker.task
}
