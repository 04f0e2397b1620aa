//! Workloads in the format of rt-app: from a file to tasks that a guest can run.
//!
//! ```text
//!  file -> json (a tree of values with places)
//!             |  global, task (settings, event), resources: names become numbers
//!             v
//!        Description  ->  check: what holds between tasks  ->  lower: programs
//! ```
//!
//! Everything that is wrong is refused with line, column, task and key before anything starts;
//! what rt-app silently ignores is refused too, so that a slip cannot pass for a measurement.

mod bounds;
mod check;
mod event;
mod fault;
mod fields;
mod global;
mod json;
mod lower;
pub mod model;
mod notes;
mod refuse;
mod resources;
mod settings;
mod task;

pub use crate::source::{At, Position};
pub use lower::{Length, length, lower};
pub use model::Description;
pub use resources::{Barrier, Resources, Timer};

use crate::source::Source;
use crate::{error::Refusal, workload::MAX_TASKS};
use fault::{ENOUGH, Fault, did_you_mean, short};
use json::Member;
use notes::Notes;
use resources::Names;
use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read},
    path::Path,
};

/// The largest file; 20 000 tasks with 10 events each take a quarter of it.
const MAX_BYTES: u64 = 16 << 20;

/// What a workload has to fit.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'m> {
    /// How many CPUs there are.
    pub cpus: u32,
    /// The preset, if its tasks cannot have slices of their own.
    pub without_slices: Option<&'m str>,
}

/// Reads a file; `-` is standard input.
///
/// # Errors
/// That it cannot be read, or what is wrong with it.
pub fn read(path: &Path, machine: &Machine<'_>) -> Result<Description, Refusal> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin { "stdin".into() } else { path.display().to_string() };
    let refused = |reason: String| Refusal::new("workload", &name, reason);
    let mut bytes = Vec::new();
    // Not by its metadata: that of a pipe or device says nothing.
    let mut all = |file: &mut dyn Read| file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    match is_stdin {
        true => all(&mut io::stdin().lock()),
        false => File::open(path).and_then(|mut file| all(&mut file)),
    }
    .map_err(|error| refused(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        let reason = format!(
            "the file goes on after {} MiB, which is no workload; give an rt-app file",
            MAX_BYTES >> 20
        );
        let text = String::from_utf8_lossy(&bytes);
        let source = Source { name: &name, text: &text };
        let at = At(u32::try_from(MAX_BYTES).unwrap_or(u32::MAX));
        return Err(fault::refusal(&source, vec![Fault::new(at, reason)]));
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => parse(&name, text, machine),
        Err(error) => {
            let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            let source = Source { name: &name, text: valid };
            let at = At(u32::try_from(valid.len()).unwrap_or(u32::MAX));
            let reason = "not UTF-8 text from here on; save the file as UTF-8";
            Err(fault::refusal(&source, vec![Fault::new(at, reason)]))
        }
    }
}

/// Reads the text of a file of that name.
///
/// # Errors
/// What is wrong with it, as far as one reading shows.
pub fn parse(name: &str, text: &str, machine: &Machine<'_>) -> Result<Description, Refusal> {
    let source = Source { name, text: text.strip_prefix('\u{feff}').unwrap_or(text) };
    describe(&source, machine).map_err(|faults| fault::refusal(&source, faults))
}

/// What reading a task needs to know, and what it adds to.
struct Context<'c> {
    /// The task's name.
    task: &'c str,
    /// Its number.
    index: usize,
    /// How many of it there are.
    instances: u32,
    /// How many threads there are with the tasks before it.
    threads: &'c mut usize,
    machine: &'c Machine<'c>,
    names: &'c mut Names,
    notes: &'c mut Notes,
    /// Tasks by name, the first of each.
    tasks: &'c HashMap<&'c str, usize>,
}

