//! How much the past still counts: multiplication by powers of y, and sums of them.

/// Periods after which half is left.
const HALF_LIFE: u64 = 32;
/// Periods after which nothing is left: a value of 64 bits was halved 63 times.
const FORGOTTEN: u64 = HALF_LIFE * 63;
/// Length of a period, us of 1024 ns.
pub(crate) const PERIOD: u64 = 1024;
/// The sum of something that was always 1, at the end of a period: the limit of
/// `s = decay(s, 1) + PERIOD` in whole numbers.
pub(crate) const MAX_SUM: u64 = 47_742;

/// y^n for n below the half-life, in units of 2^-32 and rounded down.
const POWERS: [u32; HALF_LIFE as usize] = [
    0xffff_ffff,
    0xfa83_b2da,
    0xf525_7d14,
    0xefe4_b99a,
    0xeac0_c6e6,
    0xe5b9_06e6,
    0xe0cc_deeb,
    0xdbfb_b796,
    0xd744_fcc9,
    0xd2a8_1d91,
    0xce24_8c14,
    0xc9b9_bd85,
    0xc567_2a10,
    0xc12c_4cc9,
    0xbd08_a39e,
    0xb8fb_af46,
    0xb504_f333,
    0xb123_f581,
    0xad58_3ee9,
    0xa9a1_5ab4,
    0xa5fe_d6a9,
    0xa270_4302,
    0x9ef5_325f,
    0x9b8d_39b9,
    0x9837_f050,
    0x94f4_efa8,
    0x91c3_d373,
    0x8ea4_398a,
    0x8b95_c1e3,
    0x8898_0e80,
    0x85aa_c367,
    0x82cd_8698,
];

/// What is left of a value after so many periods.
pub(crate) fn decay(value: u64, periods: u64) -> u64 {
    if periods > FORGOTTEN {
        return 0;
    }
    let halved = value >> (periods / HALF_LIFE);
    let power = POWERS[(periods % HALF_LIFE) as usize];
    ((u128::from(halved) * u128::from(power)) >> 32) as u64
}

/// The sum of something that was 1 for the last `first` us of one period, `periods` - 1 whole
/// periods and `last` us of the present one.
pub(crate) fn sum_over(first: u64, periods: u64, last: u64) -> u64 {
    // The whole periods: all there ever were, less those that are further back.
    let whole = MAX_SUM - decay(MAX_SUM, periods) - PERIOD;
    decay(first, periods) + whole + last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_powers_are_those_of_the_half_life() {
        for (n, &power) in POWERS.iter().enumerate() {
            let exact = (u32::MAX as f64) * 0.5_f64.powf(n as f64 / 32.0);
            assert!((exact - f64::from(power)).abs() <= 1.0, "y^{n} is {exact}, not {power}");
        }
    }

    #[test]
    fn half_is_left_after_a_half_life() {
        assert_eq!(decay(1 << 20, 32), (1 << 19) - 1);
        assert_eq!(decay(1 << 20, 64), (1 << 18) - 1);
        // 2^20 * 2^(-1/32) = 1026107.7
        assert_eq!(decay(1 << 20, 1), 1_026_107);
        assert_eq!(decay(u64::MAX, FORGOTTEN + 1), 0);
    }

    #[test]
    fn the_largest_sum_is_the_limit() {
        let mut sum = 0;
        for _ in 0..400 {
            sum = decay(sum, 1) + PERIOD;
        }
        assert_eq!(sum, MAX_SUM);
    }

    /// Whole periods: 1024 for the present one, each earlier one decayed once more.
    #[test]
    fn a_stretch_sums_up_what_its_periods_would() {
        for periods in 1..200 {
            let by_period: u64 = (1..periods).map(|n| decay(PERIOD, n)).sum();
            let at_once = sum_over(0, periods, 0);
            assert!(
                by_period.abs_diff(at_once) <= periods + 1,
                "{periods}: {by_period}, {at_once}"
            );
        }
    }
}
