//! Protection of the running entity, and who may break it.

use crate::common::*;
use eevdf::{
    Attr, Enqueue, Feature, IdleCurr, Pick, PickReason, Policy, Preset, ProtectOn, Resched, Rules,
    ShortWakee, Wake,
};

/// B30, "sched/eevdf: Curb wakeup-preemption": every wakee with an earlier deadline switched, although
/// the running entity was still owed service.
#[test]
fn b30_protection_curbs_wakeups() {
    let preempting = |rules: Rules| {
        let mut cpu = Cpu::with(rules, &[Attr::default()]);
        cpu.join_with_lag(B, Attr::default(), 2_000_000);
        assert_eq!(cpu.pick(), B);
        let wakes_that_preempt = |_: &i32| {
            cpu.now += 100 * US;
            let _ = cpu.rq.update_curr(cpu.now);
            assert!(cpu.rq.is_eligible(B));
            let mut wakes = cpu.clone();
            wakes.join(C, nice(-20));
            wakes.wake_test(C) != Resched::No
        };
        (0..15).filter(wakes_that_preempt).count()
    };
    for (preset, open) in
        [(Preset::V6_8, 15), (Preset::V6_12, 15), (Preset::V6_17, 9), (Preset::V7_0, 9)]
    {
        let rules = rules(preset, 1000, 3 * MS);
        assert_eq!(preempting(rules), 0, "{preset:?}");
        // From 6.17 on the normalized base slice, 0.7 ms, is protected all the same.
        assert_eq!(preempting(without(rules, Feature::RunToParity)), open, "{preset:?}");
    }
}

/// The longest wait of a hog with r = 1 ms beside one with r = 100 ms.
fn longest_wait_ns(preset: Preset) -> u64 {
    let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[slice(100 * MS)]);
    cpu.pick();
    let _ = cpu.run(MS);
    cpu.join(B, slice(MS));
    let _ = cpu.wake_test(B);
    let (mut waited, mut longest) = (0, 0);
    for _ in 0..1000 {
        let runs = cpu.rq.curr();
        if cpu.run(MS) != Resched::No {
            cpu.pick();
        }
        waited = if runs == Some(B) { 0 } else { waited + MS };
        longest = longest.max(waited);
    }
    longest
}

/// B31, "sched/fair: Limit run to parity to the min slice of enqueued entities": a long request ran to
/// its end while a short one waited, with a lag beyond theory.
#[test]
fn b31_a_short_slice_does_not_wait_for_a_long_one() {
    for preset in [Preset::V6_12, Preset::V6_15] {
        assert!(longest_wait_ns(preset) >= 99 * MS, "{preset:?}: {}", longest_wait_ns(preset));
    }
    for preset in [Preset::V6_17, Preset::V7_0, Preset::V7_3] {
        assert!(longest_wait_ns(preset) <= 2 * MS, "{preset:?}: {}", longest_wait_ns(preset));
    }
}

/// B33, "sched: Cancel the slice protection of the idle entity": a reschedule was asked for, and the
/// pick kept the protected SCHED_IDLE entity.
#[test]
fn b33_an_idle_entity_gives_way_at_once() {
    for (rule, runs) in [(IdleCurr::Preempted, A), (IdleCurr::PreemptedUnprotected, B)] {
        for preset in [Preset::V6_14, Preset::V7_0] {
            let mut rules = rules(preset, 1000, 3 * MS);
            rules.variant.idle_curr = rule;
            let mut cpu = Cpu::with(rules, &[policy(Policy::Idle)]);
            cpu.pick();
            cpu.join(B, Attr::default());
            assert_eq!(cpu.wake_test(B), Resched::Lazy);
            assert_eq!(cpu.pick(), runs, "{preset:?} {rule:?}");
        }
    }
}

