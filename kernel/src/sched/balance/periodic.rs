//! Which domains are due at a tick (Linux: `sched_balance_domains`).

use super::nohz;
use super::pass::{Pass, is_on};
use super::tick_number;
use crate::cpu::{self, Cpu};
use crate::run;
use crate::task::Moved;
use ::balance::{Idle, Outcome};

/// Without domains: as good as never, s.
const NEVER_S: u64 = 60;

/// What the tick of this CPU has to balance. No lock held.
pub(in crate::sched) fn tick(this: &Cpu, now: u64) {
    if !is_on() {
        return;
    }
    let tick = tick_number(now);
    if tick >= this.balance.lock().next_tick {
        domains(this, this, tick, now, Moved::Periodic);
    }
    nohz::tick(this, tick, now);
}

/// Balances what is due for `dest` on the executing CPU; returns the tick at which something is
/// due again.
pub(super) fn domains(this: &Cpu, dest: &Cpu, tick: u64, now: u64, why: Moved) -> u64 {
    let (hz, cpus) = (u64::from(run::config().hz), cpu::all().len() as u64);
    // An idle CPU's averages stand still while nobody looks.
    let mut rq = dest.rq.lock();
    rq.advance(now);
    rq.publish(dest);
    drop(rq);
    let mut idle = if dest.is_unwanted() { Idle::Yes } else { Idle::No };
    let mut next = tick + NEVER_S * hz;
    let mut goes_on = true;
    for level in 0.. {
        let Some((domain, mut state)) = dest.balance.lock().domains.get(level).copied() else {
            break;
        };
        state.decay_newidle_cost(tick, hz);
        if goes_on && tick >= state.next_tick(idle == Idle::No, hz, cpus) {
            let result = Pass { this, dest, idle, why, now }.run(&domain, &state);
            state.begin(tick);
            state.end(&domain, idle, result.outcome);
            goes_on = result.goes_on;
            let mut balance = dest.balance.lock();
            balance.passes[level].note(idle, result.outcome, result.moved);
            balance.counters.attempts += 1;
            let is_in_vain = matches!(result.outcome, Outcome::Failed | Outcome::Pinned);
            balance.counters.failed += u64::from(is_in_vain);
            balance.counters.pushes += u64::from(result.outcome == Outcome::Pushed);
            drop(balance);
            if result.moved > 0 {
                idle = if dest.is_unwanted() { Idle::Yes } else { Idle::No };
            }
        }
        dest.balance.lock().domains[level].1 = state;
        if goes_on {
            next = next.min(state.next_tick(idle == Idle::No, hz, cpus));
        }
    }
    // A CPU that leaves wider domains to others comes back all the same: they may be busy then.
    let next = next.min(tick + hz).max(tick + 1);
    dest.balance.lock().next_tick = next;
    next
}
