//! The fine print of the wakeup test: what it leaves behind when it does not preempt.

use crate::common::*;
use eevdf::{
    Attr, Dequeue, Enqueue, Feature, PendingResched, PickReason, Policy, Preset, Resched, Wake,
};

/// A wakee that loses the pick shortens the run to the smallest slice: not in 6.17 unless its own
/// slice is shorter, always later.
#[test]
fn a_losing_wakee_shortens_the_run() {
    for (preset, shortens) in [(Preset::V6_17, false), (Preset::V7_0, true), (Preset::V7_3, true)] {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default()]);
        cpu.pick();
        let _ = cpu.run(US);
        // Comes by migration, without a test of its own.
        cpu.enqueue(B, eevdf::Entity::new(slice(500 * US), &cpu.rules), Enqueue::Migrate);
        cpu.join(C, Attr::default());
        assert_eq!(cpu.wake_test(C), Resched::No, "{preset:?}");
        assert_eq!(cpu.run(600 * US) != Resched::No, shortens, "{preset:?}");
    }
}

/// In 6.17 a short wakee that loses does shorten it.
#[test]
fn a_short_wakee_that_loses_shortens_the_run() {
    let mut cpu = Cpu::with(rules(Preset::V6_17, 1000, 3 * MS), &[Attr::default()]);
    cpu.pick();
    let _ = cpu.run(US);
    cpu.join_with_lag(B, slice(500 * US), -200_000);
    assert_eq!(cpu.wake_test(B), Resched::No, "not eligible");
    assert_eq!(cpu.run(400 * US), Resched::No);
    assert_ne!(cpu.run(100 * US), Resched::No);
}

/// 7.3: so does one that is refused before any pick, and the run counts from V if that is behind.
#[test]
fn a_refused_wakee_shortens_the_run_since_7_3() {
    for (preset, shortens) in [(Preset::V7_0, false), (Preset::V7_3, true)] {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default(); 2]);
        cpu.pick();
        let _ = cpu.run(2 * MS);
        cpu.join(C, Attr { slice_ns: Some(900 * US), ..policy(Policy::Batch) });
        assert_eq!(cpu.wake_test(C), Resched::No, "{preset:?}: never preempts");
        // V = 1 ms, v = 2 ms: the smallest slice from V is over, from v it is not.
        assert_eq!(cpu.run(500 * US) != Resched::No, shortens, "{preset:?}");
    }
}

/// A reschedule already due ends the test, except that 7.3 still lets a short wakee become the one.
#[test]
fn a_test_with_a_reschedule_due() {
    for (rule, takes) in
        [(PendingResched::EndsTest, false), (PendingResched::EndsTestUnlessShort, true)]
    {
        let mut rules = with(rules(Preset::V7_3, 1000, 3 * MS), eevdf::Feature::Hrtick);
        rules.variant.pending_resched = rule;
        let mut cpu = Cpu::with(rules, &[Attr::default()]);
        cpu.pick();
        let _ = cpu.run(US);
        cpu.join(B, nice(-15));
        assert_eq!(cpu.rq.hrtick(cpu.now), Resched::Full);
        cpu.join(C, slice(500 * US));
        assert_eq!(cpu.wake_test(C), Resched::Full);
        assert_eq!(cpu.pick() == C, takes, "{rule:?}");
    }
}

/// 6.12 to 6.16: a cancelled protection ends the run as soon as the running entity is not eligible, but
/// only during the request in which it was cancelled.
#[test]
fn a_cancelled_protection_lasts_for_one_request() {
    let mut cpu = Cpu::with(rules(Preset::V6_14, 100, 3 * MS), &[Attr::default()]);
    cpu.join_with_lag(B, Attr::default(), 5_500_000);
    assert_eq!(cpu.pick(), B);
    cpu.join_with_lag(C, slice(100 * US), 5_000_000);
    assert_ne!(cpu.wake_test(C), Resched::No, "an earlier deadline cancels");
    let _ = cpu.take(C, Dequeue::Exit);
    assert_eq!(cpu.pick(), B, "the only eligible one goes on, unprotected");
    // Owed 5.5 ms, B stays eligible for 11 ms, which is within its fourth request.
    let mut due_us = Vec::new();
    for at_us in (500..=12_000).step_by(500) {
        if cpu.run(500 * US) != Resched::No {
            due_us.push(at_us);
            cpu.pick();
        }
    }
    assert_eq!(due_us, [3_000, 6_000, 9_000, 12_000]);
}

/// Within that request the run ends at the first look at which the running entity is not eligible.
#[test]
fn a_cancelled_protection_ends_with_eligibility() {
    for (cancels, due_us) in [(true, 1_500), (false, 3_000)] {
        let mut cpu = Cpu::with(rules(Preset::V6_14, 1000, 3 * MS), &[Attr::default()]);
        cpu.join_with_lag(B, Attr::default(), 500_000);
        assert_eq!(cpu.pick(), B);
        if cancels {
            cpu.join(C, slice(100 * US));
            assert_ne!(cpu.wake_test(C), Resched::No);
            let _ = cpu.take(C, Dequeue::Exit);
            assert_eq!(cpu.pick(), B);
        }
        // Owed 0.5 ms beside an equal, B is eligible for 1 ms.
        let due = (500..).step_by(500).find(|_| cpu.run(500 * US) != Resched::No);
        assert_eq!(due, Some(due_us));
    }
}

