//! The command line that gives a result again.
//!
//! Flags stand in the order of their definition, so that one experiment has one command line
//! however it was typed. Those that only say where output goes or how the host runs guests are
//! left out: they change nothing in a result.

use super::MachineArgs;
use clap::{Arg, ArgMatches, Args, Command, parser::ValueSource};

/// Flags that change no result.
pub(crate) const OUTPUT: [&str; 10] = [
    "json",
    "schedstat",
    "trace",
    "trace_buffer",
    "report",
    "verbose",
    "quiet",
    "timeout",
    "gdb",
    "qemu",
];

/// The words of a subcommand as it was given, from its name on.
pub(super) fn words(definition: &Command, matches: &ArgMatches) -> Vec<String> {
    let mut words = vec![definition.get_name().to_owned()];
    let (trailing, others): (Vec<&Arg>, Vec<&Arg>) =
        definition.get_arguments().partition(|argument| argument.is_last_set());
    for argument in others {
        let id = argument.get_id().as_str();
        if matches.value_source(id) != Some(ValueSource::CommandLine) || OUTPUT.contains(&id) {
            continue;
        }
        for values in occurrences(matches, id) {
            words.extend(argument.get_long().map(|name| format!("--{name}")));
            if argument.get_action().takes_values() {
                let separator = argument.get_value_delimiter().map(String::from);
                words.push(values.join(&separator.unwrap_or_default()));
            }
        }
    }
    let last: Vec<String> = trailing
        .iter()
        .flat_map(|argument| occurrences(matches, argument.get_id().as_str()))
        .flatten()
        .collect();
    if !last.is_empty() {
        words.push("--".into());
        words.extend(last);
    }
    words
}

/// The part of such a line that says what runs, without the machine and its rules, which the
/// document has under `config`.
pub(crate) fn workload(words: &[String]) -> String {
    let machine = MachineArgs::augment_args(Command::new("run"));
    let is_machine =
        |flag: &str| machine.get_arguments().any(|known| known.get_long() == Some(flag));
    let mut kept = Vec::new();
    let mut words = words.iter().skip(1).map(String::as_str);
    while let Some(word) = words.next() {
        match word.strip_prefix("--") {
            Some("") => {
                kept.push(word);
                kept.extend(words);
                break;
            }
            // All flags of the machine take a value.
            Some(flag) if is_machine(flag) => _ = words.next(),
            _ => kept.push(word),
        }
    }
    kept.join(" ")
}

/// The values of each time that an argument was given.
fn occurrences(matches: &ArgMatches, id: &str) -> Vec<Vec<String>> {
    let all = matches.get_raw_occurrences(id).into_iter().flatten();
    all.map(|values| values.map(|value| value.to_string_lossy().into_owned()).collect()).collect()
}

#[cfg(test)]
mod tests {
    use crate::cli::Cli;
    use clap::CommandFactory;

    fn words(line: &str) -> String {
        let mut definition = Cli::command();
        let matches = definition
            .try_get_matches_from_mut(line.split_whitespace())
            .expect("a command line that can be");
        let (name, matches) = matches.subcommand().expect("a subcommand");
        super::words(definition.find_subcommand(name).expect("there"), matches).join(" ")
    }

    #[test]
    fn one_experiment_has_one_command_line() {
        let one = "slicelab run --hz 250 --hogs 2 --nice 0,5 --quiet --feature NO_PLACE_LAG --feature HRTICK --json x";
        let other = "slicelab run --feature NO_PLACE_LAG --feature=HRTICK --nice=0,5 --hogs=2 --hz=250 --timeout 5s";
        assert_eq!(
            words(one),
            "run --hogs 2 --nice 0,5 --hz 250 --feature NO_PLACE_LAG --feature HRTICK"
        );
        assert_eq!(words(one), words(other));
    }

    #[test]
    fn the_workload_is_what_the_machine_is_not() {
        let words: Vec<_> = "run --mix pipe --smp 2 --tick-error -1us --repeat 3 -- -l 5 --smp"
            .split(' ')
            .map(str::to_owned)
            .collect();
        assert_eq!(super::workload(&words), "--mix pipe --repeat 3 -- -l 5 --smp");
    }

    #[test]
    fn options_of_a_mix_come_last() {
        assert_eq!(
            words("slicelab run --mix hackbench --smp 2 --check-invariants -- -g 4 -l 100"),
            "run --mix hackbench --smp 2 --check-invariants -- -g 4 -l 100"
        );
    }
}
