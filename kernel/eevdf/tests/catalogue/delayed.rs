//! Delayed dequeue.

use crate::common::*;
use eevdf::{
    Attr, DelayedInTest, DelayedLag, Dequeue, Dequeued, Enqueue, Feature, Preset, Resched, Rules,
};

const WITH_DELAY: [Preset; 6] =
    [Preset::V6_12, Preset::V6_14, Preset::V6_15, Preset::V6_17, Preset::V7_0, Preset::V7_3];

/// A ran for 2 ms beside B and then blocked.
fn a_blocked(rules: Rules) -> (Cpu, Dequeued) {
    let mut cpu = Cpu::with(rules, &[Attr::default(); 2]);
    assert_eq!(cpu.pick(), A);
    let _ = cpu.run(2 * MS);
    let dequeued = cpu.dequeue(A, Dequeue::Sleep);
    (cpu, dequeued)
}

fn a_delayed(preset: Preset) -> Cpu {
    let (cpu, dequeued) = a_blocked(rules(preset, 1000, 3 * MS));
    assert_eq!(dequeued, Dequeued::Delayed);
    cpu
}

#[test]
fn only_debt_delays_and_only_a_plain_sleep() {
    for preset in WITH_DELAY {
        for why in [Dequeue::SleepSpecial, Dequeue::Migrate, Dequeue::Change, Dequeue::Exit] {
            let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default(); 2]);
            cpu.pick();
            let _ = cpu.run(2 * MS);
            assert_eq!(cpu.take(A, why).vlag(), -(MS as i64), "{preset:?} {why:?}");
            assert_eq!(cpu.take(B, Dequeue::Sleep).vlag(), 0, "alone there is no debt");
        }
    }
    for rules in [
        rules(Preset::V6_8, 1000, 3 * MS),
        without(rules(Preset::V7_0, 1000, 3 * MS), Feature::DelayDequeue),
    ] {
        let (_, dequeued) = a_blocked(rules);
        let Dequeued::Gone(entity) = dequeued else { panic!("{dequeued:?}") };
        assert_eq!(entity.vlag(), -(MS as i64));
    }
}

/// B39, "sched/fair: Fix wakeup_preempt_fair() vs delayed dequeue": an idle CPU pulls a delayed entity;
/// the test looped over an empty queue.
#[test]
fn b39_a_delayed_entity_pulled_to_an_idle_cpu() {
    for preset in WITH_DELAY {
        let mut from = a_delayed(preset);
        let moved = from.take(A, Dequeue::Migrate);
        assert!(moved.is_delayed());
        assert_eq!((from.rq.nr_queued(), from.rq.nr_runnable()), (1, 1));
        let mut to = Cpu::new(from.rules);
        to.enqueue(A, moved, Enqueue::Migrate);
        assert_eq!((to.rq.nr_queued(), to.rq.nr_runnable()), (1, 0));
        let _ = to.wake_test(A);
        let (runs, left) = to.pick_flushing();
        assert_eq!((runs, left.len(), to.rq.nr_queued()), (None, 1, 0), "{preset:?}");
        assert!(!left[0].1.is_delayed());
    }
}

/// The other half of B39: the test's pick falls on a delayed entity, and the wakee goes unserved.
#[test]
fn b39_a_delayed_entity_does_not_stand_before_a_wakee() {
    for (rule, preempts) in [(DelayedInTest::Wins, false), (DelayedInTest::Leaves, true)] {
        let mut rules = rules(Preset::V7_0, 1000, 3 * MS);
        rules.variant.delayed_in_test = rule;
        let (mut cpu, _) = a_blocked(rules);
        assert_eq!(cpu.pick(), B);
        // A is eligible again, and B beyond its protection.
        let _ = cpu.run(4 * MS);
        assert_eq!(cpu.rq.curr(), Some(B));
        cpu.join(C, nice(-5));
        let clean = cpu.clone();
        let winner = |cpu: &mut Cpu| cpu.pick_flushing();
        assert_eq!(winner(&mut clean.clone()).1.len(), 1, "the pick meets A first");
        let _ = cpu.rq.wakeup_preempt(C, eevdf::Wake::default(), cpu.now);
        cpu.check();
        assert_eq!(cpu.rq.nr_queued(), if preempts { 2 } else { 3 }, "{rule:?}");
        assert!(cpu.rq.is_delayed(A), "asleep here until handed out");
        let (runs, left) = cpu.pick_flushing();
        assert_eq!((runs, left.len(), left[0].0), (Some(C), 1, A), "{rule:?}");
        assert!(!cpu.rq.is_delayed(A));
    }
}

/// A wake-up may come between the test that let an entity go and the pick that hands it out.
#[test]
fn a_parked_entity_can_be_woken_or_taken() {
    let parked = || {
        let (mut cpu, _) = a_blocked(rules(Preset::V7_0, 1000, 3 * MS));
        cpu.pick();
        let _ = cpu.run(4 * MS);
        cpu.join(C, nice(-5));
        let _ = cpu.wake_test(C);
        assert_eq!((cpu.rq.nr_queued(), cpu.rq.is_delayed(A)), (2, true));
        cpu
    };
    let mut cpu = parked();
    cpu.rq.requeue_delayed(A, cpu.now);
    cpu.check();
    assert_eq!((cpu.rq.nr_queued(), cpu.rq.nr_runnable(), cpu.lag(A)), (3, 3, 0));
    let mut cpu = parked();
    assert!(!cpu.take(A, Dequeue::Exit).is_delayed());
    assert_eq!(cpu.pick_flushing().1.len(), 0);
}

