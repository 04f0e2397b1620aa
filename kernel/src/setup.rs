//! From a scenario to tasks and runqueues.

use crate::arch::{Context, Owner, Stack, memory};
use crate::cpu::{self, Cpu, Local};
use crate::event_time::EventTime;
use crate::events::Timers;
use crate::explain::Decisions;
use crate::fail::fail;
use crate::irqsoff::IrqsOff;
use crate::run::{self, Config};
use crate::sched::{self, BalanceState, Idling, RealTime, Rq, Tracker, domains};
use crate::task::{self, Task};
use crate::trace::{self, Tracer};
use crate::waste;
use crate::workload;
use abi::record::{Failure, Wakeups};
use abi::{CpuSet, Scenario, Surroundings, TaskSpec};
use alloc::boxed::Box;
use alloc::vec;
use core::fmt;
use eevdf::{Attr, Entity, Features, Nice, Node, Preset, Rules, RunQueue};
use placement::{Topology, wakeup::Flips};

const TASK_STACK_SIZE: u64 = 16 * 1024;
/// Stacks of a CPU, with their page tables.
const CPU_STACKS: usize = 128 * 1024;
const MIB: u64 = 1024 * 1024;

fn refuse(text: fmt::Arguments<'_>) -> ! {
    fail(Failure::Scenario, 0, 0, text)
}

/// Publishes what handlers need.
pub(crate) fn configure(scenario: &Scenario) {
    run::configure(Config {
        seed: scenario.seed,
        clock: scenario.clock,
        hz: scenario.hz,
        nohz: scenario.nohz,
        duration_ns: scenario.duration_ns,
        burn: scenario.burn,
        tick_error_ns: scenario.tick_error_ns,
        irq_cost_ns: scenario.irq_cost_ns,
        costs: Some(scenario.costs).filter(|costs| !costs.is_free()),
        preempt: scenario.preempt,
        steal: scenario.steal,
        check_invariants: scenario.check_invariants,
        kernel_cost: scenario.kernel_cost,
        balances: scenario.balances,
    });
}

/// Ends the run if memory does not suffice for the scenario.
pub(crate) fn check_memory(scenario: &Scenario, heap_size: u64) {
    let (cpus, tasks) = (scenario.cpus as usize, scenario.tasks.len());
    let decisions = scenario.explain.as_ref().map_or(0, Decisions::bytes);
    let per_cpu = size_of::<Cpu>() + CPU_STACKS + tasks * (size_of::<Node>() + 28) + decisions;
    // The stack's page table, and what a stack slot may share with no other.
    let per_task = size_of::<Task>() + TASK_STACK_SIZE as usize + 8192;
    let shared = workload::bytes(scenario) + trace::bytes(scenario.cpus, scenario.trace_slots);
    let needed = (cpus * per_cpu + tasks * per_task + shared) as u64;
    let free = memory::free();
    if needed > free {
        let missing = (needed - free).div_ceil(MIB);
        fail(
            Failure::Memory,
            heap_size / MIB,
            heap_size / MIB + missing,
            format_args!(
                "{} MiB of memory are not enough for {cpus} cpus and {tasks} tasks, {} MiB are needed",
                heap_size / MIB,
                heap_size / MIB + missing,
            ),
        );
    }
}

/// Creates all tasks, and a runqueue for each CPU.
pub(crate) fn create(scenario: &Scenario, apic_ids: &[u32]) {
    let rules = rules(scenario);
    if !scenario.topology.fits(scenario.cpus) {
        refuse(format_args!(
            "{} cpus cannot be put together as {:?}",
            scenario.cpus, scenario.topology
        ));
    }
    let topology = Topology::new(scenario.topology, scenario.cpus);
    surround(scenario, &topology, &rules);
    workload::init(scenario);
    waste::init(scenario);
    let specs = scenario.tasks.iter().zip(0..);
    let tasks = specs.map(|(spec, id)| create_task(spec, id, scenario.cpus, &rules));
    task::init(tasks.collect());
    trace::init(scenario.cpus, scenario.trace_slots);
    let create = |(&apic_id, id)| create_cpu(scenario, &topology, id, apic_id, rules);
    cpu::init(topology, apic_ids.iter().zip(0..).map(create).collect());
}

fn rules(scenario: &Scenario) -> Rules {
    let spec = &scenario.rules;
    let Some(preset) = Preset::parse(&spec.preset) else {
        refuse(format_args!("unknown preset {}", spec.preset));
    };
    Rules::new(preset, scenario.cpus, scenario.hz)
        .with_base_slice_ns(spec.base_slice_ns)
        .with_features(Features::from_bits(spec.features))
}

/// Puts in force what decides where tasks go.
fn surround(scenario: &Scenario, topology: &Topology, rules: &Rules) {
    if scenario.surroundings == Surroundings::Linux && scenario.cpus > 1 {
        let features = placement::Features::from_bits(scenario.rules.smp_features);
        let placement = placement::Rules::new(rules.preset(), rules.base_slice_ns());
        domains::init(topology, placement.with_features(features));
    }
}

fn create_cpu(
    scenario: &Scenario,
    topology: &Topology,
    id: u32,
    apic_id: u32,
    rules: Rules,
) -> Cpu {
    let nodes: Box<[Node]> = vec![Node::EMPTY; scenario.tasks.len()].into_boxed_slice();
    let local = Local {
        time: EventTime::new(scenario.clock, scenario.tasks.len()),
        timers: Timers::new(scenario, scenario.tasks.len()),
        irqsoff: IrqsOff::default(),
        is_handling: false,
        wakeups: Wakeups::none(id),
        idling: Idling::default(),
        idle_flips: Flips::default(),
    };
    let decisions = scenario.explain.map(Decisions::new);
    let rt = RealTime::new(scenario);
    let trace = Tracer::new(id, scenario.cpus, scenario.trace_slots);
    let rq = Rq::new(RunQueue::new(rules, nodes), rt, Tracker::new(scenario.cpus), decisions);
    let balance = BalanceState::new(topology, id, scenario.seed);
    Cpu::new(id, apic_id, rq, local, trace, balance, scenario.cpus == 1)
}

fn create_task(spec: &TaskSpec, id: u32, cpus: u32, rules: &Rules) -> Task {
    let Some(nice) = Nice::new(spec.nice) else {
        refuse(format_args!("task {id} ({}) has nice {}", spec.name, spec.nice));
    };
    if spec.affinity.iter().all(|cpu| cpu >= cpus as usize) {
        refuse(format_args!("task {id} ({}) may run on no cpu that is there", spec.name));
    }
    let policy = sched::policy(spec.policy);
    let entity = Entity::new(Attr { nice, policy, slice_ns: spec.slice_ns }, rules);
    let context = Context::new(Stack::new(Owner::Task(id), TASK_STACK_SIZE), workload::task_entry);
    Task::new(id, spec, &CpuSet::first(cpus as usize), context, entity)
}
