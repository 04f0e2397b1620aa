//! What must hold in every run, whatever it was for.
//!
//! An expectation that fails means a wrong kernel or a wrong machine, with one exception: where
//! the host's own timing enters (real clock, or spinning CPUs that QEMU does not run in
//! parallel), late and lost ticks say nothing about the kernel. Then the verdict is
//! `inconclusive`, with the reason in words.

use crate::{experiment::RunResult, qemu, records::Records, units, workload::Goal};
use abi::{
    Burn, Clock, NohzMode, Op,
    record::{Cpu, Ending, Held, Wait, Waits},
};
use eevdf::Feature;
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::HashMap};

/// Ticks of a CPU may differ from HZ times the run's length by this part, or by one.
const TICK_TOLERANCE: f64 = 0.01;
/// The measured tick rate may differ from HZ by this part.
const RATE_TOLERANCE: f64 = 0.001;
/// Sums of times may differ by this part: each switch reads the clock once for two tasks, but
/// the run's first and last stints begin and end somewhere within the kernel.
const TIME_TOLERANCE: f64 = 0.001;

/// What a result says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All expectations hold.
    Pass,
    /// At least one does not.
    Fail,
    /// Some do not, and the host may be the cause.
    Inconclusive,
}

impl Verdict {
    /// The word in documents and reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// One thing that must hold.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Expectation {
    /// What is looked at.
    pub what: Cow<'static, str>,
    /// What it should be.
    pub expected: String,
    /// What it is.
    pub got: String,
    /// Whether it holds.
    pub ok: bool,
    /// Whether a slow host can break it.
    #[serde(skip)]
    pub is_timing: bool,
}

/// All expectations of a run and what follows from them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// What was looked at.
    pub expectations: Vec<Expectation>,
    /// Why the verdict is not what the expectations alone would say; empty otherwise.
    pub reason: String,
}

impl Judgement {
    fn new(expectations: Vec<Expectation>, host_enters: Option<&str>) -> Self {
        let failed = |timing| expectations.iter().any(|e| !e.ok && e.is_timing == timing);
        let (verdict, reason) = match host_enters {
            _ if failed(false) => (Verdict::Fail, String::new()),
            Some(why) if failed(true) => (Verdict::Inconclusive, why.to_owned()),
            None if failed(true) => (Verdict::Fail, String::new()),
            _ => (Verdict::Pass, String::new()),
        };
        Self { verdict, expectations, reason }
    }
}

/// Judges a run.
pub(crate) fn judge(result: &RunResult) -> Judgement {
    let scenario = &result.plan.scenario;
    let is_virtual = scenario.clock == Clock::Virtual;
    let cpus: Vec<&Cpu> = result.records.cpus.iter().map(|cpu| &cpu.counters).collect();
    let elapsed_ns = result.records.total.elapsed_ns;

    let mut list = Vec::new();
    // Ticks that fall into stolen time are lost, as they were meant to be.
    let keeps_ticks = scenario.steal.is_none();
    if scenario.nohz == NohzMode::Off && keeps_ticks {
        list.push(ticks(&cpus, scenario.hz, elapsed_ns));
    }
    if is_virtual {
        let missed: u64 = cpus.iter().map(|cpu| cpu.missed_ticks).sum();
        if keeps_ticks {
            list.push(zero("missed ticks", missed, true));
        }
        list.push(tick_rate(&cpus, scenario.hz));
    }
    if lag_is_bounded(result) {
        // By slice and tick; a tick that the host swallowed stretches both.
        list.push(zero("lag violations", result.records.total.lag_violations, !is_virtual));
    }
    list.push(progress(result));
    list.extend(result.plan.goals.iter().map(|goal| reached(goal, &result.records)));
    if scenario.resources.pools > 0 {
        list.push(zero(
            "spawns that found no task left",
            result.records.total.failed_spawns,
            false,
        ));
    }
    let runtime: u64 = result.records.tasks.iter().map(|task| task.counters.runtime_ns).sum();
    let busy: u64 = cpus.iter().map(|cpu| cpu.busy_ns).sum();
    list.push(same_time("runtime of all tasks = busy time of all CPUs", busy, runtime));
    // Saturating: an idle time that went below zero must fail here, not wrap back into place.
    let accounted = cpus.iter().map(|cpu| cpu.busy_ns.saturating_add(cpu.idle_ns));
    let farthest = accounted.max_by_key(|time| time.abs_diff(elapsed_ns)).unwrap_or(0);
    list.push(same_time("busy + idle = elapsed on each CPU", elapsed_ns, farthest));
    Judgement::new(list, host_enters(result))
}