impl Context<'_> {
    /// Adds the task's threads to those before it.
    fn count(&mut self, instances: u32, at: At) -> Result<(), Fault> {
        let threads = self.threads.saturating_add(instances as usize);
        if threads > MAX_TASKS {
            let reason = format!(
                "{instances} more threads make {threads}, and at most {MAX_TASKS} are possible; \
                 lower `instance`"
            );
            return Err(Fault::new(at, reason).in_key("instance"));
        }
        self.instances = instances;
        *self.threads = threads;
        Ok(())
    }

    /// The condition and the mutex of one name.
    fn both(&mut self, name: &str) -> (u32, u32) {
        (self.names.condition(name), self.names.mutex(name))
    }

    fn task_called(&self, name: &str, at: At) -> Result<usize, Fault> {
        self.tasks.get(name).copied().ok_or_else(|| {
            let reason = match did_you_mean(name, self.tasks.keys().copied()) {
                Some(meant) => {
                    format!("no task is called `{}`; did you mean `{meant}`?", short(name))
                }
                None => format!("no task is called `{}`", short(name)),
            };
            Fault::new(at, reason)
        })
    }
}

fn describe(source: &Source<'_>, machine: &Machine<'_>) -> Result<Description, Vec<Fault>> {
    let root = json::parse(source).map_err(|fault| vec![fault])?;
    let mut notes = Notes::default();
    let sections = sections(&root, &mut notes).map_err(|fault| vec![fault])?;
    let mut faults = Vec::new();
    let (global, default_policy) = match sections.global {
        None => Default::default(),
        Some(member) => {
            member.read(|value| global::read(value, &mut notes)).unwrap_or_else(|fault| {
                faults.push(fault);
                Default::default()
            })
        }
    };
    let members = sections.tasks;
    let mut by_name = HashMap::new();
    for (index, member) in members.iter().enumerate() {
        if *by_name.entry(&*member.key).or_insert(index) != index {
            notes.twice(member.at, &member.key);
        }
    }
    let (mut names, mut tasks, mut threads) = (Names::default(), Vec::new(), 0);
    for (index, member) in members.iter().enumerate() {
        let mut context = Context {
            task: &member.key,
            index,
            instances: 1,
            threads: &mut threads,
            machine,
            names: &mut names,
            notes: &mut notes,
            tasks: &by_name,
        };
        match task::read(member, &default_policy, &mut context) {
            Ok(task) => tasks.push(task),
            Err(fault) => faults.push(fault.in_task(&member.key)),
        }
        if faults.len() == ENOUGH {
            break;
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    check::between_tasks(&mut tasks, &names, &mut notes)?;
    Ok(Description { global, tasks, resources: names.finish(), notes: notes.finish(source) })
}

/// The parts of a file.
struct Sections<'v, 't> {
    tasks: &'v [Member<'t>],
    global: Option<&'v Member<'t>>,
}

fn sections<'v, 't>(
    root: &'v json::Value<'t>,
    notes: &mut Notes,
) -> Result<Sections<'v, 't>, Fault> {
    let (mut tasks, mut global) = (None, None);
    let mut seen = Vec::new();
    for member in root.object("a workload")? {
        global::once(&mut seen, member)?;
        match &*member.key {
            "tasks" => tasks = Some(member),
            "global" => global = Some(member),
            // Kept by rt-app for old files; what is used is made when it is named.
            "resources" => notes.ignored("resources"),
            key => {
                let reason = match did_you_mean(key, ["tasks", "global", "resources"]) {
                    Some(meant) => format!("unknown; did you mean `{meant}`?"),
                    None => "unknown; a file has `tasks` and `global`".into(),
                };
                return Err(Fault::new(member.at, reason).in_key(key));
            }
        }
    }
    let missing = "there are no tasks; add \"tasks\": {\"NAME\": {\"run\": TIME}}";
    let member = tasks.ok_or_else(|| Fault::new(root.at, missing))?;
    let value = member.needed()?;
    let tasks = value.object("tasks by name").map_err(|fault| fault.in_key("tasks"))?;
    if tasks.is_empty() {
        return Err(Fault::new(value.at, missing));
    }
    Ok(Sections { tasks, global })
}
