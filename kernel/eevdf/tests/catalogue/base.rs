//! What vruntimes are kept relative to, and clocks.

use crate::common::*;
use eevdf::{Attr, BaseRule, Dequeue, Enqueue, Preset, Resched};

/// The largest distance of a queued vruntime from the base, in units of the entity's own slice plus tick.
fn worst_key(cpu: &Cpu) -> f64 {
    let key = |id| {
        let entity = cpu.entity(id);
        let key = entity.vruntime().wrapping_sub(cpu.rq.base_vruntime()) as i64;
        let unit_ns = (cpu.rq.rules().base_slice_ns() + cpu.rules.tick_ns()) as f64;
        key.abs() as f64 * f64::from(entity.weight()) / (unit_ns * 1024.0)
    };
    cpu.rq.queued().map(key).fold(0.0, f64::max)
}

/// B2, "sched/eevdf: Fix min_vruntime vs avg_vruntime": with the base at the smallest vruntime, a
/// light entity far right has a key without bound.
#[test]
fn b2_keys_stay_short_when_the_base_follows_v() {
    let spread = |base| {
        let mut rules = rules(Preset::V7_0, 1000, 3 * MS);
        rules.variant.base = base;
        let mut cpu = Cpu::with(rules, &[nice(19), nice(-20), nice(-20)]);
        let mut worst = 0.0f64;
        cpu.pick();
        for _ in 0..3_000 {
            if cpu.run(MS) != Resched::No {
                cpu.pick();
            }
            let far = cpu.entity(A).vruntime().wrapping_sub(cpu.rq.base_vruntime()) as i64;
            worst = worst.max(far.abs() as f64 / 1e6);
        }
        worst
    };
    let (from_min, from_v) = (spread(BaseRule::MinVruntime), spread(BaseRule::ZeroVruntime));
    assert!(from_v <= 2.0 * 4.0 * 1024.0 / 15.0, "{from_v} ms");
    assert!(from_min >= from_v, "{from_min} ms from the minimum, {from_v} ms from V");
}

/// B3, "sched/fair: Fix zero_vruntime tracking": the base stood still while one hog ran for long
/// without joins or leaves.
#[test]
fn b3_the_base_follows_a_long_run() {
    let mut cpu = Cpu::with(rules(Preset::V7_0, 1000, 3 * MS), &[nice(19)]);
    cpu.pick();
    // 150 s at nice 19 are 10^7 ms of virtual time.
    for step in 0..150_000u64 {
        if cpu.run(MS) != Resched::No {
            cpu.pick_flushing();
        }
        match step % 1000 {
            500 => cpu.join(B, Attr::default()),
            510 => drop(cpu.dequeue(B, Dequeue::Exit)),
            _ => {}
        }
        if cpu.rq.curr().is_none() {
            cpu.pick();
        }
        assert!(worst_key(&cpu) <= 2.0, "{} slices and ticks at {step} ms", worst_key(&cpu));
    }
    assert!(cpu.entity(A).vruntime() > 9_900_000 * MS);
}

/// B4, "sched/fair: Fix zero_vruntime tracking fix": two that yield in turn leap forward with neither
/// join, leave nor tick.
#[test]
fn b4_the_base_follows_yields() {
    let mut cpu = Cpu::with(rules(Preset::V7_0, 1000, 3 * MS), &[Attr::default(); 2]);
    let mut turns = [0; 2];
    for _ in 0..1_000_000 {
        assert!(matches!(cpu.rq.pick_next(cpu.now), eevdf::Pick::Run { .. }));
        let curr = cpu.rq.curr().unwrap();
        turns[curr.0 as usize] += 1;
        cpu.rq.yield_curr(cpu.now);
        let key = cpu.entity(curr).vruntime().wrapping_sub(cpu.rq.base_vruntime()) as i64;
        assert!(key.abs() <= 6 * MS as i64, "key {key}");
    }
    cpu.check();
    assert_eq!(turns, [500_000; 2]);
    assert_eq!(cpu.entity(A).sum_exec_ns(), 0);
}

/// B5, "sched/debug: Fix avg_vruntime() usage": a dump moved the base, without the lock.
#[test]
fn b5_looking_changes_nothing() {
    let mut cpu = Cpu::with(rules(Preset::V7_0, 1000, 3 * MS), &[nice(3), nice(0), nice(-3)]);
    cpu.pick();
    let _ = cpu.run(2 * MS);
    let before = format!("{:?}", cpu.rq);
    let rq = &cpu.rq;
    let _ =
        (rq.avg_vruntime(), rq.base_vruntime(), rq.total_weight(), rq.min_slice_ns(), rq.resched());
    for id in rq.queued() {
        let _ =
            (rq.lag(id), rq.lag_limit(id), rq.is_eligible(id), rq.entity(id), rq.is_delayed(id));
    }
    let _ = (rq.hrtick_delay_ns(0), rq.lag_violations(), rq.next_buddy(), rq.check_invariants());
    assert_ne!(rq.base_vruntime(), rq.avg_vruntime(), "there is something to move");
    assert_eq!(format!("{:?}", cpu.rq), before);
}

/// B32, "sched/eevdf: Fix wakeup-preempt by checking cfs_rq->nr_running": alone on the queue, an expired
/// slice is no reason to reschedule, whatever runs in other classes.
#[test]
fn b32_a_lone_entity_is_never_rescheduled() {
    for preset in Preset::ALL {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default()]);
        cpu.pick();
        for _ in 0..100 {
            assert_eq!(cpu.run(MS), Resched::No, "{preset:?}");
        }
    }
}

/// B49, "sched: Don't try to catch up excess steal time": the task clock stands still or goes back.
#[test]
fn b49_a_clock_that_goes_back_charges_nothing() {
    let mut cpu = Cpu::with(rules(Preset::V7_0, 1000, 3 * MS), &[Attr::default(); 2]);
    cpu.now = 50 * MS;
    cpu.pick();
    let _ = cpu.run(MS);
    for stuck in [cpu.now, cpu.now - 10 * MS] {
        let _ = cpu.rq.tick(stuck);
        assert_eq!(cpu.entity(A).sum_exec_ns(), MS);
    }
    let _ = cpu.run(MS);
    assert_eq!(cpu.entity(A).sum_exec_ns(), 2 * MS);
}

/// A wrap of the task clock is not a clock that goes back.
#[test]
fn the_task_clock_may_wrap() {
    let mut cpu = Cpu::new(rules(Preset::V7_0, 1000, 3 * MS));
    cpu.now = u64::MAX - 500_000;
    cpu.enqueue(A, eevdf::Entity::new(Attr::default(), &cpu.rules), Enqueue::Wakeup);
    cpu.pick();
    let _ = cpu.run(MS);
    assert_eq!(cpu.entity(A).sum_exec_ns(), MS);
}
