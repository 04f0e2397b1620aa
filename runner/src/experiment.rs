//! One scenario, from its description to its result: the door for the command and for tests.
//!
//! ```no_run
//! let result = runner::Experiment::new().smp(4).hz(250).hogs(8).duration_ns(1_000_000_000).run()?;
//! assert_eq!(result.records.total.lag_violations, 0);
//! # Ok::<(), runner::Error>(())
//! ```

use crate::{
    config::{Config, MEMORY_MIB},
    decode::Decoder,
    error::{Error, Refusal, SetupError},
    expect::{self, Judgement},
    kernel_image,
    qemu::{self, Accel, Launch, Qemu},
    records::{Records, Shape},
    report::Document,
    topology,
    trace::{
        self,
        capture::{self, Capture, News},
    },
    workload::{Goal, Metric, MetricSpec, Shared, Workload},
};
use abi::{
    Burn, Clock, Scenario, Surroundings,
    record::Rings,
    trace::ring::{LINE_BYTES, Layout},
};
use eevdf::{Feature, Preset, Rules};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc,
    thread,
    time::Duration,
};

/// How the temporary folder of each guest begins.
pub(crate) const FOLDER_PREFIX: &str = "slicelab-";

/// How a guest is run on this host; none of it changes what is simulated.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// The QEMU to use; see [`Qemu::find`].
    pub qemu: Option<PathBuf>,
    /// The kernel to boot; the workspace's own, built on demand, without it.
    pub kernel: Option<PathBuf>,
    /// What executes the guest; TCG without it.
    pub accel: Option<Accel>,
    /// Memory of the guest; as much as it needs without it.
    pub memory_mib: Option<u32>,
    /// Limit in host time; by the size of the run without it.
    pub timeout: Option<Duration>,
    /// Whether QEMU waits for a debugger.
    pub gdb: bool,
    /// What is to be recorded of the run.
    pub trace: Option<trace::Request>,
    /// Whether to show QEMU's command line and the guest's console on stderr.
    pub verbose: bool,
    /// Whether to keep quiet about progress.
    pub quiet: bool,
}

/// A scenario and how to run it.
#[derive(Clone, Debug, Default)]
pub struct Experiment {
    /// What is simulated.
    pub config: Config,
    /// The tasks.
    pub workload: Workload,
    /// How it is run.
    pub host: Host,
}

impl Experiment {
    /// One CPU, HZ=1000, the newest preset, ten seconds and no task yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of CPUs.
    #[must_use]
    pub fn smp(mut self, cpus: u32) -> Self {
        self.config.cpus = cpus;
        self
    }

    /// Sets the tick rate.
    #[must_use]
    pub fn hz(mut self, hz: u32) -> Self {
        self.config.hz = hz;
        self
    }

    /// Sets the Linux version whose rules are in force.
    #[must_use]
    pub fn preset(mut self, preset: Preset) -> Self {
        self.config.preset = preset;
        self
    }

    /// Switches a feature on or off against the preset.
    #[must_use]
    pub fn feature(mut self, feature: Feature, on: bool) -> Self {
        self.config.features.push((feature, on));
        self
    }

    /// Switches a feature of CPU selection on or off.
    #[must_use]
    pub fn smp_feature(mut self, feature: placement::Feature, on: bool) -> Self {
        self.config.smp_features.push((feature, on));
        self
    }

    /// Sets how the CPUs are put together, such as `2s4c2t`, and how many there are.
    ///
    /// # Panics
    /// If that is no description of a number of CPUs.
    #[must_use]
    pub fn topology(mut self, description: &str) -> Self {
        let machine: topology::Description =
            description.parse().unwrap_or_else(|error| panic!("{description}: {error}"));
        self.config.cpus = machine.cpus().unwrap_or(self.config.cpus);
        self.config.topology = Some(machine);
        self
    }

    /// Sets what decides where tasks go.
    #[must_use]
    pub fn surroundings(mut self, surroundings: Surroundings) -> Self {
        self.config.surroundings = surroundings;
        self
    }

    /// Sets the base slice in force.
    #[must_use]
    pub fn base_slice_ns(mut self, ns: u64) -> Self {
        self.config.base_slice_ns = Some(ns);
        self
    }

    /// Sets the length of the run.
    #[must_use]
    pub fn duration_ns(mut self, ns: u64) -> Self {
        self.config.duration_ns = ns;
        self
    }

