//! Whether a CPU that runs dry should look for work, or has it again before it found any.

/// What moving a task to another cache costs (`sysctl_sched_migration_cost`).
pub const MIGRATION_COST_NS: u64 = 500_000;

/// How long a CPU idles on average: each time counts an eighth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AvgIdle {
    ns: u64,
    since_ns: Option<u64>,
}

impl AvgIdle {
    /// Longer times count as this.
    const MAX_NS: u64 = 2 * MIGRATION_COST_NS;

    /// Of a CPU that never idled: long enough to look for work.
    pub const fn new() -> Self {
        Self { ns: Self::MAX_NS, since_ns: None }
    }

    /// It idles from here on.
    pub fn begin(&mut self, now_ns: u64) {
        self.since_ns = Some(now_ns);
    }

    /// It has work again, by a wake-up; what it took from others itself does not count as that.
    pub fn end(&mut self, now_ns: u64) {
        let Some(since_ns) = self.since_ns.take() else { return };
        let idle_ns = now_ns.saturating_sub(since_ns);
        let difference = idle_ns as i64 - self.ns as i64;
        self.ns = self.ns.saturating_add_signed(difference / 8).min(Self::MAX_NS);
    }

    /// It found work itself.
    pub fn cancel(&mut self) {
        self.since_ns = None;
    }

    /// Whether there is time to spend so much on looking.
    pub fn affords(&self, cost_ns: u64) -> bool {
        self.ns >= cost_ns
    }
}

impl Default for AvgIdle {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eighth_of_each_time() {
        let mut idle = AvgIdle::new();
        assert!(idle.affords(1_000_000));
        idle.begin(0);
        idle.end(200_000);
        assert!(idle.affords(900_000) && !idle.affords(900_001));
        idle.begin(0);
        idle.end(1_000_000_000);
        assert!(idle.affords(1_000_000) && !idle.affords(1_000_001));
        idle.begin(0);
        idle.cancel();
        idle.end(5);
        assert!(idle.affords(1_000_000), "work that it found itself does not count");
    }
}
