//! The next buddy.

use crate::common::*;
use eevdf::{Attr, BuddyPick, Dequeue, Dequeued, Feature, PickReason, Preset, Resched, Wake};

/// B35, "sched/fair: Fix NEXT_BUDDY" and "Untangle NEXT_BUDDY and pick_next_task()": the buddy was
/// delayed, or left between being set and being picked.
#[test]
fn b35_the_buddy_is_awake_and_here() {
    for preset in Preset::ALL {
        let mut cpu =
            Cpu::with(with(rules(preset, 1000, 3 * MS), Feature::NextBuddy), &[Attr::default(); 2]);
        cpu.pick();
        cpu.join(C, Attr::default());
        let _ = cpu.wake_test(C);
        assert_eq!(cpu.rq.next_buddy(), Some(C), "{preset:?}");
        let _ = cpu.dequeue(C, Dequeue::Sleep);
        assert_eq!(cpu.rq.next_buddy(), None, "{preset:?}");

        let _ = cpu.run(MS);
        if cpu.dequeue(A, Dequeue::Sleep) == Dequeued::Delayed {
            assert!(!cpu.rq.yield_to(A, cpu.now));
            let _ = cpu.rq.wakeup_preempt(A, Wake::default(), cpu.now);
            cpu.check();
            assert_ne!(cpu.rq.next_buddy(), Some(A), "{preset:?}: asleep");
        }
    }
}

/// B37, "sched/eevdf: Clear buddies for preempt_short": a stale buddy beat the short wakee that had
/// just won.
#[test]
fn b37_a_short_wakee_beats_the_buddy() {
    for (rule, runs) in [(BuddyPick::EveryPick, C), (BuddyPick::ProtectedPick, D)] {
        let mut rules = with(rules(Preset::V7_0, 1000, 3 * MS), Feature::NextBuddy);
        rules.variant.buddy_pick = rule;
        let mut cpu = Cpu::with(rules, &[Attr::default(); 2]);
        cpu.pick();
        let _ = cpu.run(US);
        cpu.join(C, Attr::default());
        let _ = cpu.wake_test(C);
        assert_eq!(cpu.rq.next_buddy(), Some(C));
        cpu.join(D, slice(500 * US));
        let _ = cpu.wake_test(D);
        assert_eq!(cpu.pick(), runs, "{rule:?}");
    }
}

/// "sched/fair: Reimplement NEXT_BUDDY to align with EEVDF goals": a waker about to sleep runs on until
/// it has had its allowance.
#[test]
fn a_sync_waker_runs_on_for_a_while() {
    for (ran, cpu_selected, preempts) in [
        (499 * US, false, false),
        (500 * US, false, true),
        (124 * US, true, false),
        (125 * US, true, true),
    ] {
        let rules = with(rules(Preset::V7_0, 1000, 3 * MS), Feature::NextBuddy);
        let mut cpu = Cpu::with(rules, &[Attr::default(); 2]);
        cpu.pick();
        let _ = cpu.run(ran);
        cpu.join(C, nice(-5));
        let how = Wake { sync: true, cpu_selected, fork: false };
        let resched = cpu.rq.wakeup_preempt(C, how, cpu.now);
        assert_eq!(resched != Resched::No, preempts, "after {ran} ns");
    }
}

#[test]
fn the_buddy_with_the_earlier_deadline_stays() {
    let rules = with(rules(Preset::V7_0, 1000, 3 * MS), Feature::NextBuddy);
    let mut cpu = Cpu::with(rules, &[Attr::default()]);
    cpu.pick();
    let _ = cpu.run(US);
    for (id, level, buddy) in [(B, 0, B), (C, 5, B), (D, -5, D)] {
        cpu.join(id, nice(level));
        let _ = cpu.wake_test(id);
        assert_eq!(cpu.rq.next_buddy(), Some(buddy));
    }
}

/// A buddy is picked while eligible, from 6.12 on without any feature but PICK_BUDDY.
#[test]
fn yield_to_hands_over_if_eligible() {
    for preset in Preset::ALL {
        for (on, takes) in [(true, preset >= Preset::V6_12), (false, false)] {
            let mut rules = rules(preset, 1000, 3 * MS);
            rules = if on { rules } else { without(rules, Feature::PickBuddy) };
            let mut cpu = Cpu::with(rules, &[Attr::default(), nice(-10), nice(10)]);
            cpu.pick();
            assert!(cpu.rq.yield_to(C, cpu.now));
            let picked = cpu.pick_reason();
            assert_eq!(picked == (C, PickReason::Buddy), takes, "{preset:?}: {picked:?}");
            assert_eq!(cpu.rq.next_buddy().is_none(), takes);
        }
    }
}

/// An eligible buddy only; nobody gains service by favour.
#[test]
fn a_buddy_in_debt_waits() {
    let mut cpu = Cpu::with(rules(Preset::V7_0, 1000, 3 * MS), &[Attr::default(); 2]);
    cpu.pick();
    let _ = cpu.run(US);
    cpu.join_with_lag(C, Attr::default(), -2_000_000);
    assert!(cpu.rq.yield_to(C, cpu.now));
    assert_ne!(cpu.pick(), C);
}
