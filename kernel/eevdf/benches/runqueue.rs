//! What an operation costs, next to queues that only order.
//!
//! `pick_requeue` is the operation of a busy CPU: charge the running entity for at least a slice,
//! put it back, take the next one. The rivals order by vruntime and ask nobody for eligibility,
//! deadlines or lag: they are a floor, not schedulers of the same kind. `axsched` is the CFS of
//! ArceOS.
//!
//! The other groups measure an operation with the one that undoes it, so that the queue stays as it
//! is.

use axsched::BaseScheduler;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use eevdf::{
    Attr, Dequeue, Dequeued, Enqueue, Entity, EntityId, NICE_0_WEIGHT, Nice, Node, Preset, Rules,
    RunQueue,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

const SIZES: [u32; 5] = [10, 100, 1000, 10_000, 100_000];
const SLICE_NS: u64 = 2_800_000;

#[derive(Clone, Copy)]
enum Mix {
    /// Nice 0, and every run is one slice.
    Equal,
    /// Nice -5 to 5, and runs are one to two slices long.
    Mixed,
}

impl Mix {
    const ALL: [(Mix, &str); 2] = [(Mix::Equal, "equal"), (Mix::Mixed, "mixed")];

    fn nice(self, id: u32) -> Nice {
        match self {
            Mix::Equal => Nice::ZERO,
            Mix::Mixed => {
                // Neighbours in memory are not neighbours in weight.
                let level = (id.wrapping_mul(0x9e37_79b1) >> 8) % 11;
                Nice::new(level as i8 - 5).expect("between -5 and 5")
            }
        }
    }
}

/// How long the runs are; repeats (xorshift64).
struct Runs {
    mix: Mix,
    state: u64,
}

impl Runs {
    fn new(mix: Mix) -> Runs {
        Runs { mix, state: 0x9e37_79b9_7f4a_7c15 }
    }

    fn next(&mut self) -> u64 {
        if matches!(self.mix, Mix::Equal) {
            return SLICE_NS;
        }
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        SLICE_NS + self.state % SLICE_NS
    }
}

/// A queue that has run long enough for deadlines to spread.
fn queue(size: u32, mix: Mix) -> (RunQueue<Vec<Node>>, u64, Runs) {
    let rules = Rules::new(Preset::V7_3, 8, 1000);
    assert_eq!(rules.base_slice_ns(), SLICE_NS);
    let mut rq = RunQueue::new(rules, vec![Node::EMPTY; size as usize]);
    for id in 0..size {
        let attr = Attr { nice: mix.nice(id), ..Attr::default() };
        rq.enqueue(EntityId(id), Entity::new(attr, &rules), Enqueue::Initial, 0);
    }
    let (mut now, mut runs) = (0, Runs::new(mix));
    for _ in 0..3 * size {
        now += runs.next();
        let _ = rq.pick_next(now);
    }
    (rq, now, runs)
}

/// An entity of the rivals: vruntime and number, by which they order, and weight.
type Rival = (u64, u32, u64);

/// Charges and requeues on a queue that hands out its first when given another.
fn rival(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: BenchmarkId,
    size: u32,
    mix: Mix,
    mut swap: impl FnMut(Rival) -> Rival,
) {
    let mut runs = Runs::new(mix);
    let mut curr = (0, 0, u64::from(mix.nice(0).weight()));
    let mut turn = || {
        let (vruntime, id, weight) = curr;
        let delta = runs.next() * u64::from(NICE_0_WEIGHT) / weight;
        curr = black_box(swap((vruntime + delta, id, weight)));
    };
    (0..3 * size).for_each(|_| turn());
    group.bench_function(name, |bencher| bencher.iter(&mut turn));
}

fn waiting(size: u32, mix: Mix) -> impl Iterator<Item = Rival> {
    (1..size).map(move |id| (0, id, u64::from(mix.nice(id).weight())))
}

fn pick_requeue(criterion: &mut Criterion) {
    for (mix, mix_name) in Mix::ALL {
        let mut group = criterion.benchmark_group(format!("pick_requeue/{mix_name}"));
        for size in SIZES {
            let (mut rq, mut now, mut runs) = queue(size, mix);
            group.bench_function(BenchmarkId::new("eevdf", size), |bencher| {
                bencher.iter(|| {
                    now += runs.next();
                    black_box(rq.pick_next(now))
                });
            });

            let mut map: BTreeMap<(u64, u32), u64> =
                waiting(size, mix).map(|(vruntime, id, weight)| ((vruntime, id), weight)).collect();
            rival(&mut group, BenchmarkId::new("BTreeMap", size), size, mix, |(v, id, weight)| {
                let ((next_v, next), next_weight) = map.pop_first().expect("never empty");
                map.insert((v, id), weight);
                (next_v, next, next_weight)
            });

            let mut heap: BinaryHeap<Reverse<Rival>> = waiting(size, mix).map(Reverse).collect();
            rival(&mut group, BenchmarkId::new("BinaryHeap", size), size, mix, |entity| {
                let Reverse(next) = heap.pop().expect("never empty");
                heap.push(Reverse(entity));
                next
            });

            axsched(&mut group, size, mix);
        }
        group.finish();
    }
}

/// Charges one tick whatever the run: it knows no other length.
fn axsched(group: &mut BenchmarkGroup<'_, WallTime>, size: u32, mix: Mix) {
    let mut queue = axsched::CFScheduler::<u32>::new();
    for id in 0..size {
        let task = Arc::new(axsched::CFSTask::new(id));
        queue.add_task(Arc::clone(&task));
        queue.set_priority(&task, isize::from(mix.nice(id).get()));
    }
    let mut runs = Runs::new(mix);
    let mut turn = || {
        let task = queue.pick_next_task().expect("never empty");
        black_box(runs.next());
        queue.task_tick(&task);
        queue.put_prev_task(task, false);
    };
    (0..3 * size).for_each(|_| turn());
    group.bench_function(BenchmarkId::new("axsched", size), |bencher| bencher.iter(&mut turn));
}

fn enqueue_dequeue(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("enqueue_dequeue");
    for size in SIZES {
        let (mut rq, now, _) = queue(size, Mix::Mixed);
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

/// A tick that finds nothing to do, the most frequent operation of all.
fn tick(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tick");
    for size in SIZES {
        let (mut rq, mut now, _) = queue(size, Mix::Mixed);
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| {
                now += 1;
                rq.tick(black_box(now))
            });
        });
    }
    group.finish();
}

/// Short samples: on a machine that is shared, the smallest of many is worth more than the mean of
/// long ones.
fn config() -> Criterion {
    Criterion::default()
        .sample_size(60)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(900))
        .without_plots()
}

criterion_group!(name = benches; config = config(); targets = pick_requeue, enqueue_dequeue, tick);
criterion_main!(benches);
