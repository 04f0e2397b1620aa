//! Flags that describe the machine, and flags that say how to run it on this host.

use super::{values, values::AnyFeature};
use crate::{config::Config, experiment::Host, model::Model, qemu::Accel, topology, trace};
use abi::{
    Burn, Clock, Cost, Costs, NohzMode, Preempt, Steal, Surroundings, TickMode, scenario::DlServer,
};
use clap::Args;
use eevdf::{Preset, TunableScaling};
use std::{path::PathBuf, time::Duration};

/// What is simulated besides the tasks.
#[derive(Args, Debug)]
#[command(next_help_heading = "Machine and rules")]
pub struct MachineArgs {
    /// CPUs, 1 to 255 [default: what --topology describes, or 1]
    #[arg(long, value_name = "N", value_parser = values::cpus, allow_hyphen_values = true)]
    pub smp: Option<u32>,
    /// How the CPUs are put together, whatever QEMU shows: sockets, cores of each and threads of
    /// each core, and how many CPUs share a cluster or a last-level cache, such as 2s8c2t, llc=4
    /// or 2s8c2t,cluster=4,llc=8 [default: one socket, one cache, one thread for each core]
    #[arg(long, value_name = "MACHINE", allow_hyphen_values = true)]
    pub topology: Option<topology::Description>,
    /// What the machine's own doings take: interrupts between CPUs, remote runqueues, cold caches,
    /// leaving idleness. A file, or skl or spr; `slicelab models` shows them [default: nothing takes any time]
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub model: Option<Model>,
    /// One of these costs, such as ipi_send=1us, against --model (repeatable)
    #[arg(long, value_name = "NAME=TIME", value_parser = values::cost)]
    pub cost: Vec<(Cost, u32)>,
    /// What decides where waking and new tasks go on several CPUs: scheduling domains, caches and
    /// load (linux), or just which CPUs idle (simple)
    #[arg(long, value_name = "HOW", default_value = "linux", value_parser = values::surroundings)]
    pub surroundings: Surroundings,
    /// Ticks per second, 10 to 10000
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = values::hz, allow_hyphen_values = true)]
    pub hz: u32,
    /// Base slice in force, 100us to 1s [default: the preset's, scaled by the number of CPUs]
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    pub base_slice: Option<u64>,
    /// How the preset's base slice grows with the CPUs: none, log or linear
    #[arg(long, value_name = "HOW", default_value = "log", value_parser = values::scaling)]
    pub tunable_scaling: TunableScaling,
    /// Linux version whose rules are in force; `slicelab presets` lists them
    #[arg(long, value_name = "VERSION", default_value = values::newest_preset_name(), value_parser = values::preset)]
    pub preset: Preset,
    /// Switch a feature on (NAME) or off (NO_NAME) against the preset (repeatable)
    #[arg(long, value_name = "[NO_]NAME", value_parser = values::feature)]
    pub feature: Vec<(AnyFeature, bool)>,
    /// Guest time of the run, a tick at least [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    pub duration: Option<u64>,
    /// Time by counted instructions, the same in every run (virtual), or by the host's clock (real)
    #[arg(long, value_name = "CLOCK", default_value = "virtual", value_parser = values::clock)]
    pub clock: Clock,
    /// How tasks that compute pass their time: halted until the next event, or spinning
    #[arg(long, value_name = "HOW", default_value = "halt", value_parser = values::burn)]
    pub burn: Burn,
    /// Where random streams start
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::seed, allow_hyphen_values = true)]
    pub seed: u64,
    /// Added to what each tick charges, such as -1us
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = values::signed_time, allow_hyphen_values = true)]
    pub tick_error: i64,
    /// Time that each tick (and each slice timer) takes from the task it interrupts, charged to nobody
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = values::time, allow_hyphen_values = true)]
    pub irq_cost: u64,
    /// How the tick is made: absolute one-shot deadlines, or the periodic timer
    #[arg(long, value_name = "HOW", default_value = "oneshot", value_parser = values::tick)]
    pub tick: TickMode,
    /// When requests to reschedule are granted: none, voluntary, full or lazy. The first three
    /// differ inside the kernel only, which takes no time here [default: the preset's]
    #[arg(long, value_name = "MODEL", value_parser = values::preempt)]
    pub preempt: Option<Preempt>,
    /// What guarantees fair tasks 50 ms of each second beside SCHED_FIFO tasks (Linux's
    /// fair_server): off, or a deadline server that stops with the last fair task (eager) or after
    /// a period without one (lazy) [default: the preset's]
    #[arg(long, value_name = "HOW", value_parser = values::dl_server)]
    pub dl_server: Option<DlServer>,
    /// Whether CPUs even out load among each other: at ticks, when one runs dry, by pushing running
    /// tasks, and for idle CPUs whose tick is stopped (on), or tasks move at wake-ups only (off)
    #[arg(long, value_name = "WHETHER", default_value = "on", value_parser = values::on_off, action = clap::ArgAction::Set)]
    pub balance: bool,
    /// Time that a hypervisor takes from every CPU, such as 100ms:2ms: clocks go on, tasks are
    /// not charged
    #[arg(long, value_name = "PERIOD:TIME", value_parser = values::steal, allow_hyphen_values = true)]
    pub steal: Option<Steal>,
    /// Whether idle CPUs keep their tick (off) or stop it (idle)
    #[arg(long, value_name = "HOW", default_value = "off", value_parser = values::nohz)]
    pub nohz: NohzMode,
}

