//! The answer in words, with the numbers of this very run.

use super::{
    CPUS, benches,
    curve::{Curve, Point, words},
};
use crate::questions::counts::Count;
use std::fmt::Write;

/// Says where it pays, and from the counts of the first benchmark why there.
pub(super) fn answer(curves: &[Curve]) -> String {
    let mut text = String::new();
    for curve in curves {
        let Some(peak) = curve.peak() else { continue };
        writeln!(
            text,
            "{}: SIS_SHORT pays at {}, most at {} ({:+.1} %); published: {}.",
            curve.test,
            words(&curve.paying()),
            benches::case(peak.times),
            peak.on.pct_imp.unwrap_or(f64::NAN),
            words(&curve.paid()),
        )
        .expect("a String takes everything");
    }
    // That of a network goes by the same rules as a pipe, and was published at every load.
    let Some(curve) = curves.get(1).or(curves.first()) else { return "Nothing was run.".into() };
    let point = |times| curve.at(times).filter(|point: &&Point| point.counts.is_some());
    let all = [1, 2, 4, 5, 8].map(point);
    let ([Some(one), Some(two), Some(four), Some(five), Some(eight)], Some(settled)) =
        (all, curve.settled.as_ref().filter(|point| point.counts.is_some()))
    else {
        text.push_str("Runs are missing, so no reason can be given.");
        return text;
    };
    let looks = |point: &Point| {
        format!("{:.1} -> {:.1}", point.count(0, Count::Probes), point.count(1, Count::Probes))
    };
    let pct = |point: &Point| point.on.pct_imp.unwrap_or(f64::NAN);
    write!(
        text,
        "Why, by the counts of {}, each by transaction without -> with SIS_SHORT: all it does is to leave a \
         short wakee where it is instead of searching for an idle CPU, if its short waker is alone. With \
         fewer tasks than CPUs there is nothing to leave out: the wakee's own CPU idles and goes before \
         everything else (1x: {} CPUs looked at, {:.1} of {} idle). At 2x it may only lose: it stays \
         with its waker though there may be another idle CPU ({:+.1} %). At 4x there is one CPU for each \
         pair: none idles ({:.1}), so that searches ({} CPUs looked at, {:.0} -> {:.0} ns of costs) are \
         for nothing, and every waker is alone while its partner sleeps. From 5x on pairs share CPUs, the \
         waker is alone less and less, and the search is made all the same ({} at 5x, {} at 8x). Once \
         averages of load have settled SIS_UTIL makes no search on a busy machine either ({} at 4x), and the \
         gain is {:+.1} %. The multiple that was published at 4x is not seen: it takes a kernel without the \
         feature that keeps moving tasks though no CPU idles for long, and here pairs come to share a CPU \
         by themselves ({:.2} moves).",
        curve.test,
        looks(one),
        one.idle_cpus(0),
        CPUS,
        pct(two),
        four.idle_cpus(0),
        looks(four),
        four.count(0, Count::CostNs),
        four.count(1, Count::CostNs),
        looks(five),
        looks(eight),
        looks(settled),
        pct(settled),
        four.count(0, Count::Migrated),
    )
    .expect("a String takes everything");
    text
}
