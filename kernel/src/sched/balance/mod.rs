//! Balancing: the mechanism around the `balance` policy.
//!
//! | file | what |
//! | --- | --- |
//! | `pass.rs` | one pass over a domain: find, detach, attach |
//! | `passes.rs` | what is counted of them |
//! | `periodic.rs` | which domains are due at a tick |
//! | `newidle.rs` | a CPU runs dry |
//! | `push.rs` | a task that runs is to go elsewhere |
//! | `imbalance.rs` | where pinned tasks are in the way |
//! | `nohz.rs` | balancing for CPUs whose tick is stopped |
//!
//! Life of a pass, on the CPU that balances, no lock held: what other CPUs show of themselves is
//! compared without locks; the source's runqueue is locked, tasks are taken off and marked as
//! migrating, it is released; the destination's is locked and they join. So two runqueues are never
//! held at once, and in between the tasks are in nobody's hands but this CPU's: who wakes one of
//! them meanwhile waits. [`State`] is a leaf among the locks.

mod imbalance;
mod newidle;
mod nohz;
mod pass;
mod passes;
mod periodic;
mod push;

pub(super) use newidle::newidle;
pub(crate) use nohz::on_kick;
pub(crate) use passes::Passes;
pub(super) use periodic::tick;
pub(crate) use push::NOBODY;
pub(super) use push::push;

use crate::cpu::Cpu;
use crate::run;
use ::balance::{AvgIdle, DomainState};
use alloc::{vec, vec::Vec};
use placement::{Topology, topology::Domain};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// What a CPU keeps for balancing.
#[derive(Debug)]
pub(crate) struct State {
    /// Its domains, from the bottom up.
    domains: Vec<(Domain, DomainState)>,
    /// What is counted of each.
    passes: Vec<Passes>,
    /// The first tick at which one of them may be due.
    next_tick: u64,
    avg_idle: AvgIdle,
    /// Throws the dice of NI_RANDOM.
    random: Xoshiro256PlusPlus,
    pub(crate) counters: Counters,
}

/// What is counted of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    /// Attempts at ticks, for itself, in any domain.
    pub(crate) attempts: u64,
    /// Those that found an imbalance and could move nothing.
    pub(crate) failed: u64,
    /// Tasks pulled when it ran dry.
    pub(crate) newidle_pulls: u64,
    /// Times it ran dry, looked, and found nothing.
    pub(crate) newidle_misses: u64,
    /// Running tasks that it asked others for.
    pub(crate) pushes: u64,
    /// Idle CPUs that it kicked.
    pub(crate) kicks: u64,
    /// Tasks spawned here that began elsewhere.
    pub(crate) forks: u64,
}

impl State {
    /// Of a CPU of that machine; what it throws follows from the seed.
    pub(crate) fn new(topology: &Topology, cpu: u32, seed: u64) -> Self {
        let domains = topology.domains(cpu as usize);
        let domains: Vec<_> = domains.map(|domain| (domain, DomainState::new(&domain))).collect();
        let passes = vec![Passes::default(); domains.len()];
        // Tasks have the small numbers, for their arrivals.
        let stream = u64::from(u32::MAX - cpu);
        let mut mix = SplitMix64::seed_from_u64(seed ^ stream << 32);
        Self {
            domains,
            passes,
            next_tick: 0,
            avg_idle: AvgIdle::new(),
            random: Xoshiro256PlusPlus::seed_from_u64(mix.next_u64()),
            counters: Counters::default(),
        }
    }

    /// What was counted of each domain, from the bottom up.
    pub(crate) fn passes(&self) -> impl Iterator<Item = Passes> + '_ {
        self.passes.iter().copied()
    }
}

impl Cpu {
    /// It idles from here on.
    pub(super) fn note_idle(&self, now_ns: u64) {
        self.balance.lock().avg_idle.begin(now_ns);
    }

    /// A wake-up gives it work.
    pub(super) fn note_work(&self, now_ns: u64) {
        self.balance.lock().avg_idle.end(now_ns);
    }
}

/// The number of the last tick that is not after a time.
fn tick_number(now_ns: u64) -> u64 {
    let since = u128::from(now_ns.saturating_sub(run::start_ns()));
    let hz = u128::from(run::config().hz);
    // Ticks are rounded down to the nanosecond; the inverse rounds up.
    ((since * hz + hz - 1) / 1_000_000_000) as u64
}
