//! Placement, lag and migration.

use crate::common::*;
use eevdf::{Attr, Dequeue, Enqueue, Entity, ForkRule, LagClamp, Preset};

/// B17, "sched/eevdf: Also update slice on placement": a changed base slice was ignored after a sleep.
#[test]
fn b17_a_changed_base_slice_reaches_a_wakee() {
    for preset in Preset::ALL {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default(); 2]);
        let sleeper = cpu.take(B, Dequeue::SleepSpecial);
        cpu.rq.set_rules(cpu.rules.with_base_slice_ns(MS));
        cpu.enqueue(B, sleeper, Enqueue::Wakeup);
        assert_eq!((cpu.left(B), cpu.entity(B).slice_ns()), (MS, MS), "{preset:?}");
        // One that runs sees it at the end of its slice.
        assert_eq!(cpu.left(A), 3 * MS);
        let _ = cpu.take(B, Dequeue::Exit);
        cpu.pick();
        let _ = cpu.run(3 * MS);
        assert_eq!(cpu.left(A), MS);
    }
}

/// B22, "sched/fair: Adhere to place_entity() constraints": reweighting the only entity placed it in a
/// queue that still counted it, and divided by a weight of zero.
#[test]
fn b22_reweighting_the_only_entity_divides_by_nothing() {
    for preset in Preset::ALL {
        for runs in [false, true] {
            let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default()]);
            if runs {
                cpu.pick();
                cpu.now += MS;
            }
            for level in [19, -20, 0] {
                cpu.set_attr(A, nice(level));
                assert_eq!(cpu.lag(A), 0, "{preset:?}");
            }
        }
    }
}

/// B23, "sched/fair: Fix lag clamp": the limit of own slices takes away what an entity with a short
/// slice is owed by a neighbour with a long one.
#[test]
fn b23_a_short_slice_keeps_what_a_long_one_owes() {
    for (clamp, kept) in [(LagClamp::OwnSlice, MS), (LagClamp::MaxSlice, 50 * MS)] {
        for why in [Dequeue::Migrate, Dequeue::Sleep] {
            let mut rules = rules(Preset::V7_0, 1000, 3 * MS);
            rules.variant.lag_clamp = clamp;
            let mut cpu = Cpu::with(rules, &[slice(100 * MS)]);
            cpu.pick();
            cpu.join(B, slice(100 * US));
            let _ = cpu.run(100 * MS);
            assert_eq!(cpu.lag(B), 50 * MS as i64);
            let violations = cpu.rq.lag_violations();
            assert_eq!(cpu.take(B, why).vlag(), kept as i64, "{clamp:?}");
            assert_eq!(
                cpu.rq.lag_violations() - violations,
                u64::from(clamp == LagClamp::OwnSlice)
            );
        }
    }
}

/// B24: charging may be a tick late, so a tick of lag is nothing undue however short the slices are.
#[test]
fn b24_the_limit_has_room_for_a_tick() {
    for preset in Preset::ALL {
        let mut cpu = Cpu::with(rules(preset, 100, 700 * US), &[Attr::default(); 8]);
        cpu.pick();
        let _ = cpu.run(10 * MS);
        assert_eq!(cpu.lag(A), -8_750_000);
        assert_eq!(cpu.take(A, Dequeue::Migrate).vlag(), -8_750_000, "{preset:?}");
    }
}

/// B25, "sched/fair: Clear rel_deadline when initializing forked entities": a child of a parent in the
/// middle of a move took an absolute deadline for a distance.
#[test]
fn b25_a_child_does_not_inherit_a_relative_deadline() {
    for rule in [ForkRule::KeepsRelDeadline, ForkRule::ClearsRelDeadline] {
        let mut rules = rules(Preset::V7_0, 1000, 3 * MS);
        rules.variant.fork = rule;
        let mut cpu = Cpu::with(rules, &[Attr::default(); 2]);
        cpu.pick();
        let _ = cpu.run(MS);
        let parent = cpu.take(A, Dequeue::Migrate);
        cpu.enqueue(C, parent.fork(&rules), Enqueue::Initial);
        let expected = if rule == ForkRule::ClearsRelDeadline { 1_500_000 } else { 2 * MS };
        assert_eq!(cpu.left(C), expected, "{rule:?}");
    }
}

