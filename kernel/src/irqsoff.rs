//! Interrupts on and off, and for how long at most (Linux: the `irqsoff` tracer).
//!
//! A section with interrupts off begins where they are turned off or one comes in, and ends
//! where they are let in again; a switch in between does not end it. Each CPU has its own, under
//! no lock. Measured only where the scenario asks for it: every border then reads the counter.

use crate::arch::{self, clock};
use crate::{cpu, run};

/// The sections of one CPU.
#[derive(Debug, Default)]
pub(crate) struct IrqsOff {
    /// When the one in progress began, by the counter; none before the CPU first waits.
    since_ns: Option<u64>,
    pub(crate) longest_ns: u64,
}

/// [`arch::wait_for_interrupt`], between two sections.
pub(crate) fn wait_for_interrupt() {
    ends();
    arch::wait_for_interrupt();
    begins();
}

/// [`arch::let_interrupts_in`], between two sections.
pub(crate) fn let_interrupts_in() {
    // Between any two operations of a task: one question, not two.
    if !run::config().kernel_cost {
        return arch::let_interrupts_in();
    }
    ends();
    arch::let_interrupts_in();
    begins();
}

/// Turns interrupts on for good.
pub(crate) fn interrupts_on() {
    ends();
    arch::interrupts_on();
}

/// Turns them off again.
pub(crate) fn interrupts_off() {
    arch::interrupts_off();
    begins();
}

/// Around what an interrupt does.
pub(crate) fn in_interrupt(work: impl FnOnce()) {
    begins();
    work();
    // Perhaps on another CPU, and long after: what lies in between belongs to others.
    ends();
}

fn begins() {
    if run::config().kernel_cost {
        cpu::this().local.with(|local| local.irqsoff.since_ns = Some(clock::now_ns()));
    }
}

fn ends() {
    if run::config().kernel_cost {
        cpu::this().local.with(|local| {
            let irqsoff = &mut local.irqsoff;
            if let Some(since_ns) = irqsoff.since_ns.take() {
                irqsoff.longest_ns = irqsoff.longest_ns.max(clock::now_ns() - since_ns);
            }
        });
    }
}
