//! Each rule of a wake-up's placement alone, on CPUs set up by hand.

use super::*;
use crate::snapshot::tests::Cpus;
use crate::{Feature, Rules, Topology};
use abi::{CpuSet, TopologySpec};
use eevdf::Preset;

/// 8 CPUs with caches of 4.
fn two_caches() -> Topology {
    Topology::new(TopologySpec { llc: 4, ..TopologySpec::flat(8) }, 8)
}

/// 8 CPUs, one cache, cores of two threads.
fn smt() -> Topology {
    Topology::new(TopologySpec { core: 2, cluster: 2, llc: 8, package: 8 }, 8)
}

/// 8 CPUs, one cache, clusters of 4.
fn clusters() -> Topology {
    Topology::new(TopologySpec { core: 1, cluster: 4, llc: 8, package: 8 }, 8)
}

fn rules() -> Rules {
    Rules::new(Preset::V6_17, 700_000)
}

fn switched(feature: Feature, on: bool) -> Rules {
    rules().with_features(rules().features.with(feature, on))
}

fn waker(cpu: usize) -> Waker {
    let (flips, duration) = Default::default();
    Waker { cpu, task: Some(1), flips, duration, load: 1024, sync: false }
}

fn wakee(prev: usize, allowed: &CpuSet) -> Wakee<'_> {
    let history = History { recent_used: prev, ..History::default() };
    Wakee { task: 2, prev, allowed, history, load: 1024 }
}

fn choose(cpus: &Cpus, topology: &Topology, this: usize, prev: usize) -> Choice {
    let all = CpuSet::first(8);
    select(cpus, topology, &rules(), &waker(this), &wakee(prev, &all))
}

#[test]
fn an_idle_previous_cpu_is_taken_without_a_search() {
    let cpus = Cpus::idle().busy([0]);
    let choice = choose(&cpus, &two_caches(), 0, 3);
    assert_eq!((choice.cpu, choice.probed), (3, 0));
    assert!(choice.affine_attempt && !choice.affine);
    // WA_IDLE asks about the waker's CPU and about prev, then the target is asked about.
    cpus.assert_asked(&[0, 3, 3]);
}

/// An interrupt on an idle CPU of the wakee's cache: there, unless prev idles too.
#[test]
fn wa_idle_prefers_an_idle_waker_of_the_same_cache() {
    let cpus = Cpus::idle().busy([3]);
    assert_eq!(choose(&cpus, &two_caches(), 0, 3).cpu, 0);
    let other = Cpus::idle().busy([4, 5, 6, 7]);
    // Not across caches: loads decide, 1024 beside 1024 * 1.08 - the wakee's own.
    let choice = choose(&other, &two_caches(), 0, 4);
    assert!(!choice.affine);
    assert_eq!(choice.cpu, 4);
}

#[test]
fn a_sync_waker_alone_gives_up_its_cpu() {
    let cpus = Cpus::idle().busy([0, 3]);
    let all = CpuSet::first(8);
    let sync = Waker { sync: true, ..waker(0) };
    let choice = select(&cpus, &two_caches(), &rules(), &sync, &wakee(3, &all));
    assert!(choice.affine);
    // The waker still runs, so the search starts beside it.
    assert_eq!((choice.cpu, choice.probed), (1, 1));
}

/// One that waits out its debt beside the waker counted before v6.16.
#[test]
fn delayed_tasks_beside_a_sync_waker_count_in_old_versions() {
    let mut cpus = Cpus::idle().busy(0..8);
    (cpus.queued[0], cpus.delayed[0]) = (2, 1);
    let all = CpuSet::first(8);
    let sync = Waker { sync: true, ..waker(0) };
    let affine = |preset| {
        // Without WA_WEIGHT nothing else prefers the waker.
        let rules = Rules::new(preset, 700_000);
        let rules = rules.with_features(rules.features.with(Feature::WaWeight, false));
        select(&cpus, &two_caches(), &rules, &sync, &wakee(3, &all)).affine
    };
    assert!(affine(Preset::V6_17));
    assert!(!affine(Preset::V6_15));
}

/// Loads of 2048 here and L there, the wakee 1024 of the latter; all busy. With WA_BIAS:
/// (2048 + 1024) * 100 < (L - 1024) * 108, so from L = 3869 on; without: 3072 < L - 1024.
#[test]
fn wa_weight_compares_what_it_would_be() {
    let affine = |prev_load, rules: Rules| {
        let mut cpus = Cpus::idle().busy(0..8);
        cpus.load[0] = 2048;
        cpus.load[3] = prev_load;
        let all = CpuSet::first(8);
        select(&cpus, &two_caches(), &rules, &waker(0), &wakee(3, &all)).affine
    };
    assert!(!affine(3868, rules()) && affine(3869, rules()));
    let no_bias = switched(Feature::WaBias, false);
    assert!(!affine(4096, no_bias) && affine(4097, no_bias));
    assert!(!affine(9999, switched(Feature::WaWeight, false)));
}