/// A delayed wakee, as load balancing brings it, does not preempt since 7.0.
#[test]
fn a_delayed_arrival_does_not_preempt() {
    for preset in [Preset::V7_0, Preset::V7_3] {
        let rules = rules(preset, 1000, 3 * MS);
        let mut from = Cpu::with(rules, &[nice(-15), nice(-15)]);
        from.pick();
        let _ = from.run(MS);
        assert_eq!(from.dequeue(A, Dequeue::Sleep), eevdf::Dequeued::Delayed);
        let moved = from.take(A, Dequeue::Migrate);
        let mut to = Cpu::with(rules, &[Attr::default(); 2]);
        to.pick();
        let _ = to.run(2 * MS);
        to.enqueue(C, moved, Enqueue::Migrate);
        let queued = to.rq.nr_queued();
        assert_eq!(to.wake_test(C), Resched::No, "{preset:?}");
        assert_eq!(to.rq.nr_queued(), queued, "{preset:?}: refused before any pick");
        // A pick would take it off, once it has repaid.
        while !to.rq.is_eligible(C) {
            let _ = to.run(MS);
        }
        let _ = to.wake_test(C);
        assert_eq!(to.rq.nr_queued(), queued, "{preset:?}: still refused");
    }
}

/// 6.12 to 6.16: a short wakee cancels the protection if it is eligible and either earlier or alone so.
#[test]
fn a_short_wakee_cancels_only_what_it_would_win() {
    let rules = rules(Preset::V6_14, 1000, 3 * MS);
    for (attr, lag, reason) in [
        // In debt: the deadline is earlier, but it may not run.
        (slice(100 * US), -300_000, PickReason::Protected),
        // Eligible, but light: the slice is shorter and the deadline is later.
        (Attr { slice_ns: Some(MS), ..nice(19) }, 0, PickReason::Protected),
    ] {
        let mut cpu = Cpu::with(rules, &[Attr::default()]);
        cpu.pick();
        cpu.join_with_lag(B, attr, lag);
        assert_eq!(cpu.wake_test(B), Resched::No);
        assert_eq!(cpu.pick_reason(), (A, reason), "{attr:?}");
    }
}

/// A waker that is about to sleep is left alone only if its wakee becomes the next buddy.
#[test]
fn a_sync_wakee_that_is_no_buddy_competes() {
    let sync = Wake { sync: true, ..Wake::default() };
    for (rules, is_asked) in [
        (rules(Preset::V7_0, 1000, 3 * MS), false),
        (with(rules(Preset::V7_0, 1000, 3 * MS), Feature::NextBuddy), true),
    ] {
        let mut cpu = Cpu::with(rules, &[Attr::default()]);
        cpu.pick();
        let _ = cpu.run(2 * MS);
        // Its deadline is later, but the waker is not eligible any more.
        cpu.join_with_lag(B, nice(5), 900_000);
        assert!(!cpu.rq.is_eligible(A));
        let preempts = cpu.rq.wakeup_preempt(B, sync, cpu.now) != Resched::No;
        assert_eq!(preempts, !is_asked);
    }
    // Without `sync`, a buddy competes as well.
    let mut cpu =
        Cpu::with(with(rules(Preset::V7_0, 1000, 3 * MS), Feature::NextBuddy), &[Attr::default()]);
    cpu.pick();
    let _ = cpu.run(2 * MS);
    cpu.join_with_lag(B, nice(5), 900_000);
    assert_ne!(cpu.wake_test(B), Resched::No);
}

/// The time that a waker is left counts from its last pick, and is a quarter if the wakee was put here
/// for this CPU.
#[test]
fn a_sync_waker_is_left_half_a_millisecond() {
    let rules = with(rules(Preset::V7_0, 1000, 3 * MS), Feature::NextBuddy);
    for (cpu_selected, left_us) in [(false, 500), (true, 125)] {
        for (ran_us, preempts) in [(left_us - 1, false), (left_us, true)] {
            let mut cpu = Cpu::with(rules, &[Attr::default(); 2]);
            for _ in 0..4 {
                cpu.pick();
                let _ = cpu.run(3 * MS);
            }
            cpu.pick();
            let _ = cpu.run(ran_us * US);
            cpu.join(C, nice(-10));
            let wake = Wake { sync: true, cpu_selected, ..Wake::default() };
            let found = cpu.rq.wakeup_preempt(C, wake, cpu.now) != Resched::No;
            assert_eq!(found, preempts, "{ran_us} us, {cpu_selected}");
        }
    }
}

/// A short wakee that wins takes the next buddy's place in 7.3 and leaves it alone in 7.0.
#[test]
fn a_winning_short_wakee_and_the_buddy_of_another() {
    for (preset, stays) in [(Preset::V7_0, true), (Preset::V7_3, false)] {
        let rules = with(rules(preset, 1000, 3 * MS), Feature::NextBuddy);
        let mut cpu = Cpu::with(rules, &[Attr::default()]);
        cpu.pick();
        // In debt, so that the pick does not honour it.
        cpu.join_with_lag(B, Attr::default(), -500_000);
        assert_eq!(cpu.wake_test(B), Resched::No, "{preset:?}");
        assert_eq!(cpu.rq.next_buddy(), Some(B), "{preset:?}");
        cpu.join_with_lag(C, slice(500 * US), 100_000);
        assert_ne!(cpu.wake_test(C), Resched::No, "{preset:?}");
        assert_eq!(cpu.rq.next_buddy(), stays.then_some(B), "{preset:?}");
    }
}
