//! Whether steps stand in the published order.

use super::{Machine, steps::STEPS};
use crate::compare::Sample;

/// The pairs of steps that the published numbers tell apart, held against ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// How many there are.
    pub(super) pairs: usize,
    /// Those that go the other way here, in words.
    pub(super) wrong: Vec<String>,
}

impl Order {
    /// Looks at every pair: a published difference that is larger than the spread of both has to be
    /// one in the same direction here.
    pub(super) fn of(machine: &Machine) -> Self {
        let mut order = Self { pairs: 0, wrong: Vec::new() };
        for later in 0..STEPS.len() {
            for earlier in 0..later {
                let published = |at: usize| &machine.published.steps[at];
                let Some(is_more) = differ(published(earlier), published(later)) else { continue };
                order.pairs += 1;
                let measured = |at: usize| machine.steps[at].requests.value;
                let (before, after) = (measured(earlier), measured(later));
                if before.zip(after).is_none_or(|(a, b)| if is_more { a >= b } else { a <= b }) {
                    let [low, high] = if is_more { [earlier, later] } else { [later, earlier] };
                    order.wrong.push(format!("{} < {}", STEPS[low].name, STEPS[high].name));
                }
            }
        }
        order
    }

    /// Whether all pairs go the same way.
    pub(super) fn holds(&self) -> bool {
        self.pairs > 0 && self.wrong.is_empty()
    }

    /// In words.
    pub(super) fn words(&self) -> String {
        let same = self.pairs - self.wrong.len();
        let mut words = format!("{same} of {} pairs", self.pairs);
        if !self.wrong.is_empty() {
            words += &format!(", not {}", self.wrong.join(", "));
        }
        words
    }
}

/// Whether the second is more, where they can be told apart.
fn differ(a: &Sample, b: &Sample) -> Option<bool> {
    let (low, high) = (a.normalized?, b.normalized?);
    let spread = a.cv_pct.into_iter().chain(b.cv_pct).fold(0.0, f64::max);
    (100.0 * (high / low - 1.0).abs() > spread).then_some(high > low)
}
