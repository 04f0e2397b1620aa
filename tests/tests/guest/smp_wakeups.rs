//! Wake-ups on several CPUs as Linux places and counts them.

use abi::{CpuSet, Op, Surroundings, record::Wakeups, scenario::Policy};
use eevdf::Preset;
use placement::Feature;
use runner::{Experiment, RunResult};
use tests::{MS, SECOND, US, assert_all, moments, run_passing, task};

fn only(cpu: usize) -> Option<CpuSet> {
    Some(CpuSet::only(cpu))
}

fn linux(topology: &str, cpus: u32) -> Experiment {
    Experiment::new().smp(cpus).topology(topology).surroundings(Surroundings::Linux)
}

fn wakeups(result: &RunResult, cpu: usize) -> Wakeups {
    result.records.cpus[cpu].wakeups
}

/// The sleeper begins on CPU 1 and finds a hog there when it wakes, at 2 ms. It is the timer of
/// CPU 1 that wakes it, so the waker's CPU is its last one, and the search begins at CPU 2.
fn sleeper_beside_hogs(cpus: &[usize]) -> Experiment {
    linux("llc=4", 8)
        .load(|load| {
            // CPUs are filled in order: the filler gets 0 and the sleeper 1. The filler computes
            // first, or its CPU would pull the sleeper over before that one runs at all.
            let filler = vec![Op::Run(50 * US), Op::Sleep(950 * US), Op::RunForever];
            load.add("filler".into(), filler);
            let late = vec![Op::Sleep(MS), Op::RunForever];
            load.add("sleeper".into(), vec![Op::Run(100 * US), Op::Sleep(1900 * US), Op::Jump(0)]);
            for cpu in cpus {
                load.add(format!("late{cpu}"), late.clone());
            }
            let hogs = cpus.iter().map(|&cpu| only(cpu));
            load.pins(&[only(0), None].into_iter().chain(hogs).collect::<Vec<_>>());
        })
        .duration_ns(100 * MS)
}

/// CPU 2 idles, and so do CPUs 4 to 7, which share no cache. From then on its last CPU idles
/// whenever it wakes.
#[test]
fn a_wakee_goes_to_an_idle_cpu_of_its_cache() {
    let result = run_passing(&sleeper_beside_hogs(&[1]));
    let sleeper = &task(&result, "sleeper");
    assert_all(&sleeper.wakeup_latency, 0, "latencies");
    assert_eq!(sleeper.counters.migrations, 1);
    assert_eq!(result.records.cpus[2].counters.busy_ns, sleeper.counters.runtime_ns - 100 * US);
    // One search, which looked at one CPU.
    let counts = wakeups(&result, 1);
    assert_eq!((counts.migrated, counts.searches, counts.probes), (1, 1, 1));
}

/// Its whole cache is busy: it stays there, though four CPUs of the other one idle. Without SIS_UTIL
/// all four are looked at, at each wake-up. With it no more than that, and none once the hogs have used
/// three quarters of the cache for long enough, after 62 ms: so nothing is added in the second
/// 100 ms. Balancing would take it there at a tick, so it is off.
#[test]
fn a_wakee_does_not_go_to_another_cache() {
    let counts = |feature, duration_ns| {
        let busy = sleeper_beside_hogs(&[1, 2, 3]).smp_feature(Feature::SisUtil, feature);
        let mut experiment = busy.duration_ns(duration_ns);
        experiment.config.balances = false;
        let counts = wakeups(&run_passing(&experiment), 1);
        assert_eq!((counts.migrated, counts.remote), (0, 0));
        assert!(counts.local > 1, "it wakes on its own CPU again and again");
        counts
    };
    let [first, both] = [100, 200].map(|ms| counts(true, ms * MS));
    assert!(first.local < both.local);
    assert_eq!(first.probes, both.probes);
    let whole = counts(false, 100 * MS);
    // The hog's own wake-up searches nothing: it may run on this CPU only.
    assert_eq!(whole.probes, 4 * (whole.local - 1));
    assert!(first.probes < whole.probes);
}

