//! Three tasks on one CPU for ten seconds, with a plain tick loop: who got how much, and how long did
//! each wait for it?
//!
//! A kernel does the same from its timer interrupt: `tick`, and if that asks for a reschedule,
//! `pick_next`. Everything that decides is in the queue; the loop only lets time pass.

use eevdf::{Attr, Enqueue, Entity, EntityId, Nice, Node, Pick, Preset, Resched, Rules, RunQueue};

const HZ: u32 = 1000;
const DURATION_NS: u64 = 10_000_000_000;

fn main() {
    let rules = Rules::new(Preset::V7_3, 1, HZ).with_base_slice_ns(3_000_000);
    let heavy = Attr { nice: Nice::new(-5).expect("a nice level"), ..Attr::default() };
    let short = Attr { slice_ns: Some(1_000_000), ..Attr::default() };
    let tasks = [("plain", Attr::default()), ("nice -5", heavy), ("short slice", short)];

    let mut rq = RunQueue::new(rules, [Node::EMPTY; 3]);
    for (id, (_, attr)) in (0..).zip(tasks) {
        rq.enqueue(EntityId(id), Entity::new(attr, &rules), Enqueue::Initial, 0);
    }

    let mut stopped_at = [0; 3];
    let mut longest_wait_ns = [0; 3];
    let mut runs = [0; 3];
    let mut running = None;
    for now in (0..=DURATION_NS).step_by(rules.tick_ns() as usize) {
        if running.is_some() && rq.tick(now) == Resched::No {
            continue;
        }
        let Pick::Run { id, .. } = rq.pick_next(now) else { unreachable!("nobody sleeps here") };
        if running == Some(id) {
            continue;
        }
        if let Some(EntityId(prev)) = running.replace(id) {
            stopped_at[prev as usize] = now;
        }
        let next = id.0 as usize;
        runs[next] += 1;
        longest_wait_ns[next] = longest_wait_ns[next].max(now - stopped_at[next]);
    }

    println!("task          weight   fair share   share   runs   mean run ms   longest wait ms");
    for (index, (name, _)) in tasks.iter().enumerate() {
        let entity = rq.entity(EntityId(index as u32)).expect("queued all the time");
        let share = |part: u64, whole: u64| 100.0 * part as f64 / whole as f64;
        println!(
            "{name:<12}  {weight:>6}  {fair:>9.2} %  {share:>5.2} %  {runs:>5}   {mean:>11.3}   {wait:>15.3}",
            weight = entity.weight(),
            fair = share(entity.weight().into(), rq.total_weight()),
            share = share(entity.sum_exec_ns(), DURATION_NS),
            runs = runs[index],
            mean = entity.sum_exec_ns() as f64 / f64::from(runs[index]) / 1e6,
            wait = longest_wait_ns[index] as f64 / 1e6,
        );
    }
}
