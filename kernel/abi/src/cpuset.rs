//! A set of logical CPU numbers, as large as the largest guest.

use crate::MAX_CPUS;
use serde::{Deserialize, Serialize};

const WORDS: usize = MAX_CPUS.div_ceil(64);

/// A set of logical CPUs (dense numbers, not APIC ids).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct CpuSet([u64; WORDS]);

impl CpuSet {
    /// The empty set.
    pub const EMPTY: Self = Self([0; WORDS]);

    /// CPUs 0 up to `count`, exclusive.
    pub fn first(count: usize) -> Self {
        (0..count).collect()
    }

    /// The set of one CPU.
    pub fn only(cpu: usize) -> Self {
        core::iter::once(cpu).collect()
    }

    /// Adds a CPU.
    ///
    /// # Panics
    /// If `cpu` is not below [`MAX_CPUS`].
    pub fn insert(&mut self, cpu: usize) {
        assert!(cpu < MAX_CPUS, "cpu {cpu} is out of range, the last one is {}", MAX_CPUS - 1);
        self.0[cpu / 64] |= 1 << (cpu % 64);
    }

    /// Removes a CPU.
    pub fn remove(&mut self, cpu: usize) {
        if let Some(word) = self.0.get_mut(cpu / 64) {
            *word &= !(1 << (cpu % 64));
        }
    }

    /// Whether the CPU is in the set.
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.get(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    /// How many CPUs are in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set has no CPU.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// The CPUs in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        let mut both = *self;
        for (word, other) in both.0.iter_mut().zip(other.0) {
            *word &= other;
        }
        both
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        let set = *self;
        set.0.into_iter().enumerate().flat_map(|(index, mut word)| {
            core::iter::from_fn(move || {
                (word != 0).then(|| {
                    let bit = word.trailing_zeros() as usize;
                    word &= word - 1;
                    index * 64 + bit
                })
            })
        })
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> Self {
        let mut set = Self::EMPTY;
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn iterates_in_order_over_word_borders() {
        let set: CpuSet = [254, 0, 63, 64, 128].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 128, 254]);
        assert_eq!(set.len(), 5);
    }

    #[test]
    fn first_is_dense() {
        let set = CpuSet::first(65);
        assert!(set.contains(64) && !set.contains(65));
        assert_eq!(set.intersection(&CpuSet::only(64)).len(), 1);
    }

    #[test]
    #[should_panic(expected = "out of range")]
    fn refuses_a_cpu_past_the_end() {
        CpuSet::only(MAX_CPUS);
    }
}