/// Waker and hog both run when the wakee wakes, so neither CPU idles and both queues are as heavy. On
/// average the waker's is not: it runs 2 % of the time. Once the wakee is known to be as light, it
/// follows the waker, and stays there.
#[test]
fn loads_are_averages() {
    let mut experiment = linux("2c", 2)
        .load(|load| {
            let [there, everywhere] =
                [CpuSet::only(1), CpuSet::first(2)].map(|set| load.shared.cpu_set(set));
            let semaphore = load.shared.semaphore("s".into());
            let post = [Op::Run(100 * US), Op::SemPost(semaphore), Op::Run(100 * US)];
            load.add("waker".into(), [&[Op::Sleep(9800 * US)], &post[..], &[Op::Jump(0)]].concat());
            load.add("hog".into(), vec![Op::RunForever]);
            let begins = [Op::SetAffinity(there), Op::SetAffinity(everywhere)];
            let goes_on = [Op::SemWait(semaphore), Op::Run(10 * US), Op::Jump(2)];
            load.add("wakee".into(), [&begins[..], &goes_on[..]].concat());
            load.pins(&[only(0), only(1), None]);
        })
        .duration_ns(SECOND);
    experiment.config.balances = false;
    let result = run_passing(&experiment);
    assert_eq!(wakeups(&result, 0).affine, 1);
    assert_eq!(task(&result, "wakee").counters.migrations, 2, "to the hog, and to the waker");
    let late = &result.records.cpus[0].counters.busy_ns;
    assert!(*late > 20 * MS, "it ran beside the waker, which took 20 ms: {late} ns");
}

/// A pair that wakes each other on a machine of two CPUs, ping pinned to CPU 0: one of them runs
/// while the other sleeps, so the last CPU of each idles when it is woken. Nothing moves; every
/// wake-up but the first is remote, to a CPU that idles, through its wake list with one interrupt.
#[test]
fn counters_equal_hand_counts() {
    let experiment = linux("2c", 2)
        .load(|load| {
            load.pairs(1, 50 * US).expect("it is a stretch");
            load.pins(&[only(0), only(1)]);
        })
        .duration_ns(200 * MS + 10 * US);
    let result = run_passing(&experiment);
    // A turn every 50 us, each ended by a wake-up: 4000, half of them on each CPU.
    let expected =
        |cpu| Wakeups { remote: 2000, queued: 2000, ipis_sent: 2000, ..Wakeups::none(cpu) };
    for cpu in 0..2 {
        assert_eq!(result.records.cpus[cpu as usize].wakeups, expected(cpu));
    }
    assert_eq!(result.records.cpus[0].counters.ipis, 2000);
    // And the one that starts the run.
    assert_eq!(result.records.cpus[1].counters.ipis, 2001);
}

/// Without TTWU_QUEUE the waker takes the other queue's lock instead, once for each.
#[test]
fn without_ttwu_queue_the_other_queue_is_locked() {
    let experiment = linux("2c", 2)
        .smp_feature(Feature::TtwuQueue, false)
        .load(|load| {
            load.pairs(1, 50 * US).expect("it is a stretch");
            load.pins(&[only(0), only(1)]);
        })
        .duration_ns(200 * MS + 10 * US);
    let result = run_passing(&experiment);
    let counts = wakeups(&result, 0);
    assert_eq!((counts.queued, counts.remote_rq_locks, counts.ipis_sent), (0, 2000, 2000));
}