/// Whether what was to be done was done before the run's time was over.
fn reached(goal: &Goal, records: &Records) -> Expectation {
    let done = goal.done(records);
    let got = match goal.reached_ns(records) {
        Some(ns) => format!("{done} by {}", units::exact_unsigned(ns)),
        None => {
            let end = units::exact_unsigned(records.total.elapsed_ns);
            format!("{done} when the run ended at {end}; raise --duration")
        }
    };
    let (expected, ok) = (goal.times.to_string(), done >= goal.times);
    Expectation { what: goal.what.into(), expected, got, ok, is_timing: false }
}

/// Tasks named in one line.
const WAITERS_SHOWN: usize = 8;

/// Whether the run went on to its end, and if not, who waits for what.
fn progress(result: &RunResult) -> Expectation {
    let Records { total, waits, held, .. } = &result.records;
    let plan = &result.plan;
    let name = |task: u32| plan.scenario.tasks[task as usize].name.as_str();
    let holder = |wait: &Wait| {
        let mutex = (wait.on == Waits::Mutex).then_some(wait.object)?;
        held.iter().find(|held| held.mutex == mutex).map(|held| name(held.task))
    };
    let in_words = |wait: &Wait| {
        let what = plan.shared.describe(wait.on, wait.object);
        match holder(wait) {
            Some(holder) => format!("{} waits for {what}, held by {holder}", name(wait.task)),
            None => format!("{} waits for {what}", name(wait.task)),
        }
    };
    let (stuck, when): (Vec<&Wait>, _) = match total.ending {
        Ending::Deadlock => (waits.iter().collect(), " at "),
        _ => (in_circles(waits, held), " found at the end, "),
    };
    let is_stuck = !stuck.is_empty();
    let got = if is_stuck {
        let mut words: Vec<_> =
            stuck.iter().take(WAITERS_SHOWN).map(|wait| in_words(wait)).collect();
        if stuck.len() > WAITERS_SHOWN {
            words.push(format!("{} more wait", stuck.len() - WAITERS_SHOWN));
        }
        let at = units::exact_unsigned(total.elapsed_ns);
        format!("deadlock{when}{at}: {}", words.join("; "))
    } else {
        "none".into()
    };
    Expectation {
        what: "deadlock".into(),
        expected: "none".into(),
        got,
        ok: !is_stuck,
        is_timing: false,
    }
}

/// Those who wait, by way of who holds what, for themselves: stuck for good, whatever others do.
fn in_circles<'a>(waits: &'a [Wait], held: &[Held]) -> Vec<&'a Wait> {
    let waits_for: HashMap<u32, u32> = waits
        .iter()
        .filter(|wait| wait.on == Waits::Mutex)
        .map(|wait| (wait.task, wait.object))
        .collect();
    let holder: HashMap<u32, u32> = held.iter().map(|held| (held.mutex, held.task)).collect();
    let next = |task: &u32| waits_for.get(task).and_then(|mutex| holder.get(mutex)).copied();
    let is_in_circle = |wait: &&Wait| {
        let way = std::iter::successors(next(&wait.task), |task| next(task));
        way.take(waits.len()).any(|task| task == wait.task)
    };
    waits.iter().filter(is_in_circle).collect()
}

/// Whether theory bounds every lag by the largest slice and a tick.
///
/// It does in a steady system whose requests take what their deadlines promise (TR-95-22,
/// theorem 1). Tasks that sleep come back with lag, and a slice that ends between two ticks takes
/// up to a tick more than its deadline was computed from; among equal weights that cancels out,
/// otherwise the heavy ones wait for many such overruns in a row. That is how Linux behaves too,
/// so such lags are counted but are no fault.
fn lag_is_bounded(result: &RunResult) -> bool {
    let (tasks, rules) = (&result.plan.scenario.tasks, &result.plan.rules);
    let is_whole = |slice_ns: u64| slice_ns.is_multiple_of(rules.tick_ns());
    let takes_what_it_promises = rules.features().contains(Feature::Hrtick)
        || tasks.iter().all(|task| is_whole(task.slice_ns.unwrap_or(rules.base_slice_ns())));
    let mut weights = tasks.iter().map(|task| (task.nice, task.policy));
    let first = weights.next();
    result.plan.scenario.programs.iter().all(|program| *program == [Op::RunForever])
        && (takes_what_it_promises || weights.all(|weight| Some(weight) == first))
}

/// Why the host's timing shows in the results of this run.
fn host_enters(result: &RunResult) -> Option<&'static str> {
    let scenario = &result.plan.scenario;
    match scenario.clock {
        Clock::Real => Some("under the real clock the host's own load delays and swallows ticks"),
        Clock::Virtual if scenario.burn == Burn::Spin && scenario.cpus > 1 => {
            (!qemu::is_fair_to_spinning_cpus(result.qemu.version)).then_some(
                "this QEMU (before 8.1) lets one spinning CPU hold up the others, which lose ticks; use --burn halt or a newer QEMU",
            )
        }
        Clock::Virtual => None,
    }
}

