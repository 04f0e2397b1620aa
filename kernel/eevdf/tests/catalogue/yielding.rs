//! Yielding.

use crate::common::*;
use eevdf::{Attr, Preset, YieldRule};

/// B46, "sched/fair: Forfeit vruntime on yield": a yielder that is the only eligible one drove its
/// deadline away without bound.
#[test]
fn b46_yields_do_not_pile_up() {
    for (rule, is_bounded) in [(YieldRule::PushDeadline, false), (YieldRule::ForfeitVruntime, true)]
    {
        let mut rules = rules(Preset::V7_0, 1000, 3 * MS);
        rules.variant.yielding = rule;
        let mut cpu = Cpu::with(rules, &[Attr::default()]);
        cpu.join_with_lag(B, Attr::default(), -3_000_000);
        assert_eq!(cpu.pick(), A);
        let mut worst = 0;
        for _ in 0..10_000 {
            cpu.rq.yield_curr(cpu.now);
            worst = worst.max(cpu.left(A));
            cpu.pick();
        }
        assert_eq!(worst <= 6 * MS, is_bounded, "{rule:?}: {worst}");
    }
}

/// B47, "sched/proxy: Yield the donor task": a yield acts on the entity the queue has running, and on
/// no other.
#[test]
fn b47_a_yield_acts_on_the_running_entity() {
    for preset in Preset::ALL {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default(); 3]);
        let curr = cpu.pick();
        let others: Vec<_> = cpu.rq.queued().filter(|&id| id != curr).collect();
        let before: Vec<_> = others.iter().map(|&id| cpu.entity(id).clone()).collect();
        let deadline = cpu.entity(curr).deadline();
        cpu.rq.yield_curr(cpu.now);
        cpu.check();
        assert_eq!(others.iter().map(|&id| cpu.entity(id).clone()).collect::<Vec<_>>(), before);
        assert_eq!(cpu.entity(curr).deadline(), deadline + 3 * MS, "{preset:?}");
        let forfeits = preset >= Preset::V7_0;
        assert_eq!(cpu.entity(curr).vruntime() == deadline, forfeits, "{preset:?}");
    }
}

#[test]
fn alone_a_yield_changes_nothing() {
    for preset in Preset::ALL {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default()]);
        cpu.pick();
        let before = cpu.entity(A).clone();
        cpu.rq.yield_curr(cpu.now);
        assert_eq!(*cpu.entity(A), before);
        assert_eq!(cpu.pick(), A);
    }
}

/// Who is in debt has nothing to forfeit.
#[test]
fn an_ineligible_yielder_forfeits_nothing() {
    let mut cpu = Cpu::with(rules(Preset::V7_0, 1000, 3 * MS), &[Attr::default(); 2]);
    cpu.pick();
    let _ = cpu.run(MS);
    let before = cpu.entity(A).clone();
    cpu.rq.yield_curr(cpu.now);
    assert_eq!(*cpu.entity(A), before);
}

#[test]
fn two_that_yield_take_turns() {
    for preset in Preset::ALL {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[Attr::default(); 2]);
        let mut turns = [0u32; 2];
        for _ in 0..1000 {
            turns[cpu.pick().0 as usize] += 1;
            cpu.now += 10 * US;
            cpu.rq.yield_curr(cpu.now);
        }
        assert!(turns[0].abs_diff(turns[1]) <= 2, "{preset:?}: {turns:?}");
    }
}
