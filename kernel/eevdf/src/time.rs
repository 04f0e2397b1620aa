//! Comparison of virtual and task clocks that wrap around.
//!
//! Both clocks are `u64` nanoseconds and may start anywhere, so only differences mean anything. Two
//! values are comparable while they are less than 2^63 apart; entities of one queue always are.
//! The tempting `a < b` is wrong for exactly the few seconds around a wrap, which no test that
//! starts at zero ever sees.

/// Returns `a - b` as a signed distance.
pub(crate) const fn distance(a: u64, b: u64) -> i64 {
    a.wrapping_sub(b) as i64
}

/// Tells whether `a` comes strictly before `b`.
pub(crate) const fn before(a: u64, b: u64) -> bool {
    distance(a, b) < 0
}

/// Returns the earlier of two points.
pub(crate) const fn earlier(a: u64, b: u64) -> u64 {
    if before(b, a) { b } else { a }
}

/// Returns the later of two points.
pub(crate) const fn later(a: u64, b: u64) -> u64 {
    if before(a, b) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_both_wraps() {
        for wrap in [0, 1 << 63] {
            let (a, b) = (u64::wrapping_sub(wrap, 1), wrap);
            assert!(before(a, b) && !before(b, a));
            assert_eq!((earlier(a, b), later(a, b)), (a, b));
            assert_eq!(distance(b, a), 1);
        }
    }
}