/// A sync waker's load goes: 2048 - 1024 + 1024 here. A tie goes to the waker.
#[test]
fn wa_weight_takes_a_sync_waker_off_its_queue() {
    let affine = |prev_load| {
        let mut cpus = Cpus::idle().busy(0..8);
        (cpus.queued[0], cpus.load[0]) = (2, 2048);
        cpus.load[3] = prev_load;
        let (all, sync) = (CpuSet::first(8), Waker { sync: true, ..waker(0) });
        let no_bias = switched(Feature::WaBias, false);
        select(&cpus, &two_caches(), &no_bias, &sync, &wakee(3, &all)).affine
    };
    assert!(!affine(3071) && affine(3072));
}

#[test]
fn wide_pairs_are_not_pulled_together() {
    let cpus = Cpus::idle().busy([3]);
    let all = CpuSet::first(8);
    let (mut many, mut few) = (Flips::default(), Flips::default());
    (0..16).for_each(|wakee| many.record(wakee, 1));
    (0..4).for_each(|wakee| few.record(wakee, 1));
    let busy_waker = Waker { flips: many, ..waker(0) };
    let mut busy_wakee = wakee(3, &all);
    busy_wakee.history.flips = few;
    let choice = select(&cpus, &two_caches(), &rules(), &busy_waker, &busy_wakee);
    assert!(!choice.affine_attempt);
    assert_eq!(choice.cpu, 0, "an idle CPU of prev's cache all the same, from prev + 1 around");
}

/// The whole cache is busy, the other one idle: nobody goes across.
#[test]
fn no_search_leaves_the_cache() {
    let cpus = Cpus::idle().busy(0..4);
    let choice = choose(&cpus, &two_caches(), 0, 2);
    assert_eq!((choice.cpu, choice.probed), (2, 4));
    cpus.assert_asked(&[0, 2, 2, 3, 0, 1, 2]);
}

#[test]
fn the_recently_used_cpu_comes_before_a_search_and_becomes_prev() {
    let cpus = Cpus::idle().busy([0, 2]);
    let all = CpuSet::first(8);
    let mut task = wakee(2, &all);
    task.history.recent_used = 1;
    let choice = select(&cpus, &two_caches(), &rules(), &waker(0), &task);
    assert_eq!((choice.cpu, choice.probed, choice.recent_used), (1, 0, Some(2)));
    // Not if it is in another cache.
    task.history.recent_used = 5;
    let choice = select(&cpus, &two_caches(), &rules(), &waker(0), &task);
    assert_eq!((choice.cpu, choice.probed), (3, 1));
    // It stays as it is where the target idles.
    let idle = Cpus::idle().busy([0]);
    assert_eq!(select(&idle, &two_caches(), &rules(), &waker(0), &task).recent_used, None);
}

/// CPUs 3 and 1 of the cache 0-3 are looked at, and that is all.
#[test]
fn sis_util_cuts_the_search_short() {
    let mut cpus = Cpus::idle().busy([0, 2, 3, 1]);
    cpus.queued[1] = 0;
    let outcome = |cpus: &Cpus, rules: &Rules| {
        let all = CpuSet::first(8);
        let choice = select(cpus, &two_caches(), rules, &waker(0), &wakee(2, &all));
        (choice.cpu, choice.probed)
    };
    cpus.nr_idle_scan = 3;
    assert_eq!(outcome(&cpus, &rules()), (1, 3));
    cpus.nr_idle_scan = 2;
    assert_eq!(outcome(&cpus, &rules()), (2, 2));
    cpus.nr_idle_scan = 0;
    assert_eq!(outcome(&cpus, &rules()), (2, 0));
    assert_eq!(outcome(&cpus, &switched(Feature::SisUtil, false)), (1, 3));
}

#[test]
fn a_thread_beside_prev_where_no_core_is_idle() {
    let mut cpus = Cpus::idle().busy(0..8);
    (cpus.queued[1], cpus.queued[5]) = (0, 0);
    let choice = choose(&cpus, &smt(), 0, 4);
    assert_eq!((choice.cpu, choice.probed), (5, 1));
}

/// prev is 4; cores from CPU 5 on: {4, 5} half, {6, 7} half, {0, 1} busy, {2, 3} idle.
#[test]
fn an_idle_core_is_worth_more_than_an_idle_thread() {
    let mut cpus = Cpus::idle().busy([0, 1, 4, 6]);
    cpus.has_idle_cores = true;
    let choice = choose(&cpus, &smt(), 0, 4);
    assert_eq!(choice.cpu, 2);
    assert!(!choice.no_idle_cores);
}

/// The first idle thread then, and the hint is taken back. No budget applies.
#[test]
fn a_hint_of_idle_cores_may_be_wrong() {
    let mut cpus = Cpus::idle().busy([0, 2, 4, 6]);
    (cpus.has_idle_cores, cpus.nr_idle_scan) = (true, 1);
    let choice = choose(&cpus, &smt(), 0, 4);
    assert_eq!(choice.cpu, 5);
    assert!(choice.no_idle_cores);
}

