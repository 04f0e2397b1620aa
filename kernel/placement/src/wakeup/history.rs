//! What is remembered of a task between its wake-ups: whom it wakes, where it ran, how long.

/// After how long the number of flips is halved, ns.
const FLIPS_DECAY_NS: u64 = 1_000_000_000;

/// Whom a task wakes (Linux: `record_wakee`). Idle CPUs have one too: timers wake tasks there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flips {
    count: u32,
    last_wakee: Option<u32>,
    decayed_ns: Option<u64>,
}

impl Flips {
    /// It wakes a task.
    pub fn record(&mut self, wakee: u32, now_ns: u64) {
        let is_due = |then| now_ns.saturating_sub(then) >= FLIPS_DECAY_NS;
        if self.decayed_ns.is_none_or(is_due) {
            self.count >>= 1;
            self.decayed_ns = Some(now_ns);
        }
        if self.last_wakee != Some(wakee) {
            self.last_wakee = Some(wakee);
            self.count += 1;
        }
    }

    /// How often it turned to another wakee of late.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whom it woke last.
    pub fn last_wakee(&self) -> Option<u32> {
        self.last_wakee
    }
}

/// How long a task runs from one sleep to the next, on average (the proposals' `dur_avg`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Duration {
    avg_ns: u64,
    exec_at_sleep_ns: u64,
}

impl Duration {
    /// It goes to sleep of its own accord, after so much CPU time in its life.
    pub fn sleep(&mut self, sum_exec_ns: u64) {
        let run_ns = sum_exec_ns.saturating_sub(self.exec_at_sleep_ns);
        self.exec_at_sleep_ns = sum_exec_ns;
        let step = (run_ns as i64 - self.avg_ns as i64) / 8;
        self.avg_ns = self.avg_ns.saturating_add_signed(step);
    }

    /// The average, ns; `None` until it has slept.
    pub fn avg_ns(&self) -> Option<u64> {
        Some(self.avg_ns).filter(|&ns| ns > 0)
    }
}

/// All of it, for one task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct History {
    /// Whom it wakes.
    pub flips: Flips,
    /// How long it runs.
    pub duration: Duration,
    /// The CPU before the last one, more or less (`recent_used_cpu`).
    pub recent_used: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_of_wakee_are_flips() {
        let mut flips = Flips::default();
        for wakee in [1, 1, 2, 2, 1] {
            flips.record(wakee, 0);
        }
        assert_eq!((flips.count(), flips.last_wakee()), (3, Some(1)));
    }

    #[test]
    fn flips_are_halved_once_a_second() {
        let mut flips = Flips::default();
        (0..8).for_each(|wakee| flips.record(wakee, 5));
        flips.record(7, 1_000_000_004);
        assert_eq!(flips.count(), 8);
        flips.record(7, 1_000_000_005);
        assert_eq!(flips.count(), 4);
        // However long it was.
        flips.record(8, 9_000_000_000);
        assert_eq!(flips.count(), 3);
    }

    #[test]
    fn durations_are_averaged_over_eight_sleeps() {
        let mut duration = Duration::default();
        assert_eq!(duration.avg_ns(), None);
        duration.sleep(80_000);
        assert_eq!(duration.avg_ns(), Some(10_000));
        // 90 000 more: 10 000 + (90 000 - 10 000) / 8.
        duration.sleep(170_000);
        assert_eq!(duration.avg_ns(), Some(20_000));
        duration.sleep(170_000);
        assert_eq!(duration.avg_ns(), Some(17_500));
    }
}
