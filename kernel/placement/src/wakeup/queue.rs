//! Whether a wake-up on another CPU goes through that CPU's wake list, or takes its lock (Linux:
//! `ttwu_queue_cond`).

use crate::{Feature, Rules, Topology};

/// A wake-up, once its CPU is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remote {
    /// The waker's CPU.
    pub this: usize,
    /// The wakee's.
    pub target: usize,
    /// How many tasks are queued there.
    pub target_queued: u32,
    /// Whether the wakee is queued there already, waiting out a debt.
    pub is_delayed: bool,
}

/// Whether the wake-up is queued. The target's own CPU then does all that needs its lock, at the
/// price of an interrupt and a later start.
///
/// The order of the questions is Linux's; the last two are those of "sched: Add ttwu_queue
/// controls" and "sched: Add ttwu_queue support for delayed tasks", never merged.
pub fn queues(rules: &Rules, topology: &Topology, wakeup: &Remote) -> bool {
    let &Remote { this, target, target_queued, is_delayed } = wakeup;
    if !rules.has(Feature::TtwuQueue) {
        return false;
    }
    if is_delayed && !rules.has(Feature::TtwuQueueDelayed) {
        return false;
    }
    if !topology.shares_cache(this, target) {
        return true;
    }
    if target == this {
        return false;
    }
    target_queued == 0 || is_delayed || rules.has(Feature::TtwuQueueDefault)
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi::TopologySpec;
    use eevdf::Preset;

    fn asks(rules: Rules, target: usize, target_queued: u32, is_delayed: bool) -> bool {
        let spec = TopologySpec { llc: 4, ..TopologySpec::flat(8) };
        let wakeup = Remote { this: 0, target, target_queued, is_delayed };
        queues(&rules, &Topology::new(spec, 8), &wakeup)
    }

    #[test]
    fn other_caches_and_idle_cpus_get_a_list() {
        let rules = Rules::new(Preset::V6_15, 700_000);
        assert!(asks(rules, 4, 3, false), "another cache, however busy");
        assert!(asks(rules, 1, 0, false), "same cache, idle");
        assert!(!asks(rules, 1, 1, false), "same cache, busy");
        assert!(!asks(rules, 0, 0, false), "one's own CPU");
        assert!(!asks(rules, 4, 1, true), "delayed, as Linux has it");
    }

    #[test]
    fn each_feature_does_what_it_is_named_for() {
        let rules = Rules::new(Preset::V6_15, 700_000);
        let with = |feature, on| rules.with_features(rules.features.with(feature, on));
        assert!(!asks(with(Feature::TtwuQueue, false), 4, 3, false));
        let default = with(Feature::TtwuQueueDefault, true);
        assert!(asks(default, 1, 1, false) && !asks(default, 0, 0, false));
        assert!(!asks(default, 1, 1, true));
        let delayed = with(Feature::TtwuQueueDelayed, true);
        assert!(asks(delayed, 1, 2, true) && asks(delayed, 4, 2, true));
        assert!(!asks(delayed, 0, 2, true) && !asks(delayed, 1, 2, false));
    }
}