/// B40, "sched/fair: Fix inaccurate h_nr_runnable accounting" and its kin: sleepers were counted runnable.
#[test]
fn b40_delayed_entities_are_queued_but_not_runnable() {
    for preset in WITH_DELAY {
        let mut cpu = a_delayed(preset);
        assert_eq!((cpu.rq.nr_queued(), cpu.rq.nr_runnable()), (2, 1));
        assert_eq!(cpu.rq.total_weight(), 2048, "it takes part in W");
        cpu.set_attr(A, nice(5));
        assert_eq!((cpu.rq.nr_queued(), cpu.rq.nr_runnable()), (2, 1), "{preset:?}: still asleep");
        cpu.rq.requeue_delayed(A, cpu.now);
        assert_eq!((cpu.rq.nr_queued(), cpu.rq.nr_runnable()), (2, 2));
        cpu.check();
    }
}

/// B41, "sched/fair: Fix sched_can_stop_tick() for fair tasks": the tick must go on until the delayed one
/// has left, or nobody makes it leave.
#[test]
fn b41_a_delayed_entity_counts_for_the_tick() {
    let mut cpu = a_delayed(Preset::V7_0);
    cpu.pick();
    assert_eq!(cpu.rq.nr_queued(), 2);
    cpu.run_ticks(10 * MS);
    assert_eq!((cpu.rq.nr_queued(), cpu.rq.nr_runnable()), (1, 1));
}

/// B42, "sched/fair: Fixup wake_up_sync() vs DELAYED_DEQUEUE": a waker that is alone but for a sleeper is
/// alone.
#[test]
fn b42_a_waker_beside_a_sleeper_is_alone() {
    let mut cpu = a_delayed(Preset::V6_17);
    assert_eq!(cpu.pick(), B);
    assert_eq!(cpu.rq.nr_runnable(), 1);
}

/// B43, "sched/core: Tweak wait_task_inactive() to force dequeue sched_delayed", "Fix race between
/// yield_to() and try_to_wake_up()": what sleeps can be made to leave, and is no target.
#[test]
fn b43_a_delayed_entity_can_be_made_to_leave() {
    for preset in WITH_DELAY {
        for why in [Dequeue::Sleep, Dequeue::SleepSpecial, Dequeue::Change, Dequeue::Exit] {
            let mut cpu = a_delayed(preset);
            assert!(!cpu.rq.yield_to(A, cpu.now));
            let entity = cpu.take(A, why);
            assert!(!entity.is_delayed(), "{preset:?} {why:?}");
            assert_eq!(entity.vlag(), -(MS as i64));
        }
    }
}

/// B44, "sched/fair: Prevent negative lag increase during delayed dequeue": V moves left when others
/// join with credit; the sleeper's debt grew with it.
#[test]
fn b44_a_sleeper_debt_does_not_grow() {
    for rule in [DelayedLag::Fresh, DelayedLag::NoWorse] {
        for wakes in [true, false] {
            let mut rules = rules(Preset::V7_3, 1000, 3 * MS);
            rules.variant.delayed_lag = rule;
            let (mut cpu, _) = a_blocked(rules);
            cpu.join_with_lag(C, nice(-5), 2_500_000);
            assert!(cpu.lag(A) < -(MS as i64), "V moved left: {}", cpu.lag(A));
            let lag = if wakes {
                cpu.rq.requeue_delayed(A, cpu.now);
                cpu.check();
                cpu.lag(A)
            } else {
                cpu.take(A, Dequeue::Sleep).vlag()
            };
            let grew = lag < -(MS as i64) - 1;
            assert_eq!(grew, rule == DelayedLag::Fresh, "{rule:?}: lag {lag}");
        }
    }
}

/// B45: a delayed entity wakes where it is, at once and without a choice of CPU.
#[test]
fn b45_a_delayed_entity_wakes_in_place() {
    for preset in WITH_DELAY {
        let mut cpu = a_delayed(preset);
        let (vruntime, deadline) = (cpu.entity(A).vruntime(), cpu.entity(A).deadline());
        cpu.rq.requeue_delayed(A, cpu.now);
        cpu.check();
        assert!(!cpu.rq.is_delayed(A));
        assert_eq!((cpu.entity(A).vruntime(), cpu.entity(A).deadline()), (vruntime, deadline));
    }
}

/// DELAY_ZERO: woken with the debt more than repaid, it starts at V with a new request.
#[test]
fn a_late_wake_up_forgets_credit() {
    for preset in WITH_DELAY {
        for (on, lag) in [(true, 0), (false, 500_000)] {
            let rules = rules(preset, 1000, 3 * MS);
            let (mut cpu, _) =
                a_blocked(if on { rules } else { without(rules, Feature::DelayZero) });
            cpu.pick();
            let _ = cpu.run(3 * MS);
            assert_eq!(cpu.lag(A), 500_000);
            cpu.rq.requeue_delayed(A, cpu.now);
            cpu.check();
            assert_eq!(cpu.lag(A), lag, "{preset:?}");
            assert_eq!(cpu.left(A) == 3 * MS, on, "{preset:?}: {}", cpu.left(A));
        }
    }
}

/// No CPU idles with a sleeper left on it, and no sleeper ever runs.
#[test]
fn a_cpu_flushes_before_it_idles() {
    for preset in WITH_DELAY {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default(); 3]);
        for _ in 0..2 {
            cpu.pick();
            let _ = cpu.run(3 * MS);
        }
        let last = cpu.pick();
        let mut gone = 0;
        for id in [A, B, C] {
            gone += usize::from(cpu.dequeue(id, Dequeue::Sleep) != Dequeued::Delayed);
        }
        assert!(gone < 3, "{preset:?}: {last:?} ran last");
        let (runs, left) = cpu.pick_flushing();
        assert_eq!((runs, left.len() + gone), (None, 3), "{preset:?}");
        assert_eq!(cpu.run(MS), Resched::No);
    }
}
