//! A CPU runs dry: it looks for work before it idles (Linux: `sched_balance_newidle`).

use super::pass::{Pass, is_on};
use super::tick_number;
use crate::arch::clock;
use crate::cpu::{self, Cpu};
use crate::run;
use crate::sched::domains;
use crate::task::Moved;
use ::balance::{Idle, NewidleRate, Outcome};
use abi::Clock;
use abi::trace::Event;
use placement::Feature;
use rand_core::RngCore;

/// Looks in ever wider domains, while that is worth its time; returns whether there is work now.
/// No lock held.
pub(in crate::sched) fn newidle(this: &Cpu) -> bool {
    if !is_on() {
        return false;
    }
    let now = this.local.with(|local| local.time.now());
    look_soon(this);
    if !cpu::all().iter().any(|cpu| cpu.waiting() > 0) {
        this.trace.write(now, || Event::Balance { from: None, moved: 0 });
        return false;
    }
    let is_random = domains::linux().is_some_and(|linux| linux.rules.has(Feature::NiRandom));
    let (mut spent_ns, mut has_looked) = (0, false);
    for level in 0.. {
        let mut balance = this.balance.lock();
        let Some((domain, mut state)) = balance.domains.get(level).copied() else { break };
        if !balance.avg_idle.affords(spent_ns + state.newidle_cost_ns()) {
            break;
        }
        let weight = match is_random {
            true => state.newidle_rate().weight(balance.random.next_u32() % NewidleRate::OF),
            false => Some(1),
        };
        let Some(weight) = weight else {
            balance.domains[level].1.newidle_rate().note(0);
            continue;
        };
        drop(balance);
        has_looked = true;
        let begin_ns = cost_clock_ns();
        let pass = Pass { this, dest: this, idle: Idle::Newly, why: Moved::Newidle, now };
        let result = pass.run(&domain, &state);
        let cost_ns = cost_clock_ns() - begin_ns;
        spent_ns += cost_ns;
        state.note_newidle_cost(cost_ns);
        state.decay_newidle_cost(tick_number(now), u64::from(run::config().hz));
        state.end(&domain, Idle::Newly, result.outcome);
        state.newidle_rate().note(if result.moved > 0 { weight } else { 0 });
        let mut balance = this.balance.lock();
        balance.domains[level].1 = state;
        balance.passes[level].note(Idle::Newly, result.outcome, result.moved);
        balance.counters.newidle_pulls += result.moved;
        balance.counters.pushes += u64::from(result.outcome == Outcome::Pushed);
        if result.moved > 0 {
            balance.avg_idle.cancel();
            return true;
        }
        drop(balance);
        // Somebody may have put a task here meanwhile.
        if !this.is_unwanted() {
            return true;
        }
    }
    this.balance.lock().counters.newidle_misses += u64::from(has_looked);
    this.trace.write(now, || Event::Balance { from: None, moved: 0 });
    false
}

/// An idle CPU balances more often than the busy one that it was.
fn look_soon(this: &Cpu) {
    let (hz, cpus) = (u64::from(run::config().hz), cpu::all().len() as u64);
    let mut balance = this.balance.lock();
    let next = balance.domains.iter().map(|(_, state)| state.next_tick(false, hz, cpus)).min();
    balance.next_tick = balance.next_tick.min(next.unwrap_or(u64::MAX));
}

/// Under the virtual clock the kernel's instructions take no time, and looking costs nothing.
fn cost_clock_ns() -> u64 {
    match run::config().clock {
        Clock::Virtual => 0,
        Clock::Real => clock::now_ns(),
    }
}
