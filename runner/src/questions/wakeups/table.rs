//! Tables and cells: the steps by model, beside the machine on which they were measured.

use super::{Machine, Measured, READINGS, STEPS, Where};
use crate::{
    compare::{Case, Comparison, Sample, Test},
    questions::{answer, counts::Count},
    report,
    workload::Better,
};
use serde_json::{Value, json};

/// The counts that say what a step changed, and where they are counted.
const COLUMNS: [(&str, Where, Count); 9] = [
    ("cost ns", Where::Messengers, Count::CostNs),
    ("contended ns", Where::Messengers, Count::ContendedNs),
    ("rq locks", Where::Messengers, Count::RemoteLocks),
    ("ipis", Where::Messengers, Count::Ipis),
    ("probes", Where::Messengers, Count::Probes),
    ("delayed", Where::Everywhere, Count::Delayed),
    ("all queued", Where::Everywhere, Count::Queued),
    ("all ipis", Where::Everywhere, Count::Ipis),
    ("server starts", Where::Everywhere, Count::ServerStarts),
];

/// The cells of a model, in the order of the steps.
pub(super) fn cells(machine: &Machine) -> Vec<Value> {
    let first = &machine.steps[0].requests;
    let cell = |at: usize| {
        let Measured { requests, counted } = &machine.steps[at];
        json!({
            "machine": machine.name,
            "step": STEPS[at].name,
            "test": READINGS[0].test,
            "units": READINGS[0].units,
            "beside": machine.published.machine,
            "published": answer::numbers(&machine.published.steps[at]),
            "base": answer::numbers(first),
            "measured": answer::numbers(requests),
            "by_message_threads": counted.map(|counted| counted.first.document()),
            "everywhere": counted.map(|counted| counted.all.document()),
        })
    };
    (0..STEPS.len()).map(cell).collect()
}

/// The table of requests, and for each model that of what was counted.
pub(super) fn text(machines: &[Machine]) -> String {
    let mut results = Vec::new();
    for machine in machines {
        results.push(machine.name.clone());
        results.push(format!("published {}", machine.published.machine));
    }
    let case = |at: usize| {
        let mut samples = machines.iter().flat_map(|machine| {
            [machine.steps[at].requests.clone(), machine.published.steps[at].clone()]
        });
        let base = samples.next().unwrap_or_default();
        Case { case: STEPS[at].name.into(), base, new: samples.collect::<Vec<Sample>>() }
    };
    let test = Test {
        test: READINGS[0].test.into(),
        units: READINGS[0].units.into(),
        better: Some(Better::Higher),
        statistic: READINGS[0].statistic.name().into(),
        cases: (0..STEPS.len()).map(case).collect(),
    };
    let mut text = Comparison::of_columns(results, test).tables();
    for machine in machines {
        text += &format!(
            "{}: counted for each request by the message threads, and on all CPUs\n\n{}\n",
            machine.name,
            counted(machine)
        );
    }
    text
}

fn counted(machine: &Machine) -> String {
    let head: Vec<&str> = ["step"].into_iter().chain(COLUMNS.map(|(name, ..)| name)).collect();
    let row = |step: usize| {
        let number = |(_, at, count): (&str, Where, Count)| {
            let value = machine.count(step, at, count);
            if count.is_time() { format!("{value:.0}") } else { format!("{value:.3}") }
        };
        [STEPS[step].name.to_owned()].into_iter().chain(COLUMNS.map(number)).collect()
    };
    report::table(&head, (0..STEPS.len()).map(row))
}
