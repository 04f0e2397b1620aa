//! A queue driven by any sequence of operations, each pick held against a scan in exact arithmetic.
//! The property test and the fuzz target share it.

use eevdf::{
    Attr, Dequeue, Dequeued, Enqueue, Entity, EntityId, Feature, Node, Pick, PickReason, Resched,
    Rules, RunQueue, Variant, Wake,
};

/// What a kernel may do next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
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

/// How time that passes is noticed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Look {
    Charge,
    Tick,
    SliceTimer,
}

/// One of the queues, with the entities that are not on it.
pub(crate) struct Lane {
    pub(crate) rq: RunQueue<Vec<Node>>,
    off: Vec<Option<Entity>>,
    start: u64,
    now: u64,
}

impl Lane {
    pub(crate) fn new(rules: Rules, attrs: &[Attr], start: u64) -> Lane {
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
    pub(crate) fn state(&self) -> String {
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

    pub(crate) fn apply(&mut self, op: Op) -> Resched {
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

/// Lets three queues go through the same sequence: one from zero, two whose virtual time and task clock
/// are about to wrap, at 2^63 and 2^64. They must agree in all that does not name an absolute
/// time, and the invariants must hold after every step.
pub(crate) fn go_through(rules: Rules, attrs: &[Attr], ops: impl IntoIterator<Item = Op>) {
    const NEAR_NS: u64 = 3_000_000;
    let starts = [0, (1u64 << 63) - NEAR_NS, u64::MAX - NEAR_NS];
    let mut lanes = starts.map(|start| Lane::new(rules, attrs, start));
    for op in ops {
        let outcomes = lanes.each_mut().map(|lane| {
            let resched = lane.apply(op);
            if let Err(violation) = lane.rq.check_invariants() {
                panic!("{violation:?} after {op:?}: {}", lane.state());
            }
            (resched, lane.state())
        });
        assert_eq!(outcomes[0], outcomes[1], "{op:?} at 2^63");
        assert_eq!(outcomes[0], outcomes[2], "{op:?} at 2^64");
    }
}

/// Takes each rule from one of two versions, by its bit.
pub(crate) fn mixed(a: Variant, b: Variant, bits: u32) -> Variant {
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
