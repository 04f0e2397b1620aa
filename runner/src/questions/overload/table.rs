//! Tables and cells: every load of a benchmark, beside what was published.

use super::{
    benches::{self, READINGS},
    curve::{Curve, Point, words},
};
use crate::{
    compare::{Case, Comparison, Test, interpretation},
    questions::{answer, counts::Count},
    report,
    workload::Better,
};
use serde_json::{Value, json};

/// What a wake-up does that the feature changes.
const COUNTS: [(&str, Count); 5] = [
    ("remote", Count::Remote),
    ("migrated", Count::Migrated),
    ("probes", Count::Probes),
    ("ipis", Count::Ipis),
    ("cost ns", Count::CostNs),
];

/// The cells of a benchmark, in the order of the loads.
pub(super) fn cells(curve: &Curve) -> Vec<Value> {
    let cell = |(case, point): (String, &Point)| {
        let [off, on] = point.counts.map_or([None, None], |counts| counts.map(Some));
        json!({
            "test": curve.test,
            "case": case,
            "pairs": benches::pairs(point.times),
            "units": READINGS[0].units,
            "interpretation": interpretation(Some(Better::Higher)),
            "published": answer::numbers(&point.published),
            "base": answer::numbers(&point.off),
            "measured": answer::numbers(&point.on),
            "counted_without": off.map(|counts| counts.document()),
            "counted_with": on.map(|counts| counts.document()),
        })
    };
    named(curve).map(cell).collect()
}

/// The curve as it is posted, and what was counted of it.
pub(super) fn text(curve: &Curve) -> String {
    let case = |(case, point): (String, &Point)| Case {
        case: format!("{case}, {} pairs", benches::pairs(point.times)),
        base: point.off.clone(),
        new: vec![point.on.clone(), point.published.clone()],
    };
    let test = Test {
        test: curve.test.into(),
        units: READINGS[0].units.into(),
        better: Some(Better::Higher),
        statistic: READINGS[0].statistic.name().into(),
        cases: named(curve).map(case).collect(),
    };
    let results = ["off", "SIS_SHORT", "published"].map(String::from).into();
    format!(
        "{}{}: counted for each transaction, without -> with SIS_SHORT\n\n{}\n\
         SIS_SHORT pays at {}; published: {}\n\n",
        Comparison::of_columns(results, test).tables(),
        curve.test,
        counted(curve),
        words(&curve.paying()),
        words(&curve.paid()),
    )
}

/// All points with the names of their cases.
fn named(curve: &Curve) -> impl Iterator<Item = (String, &Point)> {
    let loads = curve.points.iter().map(|point| (benches::case(point.times), point));
    loads.chain(curve.settled.iter().map(|point| (benches::settled_case(), point)))
}

fn counted(curve: &Curve) -> String {
    let head: Vec<&str> =
        ["load", "idle CPUs"].into_iter().chain(COUNTS.map(|(name, _)| name)).collect();
    let row = |(case, point): (String, &Point)| {
        let change = |of: &dyn Fn(usize) -> String| format!("{} -> {}", of(0), of(1));
        let number = |at: usize, count: Count| {
            let value = point.count(at, count);
            if count.is_time() { format!("{value:.0}") } else { format!("{value:.2}") }
        };
        let idle = |at: usize| format!("{:.1}", point.idle_cpus(at));
        let mut row = vec![case, change(&idle)];
        row.extend(COUNTS.map(|(_, count)| change(&|at| number(at, count))));
        row
    };
    report::table(&head, named(curve).map(row))
}
