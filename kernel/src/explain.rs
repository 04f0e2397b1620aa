//! Decisions with all that led to them, for a window of time.
//!
//! Kept in memory that is set aside before the run, and sent after it: so that "why did this
//! task run" has an answer, and asking changes nothing. What finds no room is counted.

use crate::run;
use abi::Explain;
use abi::record::{Candidate, Flag, Pick, PickReason, Record};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use eevdf::{EntityId, Node, RunQueue};

/// Candidates kept per decision, on average; most queues are short.
const CANDIDATES_PER_PICK: usize = 8;

/// One CPU's decisions.
pub(crate) struct Decisions {
    window: Explain,
    picks: Vec<Pick>,
    candidates: Vec<Candidate>,
    lost: u64,
}

/// The state of a queue before a decision.
pub(crate) struct Before {
    at_ns: u64,
    avg_vruntime: u64,
    first_candidate: usize,
}

impl Decisions {
    /// Memory for one CPU's decisions.
    pub(crate) fn new(window: Explain) -> Self {
        let limit = window.limit as usize;
        Self {
            window,
            picks: Vec::with_capacity(limit),
            candidates: Vec::with_capacity(limit * CANDIDATES_PER_PICK),
            lost: 0,
        }
    }

    /// What memory one CPU's decisions take.
    pub(crate) fn bytes(window: &Explain) -> usize {
        let per_pick = size_of::<Pick>() + CANDIDATES_PER_PICK * size_of::<Candidate>();
        window.limit as usize * per_pick
    }

    /// How many found no room.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Looks at a queue that is about to be asked at `clock_ns`.
    pub(crate) fn before(&mut self, clock_ns: u64, fair: &RunQueue<Box<[Node]>>) -> Option<Before> {
        let at_ns = clock_ns.checked_sub(run::start_ns())?;
        if !(self.window.from_ns..self.window.to_ns).contains(&at_ns) {
            return None;
        }
        let room = self.candidates.capacity() - self.candidates.len();
        if self.picks.len() == self.picks.capacity() || fair.nr_queued() as usize > room {
            self.lost += 1;
            return None;
        }
        let first_candidate = self.candidates.len();
        self.candidates.extend(fair.queued().filter_map(|id| candidate(fair, id)));
        Some(Before { at_ns, avg_vruntime: fair.avg_vruntime(), first_candidate })
    }

    /// Keeps the answer.
    pub(crate) fn after(
        &mut self,
        cpu: u32,
        before: Before,
        id: EntityId,
        reason: eevdf::PickReason,
    ) {
        let candidates = &self.candidates[before.first_candidate..];
        self.picks.push(Pick {
            cpu,
            at_ns: before.at_ns,
            task: id.0,
            reason: reason_of(reason, id, candidates),
            avg_vruntime: before.avg_vruntime,
            candidates: candidates.len() as u32,
        });
    }

    /// Forgets what was seen before an answer that chose nobody.
    pub(crate) fn forget(&mut self, before: &Before) {
        self.candidates.truncate(before.first_candidate);
    }

    /// Sends all of it.
    pub(crate) fn send(&self, send: &mut dyn FnMut(Record) -> fmt::Result) -> fmt::Result {
        let mut candidates = self.candidates.iter();
        for pick in &self.picks {
            send(Record::Pick(*pick))?;
            for candidate in candidates.by_ref().take(pick.candidates as usize) {
                send(Record::Candidate(*candidate))?;
            }
        }
        Ok(())
    }
}

fn candidate(fair: &RunQueue<Box<[Node]>>, id: EntityId) -> Option<Candidate> {
    let entity = fair.entity(id)?;
    let flag = |is: bool| if is { Flag::Yes } else { Flag::No };
    Some(Candidate {
        task: id.0,
        vruntime: entity.vruntime(),
        deadline: entity.deadline(),
        lag_ns: fair.lag(id)?,
        slice_ns: entity.slice_ns(),
        weight: entity.weight(),
        eligible: flag(fair.is_eligible(id)),
        delayed: flag(fair.is_delayed(id)),
    })
}

fn reason_of(reason: eevdf::PickReason, id: EntityId, candidates: &[Candidate]) -> PickReason {
    match reason {
        eevdf::PickReason::Only => PickReason::Only,
        eevdf::PickReason::Buddy => PickReason::Buddy,
        eevdf::PickReason::Protected => PickReason::Protected,
        eevdf::PickReason::EarliestDeadline => {
            let chosen = candidates.iter().find(|candidate| candidate.task == id.0);
            // Deadlines wrap: compare by their difference.
            let is_earlier = |candidate: &Candidate| {
                chosen.is_some_and(|chosen| {
                    (candidate.deadline.wrapping_sub(chosen.deadline) as i64) < 0
                })
            };
            if candidates.iter().any(is_earlier) {
                PickReason::Search
            } else {
                PickReason::Leftmost
            }
        }
    }
}
