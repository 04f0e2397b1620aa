//! Random sequences of everything a kernel may do, by the rules of every version and by mixtures.
//!
//! Three queues go through the same sequence: one from zero, two whose virtual time and task clock are about
//! to wrap, at 2^63 and 2^64. They must agree in all that does not name an absolute time. After
//! each step the invariants are checked, and each pick against a scan in exact arithmetic.

mod common;

use common::{MS, nice};
use eevdf::{
    Attr, Dequeue, Dequeued, Enqueue, Entity, EntityId, Feature, Features, Node, Pick, PickReason,
    Policy, Preset, Resched, Rules, RunQueue, Variant, Wake,
};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Op {
    Run { ns: u64, how: Look },
    Wake { id: usize, how: Wake },
    Dequeue { id: usize, why: Dequeue },
    Block,
    Pick,
    Yield,
    YieldTo { id: usize },
    SetAttr { id: usize, attr: Attr },
    Migrate { id: usize },
    Change { id: usize, attr: Attr },
}

#[derive(Clone, Copy, Debug)]
enum Look {
    Charge,
    Tick,
    SliceTimer,
}

/// One of the queues, with the entities that are not on it.
struct Lane {
    rq: RunQueue<Vec<Node>>,
    off: Vec<Option<Entity>>,
    start: u64,
    now: u64,
}

impl Lane {
    fn new(rules: Rules, attrs: &[Attr], start: u64) -> Lane {
        Lane {
            rq: RunQueue::new(rules, vec![Node::EMPTY; attrs.len()]).starting_at(start),
            off: attrs.iter().map(|&attr| Some(Entity::new(attr, &rules))).collect(),
            start,
            now: start,
        }
    }

    fn snapshot(&self) -> Vec<(EntityId, Entity)> {
        self.rq.queued().map(|id| (id, self.rq.entity(id).unwrap().clone())).collect()
    }

    /// All that may be compared between lanes.
    fn state(&self) -> String {
        let relative = |point: u64| point.wrapping_sub(self.start);
        let entities: Vec<_> = self
            .snapshot()
            .into_iter()
            .map(|(id, entity)| {
                let points = (relative(entity.vruntime()), relative(entity.deadline()));
                (id, points, entity.slice_ns(), entity.sum_exec_ns(), entity.is_delayed())
            })
            .collect();
        format!(
            "{entities:?} curr {:?} next {:?} {:?} V {} base {} violations {}",
            self.rq.curr(),
            self.rq.next_buddy(),
            self.rq.resched(),
            relative(self.rq.avg_vruntime()),
            relative(self.rq.base_vruntime()),
            self.rq.lag_violations(),
        )
    }

    fn enqueue(&mut self, id: usize, how: Enqueue) {
        let entity = self.off[id].take().unwrap();
        let vlag = entity.vlag();
        let is_first = self.rq.nr_queued() == 0;
        let queued = self.rq.nr_queued();
        let id = EntityId(id as u32);
        self.rq.enqueue(id, entity, how, self.now);
        assert_eq!(self.rq.nr_queued(), queued + 1);
        let lag = self.rq.lag(id).unwrap();
        let keeps = self.rq.rules().features().contains(Feature::PlaceLag) && !is_first;
        let expected = if keeps { vlag } else { 0 };
        assert!((lag - expected).abs() <= 3, "{id:?} joins with lag {lag}, {expected} expected");
    }

