//! V at the edges of the arithmetic, with the numbers of the reports.

use super::*;

/// B1, "sched/eevdf: Fix avg_vruntime()": V of a negative sum must round down.
#[test]
fn b1_the_mean_of_a_negative_sum_rounds_down() {
    let average = Average::new(0).with(-1i64 as u64, 1024).with(0, 2048);
    assert_eq!(average.mean() as i64, -1);
    assert!(average.is_eligible(average.mean()), "who is placed at V is eligible");
    assert!(!average.is_eligible(0), "truncation would have placed it here");
}

/// The same for many sums, against the definition.
#[test]
fn b1_the_mean_is_the_floor_and_is_eligible() {
    for offset in -40..40i64 {
        for weight in [2, 3, 15, 1024, 88_761] {
            let average =
                Average::new(7).with(7u64.wrapping_add_signed(offset), weight).with(7, 1000);
            let (sum, total) = (i128::from(offset) * i128::from(weight), i128::from(weight) + 1000);
            assert_eq!(i128::from(average.mean() as i64) - 7, sum.div_euclid(total));
            assert!(average.is_eligible(average.mean()));
            assert!(!average.is_eligible(average.mean().wrapping_add(1)));
        }
    }
}

/// B2, "sched/eevdf: Fix min_vruntime vs avg_vruntime": a full-scale heavy entity far right of a light
/// one overflows 64 bits when keys count from the smallest vruntime.
#[test]
fn b2_heavy_entity_far_right_of_the_base() {
    let (light, heavy) = (2, 88_761 << 10);
    let far = 110_000_000 * 1024 / light;
    assert!(i64::try_from(i128::from(far) * i128::from(heavy) * 2).is_err());
    let mut average = Average::new(0).with(0, light).with(far, heavy).with(far, heavy);
    let exact = i128::from(far) * i128::from(heavy) * 2 / i128::from(2 * heavy + light);
    assert_eq!(i128::from(average.mean()), exact);
    average.rebase(average.mean());
    assert_eq!(i128::from(average.mean()), exact, "moving the base does not move V");
}

/// B8, "sched/fair: Fix overflow in vruntime_eligible()": key times weight leaves 64 bits, the product
/// changes its sign, and nothing is eligible.
#[test]
fn b8_eligibility_needs_128_bits() {
    let (light, heavy) = (2, 100 << 20);
    let key = (100_000_000 + 4_000_000) << 19;
    let average = Average::new(0).with(0, heavy).with(key, light);
    let product = i128::from(key) * i128::from(average.weight());
    assert!(product > i128::from(i64::MAX));
    assert!((product as i64) < 0, "64 bits would take the far entity for eligible");
    assert!(average.is_eligible(0));
    assert!(!average.is_eligible(key));
}

/// B9: after a wrong sum W can wrap to zero. It never does silently here.
#[test]
#[should_panic(expected = "weight 1025 leaves an average of weight 1024")]
fn b9_weight_never_goes_below_zero() {
    Average::new(0).with(0, 1024).remove(0, 1025);
}

/// B6, "sched/fair: Increase weight bits for avg_vruntime": a round trip through a tiny weight leaves V.
#[test]
fn b6_a_round_trip_through_a_tiny_weight_leaves_v() {
    let mut average = Average::new(0).with(3_000_000, 1 << 20).with(1_000_000, 1 << 20);
    let mean = average.mean();
    average.remove(1_000_000, 1 << 20);
    // Weight 2 of 2^20 at the same real lag.
    let lag = i128::from(mean - 1_000_000) << 19;
    let far_left = mean.wrapping_sub(lag as u64);
    average.add(far_left, 2);
    assert!((average.mean().wrapping_sub(mean) as i64).abs() <= 1);
    average.remove(far_left, 2);
    average.add(1_000_000, 1 << 20);
    assert_eq!(average.mean(), mean);
}

#[test]
fn nothing_counted_means_the_base() {
    let mut average = Average::new(u64::MAX).with(5, 3);
    average.remove(5, 3);
    assert_eq!(average, Average::new(u64::MAX));
    assert_eq!(average.mean(), u64::MAX);
}