/// One task on CPU 0 posts three semaphores in a row; three waiters of CPU 1 are on its list by
/// the time it looks: one interrupt for three wake-ups, every millisecond.
#[test]
fn a_batch_of_wakeups_takes_one_interrupt() {
    let experiment = linux("2c", 2)
        .load(|load| {
            let semaphores: Vec<_> =
                (0..3).map(|index| load.shared.semaphore(format!("to {index}"))).collect();
            let posts = semaphores.iter().map(|&semaphore| Op::SemPost(semaphore));
            let poster = [Op::Sleep(MS)].into_iter().chain(posts).chain([Op::Jump(0)]);
            load.add("poster".into(), poster.collect());
            for (index, &semaphore) in semaphores.iter().enumerate() {
                let waiter = vec![Op::SemWait(semaphore), Op::Run(100 * US), Op::Jump(0)];
                load.add(format!("waiter{index}"), waiter);
            }
            load.pins(&[only(0), only(1)]);
        })
        .duration_ns(100 * MS + 500 * US);
    let result = run_passing(&experiment);
    let counts = wakeups(&result, 0);
    assert_eq!((counts.queued, counts.ipis_sent), (300, 100));
    // The poster itself, by its timer.
    assert_eq!((counts.local, counts.remote), (100, 300));
    // One waits for nobody, one for 100 us, one for 200, whoever it is.
    let waiters = ["waiter0", "waiter1", "waiter2"].map(|name| task(&result, name));
    let waited: u128 = waiters.iter().map(|waiter| moments(&waiter.wakeup_latency).sum).sum();
    assert_eq!(waited, u128::from(100 * 300 * US));
}

/// Two short tasks that wake only each other have CPUs 0 and 1. At 2 s, in a turn of the one on
/// CPU 0, a hog comes to CPU 1. Where the other one goes when it is woken next: to CPU 2, which
/// idles; with SIS_CURRENT to its waker's CPU, and every turn from then on is there, 20 000 a
/// second. Delayed dequeues would leave the waker not alone, so it is a version without.
#[test]
fn short_tasks_share_the_wakers_cpu_with_sis_current() {
    let local_wakeups = |is_on: bool| {
        let experiment = linux("4c", 4)
            .preset(Preset::V6_8)
            .smp_feature(Feature::SisCurrent, is_on)
            .load(|load| {
                load.pairs(1, 50 * US).expect("it is a stretch");
                load.add("late".into(), vec![Op::Sleep(2 * SECOND + 25 * US), Op::RunForever]);
                load.pins(&[None, None, only(1)]);
            })
            .duration_ns(3 * SECOND + 10 * US);
        let result = run_passing(&experiment);
        (0..4).map(|cpu| wakeups(&result, cpu).local).sum::<u64>()
    };
    // The hog's own.
    assert_eq!(local_wakeups(false), 1);
    assert_eq!(local_wakeups(true), 20_001);
}

/// A task that blocks in debt stays queued; who wakes it from another CPU takes that queue's lock,
/// or with TTWU_QUEUE_DELAYED leaves it to that CPU. CPU 1 is never idle, so nothing else is left
/// to it, and CPU 0 never looks for work, so it takes no other lock.
#[test]
fn delayed_wakeups_go_through_the_wake_list_when_asked_to() {
    let outcome = |is_on: bool| {
        let experiment = linux("2c", 2)
            .preset(Preset::V6_15)
            .smp_feature(Feature::TtwuQueueDelayed, is_on)
            .load(|load| {
                let go = load.shared.semaphore("go".into());
                let back = load.shared.semaphore("back".into());
                let post = [Op::Run(200 * US), Op::SemPost(go), Op::SemWait(back), Op::Jump(0)];
                let wait = [Op::SemWait(go), Op::Run(MS), Op::SemPost(back), Op::Jump(0)];
                load.add("poster".into(), post.to_vec());
                load.add("waiter".into(), wait.to_vec());
                load.hogs(2);
                load.pins(&[only(0), only(1), only(1), only(0)]);
                // The waiter breaks in on its hog, and so runs ahead of its share; the poster does
                // not wait for its own.
                load.slices(&[None, Some(200 * US), None]);
                load.policies(&[Policy::Normal, Policy::Normal, Policy::Normal, Policy::Idle]);
            })
            .duration_ns(SECOND);
        wakeups(&run_passing(&experiment), 0)
    };
    for (is_on, counts) in [false, true].map(|is_on| (is_on, outcome(is_on))) {
        assert!(counts.delayed > 0, "{counts:?}");
        assert_eq!(counts.queued, if is_on { counts.delayed } else { 0 });
        assert_eq!(counts.remote_rq_locks, counts.remote - counts.queued);
    }
}