    fn dequeue(&mut self, id: usize, why: Dequeue) -> bool {
        let name = EntityId(id as u32);
        let (queued, runnable) = (self.rq.nr_queued(), self.rq.nr_runnable());
        let was_queued = self.rq.entity(name).is_some();
        let was_delayed = was_queued && self.rq.is_delayed(name);
        let _ = self.rq.update_curr(self.now);
        let limit = self.rq.lag_limit(name);
        match self.rq.dequeue(name, why, self.now) {
            Dequeued::Gone(entity) => {
                assert_eq!(self.rq.nr_queued(), queued - u32::from(was_queued));
                assert_eq!(self.rq.nr_runnable(), runnable - u32::from(was_queued && !was_delayed));
                if let Some(limit) = limit {
                    // A lag kept since the entity was delayed obeys the limit of that moment.
                    assert!(was_delayed || entity.vlag().abs() <= limit, "{entity:?} over {limit}");
                }
                self.off[id] = Some(entity);
                true
            }
            Dequeued::Delayed => {
                assert_eq!((self.rq.nr_queued(), self.rq.nr_runnable()), (queued, runnable - 1));
                false
            }
        }
    }

    fn apply(&mut self, op: Op) -> Resched {
        match op {
            Op::Run { ns, how } => {
                self.now = self.now.wrapping_add(ns);
                let before = self.rq.avg_vruntime();
                let busy = self.rq.curr().map(|id| (id, self.rq.entity(id).unwrap().sum_exec_ns()));
                let resched = match how {
                    Look::Charge => self.rq.update_curr(self.now),
                    Look::Tick => self.rq.tick(self.now),
                    Look::SliceTimer => self.rq.hrtick(self.now),
                };
                let moved = self.rq.avg_vruntime().wrapping_sub(before) as i64;
                assert!(moved >= 0, "V went back by {moved} while somebody ran");
                if let Some((id, ran)) = busy {
                    assert!(self.rq.entity(id).unwrap().sum_exec_ns() >= ran + ns);
                }
                resched
            }
            Op::Wake { id, how } => {
                let name = EntityId(id as u32);
                if self.rq.is_delayed(name) {
                    self.rq.requeue_delayed(name, self.now);
                    assert!(!self.rq.is_delayed(name));
                } else if self.off[id].is_some() {
                    self.enqueue(id, if how.fork { Enqueue::Initial } else { Enqueue::Wakeup });
                }
                self.rq.wakeup_preempt(name, how, self.now)
            }
            Op::Dequeue { id, why } => {
                if self.off[id].is_none() {
                    self.dequeue(id, why);
                }
                self.rq.resched()
            }
            Op::Block => {
                if let Some(curr) = self.rq.curr() {
                    self.dequeue(curr.0 as usize, Dequeue::Sleep);
                }
                self.rq.resched()
            }
            Op::Pick => {
                self.pick();
                self.rq.resched()
            }
            Op::Yield => {
                self.rq.yield_curr(self.now);
                self.rq.resched()
            }
            Op::YieldTo { id } => {
                let name = EntityId(id as u32);
                let may = self.off[id].is_none() && !self.rq.is_delayed(name);
                assert_eq!(self.rq.yield_to(name, self.now), may);
                self.rq.resched()
            }
            Op::SetAttr { id, attr } => {
                let name = EntityId(id as u32);
                let others = self.rq.nr_queued();
                if self.rq.entity(name).is_some() {
                    self.rq.set_attr(name, attr, self.now);
                    assert_eq!(self.rq.entity(name).unwrap().attr(), attr);
                }
                assert_eq!(self.rq.nr_queued(), others);
                self.rq.resched()
            }
            Op::Migrate { id } => {
                if self.off[id].is_none() && self.rq.entity(EntityId(id as u32)).is_some() {
                    let was_delayed = self.rq.is_delayed(EntityId(id as u32));
                    self.dequeue(id, Dequeue::Migrate);
                    self.enqueue(id, Enqueue::Migrate);
                    assert_eq!(self.rq.is_delayed(EntityId(id as u32)), was_delayed);
                }
                self.rq.resched()
            }
            Op::Change { id, attr } => {
                if self.off[id].is_none() && !self.rq.is_delayed(EntityId(id as u32)) {
                    self.dequeue(id, Dequeue::Change);
                    let rules = *self.rq.rules();
                    self.off[id].as_mut().unwrap().set_attr(attr, &rules);
                    self.enqueue(id, Enqueue::Restore);
                }
                self.rq.resched()
            }
        }
    }

