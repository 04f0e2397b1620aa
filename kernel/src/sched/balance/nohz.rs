//! Idle CPUs whose tick is stopped do not balance; a busy one's tick kicks one of them, and that one
//! balances for all (Linux: `nohz_idle_balance`).

use super::pass::is_on;
use super::{periodic, tick_number};
use crate::arch::lapic;
use crate::cpu::{self, Cpu};
use crate::run;
use crate::task::Moved;
use ::balance::{may_kick, next_idle};
use abi::{Cost, NohzMode};
use core::sync::atomic::{AtomicU64, Ordering};

/// The tick from which on idle CPUs are due again. Relaxed: a hint.
static NEXT_TICK: AtomicU64 = AtomicU64::new(0);

/// A busy CPU's tick.
pub(super) fn tick(this: &Cpu, tick: u64, now: u64) {
    if run::config().nohz != NohzMode::Idle || this.is_unwanted() {
        return;
    }
    let view = this.view();
    let is_squeezed = view.capacity < ::balance::CpuView::WHOLE * 100 / 117;
    if !may_kick(view.nr_runnable, is_squeezed, tick, NEXT_TICK.load(Ordering::Relaxed)) {
        return;
    }
    let Some(target) = cpu::idle().iter().next() else { return };
    let target = &cpu::all()[target];
    this.balance.lock().counters.kicks += 1;
    // Relaxed: the interrupt that follows orders it.
    target.is_kicked.store(true, Ordering::Relaxed);
    this.owe(Cost::IpiSend, 1);
    target.note_wake(now);
    lapic::send_reschedule(target.apic_id);
}

/// This CPU was interrupted by another one, perhaps to balance. No lock held.
pub(crate) fn on_kick(this: &Cpu) {
    if !is_on() || !this.is_kicked.swap(false, Ordering::Relaxed) || !this.is_unwanted() {
        return;
    }
    let now = this.local.with(|local| local.time.now());
    let tick = tick_number(now);
    let mut next_due = u64::MAX;
    let idle = cpu::idle();
    let mut at = None;
    while let Some(number) = next_idle(&idle, this.id as usize, at) {
        at = Some(number);
        let cpu = &cpu::all()[number];
        if cpu.is_unwanted() && tick >= cpu.balance.lock().next_tick {
            periodic::domains(this, cpu, tick, now, Moved::Nohz);
        }
        next_due = next_due.min(cpu.balance.lock().next_tick);
    }
    NEXT_TICK.store(next_due, Ordering::Relaxed);
}
