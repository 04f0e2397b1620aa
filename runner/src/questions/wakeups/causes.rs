//! What each step is to change, and the counter in which that shows.

use super::{Machine, Where, steps::STEPS};
use crate::{
    expect::Expectation,
    questions::{answer::expect, counts::Count},
};

/// How a count changes from one step to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// There was none before.
    Appears,
    /// There is less.
    Falls,
    /// Not a hundredth is left.
    Vanishes,
}

impl Change {
    fn holds(self, before: f64, after: f64) -> bool {
        match self {
            Self::Appears => before == 0.0 && after > 0.0,
            Self::Falls => after < before,
            Self::Vanishes => after < before / 100.0,
        }
    }

    const fn expected(self) -> &'static str {
        match self {
            Self::Appears => "none before, some with it",
            Self::Falls => "less than before",
            Self::Vanishes => "not a hundredth of those before",
        }
    }
}

/// A change that a step is for.
struct Cause {
    /// The step that makes it.
    step: usize,
    /// What changes, in words.
    what: &'static str,
    count: Count,
    at: Where,
    change: Change,
}

const CAUSES: [Cause; 6] = [
    Cause {
        step: 1,
        what: "wake-ups of delayed tasks",
        count: Count::Delayed,
        at: Where::Everywhere,
        change: Change::Appears,
    },
    Cause {
        step: 1,
        what: "starts of deadline servers",
        count: Count::ServerStarts,
        at: Where::Everywhere,
        change: Change::Appears,
    },
    Cause {
        step: 2,
        what: "starts of deadline servers",
        count: Count::ServerStarts,
        at: Where::Everywhere,
        change: Change::Vanishes,
    },
    Cause {
        step: 3,
        what: "what message threads pay, ns",
        count: Count::CostNs,
        at: Where::Messengers,
        change: Change::Falls,
    },
    Cause {
        step: 4,
        what: "locks of workers' queues by message threads",
        count: Count::RemoteLocks,
        at: Where::Messengers,
        change: Change::Falls,
    },
    Cause {
        step: 5,
        what: "locks of workers' queues by message threads",
        count: Count::RemoteLocks,
        at: Where::Messengers,
        change: Change::Vanishes,
    },
];

/// Each change, as something that holds on every model or not.
pub(super) fn expectations(machines: &[Machine]) -> impl Iterator<Item = Expectation> {
    CAUSES.iter().map(|cause| {
        let values = |machine: &Machine| {
            [cause.step - 1, cause.step].map(|step| machine.count(step, cause.at, cause.count))
        };
        let got = machines.iter().map(|machine| {
            let [before, after] = values(machine);
            format!("{}: {before:.4} -> {after:.4}", machine.name)
        });
        let holds = machines.iter().map(values).all(|[a, b]| cause.change.holds(a, b));
        expect(
            format!("{} with {}, by request", cause.what, STEPS[cause.step].name),
            cause.change.expected(),
            got.collect::<Vec<_>>().join("; "),
            holds,
        )
    })
}