impl MachineArgs {
    fn features<T>(&self, which: impl Fn(AnyFeature) -> Option<T>) -> Vec<(T, bool)> {
        self.feature.iter().filter_map(|&(name, on)| Some((which(name)?, on))).collect()
    }

    fn costs(&self) -> Costs {
        let model = self.model.as_ref().map_or_else(Costs::default, |model| model.costs);
        self.cost.iter().fold(model, |costs, &(cost, ns)| costs.with(cost, ns))
    }

    /// The configuration that the flags describe.
    pub fn config(&self) -> Config {
        let described = self.topology.as_ref().and_then(topology::Description::cpus);
        let cpus = self.smp.or(described).unwrap_or(Config::default().cpus);
        Config {
            cpus,
            topology: self.topology.clone(),
            costs: self.costs(),
            surroundings: self.surroundings,
            hz: self.hz,
            preset: self.preset,
            features: self.features(AnyFeature::of_queue),
            smp_features: self.features(AnyFeature::of_placement),
            base_slice_ns: self.base_slice,
            scaling: self.tunable_scaling,
            duration_ns: self.duration.unwrap_or(Config::default().duration_ns),
            clock: self.clock,
            burn: self.burn,
            seed: self.seed,
            tick_error_ns: self.tick_error,
            irq_cost_ns: self.irq_cost,
            tick: self.tick,
            nohz: self.nohz,
            preempt: self.preempt,
            dl_server: self.dl_server,
            balances: self.balance,
            steal: self.steal,
            ..Config::default()
        }
    }
}

/// What is kept of a run besides its result.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct TraceArgs {
    /// Record every switch, wake-up, migration and tick in a file, for `show` and `trace`. Of
    /// several runs each has a file of its own, such as FILE-seed2
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Guest memory of each CPU's ring of records, KiB; a full one loses the oldest [default:
    /// 4096, less beyond 16 CPUs]
    #[arg(long, value_name = "KIB", requires = "trace", value_parser = values::ring, allow_hyphen_values = true)]
    pub trace_buffer: Option<u32>,
}

impl TraceArgs {
    /// What they ask for.
    pub fn request(&self) -> Option<trace::Request> {
        Some(trace::Request { file: self.trace.clone()?, slots: self.trace_buffer })
    }
}

/// How guests are run on this host.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Host")]
pub struct HostArgs {
    /// Limit in host time for each guest [default: 60s, more for large runs]
    #[arg(long, value_name = "TIME", value_parser = values::limit, allow_hyphen_values = true)]
    pub timeout: Option<Duration>,
    /// What executes the guest [default: tcg]
    #[arg(long, value_name = "HOW")]
    pub accel: Option<Accel>,
    /// The QEMU to use [default: $QEMU, or qemu-system-x86_64 in PATH]
    #[arg(long, value_name = "PATH")]
    pub qemu: Option<PathBuf>,
    /// Guest memory [default: what CPUs and tasks need]
    #[arg(long, value_name = "MIB", value_parser = values::memory, allow_hyphen_values = true)]
    pub memory: Option<u32>,
    /// Let QEMU wait for a debugger on port 1234
    #[arg(long)]
    pub gdb: bool,
    /// Show QEMU's command line and the guest's console
    #[arg(long, short, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}

impl HostArgs {
    /// The same for an experiment.
    pub fn host(&self) -> Host {
        Host {
            qemu: self.qemu.clone(),
            kernel: None,
            accel: self.accel,
            memory_mib: self.memory,
            timeout: self.timeout,
            gdb: self.gdb,
            trace: None,
            verbose: self.verbose,
            quiet: self.quiet,
        }
    }
}