/// prev 1 idles but is of another cluster than the target, 4: the search goes first, and within
/// the target's cluster first; prev is what is left.
#[test]
fn the_targets_cluster_comes_first() {
    let all = CpuSet::first(8);
    let sync = Waker { sync: true, ..waker(4) };
    let outcome = |cpus: &Cpus, preset| {
        // Without WA_WEIGHT and with a sync waker alone, the target is the waker's CPU.
        let choice =
            select(cpus, &clusters(), &Rules::new(preset, 700_000), &sync, &wakee(1, &all));
        (choice.cpu, choice.probed)
    };
    let cpus = Cpus::idle().busy([4, 5]);
    assert_eq!(outcome(&cpus, Preset::V6_17), (6, 2));
    assert_eq!(outcome(&cpus, Preset::V6_6), (1, 0));
    let mut no_budget = Cpus::idle().busy([4, 5]);
    no_budget.nr_idle_scan = 0;
    assert_eq!(outcome(&no_budget, Preset::V6_17), (1, 0));
}

#[test]
fn only_allowed_cpus_are_found() {
    let cpus = Cpus::idle().busy([0, 2]);
    let allowed: CpuSet = [2, 1].into_iter().collect();
    let choice = select(&cpus, &two_caches(), &rules(), &waker(0), &wakee(2, &allowed));
    assert!(!choice.affine_attempt, "it may not run where the waker does");
    assert_eq!((choice.cpu, choice.probed), (1, 1));
}

#[test]
fn sched_idle_tasks_make_room() {
    let mut cpus = Cpus::idle().busy(0..8);
    cpus.sched_idle = CpuSet::only(2);
    assert_eq!(choose(&cpus, &two_caches(), 0, 2).cpu, 2);
    // But for WA_IDLE they are not idle.
    cpus.sched_idle = CpuSet::only(0);
    assert!(!choose(&cpus, &two_caches(), 0, 2).affine);
}

/// Waker 1 and wakee 2, which have woken each other for a second and more.
fn pair(all: &CpuSet, waker_ns: u64, wakee_ns: u64) -> (Waker, Wakee<'_>) {
    let only = |task| {
        let mut flips = Flips::default();
        flips.record(task, 0);
        flips.record(task, 1_000_000_000);
        flips
    };
    let runs = |ns: u64| {
        let mut duration = Duration::default();
        (1..100).for_each(|round| duration.sleep(round * ns));
        duration
    };
    let waker = Waker { flips: only(2), duration: runs(waker_ns), ..waker(0) };
    let history = History { flips: only(1), duration: runs(wakee_ns), recent_used: 2 };
    (waker, Wakee { history, ..wakee(2, all) })
}

#[test]
fn sis_current_needs_all_its_conditions() {
    let all = CpuSet::first(8);
    let busy = Cpus::idle().busy([0, 2]);
    let on = switched(Feature::SisCurrent, true);
    let cpu = |cpus: &Cpus, rules: &Rules, (waker, wakee): (Waker, Wakee<'_>)| {
        select(cpus, &two_caches(), rules, &waker, &wakee).cpu
    };
    let short = || pair(&all, 50_000, 50_000);
    assert_eq!(cpu(&busy, &on, short()), 0);
    assert_eq!(cpu(&busy, &rules(), short()), 3, "the feature is off");
    let mut crowded = Cpus::idle().busy([0, 2]);
    crowded.queued[0] = 2;
    assert_eq!(cpu(&crowded, &on, short()), 3, "the waker is not alone");
    assert_eq!(cpu(&busy, &on, pair(&all, 600_000, 50_000)), 3, "the waker is long");
    assert_eq!(cpu(&busy, &on, pair(&all, 50_000, 600_000)), 3, "the wakee is long");
    let (mut waker, mut wakee) = short();
    waker.flips.record(9, 1);
    assert_eq!(cpu(&busy, &on, (waker, wakee)), 3, "the waker wakes others");
    waker = short().0;
    wakee.history.flips.record(9, 1);
    assert_eq!(cpu(&busy, &on, (waker, wakee)), 3, "the wakee wakes others");
    // An idle previous CPU is better than company.
    assert_eq!(cpu(&Cpus::idle().busy([0]), &on, short()), 2);
}

/// An eighth of 700 us is 87.5 us.
#[test]
fn sis_short_keeps_short_tasks_at_the_target() {
    let all = CpuSet::first(8);
    let busy = Cpus::idle().busy([0, 2]);
    let on = switched(Feature::SisShort, true);
    let cpu =
        |(waker, wakee): (Waker, Wakee<'_>)| select(&busy, &two_caches(), &on, &waker, &wakee).cpu;
    // Loads keep the wakee at its previous CPU, so it is queued there, beside who runs.
    assert_eq!(cpu(pair(&all, 80_000, 80_000)), 2);
    assert_eq!(cpu(pair(&all, 80_000, 95_000)), 3);
}
