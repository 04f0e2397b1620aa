//! Wasted core time: a CPU idles while a task that may run on it waits on another one.
//!
//! Every change of who idles and who waits is noted at its time, so under the virtual clock the
//! result is exact. What waits is counted by the set of CPUs that it may run on; scenarios have few
//! different sets.
//!
//! [`Waste`] is a leaf among the locks, and taken only while somebody idles and somebody waits.

use crate::arch::ThisCpu;
use crate::cpu;
use abi::{CpuSet, MAX_CPUS, Scenario};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use ksync::IrqLock;
use spin::Once;

/// Number of a set of CPUs among the different ones that tasks may run on.
pub(crate) type SetId = u32;

static SETS: Once<Box<[Set]>> = Once::new();
/// By number of a set that the programs name.
static OF_PROGRAMS: Once<Box<[SetId]>> = Once::new();
/// Tasks that wait, whatever their set.
static NR_WAITING: AtomicU32 = AtomicU32::new(0);
/// Whether time is being wasted at this moment; a copy for those without the lock.
static IS_WASTING: AtomicBool = AtomicBool::new(false);
static WASTE: IrqLock<Waste, ThisCpu> = IrqLock::new(Waste::NONE);

struct Set {
    cpus: CpuSet,
    /// How many tasks with this set wait.
    waiting: AtomicU32,
}

struct Waste {
    at_ns: u64,
    idle_in_vain: CpuSet,
    total_ns: u64,
    by_cpu: [OfCpu; MAX_CPUS],
}

/// Time in which one CPU idled in vain.
#[derive(Clone, Copy)]
pub(crate) struct OfCpu {
    /// All of it.
    pub(crate) total_ns: u64,
    /// The longest without a break.
    pub(crate) longest_ns: u64,
    /// So far without a break.
    current_ns: u64,
}

impl Waste {
    const NONE: Self = Self {
        at_ns: 0,
        idle_in_vain: CpuSet::EMPTY,
        total_ns: 0,
        by_cpu: [OfCpu { total_ns: 0, longest_ns: 0, current_ns: 0 }; MAX_CPUS],
    };

    /// Accounts for the time since the last change.
    fn pass(&mut self, now_ns: u64) {
        // Under the real clock CPUs may come here in another order than their times say.
        let ns = now_ns.saturating_sub(self.at_ns);
        self.at_ns += ns;
        if !self.idle_in_vain.is_empty() {
            self.total_ns += ns;
            for cpu in self.idle_in_vain.iter() {
                let of = &mut self.by_cpu[cpu];
                of.total_ns += ns;
                of.current_ns += ns;
                of.longest_ns = of.longest_ns.max(of.current_ns);
            }
        }
    }

    /// From here on these do.
    fn set(&mut self, idle_in_vain: CpuSet) {
        for cpu in self.idle_in_vain.iter().filter(|&cpu| !idle_in_vain.contains(cpu)) {
            self.by_cpu[cpu].current_ns = 0;
        }
        self.idle_in_vain = idle_in_vain;
    }
}

/// Numbers the scenario's sets of CPUs. Once, before tasks exist.
pub(crate) fn init(scenario: &Scenario) {
    let here = CpuSet::first(scenario.cpus as usize);
    let mut sets: Vec<CpuSet> = Vec::new();
    let mut number = |set: &CpuSet| {
        let set = set.intersection(&here);
        let known = sets.iter().position(|known| *known == set);
        known.unwrap_or_else(|| {
            sets.push(set);
            sets.len() - 1
        }) as SetId
    };
    OF_PROGRAMS.call_once(|| scenario.resources.cpu_sets.iter().map(&mut number).collect());
    for task in &scenario.tasks {
        number(&task.affinity);
    }
    let set = |cpus| Set { cpus, waiting: AtomicU32::new(0) };
    SETS.call_once(|| sets.into_iter().map(set).collect());
}

fn sets() -> &'static [Set] {
    SETS.get().expect("sets are numbered before tasks exist")
}

/// How many different sets there are.
pub(crate) fn nr_sets() -> usize {
    sets().len()
}

/// The number of a set of CPUs that are there.
pub(crate) fn set_id(cpus: &CpuSet) -> SetId {
    let position = sets().iter().position(|set| set.cpus == *cpus);
    position.expect("all sets of the scenario are numbered") as SetId
}

/// The number of a set that the programs name.
pub(crate) fn program_set_id(set: u32) -> SetId {
    OF_PROGRAMS.get().expect("sets are numbered before tasks exist")[set as usize]
}

/// What a queue has told of those that wait in it.
#[derive(Debug)]
pub(crate) struct Told {
    /// Fair tasks that want to run, by set.
    runnable: Box<[u32]>,
    /// How many of them were told to wait.
    waiting: Box<[u32]>,
    was_idle: bool,
}

impl Told {
    /// Of a queue on which nobody is.
    pub(crate) fn new() -> Self {
        let none = || core::iter::repeat_n(0, nr_sets()).collect();
        Self { runnable: none(), waiting: none(), was_idle: true }
    }

    /// A task of that set wants to run here.
    pub(crate) fn joins(&mut self, set: SetId) {
        self.runnable[set as usize] += 1;
    }

    /// It does not any more.
    pub(crate) fn leaves(&mut self, set: SetId) {
        self.runnable[set as usize] -= 1;
    }

    /// Tells who waits here, other than one of `curr` that runs, from `now_ns` on. `is_busy` if
    /// somebody runs; else whoever is here is about to.
    pub(crate) fn tell(&mut self, curr: Option<SetId>, is_busy: bool, is_idle: bool, now_ns: u64) {
        let mut is_changed = core::mem::replace(&mut self.was_idle, is_idle) != is_idle;
        for (number, (runnable, told)) in self.runnable.iter().zip(&mut self.waiting).enumerate() {
            let runs = u32::from(curr == Some(number as SetId));
            let waiting = if is_busy { runnable - runs } else { 0 };
            if waiting != *told {
                let change = waiting.wrapping_sub(*told);
                // Relaxed: sums; under the virtual clock CPUs act one at a time.
                sets()[number].waiting.fetch_add(change, Ordering::Relaxed);
                NR_WAITING.fetch_add(change, Ordering::Relaxed);
                *told = waiting;
                is_changed = true;
            }
        }
        if is_changed
            && (IS_WASTING.load(Ordering::Relaxed) || NR_WAITING.load(Ordering::Relaxed) > 0)
        {
            look(now_ns);
        }
    }
}

/// Looks who idles in vain from `now_ns` on.
fn look(now_ns: u64) {
    let idle = cpu::idle();
    if idle.is_empty() && !IS_WASTING.load(Ordering::Relaxed) {
        return;
    }
    let mut waste = WASTE.lock();
    waste.pass(now_ns);
    let mut wanted = CpuSet::EMPTY;
    for set in sets().iter().filter(|set| set.waiting.load(Ordering::Relaxed) > 0) {
        for cpu in set.cpus.intersection(&idle).iter() {
            wanted.insert(cpu);
        }
    }
    IS_WASTING.store(!wanted.is_empty(), Ordering::Relaxed);
    waste.set(wanted);
}

/// The run ends.
pub(crate) fn end(now_ns: u64) {
    WASTE.lock().pass(now_ns);
}

/// Time in which any CPU idled in vain.
pub(crate) fn total_ns() -> u64 {
    WASTE.lock().total_ns
}

/// Time in which that CPU did.
pub(crate) fn of_cpu(cpu: u32) -> OfCpu {
    WASTE.lock().by_cpu[cpu as usize]
}
