//! The load of one task.
//!
//! The load sum is kept without the weight, so that a change of weight counts at once and for the
//! whole past, as in Linux.

use crate::CAPACITY;
use crate::signals::{Held, Signals};
use crate::util_est::UtilEst;

/// What a sum comes to, in the units of the crate's head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Averages {
    /// Weight, as far as it was queued.
    pub load: u64,
    /// 1024 for each that wanted to run.
    pub runnable: u64,
    /// 1024 as far as it ran.
    pub util: u64,
}

/// A task's history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskLoad {
    signals: Signals,
    averages: Averages,
    util_est: UtilEst,
}

impl TaskLoad {
    /// A new task of that weight on a queue with these averages: as heavy as it can be, until it
    /// shows what it does; its util is the queue's in proportion to weight, and at most half of
    /// what is to spare.
    pub fn newborn(weight: u64, queue: &Averages) -> Self {
        let spare = CAPACITY.saturating_sub(queue.util) / 2;
        let util = match queue.util {
            0 => spare,
            util => (util * weight / (queue.load + 1)).min(spare),
        };
        let mut task =
            Self { averages: Averages { load: weight, runnable: util, util }, ..Self::default() };
        task.sums_from_averages(weight);
        task
    }

    /// Lets time pass on the task clock, in which the task was queued or not, wanted to run or not
    /// (a delayed one does not), ran or not.
    pub fn update(
        &mut self,
        now_ns: u64,
        weight: u64,
        is_queued: bool,
        is_runnable: bool,
        is_running: bool,
    ) {
        let held = Held { load: is_queued.into(), runnable: is_runnable.into(), is_running };
        if self.signals.update(now_ns, held) {
            let divider = self.signals.divider();
            self.averages = Averages {
                load: weight * self.signals.load / divider,
                runnable: self.signals.runnable / divider,
                util: self.signals.util / divider,
            };
        }
    }

    /// The averages as of the last update.
    pub fn averages(&self) -> Averages {
        self.averages
    }

    /// What it used before it slept, smoothed; see [`UtilEst`].
    pub fn util_est(&self) -> u64 {
        self.util_est.get()
    }

    /// It goes to sleep.
    pub fn sleeps(&mut self) {
        self.util_est.sleep(self.averages.util);
    }

    /// It joins a queue whose periods begin elsewhere: averages stay, sums follow.
    pub(crate) fn align(&mut self, queue: &Signals, weight: u64) {
        self.signals.updated_ns = queue.updated_ns;
        self.signals.into_period = queue.into_period;
        self.sums_from_averages(weight);
    }

    fn sums_from_averages(&mut self, weight: u64) {
        let divider = self.signals.divider();
        self.signals.load = self.averages.load * divider / weight.max(1);
        self.signals.runnable = self.averages.runnable * divider;
        self.signals.util = self.averages.util * divider;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const NICE_0: u64 = 1024;

    /// One that runs all the time, looked at after each of `step_ns`.
    fn always_running(until_ns: u64, step_ns: u64) -> TaskLoad {
        let mut task = TaskLoad::default();
        for now_ns in (step_ns..=until_ns).step_by(step_ns as usize) {
            task.update(now_ns, NICE_0, true, true, true);
        }
        task
    }

    /// By the model of the crate's head, worked out apart from this code: 32 ms are 30 periods of
    /// 1024 us and 530 us, and then the sum is 22 855 of 46 718 + 530.
    #[test]
    fn util_rises_by_half_in_a_half_life() {
        for (ms, util) in [(1, 20), (2, 41), (32, 495), (100, 894), (345, 1023), (1000, 1024)] {
            assert_eq!(always_running(ms * MS, ms * MS).averages().util, util, "{ms} ms at once");
        }
        // Rounded down at each step; never more than a few units in the last place.
        for (ms, util) in [(1, 20), (2, 41), (32, 495), (100, 894), (345, 1023), (1000, 1024)] {
            assert_eq!(always_running(ms * MS, MS).averages().util, util, "{ms} ms by ticks");
        }
    }

    #[test]
    fn load_is_weight_and_runnable_is_not_util() {
        let mut task = TaskLoad::default();
        task.update(1000 * MS, 335, true, true, false);
        assert_eq!(task.averages(), Averages { load: 335, runnable: 1024, util: 0 });
    }

    #[test]
    fn a_delayed_task_is_load_but_not_runnable() {
        let mut task = always_running(1000 * MS, 1000 * MS);
        task.update(1400 * MS, NICE_0, true, false, false);
        let Averages { load, runnable, util } = task.averages();
        assert_eq!((load, runnable, util), (1024, 0, 0));
    }

    #[test]
    fn ten_seconds_of_sleep_forget_everything() {
        let mut task = always_running(1000 * MS, MS);
        task.update(11_000 * MS, NICE_0, false, false, false);
        assert_eq!(task.averages(), Averages::default());
        assert_eq!((task.signals.load, task.signals.runnable, task.signals.util), (0, 0, 0));
    }

    #[test]
    fn a_clock_that_goes_back_changes_nothing() {
        let mut task = always_running(10 * MS, MS);
        let before = task;
        task.update(5 * MS, NICE_0, false, false, false);
        assert_eq!(task, before);
    }

    /// 1024 to spare: half of it. On a queue at 600 with load 2048, a nice 0 task's part would be
    /// 600 * 1024 / 2049 = 299, but half of what is left is 212.
    #[test]
    fn a_newborn_takes_its_part_and_at_most_half_the_rest() {
        let idle = Averages::default();
        assert_eq!(TaskLoad::newborn(NICE_0, &idle).averages().util, 512);
        let busy = Averages { load: 2048, runnable: 2048, util: 600 };
        let newborn = TaskLoad::newborn(NICE_0, &busy).averages();
        assert_eq!((newborn.load, newborn.util), (1024, 212));
        let calm = Averages { load: 2048, runnable: 300, util: 300 };
        assert_eq!(TaskLoad::newborn(NICE_0, &calm).averages().util, 149);
    }

    #[test]
    fn averages_survive_a_change_of_periods() {
        let mut task = always_running(50 * MS, MS);
        let before = task.averages();
        let elsewhere = Signals { updated_ns: 777 * MS, into_period: 1000, ..Signals::default() };
        task.align(&elsewhere, NICE_0);
        // The next microsecond, in which it runs, changes nothing yet but the rounding.
        task.update(777 * MS + 1024, NICE_0, true, true, true);
        assert!(task.averages().util.abs_diff(before.util) <= 1);
        assert!(task.averages().load.abs_diff(before.load) <= 1);
    }
}
