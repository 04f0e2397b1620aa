//! Waker and wakee together, or the wakee where it was (Linux: `wake_wide`, `wake_affine`).

use super::{Wakee, Waker};
use crate::topology::Domain;
use crate::{Feature, Rules, Snapshot, Topology};

/// Whether the two wake so many others that pulling them together would only overload a cache:
/// one wakes at least as many as the cache has CPUs, the other that many times more.
pub(super) fn wake_wide(waker_flips: u32, wakee_flips: u32, llc_size: u32) -> bool {
    let (slave, master) = (waker_flips.min(wakee_flips), u64::from(waker_flips.max(wakee_flips)));
    slave >= llc_size && master >= u64::from(slave) * u64::from(llc_size)
}

/// Whether the waker's CPU is the better one.
pub(super) fn prefers_this(
    cpus: &impl Snapshot,
    topology: &Topology,
    rules: &Rules,
    waker: &Waker,
    wakee: &Wakee<'_>,
) -> bool {
    let (this, prev) = (waker.cpu, wakee.prev);
    if rules.has(Feature::WaIdle)
        && let Some(preferred) = by_idleness(cpus, topology, rules, waker, prev)
    {
        return preferred == this;
    }
    if rules.has(Feature::WaWeight) {
        let domain = topology.domains(this).find(|domain| domain.span.contains(prev));
        return domain.is_some_and(|domain| by_load(cpus, rules, &domain, waker, wakee));
    }
    false
}

fn by_idleness(
    cpus: &impl Snapshot,
    topology: &Topology,
    rules: &Rules,
    waker: &Waker,
    prev: usize,
) -> Option<usize> {
    let this = waker.cpu;
    // An interrupt on an idle CPU says where the data is; but an idle `prev` has the cache.
    if cpus.is_idle(this) && topology.shares_cache(this, prev) {
        return Some(if cpus.is_idle(prev) { prev } else { this });
    }
    if waker.sync {
        let delayed = if rules.sync_ignores_delayed { cpus.nr_delayed(this) } else { 0 };
        if cpus.nr_queued(this).saturating_sub(delayed) == 1 {
            return Some(this);
        }
    }
    cpus.is_idle(prev).then_some(prev)
}

fn by_load(
    cpus: &impl Snapshot,
    rules: &Rules,
    domain: &Domain,
    waker: &Waker,
    wakee: &Wakee<'_>,
) -> bool {
    let load = |cpu: usize| cpus.load(cpu) as i64;
    let (waker_load, wakee_load) = (waker.load as i64, wakee.load as i64);
    let mut this_load = load(waker.cpu);
    if waker.sync {
        if waker_load > this_load {
            return true;
        }
        this_load -= waker_load;
    }
    this_load += wakee_load;
    let mut prev_load = load(wakee.prev) - wakee_load;
    if rules.has(Feature::WaBias) {
        this_load *= 100;
        prev_load *= 100 + (i64::from(domain.level.imbalance_pct()) - 100) / 2;
    }
    // Both CPUs have the same capacity, which cancels out. One more, so that a waker that is
    // about to sleep wins a tie; added last, or the bias would multiply it.
    this_load < prev_load + i64::from(waker.sync)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_is_many_times_many() {
        assert!(!wake_wide(100, 3, 4));
        assert!(!wake_wide(15, 4, 4));
        assert!(wake_wide(16, 4, 4));
        assert!(wake_wide(4, 16, 4));
        assert!(!wake_wide(u32::MAX, 65_536, 65_536));
    }
}