/// B34, "sched/fair: Only set slice protection at pick time": each change of attributes protected the
/// running entity anew.
#[test]
fn b34_changing_attributes_does_not_extend_protection() {
    let stretch = |rule| {
        let mut rules = rules(Preset::V7_0, 1000, 3 * MS);
        rules.variant.protect_on = rule;
        let mut cpu = Cpu::with(rules, &[slice(10 * MS), slice(2 * MS)]);
        while cpu.pick() != A {
            let _ = cpu.run(MS);
        }
        for tick in 1..20 {
            if cpu.run(MS) != Resched::No && cpu.pick() != A {
                return tick;
            }
            cpu.set_attr(A, slice((10 + tick % 2) * MS));
        }
        panic!("A runs for ever");
    };
    assert_eq!(stretch(ProtectOn::FirstPick), 2, "the smallest slice");
    assert_eq!(stretch(ProtectOn::EverySet), 10, "the whole request");
}

/// "sched/fair: Update se->vprot in reweight_entity()": protection is worth the same real time after a
/// reweight.
#[test]
fn b34_protection_scales_with_weight() {
    for preset in [Preset::V7_0, Preset::V7_3] {
        let mut rules = without(rules(preset, 1000, 3 * MS), Feature::PreemptShort);
        rules.variant.reweight = eevdf::ReweightRule::Direct;
        let mut cpu = Cpu::with(rules, &[slice(10 * MS), slice(4 * MS)]);
        while cpu.pick() != A {
            let _ = cpu.run(MS);
        }
        let _ = cpu.run(MS);
        cpu.set_attr(A, Attr { slice_ns: Some(10 * MS), ..nice(10) });
        assert_eq!((cpu.run(MS), cpu.run(MS)), (Resched::No, Resched::No), "{preset:?}");
        assert_ne!((cpu.run(MS), cpu.run(MS)), (Resched::No, Resched::No), "{preset:?}");
    }
}

/// B38, short-slice series of 7.3: an eligible short wakee that is not the very first still waited for
/// the whole protected run.
#[test]
fn b38_an_eligible_short_wakee_preempts() {
    let scene = |rule| {
        let mut rules = rules(Preset::V7_3, 1000, 3 * MS);
        rules.variant.short_wakee = rule;
        let mut cpu = Cpu::with(rules, &[Attr::default()]);
        cpu.pick();
        let _ = cpu.run(US);
        // Waits with an earlier deadline than the wakee will have.
        cpu.join(B, nice(-15));
        cpu.join(C, slice(500 * US));
        let resched = cpu.wake_test(C);
        (resched, cpu)
    };
    let (resched, mut cpu) = scene(ShortWakee::PreemptsIfEligible);
    assert!(cpu.rq.is_eligible(C));
    assert_eq!((resched, cpu.pick()), (Resched::Lazy, C));
    let (resched, _) = scene(ShortWakee::PicksUnprotected);
    assert_eq!(resched, Resched::No, "the wakee did not win the pick");
}

/// What each version answers a short wakee that would win the pick.
#[test]
fn a_short_wakee_breaks_protection_since_6_12() {
    for preset in Preset::ALL {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default()]);
        cpu.pick();
        let _ = cpu.run(US);
        cpu.join(B, slice(500 * US));
        let preempts = preset >= Preset::V6_12;
        assert_eq!(cpu.wake_test(B) != Resched::No, preempts, "{preset:?}");
        assert_eq!(cpu.pick() == B, preempts, "{preset:?}");
    }
}

/// A wakee with an equal slice waits for one that is eligible and protected.
#[test]
fn an_equal_wakee_waits() {
    for preset in Preset::ALL {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default(); 2]);
        assert_eq!(cpu.pick(), A);
        cpu.join_with_lag(C, Attr::default(), 0);
        assert_eq!(cpu.wake_test(C), Resched::No, "{preset:?}");
        assert_eq!(cpu.pick_reason(), (A, PickReason::Protected), "{preset:?}");
    }
}

