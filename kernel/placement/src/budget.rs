//! How many CPUs of a last-level cache a search for an idle one may look at (`SIS_UTIL`).

/// The budget of a last-level cache of `weight` CPUs whose utils add up to `sum_util`: all of them
/// while it idles, none from about 85 % on. Written by the balancer, not by wake-ups.
///
/// Source: "sched/fair: Introduce SIS_UTIL to search idle CPU based on sum of util_avg".
pub fn nr_idle_scan(sum_util: u64, weight: u32, imbalance_pct: u32) -> u32 {
    const FULL: u64 = 1024;
    let (weight, pct) = (u64::from(weight), u64::from(imbalance_pct));
    let util = sum_util / weight;
    let used = (util * util * pct * pct / (10_000 * FULL)).min(FULL);
    ((FULL - used) * weight / FULL) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_used_leaves_two_thirds() {
        // x = 512: 1024 - 512^2 * 117^2 / 10^4 / 1024 = 674, and 674 / 1024 = 0.658.
        assert_eq!(nr_idle_scan(512 * 1000, 1000, 117), 658);
        assert_eq!(nr_idle_scan(512 * 112, 112, 117), 73);
    }

    #[test]
    fn ends_where_the_cache_is_busy() {
        assert_eq!(nr_idle_scan(0, 8, 117), 8);
        assert_eq!(nr_idle_scan(876 * 16, 16, 117), 0);
        // 1024 - 860^2 * 117^2 / 10^4 / 1024 = 36, and 36 * 112 / 1024 = 3.9.
        assert_eq!(nr_idle_scan(860 * 112, 112, 117), 3);
        assert_eq!(nr_idle_scan(1024 * 8, 8, 117), 0);
    }
}