    /// Picks until settled, each pick held against a scan.
    fn pick(&mut self) {
        loop {
            let _ = self.rq.update_curr(self.now);
            let (before, curr, buddy) = (self.snapshot(), self.rq.curr(), self.rq.next_buddy());
            match self.rq.pick_next(self.now) {
                Pick::Idle => {
                    assert!(before.is_empty());
                    return;
                }
                Pick::Flush { id, entity } => {
                    let was_queued = before.iter().any(|(other, _)| *other == id);
                    if was_queued {
                        let (best, _) = scan(&before, curr);
                        assert!(best == id || buddy.is_some(), "{id:?} flushed, {best:?} first");
                    }
                    assert!(!entity.is_delayed());
                    self.off[id.0 as usize] = Some(entity);
                }
                Pick::Run { id, reason } => {
                    let (best, eligible) = scan(&before, curr);
                    match reason {
                        PickReason::Only => assert_eq!(before.len(), 1),
                        PickReason::Buddy => assert!(buddy == Some(id) && eligible.contains(&id)),
                        PickReason::Protected => {
                            assert!(curr == Some(id) && eligible.contains(&id))
                        }
                        PickReason::EarliestDeadline => assert_eq!(id, best),
                    }
                    assert!(!self.rq.is_delayed(id), "{id:?} sleeps and runs");
                    assert_eq!((self.rq.curr(), self.rq.resched()), (Some(id), Resched::No));
                    return;
                }
            }
        }
    }
}

/// The eligible entities, and the first of them by deadline; the running one loses ties.
fn scan(queued: &[(EntityId, Entity)], curr: Option<EntityId>) -> (EntityId, Vec<EntityId>) {
    let reference = queued[0].1.vruntime();
    let key = |point: u64| i128::from(point.wrapping_sub(reference) as i64);
    let weight: i128 = queued.iter().map(|(_, entity)| i128::from(entity.weight())).sum();
    let sum: i128 = queued.iter().map(|(_, e)| key(e.vruntime()) * i128::from(e.weight())).sum();
    let eligible: Vec<_> =
        queued.iter().filter(|(_, entity)| sum >= key(entity.vruntime()) * weight).collect();
    let best =
        eligible.iter().min_by_key(|(id, entity)| (key(entity.deadline()), curr == Some(*id)));
    let (best, _) = best.expect("something is eligible");
    (*best, eligible.iter().map(|(id, _)| *id).collect())
}

fn attrs() -> impl Strategy<Value = Attr> {
    let policy = prop_oneof![
        6 => Just(Policy::Normal),
        1 => Just(Policy::Batch),
        1 => Just(Policy::Idle),
    ];
    // Half of the levels are the extreme ones.
    let level = prop_oneof![Just(-20i8), Just(19i8), Just(0i8), -20i8..20];
    let slice_ns = prop_oneof![
        3 => Just(None),
        1 => Just(Some(100_000u64)),
        1 => Just(Some(100 * MS)),
        1 => (1u64..200 * MS).prop_map(Some),
    ];
    (policy, level, slice_ns).prop_map(|(policy, level, slice_ns)| Attr {
        policy,
        slice_ns,
        ..nice(level)
    })
}