    /// Sets the clock.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.config.clock = clock;
        self
    }

    /// Sets how tasks pass their time.
    #[must_use]
    pub fn burn(mut self, burn: Burn) -> Self {
        self.config.burn = burn;
        self
    }

    /// Sets where random streams start.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.config.seed = seed;
        self
    }

    /// Gives what is recorded of this one of several runs a file of its own.
    #[must_use]
    pub(crate) fn labelled(mut self, label: &str) -> Self {
        self.host.trace = self.host.trace.map(|request| request.labelled(label));
        self
    }

    /// Adds tasks that compute until the end.
    #[must_use]
    pub fn hogs(mut self, count: usize) -> Self {
        self.workload.hogs(count);
        self
    }

    /// Changes the tasks.
    #[must_use]
    pub fn load(mut self, change: impl FnOnce(&mut Workload)) -> Self {
        change(&mut self.workload);
        self
    }

    /// Checks everything that can be checked without starting a guest.
    ///
    /// # Errors
    /// The first value that is out of range.
    pub fn plan(&self) -> Result<Plan, Error> {
        let mut scenario = self.config.scenario(&self.workload)?;
        let rules = self.config.rules()?;
        let accel = self.host.accel.unwrap_or(Accel::Tcg);
        if accel == Accel::Kvm && scenario.clock == Clock::Virtual {
            let reason =
                "the virtual clock counts instructions, which only tcg can; add --clock real";
            return Err(Refusal::new("--accel", "kvm", reason).into());
        }
        if accel == Accel::Kvm && !qemu::kvm_usable() {
            let reason = "/dev/kvm is not there or not yours to open; use --accel tcg";
            return Err(Refusal::new("--accel", "kvm", reason).into());
        }
        let needed = qemu::memory_mib(&scenario);
        let memory_mib = self.host.memory_mib.unwrap_or(needed);
        if memory_mib < needed {
            let reason = format!(
                "{} CPUs and {} tasks need {needed} MiB",
                scenario.cpus,
                scenario.tasks.len()
            );
            return Err(Refusal::new("--memory", memory_mib, reason).into());
        }
        let mut ring_mib = 0;
        if let Some(request) = &self.host.trace {
            capture::check(request)?;
            let slots = request.slots(scenario.cpus);
            scenario.trace_slots = Some(slots);
            ring_mib = qemu::ring_mib(Layout { cpus: scenario.cpus, slots });
            let most = *MEMORY_MIB.end();
            if memory_mib + ring_mib > most {
                let reason = format!(
                    "{} CPUs' rings take {ring_mib} MiB beside {memory_mib} MiB, and a guest has \
                     {most} at most",
                    scenario.cpus
                );
                let kib = slots as usize * LINE_BYTES / 1024;
                return Err(Refusal::new("--trace-buffer", kib, reason).into());
            }
        }
        let Workload { shared, metrics, goals, .. } = self.workload.clone();
        let scaling = self.config.scaling;
        Ok(Plan { scenario, rules, accel, memory_mib, ring_mib, scaling, shared, metrics, goals })
    }

    /// Builds the kernel if needed, boots it, and waits for its complete report.
    ///
    /// # Errors
    /// Anything that leaves no result to trust; see [`Error`].
    pub fn run(&self) -> Result<RunResult, Error> {
        let plan = self.plan()?;
        let qemu = Qemu::find(self.host.qemu.as_deref())?;
        let kernel = match &self.host.kernel {
            Some(path) => kernel_image::existing(path)?,
            None => kernel_image::build(self.host.quiet)?,
        };
        let folder = tempfile::Builder::new()
            .prefix(FOLDER_PREFIX)
            .tempdir()
            .map_err(SetupError::system("make a temporary folder"))?;
        let image = folder.path().join("scenario");
        fs::write(&image, plan.scenario.to_image())
            .map_err(SetupError::system(format!("write {}", image.display())))?;
        let capture =
            self.host.trace.as_ref().map(|request| Capture::prepare(request, &plan, &qemu));
        let capture = capture.transpose()?;

        let arguments = qemu::command_line(&Launch {
            kernel,
            scenario: image,
            cpus: plan.scenario.cpus,
            memory_mib: plan.memory_mib + plan.ring_mib,
            accel: plan.accel,
            clock: plan.scenario.clock,
            burn: plan.scenario.burn,
            gdb: self.host.gdb,
            ram: capture.as_ref().map(|capture| capture.ram().path()),
        });
        let printable = qemu::printable(&qemu, &arguments);
        if self.host.verbose {
            anstream::eprintln!("$ {printable}");
        }
        let mut command = Command::new(&qemu.program);
        command.args(arguments);
        let (finished, trace) = match capture {
            None => (self.watch(command, &printable, &plan, folder.path(), None), Ok(None)),
            Some(capture) => thread::scope(|scope| {
                let (tell, news) = mpsc::channel();
                let recorder = scope.spawn(move || capture.record(&news));
                let finished =
                    self.watch(command, &printable, &plan, folder.path(), Some(tell.clone()));
                let failure = finished.as_ref().err().map(Error::to_string);
                // Whoever does not listen any more has an error to return.
                let _ = tell.send(News::Over { failure });
                let trace = recorder.join();
                (finished, trace.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            }),
        };
        if let (Err(_), Ok(Some(trace))) = (&finished, &trace) {
            anstream::eprintln!("note: {}", trace.sentence());
        }
        let (finished, trace) = (finished?, trace?);
        Ok(RunResult {
            trace,
            plan,
            qemu,
            records: finished.records,
            console: finished.console,
            wall: finished.wall,
        })
    }

    fn watch(
        &self,
        mut command: Command,
        printable: &str,
        plan: &Plan,
        folder: &Path,
        tell: Option<mpsc::Sender<News>>,
    ) -> Result<qemu::Finished, Error> {
        // Nothing that QEMU might leave behind lands in the user's folder.
        command.current_dir(folder);
        let shape = Shape::of(&plan.scenario);
        qemu::run(
            command,
            printable,
            Decoder::new(shape),
            self.time_limit(&plan.scenario),
            qemu::flood_limit(shape),
            &mut Watch { verbose: self.host.verbose, tell },
        )
    }

    /// The limit in host time; none while a debugger holds the guest.
    fn time_limit(&self, scenario: &Scenario) -> Option<Duration> {
        let default = || qemu::default_limit(scenario);
        self.host.timeout.or_else(|| (!self.host.gdb).then(default))
    }
}

