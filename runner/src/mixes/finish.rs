//! When a given amount of work was done: every task notes its end.

use crate::{
    records::Records,
    workload::{Better, Goal, Reading, Workload},
};
use abi::{Op, program::Since};

/// The end of all tasks of a mix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finish(Goal);

impl Finish {
    /// The end of so many tasks; measured in seconds as `time`.
    pub(super) fn of(load: &mut Workload, tasks: u64) -> Self {
        let goal =
            Goal { what: "tasks finished", histogram: load.shared.histogram(), times: tasks };
        load.goals.push(goal);
        load.measure("time", "s", Better::Lower, Reading::Reached(goal), 1e9);
        Self(goal)
    }

    /// What each task does last.
    pub(super) fn note(self) -> Op {
        Op::Measure { since: Since::Start, histogram: self.0.histogram }
    }

    /// As a reading: the time of the last end, ns.
    pub(super) fn reading(self) -> Reading {
        Reading::Reached(self.0)
    }

    /// When the last task ended, ns. Printed only for runs in which all did.
    pub(super) fn time_ns(self, records: &Records) -> u64 {
        self.0.reached_ns(records).unwrap_or(records.total.elapsed_ns)
    }
}