/// A whole request under NO_RUN_TO_PARITY still runs for the normalized base slice since 6.17.
#[test]
fn without_parity_there_is_a_shortest_run() {
    let rules = without(Rules::new(Preset::V7_0, 8, 10_000), Feature::RunToParity);
    assert_eq!(rules.base_slice_ns(), 2_800_000);
    let mut cpu = Cpu::with(rules, &[Attr::default(); 2]);
    cpu.pick();
    for _ in 0..6 {
        assert_eq!(cpu.run(100 * US), Resched::No);
    }
    assert_eq!(cpu.run(100 * US), Resched::Lazy, "0.7 ms are over");
}

#[test]
fn batch_and_idle_wakees_never_preempt() {
    for preset in Preset::ALL {
        for kind in [Policy::Batch, Policy::Idle] {
            let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default()]);
            cpu.pick();
            let _ = cpu.run(2 * MS);
            cpu.join(B, Attr { slice_ns: Some(100 * US), ..policy(kind) });
            assert_eq!(cpu.wake_test(B), Resched::No, "{preset:?} {kind:?}");
        }
    }
}

#[test]
fn wakeup_preemption_off_means_off() {
    for preset in Preset::ALL {
        let rules = without(rules(preset, 1000, 3 * MS), Feature::WakeupPreemption);
        let mut cpu = Cpu::with(rules, &[policy(Policy::Idle)]);
        cpu.pick();
        cpu.join(B, Attr::default());
        let still_preempts = preset <= Preset::V6_8;
        assert_eq!(cpu.wake_test(B) != Resched::No, still_preempts, "{preset:?}");
    }
}

/// Since 7.0 a fork preempts only with a shorter slice.
#[test]
fn forks_wait_since_7_0() {
    let preempts = |preset, attr| {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default(); 2]);
        cpu.pick();
        // No longer eligible, so protection is not what decides.
        let _ = cpu.run(2 * MS);
        cpu.enqueue(C, eevdf::Entity::new(attr, &cpu.rules), Enqueue::Initial);
        let fork = Wake { fork: true, ..Wake::default() };
        cpu.rq.wakeup_preempt(C, fork, cpu.now) != Resched::No
    };
    for (preset, equal) in [(Preset::V6_17, true), (Preset::V7_0, false), (Preset::V7_3, false)] {
        assert_eq!(preempts(preset, nice(-5)), equal, "{preset:?}");
        assert!(preempts(preset, slice(MS)), "{preset:?}: a shorter slice");
    }
}

/// The kind of reschedule: lazy since 6.14, full on an idle CPU in any version.
#[test]
fn the_kind_of_reschedule() {
    for preset in Preset::ALL {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default(); 2]);
        assert_eq!(cpu.wake_test(A), Resched::Full, "nothing runs");
        assert!(matches!(cpu.rq.pick_next(cpu.now), Pick::Run { .. }));
        let kind = if preset >= Preset::V6_14 { Resched::Lazy } else { Resched::Full };
        assert_eq!(cpu.run(3 * MS), kind, "{preset:?}");
        assert_eq!(cpu.rq.resched(), kind);
        cpu.pick();
        assert_eq!(cpu.rq.resched(), Resched::No);
    }
}

