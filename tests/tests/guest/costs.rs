//! What a machine's own doings take, to the nanosecond.

use abi::{Cost, Costs, CpuSet, Op, scenario::DlServer, scenario::Policy};
use placement::Feature;
use runner::{Experiment, RunResult};
use tests::{MS, US, assert_all, run_passing, runtimes, task};

fn on(topology: &str, costs: &[(Cost, u32)]) -> Experiment {
    let mut experiment = Experiment::new().smp(2).topology(topology);
    let add = |all: Costs, &(cost, us): &(Cost, u32)| all.with(cost, us * 1000);
    experiment.config.costs = costs.iter().fold(Costs::default(), add);
    experiment
}

fn pin(cpu: usize) -> Option<CpuSet> {
    Some(CpuSet::only(cpu))
}

fn elapsed_ns(result: &RunResult) -> u64 {
    result.records.total.elapsed_ns
}

/// Both CPUs wake up at the start, 10 us. A turn is 50 us of work and a wake-up of the other CPU,
/// which idles: it is interrupted, 2 us, and awake 10 us later. The waker pays 1 us for the
/// interrupt meanwhile and blocks. So 62 us for a turn, and 51 us of CPU time.
#[test]
fn waking_an_idle_cpu_takes_what_the_machine_says() {
    let costs = [(Cost::IpiSend, 1), (Cost::IpiReceive, 2), (Cost::IdleExit, 10)];
    let experiment = on("2c", &costs)
        .load(|load| {
            load.pairs(1, 50 * US).expect("it is a stretch");
            load.pins(&[pin(0), pin(1)]);
        })
        .duration_ns(10 * US + 1000 * 62 * US);
    let result = run_passing(&experiment);
    assert_eq!(runtimes(&result), [500 * 51 * US; 2]);
    assert_all(&task(&result, "pong0").wakeup_latency, 12 * US, "wake-up latencies");
    for cpu in 0..2 {
        let counts = &result.records.cpus[cpu].wakeups;
        assert_eq!((counts.ipis_sent, counts.cost_ns), (500, 500 * (1 + 2) * US), "cpu {cpu}");
    }
}

/// The wake-up comes 1 us after the sleeper's CPU began to pay 3 us for a server that stops; it is
/// awake 10 us after that.
#[test]
fn idleness_begins_when_all_is_paid() {
    let mut experiment = on("2c", &[(Cost::DlServerStop, 3), (Cost::IdleExit, 10)]).load(|load| {
        load.add("t".into(), vec![Op::Run(MS), Op::Sleep(US), Op::Run(MS)]);
    });
    experiment.config.dl_server = Some(DlServer::Eager);
    let result = run_passing(&experiment);
    assert_all(&task(&result, "t").wakeup_latency, (3 - 1 + 10) * US, "wake-up latencies");
    assert_eq!(elapsed_ns(&result), (10 + 3 + 10) * US + 2 * MS);
}

/// Two CPUs wake tasks of a third one at the same time. The first takes 3 us to fetch the queue and
/// keeps it for 5 us more; the second waits for these 8 us, then takes its own 3. Nobody waits
/// for what it does itself.
#[test]
fn remote_runqueues_are_fetched_one_after_the_other() {
    let costs = [(Cost::RqLockRemote, 3), (Cost::RqLockHold, 5)];
    let mut experiment = on("3c", &costs).smp(3).smp_feature(Feature::TtwuQueue, false);
    experiment.config.balances = false;
    let experiment = experiment
        .load(|load| {
            let [first, second] = [0, 1].map(|n| load.shared.semaphore(format!("s{n}")));
            // It lets the others fall asleep first.
            load.add("hog".into(), vec![Op::Sleep(10 * US), Op::RunForever]);
            for (name, semaphore) in [("wakee0", first), ("wakee1", second)] {
                load.add(name.into(), vec![Op::SemWait(semaphore)]).policy = Policy::Idle;
            }
            for (name, semaphore) in [("waker0", first), ("waker1", second)] {
                load.add(name.into(), vec![Op::Run(100 * US), Op::SemPost(semaphore)]);
            }
            load.pins(&[pin(2), pin(2), pin(2), pin(0), pin(1)]);
        })
        .duration_ns(MS);
    let result = run_passing(&experiment);
    let runtime_ns = |name| task(&result, name).counters.runtime_ns;
    assert_eq!(runtime_ns("waker0"), (100 + 3) * US);
    assert_eq!(runtime_ns("waker1"), (100 + 8 + 3) * US);
    let contended = |cpu: usize| result.records.cpus[cpu].wakeups.contended_ns;
    assert_eq!([0, 1, 2].map(contended), [0, 8 * US, 0]);
}

