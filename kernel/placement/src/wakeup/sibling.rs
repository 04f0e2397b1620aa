//! An idle CPU near a target (Linux: `select_idle_sibling`), in exactly this order.

use super::{Choice, Wakee, Waker, scan, short};
use crate::{Rules, Snapshot, Topology};

/// Chooses near `target`, which is the waker's CPU or the wakee's last one.
pub(super) fn select(
    cpus: &impl Snapshot,
    topology: &Topology,
    rules: &Rules,
    waker: &Waker,
    wakee: &Wakee<'_>,
    target: usize,
    choice: &mut Choice,
) {
    choice.cpu = target;
    if cpus.is_available(target) {
        return;
    }
    let prev = wakee.prev;
    let is_near = |cpu: usize| {
        !(rules.cluster_first && topology.has_clusters())
            || topology.cluster(cpu) == topology.cluster(target)
    };
    // Idle CPUs of other clusters, for when the search finds nothing.
    let mut fallback = None;
    if prev != target && topology.shares_cache(prev, target) && cpus.is_available(prev) {
        if is_near(prev) {
            choice.cpu = prev;
            return;
        }
        fallback = Some(prev);
    }
    let recent = wakee.history.recent_used;
    choice.recent_used = Some(prev);
    if recent != prev
        && recent != target
        && topology.shares_cache(recent, target)
        && wakee.allowed.contains(recent)
        && cpus.is_available(recent)
    {
        if is_near(recent) {
            choice.cpu = recent;
            return;
        }
        fallback = fallback.or(Some(recent));
    }
    if topology.llc(target).weight == 1 {
        return;
    }
    if let Some(cpu) = short::stays(cpus, rules, waker, wakee, target) {
        choice.cpu = cpu;
        return;
    }
    let found = scan::select(cpus, topology, rules, wakee, target, choice);
    if let Some(cpu) = found.or(fallback) {
        choice.cpu = cpu;
    }
}
