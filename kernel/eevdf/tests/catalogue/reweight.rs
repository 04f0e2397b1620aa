//! Changes of weight and slice.

use crate::common::*;
use eevdf::{Attr, Policy, Preset, ReweightRule};

/// A runs, the others wait.
fn cpu_with(rule: ReweightRule, attrs: &[Attr]) -> Cpu {
    let mut rules = rules(Preset::V7_0, 1000, 3 * MS);
    rules.variant.reweight = rule;
    let mut cpu = Cpu::with(rules, &attrs[..1]);
    cpu.pick();
    for (index, &attr) in attrs.iter().enumerate().skip(1) {
        cpu.join(eevdf::EntityId(index as u32), attr);
    }
    cpu
}

fn weighted_lag(cpu: &Cpu, id: eevdf::EntityId) -> i64 {
    cpu.lag(id) * i64::from(cpu.entity(id).weight()) / 1024
}

/// B10, "sched/eevdf: Prevent vlag from going out of bounds in reweight_eevdf()": a lag far beyond the
/// limit was scaled as it was, until products overflowed and nothing was eligible.
#[test]
fn b10_reweighting_keeps_lag_within_bounds() {
    for (rule, is_bounded) in [(ReweightRule::DirectStale, false), (ReweightRule::Direct, true)] {
        let mut cpu = cpu_with(rule, &[Attr::default(); 2]);
        // Nobody looks at the need to reschedule for ten seconds.
        let _ = cpu.run(10_000 * MS);
        for level in [-20, 19] {
            let mean = cpu.rq.avg_vruntime();
            cpu.set_attr(B, nice(level));
            let lag = mean.wrapping_sub(cpu.entity(B).vruntime()) as i64;
            let limit = cpu.rq.lag_limit(B).unwrap();
            assert_eq!(lag.abs() <= limit, is_bounded, "{rule:?}: {lag} of {limit}");
        }
    }
}

/// B12, "sched/eevdf: Fix min_deadline heap integrity", and B13, "sched/eevdf: Fix heap corruption
/// more": the first changed a deadline inside the tree, the fix walked up from the running entity,
/// which is not in it. Both show in the invariants.
#[test]
fn b12_b13_reweighting_leaves_a_sound_tree() {
    for preset in Preset::ALL {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default(); 4]);
        let curr = cpu.pick();
        for level in [19, -20, 5, -5, 0] {
            let _ = cpu.run(MS / 2);
            for id in [A, B, C, D] {
                cpu.set_attr(id, nice(level));
                assert_eq!(cpu.rq.curr(), Some(curr), "{preset:?}: who runs stays out of the tree");
                assert_eq!(cpu.rq.queued().count(), 4);
            }
        }
    }
}

/// B18, "sched/eevdf: Fix vruntime adjustment on reweight": renicing made or lost time.
#[test]
fn b18_reweighting_keeps_real_lag() {
    for (rule, keeps) in [(ReweightRule::DeadlineOnly, false), (ReweightRule::Direct, true)] {
        for id in [A, B] {
            let mut cpu = cpu_with(rule, &[Attr::default(), Attr::default(), nice(3)]);
            let _ = cpu.run(2 * MS);
            let (before, mean) = (weighted_lag(&cpu, id), cpu.rq.avg_vruntime());
            cpu.set_attr(id, nice(8));
            let difference = (weighted_lag(&cpu, id) - before).abs();
            assert_eq!(difference <= 2, keeps, "{rule:?} {id:?}: off by {difference}");
            if keeps {
                assert!((cpu.rq.avg_vruntime().wrapping_sub(mean) as i64).abs() <= 2);
            }
        }
    }
}

/// The distance to the deadline is worth the same real time before and after.
#[test]
fn reweighting_scales_the_distance_to_the_deadline() {
    for rule in [ReweightRule::DeadlineOnly, ReweightRule::Direct, ReweightRule::Replace] {
        for id in [A, B] {
            let mut cpu = cpu_with(rule, &[Attr::default(); 2]);
            let _ = cpu.run(MS);
            let left = cpu.left(id);
            cpu.set_attr(id, nice(5));
            let expected = left * 1024 / 335;
            assert!(
                cpu.left(id).abs_diff(expected) <= 2,
                "{rule:?}: {} for {expected}",
                cpu.left(id)
            );
        }
    }
}

