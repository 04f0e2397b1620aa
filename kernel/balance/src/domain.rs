//! What a CPU remembers of a scheduling domain: when it tried, how often in vain, what it cost.
//!
//! Times are in ticks (jiffies), as in Linux: a CPU balances at ticks, so nothing finer is of use.

use crate::newidle::NewidleRate;
use crate::view::Idle;
use placement::Topology;
use placement::topology::{Domain, Level};

/// The longest interval of a domain whose tasks are all pinned, ms.
const MAX_PINNED_INTERVAL_MS: u64 = 512;
/// How often the cost of looking for work fades, s.
const COST_DECAY_S: u64 = 1;

/// What an attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Tasks were moved.
    Moved,
    /// There is nothing to move.
    Balanced,
    /// There was, but nothing could be moved.
    Failed,
    /// Nothing could be moved, so the running task is pushed.
    Pushed,
    /// All that could be moved is pinned.
    Pinned,
}

/// A CPU's state of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainState {
    last_tick: u64,
    interval_ms: u64,
    failed: u32,
    max_newidle_cost_ns: u64,
    decayed_tick: u64,
    newidle_rate: NewidleRate,
}

impl DomainState {
    /// Of a domain that never was balanced.
    pub fn new(domain: &Domain) -> Self {
        Self {
            last_tick: 0,
            interval_ms: domain.min_interval_ms(),
            failed: 0,
            max_newidle_cost_ns: 0,
            decayed_tick: 0,
            newidle_rate: NewidleRate::new(),
        }
    }

    /// Attempts in vain since the last one that moved something (`nr_balance_failed`).
    pub fn failed(&self) -> u32 {
        self.failed
    }

    /// When it is to be balanced next.
    pub fn next_tick(&self, is_busy: bool, hz: u64, cpus: u64) -> u64 {
        self.last_tick + self.interval_ticks(is_busy, hz, cpus)
    }

    /// It is balanced now.
    pub fn begin(&mut self, tick: u64) {
        self.last_tick = tick;
    }

    fn interval_ticks(&self, is_busy: bool, hz: u64, cpus: u64) -> u64 {
        let factor = if is_busy { Domain::BUSY_FACTOR } else { 1 };
        let ticks = (self.interval_ms * factor * hz).div_ceil(1000);
        // One less, so that busy CPUs do not all balance at the ticks at which idle ones do.
        let ticks = ticks - u64::from(is_busy && ticks > 0);
        ticks.clamp(1, (hz * cpus / 10).max(1))
    }

    /// Takes in what an attempt came to.
    pub fn end(&mut self, domain: &Domain, idle: Idle, outcome: Outcome) {
        match outcome {
            Outcome::Moved => {
                self.failed = 0;
                self.interval_ms = domain.min_interval_ms();
            }
            Outcome::Balanced => {
                self.failed = 0;
                self.grow(domain.max_interval_ms(), idle);
            }
            // One that runs dry looks as often as it runs dry; that says nothing.
            Outcome::Failed => {
                self.failed += u32::from(idle != Idle::Newly);
                self.interval_ms = domain.min_interval_ms();
            }
            Outcome::Pushed => {
                self.failed = domain.level.cache_nice_tries() + 1;
                self.interval_ms = domain.min_interval_ms();
            }
            Outcome::Pinned => self.grow(MAX_PINNED_INTERVAL_MS, idle),
        }
    }

    fn grow(&mut self, limit_ms: u64, idle: Idle) {
        if idle != Idle::Newly && self.interval_ms < limit_ms {
            self.interval_ms *= 2;
        }
    }

    /// Whether, after an attempt that moved nothing, a task that runs should be pushed: tasks are
    /// to be moved and others have been tried for long (`nr_balance_failed`), or real-time tasks
    /// leave the only one there too little.
    pub fn needs_push(
        &self,
        domain: &Domain,
        idle: Idle,
        moves_tasks: bool,
        source: &crate::CpuView,
        capacity_here: u64,
    ) -> bool {
        let is_squeezed =
            source.capacity * u64::from(domain.level.imbalance_pct()) < capacity_here * 100;
        // This attempt failed too.
        let failed = self.failed + u32::from(idle != Idle::Newly);
        idle != Idle::No && source.nr_runnable == 1 && is_squeezed
            || moves_tasks && failed > domain.level.cache_nice_tries() + 2
    }

    /// How often looking for work in this domain finds some.
    pub fn newidle_rate(&mut self) -> &mut NewidleRate {
        &mut self.newidle_rate
    }

    /// What looking for work in this domain takes at most, by experience.
    pub fn newidle_cost_ns(&self) -> u64 {
        self.max_newidle_cost_ns
    }

    /// Looking took so long.
    pub fn note_newidle_cost(&mut self, ns: u64) {
        self.max_newidle_cost_ns = self.max_newidle_cost_ns.max(ns);
    }

