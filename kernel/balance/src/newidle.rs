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

/// How often looking for work in a domain finds some (Linux: `newidle_ratio` and its counts).
///
/// A domain in which it mostly finds none is looked at as rarely; what is found then counts for
/// all the times it was not looked at.
///
/// Source: "sched/fair: Proportional newidle balance". That a fresh domain counts as one in which
/// every second look pays is from memory of it, not checked against a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewidleRate {
    calls: u32,
    successes: u32,
    ratio: u32,
}

impl NewidleRate {
    /// Faces of the dice, and calls after which the ratio is set anew.
    pub const OF: u32 = 1024;

    /// Of a domain that was never looked at.
    pub const fn new() -> Self {
        Self { calls: Self::OF / 2, successes: Self::OF / 4, ratio: Self::OF / 2 }
    }

    /// Whether to look, by a throw of a dice from 0 on; what a success counts for then.
    pub const fn weight(&self, dice: u32) -> Option<u32> {
        let weight = 1 + self.ratio;
        if dice > weight {
            return None;
        }
        Some((Self::OF + weight / 2) / weight)
    }

    /// A call came to so much: nothing, or the weight of a success.
    pub const fn note(&mut self, success: u32) {
        self.calls += 1;
        self.successes += success;
        if self.calls >= Self::OF {
            self.ratio = self.successes;
            self.calls /= 2;
            self.successes /= 2;
        }
    }
}

impl Default for NewidleRate {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 514 of 1024 throws look at first, and a find counts twice. After 512 calls in vain the ratio
    /// is the 256 of the beginning; the second half of a thousand leaves 128, and so on: the eleventh
    /// has nothing left, and then one throw of 1024 looks and would count for all.
    #[test]
    fn looking_in_vain_becomes_rare_and_never_ends() {
        let mut rate = NewidleRate::new();
        let looks =
            |rate: NewidleRate| (0..NewidleRate::OF).filter_map(|dice| rate.weight(dice)).count();
        assert_eq!((looks(rate), rate.weight(0)), (514, Some(2)));
        for half in [256, 128, 64, 32, 16, 8, 4, 2, 1, 0] {
            (0..512).for_each(|_| rate.note(0));
            assert_eq!(rate.ratio, half);
        }
        assert_eq!((looks(rate), rate.weight(1), rate.weight(2)), (2, Some(1024), None));
        rate.note(1024);
        (0..511).for_each(|_| rate.note(0));
        assert_eq!(
            rate.weight(1023),
            Some(1),
            "one find, and it is looked at again at each chance"
        );
    }

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
