//! The search through the CPUs that share a last-level cache (Linux: `select_idle_smt`,
//! `select_idle_cpu`, `select_idle_core`).

use super::{Choice, Wakee};
use crate::topology::Span;
use crate::{Feature, Rules, Snapshot, Topology};

/// Looks for an idle CPU among those that share `target`'s cache and are allowed.
pub(super) fn select(
    cpus: &impl Snapshot,
    topology: &Topology,
    rules: &Rules,
    wakee: &Wakee<'_>,
    target: usize,
    choice: &mut Choice,
) -> Option<usize> {
    let wants_core = topology.has_smt() && cpus.has_idle_cores(target);
    let mut scan = Scan { cpus, topology, wakee, target, probed: 0, left: None };
    let found = scan.siblings(wants_core).or_else(|| {
        if rules.has(Feature::SisUtil) {
            match cpus.nr_idle_scan(target) {
                0 => return None,
                budget => scan.left = Some(budget),
            }
        }
        let llc = topology.llc(target);
        let nearest = (rules.cluster_first && topology.has_clusters())
            .then(|| topology.cluster(target))
            .filter(|nearest| nearest.weight < llc.weight);
        match wants_core {
            true => {
                let found = scan.cores(nearest, llc);
                choice.no_idle_cores = found.is_none_or(|(_, is_whole)| !is_whole);
                found.map(|(cpu, _)| cpu)
            }
            false => scan.cpus(nearest, llc),
        }
    });
    choice.probed = scan.probed;
    found
}

struct Scan<'a, S> {
    cpus: &'a S,
    topology: &'a Topology,
    wakee: &'a Wakee<'a>,
    target: usize,
    /// CPUs looked at.
    probed: u32,
    /// How many more may be, if there is a limit.
    left: Option<u32>,
}

impl<S: Snapshot> Scan<'_, S> {
    fn is_available(&mut self, cpu: usize) -> bool {
        self.probed += 1;
        self.cpus.is_available(cpu)
    }

    fn is_allowed(&self, cpu: usize) -> bool {
        self.wakee.allowed.contains(cpu)
    }

    /// The threads beside `prev`, where no core is idle altogether: half a core with the caches
    /// it had is better than half another one.
    fn siblings(&mut self, wants_core: bool) -> Option<usize> {
        let prev = self.wakee.prev;
        if !self.topology.has_smt() || wants_core || !self.topology.shares_cache(prev, self.target)
        {
            return None;
        }
        let core = self.topology.core(prev);
        core.cpus().find(|&cpu| cpu != prev && self.is_allowed(cpu) && self.is_available(cpu))
    }

    /// The CPUs of `near`, if there is one, then the others of `llc`, each from the one after the
    /// target on and around.
    fn order(&self, near: Option<Span>, llc: Span) -> impl Iterator<Item = usize> + use<S> {
        let start = |span: Span| match self.target + 1 {
            next if span.contains(next) => next,
            _ => span.first,
        };
        let is_left = move |cpu: &usize| near.is_none_or(|near| !near.contains(*cpu));
        let first = near.map(|near| near.around_from(start(near)));
        first.into_iter().flatten().chain(llc.around_from(start(llc)).filter(is_left))
    }

    fn cpus(&mut self, near: Option<Span>, llc: Span) -> Option<usize> {
        for cpu in self.order(near, llc) {
            if !self.is_allowed(cpu) {
                continue;
            }
            if self.left == Some(0) {
                return None;
            }
            self.left = self.left.map(|left| left - 1);
            if self.is_available(cpu) {
                return Some(cpu);
            }
        }
        None
    }

    /// A CPU of a core that is idle altogether, with `true`, or else the first idle CPU seen.
    /// There is no budget.
    fn cores(&mut self, near: Option<Span>, llc: Span) -> Option<(usize, bool)> {
        let mut first_idle = None;
        let mut seen = abi::CpuSet::EMPTY;
        for cpu in self.order(near, llc) {
            if !self.is_allowed(cpu) || seen.contains(cpu) {
                continue;
            }
            let core = self.topology.core(cpu);
            core.cpus().for_each(|thread| seen.insert(thread));
            if self.is_idle_core(core, &mut first_idle) {
                return Some((cpu, true));
            }
        }
        first_idle.map(|cpu| (cpu, false))
    }

    fn is_idle_core(&mut self, core: Span, first_idle: &mut Option<usize>) -> bool {
        let mut is_idle = true;
        for cpu in core.cpus() {
            self.probed += 1;
            let is_cpu_idle = self.cpus.is_idle(cpu);
            if first_idle.is_none()
                && self.is_allowed(cpu)
                && (is_cpu_idle || self.cpus.is_sched_idle(cpu))
            {
                *first_idle = Some(cpu);
            }
            if !is_cpu_idle {
                is_idle = false;
                // The rest of the core matters only while nothing better is known.
                if first_idle.is_some() {
                    break;
                }
            }
        }
        is_idle
    }
}
