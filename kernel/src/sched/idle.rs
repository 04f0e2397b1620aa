//! A CPU without a task, and its way back to one.
//!
//! Where leaving idleness takes time (a deep idle state, or interrupts and locks that are still to
//! be paid), the CPU switches that much later than it was asked to. Whoever is queued meanwhile
//! waits for it: others see a CPU with work, as they do in Linux. Idleness begins once what was
//! owed before is paid.

use super::schedule::{Leave, may_grant, schedule};
use crate::costs;
use crate::cpu::{Cpu, Local};
use crate::events;
use abi::Cost;

/// How far a CPU is on its way; its own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Idling {
    /// Up to when it is busy with what it owed as it went idle, ns.
    busy_until_ns: u64,
    /// When it is awake, if it was asked to reschedule.
    awake_ns: Option<u64>,
}

/// What a CPU does without a task. Interrupts must be off.
pub(crate) fn idle_loop(cpu: &'static Cpu) -> ! {
    loop {
        if may_grant(cpu) {
            schedule(Leave::Preempted);
        }
        idle_on(cpu);
        events::wait(|| !may_grant(cpu));
    }
}

/// Lets the time of a CPU without a task go on.
pub(super) fn idle_on(cpu: &Cpu) {
    let owed_ns = cpu.debt.take();
    cpu.local.with(|local| {
        if owed_ns > 0 {
            let now = local.time.now();
            local.idling.busy_until_ns = local.idling.busy_until_ns.max(now) + owed_ns;
        }
        if local.time.is_held() {
            local.let_time_pass(cpu);
        }
    });
}

/// Whether a CPU that is asked to reschedule idles and is not awake yet; its timer will tell.
pub(super) fn is_waking_up(cpu: &Cpu) -> bool {
    if !costs::are_charged() || cpu.current().is_some() {
        return false;
    }
    let owed_ns = cpu.debt.take();
    cpu.local.with(|local| {
        let now = local.time.now();
        let Idling { busy_until_ns, awake_ns } = local.idling;
        let begins_ns = || busy_until_ns.max(now) + costs::of(Cost::IdleExit);
        let awake_ns = awake_ns.unwrap_or_else(begins_ns) + owed_ns;
        local.idling.awake_ns = Some(awake_ns);
        let is_early = now < awake_ns;
        if is_early {
            local.timers.set_awake(awake_ns);
            events::arm(local);
        }
        is_early
    })
}

/// The CPU has chosen: it idles from here on, or has a task.
pub(super) fn note_choice(local: &mut Local) {
    local.idling.awake_ns = None;
}
