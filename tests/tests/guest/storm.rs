//! Random wake-ups, moves, renices, changes of class, spawns and exits all at once, with every
//! invariant checked after every operation: nothing is ever on two CPUs, or on none.
//!
//! Short here. `SLICELAB_STORM_S=600 cargo test -p tests --test guest storm` lets one storm follow
//! the other, each from another seed, for so many seconds of host time.

use abi::{Clock, CpuSet, Op, scenario::Policy};
use runner::{Experiment, Workload};
use std::{
    env,
    time::{Duration, Instant},
};
use tests::{MS, SECOND, US, run};

/// A small generator, so that a storm is the same every time (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// What the tasks of a storm share.
struct Shared {
    semaphores: Vec<u32>,
    cpu_sets: Vec<u32>,
    pool: u32,
}

fn add_storm(load: &mut Workload, cpus: u32, tasks: usize, seed: u64) {
    let mut random = Random(seed);
    let semaphores = (0..tasks).map(|task| load.shared.semaphore(format!("s{task}"))).collect();
    let mut cpu_sets = vec![load.shared.cpu_set(CpuSet::first(cpus as usize))];
    for _ in 0..12 {
        let mut set: CpuSet = (0..cpus as usize).filter(|_| random.below(3) == 0).collect();
        set.insert(random.below(cpus.into()) as usize);
        cpu_sets.push(load.shared.cpu_set(set));
    }
    let shared = Shared { semaphores, cpu_sets, pool: load.shared.pool() };
    for number in 0..tasks {
        let program = stormy(&mut random, &shared, number);
        load.add(format!("storm{number}"), program);
    }
    for number in 0..4 * tasks {
        let run = Op::Run((1 + random.below(300)) * US);
        let child = load.add(format!("child{number}"), vec![run, Op::Yield, run, Op::Exit]);
        child.pool = Some(shared.pool);
    }
}

/// A loop of random operations. In each round a task posts its neighbour's semaphore before it
/// waits for its own, so that the ring of tasks never stands still.
fn stormy(random: &mut Random, shared: &Shared, number: usize) -> Vec<Op> {
    let mut ops = Vec::new();
    for _ in 0..30 {
        let op = match random.below(10) {
            0 | 1 => Op::Sleep((1 + random.below(3000)) * US),
            2 | 3 => Op::Run((1 + random.below(2000)) * US),
            4 => Op::SetNice(random.below(40) as i8 - 20),
            5 | 6 => {
                let sets = &shared.cpu_sets;
                Op::SetAffinity(sets[random.below(sets.len() as u64) as usize])
            }
            7 => Op::SetSlice([None, Some(100 * US), Some(9 * MS)][random.below(3) as usize]),
            8 => Op::Yield,
            _ => Op::SetPolicy([Policy::Normal, Policy::Batch][random.below(2) as usize]),
        };
        ops.push(op);
    }
    let next = shared.semaphores[(number + 1) % shared.semaphores.len()];
    ops.extend([Op::SemPost(next), Op::Run(50 * US), Op::SemWait(shared.semaphores[number])]);
    ops.extend([
        Op::SetPolicy(Policy::Fifo { priority: 1 + random.below(99) as u8 }),
        Op::Run(random.below(400) * US + US),
        Op::SetPolicy(Policy::Normal),
        Op::Spawn(shared.pool),
        Op::Jump(0),
    ]);
    ops
}

/// As many storms as there is time for, one at least.
fn storms(cpus: u32, tasks: usize, clock: Clock, topology: &str, duration_ns: u64) {
    let seconds = env::var("SLICELAB_STORM_S").map_or(0, |text| {
        text.parse::<u64>().unwrap_or_else(|_| panic!("SLICELAB_STORM_S={text} is no number"))
    });
    let begin = Instant::now();
    for seed in 0x5eed + u64::from(cpus).. {
        storm(cpus, tasks, clock, topology, duration_ns, seed);
        if begin.elapsed() >= Duration::from_secs(seconds) {
            println!("{} storms on {cpus} CPUs, {clock:?}", seed - 0x5eed - u64::from(cpus) + 1);
            return;
        }
    }
}

fn storm(cpus: u32, tasks: usize, clock: Clock, topology: &str, duration_ns: u64, seed: u64) {
    let mut experiment = Experiment::new()
        .smp(cpus)
        .clock(clock)
        .duration_ns(duration_ns)
        .load(|load| add_storm(load, cpus, tasks, seed));
    experiment.config.check_invariants = true;
    experiment.config.topology = Some(topology.parse().expect("a topology"));
    experiment.host.timeout = Some(Duration::from_secs(120 + 100 * duration_ns / SECOND));
    let result = run(&experiment);
    let records = &result.records;
    let runtime: u64 = records.tasks.iter().map(|task| task.counters.runtime_ns).sum();
    let busy: u64 = records.cpus.iter().map(|cpu| cpu.counters.busy_ns).sum();
    assert_eq!(runtime, busy, "a task ran on two CPUs, or a CPU ran none it says it did");
    let moves = records.moves;
    let all =
        moves.wakeup + moves.periodic + moves.newidle + moves.active + moves.nohz + moves.affinity;
    assert_eq!(all, records.total.migrations);
    if clock == Clock::Real {
        // The host decides how much a guest of many CPUs gets done.
        return;
    }
    assert!(moves.affinity > 0 && moves.wakeup > 0 && moves.fork > 0, "{moves:?}");
    for task in records.tasks.iter().take(tasks) {
        assert!(task.counters.runtime_ns > 0, "task {} never ran", task.counters.task);
    }
}

#[test]
fn storm_on_8_cpus() {
    storms(8, 24, Clock::Virtual, "2s2c2t", 500 * MS);
}

#[test]
fn storm_on_64_cpus() {
    storms(64, 160, Clock::Virtual, "2s16c2t", 60 * MS);
}

#[test]
fn storm_on_8_cpus_in_real_time() {
    storms(8, 24, Clock::Real, "2s2c2t", 500 * MS);
}

#[test]
fn storm_on_64_cpus_in_real_time() {
    storms(64, 100, Clock::Real, "2s16c2t", SECOND);
}