/// Passes on what a guest says.
struct Watch {
    verbose: bool,
    tell: Option<mpsc::Sender<News>>,
}

impl qemu::Observer for Watch {
    fn console(&mut self, line: &str) {
        if self.verbose {
            anstream::eprintln!("| {line}");
        }
    }

    fn rings(&mut self, rings: Rings) {
        if let Some(tell) = &self.tell {
            // Whoever does not listen any more has an error to return.
            let _ = tell.send(News::Rings(rings));
        }
    }
}

/// A checked experiment.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the guest is told.
    pub scenario: Scenario,
    /// The scheduler's rules in force.
    pub rules: Rules,
    /// How the base slice was scaled.
    pub scaling: eevdf::TunableScaling,
    /// What executes the guest.
    pub accel: Accel,
    /// The guest's memory, without the rings of a trace.
    pub memory_mib: u32,
    /// What those take.
    pub ring_mib: u32,
    /// What the tasks share.
    pub shared: Shared,
    /// What they measure.
    pub metrics: Vec<MetricSpec>,
    /// What they have to have done at the end.
    pub goals: Vec<Goal>,
}

/// What one run of a guest gave.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// What was run.
    pub plan: Plan,
    /// By which QEMU.
    pub qemu: Qemu,
    /// What the guest reported.
    pub records: Records,
    /// Its last console lines.
    pub console: Vec<String>,
    /// What was recorded of it.
    pub trace: Option<trace::Summary>,
    /// How long it took in host time.
    pub wall: Duration,
}

impl RunResult {
    /// Holds the result against what every run must fulfil.
    pub fn judge(&self) -> Judgement {
        expect::judge(self)
    }

    /// What the workload measured.
    pub fn metrics(&self) -> Vec<Metric> {
        self.plan.metrics.iter().map(|metric| metric.read(&self.records)).collect()
    }

    /// The result document.
    pub fn document(&self) -> Document {
        Document::new(self)
    }

    /// The number of the task of that name.
    pub fn task_number(&self, name: &str) -> Option<usize> {
        self.plan.scenario.tasks.iter().position(|task| task.name == name)
    }
}
