//! What a machine's own doings take: costs that a kernel which merely decides does not have.
//!
//! All zero by default, so that a result shows the policy alone. A machine model on the host
//! names them; the guest lets them pass as time of the CPU that has them.

use core::ops::Index;
use serde::{Deserialize, Serialize};

/// One of the costs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cost {
    /// Sending a reschedule interrupt, for the sender.
    IpiSend,
    /// Taking one, for the CPU that is interrupted.
    IpiReceive,
    /// Fetching the lock and the queue of another CPU, beyond waiting for it.
    RqLockRemote,
    /// How long a queue's lock is kept: what whoever else asks for it then waits.
    RqLockHold,
    /// Looking at one CPU in a search for an idle one.
    IdleProbe,
    /// From the request to reschedule to the first task, on a CPU that idles.
    IdleExit,
    /// Filling caches after a move within the last-level cache, for the task that moved.
    CacheColdLlc,
    /// The same after a move to another one.
    CacheColdFar,
    /// Starting a deadline server, for the CPU that has a first fair task queued.
    DlServerStart,
    /// Stopping one, for the CPU that takes a last fair task off.
    DlServerStop,
    /// From the time that the slice timer is set to, to the choice that it causes, for the task
    /// that runs.
    SliceTimer,
}

impl Cost {
    /// All costs, in the order in which they are listed.
    pub const ALL: [Self; 11] = [
        Self::IpiSend,
        Self::IpiReceive,
        Self::RqLockRemote,
        Self::RqLockHold,
        Self::IdleProbe,
        Self::IdleExit,
        Self::CacheColdLlc,
        Self::CacheColdFar,
        Self::DlServerStart,
        Self::DlServerStop,
        Self::SliceTimer,
    ];

    /// Its name in files and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::IpiSend => "ipi_send",
            Self::IpiReceive => "ipi_receive",
            Self::RqLockRemote => "rq_lock_remote",
            Self::RqLockHold => "rq_lock_hold",
            Self::IdleProbe => "idle_probe",
            Self::IdleExit => "idle_exit",
            Self::CacheColdLlc => "cache_cold_llc",
            Self::CacheColdFar => "cache_cold_far",
            Self::DlServerStart => "dl_server_start",
            Self::DlServerStop => "dl_server_stop",
            Self::SliceTimer => "slice_timer",
        }
    }

    /// What it is, in a line.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::IpiSend => "sending a reschedule interrupt, for the sender",
            Self::IpiReceive => "taking one, for the CPU that is interrupted",
            Self::RqLockRemote => "fetching another CPU's runqueue and its lock",
            Self::RqLockHold => {
                "how long a runqueue's lock is kept, which others that ask for it wait"
            }
            Self::IdleProbe => "looking at one CPU in a search for an idle one",
            Self::IdleExit => "from the request to the first task, on a CPU that idles",
            Self::CacheColdLlc => "filling caches after a move within the last-level cache",
            Self::CacheColdFar => "filling caches after a move to another last-level cache",
            Self::DlServerStart => {
                "starting a deadline server, for whoever queues a first fair task"
            }
            Self::DlServerStop => "stopping one, for whoever takes the last fair task off",
            Self::SliceTimer => "from the end of a slice that HRTICK timed to the next choice",
        }
    }

    /// The cost of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cost| cost.name() == name)
    }
}

/// The costs of a machine, ns each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Costs([u32; Cost::ALL.len()]);

impl Costs {
    /// The highest that a single one can be, ns.
    pub const MAX_NS: u32 = 1_000_000;

    /// The same with another figure for one of them, in ns.
    #[must_use]
    pub const fn with(mut self, cost: Cost, ns: u32) -> Self {
        self.0[cost as usize] = ns;
        self
    }

    /// Whether nothing costs anything.
    pub fn is_free(&self) -> bool {
        *self == Self::default()
    }
}

impl Index<Cost> for Costs {
    type Output = u32;

    fn index(&self, cost: Cost) -> &u32 {
        &self.0[cost as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cost_has_a_name_and_a_place_of_its_own() {
        let mut costs = Costs::default();
        assert!(costs.is_free());
        for (cost, ns) in Cost::ALL.into_iter().zip(1..) {
            assert_eq!(Cost::parse(cost.name()), Some(cost));
            costs = costs.with(cost, ns);
        }
        assert_eq!(Cost::ALL.map(|cost| costs[cost]), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        assert_eq!(Cost::parse("ipi"), None);
    }
}
