//! One cell: the words of a `run`, and the experiment that they describe.

use crate::{
    cli::{Cli, HostArgs, RunArgs, repeatable},
    error::{Error, Refusal},
    experiment::{Experiment, Host},
};
use clap::{Arg, ArgAction, CommandFactory, error::ErrorKind};
use std::error::Error as _;

/// The key of a mix's options, which are no flag of `run`.
pub(super) const OPTIONS: &str = "options";
/// The key of an rt-app file.
pub(super) const WORKLOAD: &str = "workload";
/// The key of a machine model, by name or by file.
pub(super) const MODEL: &str = "model";
/// Flags of `run` that make no sense in a cell, and what to use instead.
pub(super) const UNFIT: [(&str, &str); 3] = [
    ("repeat", "several seeds are an axis: seed = { from = 1, to = 10 }"),
    ("explain", "`run --explain` shows one cell"),
    ("show-topology", "`run --show-topology` shows one machine"),
];

/// The definition of `run`.
fn definition() -> clap::Command {
    Cli::command().find_subcommand("run").expect("it is there").clone()
}

/// The keys that a spec may have.
pub(super) fn keys() -> Vec<String> {
    let is_fit = |argument: &&Arg| {
        let id = argument.get_id().as_str();
        !argument.is_hide_set()
            && !repeatable::OUTPUT.contains(&id)
            && !matches!(argument.get_action(), ArgAction::Help | ArgAction::HelpLong)
            && UNFIT.iter().all(|&(unfit, _)| Some(unfit) != argument.get_long())
    };
    let flags = definition();
    let flags = flags.get_arguments().filter(is_fit).filter_map(Arg::get_long).map(str::to_owned);
    [WORKLOAD, OPTIONS].into_iter().map(str::to_owned).chain(flags).collect()
}

/// Whether a key is a flag without a value.
pub(super) fn is_switch(key: &str) -> bool {
    let flags = definition();
    let mut flags = flags.get_arguments();
    flags.any(|flag| flag.get_long() == Some(key) && !flag.get_action().takes_values())
}

/// Whether a key may be given several times.
pub(super) fn is_repeatable(key: &str) -> bool {
    let flags = definition();
    let mut flags = flags.get_arguments();
    flags.any(|flag| {
        flag.get_long() == Some(key)
            && matches!(flag.get_action(), ArgAction::Append)
            && flag.get_value_delimiter().is_none()
    })
}

/// Checks one value of one flag, by the reader that `run` has for it.
///
/// # Errors
/// What is wrong with it.
pub(super) fn check(key: &str, value: &str) -> Result<(), String> {
    // What a file holds is seen once its folder is known.
    if [WORKLOAD, OPTIONS, MODEL].contains(&key) || is_switch(key) {
        return Ok(());
    }
    let words = ["run".to_owned(), format!("--{key}={value}")];
    match definition().try_get_matches_from(words) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::ArgumentConflict => Ok(()),
        Err(error) => Err(reason(&error)),
    }
}

/// What clap says, without the flag and the value, which the spec's line shows.
pub(super) fn reason(error: &clap::Error) -> String {
    if let Some(source) = error.source() {
        return source.to_string();
    }
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// Reads a cell's words as `run` would.
///
/// # Errors
/// Flags that do not go together.
pub(super) fn arguments(words: &[String]) -> Result<RunArgs, Refusal> {
    Cli::run_from_words(words)
        .map_err(|error| Refusal::new("cell", words.join(" "), reason(&error)))
}

/// The experiment of a cell; how guests are run is the sweep's to say.
///
/// # Errors
/// Values that do not go together.
pub(super) fn experiment(arguments: &RunArgs, host: &HostArgs) -> Result<Experiment, Error> {
    let mix = arguments.mix()?;
    let mut experiment = arguments.experiment(mix.as_ref())?;
    let Host { accel, memory_mib, .. } = experiment.host;
    experiment.host = host.host();
    experiment.host.accel = accel.or(experiment.host.accel);
    experiment.host.memory_mib = memory_mib.or(experiment.host.memory_mib);
    Ok(experiment)
}
