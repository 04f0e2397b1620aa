//! Times as people write them: a number and its unit.
//!
//! A bare number is refused rather than guessed at: kernel interfaces use ns, us and ms side by
//! side, and a slice that is wrong by a factor of 1000 still boots.

/// Nanoseconds in one of each unit, in the order in which a time is written.
const UNITS: [(&str, u64); 4] = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// Why a text is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// A number alone.
    #[error("a time needs a unit: {0}ns, {0}us, {0}ms or {0}s")]
    NoUnit(String),
    /// Something after the number that is no unit.
    #[error("unknown unit `{0}`; use ns, us, ms or s")]
    UnknownUnit(String),
    /// No number.
    #[error("a time is a number and a unit, such as 700us, 2.8ms or 10s")]
    NoNumber,
    /// Below zero where only a length makes sense.
    #[error("must be 0 or more: a time cannot be negative here")]
    Negative,
    /// More than 64 bits of nanoseconds.
    #[error("the time is too long: 292 years are the most that fits")]
    TooLong,
}

/// Reads a time that may be negative, such as `-1us`, in ns.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_signed(text: &str) -> Result<i64, TimeError> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let length = i64::try_from(parse_unsigned(digits)?).map_err(|_| TimeError::TooLong)?;
    Ok(if negative { -length } else { length })
}

/// Reads a time, such as `2.8ms`, in ns.
///
/// # Errors
/// What is wrong with the text.
pub fn parse(text: &str) -> Result<u64, TimeError> {
    match parse_signed(text)? {
        time if time < 0 => Err(TimeError::Negative),
        time => Ok(time.unsigned_abs()),
    }
}

fn parse_unsigned(text: &str) -> Result<u64, TimeError> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') {
        return Err(TimeError::NoNumber);
    }
    // 0 is the same in every unit.
    if unit.is_empty() && number.bytes().all(|digit| digit == b'0' || digit == b'.') {
        return Ok(0);
    }
    let ns_per_unit = match UNITS.iter().find(|(name, _)| *name == unit) {
        Some(&(_, ns)) => ns,
        None if unit.is_empty() => return Err(TimeError::NoUnit(number.into())),
        None => return Err(TimeError::UnknownUnit(unit.into())),
    };
    let whole: u64 = whole.parse().map_err(|_| TimeError::TooLong)?;
    // Digit by digit: 2.8ms is 2800000 ns and not what a float makes of it.
    let (mut part, mut digit_ns) = (0, ns_per_unit);
    for digit in fraction.bytes() {
        digit_ns /= 10;
        part += u64::from(digit - b'0') * digit_ns;
    }
    whole.checked_mul(ns_per_unit).and_then(|ns| ns.checked_add(part)).ok_or(TimeError::TooLong)
}

/// Writes a time with the largest unit that keeps it exact: `2.8ms`, `10s`, `-1us`.
pub fn exact(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let length = ns.unsigned_abs();
    let (name, unit) =
        UNITS.into_iter().find(|&(_, unit)| length >= unit).unwrap_or(("s", 1_000_000_000));
    let (whole, part) = (length / unit, length % unit);
    if part == 0 {
        return format!("{sign}{whole}{name}");
    }
    let width = unit.ilog10() as usize;
    let digits = format!("{part:0width$}");
    format!("{sign}{whole}.{}{name}", digits.trim_end_matches('0'))
}

/// Writes an unsigned time like [`exact`].
pub fn exact_unsigned(ns: u64) -> String {
    exact(i64::try_from(ns).unwrap_or(i64::MAX))
}

/// Writes a measured time with three significant decimals at most: `2.998 ms`, `17 us`.
pub fn rounded(ns: f64) -> String {
    let length = ns.abs();
    // Each border lies where the smaller unit would be rounded up to 1000.
    match length {
        _ if length >= 999.9995e6 => format!("{:.3} s", ns / 1e9),
        _ if length >= 999.95e3 => format!("{:.3} ms", ns / 1e6),
        _ if length >= 999.5 => format!("{:.1} us", ns / 1e3),
        _ => format!("{ns:.0} ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(parse("2.8ms"), Ok(2_800_000));
        assert_eq!(parse("0.75ms"), Ok(750_000));
        assert_eq!(parse("10s"), Ok(10_000_000_000));
        assert_eq!(parse("700us"), Ok(700_000));
        assert_eq!(parse("1.5ns"), Ok(1));
        assert_eq!(parse_signed("-1us"), Ok(-1_000));
        assert_eq!(parse("0"), Ok(0));
        assert_eq!(parse("0.0"), Ok(0));
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(parse("5"), Err(TimeError::NoUnit("5".into())));
        assert_eq!(parse("5m"), Err(TimeError::UnknownUnit("m".into())));
        assert_eq!(parse("ms"), Err(TimeError::NoNumber));
        assert_eq!(parse(""), Err(TimeError::NoNumber));
        assert_eq!(parse("1.2.3ms"), Err(TimeError::NoNumber));
        assert_eq!(parse("-3ms"), Err(TimeError::Negative));
        assert_eq!(parse("99999999999s"), Err(TimeError::TooLong));
    }

    #[test]
    fn writing_and_reading_agree() {
        for text in ["2.8ms", "10s", "700us", "1ns", "1.000016ms", "0.5s", "-1us", "0s"] {
            let ns = parse_signed(text).expect("a time");
            assert_eq!(parse_signed(&exact(ns)), Ok(ns), "{text}");
        }
        assert_eq!(exact(2_800_000), "2.8ms");
        assert_eq!(exact(500_000_000), "500ms");
        assert_eq!(rounded(2_998_123.0), "2.998 ms");
        assert_eq!(rounded(999_984.0), "1.000 ms");
        assert_eq!(rounded(999_900.0), "999.9 us");
    }
}