/// A task that changes CPU computes longer until its caches are warm, more so if it leaves the
/// last-level cache.
#[test]
fn a_move_leaves_warm_caches_behind() {
    let costs = [(Cost::CacheColdLlc, 20), (Cost::CacheColdFar, 90)];
    for (topology, cold_us) in [("2c", 20), ("2s1c", 90)] {
        let experiment = on(topology, &costs).load(|load| {
            let there = load.shared.cpu_set(CpuSet::only(1));
            let program = vec![Op::Run(MS), Op::SetAffinity(there), Op::Run(MS), Op::Run(MS)];
            load.add("t".into(), program);
        });
        let result = run_passing(&experiment);
        assert_eq!(runtimes(&result), [3 * MS + cold_us * US], "{topology}");
        assert_eq!(elapsed_ns(&result), 3 * MS + cold_us * US, "{topology}");
    }
}

/// A server that is stopped with the last task is started with the next one, each time: the CPU
/// switches 2 us after the wake-up. One that is left armed costs nothing.
#[test]
fn an_eager_server_costs_at_every_wake_up() {
    for (server, started, late_us) in [(DlServer::Eager, 10, 2), (DlServer::Lazy, 0, 0)] {
        let mut experiment =
            on("2c", &[(Cost::DlServerStart, 2), (Cost::DlServerStop, 3)]).load(|load| {
                let pause = [Op::Run(MS), Op::Sleep(MS)];
                load.add("t".into(), pause.into_iter().cycle().take(20).collect());
            });
        experiment.config.dl_server = Some(server);
        let result = run_passing(&experiment);
        assert_eq!(elapsed_ns(&result), 10 * (2 * MS + late_us * US), "{server:?}");
        let counts = &result.records.cpus[0].wakeups;
        let stopped = if started > 0 { started + 1 } else { 0 };
        assert_eq!((counts.server_starts, counts.server_stops), (started, stopped), "{server:?}");
    }
}

/// Looking for an idle CPU is paid by the waker, CPU by CPU: here CPU 1, which has a hog, and at
/// first CPU 0, too.
#[test]
fn a_search_costs_by_how_far_it_looks() {
    let experiment = on("2c", &[(Cost::IdleProbe, 1)])
        .smp_feature(Feature::SisUtil, false)
        .load(|load| {
            let semaphore = load.shared.semaphore("s".into());
            // They let the other one fall asleep first.
            let waker = [Op::Sleep(10 * US), Op::Run(100 * US), Op::SemPost(semaphore)];
            load.add("waker".into(), waker.into());
            load.add("hog".into(), vec![Op::Sleep(10 * US), Op::RunForever]);
            load.add("wakee".into(), vec![Op::SemWait(semaphore)]).policy = Policy::Batch;
            load.pins(&[pin(0), pin(1), None]);
        })
        .duration_ns(MS);
    let result = run_passing(&experiment);
    let probes = result.records.cpus[0].wakeups.probes;
    assert!(probes > 0, "both CPUs are busy, so the search looks");
    assert_eq!(task(&result, "waker").counters.runtime_ns, 100 * US + probes * US);
}

/// Costs change nothing about what repeats.
#[test]
fn a_machine_with_costs_repeats_itself() {
    let every = Cost::ALL.map(|cost| (cost, 3));
    let experiment = on("2s2c2t", &every)
        .smp(8)
        .load(|load| {
            load.pairs(6, 20 * US).expect("it is a stretch");
            load.hogs(3);
            load.background(2000.0, 50 * US, 0).expect("it is a rate");
        })
        .duration_ns(50 * MS);
    let [first, second] = [(); 2].map(|()| tests::repeatable_document(&run_passing(&experiment)));
    assert_eq!(first, second);
}
