//! Built-in mixes: the benchmarks that kernel developers quote, as tasks of this laboratory.
//!
//! Each takes the options of the tool it is named after and prints what that tool prints, so
//! that scripts read it. The kernel knows none of them: a mix composes programs of the
//! operations that there are (`Sequence`), and reads its figures from counters and histograms.
//!
//! Two kinds: one does a given amount of work and ends when all its tasks have, and `--duration`
//! is only its limit; the other runs for a time.

mod context_switch;
mod cyclictest;
mod finish;
mod forkstorm;
mod format;
mod groups;
mod hackbench;
mod hogs;
mod linux;
mod messaging;
mod options;
mod pairs;
mod percentiles;
mod pins;
mod pipe;
mod rr;
mod schbench;
mod sequence;
mod stream;
mod stress;
mod tbench;
#[cfg(test)]
mod tests;
mod yields;

pub use options::OptionsError;

use crate::{
    Error, Experiment,
    config::Config,
    error::Refusal,
    experiment::RunResult,
    units,
    workload::{Goal, MAX_TASKS, Workload},
};
use abi::{Burn, Clock};
use clap::Args;
use std::fmt::{self, Write};

/// What a mix needs to know of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// How many CPUs.
    pub cpus: u32,
    /// Nanoseconds of guest time for an instruction, where instructions are counted.
    pub instruction_ns: Option<u64>,
    /// The length that the user asked for, ns.
    pub duration_ns: Option<u64>,
}

impl Machine {
    /// That of a configuration; its own length counts only if the user gave one.
    pub fn new(config: &Config, duration_ns: Option<u64>) -> Self {
        let instruction_ns =
            (config.clock == Clock::Virtual).then(|| crate::qemu::ns_per_instruction(config.burn));
        Self { cpus: config.cpus, instruction_ns, duration_ns }
    }

    /// One CPU under the virtual clock, halted while it computes.
    pub const fn small() -> Self {
        let instruction_ns = Some(crate::qemu::ns_per_instruction(Burn::Halt));
        Self { cpus: 1, instruction_ns, duration_ns: None }
    }
}

/// How long a run of a mix takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    /// Until the work is done, which takes at least this long, ns.
    Work(u64),
    /// This long, ns.
    Time(u64),
}

/// The longest that work may take beyond twice what it takes at least, unless `--duration` says
/// otherwise, ns.
const WORK_LIMIT_NS: u64 = 60_000_000_000;

/// A benchmark that was given its options.
trait Mix: Args {
    /// What `--mix` calls it.
    const NAME: &'static str;
    /// What it is, in a line.
    const ABOUT: &'static str;

    /// Adds its tasks.
    fn build(self, machine: &Machine, load: &mut Workload) -> Result<Built, Refusal>;
}

/// A mix whose tasks are there.
struct Built {
    length: Length,
    print: Print,
}

/// What the original would print of a run.
type Print = Box<dyn Fn(&RunResult) -> String + Send + Sync>;

impl Built {
    /// One that ends when its work is done.
    fn work(print: impl Fn(&RunResult) -> String + Send + Sync + 'static) -> Self {
        Self::work_of(0, print)
    }

    /// The same, where the work takes at least this long.
    fn work_of(
        least_ns: u64,
        print: impl Fn(&RunResult) -> String + Send + Sync + 'static,
    ) -> Self {
        Self { length: Length::Work(least_ns), print: Box::new(print) }
    }

    /// One that runs for a time.
    fn time(ns: u64, print: impl Fn(&RunResult) -> String + Send + Sync + 'static) -> Self {
        Self { length: Length::Time(ns), print: Box::new(print) }
    }
}

/// A mix that `--mix` can name.
struct Entry {
    name: &'static str,
    about: &'static str,
    build: fn(&[String], &Machine, &mut Workload) -> Result<Built, OptionsError>,
}

const fn entry<M: Mix>() -> Entry {
    Entry { name: M::NAME, about: M::ABOUT, build: build::<M> }
}

