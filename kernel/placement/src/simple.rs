//! The placement that knows no topology: the previous CPU if it idles, else another idle one,
//! else the previous one again; and a CPU that runs dry takes a waiting task from the fullest
//! queue.

use abi::CpuSet;

/// Where a waking task goes: `prev` if it idles, else the next idle CPU after it, else `prev`,
/// each only where `allowed`. With `prev` forbidden and no CPU idle, the first allowed one.
///
/// # Panics
/// If no CPU is allowed; scenarios with such a task are refused before they boot.
pub fn select_cpu(prev: usize, allowed: &CpuSet, idle: &CpuSet) -> usize {
    let candidates = allowed.intersection(idle);
    if candidates.contains(prev) {
        return prev;
    }
    // From prev on and around, so that sleepers of different CPUs do not all pile on CPU 0.
    let (before, after): (CpuSet, CpuSet) = split(&candidates, prev);
    after
        .iter()
        .chain(before.iter())
        .next()
        .or_else(|| allowed.contains(prev).then_some(prev))
        .or_else(|| allowed.iter().next())
        .expect("a task is allowed on at least one CPU")
}

fn split(set: &CpuSet, at: usize) -> (CpuSet, CpuSet) {
    (set.iter().filter(|&cpu| cpu < at).collect(), set.iter().filter(|&cpu| cpu >= at).collect())
}

/// Where a task starts: the allowed CPU with the fewest tasks so far, the lowest number first.
///
/// # Panics
/// If no CPU is allowed, or one that `tasks_on` does not know.
pub fn initial_cpu(allowed: &CpuSet, tasks_on: &[u32]) -> usize {
    allowed.iter().min_by_key(|&cpu| tasks_on[cpu]).expect("a task is allowed on at least one CPU")
}

/// From which CPU one that runs dry should take a task: the one with the most waiting, the
/// lowest number among equals; `None` if nobody waits anywhere else.
pub fn pull_from(this: usize, waiting: impl Iterator<Item = u32>) -> Option<usize> {
    let mut best = None;
    for (cpu, waiting) in waiting.enumerate() {
        if cpu != this && waiting > 0 && best.is_none_or(|(_, most)| waiting > most) {
            best = Some((cpu, waiting));
        }
    }
    best.map(|(cpu, _)| cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(cpus: &[usize]) -> CpuSet {
        cpus.iter().copied().collect()
    }

    #[test]
    fn an_idle_previous_cpu_is_kept() {
        assert_eq!(select_cpu(2, &CpuSet::first(4), &set(&[0, 2])), 2);
    }

    #[test]
    fn else_the_next_idle_one_around() {
        assert_eq!(select_cpu(2, &CpuSet::first(4), &set(&[0, 3])), 3);
        assert_eq!(select_cpu(2, &CpuSet::first(4), &set(&[0, 1])), 0);
    }

    #[test]
    fn else_back_to_the_previous() {
        assert_eq!(select_cpu(2, &CpuSet::first(4), &CpuSet::EMPTY), 2);
    }

    #[test]
    fn affinity_beats_idleness() {
        assert_eq!(select_cpu(0, &set(&[1]), &set(&[0, 2])), 1);
        assert_eq!(select_cpu(3, &set(&[1, 2]), &set(&[2, 3])), 2);
    }

    #[test]
    fn starters_spread() {
        let mut tasks_on = [0; 3];
        let order: [usize; 4] = core::array::from_fn(|_| {
            let cpu = initial_cpu(&CpuSet::first(3), &tasks_on);
            tasks_on[cpu] += 1;
            cpu
        });
        assert_eq!(order, [0, 1, 2, 0]);
        assert_eq!(initial_cpu(&set(&[1]), &[0, 9, 0]), 1);
    }

    #[test]
    fn the_fullest_queue_is_pulled_from() {
        assert_eq!(pull_from(0, [9, 1, 3, 3].into_iter()), Some(2));
        assert_eq!(pull_from(1, [0, 9, 0].into_iter()), None);
    }
}
