//! What is in force on several CPUs: rules, and what a last-level cache's CPUs know of
//! each other (Linux: `sched_domain_shared`).
//!
//! Set once, before anything runs. The per-cache values are hints, Relaxed: whoever acts on one
//! looks again.

use crate::cpu::{self, Cpu};
use alloc::boxed::Box;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use placement::{Rules, Topology, budget, topology::Level};
use spin::Once;

static LINUX: Once<Linux> = Once::new();

/// Linux's surroundings.
pub(crate) struct Linux {
    pub(crate) rules: Rules,
    caches: Box<[Cache]>,
}

/// One last-level cache.
struct Cache {
    /// Whether a core may be idle altogether.
    has_idle_cores: AtomicBool,
    /// How many CPUs a search may look at.
    nr_idle_scan: AtomicU32,
}

/// Puts Linux's surroundings in force. Once, before tasks run.
pub(crate) fn init(topology: &Topology, rules: Rules) {
    LINUX.call_once(|| {
        let weight = topology.llc(0).weight;
        // As if the machine had been idle before the run.
        let cache = || Cache {
            has_idle_cores: AtomicBool::new(topology.has_smt()),
            nr_idle_scan: AtomicU32::new(weight as u32),
        };
        let caches = (0..topology.cpus() / weight).map(|_| cache()).collect();
        Linux { rules, caches }
    });
}

/// Linux's surroundings, if they are in force: not on one CPU, where there is nothing to choose.
pub(crate) fn linux() -> Option<&'static Linux> {
    LINUX.get()
}

impl Linux {
    fn cache(&self, cpu: usize) -> &Cache {
        &self.caches[cpu / cpu::topology().llc(cpu).weight]
    }

    pub(super) fn has_idle_cores(&self, cpu: usize) -> bool {
        self.cache(cpu).has_idle_cores.load(Ordering::Relaxed)
    }

    pub(super) fn nr_idle_scan(&self, cpu: usize) -> u32 {
        self.cache(cpu).nr_idle_scan.load(Ordering::Relaxed)
    }

    /// A search found no idle core.
    pub(super) fn no_idle_cores(&self, cpu: usize) {
        self.cache(cpu).has_idle_cores.store(false, Ordering::Relaxed);
    }

    /// A CPU goes idle: perhaps its whole core does (Linux: `update_idle_core`).
    pub(super) fn note_idle(&self, this: &Cpu) {
        let (this, topology) = (this.id as usize, cpu::topology());
        if !topology.has_smt() || self.has_idle_cores(this) {
            return;
        }
        let is_idle = |cpu: usize| cpu == this || cpu::all()[cpu].is_idle();
        if topology.core(this).cpus().all(is_idle) {
            self.cache(this).has_idle_cores.store(true, Ordering::Relaxed);
        }
    }

    /// Sets how far searches may go in a CPU's cache, from how much its CPUs are used: whenever the
    /// cache is balanced, but for a CPU that ran dry; without balancing on the ticks of its first CPU.
    pub(super) fn update_budget(&self, cpu: &Cpu) {
        let llc = cpu::topology().llc(cpu.id as usize);
        let sum_util = llc.cpus().map(|cpu| cpu::all()[cpu].seen.util()).sum();
        let scan = budget::nr_idle_scan(sum_util, llc.weight as u32, Level::Llc.imbalance_pct());
        self.cache(llc.first).nr_idle_scan.store(scan, Ordering::Relaxed);
    }
}
