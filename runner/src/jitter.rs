//! `jitter`: what the host's real timing does to ticks and slices.
//!
//! Under the real clock, two busy tasks on each CPU, each pinned: nothing but the tick ends a
//! stint. Shown are the distance of each tick interval from the period, and of each stint from
//! its slice rounded up to ticks.
//!
//! A host that runs several guests' CPUs on one core swallows ticks; what is left then says
//! more about the host's scheduler than about ours, and the verdict is `inconclusive`.

use crate::{
    cli::JitterArgs,
    commands::exit_code,
    config::Config,
    error::Error,
    expect::Verdict,
    experiment::{Experiment, Host, RunResult},
    records::Distribution,
    report::{self, Dist, JsonSink},
    units,
    workload::Workload,
};
use abi::{Clock, CpuSet, Histogram};
use serde::Serialize;
use std::fmt::Write;

/// Busy tasks on each CPU; two, so that every expired slice is a switch.
const HOGS_PER_CPU: usize = 2;
/// Edges of the bins on either side of the wanted time, in us; those that are finer than the
/// guest's own buckets are left out.
const EDGES_US: [u32; 11] = [1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000];
/// The 99th percentile of tick intervals may be so many periods before nothing can be told.
const TELLABLE_PERIODS: u64 = 2;
/// Part of the ticks that may be missed before nothing can be told.
const TELLABLE_MISSED: f64 = 0.001;

/// The whole answer.
#[derive(Clone, Debug, Serialize)]
struct Answer {
    schema: u32,
    question: &'static str,
    hz: u32,
    cpus: u32,
    duration_ns: u64,
    slice_ns: u64,
    /// The slice rounded up to ticks.
    stint_wanted_ns: u64,
    preset: &'static str,
    accel: &'static str,
    per_cpu: Vec<CpuAnswer>,
    verdict: Verdict,
    reason: String,
    wall_s: f64,
}

/// One CPU's ticks and stints.
#[derive(Clone, Debug, Serialize)]
struct CpuAnswer {
    cpu: u32,
    ticks: u64,
    missed_ticks: u64,
    tick_interval_ns: Dist,
    stint_ns: Dist,
    /// Tick intervals by their distance from the period.
    tick_bins: Vec<Bin>,
    /// Stints by their distance from what was wanted.
    stint_bins: Vec<Bin>,
}

/// Values in a range of distances.
#[derive(Clone, Debug, Serialize)]
struct Bin {
    /// Lower edge, us; none for the first.
    from_us: Option<i64>,
    /// Upper edge, us, exclusive; none for the last.
    to_us: Option<i64>,
    count: u64,
}

/// Measures and reports.
///
/// # Errors
/// Whatever leaves no result.
pub(crate) fn execute(arguments: &JitterArgs) -> Result<u8, Error> {
    let experiment = experiment(arguments);
    experiment.plan()?;
    let sink = JsonSink::prepare(arguments.json.as_deref())?;
    let result = experiment.run()?;
    let answer = Answer::new(&result);
    let to_stderr = sink.is_stdout();
    sink.write(&answer)?;
    if !experiment.host.quiet {
        report::print(&render(&answer), to_stderr)?;
    }
    Ok(exit_code(answer.verdict))
}

fn experiment(arguments: &JitterArgs) -> Experiment {
    let mut workload = Workload::default();
    workload.hogs(HOGS_PER_CPU * arguments.smp as usize);
    let pins: Vec<_> = (0..HOGS_PER_CPU * arguments.smp as usize)
        .map(|task| Some(CpuSet::only(task / HOGS_PER_CPU)))
        .collect();
    workload.pins(&pins);
    Experiment {
        config: Config {
            cpus: arguments.smp,
            hz: arguments.hz,
            preset: arguments.preset,
            duration_ns: arguments.duration,
            clock: Clock::Real,
            burn: arguments.burn,
            ..Config::default()
        },
        workload,
        host: Host { trace: arguments.trace.request(), ..arguments.host.host() },
    }
}

impl Answer {
    fn new(result: &RunResult) -> Self {
        let scenario = &result.plan.scenario;
        let period_ns = 1_000_000_000 / u64::from(scenario.hz);
        let slice_ns = result.plan.rules.base_slice_ns();
        let stint_wanted_ns = slice_ns.next_multiple_of(period_ns);
        let per_cpu: Vec<_> = result
            .records
            .cpus
            .iter()
            .zip(result.records.tasks.chunks(HOGS_PER_CPU))
            .map(|(cpu, hogs)| {
                let mut stints = Distribution::default();
                hogs.iter().for_each(|hog| stints.merge(&hog.stint));
                let ticks = cpu.tick_interval.histogram();
                CpuAnswer {
                    cpu: cpu.counters.cpu,
                    ticks: cpu.counters.ticks,
                    missed_ticks: cpu.counters.missed_ticks,
                    tick_interval_ns: ticks.into(),
                    stint_ns: stints.histogram().into(),
                    tick_bins: bins(ticks, period_ns),
                    stint_bins: bins(stints.histogram(), stint_wanted_ns),
                }
            })
            .collect();
        let judged = result.judge();
        let (verdict, reason) = match (judged.verdict, disturbance(&per_cpu, period_ns)) {
            (Verdict::Fail, _) => (
                Verdict::Fail,
                "the guest broke an expectation; `slicelab run --clock real` shows which".into(),
            ),
            (_, Some(reason)) => (Verdict::Inconclusive, reason),
            (verdict, None) => (verdict, judged.reason),
        };
        Self {
            schema: 1,
            question: "jitter",
            hz: scenario.hz,
            cpus: scenario.cpus,
            duration_ns: scenario.duration_ns,
            slice_ns,
            stint_wanted_ns,
            preset: result.plan.rules.preset().name(),
            accel: result.plan.accel.name(),
            per_cpu,
            verdict,
            reason,
            wall_s: result.wall.as_secs_f64(),
        }
    }
}

