//! The command line: what can be said, and what it means as an experiment.
//!
//! Values are read here with their units and checked against the ranges that the modules behind
//! own; clap refuses bad ones with exit code 2, naming flag, value and what is allowed.

mod common;
mod compare;
mod load;
pub(crate) mod manual;
mod question;
pub(crate) mod repeatable;
mod report;
mod sweep;
mod traces;
mod values;

pub use common::{HostArgs, MachineArgs, TraceArgs};
pub use compare::{CompareArgs, Statistic};
pub use load::LoadArgs;
pub use manual::{CompletionsArgs, ManArgs};
pub use question::{ExtraTickArgs, OverloadArgs, QuestionArgs, WakeupsArgs};
pub use report::ReportArgs;
pub use sweep::{MergeArgs, Shard, SweepArgs, TableArgs};
pub(crate) use traces::ShowView;
pub use traces::{ExportArgs, ShowArgs};
pub(crate) use values::{pin, unknown, whole};

use crate::{
    config::Config, error::Refusal, experiment::Experiment, experiment::Host, mixes,
    mixes::OptionsError, rtapp, units, workload::Workload,
};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind};
use eevdf::SliceRule;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// A laboratory for CPU schedulers: boots a minimal SMP kernel with a real EEVDF scheduler in
/// QEMU, feeds it a workload and accounts for every slice. Results repeat to the nanosecond.
#[derive(Parser, Debug)]
#[command(name = "slicelab", version, about, max_term_width = 100)]
#[command(after_help = "Without a command: `slicelab slices`.\n\
    Exit codes: 0 ok, 1 an expectation did not hold, 2 bad usage or workload, 3 setup (QEMU or \
    toolchain), 4 the guest failed, 130 interrupted.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Cli {
    /// Reads the command line of this process; what is wrong with it ends the process.
    pub fn from_command_line() -> Self {
        Self::from_words(std::env::args_os()).unwrap_or_else(|error| {
            let Some(tip) = mix_tip(&error) else { error.exit() };
            // Nothing is left to be told to whoever closed stderr.
            let _ = error.print();
            anstream::eprintln!("{tip}");
            std::process::exit(error.exit_code())
        })
    }

    /// Reads the words of a `run`, which is none of this process.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn run_from_words(words: &[String]) -> Result<RunArgs, clap::Error> {
        let name = OsString::from("slicelab");
        let words = words.iter().map(OsString::from);
        match Self::from_words([name].into_iter().chain(words))?.command {
            Some(Command::Run(run)) => Ok(run),
            _ => Err(Self::command().error(ErrorKind::InvalidSubcommand, "must be a `run`")),
        }
    }

    fn from_words(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut definition = Self::command();
        let matches = definition.try_get_matches_from_mut(words)?;
        let mut cli = Self::from_arg_matches(&matches)?;
        let repeatable = match &mut cli.command {
            Some(Command::Run(run)) => Some(&mut run.command),
            Some(Command::Slices(slices)) => Some(&mut slices.command),
            Some(Command::ExtraTick(extra_tick)) => Some(&mut extra_tick.question.command),
            Some(Command::Wakeups(wakeups)) => Some(&mut wakeups.question.command),
            Some(Command::Overload(overload)) => Some(&mut overload.question.command),
            _ => None,
        };
        if let (Some(words), Some((name, matches))) = (repeatable, matches.subcommand()) {
            let definition = definition.find_subcommand(name).expect("it was matched");
            *words = repeatable::words(definition, matches);
        }
        Ok(cli)
    }
}

