//! How the CPUs of the simulated machine are put together, whatever QEMU shows the guest.

use serde::{Deserialize, Serialize};

/// A regular machine: every block of a kind has the same number of CPUs, and a block's CPUs are
/// numbered in a row. So the threads of a core are neighbours, then the cores of a cluster,
/// of a last-level cache, of a package.
///
/// Each number is a multiple of the one before it, and `Scenario::cpus` of the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TopologySpec {
    /// CPUs of a core: its hardware threads.
    pub core: u32,
    /// CPUs of a cluster, whose cores share more than the last-level cache; as many as a core
    /// has where there are no clusters.
    pub cluster: u32,
    /// CPUs that share a last-level cache.
    pub llc: u32,
    /// CPUs of a package (socket).
    pub package: u32,
}

impl TopologySpec {
    /// One package, one last-level cache, no clusters, one thread for each core.
    pub const fn flat(cpus: u32) -> Self {
        Self { core: 1, cluster: 1, llc: cpus, package: cpus }
    }

    /// Whether so many CPUs can be put together like this.
    pub const fn fits(&self, cpus: u32) -> bool {
        multiple(self.core, 1)
            && multiple(self.cluster, self.core)
            && multiple(self.llc, self.cluster)
            && multiple(self.package, self.llc)
            && multiple(cpus, self.package)
    }
}

const fn multiple(of: u32, part: u32) -> bool {
    part > 0 && of > 0 && of.is_multiple_of(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_nest() {
        assert!(TopologySpec::flat(6).fits(6));
        let spec = TopologySpec { core: 2, cluster: 4, llc: 8, package: 16 };
        assert!(spec.fits(32));
        assert!(!spec.fits(24), "one package and a half");
        assert!(!TopologySpec { cluster: 3, ..spec }.fits(32), "one core and a half");
        assert!(!TopologySpec { core: 0, ..spec }.fits(32));
    }
}
