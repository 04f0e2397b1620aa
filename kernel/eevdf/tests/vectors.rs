//! Worked examples with numbers, each small enough to follow on paper.

mod common;

use common::*;
use eevdf::{Attr, Dequeue, Dequeued, Enqueue, Entity, Nice, PickReason, Policy, Preset, Resched};

/// 1 ms of real time in the virtual time of each nice level.
#[test]
fn virtual_time_by_weight() {
    let expected = [
        (-20, 11_536),
        (-10, 107_247),
        (-5, 328_099),
        (-1, 801_879),
        (0, 1_000_000),
        (1, 1_248_780),
        (5, 3_056_716),
        (10, 9_309_090),
        (15, 28_444_444),
        (19, 68_266_666),
    ];
    let idle = (Attr { policy: Policy::Idle, ..nice(-20) }, 341_333_333);
    let attrs = expected.map(|(level, virtual_ns)| (nice(level), virtual_ns));
    for (attr, virtual_ns) in attrs.into_iter().chain([idle]) {
        let ran = |preset| {
            let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[attr]);
            cpu.pick();
            let _ = cpu.run(MS);
            cpu.entity(A).vruntime()
        };
        assert_eq!(ran(Preset::V7_3), virtual_ns, "{attr:?}");
        let short_by = virtual_ns - ran(Preset::V7_0);
        assert!(short_by <= 1 + virtual_ns / 1_000_000, "{attr:?}: reciprocal short by {short_by}");
    }
}

#[test]
fn the_reciprocal_falls_short_where_exact_division_does_not() {
    for (preset, virtual_ns) in [(Preset::V7_0, 204_799_999), (Preset::V7_3, 204_800_000)] {
        let mut cpu = Cpu::with(rules(preset, 1000, 3 * MS), &[nice(19)]);
        cpu.pick();
        let _ = cpu.run(3 * MS);
        assert_eq!(cpu.entity(A).vruntime(), virtual_ns);
    }
}

#[test]
fn weights_step_by_a_quarter() {
    for level in -20..19 {
        let (this, next) = (Nice::new(level).unwrap(), Nice::new(level + 1).unwrap());
        let ratio = f64::from(this.weight()) / f64::from(next.weight());
        assert!((1.1..1.35).contains(&ratio), "nice {level} to {}: {ratio}", level + 1);
    }
    assert_eq!((Nice::new(-21), Nice::new(20)), (None, None));
    assert_eq!((Nice::MIN.weight(), Nice::ZERO.weight(), Nice::MAX.weight()), (88761, 1024, 15));
}

/// A queue with one nice-0 entity at v = 5 ms.
fn at_five_ms(preset: Preset) -> Cpu {
    let mut cpu = Cpu::with(rules(preset, 1000, 2_800_000), &[Attr::default()]);
    cpu.pick();
    let _ = cpu.run(5 * MS);
    assert_eq!(cpu.rq.avg_vruntime(), 5_000_000);
    cpu
}

#[test]
fn placement_keeps_positive_lag() {
    for preset in Preset::ALL {
        let mut cpu = at_five_ms(preset);
        cpu.join_with_lag(B, Attr::default(), 500_000);
        let placed = cpu.entity(B);
        assert_eq!((placed.vruntime(), placed.deadline()), (4_000_000, 6_800_000), "{preset:?}");
        assert_eq!((cpu.rq.avg_vruntime(), cpu.lag(B)), (4_500_000, 500_000), "{preset:?}");
    }
}

#[test]
fn placement_of_a_heavy_entity_in_debt() {
    let mut cpu = at_five_ms(Preset::V7_3);
    cpu.join_with_lag(B, nice(-5), -300_000);
    let placed = cpu.entity(B);
    assert_eq!((placed.vruntime(), placed.deadline()), (6_214_355, 7_133_034));
    assert_eq!((cpu.rq.avg_vruntime(), cpu.lag(B)), (5_914_355, -300_000));
}

#[test]
fn a_fork_starts_with_half_a_slice() {
    for preset in Preset::ALL {
        let mut cpu = at_five_ms(preset);
        cpu.enqueue(B, cpu.entity(A).fork(&cpu.rules), Enqueue::Initial);
        assert_eq!((cpu.entity(B).vruntime(), cpu.entity(B).deadline()), (5_000_000, 6_400_000));
        assert_eq!(cpu.entity(B).sum_exec_ns(), 0);
    }
}

#[test]
fn an_empty_queue_ignores_lag() {
    for vlag in [-300_000, 300_000] {
        let mut cpu = Cpu::new(rules(Preset::V7_0, 1000, 2_800_000));
        cpu.join_with_lag(A, Attr::default(), vlag);
        assert_eq!((cpu.lag(A), cpu.entity(A).vruntime()), (0, cpu.rq.base_vruntime()));
    }
}

