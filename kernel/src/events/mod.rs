//! One timer per CPU, many events: ticks, sleepers, ends of bursts, the slice timer.
//!
//! The timer is always set to the earliest. When it fires, what is due is handled in the order
//! of its times (and, at one time, in the order of [`Event`]), each at its own time. Once
//! something wants the CPU, handling stops with the last event of that time, so that it gets
//! the CPU then and not when whatever else came due meanwhile; the rest fires again right away.
//!
//! What comes first at one nanosecond, under the virtual clock:
//!
//! 1. Of two CPUs the one with the lower number, with all that it does at that time: its events in the
//!    order below, what its tasks do until they compute again, and its tick. What it makes another
//!    CPU do at the same time comes after. If that CPU's number is lower and it is through with that
//!    time, it acts a second time, and before what this one has left to do.
//! 2. On one CPU what others asked for (their wake-ups came before, by rule 1), then sleepers, then the
//!    end of the running task's computing with what the task does next, then the slice timer, then the
//!    tick, so that whoever runs after that nanosecond has the tick. [`Event`] has all of them.
//! 3. Sleepers of one time by the number of their task.
//!
//! Linux runs timers of one time in the order in which they were armed, and each CPU whenever its
//! interrupt comes: a sleeper's timer is mostly older than the tick's, which is armed anew at each
//! tick, so its order is mostly this one. Here it is always, or results would depend on history.
//!
//! In periodic mode the LAPIC makes the ticks by itself; everything else waits for the next one
//! and happens at its time, as timers do in a kernel without high-resolution timers.
//!
//! Runs in interrupt context, no lock held on entry; interrupts are let in between two events,
//! so that they are never off for longer the more tasks there are. Whatever comes in then, or
//! while an event's time holds, changes nothing: the timer is set again when time passes.

mod ticks;
mod timers;

pub(crate) use timers::Timers;

use crate::arch::clock;
use crate::cpu::{self, Cpu, Local};
use crate::irqsoff::{let_interrupts_in, wait_for_interrupt};
use crate::run;
use crate::sched::{self, tick, ttwu_queue, wakeup};
use crate::task;
use abi::{Clock, Cost, trace};
use eevdf::Wake;
use timers::Event;

/// The timer fired.
pub(crate) fn on_timer() {
    on_due(cpu::this());
}

/// Waits for whatever happens next on this CPU, while something `lasts`; may return before that
/// is over. Interrupts must be off.
///
/// Under the virtual clock what is due already is handled here and now. The tempting way, a timer
/// set to fire at once, costs the host two switches of threads for each event, several times
/// what handling it does.
pub(crate) fn wait(lasts: impl Fn() -> bool) {
    if is_due() {
        // Another CPU's request may be from before what is due here.
        let_interrupts_in();
        if !lasts() || !is_due() || on_due(cpu::this()) {
            return;
        }
        // It is another CPU's turn, which will tell.
    }
    wait_for_interrupt();
}

/// Whether something is due on this CPU for which no interrupt will come.
fn is_due() -> bool {
    cpu::this().local.with(|local| !local.time.is_held() && local.timers.is_due(clock::now_ns()))
}

/// Handles what is due; returns whether anything was.
fn on_due(cpu: &'static Cpu) -> bool {
    let begin_ns = if run::config().kernel_cost { clock::now_ns() } else { 0 };
    let Some(handled) = handle_due(cpu) else { return false };
    if run::config().kernel_cost && handled == Handled::Tick && !cpu.need_resched() {
        cpu.account.lock().tick_cost.record(clock::now_ns() - begin_ns);
    }
    sched::leave_interrupt(cpu);
    handled != Handled::Nothing
}

/// Another CPU asked this one to look: a task was put on its queue, or the run is set, or over.
pub(crate) fn on_reschedule() {
    let cpu = cpu::this();
    cpu.note_asked();
    cpu.account.lock().ipis += 1;
    let is_set = cpu.local.with(|local| {
        if run::take_over(local) {
            arm(local);
            return true;
        }
        local.timers.set_reschedule(cpu.wake_ns());
        false
    });
    if !is_set && handle_due(cpu).is_some() {
        sched::leave_interrupt(cpu);
    }
}

/// Sets the timer to the next event, where that changed.
#[inline]
pub(crate) fn arm(local: &mut Local) {
    local.timers.arm();
}

/// Lets interrupts in that leave everything to be handled later: between two steps of something
/// that is not finished. Interrupts must be off.
pub(crate) fn let_interrupts_wait(cpu: &Cpu) {
    cpu.local.with(|local| local.is_handling = true);
    let_interrupts_in();
    cpu.local.with(|local| local.is_handling = false);
}

/// What was handled at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Handled {
    Nothing,
    /// One tick and nothing else.
    Tick,
    Other,
}

/// What there is to do.
enum Next {
    /// Nothing that is due.
    Nothing,
    /// Something, but not before another CPU has acted.
    NotYet,
    /// This, which was due at `at_ns` and happens `now`; so many ticks were overtaken.
    Do { event: Event, at_ns: u64, now: u64, missed_ticks: u64 },
}

