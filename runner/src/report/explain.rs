//! Why each task ran: decisions with those among whom they were made.
//!
//! Positions are shown relative to V, the weighted average, where the policy decides: whoever is
//! not right of it (lag not negative) is eligible, and the earliest deadline of those wins.

use super::table;
use crate::{experiment::RunResult, records::Decision, units};
use abi::record::{Candidate, Flag, PickReason};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, fmt::Write};

/// A decision in the result document.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "`abi::record::Pick` documents them")]
pub struct DecisionDocument {
    pub at_ns: u64,
    pub cpu: u32,
    pub task: String,
    pub reason: Cow<'static, str>,
    pub avg_vruntime: u64,
    pub candidates: Vec<CandidateDocument>,
}

/// One of those among whom it was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "`abi::record::Candidate` documents them")]
pub struct CandidateDocument {
    pub task: String,
    pub vruntime: u64,
    pub deadline: u64,
    pub lag_ns: i64,
    pub slice_ns: u64,
    pub weight: u32,
    pub eligible: bool,
    pub delayed: bool,
}

/// The decisions of a run for the document.
pub(super) fn documents(result: &RunResult) -> Vec<DecisionDocument> {
    let name = |task: u32| result.plan.scenario.tasks[task as usize].name.clone();
    let candidate = |candidate: &Candidate| CandidateDocument {
        task: name(candidate.task),
        vruntime: candidate.vruntime,
        deadline: candidate.deadline,
        lag_ns: candidate.lag_ns,
        slice_ns: candidate.slice_ns,
        weight: candidate.weight,
        eligible: candidate.eligible == Flag::Yes,
        delayed: candidate.delayed == Flag::Yes,
    };
    let decision = |Decision { pick, candidates }: &Decision| DecisionDocument {
        at_ns: pick.at_ns,
        cpu: pick.cpu,
        task: name(pick.task),
        reason: pick.reason.word().into(),
        avg_vruntime: pick.avg_vruntime,
        candidates: candidates.iter().map(candidate).collect(),
    };
    result.records.decisions.iter().map(decision).collect()
}

/// The decisions of a run for people; empty where none was asked for.
pub(crate) fn explain(result: &RunResult) -> String {
    let mut text = String::new();
    for decision in &result.records.decisions {
        explain_one(&mut text, result, decision).expect("a String takes everything");
    }
    let lost = result.records.total.lost_records;
    if lost > 0 {
        writeln!(
            text,
            "{lost} more decisions found no room; choose a shorter window with --explain FROM..TO\n"
        )
        .expect("a String takes everything");
    }
    text
}

fn explain_one(text: &mut String, result: &RunResult, decision: &Decision) -> std::fmt::Result {
    let Decision { pick, candidates } = decision;
    let name = |task: u32| result.plan.scenario.tasks[task as usize].name.as_str();
    writeln!(
        text,
        "{}.{:09}  cpu{} runs {}: {}",
        pick.at_ns / 1_000_000_000,
        pick.at_ns % 1_000_000_000,
        pick.cpu,
        name(pick.task),
        reason(pick.reason),
    )?;
    let row = |candidate: &Candidate| {
        // Both wrap; their difference does not.
        let until_deadline = candidate.deadline.wrapping_sub(pick.avg_vruntime) as i64;
        let state = match (candidate.delayed, candidate.eligible) {
            (Flag::Yes, _) => "waits out its debt",
            (Flag::No, Flag::Yes) => "eligible",
            (Flag::No, Flag::No) => "not eligible",
        };
        let chosen = if candidate.task == pick.task { "->" } else { "" };
        vec![
            format!("{chosen:2} {}", name(candidate.task)),
            units::exact(candidate.lag_ns),
            units::exact(until_deadline),
            units::exact_unsigned(candidate.slice_ns),
            candidate.weight.to_string(),
            state.to_owned(),
        ]
    };
    let head = ["   task", "lag", "deadline - V", "slice", "weight", "state"];
    writeln!(text, "{}", table(&head, candidates.iter().map(row)))
}

fn reason(reason: PickReason) -> &'static str {
    match reason {
        PickReason::Only => "nobody else is queued",
        PickReason::Buddy => "it is the next buddy, and eligible",
        PickReason::Protected => "it runs already, is eligible, and its slice is protected",
        PickReason::Leftmost => "it has the earliest deadline, and is eligible",
        PickReason::Search => "it has the earliest deadline of those that are eligible",
    }
}