/// Says what the host did where that drowns what is looked for.
fn disturbance(cpus: &[CpuAnswer], period_ns: u64) -> Option<String> {
    cpus.iter().find_map(|cpu| {
        let p99 = cpu.tick_interval_ns.p99;
        let due = cpu.ticks + cpu.missed_ticks;
        if p99 > TELLABLE_PERIODS * period_ns {
            return Some(format!(
                "on cpu{} one tick in a hundred came after {} or later, more than {TELLABLE_PERIODS} periods: the host had no core for this CPU",
                cpu.cpu,
                units::rounded(p99 as f64)
            ));
        }
        (cpu.missed_ticks as f64 > due as f64 * TELLABLE_MISSED).then(|| {
            format!(
                "cpu{} missed {} of {due} ticks, which the host took so long over that the next one was due",
                cpu.cpu, cpu.missed_ticks
            )
        })
    })
}

/// Sorts values by their distance from `wanted`.
fn bins(values: &Histogram, wanted: u64) -> Vec<Bin> {
    // Values near `wanted` are known to 1/64 of the power of two below it.
    let resolution_ns = (1_u64 << wanted.max(1).ilog2()) / 64;
    let tellable = EDGES_US.into_iter().filter(|&us| u64::from(us) * 1000 > resolution_ns);
    let tellable: Vec<i64> = tellable.map(i64::from).collect();
    let edges: Vec<i64> =
        tellable.iter().rev().map(|&us| -us).chain(tellable.iter().copied()).collect();
    let mut bins: Vec<Bin> = (0..=edges.len())
        .map(|at| Bin {
            from_us: at.checked_sub(1).map(|at| edges[at]),
            to_us: edges.get(at).copied(),
            count: 0,
        })
        .collect();
    for (range, count) in values.ranges() {
        let middle = (range.start + (range.end - range.start) / 2)
            .clamp(values.moments().min, values.moments().max);
        let distance_ns = middle as i64 - wanted as i64;
        let at = edges.partition_point(|&edge_us| edge_us * 1000 <= distance_ns);
        bins[at].count += u64::from(count);
    }
    bins
}

fn render(answer: &Answer) -> String {
    let mut text = format!(
        "{} on {} CPUs, HZ={}, slice {}, {} of real time by {}: {HOGS_PER_CPU} busy tasks on each CPU\n",
        answer.preset,
        answer.cpus,
        answer.hz,
        units::exact_unsigned(answer.slice_ns),
        units::exact_unsigned(answer.duration_ns),
        answer.accel,
    );
    for cpu in &answer.per_cpu {
        let (ticks, stints) = (&cpu.tick_interval_ns, &cpu.stint_ns);
        writeln!(
            text,
            "\ncpu{}: {} ticks, {} missed; from tick to tick {} to {}, mean {}, p99 {}",
            cpu.cpu,
            cpu.ticks,
            cpu.missed_ticks,
            units::rounded(ticks.min as f64),
            units::rounded(ticks.max as f64),
            units::rounded(ticks.mean),
            units::rounded(ticks.p99 as f64),
        )
        .expect("a String takes everything");
        text.push_str("tick interval minus period:\n");
        text.push_str(&report::bars(&labelled(&cpu.tick_bins)));
        writeln!(
            text,
            "stint minus {} (the slice in whole ticks); {} stints, mean {}:",
            units::exact_unsigned(answer.stint_wanted_ns),
            stints.count,
            units::rounded(stints.mean)
        )
        .expect("a String takes everything");
        text.push_str(&report::bars(&labelled(&cpu.stint_bins)));
    }
    write!(text, "\n{}", report::verdict_word(answer.verdict)).expect("a String takes everything");
    if !answer.reason.is_empty() {
        write!(text, ": {}", answer.reason).expect("a String takes everything");
    }
    text.push('\n');
    text
}

fn labelled(bins: &[Bin]) -> Vec<(String, u64)> {
    let label = |bin: &Bin| match (bin.from_us, bin.to_us) {
        (None, Some(to)) => format!("below {to} us"),
        (Some(from), None) => format!("{from} us and more"),
        (from, to) => format!("{} to {} us", from.unwrap_or(0), to.unwrap_or(0)),
    };
    bins.iter().map(|bin| (label(bin), bin.count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_into_the_bin_of_their_distance() {
        let mut values: Histogram = Histogram::EMPTY;
        for value in [1_000_000, 1_000_000, 1_060_000, 3_000_000] {
            values.record(value);
        }
        let bins = bins(&values, 1_000_000);
        let count_at = |us: i64| {
            let is_in = |bin: &&Bin| {
                bin.from_us.is_none_or(|from| from <= us) && bin.to_us.is_none_or(|to| us < to)
            };
            bins.iter().find(is_in).expect("bins cover everything").count
        };
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), 4);
        assert_eq!((count_at(60), count_at(2000)), (1, 1));
    }
}
