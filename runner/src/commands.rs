//! What each command does with its flags. Returns the exit code of a finished command.

use crate::{
    cli::{BootArgs, Cli, Command, RunArgs, SlicesArgs},
    doctor,
    error::{EXIT_EXPECTATION, Error},
    expect::Verdict,
    experiment::Experiment,
    jitter, listing,
    report::{self, JsonSink},
    slices,
};
use std::path::Path;

/// Executes a command line.
///
/// # Errors
/// Whatever leaves no result; its exit code is [`Error::exit_code`].
pub fn execute(cli: Cli) -> Result<u8, Error> {
    match cli.command.unwrap_or_else(|| Command::Slices(SlicesArgs::default())) {
        Command::Slices(arguments) => slices::execute(&arguments),
        Command::Run(arguments) => run(&arguments),
        Command::Jitter(arguments) => jitter::execute(&arguments),
        Command::Features => show(&listing::features()),
        Command::Presets { compare } => match compare[..] {
            [a, b] => show(&listing::difference(a, b)),
            _ => show(&listing::presets()),
        },
        Command::Doctor(arguments) => doctor::examine(&arguments.host()),
        Command::Boot(arguments) => boot(&arguments),
    }
}

fn show(text: &str) -> Result<u8, Error> {
    report::print(text, false)?;
    Ok(0)
}

fn run(arguments: &RunArgs) -> Result<u8, Error> {
    let experiment = arguments.experiment()?;
    run_and_report(&experiment, arguments.json.as_deref())
}

fn boot(arguments: &BootArgs) -> Result<u8, Error> {
    let experiment = arguments.experiment()?;
    run_and_report(&experiment, arguments.run.json.as_deref())
}

fn run_and_report(experiment: &Experiment, json: Option<&Path>) -> Result<u8, Error> {
    experiment.plan()?;
    let sink = JsonSink::prepare(json)?;
    let result = experiment.run()?;
    let document = result.document();
    let to_stderr = sink.is_stdout();
    sink.write(&document)?;
    if !experiment.host.quiet {
        report::print(&report::explain(&result), to_stderr)?;
        report::print(&report::render(&document), to_stderr)?;
    }
    Ok(exit_code(document.verdict))
}

/// Success unless an expectation did not hold.
pub(crate) fn exit_code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass | Verdict::Inconclusive => 0,
        Verdict::Fail => EXIT_EXPECTATION,
    }
}
