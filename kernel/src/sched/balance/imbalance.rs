//! Groups of CPUs within which pinned tasks are in the way (Linux: `sgc->imbalance`).
//!
//! Two tasks that may run on one CPU of a group only leave it unbalanced while its sum looks right.
//! Whoever balances within it and cannot move what should be moved notes that; whoever balances
//! between groups takes a task from such a one, whatever the numbers say.
//!
//! Hints, Relaxed: whoever acts on one looks at the queues.

use abi::MAX_CPUS;
use core::sync::atomic::{AtomicBool, Ordering};
use placement::Topology;
use placement::topology::{Domain, Level};

/// By the domain that the groups are of, and their first CPU.
static NOTED: [[AtomicBool; MAX_CPUS]; Level::ALL.len()] =
    [const { [const { AtomicBool::new(false) }; MAX_CPUS] }; Level::ALL.len()];

/// Whether the group of `domain` that begins with a CPU is noted.
pub(super) fn is_noted(domain: &Domain, first: usize) -> bool {
    NOTED[domain.level as usize][first].load(Ordering::Relaxed)
}

/// Notes, or notes no more, that pinned tasks are in the way within a domain, which is a group of
/// the one above.
pub(super) fn note(topology: &Topology, domain: &Domain, is_hampered: bool) {
    let first = domain.span.first;
    let above = topology.domains(first).find(|above| above.span.weight > domain.span.weight);
    if let Some(above) = above {
        NOTED[above.level as usize][first].store(is_hampered, Ordering::Relaxed);
    }
}
