//! What each command does with its flags. Returns the exit code of a finished command.

use crate::{
    cli::{BootArgs, Cli, Command, RunArgs, SlicesArgs, manual},
    compare, doctor,
    error::{EXIT_EXPECTATION, EXIT_USAGE, Error, Refusal, SetupError},
    expect::Verdict,
    experiment::{Experiment, RunResult},
    jitter, listing,
    mixes::{self, OptionsError},
    page, questions, repeat,
    report::{self, JsonSink, Sink},
    show as traces, slices, sweep, topology,
};
use placement::Topology;
use std::path::Path;

/// Executes a command line.
///
/// # Errors
/// Whatever leaves no result; its exit code is [`Error::exit_code`].
pub fn execute(cli: Cli) -> Result<u8, Error> {
    match cli.command.unwrap_or_else(|| Command::Slices(SlicesArgs::default())) {
        Command::Slices(arguments) => slices::execute(&arguments),
        Command::ExtraTick(arguments) => questions::extra_tick(&arguments),
        Command::Wakeups(arguments) => questions::wakeups(&arguments),
        Command::Overload(arguments) => questions::overload(&arguments),
        Command::Run(arguments) => run(&arguments),
        Command::Jitter(arguments) => jitter::execute(&arguments),
        Command::Report(arguments) => page::execute(&arguments),
        Command::Compare(arguments) => compare::execute(&arguments),
        Command::Sweep(arguments) => sweep::execute(&arguments),
        Command::Merge(arguments) => sweep::merge(&arguments),
        Command::Show(arguments) => traces::show(&arguments),
        Command::Trace(arguments) => traces::export(&arguments),
        Command::Mixes => show(&mixes::listing()),
        Command::Features => show(&listing::features()),
        Command::Models => show(&listing::models()),
        Command::Presets { compare } => match compare[..] {
            [a, b] => show(&listing::difference(a, b)),
            _ => show(&listing::presets()),
        },
        Command::Doctor(arguments) => doctor::examine(&arguments.host()),
        Command::Completions(arguments) => manual::completions(&arguments),
        Command::Man(arguments) => manual::man(&arguments),
        Command::Boot(arguments) => boot(&arguments),
    }
}

fn show(text: &str) -> Result<u8, Error> {
    report::print(text, false)?;
    Ok(0)
}

fn run(arguments: &RunArgs) -> Result<u8, Error> {
    if arguments.show_topology {
        let config = arguments.machine.config();
        return show(&topology::show(&Topology::new(config.topology()?, config.cpus)));
    }
    let mix = match arguments.mix() {
        Ok(mix) => mix,
        Err(OptionsError::Refused(refusal)) => return Err(refusal.into()),
        Err(OptionsError::Usage(usage)) => return tell(&usage),
    };
    let experiment = arguments.experiment(mix.as_ref())?;
    let output = Output {
        json: arguments.json.as_deref(),
        schedstat: arguments.schedstat.as_deref(),
        page: arguments.report.as_deref(),
        trace: arguments.trace.trace.as_deref(),
        mix,
        times: arguments.repeat,
        command: &arguments.command,
    };
    run_and_report(&experiment, &output)
}

/// Prints help, or what is wrong with options.
fn tell(usage: &clap::Error) -> Result<u8, Error> {
    usage.print().map_err(SetupError::system("write the help"))?;
    Ok(if usage.use_stderr() { EXIT_USAGE } else { 0 })
}

fn boot(arguments: &BootArgs) -> Result<u8, Error> {
    let experiment = arguments.experiment()?;
    let json = arguments.run.json.as_deref();
    run_and_report(
        &experiment,
        &Output {
            json,
            schedstat: None,
            page: None,
            trace: None,
            mix: None,
            times: 1,
            command: &[],
        },
    )
}

/// What is made of a run.
struct Output<'a> {
    json: Option<&'a Path>,
    schedstat: Option<&'a Path>,
    page: Option<&'a Path>,
    /// What was recorded beside.
    trace: Option<&'a Path>,
    mix: Option<mixes::Prepared>,
    /// How many seeds.
    times: u32,
    /// What the document says of how to repeat it.
    command: &'a [String],
}

fn run_and_report(experiment: &Experiment, output: &Output<'_>) -> Result<u8, Error> {
    experiment.plan()?;
    let sink = JsonSink::prepare(output.json)?;
    let schedstat = Sink::prepare("--schedstat", output.schedstat)?;
    if sink.is_stdout() && schedstat.is_stdout() {
        let reason = "--json has it already; name a file for one of the two";
        return Err(Refusal::new("--schedstat", "-", reason).into());
    }
    let page = output.page.map(|path| Sink::prepare("--report", Some(path))).transpose()?;
    let repeat::Finished { results, error } = repeat::run(experiment, output.times)?;
    // What finished is worth having, whatever ended the rest.
    if let (Some(mut document), Some(first)) =
        (repeat::document(&results, output.times), results.first())
    {
        document.command = output.command.to_vec();
        let to_stderr = sink.is_stdout() || schedstat.is_stdout();
        sink.write(&document)?;
        schedstat.write(report::schedstat(&document).as_bytes())?;
        if let Some(page) = page {
            let trace = output.trace.filter(|_| output.times == 1);
            page.write(page::of_run(&document, trace)?.as_bytes())?;
        }
        if let Some(mix) = &output.mix {
            print_originals(mix, &results, to_stderr)?;
            if !experiment.host.quiet {
                report::print("\n", to_stderr)?;
            }
        }
        if !experiment.host.quiet {
            let tasks = match output.mix {
                Some(_) if !experiment.host.verbose => report::Tasks::Hidden,
                _ => report::Tasks::Shown,
            };
            report::print(&report::explain(first), to_stderr)?;
            report::print(&report::render(&document, tasks), to_stderr)?;
        }
        if error.is_none() {
            return Ok(exit_code(document.verdict));
        }
    }
    Err(error.unwrap_or(Error::Interrupted { after_s: 0.0, console: Vec::new() }))
}

/// What the tool that a mix is named after would print of each run.
fn print_originals(
    mix: &mixes::Prepared,
    results: &[RunResult],
    to_stderr: bool,
) -> Result<(), Error> {
    for result in results {
        match mix.original(result) {
            Ok(text) => report::print(&text, to_stderr)?,
            Err(reason) => anstream::eprintln!("error: {reason}"),
        }
    }
    Ok(())
}

/// Success unless an expectation did not hold.
pub(crate) fn exit_code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass | Verdict::Inconclusive => 0,
        Verdict::Fail => EXIT_EXPECTATION,
    }
}