/// The limit of lag for r = 2.8 ms at nice 0, by rule and HZ.
#[test]
fn lag_limits() {
    let limits =
        [(1000, 5_600_000, 3_800_000), (250, 5_600_000, 6_800_000), (100, 10_000_000, 12_800_000)];
    for (hz, own, largest) in limits {
        for (preset, limit) in [(Preset::V6_17, own), (Preset::V7_0, largest)] {
            let cpu = Cpu::with(rules(preset, hz, 2_800_000), &[Attr::default()]);
            assert_eq!(cpu.rq.lag_limit(A), Some(limit), "{preset:?} at HZ={hz}");
        }
    }
}

/// A blocks in debt, stays, and is let go at the pick that finds it.
#[test]
fn delayed_dequeue_step_by_step() {
    for preset in [Preset::V6_12, Preset::V6_17, Preset::V7_0, Preset::V7_3] {
        let mut cpu =
            Cpu::with(rules(preset, 1000, 2_800_000), &[Attr::default(), Attr::default()]);
        assert_eq!(cpu.pick(), A);
        assert_eq!((cpu.run(MS), cpu.run(MS)), (Resched::No, Resched::No));
        assert_eq!((cpu.lag(A), cpu.rq.avg_vruntime()), (-1_000_000, 1_000_000));
        assert_eq!(cpu.dequeue(A, Dequeue::Sleep), Dequeued::Delayed);
        assert_eq!((cpu.rq.nr_queued(), cpu.rq.nr_runnable()), (2, 1));
        assert_eq!(cpu.pick(), B);
        assert_eq!((cpu.run(MS), cpu.rq.avg_vruntime()), (Resched::No, 1_500_000));
        assert_eq!((cpu.run(MS), cpu.rq.avg_vruntime()), (Resched::No, 2_000_000));
        assert!(cpu.rq.is_eligible(A), "V has come to A");
        assert_eq!(cpu.clone().pick_reason(), (B, PickReason::Protected));
        assert_ne!(cpu.run(MS), Resched::No, "B's request of 2.8 ms is over");
        assert_eq!(cpu.entity(B).deadline(), 5_800_000);
        let (runs, left) = cpu.pick_flushing();
        assert_eq!((runs, left.len()), (Some(B), 1));
        let (id, entity) = &left[0];
        assert_eq!((*id, entity.vlag(), entity.is_delayed()), (A, 0, false), "{preset:?}");
    }
}

/// How long two equal hogs run at a stretch when ticks come this often.
fn stretch_ns(base_slice_ns: u64, tick_ns: u64) -> u64 {
    let rules = rules(Preset::V7_0, 1000, base_slice_ns);
    let mut cpu = Cpu::with(rules, &[Attr::default(), Attr::default()]);
    let (mut runs, mut since) = (cpu.pick(), 0);
    let mut stretches = Vec::new();
    while stretches.len() < 100 {
        if cpu.run(tick_ns) != Resched::No {
            let next = cpu.pick();
            if next != runs {
                stretches.push(cpu.now - since);
                (runs, since) = (next, cpu.now);
            }
        }
    }
    stretches.dedup();
    assert_eq!(stretches.len(), 1, "not steady: {stretches:?}");
    stretches[0]
}

/// B48: "sched: Reduce the default slice to avoid tasks getting an extra tick". Ticks that come a
/// little early end a slice of exactly three ticks only at the fourth.
#[test]
fn b48_early_ticks_cost_a_slice_of_whole_ticks_one_more() {
    assert_eq!(stretch_ns(3_000_000, 999_000), 3_996_000);
    assert_eq!(stretch_ns(2_800_000, 999_000), 2_997_000);
    assert_eq!(stretch_ns(3_000_000, 1_000_000), 3_000_000, "v == d is expired");
}

/// A slice ends at the first tick at or after its end.
#[test]
fn slices_round_up_to_ticks() {
    for (tick_ns, stretch) in
        [(1_000_000, 3_000_000), (4_000_000, 4_000_000), (10_000_000, 10_000_000)]
    {
        assert_eq!(stretch_ns(2_800_000, tick_ns), stretch);
    }
}

#[test]
fn a_new_entity_takes_the_slice_of_the_rules() {
    let rules = rules(Preset::V6_12, 1000, 3 * MS);
    for (asked, got) in
        [(None, 3 * MS), (Some(1), 100 * US), (Some(5 * MS), 5 * MS), (Some(MS * MS), 100 * MS)]
    {
        let attr = Attr { slice_ns: asked, ..Attr::default() };
        assert_eq!(Entity::new(attr, &rules).slice_ns(), got);
    }
    let old = common::rules(Preset::V6_8, 1000, 3 * MS);
    assert_eq!(Entity::new(slice(5 * MS), &old).slice_ns(), 3 * MS, "no custom slices before 6.12");
}
