//! What a task used before it went to sleep, for those who ask while it sleeps or just woke.
//!
//! Util decays while a task sleeps, so that after a long sleep it says nothing of what the task
//! will do. The estimate is taken when it falls asleep: upwards at once, downwards by a quarter of
//! the difference, and not at all where the difference is within a hundredth of a CPU.

/// Differences below this do not count: about 1 % of a CPU.
const MARGIN: u64 = 10;
/// A new value counts one part in 2^this.
const WEIGHT_SHIFT: u32 = 2;

/// A task's smoothed util.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UtilEst(u64);

impl UtilEst {
    /// The estimate.
    pub fn get(&self) -> u64 {
        self.0
    }

    /// The task falls asleep with this util.
    pub fn sleep(&mut self, util: u64) {
        if util >= self.0 {
            self.0 = util;
        } else if self.0 - util >= MARGIN {
            self.0 = ((self.0 << WEIGHT_SHIFT) - (self.0 - util)) >> WEIGHT_SHIFT;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_at_once_and_down_by_quarters() {
        let mut estimate = UtilEst::default();
        estimate.sleep(400);
        assert_eq!(estimate.get(), 400);
        estimate.sleep(200);
        assert_eq!(estimate.get(), 350);
        estimate.sleep(341);
        assert_eq!(estimate.get(), 350);
        estimate.sleep(340);
        assert_eq!(estimate.get(), 347);
    }
}
