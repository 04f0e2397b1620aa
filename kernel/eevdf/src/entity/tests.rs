//! What an entity knows without a queue.

use super::*;
use crate::preset::Preset;
use crate::variant::VtMath;

fn rules(slice: SliceRule) -> Rules {
    let mut rules = Rules::new(Preset::V7_0, 1, 1000);
    rules.variant.slice = slice;
    rules
}

fn attr(slice_ns: Option<u64>) -> Attr {
    Attr { slice_ns, ..Attr::default() }
}

/// A renewed request takes over a new base slice exactly where no slice of its own is allowed and
/// set, whatever way the attributes came.
#[test]
fn only_a_slice_of_its_own_survives_a_new_base_slice() {
    for (rule, slice_ns, is_own) in [
        (SliceRule::Custom, Some(200_000), true),
        (SliceRule::Custom, None, false),
        (SliceRule::BaseOnly, Some(200_000), false),
        (SliceRule::BaseOnly, None, false),
    ] {
        let rules = rules(rule);
        let first = if is_own { 200_000 } else { rules.base_slice_ns() };
        let changed = rules.with_base_slice_ns(5_000_000);
        let second = if is_own { 200_000 } else { 5_000_000 };
        let new = Entity::new(attr(slice_ns), &rules);
        let mut set = Entity::new(attr(slice_ns.xor(Some(1_000_000))), &rules);
        set.set_attr(attr(slice_ns), &rules);
        for mut entity in [new.fork(&rules), new, set] {
            assert_eq!(entity.slice_ns(), first);
            entity.refresh_slice(&changed);
            assert_eq!(entity.slice_ns(), second, "{rule:?} {slice_ns:?}");
        }
    }
}

/// A child is like its parent, without its history.
#[test]
fn a_child_inherits_what_a_user_set() {
    let rules = rules(SliceRule::Custom);
    let nice = Nice::new(-5).expect("between -20 and 19");
    let attr = Attr { nice, policy: Policy::Batch, slice_ns: Some(400_000) };
    let parent = Entity { vruntime: 9, vlag: 8, sum_exec_ns: 7, ..Entity::new(attr, &rules) };
    assert_eq!(parent.fork(&rules), Entity::new(attr, &rules));
}

/// "sched/fair: Clear ->rel_deadline when initializing forked entities": before it, a distance to a
/// deadline that the parent was to be placed with went to the child too.
#[test]
fn a_child_inherits_the_distance_to_a_deadline_where_linux_forgot_to_clear_it() {
    for (fork, is_kept) in
        [(ForkRule::KeepsRelDeadline, true), (ForkRule::ClearsRelDeadline, false)]
    {
        let mut rules = rules(SliceRule::Custom);
        rules.variant.fork = fork;
        let new = Entity::new(Attr::default(), &rules);
        let parent = Entity { deadline: 5, has_rel_deadline: true, ..new.clone() };
        assert_eq!(parent.fork(&rules), if is_kept { parent } else { new });
    }
}

#[test]
fn own_slices_are_clamped() {
    let rules = rules(SliceRule::Custom);
    for (wanted, got) in [
        (1, MIN_SLICE_NS),
        (MIN_SLICE_NS, MIN_SLICE_NS),
        (MAX_SLICE_NS, MAX_SLICE_NS),
        (u64::MAX, MAX_SLICE_NS),
    ] {
        assert_eq!(Entity::new(attr(Some(wanted)), &rules).slice_ns(), got);
    }
}

/// What is called small is within a request in virtual time, rounded in either way.
#[test]
fn a_small_lag_is_less_than_a_request() {
    let rules = rules(SliceRule::Custom);
    for nice in [-20, -5, 0, 5, 19] {
        for slice_ns in [MIN_SLICE_NS, 2_800_000, MAX_SLICE_NS] {
            let nice = Nice::new(nice).expect("between -20 and 19");
            let attr = Attr { nice, slice_ns: Some(slice_ns), ..Attr::default() };
            let entity = Entity::new(attr, &rules);
            let most = (slice_ns * 1000 / u64::from(entity.weight())) as i64;
            for (lag, is_small) in [(0, true), (most, true), (most + 1, false)] {
                assert_eq!(entity.is_small_lag(lag), is_small, "{attr:?}: {lag}");
                assert_eq!(entity.is_small_lag(-lag), is_small, "{attr:?}: -{lag}");
            }
            for math in [VtMath::Exact, VtMath::Reciprocal] {
                assert!(most as u64 <= entity.weight.virtual_ns(slice_ns, math), "{attr:?}");
            }
        }
    }
    for lag in [i64::MIN, i64::MAX] {
        assert!(!Entity::new(Attr::default(), &rules).is_small_lag(lag));
    }
}
