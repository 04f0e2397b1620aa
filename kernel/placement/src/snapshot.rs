//! What the choices look at, seen from outside.

/// The CPUs as their neighbours see them: without locks, so each answer may be a moment old. Only
/// what a choice looks at is read.
pub trait Snapshot {
    /// Whether the CPU idles, nobody is queued there, not even to wait out a debt, and nobody is
    /// on its wake list (Linux: `idle_cpu`).
    fn is_idle(&self, cpu: usize) -> bool;
    /// Whether it has tasks and all of them are SCHED_IDLE (Linux: `sched_idle_cpu`).
    fn is_sched_idle(&self, cpu: usize) -> bool;
    /// How many tasks are queued there or run, those that wait out a debt included.
    fn nr_queued(&self, cpu: usize) -> u32;
    /// How many of these only wait out a debt.
    fn nr_delayed(&self, cpu: usize) -> u32;
    /// Average load of its queue, with what those add that sleep since they ran there; 1024 is one task
    /// of nice 0 that always wants to run.
    fn load(&self, cpu: usize) -> u64;
    /// How much of it was used of late; 1024 is all.
    fn util(&self, cpu: usize) -> u64;
    /// 1024 for each task that wanted to run of late.
    fn runnable(&self, cpu: usize) -> u64;
    /// Since when it idles, ns.
    fn idle_since_ns(&self, cpu: usize) -> u64;
    /// Whether a core of this CPU's last-level cache may be idle altogether.
    fn has_idle_cores(&self, cpu: usize) -> bool;
    /// How many CPUs of this CPU's last-level cache are worth looking at ([`crate::budget`]).
    fn nr_idle_scan(&self, cpu: usize) -> u32;

    /// Whether a wakee can have the CPU at once: nobody is there, or only SCHED_IDLE.
    fn is_available(&self, cpu: usize) -> bool {
        self.is_idle(cpu) || self.is_sched_idle(cpu)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use abi::{CpuSet, MAX_CPUS};
    use core::cell::RefCell;

    /// CPUs set up by hand; all idle unless said otherwise. Notes who was asked about.
    pub(crate) struct Cpus {
        pub(crate) queued: [u32; MAX_CPUS],
        pub(crate) delayed: [u32; MAX_CPUS],
        pub(crate) load: [u64; MAX_CPUS],
        pub(crate) sched_idle: CpuSet,
        pub(crate) idle_since_ns: [u64; MAX_CPUS],
        pub(crate) has_idle_cores: bool,
        pub(crate) nr_idle_scan: u32,
        asked: RefCell<[u16; 256]>,
        count: RefCell<usize>,
    }

    impl Cpus {
        pub(crate) fn idle() -> Self {
            Self {
                queued: [0; MAX_CPUS],
                delayed: [0; MAX_CPUS],
                load: [0; MAX_CPUS],
                sched_idle: CpuSet::EMPTY,
                idle_since_ns: [0; MAX_CPUS],
                has_idle_cores: false,
                nr_idle_scan: u32::MAX - 1,
                asked: RefCell::new([0; 256]),
                count: RefCell::new(0),
            }
        }

        /// The CPUs have one task each.
        pub(crate) fn busy(mut self, cpus: impl IntoIterator<Item = usize>) -> Self {
            for cpu in cpus {
                self.queued[cpu] = 1;
                self.load[cpu] = 1024;
            }
            self
        }

        /// Checks about whom it was asked whether they idle since the last time, in order.
        pub(crate) fn assert_asked(&self, expected: &[u16]) {
            let count = self.count.take();
            assert_eq!(&self.asked.borrow()[..count], expected);
        }
    }

    impl Snapshot for Cpus {
        fn is_idle(&self, cpu: usize) -> bool {
            let mut count = self.count.borrow_mut();
            self.asked.borrow_mut()[*count] = cpu as u16;
            *count += 1;
            self.queued[cpu] == 0
        }
        fn is_sched_idle(&self, cpu: usize) -> bool {
            self.sched_idle.contains(cpu)
        }
        fn nr_queued(&self, cpu: usize) -> u32 {
            self.queued[cpu]
        }
        fn nr_delayed(&self, cpu: usize) -> u32 {
            self.delayed[cpu]
        }
        fn load(&self, cpu: usize) -> u64 {
            self.load[cpu]
        }
        fn util(&self, cpu: usize) -> u64 {
            self.load[cpu].min(1024)
        }
        fn runnable(&self, cpu: usize) -> u64 {
            u64::from(self.queued[cpu]) * 1024
        }
        fn idle_since_ns(&self, cpu: usize) -> u64 {
            self.idle_since_ns[cpu]
        }
        fn has_idle_cores(&self, _: usize) -> bool {
            self.has_idle_cores
        }
        fn nr_idle_scan(&self, _: usize) -> u32 {
            self.nr_idle_scan
        }
    }
}
