//! What the test files share: a queue with a clock, driven like a CPU.
#![allow(dead_code, reason = "each test file uses its own part")]

use eevdf::{
    Attr, Dequeue, Dequeued, Enqueue, Entity, EntityId, Feature, Nice, Node, Pick, PickReason,
    Policy, Preset, Resched, Rules, RunQueue, Wake,
};

pub(crate) const US: u64 = 1_000;
pub(crate) const MS: u64 = 1_000_000;

/// Short names for the entities of small scenes.
pub(crate) const A: EntityId = EntityId(0);
pub(crate) const B: EntityId = EntityId(1);
pub(crate) const C: EntityId = EntityId(2);
pub(crate) const D: EntityId = EntityId(3);

pub(crate) fn nice(nice: i8) -> Attr {
    Attr { nice: Nice::new(nice).unwrap(), ..Attr::default() }
}

pub(crate) fn slice(slice_ns: u64) -> Attr {
    Attr { slice_ns: Some(slice_ns), ..Attr::default() }
}

pub(crate) fn policy(policy: Policy) -> Attr {
    Attr { policy, ..Attr::default() }
}

/// Rules with a base slice in the open, instead of by the number of CPUs.
pub(crate) fn rules(preset: Preset, hz: u32, base_slice_ns: u64) -> Rules {
    Rules::new(preset, 1, hz).with_base_slice_ns(base_slice_ns)
}

pub(crate) fn without(rules: Rules, feature: Feature) -> Rules {
    rules.with_features(rules.features().with(feature, false))
}

pub(crate) fn with(rules: Rules, feature: Feature) -> Rules {
    rules.with_features(rules.features().with(feature, true))
}

/// A CPU: a queue and its task clock. Every step checks the invariants.
#[derive(Clone)]
pub(crate) struct Cpu {
    pub(crate) rq: RunQueue<Vec<Node>>,
    pub(crate) rules: Rules,
    pub(crate) now: u64,
}

impl Cpu {
    pub(crate) fn new(rules: Rules) -> Cpu {
        Cpu { rq: RunQueue::new(rules, vec![Node::EMPTY; 16]), rules, now: 0 }
    }

    /// A CPU with runnable entities 0, 1, ... and nobody running.
    pub(crate) fn with(rules: Rules, attrs: &[Attr]) -> Cpu {
        let mut cpu = Cpu::new(rules);
        for (index, &attr) in attrs.iter().enumerate() {
            cpu.join(EntityId(index as u32), attr);
        }
        cpu
    }

    /// Puts a fresh entity at V, with a whole slice.
    pub(crate) fn join(&mut self, id: EntityId, attr: Attr) {
        self.enqueue(id, Entity::new(attr, &self.rules), Enqueue::Wakeup);
    }

    /// Puts an entity with this lag.
    pub(crate) fn join_with_lag(&mut self, id: EntityId, attr: Attr, vlag: i64) {
        let entity = entity_with_lag(&self.rules, attr, vlag);
        self.enqueue(id, entity, Enqueue::Wakeup);
    }

    pub(crate) fn enqueue(&mut self, id: EntityId, entity: Entity, how: Enqueue) {
        self.rq.enqueue(id, entity, how, self.now);
        self.check();
    }

    pub(crate) fn pick(&mut self) -> EntityId {
        self.pick_reason().0
    }

    pub(crate) fn pick_reason(&mut self) -> (EntityId, PickReason) {
        let pick = self.rq.pick_next(self.now);
        self.check();
        match pick {
            Pick::Run { id, reason } => (id, reason),
            other => panic!("expected somebody to run, got {other:?}"),
        }
    }

    /// Picks until somebody runs, or nobody; returns those who left on the way.
    pub(crate) fn pick_flushing(&mut self) -> (Option<EntityId>, Vec<(EntityId, Entity)>) {
        let mut flushed = Vec::new();
        loop {
            let pick = self.rq.pick_next(self.now);
            self.check();
            match pick {
                Pick::Run { id, .. } => return (Some(id), flushed),
                Pick::Idle => return (None, flushed),
                Pick::Flush { id, entity } => flushed.push((id, entity)),
            }
        }
    }

    /// Lets time pass, with a tick at the end.
    pub(crate) fn run(&mut self, ns: u64) -> Resched {
        self.now = self.now.wrapping_add(ns);
        let resched = self.rq.tick(self.now);
        self.check();
        resched
    }

    /// Runs with regular ticks, rescheduling when asked to.
    pub(crate) fn run_ticks(&mut self, ns: u64) {
        let tick_ns = self.rules.tick_ns();
        for _ in 0..ns / tick_ns {
            if self.run(tick_ns) != Resched::No {
                self.pick_flushing();
            }
        }
    }

    pub(crate) fn wake_test(&mut self, id: EntityId) -> Resched {
        let resched = self.rq.wakeup_preempt(id, Wake::default(), self.now);
        self.check();
        resched
    }

    pub(crate) fn dequeue(&mut self, id: EntityId, why: Dequeue) -> Dequeued {
        let dequeued = self.rq.dequeue(id, why, self.now);
        self.check();
        dequeued
    }

    /// Takes an entity off and expects it gone.
    pub(crate) fn take(&mut self, id: EntityId, why: Dequeue) -> Entity {
        match self.dequeue(id, why) {
            Dequeued::Gone(entity) => entity,
            Dequeued::Delayed => panic!("{id:?} was delayed"),
        }
    }

    pub(crate) fn set_attr(&mut self, id: EntityId, attr: Attr) {
        self.rq.set_attr(id, attr, self.now);
        self.check();
    }

    pub(crate) fn entity(&self, id: EntityId) -> &Entity {
        self.rq.entity(id).unwrap_or_else(|| panic!("{id:?} is not queued"))
    }

    pub(crate) fn lag(&self, id: EntityId) -> i64 {
        self.rq.lag(id).unwrap_or_else(|| panic!("{id:?} is not queued"))
    }

    /// Virtual time to the deadline.
    pub(crate) fn left(&self, id: EntityId) -> u64 {
        self.entity(id).deadline().wrapping_sub(self.entity(id).vruntime())
    }

    pub(crate) fn check(&self) {
        if let Err(violation) = self.rq.check_invariants() {
            panic!("{violation:?} at {} ns", self.now);
        }
    }
}

/// Makes an entity with a given lag the only way there is: by leaving a queue with it.
pub(crate) fn entity_with_lag(rules: &Rules, attr: Attr, vlag: i64) -> Entity {
    if vlag == 0 {
        return Entity::new(attr, rules);
    }
    // Beside one equally heavy hog, running for t sets the two lags to +-t/2 each.
    let rules = without(*rules, Feature::DelayDequeue);
    let mut cpu = Cpu::with(rules, &[attr, attr]);
    cpu.pick();
    let (subject, distance) = if vlag > 0 { (B, vlag) } else { (A, -vlag) };
    let weight = u128::from(cpu.entity(A).weight());
    let ns = (2 * distance as u128 * weight).div_ceil(1024) as u64;
    cpu.now += ns;
    let _ = cpu.rq.update_curr(cpu.now);
    cpu.take(subject, Dequeue::Sleep)
}