/// B26, "sched: Initialize the vruntime of a new task when it is first enqueued": a child placed on
/// its parent's CPU started elsewhere with a vruntime that meant nothing there.
#[test]
fn b26_a_fork_starts_at_v_of_its_own_cpu() {
    let rules = rules(Preset::V7_0, 1000, 3 * MS);
    let (mut here, mut there) =
        (Cpu::with(rules, &[Attr::default()]), Cpu::with(rules, &[Attr::default()]));
    here.pick();
    there.pick();
    let _ = here.run(50 * MS);
    let _ = there.run(7 * MS);
    let child = here.entity(A).fork(&rules);
    there.enqueue(B, child, Enqueue::Initial);
    assert_eq!(there.entity(B).vruntime(), 7 * MS);
}

/// B27, "sched/smp: Use lag to simplify cross-runqueue placement": lag was lost on the way.
#[test]
fn b27_lag_crosses_cpus() {
    for preset in Preset::ALL {
        for vlag in [-900_000, -1, 0, 1, 900_000] {
            let rules = rules(preset, 1000, 3 * MS);
            let attrs = [nice(-4), nice(0), nice(7)];
            let (mut from, mut to) = (Cpu::with(rules, &attrs), Cpu::with(rules, &attrs));
            to.pick();
            let _ = to.run(2 * MS);
            from.join_with_lag(D, nice(2), vlag);
            let left_with = from.take(D, Dequeue::Migrate);
            assert!((left_with.vlag() - vlag).abs() <= 2, "{} for {vlag}", left_with.vlag());
            to.enqueue(D, left_with.clone(), Enqueue::Migrate);
            assert!(
                (to.lag(D) - left_with.vlag()).abs() <= 2,
                "{preset:?}: {} for {vlag}",
                to.lag(D)
            );
            let moved = to.take(D, Dequeue::Migrate);
            let mut empty = Cpu::new(rules);
            empty.enqueue(D, moved, Enqueue::Migrate);
            assert_eq!(empty.lag(D), 0);
        }
    }
}

/// The distance to the deadline moves along since 6.12; before, a moved entity starts a new request.
#[test]
fn migration_keeps_the_distance_to_the_deadline() {
    for (preset, left) in [(Preset::V6_8, 3 * MS), (Preset::V6_12, 2 * MS), (Preset::V7_3, 2 * MS)]
    {
        let rules = rules(preset, 1000, 3 * MS);
        let mut from = Cpu::with(rules, &[Attr::default(); 2]);
        from.pick();
        let _ = from.run(MS);
        let moved = from.take(A, Dequeue::Migrate);
        let mut to = Cpu::with(rules, &[Attr::default()]);
        to.enqueue(B, moved, Enqueue::Migrate);
        assert_eq!(to.left(B), left, "{preset:?}");
    }
}

/// A sleep drops it in every version.
#[test]
fn a_wakee_starts_a_new_request() {
    for preset in Preset::ALL {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default(); 2]);
        cpu.pick();
        let _ = cpu.run(MS);
        let sleeper = cpu.take(A, Dequeue::SleepSpecial);
        cpu.enqueue(A, sleeper, Enqueue::Wakeup);
        assert_eq!(cpu.left(A), 3 * MS, "{preset:?}");
    }
}

#[test]
fn without_place_lag_everybody_starts_at_v() {
    let rules = without(rules(Preset::V7_0, 1000, 3 * MS), eevdf::Feature::PlaceLag);
    let mut cpu = Cpu::with(rules, &[Attr::default()]);
    cpu.join_with_lag(B, Attr::default(), -900_000);
    assert_eq!(cpu.lag(B), 0);
}

#[test]
fn attributes_change_off_the_queue_too() {
    let rules = rules(Preset::V7_0, 1000, 3 * MS);
    let mut entity = entity_with_lag(&rules, Attr::default(), -900_000);
    entity.set_attr(nice(5), &rules);
    assert_eq!((entity.vlag(), entity.weight()), (-900_000 * 1024 / 335, 335));
    assert_eq!(Entity::new(nice(5), &rules).weight(), 335);
}