/// Handles what is due; nothing if it has to wait, for events that are being handled already or
/// until time passes. The timer will be set again then.
fn handle_due(cpu: &'static Cpu) -> Option<Handled> {
    let mut read_ns = clock::now_ns();
    let (mut found, is_periodic) = cpu.local.with(|local| {
        local.timers.disarm();
        if local.is_handling || local.time.is_held() {
            return None;
        }
        local.is_handling = true;
        let is_periodic = local.timers.is_periodic();
        Some((next(cpu, local, read_ns, is_periodic), is_periodic))
    })?;
    let mut handled = Handled::Nothing;
    loop {
        let (event, at_ns, now) = match found {
            Next::Do { event, at_ns, now, missed_ticks } => {
                if run::config().clock == Clock::Real || missed_ticks > 0 {
                    cpu.account.lock().timer_event(read_ns - at_ns, missed_ticks);
                }
                (event, at_ns, now)
            }
            Next::NotYet => {
                cpu.local.with(|local| local.is_handling = false);
                return Some(handled);
            }
            // Only the first time: what is left is seen below.
            Next::Nothing => {
                cpu.local.with(finish);
                return Some(handled);
            }
        };
        handle(cpu, event, now);
        handled = match (handled, event) {
            (Handled::Nothing, Event::Tick) => Handled::Tick,
            _ => Handled::Other,
        };
        let wants_cpu = cpu.need_resched();
        let is_done = cpu.local.with(|local| {
            // The task whose burst ended acts on it first. A periodic timer does not fire again
            // for what is left, so nothing may be.
            let stops = event == Event::BurstEnd || wants_cpu && local.timers.is_last_at(at_ns);
            // What is due later, though it is due, waits until this time has passed here: to ask
            // for the turn at another time gives this one up, and with it the order of what
            // other CPUs ask for.
            let until_ns = if is_ordered(is_periodic) { at_ns } else { read_ns };
            let is_more = local.timers.next_ns().is_some_and(|next_ns| next_ns <= until_ns);
            let is_done = stops && !is_periodic || !is_more;
            if is_done {
                finish(local);
            }
            is_done
        });
        if is_done {
            return Some(handled);
        }
        let_interrupts_in();
        read_ns = clock::now_ns();
        found = cpu.local.with(|local| next(cpu, local, read_ns, is_periodic));
    }
}

fn next(cpu: &Cpu, local: &mut Local, now_ns: u64, is_periodic: bool) -> Next {
    if is_ordered(is_periodic)
        && let Some(due_ns) = local.timers.next_ns().filter(|&at_ns| at_ns <= now_ns)
        && !cpu.take_turn(due_ns)
    {
        return Next::NotYet;
    }
    let Some((due_ns, event, missed_ticks)) = local.timers.take_due(now_ns) else {
        return Next::Nothing;
    };
    let at_ns = local.timers.happens_ns(due_ns, now_ns);
    local.time.begin_event(at_ns);
    Next::Do { event, at_ns, now: local.time.now(), missed_ticks }
}

/// Whether CPUs act in the order of their events. A periodic timer cannot fire again soon, so its CPUs
/// do not wait for each other.
fn is_ordered(is_periodic: bool) -> bool {
    run::config().clock == Clock::Virtual && !is_periodic
}

fn finish(local: &mut Local) {
    local.is_handling = false;
    arm(local);
}

fn handle(cpu: &'static Cpu, event: Event, now: u64) {
    match event {
        Event::Begin => {
            cpu.local.with(|local| local.timers.start_periodic());
            tick::begin(cpu, now);
            cpu.forget_costs();
            // Of a CPU that began before: its interrupt may have come together with the one that
            // set this run. What the tick took has passed.
            let now = cpu.local.with(|local| local.time.now());
            ttwu_queue::drain(cpu, now);
            cpu.set_need_resched();
        }
        // A request to choose again is made already.
        Event::Reschedule => {
            cpu.trace.write(cpu.wake_ns(), || trace::Event::IpiReceive);
            cpu.owe(Cost::IpiReceive, 1);
            ttwu_queue::drain(cpu, now);
            sched::on_kick(cpu);
        }
        Event::Wake => {
            let id = cpu.local.with(|local| local.timers.pop_sleeper());
            wakeup::wake(task::by_id(id), Wake::default());
        }
        Event::BurstEnd => {
            let id = cpu.current().expect("only a running task has a burst");
            task::by_id(id).burst.end();
        }
        Event::SliceTimer => tick::on_slice_timer(cpu, now),
        Event::Steal => tick::steal(cpu, now, run::config().steal.map_or(0, |steal| steal.time_ns)),
        Event::Tick => tick::tick(cpu, now),
        // What it was asked for, it does on the way out.
        Event::Awake => {}
        Event::Server => tick::on_server_timer(cpu, now),
        Event::End => run::end(cpu),
    }
}