/// The slice timer: what is left, in real time, never less than 10 us.
#[test]
fn slice_timer() {
    for preset in Preset::ALL {
        let plain = rules(preset, 250, 3 * MS);
        let mut cpu = Cpu::with(with(plain, Feature::Hrtick), &[nice(5); 2]);
        assert_eq!(cpu.rq.hrtick_delay_ns(0), None, "nothing runs");
        cpu.pick();
        let _ = cpu.run(MS);
        let left = cpu.rq.hrtick_delay_ns(0).unwrap();
        assert!(left.abs_diff(2 * MS) <= 3, "{preset:?}: {left}");
        let _ = cpu.run(2 * MS - US);
        assert_eq!(cpu.rq.hrtick_delay_ns(0), Some(10 * US), "{preset:?}");
        let lazy = (Preset::V6_14..=Preset::V7_0).contains(&preset);
        cpu.pick();
        let fires = cpu.rq.hrtick(cpu.now);
        assert_eq!(fires, if lazy { Resched::Lazy } else { Resched::Full }, "{preset:?}");
        // The other's run counts from its own start.
        let mut curr = cpu.pick();
        let _ = cpu.run(MS);
        let left = cpu.rq.hrtick_delay_ns(0).unwrap();
        assert!(left.abs_diff(2 * MS) <= 3, "{preset:?}: {left}");
        // And so does the first one's second run; in 7.3 what is left of its request counts.
        if preset < Preset::V7_3 {
            let _ = cpu.run(2 * MS + US);
            assert_ne!(cpu.pick(), curr, "{preset:?}");
            curr = cpu.rq.curr().unwrap();
            let _ = cpu.run(MS);
            assert_eq!(cpu.rq.hrtick_delay_ns(0), Some(2 * MS), "{preset:?}");
        }
        cpu.join(C, nice(5));
        assert!(cpu.rq.hrtick_delay_ns(0).is_some(), "{preset:?}: two to switch to");
        for id in [A, B, C].into_iter().filter(|&id| id != curr) {
            let _ = cpu.take(id, eevdf::Dequeue::Exit);
        }
        assert_eq!(cpu.rq.hrtick_delay_ns(0), None, "nobody to switch to");
        let mut off = Cpu::with(without(plain, Feature::Hrtick), &[Attr::default(); 2]);
        off.pick();
        assert_eq!(off.rq.hrtick_delay_ns(0), None, "off");
    }
}

/// 7.3: the slice timer is set longer by what interrupts take on average, but a charge is not.
#[test]
fn the_slice_timer_is_stretched_by_interrupt_load() {
    let timer = |preset, util| {
        let rules = with(rules(preset, 1000, 32 * MS), Feature::Hrtick);
        let mut cpu = Cpu::with(rules, &[Attr::default(); 2]);
        cpu.pick();
        let delay_ns = cpu.rq.hrtick_delay_ns(util);
        let _ = cpu.run(32 * MS - 5 * US);
        (delay_ns, cpu.rq.hrtick_delay_ns(util))
    };
    let both = |delay_ns, at_end_ns| (Some(delay_ns), Some(at_end_ns));
    for (util, delay_ns, at_end_ns) in [
        (0, 32 * MS, 10 * US),
        // 32 ms * 1024 / 1003; what is left is below the shortest delay, stretched or not.
        (21, 32_669_990, 10 * US),
        (512, 64 * MS, 10 * US),
        // 5 us * 1024 / 256
        (768, 128 * MS, 20 * US),
        // Interrupts alone: as if a 1024th were left.
        (1024, 32_768 * MS, 5120 * US),
        (u64::MAX, 32_768 * MS, 5120 * US),
    ] {
        assert_eq!(timer(Preset::V7_3, util), both(delay_ns, at_end_ns), "{util}");
        assert_eq!(timer(Preset::V7_0, util), both(32 * MS, 10 * US), "{util}");
    }
}

/// 7.3: with a shorter slice waiting, the running entity is kept exactly until it is not eligible.
#[test]
fn beside_a_short_slice_protection_ends_with_eligibility() {
    for (preset, kept_ms) in [(Preset::V7_0, 2), (Preset::V7_3, 5)] {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[slice(10 * MS), slice(2 * MS)]);
        assert_eq!(cpu.pick(), B);
        // Nobody acts on the reschedule for a while, so that A is owed more than B's slice.
        let _ = cpu.run(5 * MS);
        assert_eq!(cpu.pick(), A);
        let mut kept = 0;
        while cpu.run(MS) == Resched::No {
            kept += 1;
            assert!(cpu.rq.is_eligible(A));
        }
        // 7.0 counts v == vprot as over; 7.3 keeps A while v == V.
        assert_eq!(kept, if preset == Preset::V7_3 { kept_ms } else { kept_ms - 1 }, "{preset:?}");
    }
}
