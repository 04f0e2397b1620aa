//! What is seen of a CPU without its lock, and in what state the one that looks is.

/// One CPU, as of a moment ago.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuView {
    /// Fair tasks that want to run, the running one included (`h_nr_runnable`).
    pub nr_runnable: u32,
    /// Whether nothing runs and nothing wants to, of any class.
    pub is_idle: bool,
    /// Average load of its fair tasks; 1024 is one of nice 0.
    pub load: u64,
    /// Average number of fair tasks that want to run, times 1024.
    pub runnable: u64,
    /// Average part of the time that fair tasks run, of 1024.
    pub util: u64,
    /// What real-time tasks leave of it, of 1024; at least 1.
    pub capacity: u64,
}

impl CpuView {
    /// The capacity of a CPU that no real-time task uses.
    pub const WHOLE: u64 = 1024;
}

/// Whether the CPU that balances has work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// It has.
    No,
    /// It has none, and its tick came (`CPU_IDLE`).
    Yes,
    /// It ran dry just now (`CPU_NEWLY_IDLE`).
    Newly,
}