/// What can be done.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Does the base slice matter when it is shorter than a tick? The published table of slices
    /// at HZ=1000 and HZ=100, measured again
    Slices(SlicesArgs),
    /// Why do tasks get an extra tick, and what does a base slice of 0.70 ms instead of 0.75 ms
    /// change? Stints and benchmarks at HZ=250 and HZ=1000 on 8 CPUs
    ExtraTick(ExtraTickArgs),
    /// What did delayed dequeue, the fair deadline server and remote wake-ups do to schbench? Six
    /// kernels from 6.9 to the last patch of the proposal, on models of the machines in the thread
    Wakeups(WakeupsArgs),
    /// Is waking a short task on the waker's CPU worth it, and why only at 4x overload? SIS_SHORT
    /// against none of it for four benchmarks at 1x to 8x load
    Overload(OverloadArgs),
    /// Run one scenario, an rt-app file, a built-in mix or made of the load flags, and report on
    /// every task and CPU
    Run(RunArgs),
    /// What the host's real tick jitter does to slices: tick intervals and stint lengths under
    /// the real clock
    Jitter(JitterArgs),
    /// Write results as one HTML page with tables and figures
    Report(ReportArgs),
    /// Set results side by side in the table that kernel developers post, with improvements and CVs
    Compare(CompareArgs),
    /// Run a grid of scenarios, several at once; goes on where an interrupted one stopped
    Sweep(SweepArgs),
    /// Put the results of a sweep's shards together
    Merge(MergeArgs),
    /// Show a trace in the terminal: stint by stint, sums, latencies, or who is on which CPU
    Show(ShowArgs),
    /// Write a trace for Perfetto, SchedViz, Chrome or a spreadsheet
    Trace(ExportArgs),
    /// The built-in mixes: benchmarks that kernel developers quote, for `run --mix`
    Mixes,
    /// The scheduler features, what they do and which versions have them
    Features,
    /// List the costs that a machine can have, and the machines that come along
    Models,
    /// The Linux versions whose rules can be reproduced, or what differs between two of them
    Presets {
        /// Two presets to compare, such as `v6.8 v6.15`
        #[arg(num_args = 2, value_names = ["A", "B"], value_parser = values::preset)]
        compare: Vec<eevdf::Preset>,
    },
    /// Check toolchain, kernel build and QEMU, and say what to do about what is missing
    Doctor(HostArgs),
    /// Print completions for a shell, such as `slicelab completions bash`
    Completions(CompletionsArgs),
    /// Print the man page, or write those of all commands into a folder
    Man(ManArgs),
    /// Boot a kernel that is already built: the cargo runner of the bare-metal target
    #[command(hide = true)]
    Boot(BootArgs),
}

/// What may be wrong with a command line that clap has refused: options of a mix stand among those of
/// `run`. None if it is something else.
fn mix_tip(error: &clap::Error) -> Option<String> {
    let arguments: Vec<_> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    if error.kind() != ErrorKind::UnknownArgument || !has("--mix") || has("--") {
        return None;
    }
    let unknown = error.get(clap::error::ContextKind::InvalidArg)?.to_string();
    let at = arguments.iter().position(|argument| argument.starts_with(&unknown))?;
    let (before, after) = arguments.split_at(at);
    let line = format!("slicelab {} -- {}", before.join(" "), after.join(" "));
    Some(format!("  tip: options of the mix come after `--`: {line}"))
}

/// Flags of `slices`.
#[derive(Args, Debug)]
pub struct SlicesArgs {
    /// Search the background load that explains the published numbers best
    #[arg(long)]
    pub fit: bool,
    /// Compare with a real Linux 6.12 and 7.3 in the same QEMU instead of with the published table
    #[arg(long, value_name = "WHAT", conflicts_with = "fit")]
    pub against: Option<Against>,
    /// Guest time of each cell
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = values::time, allow_hyphen_values = true)]
    pub duration: u64,
    /// Where random streams start
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::seed, allow_hyphen_values = true)]
    pub seed: u64,
    /// Also write the table as JSON (`-`: to stdout)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// What else to keep.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Also write the answer as an HTML page with figures
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// How to run guests.
    #[command(flatten)]
    pub host: HostArgs,
    /// The words after `slicelab` that ask for the same result, see `repeatable`.
    #[arg(skip)]
    pub command: Vec<String>,
}

/// What `slices` can be compared with besides the published table.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// Measurements of Linux 6.12.117 and 7.3.4
    Linux,
}

