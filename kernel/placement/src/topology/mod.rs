//! Which CPUs share what: spans of CPUs, and the scheduling domains above each CPU.
//!
//! The machine is regular and numbered in a row ([`abi::TopologySpec`]), so a span is a first CPU
//! and a number, and nothing is stored per CPU.

mod domain;

pub use domain::{Domain, Level};

use abi::{CpuSet, TopologySpec};
use core::ops::Range;

/// CPUs numbered in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The lowest number.
    pub first: usize,
    /// How many.
    pub weight: usize,
}

impl Span {
    /// The block of `weight` CPUs that `cpu` is in.
    fn around(cpu: usize, weight: usize) -> Self {
        Self { first: cpu - cpu % weight, weight }
    }

    /// Whether the CPU is one of them.
    pub fn contains(&self, cpu: usize) -> bool {
        self.cpus().contains(&cpu)
    }

    /// The CPUs in ascending order.
    pub fn cpus(&self) -> Range<usize> {
        self.first..self.first + self.weight
    }

    /// The CPUs from `start` on and around, each once; `start` is one of them.
    pub fn around_from(&self, start: usize) -> impl Iterator<Item = usize> + use<> {
        (start..self.first + self.weight).chain(self.first..start)
    }

    /// The same as a set.
    pub fn to_set(self) -> CpuSet {
        self.cpus().collect()
    }
}

/// A machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Topology {
    spec: TopologySpec,
    cpus: u32,
}

impl Topology {
    /// The machine of that description.
    ///
    /// # Panics
    /// If so many CPUs cannot be put together like this; such scenarios are refused before.
    pub fn new(spec: TopologySpec, cpus: u32) -> Self {
        assert!(spec.fits(cpus), "{cpus} CPUs cannot be put together as {spec:?}");
        Self { spec, cpus }
    }

    /// How many CPUs there are.
    pub fn cpus(&self) -> usize {
        self.cpus as usize
    }

    /// What it was made from.
    pub fn spec(&self) -> &TopologySpec {
        &self.spec
    }

    /// The core that a CPU is a thread of.
    pub fn core(&self, cpu: usize) -> Span {
        Span::around(cpu, self.spec.core as usize)
    }

    /// The cluster that a CPU is in; its core where there are none.
    pub fn cluster(&self, cpu: usize) -> Span {
        Span::around(cpu, self.spec.cluster as usize)
    }

    /// The CPUs that share a last-level cache with one (Linux: the domain `sd_llc`).
    pub fn llc(&self, cpu: usize) -> Span {
        Span::around(cpu, self.spec.llc as usize)
    }

    /// The package that a CPU is in.
    pub fn package(&self, cpu: usize) -> Span {
        Span::around(cpu, self.spec.package as usize)
    }

    /// Whether two CPUs share a last-level cache (Linux: `cpus_share_cache`).
    pub fn shares_cache(&self, a: usize, b: usize) -> bool {
        self.llc(a) == self.llc(b)
    }

    /// Whether cores have more than one thread (Linux: `sched_smt_active`).
    pub fn has_smt(&self) -> bool {
        self.spec.core > 1
    }

    /// Whether there is a level between core and last-level cache.
    pub fn has_clusters(&self) -> bool {
        self.spec.core < self.spec.cluster && self.spec.cluster < self.spec.llc
    }

    /// The scheduling domains of a CPU from the bottom up. A level that spans no more CPUs than
    /// the one below it is left out, as in Linux.
    pub fn domains(&self, cpu: usize) -> impl DoubleEndedIterator<Item = Domain> + use<> {
        let TopologySpec { core, cluster, llc, .. } = self.spec;
        let cluster = if self.has_clusters() { cluster } else { core };
        // Memory is the same distance from everywhere, so the domain above the caches spans all
        // packages, and there is none for NUMA above it.
        let weights = [1, core, cluster, llc, self.cpus];
        Level::ALL.into_iter().enumerate().filter_map(move |(index, level)| {
            let (child, weight) = (weights[index], weights[index + 1]);
            let span = Span::around(cpu, weight as usize);
            (child < weight).then_some(Domain { level, span, group_weight: child as usize })
        })
    }

    /// The domain of a CPU at one level, if it has that level.
    pub fn domain(&self, cpu: usize, level: Level) -> Option<Domain> {
        self.domains(cpu).find(|domain| domain.level == level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 packages of 2 caches of 2 clusters of 2 cores of 2 threads.
    fn deep() -> Topology {
        Topology::new(TopologySpec { core: 2, cluster: 4, llc: 8, package: 16 }, 32)
    }

    fn levels(topology: &Topology, cpu: usize) -> [(Level, usize, usize, usize); 4] {
        let mut domains = topology.domains(cpu).map(|domain| {
            (domain.level, domain.span.first, domain.span.weight, domain.groups().count())
        });
        core::array::from_fn(|_| domains.next().unwrap_or((Level::Smt, 0, 0, 0)))
    }

    #[test]
    fn every_level_is_a_domain_of_the_level_below() {
        let expected = [
            (Level::Smt, 20, 2, 2),
            (Level::Cluster, 20, 4, 2),
            (Level::Llc, 16, 8, 2),
            (Level::Package, 0, 32, 4),
        ];
        assert_eq!(levels(&deep(), 21), expected);
    }

    #[test]
    fn levels_without_a_meaning_are_left_out() {
        let flat = Topology::new(TopologySpec::flat(4), 4);
        let only: [_; 1] = [flat.domains(3).next().expect("one level")];
        assert_eq!((only[0].level, only[0].span), (Level::Llc, Span { first: 0, weight: 4 }));
        assert_eq!(flat.domains(3).count(), 1);
        assert_eq!(Topology::new(TopologySpec::flat(1), 1).domains(0).count(), 0);
        for cluster in [2, 8] {
            let spec = TopologySpec { core: 2, cluster, llc: 8, package: 8 };
            let topology = Topology::new(spec, 8);
            assert!(!topology.has_clusters());
            assert_eq!(topology.domain(0, Level::Cluster), None);
            assert!(topology.domain(0, Level::Llc).is_some());
        }
    }

    #[test]
    fn caches_are_shared_within_their_span() {
        let deep = deep();
        assert!(deep.shares_cache(8, 15));
        assert!(!deep.shares_cache(7, 8));
        assert_eq!(deep.llc(13).cpus(), 8..16);
        assert_eq!(deep.package(17).cpus(), 16..32);
        assert!(deep.llc(13).around_from(14).eq([14, 15, 8, 9, 10, 11, 12, 13]));
    }
}
