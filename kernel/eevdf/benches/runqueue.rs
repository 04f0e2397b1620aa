//! What an operation costs on a queue of 2 to 1024 entities.
//!
//! Each is measured with the one that undoes it, so that the queue stays as it is: a wake-up with
//! the dequeue, a pick with the tick that makes the next pick switch.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use eevdf::{
    Attr, Dequeue, Dequeued, Enqueue, Entity, EntityId, Nice, Node, Preset, Rules, RunQueue,
};
use std::hint::black_box;

const SIZES: [u32; 4] = [2, 16, 128, 1024];

/// A queue of mixed nice levels that has run long enough for deadlines to spread.
fn queue(size: u32) -> (RunQueue<Vec<Node>>, u64) {
    let rules = Rules::new(Preset::V7_3, 8, 1000);
    let mut rq = RunQueue::new(rules, vec![Node::EMPTY; size as usize]);
    for id in 0..size {
        let nice = Nice::new((id % 11) as i8 - 5).expect("between -5 and 5");
        let entity = Entity::new(Attr { nice, ..Attr::default() }, &rules);
        rq.enqueue(EntityId(id), entity, Enqueue::Initial, 0);
    }
    let mut now = 0;
    for _ in 0..4 * size {
        switch(&mut rq, &mut now);
    }
    (rq, now)
}

/// Runs for more than a slice and picks, which switches.
fn switch(rq: &mut RunQueue<Vec<Node>>, now: &mut u64) {
    *now += 3_000_000;
    let _ = black_box(rq.tick(*now));
    let _ = black_box(rq.pick_next(*now));
}

fn enqueue_dequeue(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("enqueue_dequeue");
    for size in SIZES {
        let (mut rq, now) = queue(size);
        let waiting: Vec<EntityId> = rq.queued().skip(1).collect();
        let mut turn = waiting.iter().cycle();
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| {
                let id = *turn.next().expect("a cycle does not end");
                let Dequeued::Gone(entity) = rq.dequeue(id, Dequeue::SleepSpecial, now) else {
                    unreachable!("a special sleep is never delayed");
                };
                rq.enqueue(id, entity, Enqueue::Wakeup, now);
            });
        });
    }
    group.finish();
}

fn tick_pick(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tick_pick");
    for size in SIZES {
        let (mut rq, mut now) = queue(size);
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| switch(&mut rq, &mut now));
        });
    }
    group.finish();
}

/// A tick that finds nothing to do, the most frequent operation of all.
fn tick(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tick");
    for size in SIZES {
        let (mut rq, now) = queue(size);
        let mut at = now;
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| {
                at += 1;
                rq.tick(black_box(at))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, enqueue_dequeue, tick_pick, tick);
criterion_main!(benches);