impl Default for SlicesArgs {
    fn default() -> Self {
        Self {
            fit: false,
            against: None,
            duration: 30_000_000_000,
            seed: 1,
            json: None,
            trace: TraceArgs::default(),
            host: HostArgs::default(),
            report: None,
            command: vec!["slices".into()],
        }
    }
}

/// Flags of `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Workload in the format of rt-app (`-`: from stdin), instead of load flags; see docs/rt-app.md
    #[arg(value_name = "FILE.json")]
    pub workload: Option<PathBuf>,
    /// Built-in mix to run, such as hackbench or schbench; `slicelab mixes` lists them. Tasks of
    /// the load flags run beside it
    #[arg(long, value_name = "NAME", conflicts_with = "workload")]
    pub mix: Option<String>,
    /// Options of the mix, those of the tool it is named after; `-- --help` explains them
    #[arg(last = true, value_name = "OPTIONS", requires = "mix")]
    pub mix_options: Vec<String>,
    /// The tasks.
    #[command(flatten)]
    pub load: LoadArgs,
    /// The machine and its rules.
    #[command(flatten)]
    pub machine: MachineArgs,
    /// Print how the CPUs are put together and the scheduling domains that follow, and run nothing
    #[arg(long, help_heading = "Output")]
    pub show_topology: bool,
    /// Print why each task ran, with everybody's lag and deadline, between two times of the run
    /// such as 1s..1010ms; without them from its start
    #[arg(long, value_name = "FROM..TO", num_args = 0..=1, default_missing_value = "..", value_parser = values::window, help_heading = "Output")]
    pub explain: Option<(u64, u64)>,
    /// Check the policy's invariants after every operation
    #[arg(long, help_heading = "Output")]
    pub check_invariants: bool,
    /// Measure the kernel itself: the longest time with interrupts off, and what a tick takes
    /// that nobody is switched at (one CPU, virtual clock: 1 ns = 1 instruction)
    #[arg(long, help_heading = "Output")]
    pub kernel_cost: bool,
    /// Run with so many seeds, from --seed on, and add mean, median and CV to each metric
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::repeats, allow_hyphen_values = true, help_heading = "Output")]
    pub repeat: u32,
    /// Also write the result document (`-`: to stdout)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Also write what was counted as Linux's /proc/schedstat has it, version 17 (`-`: to stdout);
    /// see docs/schedstat.md
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub schedstat: Option<PathBuf>,
    /// What else to keep.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Also write the result as an HTML page with figures
    #[arg(long, value_name = "FILE.html", help_heading = "Output")]
    pub report: Option<PathBuf>,
    /// How to run the guest.
    #[command(flatten)]
    pub host: HostArgs,
    /// The words after `slicelab` that ask for the same result, see `repeatable`.
    #[arg(skip)]
    pub command: Vec<String>,
}

impl RunArgs {
    /// The mix with its options, if there is one.
    ///
    /// # Errors
    /// No such mix, or options that are not its own; `--help` is one of those.
    pub fn mix(&self) -> Result<Option<mixes::Prepared>, OptionsError> {
        let Some(name) = &self.mix else { return Ok(None) };
        let machine = mixes::Machine::new(&self.machine.config(), self.machine.duration);
        mixes::prepare(name, &self.mix_options, &machine).map(Some)
    }

    /// The experiment that the flags describe, around the tasks of a mix if there is one.
    ///
    /// # Errors
    /// A value that no machine can have.
    pub fn experiment(&self, mix: Option<&mixes::Prepared>) -> Result<Experiment, Refusal> {
        let mut config = Config {
            explain: self.explain,
            check_invariants: self.check_invariants,
            kernel_cost: self.kernel_cost,
            ..self.machine.config()
        };
        let workload = match (mix, &self.workload) {
            (Some(mix), _) => {
                config.duration_ns = mix.duration_ns;
                self.load.workload(mix.workload.clone())?
            }
            (None, None) => self.load.workload(Workload::default())?,
            (None, Some(path)) => self.described_by(path, &mut config)?,
        };
        if self.repeat > 1 && workload.metrics.is_empty() {
            let reason = "this load measures nothing that could be compared; --mix does";
            return Err(Refusal::new("--repeat", self.repeat, reason));
        }
        let host = Host { trace: self.trace.request(), ..self.host.host() };
        Ok(Experiment { config, workload, host })
    }

