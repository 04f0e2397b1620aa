//! Who balances for idle CPUs whose tick is stopped.
//!
//! A CPU with more than it can run looks at its ticks whether anybody idles, and kicks the first
//! such CPU; that one balances for itself and then for all others.

use abi::CpuSet;

/// Whether a CPU with so many tasks kicks an idle one at a tick, where all idle CPUs together are
/// due at tick `next`.
pub fn may_kick(nr_runnable: u32, is_squeezed: bool, tick: u64, next: u64) -> bool {
    tick >= next && (nr_runnable >= 2 || is_squeezed && nr_runnable >= 1)
}

/// The idle CPU that comes next after `from` and around; `None` after the whole round.
pub fn next_idle(idle: &CpuSet, this: usize, from: Option<usize>) -> Option<usize> {
    let Some(from) = from else {
        // The one that was kicked comes first.
        return Some(this);
    };
    let rank = |cpu: usize| (cpu <= this, cpu);
    let after = |cpu: &usize| *cpu != this && (from == this || rank(*cpu) > rank(from));
    idle.iter().filter(after).min_by_key(|&cpu| rank(cpu))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_round_begins_with_oneself_and_visits_each_once() {
        let idle: CpuSet = [0, 2, 3, 6].into_iter().collect();
        let mut at = None;
        let round: Vec<_> = core::iter::from_fn(|| {
            at = next_idle(&idle, 2, at);
            at
        })
        .collect();
        assert_eq!(round, [2, 3, 6, 0]);
    }

    #[test]
    fn only_those_with_too_much_kick_and_not_too_often() {
        assert!(may_kick(2, false, 10, 10));
        assert!(!may_kick(2, false, 9, 10));
        assert!(!may_kick(1, false, 10, 10));
        assert!(may_kick(1, true, 10, 10));
    }
}
