//! How the options of mixes are read: each mix by a command line of its own, whose letters are
//! those of the tool it is named after, `-h` included.

use super::{Machine, Mix};
use crate::{cli, error::Refusal, units};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::{fmt::Display, ops::RangeInclusive, str::FromStr};

/// Bytes in a pipe, as Linux makes them.
pub(super) const PIPE_BYTES: u32 = 65_536;

/// Why a mix cannot be composed.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// A value that cannot be.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The options cannot be read, or ask for help.
    #[error("{0}")]
    Usage(#[from] clap::Error),
}

/// Reads the options of a mix.
pub(super) fn parse<M: Mix>(options: &[String]) -> Result<M, OptionsError> {
    let matches = command::<M>().try_get_matches_from(options)?;
    Ok(from_matches::<M>(&matches)?)
}

fn from_matches<M: Mix>(matches: &ArgMatches) -> Result<M, clap::Error> {
    M::from_arg_matches(matches).map_err(|error| error.format(&mut command::<M>()))
}

fn command<M: Mix>() -> Command {
    let name = format!("slicelab run --mix {} --", M::NAME);
    let help = Arg::new("help").long("help").action(ArgAction::Help).help("Print this");
    let command = M::augment_args(Command::new(M::NAME).bin_name(name).about(M::ABOUT))
        .no_binary_name(true)
        .disable_help_flag(true)
        .max_term_width(100)
        .arg(help);
    // What is below zero, with a unit or without, is a bad value and not an unknown option.
    command.mut_args(|arg| match arg.get_action().takes_values() {
        true => arg.allow_hyphen_values(true),
        false => arg,
    })
}

/// Reads a whole number within a range.
pub(super) fn within<T>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync
where
    T: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| cli::whole(text, &range)
}

/// Reads a length: whole seconds as the tools have them, or a time with its unit; ns.
pub(super) fn seconds(text: &str) -> Result<u64, String> {
    let number = text.bytes().all(|digit| digit.is_ascii_digit());
    let ns = match text.parse::<u64>() {
        Ok(seconds) if number => seconds.checked_mul(1_000_000_000),
        _ => Some(units::parse(text).map_err(|error| error.to_string())?),
    };
    ns.filter(|&ns| ns > 0)
        .ok_or_else(|| "must be 1 or more seconds, or a time such as 500ms".into())
}

/// Reads a time, ns.
pub(super) fn time(text: &str) -> Result<u64, String> {
    let longest = 3_600_000_000_000;
    match units::parse(text) {
        Ok(ns) if ns <= longest => Ok(ns),
        Ok(_) => Err("must be 0 to 3600s".into()),
        Err(error) => Err(error.to_string()),
    }
}

/// Reads sizes of a request and of its response in bytes, such as `1,1`.
pub(super) fn sizes(text: &str) -> Result<(u32, u32), String> {
    let (request, response) = text.split_once(',').unwrap_or((text, text));
    let size = within(1..=PIPE_BYTES);
    Ok((size(request)?, size(response)?))
}

/// The length of a mix that runs for a time: its own option, `--duration`, or the default.
pub(super) fn length(
    flag: &'static str,
    own_ns: Option<u64>,
    machine: &Machine,
    default_ns: u64,
) -> Result<u64, Refusal> {
    match (own_ns, machine.duration_ns) {
        (Some(own), Some(other)) if own != other => {
            let reason = format!(
                "the run cannot also take --duration {}; give one of them",
                units::exact_unsigned(other)
            );
            Err(Refusal::new(flag, units::exact_unsigned(own), reason))
        }
        (own, other) => Ok(own.or(other).unwrap_or(default_ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_seconds_or_times() {
        assert_eq!(seconds("30"), Ok(30_000_000_000));
        assert_eq!(seconds("500ms"), Ok(500_000_000));
        for bad in ["0", "-1", "x", "99999999999999", ""] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_one_or_two() {
        assert_eq!(sizes("1,100"), Ok((1, 100)));
        assert_eq!(sizes("7"), Ok((7, 7)));
        assert!(sizes("1,65537").unwrap_err().contains("from 1 to 65536"));
    }

    #[test]
    fn two_lengths_contradict_each_other() {
        let machine = Machine { duration_ns: Some(5), ..Machine::small() };
        assert_eq!(length("-r", None, &machine, 7), Ok(5));
        assert_eq!(length("-r", Some(5), &machine, 7), Ok(5));
        assert!(length("-r", Some(6), &machine, 7).is_err());
        assert_eq!(length("-r", None, &Machine::small(), 7), Ok(7));
    }
}