    /// The workload of a file, which may say how long the run is. What its reader should know is
    /// told at once, before a guest runs for minutes on a misunderstanding.
    fn described_by(&self, path: &Path, config: &mut Config) -> Result<Workload, Refusal> {
        if let Some(flag) = self.load.first_given() {
            let reason = "the tasks are those of the file; leave one of the two out";
            return Err(Refusal::new(flag, format!("with {}", path.display()), reason));
        }
        let only_base = config.rules()?.variant.slice == SliceRule::BaseOnly;
        let machine = rtapp::Machine {
            cpus: config.cpus,
            without_slices: only_base.then_some(config.preset.name()),
        };
        let mut file = rtapp::read(path, &machine)?;
        if self.machine.duration.is_none() {
            let length = rtapp::length(&file);
            config.duration_ns = length.ns();
            if let rtapp::Length::Endless(ns) = length {
                file.notes.push(format!(
                    "the file has no duration and its tasks loop for ever: this run takes {}; \
                     --duration sets another length",
                    units::exact_unsigned(ns)
                ));
            }
        }
        if !self.host.quiet {
            for note in &file.notes {
                anstream::eprintln!("note: {note}");
            }
        }
        Ok(rtapp::lower(&file, config.cpus, config.duration_ns))
    }
}

/// Flags of `jitter`.
#[derive(Args, Debug)]
pub struct JitterArgs {
    /// CPUs, each with two tasks that compute
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::cpus, allow_hyphen_values = true)]
    pub smp: u32,
    /// Ticks per second
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = values::hz, allow_hyphen_values = true)]
    pub hz: u32,
    /// Length of the run
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::time, allow_hyphen_values = true)]
    pub duration: u64,
    /// How tasks pass their time: halted, or spinning to load the host as well
    #[arg(long, value_name = "HOW", default_value = "halt", value_parser = values::burn)]
    pub burn: abi::Burn,
    /// Linux version whose rules are in force
    #[arg(long, value_name = "VERSION", default_value = values::newest_preset_name(), value_parser = values::preset)]
    pub preset: eevdf::Preset,
    /// Also write the distributions as JSON (`-`: to stdout)
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// What else to keep.
    #[command(flatten)]
    pub trace: TraceArgs,
    /// How to run the guest.
    #[command(flatten)]
    pub host: HostArgs,
}

/// Arguments of `boot`.
#[derive(Args, Debug)]
pub struct BootArgs {
    /// The kernel
    pub elf: PathBuf,
    /// As for `run`.
    #[command(flatten)]
    pub run: RunArgs,
}

impl BootArgs {
    /// The experiment: two hogs for a second unless the flags say otherwise.
    ///
    /// # Errors
    /// A value that no machine can have.
    pub fn experiment(&self) -> Result<Experiment, Refusal> {
        let mut experiment = self.run.experiment(None)?;
        if experiment.workload.tasks().is_empty() {
            experiment.workload.hogs(2);
        }
        if self.run.machine.duration.is_none() {
            experiment.config.duration_ns = 1_000_000_000;
        }
        experiment.host.kernel = Some(self.elf.clone());
        experiment.host.verbose = true;
        Ok(experiment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tasks of the load flags run until the work of a mix is done, and as long as one that runs
    /// for a time.
    #[test]
    fn load_flags_beside_a_mix_are_its_background() {
        for (mix, is_background) in [("pipe", true), ("context_switch1", false)] {
            let words = ["run", "--mix", mix, "--hogs", "2"].map(str::to_owned);
            let run = Cli::run_from_words(&words).expect("fine");
            let mix = run.mix().expect("fine");
            let experiment = run.experiment(mix.as_ref()).expect("fine");
            let tasks = experiment.workload.tasks();
            assert!(tasks[..2].iter().all(|task| !task.is_background));
            assert!(tasks[2..].iter().all(|task| task.is_background == is_background));
            assert_eq!(tasks.len(), 4);
        }
    }
}
