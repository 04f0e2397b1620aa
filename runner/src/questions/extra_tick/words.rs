//! The answer in words, with the numbers of this very run.

use super::{NEW_NS, OLD_NS, stints::Stints};
use crate::compare::Comparison;
use std::fmt::Write;

/// Says why there are extra ticks and what the smaller slice changes.
pub(super) fn answer(stints: &Stints, comparisons: &[(&str, Comparison)]) -> String {
    let share = |slice_ns, error_ns| 100.0 * stints.at(1000, slice_ns, error_ns).extra_tick_share;
    let mut text = format!(
        "At HZ=1000 a slice of 3 ms is three ticks exactly. Charged exactly, {:.0} % of stints take \
         a fourth; charged 1 us short, the slice is not used up after three and {:.0} % do. With \
         2.8 ms the third tick is enough either way ({:.0} % and {:.0} %), and two busy tasks \
         switch {:.1} % more often. At HZ=250 both slices are over within the first tick of 4 ms: \
         {:+.1} %.\n",
        share(OLD_NS, 0),
        share(OLD_NS, -1_000),
        share(NEW_NS, 0),
        share(NEW_NS, -1_000),
        stints.more_switches_pct(1000, -1_000),
        stints.more_switches_pct(250, -1_000),
    );
    for (name, comparison) in comparisons {
        let news = || comparison.tests.iter().flat_map(|test| &test.cases).map(|case| &case.new[0]);
        let all = news().filter(|new| new.pct_imp.is_some()).count();
        let beyond = |better: bool| {
            let counts = |new: &&crate::compare::Sample| {
                new.within_spread != Some(true)
                    && new.pct_imp.is_some_and(|pct| if better { pct > 0.0 } else { pct < 0.0 })
            };
            news().filter(counts).count()
        };
        writeln!(
            text,
            "{name}: of {all} figures of benchmarks {} are better and {} worse by more than seeds \
             differ.",
            beyond(true),
            beyond(false)
        )
        .expect("a String takes everything");
    }
    text.push_str(
        "Tasks that wait for each other give up the CPU long before their slice is over, so the \
         slice and HZ reach them only through what runs beside them.",
    );
    text
}
