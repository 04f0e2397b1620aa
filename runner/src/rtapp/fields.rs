//! Values as what they are meant to be, or a fault that says what is expected.

use super::{
    fault::{Fault, short},
    json::{Kind, Member, Value},
};
use std::ops::RangeInclusive;

/// Times in a file, us: up to an hour, as long as a task can do one thing.
const TIME_US: RangeInclusive<i64> = 0..=3_600_000_000;

impl<'t> Value<'t> {
    /// A whole number in a range.
    pub(super) fn whole(&self, what: &str, range: &RangeInclusive<i64>) -> Result<i64, Fault> {
        let (from, to) = (range.start(), range.end());
        let expected = format!("{what} is expected, {from} to {to}");
        let Kind::Number(digits) = self.kind else {
            return Err(self.wrong(&expected));
        };
        digits
            .parse()
            .ok()
            .filter(|number| range.contains(number))
            .ok_or_else(|| Fault::new(self.at, format!("`{}` where {expected}", short(digits))))
    }

    /// A time in us, returned in ns.
    pub(super) fn time_ns(&self) -> Result<u64, Fault> {
        let us = self.whole("a time, a whole number of us,", &TIME_US)?;
        Ok(us.unsigned_abs() * 1000)
    }

    /// A text that is not empty.
    pub(super) fn text(&self, what: &str) -> Result<&str, Fault> {
        match &self.kind {
            Kind::Text(text) if text.is_empty() => {
                Err(Fault::new(self.at, format!("{what} is expected, not an empty text")))
            }
            Kind::Text(text) => Ok(text),
            _ => Err(self.wrong(&format!("{what} is expected, a text"))),
        }
    }

    /// The values of a list.
    pub(super) fn list(&self, what: &str) -> Result<&[Value<'t>], Fault> {
        match &self.kind {
            Kind::List(values) => Ok(values),
            _ => Err(self.wrong(&format!("{what} is expected"))),
        }
    }

    /// The members of an object.
    pub(super) fn object(&self, what: &str) -> Result<&[Member<'t>], Fault> {
        match &self.kind {
            Kind::Object(members) => Ok(members),
            _ => Err(self.wrong(&format!("{what} is expected, an object in braces"))),
        }
    }

    fn wrong(&self, expected: &str) -> Fault {
        let hint = match &self.kind {
            Kind::Text(text) if is_placeholder(text) => {
                "; if this is a template, fill in its placeholders first"
            }
            Kind::Text(text) if text.parse::<i64>().is_ok() => "; leave out the quotes",
            _ => "",
        };
        let found = match &self.kind {
            Kind::Text(text) => format!("\"{}\"", short(text)),
            kind => kind.name().to_owned(),
        };
        Fault::new(self.at, format!("{found} where {expected}{hint}"))
    }
}

impl<'t> Member<'t> {
    /// The value, which this key needs.
    pub(super) fn needed(&self) -> Result<&Value<'t>, Fault> {
        self.value.as_ref().ok_or_else(|| {
            let reason = "has no value; only `suspend` and `yield` may stand alone";
            Fault::new(self.at, reason).in_key(&self.key)
        })
    }

    /// Reads the value; faults name the key.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Value<'t>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        read(self.needed()?).map_err(|fault| fault.in_key(&self.key))
    }
}

/// Whether a text looks like something that a script was to replace.
fn is_placeholder(text: &str) -> bool {
    let ends = [("@", "@"), ("{", "}"), ("<", ">"), ("%", "%"), ("__", "__"), ("$", "")];
    ends.iter().any(|(start, end)| text.starts_with(start) && text.ends_with(end))
        || text.len() > 1 && text.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}
