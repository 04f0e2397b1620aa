//! Machine lines: `@kind key=value key=value *crc16`, one record each.
//!
//! The checksum (CRC-16/IBM-3740, four hex digits) covers everything before ` *`. Fields come
//! in the order of their declaration: reader and writer are built from one definition, so a
//! missing, extra or displaced field is damage and not a dialect.

use crate::record::Record;
use core::fmt::{self, Write};
use crc::{CRC_16_IBM_3740, Crc, Digest};

/// The first character of a machine line; no human line starts with it.
pub const MARK: char = '@';
static CHECKSUM: Crc<u16> = Crc::<u16>::new(&CRC_16_IBM_3740);

/// What is wrong with a line that claims to be a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineError {
    /// No ` *` with four hex digits at the end: the line was cut.
    NoChecksum,
    /// The checksum is another one.
    Checksum {
        /// What the line says.
        stated: u16,
        /// What it ought to say.
        computed: u16,
    },
    /// The checksum is right, the record unknown: another version of the kernel.
    UnknownKind,
    /// A field is missing, misplaced or has a value out of its domain.
    Field(&'static str),
    /// There is more than the record's fields.
    Excess,
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoChecksum => write!(f, "it was cut short: no checksum at its end"),
            Self::Checksum { stated, computed } => {
                write!(f, "its checksum is {stated:04x} where {computed:04x} would be right")
            }
            Self::UnknownKind => write!(f, "its kind is unknown: kernel and runner differ"),
            Self::Field(name) => write!(f, "field `{name}` is missing or has no valid value"),
            Self::Excess => write!(f, "it has more fields than its kind"),
        }
    }
}

impl core::error::Error for LineError {}

/// Writes one record as a line, newline included.
///
/// # Errors
/// Those of `out`.
pub fn write(out: &mut dyn Write, record: &Record) -> fmt::Result {
    let mut summed = Summed { out, digest: CHECKSUM.digest() };
    write!(summed, "{MARK}{}", record.kind())?;
    record.write_fields(&mut summed)?;
    let Summed { out, digest } = summed;
    writeln!(out, " *{:04x}", digest.finalize())
}

/// Reads a line without its newline.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn parse(line: &str) -> Result<Record, LineError> {
    let (text, sum) = line.rsplit_once(" *").ok_or(LineError::NoChecksum)?;
    let stated = match sum.len() {
        4 => u16::from_str_radix(sum, 16).map_err(|_| LineError::NoChecksum)?,
        _ => return Err(LineError::NoChecksum),
    };
    let computed = CHECKSUM.checksum(text.as_bytes());
    if stated != computed {
        return Err(LineError::Checksum { stated, computed });
    }
    let mut tokens = text.strip_prefix(MARK).ok_or(LineError::UnknownKind)?.split(' ');
    let kind = tokens.next().unwrap_or_default();
    let record = Record::parse_fields(kind, &mut tokens)?;
    match tokens.next() {
        None => Ok(record),
        Some(_) => Err(LineError::Excess),
    }
}

/// Passes text on and sums it up.
struct Summed<'a> {
    out: &'a mut dyn Write,
    digest: Digest<'static, u16>,
}

impl Write for Summed<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.digest.update(text.as_bytes());
        self.out.write_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{End, Status};
    use alloc::string::String;

    fn line() -> String {
        let mut line = String::new();
        let end = Record::End(End { status: Status::Ok, records: 12 });
        write(&mut line, &end).expect("a String takes everything");
        line
    }

    #[test]
    fn a_line_is_what_the_contract_says() {
        assert!(line().starts_with("@end status=ok records=12 *"));
        assert_eq!(
            parse(line().trim_end()),
            Ok(Record::End(End { status: Status::Ok, records: 12 }))
        );
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_noticed() {
        let line = line();
        let line = line.trim_end();
        for len in 0..line.len() {
            assert!(parse(&line[..len]).is_err(), "cut at {len}");
        }
        for at in 0..line.len() {
            let mut bytes = line.as_bytes().to_vec();
            bytes[at] ^= 1;
            let text = String::from_utf8(bytes).expect("still ASCII");
            assert!(parse(&text).is_err(), "flipped at {at}");
        }
    }

    #[test]
    fn right_checksum_does_not_excuse_wrong_fields() {
        let sealed =
            |text: &str| alloc::format!("{text} *{:04x}", CHECKSUM.checksum(text.as_bytes()));
        assert_eq!(parse(&sealed("@end status=ok")), Err(LineError::Field("records")));
        assert_eq!(parse(&sealed("@end status=so records=1")), Err(LineError::Field("status")));
        assert_eq!(parse(&sealed("@end status=ok records=1 x=2")), Err(LineError::Excess));
        assert_eq!(parse(&sealed("@nonsense a=1")), Err(LineError::UnknownKind));
    }
}
