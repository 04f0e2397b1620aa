//! What the machine's own doings take, where the scenario says that they take anything.
//!
//! The kernel acts in no time under the virtual clock, and a thing that takes time cannot simply
//! let it pass where it happens: the CPU would be ahead of the others, who act in the order of
//! their times, and hold locks meanwhile. So what it takes is a debt of the CPU ([`Debt`]), paid as
//! soon as time may pass there again:
//!
//! | who is on the CPU | how |
//! | --- | --- |
//! | a task in its program | computes that long before its next operation |
//! | a task that computes | that much longer; not if it computes up to a time of the clock, or forever |
//! | nobody | idles that much later, and so is awake later if asked to within that time ([`crate::sched`]'s `idle.rs`) |
//!
//! The task is charged, as in a kernel that does not account for interrupts apart. What a task
//! owes when it blocks the next one pays: it is the CPU that was busy.
//!
//! A runqueue's lock is modelled by the time until which somebody has it ([`LockTaken`]): another
//! CPU that comes earlier waits.

use crate::cpu::{self, Cpu};
use crate::run;
use abi::Cost;
use abi::record::Wakeups;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// What a CPU owes, ns. Relaxed: its own, and written with interrupts off.
#[derive(Debug, Default)]
pub(crate) struct Debt(AtomicU64);

impl Debt {
    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    fn add(&self, ns: u64) {
        self.0.store(self.get() + ns, Relaxed);
    }

    /// What is to be paid now.
    #[inline]
    pub(crate) fn take(&self) -> u64 {
        let owed = self.get();
        if owed > 0 {
            self.0.store(0, Relaxed);
        }
        owed
    }
}

/// Who had a runqueue's lock last, and until when. Relaxed: under that lock.
#[derive(Debug, Default)]
pub(crate) struct LockTaken {
    by: AtomicU32,
    until_ns: AtomicU64,
}

impl LockTaken {
    /// `cpu` asks at `asks_ns` and keeps it for `takes_ns`; returns how long it waits. A CPU does
    /// not wait for itself: what it does under the lock one after the other takes no time here.
    fn take(&self, cpu: u32, asks_ns: u64, takes_ns: u64) -> u64 {
        let until_ns = self.until_ns.load(Relaxed);
        let waits_ns = match self.by.swap(cpu, Relaxed) == cpu {
            true => 0,
            false => until_ns.saturating_sub(asks_ns),
        };
        self.until_ns.store(until_ns.max(asks_ns + waits_ns + takes_ns), Relaxed);
        waits_ns
    }
}

/// Whether anything costs anything.
pub(crate) fn are_charged() -> bool {
    run::config().costs.is_some()
}

/// What one of them is, ns.
pub(crate) fn of(cost: Cost) -> u64 {
    run::config().costs.as_ref().map_or(0, |costs| u64::from(costs[cost]))
}

impl Cpu {
    /// The run begins on this CPU: what came before counts for nothing.
    pub(crate) fn forget_costs(&self) {
        self.debt.take();
        self.local.with(|local| local.wakeups = Wakeups::none(self.id));
    }

    /// This CPU has that cost, so often. It is the executing one.
    #[inline]
    pub(crate) fn owe(&self, cost: Cost, times: u64) {
        if are_charged() {
            self.owe_ns(of(cost) * times);
        }
    }

    #[cold]
    fn owe_ns(&self, ns: u64) {
        if ns > 0 {
            self.debt.add(ns);
            self.local.with(|local| local.wakeups.cost_ns += ns);
        }
    }

    /// This CPU, the executing one, got the lock of `target`'s runqueue at `now`: it waits for those
    /// who had it before, and others for it.
    #[inline]
    pub(crate) fn owe_lock(&self, target: &Cpu, now: u64) {
        if are_charged() {
            self.wait_for_lock(target, now);
        }
    }

    #[cold]
    fn wait_for_lock(&self, target: &Cpu, now: u64) {
        let is_remote = target.id != self.id;
        let fetch_ns = if is_remote { of(Cost::RqLockRemote) } else { 0 };
        let hold_ns = of(Cost::RqLockHold);
        let asks_ns = now + self.debt.get();
        let waited_ns = target.lock_taken.take(self.id, asks_ns, fetch_ns + hold_ns);
        self.owe_ns(waited_ns + fetch_ns);
        self.local.with(|local| local.wakeups.contended_ns += waited_ns);
    }

    /// A task that ran on `last` before gets this CPU, the executing one.
    #[inline]
    pub(crate) fn owe_cold_caches(&self, last: u32) {
        if are_charged() {
            let is_near = cpu::topology().shares_cache(last as usize, self.id as usize);
            self.owe_ns(of(if is_near { Cost::CacheColdLlc } else { Cost::CacheColdFar }));
        }
    }
}