    /// Lets the experience fade: by 1 % each second.
    pub fn decay_newidle_cost(&mut self, tick: u64, hz: u64) {
        if tick > self.decayed_tick + COST_DECAY_S * hz {
            self.max_newidle_cost_ns = self.max_newidle_cost_ns * 253 / 256;
            self.decayed_tick = tick;
        }
    }
}

/// Whether it is this CPU that balances its group against the others of a domain: the first idle
/// one, on an idle core if there is one, or the first one if none is idle. One that runs dry
/// always looks for itself.
pub fn should_balance(
    topology: &Topology,
    domain: &Domain,
    this: usize,
    idle: Idle,
    is_idle: impl Fn(usize) -> bool,
) -> bool {
    if idle == Idle::Newly {
        return true;
    }
    let group = domain.group_of(this);
    let wants_core = topology.has_smt() && domain.level != Level::Smt;
    let mut thread = None;
    for cpu in group.cpus().filter(|&cpu| is_idle(cpu)) {
        if !wants_core || topology.core(cpu).cpus().all(&is_idle) {
            return cpu == this;
        }
        thread = thread.or(Some(cpu));
    }
    thread.unwrap_or(group.first) == this
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi::TopologySpec;
    use placement::topology::Span;

    fn domain(weight: usize) -> Domain {
        Domain { level: Level::Llc, span: Span { first: 0, weight }, group_weight: 1 }
    }

    #[test]
    fn busy_cpus_wait_sixteen_times_as_long() {
        let state = DomainState::new(&domain(4));
        assert_eq!(state.next_tick(false, 1000, 4), 4);
        assert_eq!(state.next_tick(true, 1000, 4), 63);
        assert_eq!(state.next_tick(true, 250, 4), 15);
        // At least a tick, at most a tenth of a second for each CPU.
        assert_eq!(state.next_tick(false, 10, 4), 1);
        let wide = DomainState::new(&domain(64));
        assert_eq!(wide.next_tick(true, 1000, 4), 400);
    }

    #[test]
    fn intervals_double_while_nothing_is_to_do() {
        let domain = domain(4);
        let mut state = DomainState::new(&domain);
        let mut after = |outcome, idle| {
            state.end(&domain, idle, outcome);
            state.next_tick(false, 1000, 4)
        };
        assert_eq!(after(Outcome::Balanced, Idle::Newly), 4);
        assert_eq!(after(Outcome::Balanced, Idle::Yes), 8);
        assert_eq!(after(Outcome::Balanced, Idle::Yes), 8);
        assert_eq!(after(Outcome::Moved, Idle::Yes), 4);
        for expected in [8, 16, 32, 64, 128, 256, 400, 400] {
            assert_eq!(after(Outcome::Pinned, Idle::Yes), expected, "512 ms at the most");
        }
    }

    #[test]
    fn a_push_comes_after_three_failures() {
        let domain = domain(2);
        let source = crate::CpuView { nr_runnable: 2, capacity: 1024, ..Default::default() };
        let mut state = DomainState::new(&domain);
        for failed in 0..3 {
            assert!(!state.needs_push(&domain, Idle::Yes, true, &source, 1024), "{failed}");
            state.end(&domain, Idle::Yes, Outcome::Failed);
        }
        assert!(state.needs_push(&domain, Idle::Yes, true, &source, 1024));
        assert!(!state.needs_push(&domain, Idle::Yes, false, &source, 1024));
        state.end(&domain, Idle::Yes, Outcome::Pushed);
        assert_eq!(state.failed(), 2);
        let squeezed = crate::CpuView { nr_runnable: 1, capacity: 800, ..source };
        assert!(state.needs_push(&domain, Idle::Newly, false, &squeezed, 1024));
        assert!(!state.needs_push(&domain, Idle::No, false, &squeezed, 1024));
    }

    #[test]
    fn one_cpu_of_a_group_balances() {
        let spec = TopologySpec { core: 2, cluster: 2, llc: 8, package: 8 };
        let topology = Topology::new(spec, 8);
        let span = Span { first: 0, weight: 8 };
        let domain = Domain { level: Level::Package, span, group_weight: 8 };
        let balancers = |idle: &[usize]| {
            (0..8).find(|&cpu| {
                let state = if idle.contains(&cpu) { Idle::Yes } else { Idle::No };
                should_balance(&topology, &domain, cpu, state, |cpu| idle.contains(&cpu))
            })
        };
        assert_eq!(balancers(&[]), Some(0));
        assert_eq!(balancers(&[3, 5]), Some(3), "no idle core");
        assert_eq!(balancers(&[3, 6, 7]), Some(6), "an idle core");
    }

    #[test]
    fn experience_fades() {
        let mut state = DomainState::new(&domain(2));
        state.note_newidle_cost(25_600);
        state.note_newidle_cost(100);
        state.decay_newidle_cost(1000, 1000);
        assert_eq!(state.newidle_cost_ns(), 25_600);
        state.decay_newidle_cost(1001, 1000);
        assert_eq!(state.newidle_cost_ns(), 25_300);
    }
}
