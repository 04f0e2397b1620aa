//! Numbers as C's `printf` writes them.

/// `%g`: six significant digits, no zeros at the end.
pub(super) fn general(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').expect("it is scientific");
    let exponent: i32 = exponent.parse().expect("it is a number");
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    match exponent {
        -4..=5 => trim(&format!("{value:.*}", (5 - exponent) as usize)),
        _ => format!(
            "{}e{}{:02}",
            trim(digits),
            if exponent < 0 { '-' } else { '+' },
            exponent.abs()
        ),
    }
}

/// Seconds and milliseconds, cut off as `%lu.%03lu` of whole numbers.
pub(super) fn seconds_ms(ns: u64) -> String {
    let ms = ns / 1_000_000;
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_is_as_in_c() {
        for (value, text) in [
            (0.0, "0"),
            (1_234.567_89, "1234.57"),
            (0.5, "0.5"),
            (100_000.0, "100000"),
            (1_234_567.0, "1.23457e+06"),
            (0.000_012_3, "1.23e-05"),
            (999_999.7, "1e+06"),
        ] {
            assert_eq!(general(value), text);
        }
    }

    #[test]
    fn milliseconds_are_cut_off() {
        assert_eq!(seconds_ms(1_002_999_999), "1.002");
    }
}