/// B19, "sched/fair: Update min_vruntime for reweight_entity() correctly": a base at the smallest vruntime
/// stood still when a reweight moved that entity right.
#[test]
fn b19_the_base_follows_a_reweight() {
    let mut cpu = Cpu::with(rules(Preset::V6_8, 1000, 3 * MS), &[Attr::default(); 2]);
    cpu.pick();
    let _ = cpu.run(2 * MS);
    assert_eq!(cpu.rq.base_vruntime(), cpu.entity(B).vruntime());
    let left_of_v = cpu.entity(B).vruntime();
    cpu.set_attr(B, nice(-5));
    assert_ne!(cpu.entity(B).vruntime(), left_of_v);
    assert_eq!(cpu.rq.base_vruntime(), cpu.entity(B).vruntime());
}

/// B20, "sched/eevdf: Always update V if se->on_rq when reweighting": V lacked what the running entity
/// had not been charged for.
#[test]
fn b20_a_reweight_sees_what_was_run() {
    for (rule, sees) in [(ReweightRule::DirectStale, 0), (ReweightRule::Direct, 2 * MS)] {
        let mut cpu = cpu_with(rule, &[Attr::default(); 2]);
        cpu.now += 2 * MS;
        cpu.set_attr(B, nice(5));
        assert_eq!(cpu.entity(A).sum_exec_ns(), sees, "{rule:?}");
        let lag = weighted_lag(&cpu, B);
        assert_eq!((lag - MS as i64).abs() <= 2, sees > 0, "{rule:?}: real lag {lag}");
    }
}

/// B21, "sched/fair: Revert 6d71a9c61604": placing the running entity anew inflates a lag that V
/// counts already; with every cycle of weights it grows.
#[test]
fn b21_cycles_of_weight_do_not_grow_lag() {
    let drift = |rule| {
        let mut cpu = cpu_with(rule, &[Attr::default(), nice(-10)]);
        let _ = cpu.run(MS);
        let before = cpu.lag(A);
        let mut worst = 0;
        for _ in 0..100 {
            cpu.set_attr(A, policy(Policy::Idle));
            cpu.set_attr(A, Attr::default());
            worst = worst.max((cpu.lag(A) - before).abs());
        }
        worst
    };
    assert!(drift(ReweightRule::Direct) <= 200, "drift {}", drift(ReweightRule::Direct));
    assert!(drift(ReweightRule::Replace) > 1_000, "drift {}", drift(ReweightRule::Replace));
}

/// A custom slice counts at once where slices are compared, and in the deadline from the next request.
#[test]
fn a_new_slice_leaves_the_deadline_of_this_request() {
    for preset in [Preset::V6_12, Preset::V7_0, Preset::V7_3] {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default(); 2]);
        cpu.pick();
        let _ = cpu.run(MS);
        for id in [A, B] {
            let (left, lag) = (cpu.left(id), cpu.lag(id));
            cpu.set_attr(id, slice(500 * US));
            assert_eq!((cpu.left(id), cpu.rq.min_slice_ns()), (left, Some(500 * US)));
            assert!((cpu.lag(id) - lag).abs() <= 2);
        }
        let _ = cpu.run(2 * MS);
        assert_eq!(cpu.left(A), 500 * US, "{preset:?}");
    }
}

/// A sleeper held to the debt it blocked with is held to the same debt in real time.
#[test]
fn a_delayed_entity_keeps_its_real_debt() {
    for preset in [Preset::V6_12, Preset::V7_0, Preset::V7_3] {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default(); 2]);
        cpu.pick();
        let _ = cpu.run(2 * MS);
        assert_eq!(cpu.dequeue(A, eevdf::Dequeue::Sleep), eevdf::Dequeued::Delayed);
        cpu.set_attr(A, nice(5));
        assert!(cpu.rq.is_delayed(A));
        cpu.rq.requeue_delayed(A, cpu.now);
        cpu.check();
        let lag = weighted_lag(&cpu, A);
        assert!((lag + MS as i64).abs() <= 2, "{preset:?}: real lag {lag}");
    }
}

/// B20. 6.8: a running entity is scaled around V, a waiting one around the V of the others, because it was
/// out of the sums already ("sched/eevdf: Fix miscalculation in reweight_entity() when se is not curr").
#[test]
fn b20_the_stale_mean_leaves_out_who_waits() {
    let lighter = |ns: i64| ns * 1024 / i64::from(nice(5).nice.weight());
    for (id, mean) in [(A, 500_000), (B, MS as i64)] {
        let mut cpu = cpu_with(ReweightRule::DirectStale, &[Attr::default(); 2]);
        let _ = cpu.run(MS);
        let old = cpu.entity(id).vruntime() as i64;
        cpu.set_attr(id, nice(5));
        assert_eq!(cpu.entity(id).vruntime() as i64, mean - lighter(mean - old), "{id:?}");
    }
}
