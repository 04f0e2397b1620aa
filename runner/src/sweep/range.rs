//! Ranges of an axis: whole numbers and times, in equal steps or by a factor.

use crate::units;

/// Values that one range may have.
const MOST: usize = 100_000;

/// What a range counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Time,
}

/// How it goes on.
#[derive(Clone, Debug)]
pub(super) enum Pace {
    /// By this much.
    Step(String),
    /// To so many times as much.
    Times(String),
}

/// The values from `from` to `to`, both included where the pace meets them.
///
/// # Errors
/// What is wrong, in words.
pub(super) fn values(from: &str, to: &str, pace: Option<&Pace>) -> Result<Vec<String>, String> {
    let (from, kind) = read(from)?;
    let (to, other) = read(to)?;
    if kind != other && from != 0 {
        return Err("goes from a number to a time; both need a unit, or neither".into());
    }
    if from > to {
        return Err("ends before it begins".into());
    }
    let next: Box<dyn Fn(u64) -> Option<u64>> = match pace {
        Some(Pace::Times(times)) => match times.parse::<u64>() {
            Ok(times) if times > 1 && from > 0 => Box::new(move |value| value.checked_mul(times)),
            Ok(0 | 1) | Err(_) => return Err("`times` must be a whole number above 1".into()),
            Ok(_) => return Err("nothing times anything is nothing; begin above 0".into()),
        },
        Some(Pace::Step(step)) => {
            let (step, step_kind) = read(step)?;
            if step == 0 || step_kind != other {
                return Err("`step` must be above 0 and of the same kind as `to`".into());
            }
            Box::new(move |value| value.checked_add(step))
        }
        None if other == Kind::Time => return Err("of times needs a `step` or `times`".into()),
        None => Box::new(|value| value.checked_add(1)),
    };
    let written = |value: u64| match other {
        Kind::Number => value.to_string(),
        Kind::Time => units::exact_unsigned(value),
    };
    let values: Vec<_> = std::iter::successors(Some(from), |&value| next(value))
        .take_while(|&value| value <= to)
        .take(MOST + 1)
        .map(written)
        .collect();
    if values.len() > MOST { Err(format!("has more than {MOST} values")) } else { Ok(values) }
}

fn read(text: &str) -> Result<(u64, Kind), String> {
    match text.parse() {
        Ok(number) => Ok((number, Kind::Number)),
        Err(_) => match units::parse(text) {
            Ok(ns) => Ok((ns, Kind::Time)),
            Err(error) => Err(format!("`{text}` is neither a whole number nor a time: {error}")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_included() {
        assert_eq!(values("1", "3", None), Ok(["1", "2", "3"].map(String::from).to_vec()));
        let step = Pace::Step("500us".into());
        assert_eq!(
            values("1ms", "2ms", Some(&step)),
            Ok(["1ms", "1.5ms", "2ms"].map(String::from).to_vec())
        );
        let times = Pace::Times("4".into());
        assert_eq!(values("1", "64", Some(&times)).map(|v| v.join(" ")), Ok("1 4 16 64".into()));
        assert_eq!(values("1", "63", Some(&times)).map(|v| v.join(" ")), Ok("1 4 16".into()));
    }

    #[test]
    fn ranges_without_sense_are_refused() {
        let refused = |from, to, pace: Option<Pace>| {
            values(from, to, pace.as_ref()).expect_err("must be refused")
        };
        assert!(refused("3", "1", None).contains("ends before"));
        assert!(refused("1ms", "3ms", None).contains("needs a `step`"));
        assert!(refused("1", "3ms", None).contains("from a number to a time"));
        assert!(refused("1", "3", Some(Pace::Step("0".into()))).contains("above 0"));
        assert!(refused("0", "3", Some(Pace::Times("2".into()))).contains("begin above 0"));
        assert!(refused("1", "3", Some(Pace::Times("1".into()))).contains("above 1"));
        assert!(refused("0", "9999999", None).contains("more than 100000"));
        assert!(refused("x", "3", None).contains("neither a whole number nor a time"));
    }
}
