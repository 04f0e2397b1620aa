//! The load of one runqueue.
//!
//! Not the sum over what is queued now: a task that sleeps goes on to count here, decaying, until
//! it is woken elsewhere. So a queue has a history of its own, fed with what is queued, and tasks
//! bring theirs along only when they change queue.

use crate::signals::{Held, Signals};
use crate::task::{Averages, TaskLoad};

/// A queue's history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLoad {
    signals: Signals,
    averages: Averages,
    util_est: u64,
}

impl QueueLoad {
    /// Lets time pass on the task clock, in which so much weight was queued, so many wanted to run
    /// and something ran or nothing.
    pub fn update(&mut self, now_ns: u64, weight: u64, runnable: u32, is_running: bool) {
        let held = Held { load: weight, runnable: runnable.into(), is_running };
        if self.signals.update(now_ns, held) {
            let divider = self.signals.divider();
            self.averages = Averages {
                load: self.signals.load / divider,
                runnable: self.signals.runnable / divider,
                util: self.signals.util / divider,
            };
        }
    }

    /// The averages as of the last update.
    pub fn averages(&self) -> Averages {
        self.averages
    }

    /// Up to when the past counts, ns of this queue's task clock.
    pub fn updated_ns(&self) -> u64 {
        self.signals.updated_ns
    }

    /// The estimates of the tasks that are queued, together.
    pub fn util_est(&self) -> u64 {
        self.util_est
    }

    /// A task of that weight comes from another queue, or is new. Both must be up to date.
    pub fn attach(&mut self, task: &mut TaskLoad, weight: u64) {
        task.align(&self.signals, weight);
        let Averages { load, runnable, util } = task.averages();
        let divider = self.signals.divider();
        self.averages.load += load;
        self.averages.runnable += runnable;
        self.averages.util += util;
        self.signals.load += load * divider;
        self.signals.runnable += runnable * divider;
        self.signals.util += util * divider;
    }

    /// A task that had these averages, up to date with this queue, goes on to another one.
    pub fn detach(&mut self, gone: &Averages) {
        let divider = self.signals.divider();
        let Averages { load, runnable, util } = &mut self.averages;
        let parts = [
            (load, gone.load, &mut self.signals.load),
            (runnable, gone.runnable, &mut self.signals.runnable),
            (util, gone.util, &mut self.signals.util),
        ];
        for (average, gone, sum) in parts {
            // Rounding may have left less here than the task takes along.
            *average = average.saturating_sub(gone);
            *sum = sum.saturating_sub(gone * divider);
        }
    }

    /// A task with this estimate is queued.
    pub fn add_util_est(&mut self, estimate: u64) {
        self.util_est += estimate;
    }

    /// A task with this estimate is not queued any more.
    pub fn remove_util_est(&mut self, estimate: u64) {
        self.util_est = self.util_est.saturating_sub(estimate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn two_waiting_and_one_running() {
        let mut queue = QueueLoad::default();
        queue.update(1000 * MS, 3 * 1024, 3, true);
        assert_eq!(queue.averages(), Averages { load: 3072, runnable: 3072, util: 1024 });
    }

    #[test]
    fn a_task_takes_along_what_it_brought() {
        let (mut from, mut to) = (QueueLoad::default(), QueueLoad::default());
        let mut task = TaskLoad::default();
        from.update(MS, 0, 0, false);
        from.attach(&mut task, 1024);
        for tick in 2..=200 {
            from.update(tick * MS, 1024, 1, true);
            task.update(tick * MS, 1024, true, true, true);
        }
        assert_eq!(task.averages(), from.averages());
        to.update(90 * MS, 0, 0, false);
        from.detach(&task.averages());
        assert_eq!(from.averages(), Averages::default());
        let before = task.averages();
        to.attach(&mut task, 1024);
        assert_eq!((task.averages(), to.averages()), (before, before));
        // From here on both go on alike on the other clock.
        to.update(95 * MS, 1024, 1, true);
        task.update(95 * MS, 1024, true, true, true);
        assert_eq!(task.averages().util, to.averages().util);
        assert!(task.averages().load.abs_diff(to.averages().load) <= 1);
    }

    #[test]
    fn an_idle_queue_forgets() {
        let mut queue = QueueLoad::default();
        queue.update(1000 * MS, 1024, 1, true);
        queue.update(1033 * MS, 0, 0, false);
        // 32 periods ended, so the sum was halved: 23 704 of 46 718 + 148 us.
        assert_eq!(queue.averages().util, 517);
        queue.update(11_000 * MS, 0, 0, false);
        assert_eq!(queue.averages(), Averages::default());
        assert_eq!((queue.signals.load, queue.signals.runnable, queue.signals.util), (0, 0, 0));
    }

    #[test]
    fn a_task_that_takes_more_than_there_is_leaves_nothing() {
        let mut queue = QueueLoad::default();
        queue.update(300 * MS, 1024, 1, true);
        queue.detach(&Averages { load: 1025, runnable: 1000, util: 1025 });
        let Averages { load, runnable, util } = queue.averages();
        assert_eq!((load, queue.signals.load, util, queue.signals.util), (0, 0, 0, 0));
        assert!(runnable > 0 && queue.signals.runnable >= runnable * queue.signals.divider());
    }
}