fn ticks(cpus: &[&Cpu], hz: u32, elapsed_ns: u64) -> Expectation {
    let expected = expected_ticks(hz, elapsed_ns);
    let tolerance = (expected * TICK_TOLERANCE).max(1.0);
    let off = |cpu: &&&Cpu| (cpu.ticks as f64 - expected).abs();
    let worst = cpus.iter().max_by(|a, b| off(a).total_cmp(&off(b)));
    Expectation {
        what: "ticks on each CPU".into(),
        expected: format!("{expected:.0} within 1 %"),
        got: worst.map_or("no CPU".into(), |cpu| format!("{} on cpu{}", cpu.ticks, cpu.cpu)),
        ok: worst.is_some_and(|cpu| off(&cpu) <= tolerance),
        is_timing: true,
    }
}

/// Ticks that fall into so much time.
pub(crate) fn expected_ticks(hz: u32, elapsed_ns: u64) -> f64 {
    f64::from(hz) * elapsed_ns as f64 / 1e9
}

fn tick_rate(cpus: &[&Cpu], hz: u32) -> Expectation {
    let rate = |cpu: &Cpu| cpu.measured_mhz as f64 / 1e3;
    let off = |cpu: &Cpu| (rate(cpu) / f64::from(hz) - 1.0).abs();
    let worst = cpus.iter().max_by(|a, b| off(a).total_cmp(&off(b)));
    Expectation {
        what: "measured tick rate".into(),
        expected: format!("{hz} Hz within 0.1 %"),
        got: worst.map_or("no CPU".into(), |cpu| format!("{:.3} Hz on cpu{}", rate(cpu), cpu.cpu)),
        ok: worst.is_some_and(|cpu| off(cpu) <= RATE_TOLERANCE),
        is_timing: true,
    }
}

fn zero(what: &'static str, got: u64, is_timing: bool) -> Expectation {
    Expectation {
        what: what.into(),
        expected: "0".into(),
        got: got.to_string(),
        ok: got == 0,
        is_timing,
    }
}

fn same_time(what: &'static str, expected: u64, got: u64) -> Expectation {
    Expectation {
        what: what.into(),
        expected: units::rounded(expected as f64),
        got: units::rounded(got as f64),
        ok: expected.abs_diff(got) as f64 <= expected as f64 * TIME_TOLERANCE,
        is_timing: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expectation(ok: bool, is_timing: bool) -> Expectation {
        Expectation { what: "x".into(), expected: String::new(), got: String::new(), ok, is_timing }
    }

    #[test]
    fn only_the_hosts_part_is_inconclusive() {
        let verdict = |list, host| Judgement::new(list, host).verdict;
        let late = || expectation(false, true);
        let wrong = || expectation(false, false);
        assert_eq!(verdict(vec![expectation(true, true)], Some("busy")), Verdict::Pass);
        assert_eq!(verdict(vec![late()], Some("busy")), Verdict::Inconclusive);
        assert_eq!(verdict(vec![late()], None), Verdict::Fail);
        assert_eq!(verdict(vec![late(), wrong()], Some("busy")), Verdict::Fail);
    }

    #[test]
    fn one_tick_more_or_less_is_fine() {
        let cpu = |ticks| Cpu {
            cpu: 0,
            apic_id: 0,
            ticks,
            missed_ticks: 0,
            timer_count: 1,
            measured_mhz: 1_000_500,
            busy_ns: 0,
            idle_ns: 0,
            irq_ns: 0,
            switches: 0,
            ipis: 0,
            irqsoff_ns: 0,
            goes_idle: 0,
            yields: 0,
            run_delay_ns: 0,
        };
        assert!(ticks(&[&cpu(9)], 1000, 10_000_000).ok);
        assert!(!ticks(&[&cpu(8)], 1000, 10_000_000).ok);
        assert!(!ticks(&[&cpu(9_800)], 1000, 10_000_000_000).ok);
        assert!(!ticks(&[], 1000, 10_000_000_000).ok);
        assert!(tick_rate(&[&cpu(1)], 1000).ok);
        assert!(!tick_rate(&[&cpu(1)], 1002).ok);
    }

    #[test]
    fn times_agree_within_a_thousandth() {
        assert!(same_time("x", 1_000_000, 999_001).ok);
        assert!(!same_time("x", 1_000_000, 998_000).ok);
        assert!(same_time("x", 0, 0).ok);
    }
}