fn ops(count: usize) -> impl Strategy<Value = Op> {
    let ns = prop_oneof![Just(0u64), 1u64..100_000, 1u64..12 * MS];
    let look = prop_oneof![Just(Look::Charge), Just(Look::Tick), Just(Look::SliceTimer)];
    let wake = (any::<bool>(), any::<bool>(), any::<bool>());
    let why = prop_oneof![
        3 => Just(Dequeue::Sleep),
        1 => Just(Dequeue::SleepSpecial),
        1 => Just(Dequeue::Migrate),
        1 => Just(Dequeue::Change),
        1 => Just(Dequeue::Exit),
    ];
    prop_oneof![
        6 => (ns, look).prop_map(|(ns, how)| Op::Run { ns, how }),
        8 => (0..count, wake).prop_map(|(id, (fork, sync, cpu_selected))| {
            Op::Wake { id, how: Wake { fork, sync, cpu_selected } }
        }),
        2 => (0..count, why).prop_map(|(id, why)| Op::Dequeue { id, why }),
        3 => Just(Op::Block),
        6 => Just(Op::Pick),
        1 => Just(Op::Yield),
        1 => (0..count).prop_map(|id| Op::YieldTo { id }),
        2 => (0..count, attrs()).prop_map(|(id, attr)| Op::SetAttr { id, attr }),
        1 => (0..count).prop_map(|id| Op::Migrate { id }),
        1 => (0..count, attrs()).prop_map(|(id, attr)| Op::Change { id, attr }),
    ]
}

/// Takes each rule from one of two versions, by its bit.
fn mixed(a: Variant, b: Variant, bits: u32) -> Variant {
    let mut bits = (0..u32::BITS).map(|bit| bits >> bit & 1 == 0);
    macro_rules! mix {
        ($($rule:ident),+) => {
            Variant { $($rule: if bits.next().unwrap() { a.$rule } else { b.$rule }),+ }
        };
    }
    mix!(
        base,
        vt_math,
        lag_clamp,
        slice,
        fork,
        protection,
        protect_on,
        protect_shrink,
        slice_end,
        reweight,
        reweight_protect,
        yielding,
        delayed_lag,
        buddy_pick,
        next_buddy,
        idle_curr,
        short_wakee,
        delayed_wakee,
        fork_wakee,
        delayed_in_test,
        pending_resched,
        resched,
        hrtick,
        hrtick_resched
    )
}

/// The rules of a version; half of the time with features flipped, a third of it with rules of another
/// version mixed in.
fn rules() -> impl Strategy<Value = Rules> {
    let presets = || prop::sample::select(Preset::ALL.to_vec());
    let machine = (1u32..9, prop::sample::select(vec![100u32, 250, 1000]));
    let flipped = prop_oneof![Just(0u64), any::<u64>()];
    let foreign = prop_oneof![2 => Just(0u32), 1 => any::<u32>()];
    (presets(), presets(), machine, flipped, foreign).prop_map(
        |(preset, other, (cpus, hz), flipped, foreign)| {
            let rules = Rules::new(preset, cpus, hz);
            let features = Features::from_bits(rules.features().bits() ^ flipped);
            let mut rules = rules.with_features(features);
            rules.variant = mixed(preset.variant(), other.variant(), foreign);
            rules
        },
    )
}

fn worlds() -> impl Strategy<Value = (Rules, Vec<Attr>, Vec<Op>)> {
    let count = prop_oneof![3 => 2usize..8, 1 => 8usize..200];
    (rules(), count).prop_flat_map(|(rules, count)| {
        let steps = prop::collection::vec(ops(count), 40 + 2 * count);
        (Just(rules), prop::collection::vec(attrs(), count), steps)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    /// B16, "sched/fair: Sanity check 'best' in pick_eevdf()", B40 and the wrap-around: something is always
    /// eligible, counts move by one, and it does not matter where time starts.
    #[test]
    fn b16_b40_any_sequence_keeps_the_invariants((rules, attrs, ops) in worlds()) {
        let starts = [0, (1u64 << 63) - 3 * MS, u64::MAX - 3 * MS];
        let mut lanes = starts.map(|start| Lane::new(rules, &attrs, start));
        for op in ops {
            let outcomes = lanes.each_mut().map(|lane| {
                let resched = lane.apply(op);
                if let Err(violation) = lane.rq.check_invariants() {
                    panic!("{violation:?} after {op:?}: {}", lane.state());
                }
                (resched, lane.state())
            });
            prop_assert_eq!(&outcomes[0], &outcomes[1], "{:?} at 2^63", op);
            prop_assert_eq!(&outcomes[0], &outcomes[2], "{:?} at 2^64", op);
        }
    }
}
