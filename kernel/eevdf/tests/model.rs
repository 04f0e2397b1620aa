//! The queue against a slow model: a sorted `Vec`, absolute times and V summed up anew at every look,
//! all in exact 128-bit arithmetic that never wraps.
//!
//! The model leaves out the wakeup test (WAKEUP_PREEMPTION is off; it has scenes of its own) and the
//! odd ways to reweight. The rest it decides on its own and must agree to the nanosecond, wherever
//! time starts.

mod common;

use common::{MS, nice};
use eevdf::{
    Attr, BaseRule, Dequeue, Dequeued, Enqueue, Entity, EntityId, Feature, LagClamp, Node, Pick,
    Policy, Preset, Protection, Resched, Rules, RunQueue, VtMath, YieldRule,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Member {
    id: u32,
    weight: i128,
    custom: Option<i128>,
    slice: i128,
    v: i128,
    d: i128,
    lag: i128,
    distance: Option<i128>,
    delayed: bool,
}

struct Model {
    rules: Rules,
    /// Sorted by deadline, later insertions after earlier ones.
    waiting: Vec<Member>,
    curr: Option<Member>,
    /// Where the running one is no longer protected: its deadline at pick, or `vprot`.
    guard: i128,
    exec_start: i128,
    base: i128,
    due: bool,
}

impl Model {
    fn has(&self, feature: Feature) -> bool {
        self.rules.features().contains(feature)
    }

    fn all(&self) -> impl Iterator<Item = &Member> {
        self.waiting.iter().chain(&self.curr)
    }

    fn len(&self) -> usize {
        self.all().count()
    }

    fn sums(&self) -> (i128, i128) {
        self.all().fold((0, 0), |(sum, weight), m| (sum + m.v * m.weight, weight + m.weight))
    }

    fn mean(&self) -> i128 {
        let (sum, weight) = self.sums();
        if weight == 0 { self.base } else { sum.div_euclid(weight) }
    }

    /// A base that follows V follows it wherever V is looked at.
    fn look(&mut self) -> i128 {
        let mean = self.mean();
        if self.rules.variant.base == BaseRule::ZeroVruntime {
            self.base = mean;
        }
        mean
    }

    fn follow_min(&mut self) {
        if self.rules.variant.base == BaseRule::MinVruntime
            && let Some(min) = self.all().map(|m| m.v).min()
        {
            self.base = self.base.max(min);
        }
    }

    fn eligible(&self, m: &Member) -> bool {
        let (sum, weight) = self.sums();
        sum >= m.v * weight
    }

    fn vt(&self, ns: i128, weight: i128) -> i128 {
        if weight == 1024 {
            return ns;
        }
        match self.rules.variant.vt_math {
            VtMath::Exact => ns * 1024 / weight,
            VtMath::Reciprocal => {
                let (mut factor, mut shift) = (1024 * ((1i128 << 32) / weight), 32);
                while factor >> 32 != 0 {
                    factor >>= 1;
                    shift -= 1;
                }
                (ns * factor) >> shift
            }
        }
    }

    fn request(&self, m: &mut Member) {
        m.slice = m.custom.unwrap_or(i128::from(self.rules.base_slice_ns()));
        m.d = m.v + self.vt(m.slice, m.weight);
    }

    fn insert(&mut self, m: Member) {
        let at = self.waiting.iter().position(|other| other.d > m.d).unwrap_or(self.waiting.len());
        self.waiting.insert(at, m);
    }

    fn place(&mut self, m: &mut Member, half: bool) {
        m.slice = m.custom.unwrap_or(i128::from(self.rules.base_slice_ns()));
        let mean = self.look();
        let (_, weight) = self.sums();
        let lag = if self.len() > 0 && self.has(Feature::PlaceLag) {
            m.lag * (weight + m.weight) / weight
        } else {
            0
        };
        m.v = mean - lag;
        match m.distance.take() {
            Some(distance) if self.has(Feature::PlaceRelDeadline) => m.d = m.v + distance,
            _ => {
                let request = self.vt(m.slice, m.weight);
                m.d = m.v + if half { request / 2 } else { request };
            }
        }
    }

    fn enqueue(&mut self, mut m: Member, half: bool, now: i128) {
        self.charge(now);
        self.place(&mut m, half);
        self.insert(m);
    }

    fn limit(&self, m: &Member) -> i128 {
        let tick = i128::from(self.rules.tick_ns());
        let ns = match self.rules.variant.lag_clamp {
            LagClamp::OwnSlice => (2 * m.slice).max(tick),
            LagClamp::MaxSlice => self.all().map(|m| m.slice).max().unwrap() + tick,
        };
        self.vt(ns, m.weight)
    }

    fn clamped(&mut self, m: &Member) -> i128 {
        let limit = self.limit(m);
        let lag = (self.look() - m.v).clamp(-limit, limit);
        if m.delayed && self.rules.variant.delayed_lag == eevdf::DelayedLag::NoWorse {
            let lag = lag.max(m.lag);
            return if self.has(Feature::DelayZero) { lag.min(0) } else { lag };
        }
        lag
    }

    fn member(&self, id: u32) -> Member {
        self.all().find(|m| m.id == id).unwrap().clone()
    }

    fn take(&mut self, id: u32) -> Member {
        if self.curr.as_ref().is_some_and(|m| m.id == id) {
            return self.curr.take().unwrap();
        }
        let at = self.waiting.iter().position(|m| m.id == id).unwrap();
        self.waiting.remove(at)
    }

    /// Takes one off; `keeps` its distance to the deadline.
    fn leave(&mut self, id: u32, keeps: bool, migrates: bool) -> Member {
        let m = self.member(id);
        let lag = self.clamped(&m);
        let mut m = self.take(id);
        self.follow_min();
        m.lag = lag;
        if m.delayed && !migrates {
            m.delayed = false;
            if self.has(Feature::DelayZero) {
                m.lag = m.lag.min(0);
            }
        } else if keeps && self.has(Feature::PlaceRelDeadline) {
            m.distance = Some(m.d - m.v);
        }
        m
    }

    /// `None` if it stays, delayed.
    fn dequeue(&mut self, id: u32, why: Dequeue, now: i128) -> Option<Member> {
        self.charge(now);
        let m = self.member(id);
        if why == Dequeue::Sleep
            && self.has(Feature::DelayDequeue)
            && !m.delayed
            && !self.eligible(&m)
        {
            let no_worse = self.rules.variant.delayed_lag == eevdf::DelayedLag::NoWorse;
            let lag = if no_worse { self.clamped(&m) } else { m.lag };
            if let Some(m) = self.waiting.iter_mut().find(|m| m.id == id) {
                (m.lag, m.delayed) = (lag, true);
            } else {
                let m = self.take(id);
                self.insert(Member { lag, delayed: true, ..m });
            }
            return None;
        }
        let keeps = matches!(why, Dequeue::Migrate | Dequeue::Change);
        Some(self.leave(id, keeps, why == Dequeue::Migrate))
    }

    fn wake_delayed(&mut self, id: u32, now: i128) {
        self.charge(now);
        let m = self.member(id);
        let (lag, replace) = if self.rules.variant.delayed_lag == eevdf::DelayedLag::NoWorse {
            let lag = self.clamped(&m);
            (lag, lag != self.mean() - m.v)
        } else if self.has(Feature::DelayZero) && self.clamped(&m) > 0 {
            (0, true)
        } else {
            (m.lag, false)
        };
        if replace {
            let mut m = self.take(id);
            m.lag = lag;
            m.delayed = false;
            self.place(&mut m, false);
            self.insert(m);
        } else {
            let m = self.waiting.iter_mut().find(|m| m.id == id).unwrap();
            (m.lag, m.delayed) = (lag, false);
        }
    }

    fn protected(&self) -> bool {
        let Some(curr) = &self.curr else { return false };
        match self.rules.variant.protection {
            Protection::Parity => self.has(Feature::RunToParity) && curr.d == self.guard,
            Protection::Vprot | Protection::VprotShort => curr.v < self.guard,
        }
    }

    fn charge(&mut self, now: i128) {
        let Some(mut curr) = self.curr.clone() else { return };
        if now <= self.exec_start {
            return;
        }
        curr.v += self.vt(now - self.exec_start, curr.weight);
        self.exec_start = now;
        let expired = curr.v >= curr.d;
        self.curr = Some(curr.clone());
        if expired {
            self.look();
            self.request(&mut curr);
            self.curr = Some(curr);
        }
        self.follow_min();
        let unprotected = self.rules.variant.slice_end == eevdf::SliceEnd::ExpiredOrUnprotected;
        self.due |= self.len() > 1 && (expired || unprotected && !self.protected());
    }

    /// Whom to run; those who leave on the way are appended to `left`.
    fn pick(&mut self, now: i128, left: &mut Vec<Member>) -> Option<u32> {
        loop {
            self.charge(now);
            let curr = self.curr.clone().filter(|m| self.len() == 1 || self.eligible(m));
            let kept = curr.clone().filter(|_| self.len() == 1 || self.protected());
            let first = self.waiting.iter().find(|m| self.len() == 1 || self.eligible(m)).cloned();
            let best = kept.or_else(|| match (curr, first) {
                (Some(curr), Some(first)) => Some(if curr.d < first.d { curr } else { first }),
                (curr, first) => curr.or(first),
            });
            let Some(best) = best else {
                self.due = false;
                return None;
            };
            if best.delayed {
                let m = self.leave(best.id, false, false);
                left.push(m);
                continue;
            }
            self.due = false;
            if self.curr.as_ref().is_none_or(|m| m.id != best.id) {
                if let Some(prev) = self.curr.take() {
                    self.insert(prev);
                }
                let next = self.take(best.id);
                self.curr = Some(next);
                self.exec_start = now;
                self.guard = self.fresh_guard();
            }
            return Some(best.id);
        }
    }

    fn fresh_guard(&self) -> i128 {
        let curr = self.curr.as_ref().unwrap();
        let min = self.all().map(|m| m.slice).min().unwrap();
        match self.rules.variant.protection {
            Protection::Parity => curr.d,
            Protection::VprotShort if min < curr.slice && self.has(Feature::PreemptShort) => {
                let (sum, weight) = self
                    .waiting
                    .iter()
                    .fold((0, 0), |(s, w), m| (s + m.v * m.weight, w + m.weight));
                curr.d.min(sum.div_euclid(weight) + 1)
            }
            Protection::Vprot | Protection::VprotShort => {
                let parity = self.has(Feature::RunToParity);
                let run =
                    if parity { min } else { i128::from(self.rules.normalized_base_slice_ns()) };
                let run = run.min(curr.slice);
                let end = curr.v + self.vt(run, curr.weight);
                if run == curr.slice { curr.d } else { curr.d.min(end) }
            }
        }
    }

    fn yields(&mut self, now: i128) {
        if self.curr.is_none() || self.len() == 1 {
            return;
        }
        self.charge(now);
        let mut curr = self.curr.clone().unwrap();
        match self.rules.variant.yielding {
            YieldRule::PushDeadline => curr.d += self.vt(curr.slice, curr.weight),
            YieldRule::ForfeitVruntime => {
                self.look();
                if self.eligible(&curr) {
                    curr.v = curr.d;
                    self.request(&mut curr);
                }
            }
        }
        self.curr = Some(curr);
        self.follow_min();
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Run(u64),
    Wake(u32, bool),
    Dequeue(u32, Dequeue),
    Migrate(u32),
    Pick,
    Yield,
}

/// The queue and the model, side by side.
struct Pair {
    rq: RunQueue<Vec<Node>>,
    model: Model,
    off: Vec<Option<(Entity, Member)>>,
    start: u64,
    now: u64,
}

impl Pair {
    fn new(rules: Rules, attrs: &[Attr], start: u64) -> Pair {
        let member = |id: usize, attr: Attr| {
            let entity = Entity::new(attr, &rules);
            let is_custom = attr.slice_ns.is_some() && rules.preset() >= Preset::V6_12;
            let member = Member {
                id: id as u32,
                weight: i128::from(entity.weight()),
                custom: is_custom.then_some(i128::from(entity.slice_ns())),
                slice: i128::from(entity.slice_ns()),
                v: 0,
                d: 0,
                lag: 0,
                distance: None,
                delayed: false,
            };
            Some((entity, member))
        };
        Pair {
            rq: RunQueue::new(rules, vec![Node::EMPTY; attrs.len()]).starting_at(start),
            model: Model {
                rules,
                waiting: Vec::new(),
                curr: None,
                guard: 0,
                exec_start: 0,
                base: 0,
                due: false,
            },
            off: attrs.iter().enumerate().map(|(id, &attr)| member(id, attr)).collect(),
            start,
            now: 0,
        }
    }

    fn clock(&self) -> (u64, i128) {
        (self.start.wrapping_add(self.now), i128::from(self.now))
    }

    fn enqueue(&mut self, id: u32, how: Enqueue) {
        let (clock, now) = self.clock();
        let (entity, member) = self.off[id as usize].take().unwrap();
        self.rq.enqueue(EntityId(id), entity, how, clock);
        self.model.enqueue(member, how == Enqueue::Initial, now);
    }

    fn dequeue(&mut self, id: u32, why: Dequeue) {
        let (clock, now) = self.clock();
        let member = self.model.dequeue(id, why, now);
        match (self.rq.dequeue(EntityId(id), why, clock), member) {
            (Dequeued::Gone(entity), Some(member)) => self.gone(entity, member),
            (Dequeued::Delayed, None) => {}
            (got, expected) => panic!("{got:?} instead of {expected:?}"),
        }
    }

    fn gone(&mut self, entity: Entity, member: Member) {
        assert_eq!(i128::from(entity.vlag()), member.lag, "{member:?}");
        if let Some(distance) = member.distance {
            assert_eq!(i128::from(entity.deadline() as i64), distance, "{member:?}");
        }
        let id = member.id as usize;
        self.off[id] = Some((entity, member));
    }

    fn apply(&mut self, op: Op) {
        let (clock, now) = self.clock();
        match op {
            Op::Run(ns) => {
                self.now += ns;
                let (clock, now) = self.clock();
                let _ = self.rq.tick(clock);
                self.model.charge(now);
            }
            Op::Wake(id, is_fork) => {
                if self.rq.is_delayed(EntityId(id)) {
                    self.rq.requeue_delayed(EntityId(id), clock);
                    self.model.wake_delayed(id, now);
                } else if self.off[id as usize].is_some() {
                    self.enqueue(id, if is_fork { Enqueue::Initial } else { Enqueue::Wakeup });
                }
            }
            Op::Dequeue(id, why) => {
                if self.off[id as usize].is_none() {
                    self.dequeue(id, why);
                }
            }
            Op::Migrate(id) => {
                if self.off[id as usize].is_none() {
                    self.dequeue(id, Dequeue::Migrate);
                    self.enqueue(id, Enqueue::Migrate);
                }
            }
            Op::Pick => {
                let mut left = Vec::new();
                let expected = self.model.pick(now, &mut left);
                let mut left = left.into_iter();
                loop {
                    match self.rq.pick_next(clock) {
                        Pick::Run { id, .. } => break assert_eq!(Some(id.0), expected),
                        Pick::Idle => break assert_eq!(None, expected),
                        Pick::Flush { id, entity } => {
                            let member = left.next().expect("the model lets nobody go");
                            assert_eq!(id.0, member.id);
                            self.gone(entity, member);
                        }
                    }
                }
                assert_eq!(left.next().map(|member| member.id), None, "should have left");
            }
            Op::Yield => {
                self.rq.yield_curr(clock);
                self.model.yields(now);
            }
        }
    }

    fn compare(&self) {
        let at = |point: u64| i128::from(point.wrapping_sub(self.start) as i64);
        let queued: Vec<_> = self
            .rq
            .queued()
            .map(|id| {
                let entity = self.rq.entity(id).unwrap();
                (id.0, at(entity.vruntime()), at(entity.deadline()), entity.is_delayed())
            })
            .collect();
        let model = self.model.curr.iter().chain(&self.model.waiting);
        let expected: Vec<_> = model.map(|m| (m.id, m.v, m.d, m.delayed)).collect();
        assert_eq!(queued, expected, "(id, vruntime, deadline, delayed) at {} ns", self.now);
        assert_eq!(at(self.rq.avg_vruntime()), self.model.mean(), "V");
        assert_eq!(at(self.rq.base_vruntime()), self.model.base, "base");
        assert_eq!(self.rq.resched() != Resched::No, self.model.due, "reschedule");
        for m in self.model.all() {
            assert_eq!(self.rq.is_eligible(EntityId(m.id)), self.model.eligible(m), "{m:?}");
        }
        if let Err(violation) = self.rq.check_invariants() {
            panic!("{violation:?}");
        }
    }
}

fn attrs() -> impl Strategy<Value = Attr> {
    let policy = prop_oneof![4 => Just(Policy::Normal), 1 => Just(Policy::Idle)];
    let level = prop_oneof![Just(-20i8), Just(19i8), Just(0i8), -20i8..20];
    let slice_ns = prop_oneof![2 => Just(None), 1 => (1u64..150 * MS).prop_map(Some)];
    (policy, level, slice_ns).prop_map(|(policy, level, slice_ns)| Attr {
        policy,
        slice_ns,
        ..nice(level)
    })
}

fn ops(count: u32) -> impl Strategy<Value = Op> {
    let why = prop_oneof![
        4 => Just(Dequeue::Sleep),
        1 => Just(Dequeue::SleepSpecial),
        1 => Just(Dequeue::Change),
        1 => Just(Dequeue::Exit),
    ];
    prop_oneof![
        6 => prop_oneof![1u64..100_000, 1u64..12 * MS].prop_map(Op::Run),
        6 => (0..count, any::<bool>()).prop_map(|(id, is_fork)| Op::Wake(id, is_fork)),
        3 => (0..count, why).prop_map(|(id, why)| Op::Dequeue(id, why)),
        1 => (0..count).prop_map(Op::Migrate),
        5 => Just(Op::Pick),
        1 => Just(Op::Yield),
    ]
}

fn worlds() -> impl Strategy<Value = (Rules, u64, Vec<Attr>, Vec<Op>)> {
    let preset = prop::sample::select(Preset::ALL.to_vec());
    let parity = prop_oneof![3 => Just(true), 1 => Just(false)];
    let hz = prop::sample::select(vec![100u32, 250, 1000]);
    let rules = (preset, 1u32..9, hz, parity, any::<bool>()).prop_map(
        |(preset, cpus, hz, parity, zero)| {
            let rules = Rules::new(preset, cpus, hz);
            let features = rules.features().with(Feature::WakeupPreemption, false);
            let features = features.with(Feature::RunToParity, parity);
            let zero = zero && features.contains(Feature::DelayZero);
            rules.with_features(features.with(Feature::DelayZero, zero))
        },
    );
    let start =
        prop_oneof![Just(0u64), (1u64 << 63) - 20 * MS..1 << 63, u64::MAX - 20 * MS..=u64::MAX];
    let count = prop_oneof![3 => 2u32..8, 1 => 8u32..200];
    (rules, start, count).prop_flat_map(|(rules, start, count)| {
        let steps = prop::collection::vec(ops(count), 40 + 2 * count as usize);
        (Just(rules), Just(start), prop::collection::vec(attrs(), count as usize), steps)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_agrees_with_the_model((rules, start, attrs, ops) in worlds()) {
        let mut pair = Pair::new(rules, &attrs, start);
        for op in ops {
            pair.apply(op);
            pair.compare();
        }
    }
}