fn build<M: Mix>(
    options: &[String],
    machine: &Machine,
    load: &mut Workload,
) -> Result<Built, OptionsError> {
    Ok(options::parse::<M>(options)?.build(machine, load)?)
}

static ALL: [Entry; 12] = [
    entry::<hogs::Hogs>(),
    entry::<hackbench::Hackbench>(),
    entry::<schbench::Schbench>(),
    entry::<pipe::Pipe>(),
    entry::<messaging::Messaging>(),
    entry::<context_switch::ContextSwitch>(),
    entry::<rr::Rr>(),
    entry::<tbench::Tbench>(),
    entry::<stream::Stream>(),
    entry::<yields::Yields>(),
    entry::<forkstorm::Forkstorm>(),
    entry::<cyclictest::Cyclictest>(),
];

/// The names of all mixes.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|entry| entry.name)
}

/// Every mix in a line.
pub(crate) fn listing() -> String {
    let width = names().map(str::len).max().unwrap_or(0);
    let mut text = String::new();
    for Entry { name, about, .. } in &ALL {
        writeln!(text, "{name:<width$}  {about}").expect("a String takes everything");
    }
    text.push_str("\n`slicelab run --mix NAME -- --help` has the options of each.\n");
    text
}

/// A mix with its options: tasks, length, and how its figures are printed.
pub struct Prepared {
    name: &'static str,
    /// Its tasks.
    pub workload: Workload,
    /// How long the run is, or how long it may be, ns.
    pub duration_ns: u64,
    goals: Vec<Goal>,
    print: Print,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Composes the tasks of a mix.
///
/// # Errors
/// There is no such mix, or an option is not one of its own or out of range.
pub fn prepare(
    name: &str,
    options: &[String],
    machine: &Machine,
) -> Result<Prepared, OptionsError> {
    let entry = ALL.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<_> = names().collect();
        let reason = crate::cli::unknown(name, &known);
        Refusal::new("--mix", name, format!("{reason}; `slicelab mixes` says what each is"))
    })?;
    let mut workload = Workload::default();
    let Built { length, print } = (entry.build)(options, machine, &mut workload)?;
    let duration_ns = match (length, machine.duration_ns) {
        (Length::Work(least_ns), limit) => {
            limit.unwrap_or_else(|| least_ns.saturating_mul(2).saturating_add(WORK_LIMIT_NS))
        }
        (Length::Time(ns), _) => ns,
    };
    let goals = workload.goals.clone();
    Ok(Prepared { name: entry.name, workload, duration_ns, goals, print })
}

impl Prepared {
    /// The mix as an experiment with this configuration, but for its length.
    pub fn experiment(&self, config: Config) -> Experiment {
        let config = Config { duration_ns: self.duration_ns, ..config };
        Experiment { config, workload: self.workload.clone(), ..Experiment::default() }
    }

    /// What the original would print of a run.
    ///
    /// # Errors
    /// Why there is no such result: the work was not done when the run ended.
    pub fn original(&self, result: &RunResult) -> Result<String, String> {
        let records = &result.records;
        match self.goals.iter().find(|goal| goal.reached_ns(records).is_none()) {
            None => Ok((self.print)(result)),
            Some(goal) => Err(format!(
                "{} has no result: {} of {} {} when the run ended at {}",
                self.name,
                goal.done(records),
                goal.times,
                goal.what,
                units::exact_unsigned(records.total.elapsed_ns),
            )),
        }
    }
}

/// Refuses more tasks than a scenario can have, with the option that asks for most of them.
fn check_tasks(flag: &'static str, value: impl fmt::Display, tasks: u64) -> Result<(), Refusal> {
    if tasks <= MAX_TASKS as u64 {
        return Ok(());
    }
    Err(Refusal::new(flag, value, format!("makes {tasks} tasks; at most {MAX_TASKS} are possible")))
}

impl From<OptionsError> for Error {
    fn from(error: OptionsError) -> Self {
        match error {
            OptionsError::Refused(refusal) => refusal.into(),
            OptionsError::Usage(usage) => {
                Refusal::new("--mix", "options", usage.to_string()).into()
            }
        }
    }
}
