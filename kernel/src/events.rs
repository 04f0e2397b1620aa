//! One timer per CPU, many events: ticks, sleepers, ends of bursts, the slice timer.
//!
//! The timer is always set to the earliest. When it fires, what is due is handled in the order
//! of its times (and, at one time, in the order of [`Event`]), each at its own time. Once
//! something wants the CPU, handling stops with the last event of that time, so that it gets
//! the CPU then and not when whatever else came due meanwhile; the rest fires again right away.
//!
//! The n-th tick is due n / HZ seconds after the start, computed from n: no error adds up, at
//! any HZ. In periodic mode the LAPIC makes the ticks by itself; everything else waits for the
//! next one and happens at its time, as timers do in a kernel without high-resolution timers.
//!
//! Runs in interrupt context, no lock held on entry; interrupts are let in between two events, so
//! that they are never off for longer the more tasks there are. Whatever comes in then, or while
//! an event's time holds, changes nothing: the timer is set again when time passes.

use crate::arch::{clock, lapic};
use crate::cpu::{self, Cpu, Local};
use crate::irqsoff::let_interrupts_in;
use crate::run;
use crate::sched::{self, tick, wakeup};
use crate::task::{self, TaskId};
use abi::record::TimerMode;
use abi::{Clock, Scenario, TickMode};
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use eevdf::{Resched, Wake};

/// What can happen, in the order of precedence at one time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// The measured run begins.
    Begin,
    /// Another CPU put a task on the queue that should run.
    Reschedule,
    /// A sleeper wants up.
    Wake(TaskId),
    /// The running task has used the CPU time it wanted.
    BurstEnd,
    /// The hypervisor takes the CPU away.
    Steal,
    /// The slice timer (HRTICK).
    SliceTimer,
    Tick,
    /// The measured run ends; after a tick at the same time, which still counts.
    End,
}

/// A CPU's events.
#[derive(Debug)]
pub(crate) struct Timers {
    mode: TickMode,
    hz: u64,
    begin_ns: u64,
    has_begun: bool,
    end_ns: Option<u64>,
    steal_period_ns: Option<u64>,
    next_steal: u64,
    /// Number of the next tick, counted from the start; `None` while the tick is stopped.
    next_tick: Option<u64>,
    burst_end_ns: Option<u64>,
    /// Whether that is a time of the clock, not the end of a time of the task's own.
    is_burst_wall: bool,
    slice_end_ns: Option<u64>,
    sleepers: BinaryHeap<Reverse<(u64, TaskId)>>,
    /// When another CPU asked for a look at the queue.
    reschedule_ns: Option<u64>,
    armed_ns: Option<u64>,
}

impl Timers {
    /// Timers for a CPU on which up to `tasks` may sleep.
    pub(crate) fn new(scenario: &Scenario, tasks: usize) -> Self {
        Self {
            mode: scenario.tick,
            hz: scenario.hz.into(),
            steal_period_ns: scenario.steal.map(|steal| steal.period_ns),
            next_steal: 1,
            begin_ns: u64::MAX,
            has_begun: true,
            end_ns: None,
            next_tick: None,
            burst_end_ns: None,
            is_burst_wall: false,
            slice_end_ns: None,
            sleepers: BinaryHeap::with_capacity(tasks),
            reschedule_ns: None,
            armed_ns: None,
        }
    }

    /// Sets the run's start and end.
    pub(crate) fn set_run(&mut self, begin_ns: u64, end_ns: u64) {
        self.begin_ns = begin_ns;
        self.has_begun = false;
        self.end_ns = Some(end_ns);
    }

    /// Whether the run's start is known here.
    pub(crate) fn is_set(&self) -> bool {
        self.begin_ns != u64::MAX
    }

    /// Puts a task to sleep; the heap has room for all.
    pub(crate) fn add_sleeper(&mut self, at_ns: u64, task: TaskId) {
        self.sleepers.push(Reverse((at_ns, task)));
    }

    /// Brings the end forward.
    pub(crate) fn end_at(&mut self, at_ns: u64) {
        self.end_ns = self.end_ns.map(|end_ns| end_ns.min(at_ns));
    }

    /// Sets or clears the end of the running task's computing; `is_wall` if it is a time of the
    /// clock and not the end of a time of its own.
    pub(crate) fn set_burst_end(&mut self, at_ns: Option<u64>, is_wall: bool) {
        self.burst_end_ns = at_ns;
        self.is_burst_wall = is_wall;
    }

    pub(crate) fn burst_end_ns(&self) -> Option<u64> {
        self.burst_end_ns
    }

    /// Sets or clears the slice timer.
    pub(crate) fn set_slice_end(&mut self, at_ns: Option<u64>) {
        self.slice_end_ns = at_ns;
    }

    /// The running task lost this much time to an interrupt: what is measured in its own CPU
    /// time comes later.
    pub(crate) fn postpone(&mut self, ns: u64) {
        let burst_end = self.burst_end_ns.as_mut().filter(|_| !self.is_burst_wall);
        for end in burst_end.into_iter().chain(&mut self.slice_end_ns) {
            *end += ns;
        }
    }

    /// Stops the tick of a CPU that idles.
    pub(crate) fn stop_tick(&mut self) {
        if self.mode == TickMode::Oneshot {
            self.next_tick = None;
        }
    }

    /// Starts it again at the first tick after `now_ns`, in phase.
    pub(crate) fn restart_tick(&mut self, now_ns: u64) {
        if self.next_tick.is_none() && self.has_begun {
            self.next_tick = Some(self.ticks_until(now_ns) + 1);
        }
    }

    /// Whether the timer fires by itself, at every tick and at nothing else.
    fn is_periodic(&self) -> bool {
        self.mode == TickMode::Periodic && self.has_begun && self.is_set()
    }

    /// When something happens that was to happen at `at_ns` and is handled at `now_ns`.
    fn happens_ns(&self, at_ns: u64, now_ns: u64) -> u64 {
        if self.is_periodic() { self.tick_ns(self.ticks_until(now_ns)).max(at_ns) } else { at_ns }
    }

    /// When time is stolen next.
    fn steal_ns(&self) -> Option<u64> {
        let period_ns = self.steal_period_ns.filter(|_| self.has_begun && self.is_set())?;
        Some(self.begin_ns + self.next_steal * period_ns)
    }

    fn tick_ns(&self, number: u64) -> u64 {
        self.begin_ns + (u128::from(number) * 1_000_000_000 / u128::from(self.hz)) as u64
    }

    /// Whether a tick that is due at that time has not been handled yet.
    pub(crate) fn is_tick_due_at(&self, ns: u64) -> bool {
        self.next_tick.is_some_and(|number| self.tick_ns(number) == ns)
    }

    /// The first tick that is not before a time.
    pub(crate) fn tick_at_or_after_ns(&self, ns: u64) -> u64 {
        let last = self.ticks_until(ns);
        if self.tick_ns(last) < ns { self.tick_ns(last + 1) } else { self.tick_ns(last) }
    }

    /// The number of the last tick that is due at `now_ns`.
    fn ticks_until(&self, now_ns: u64) -> u64 {
        let since = u128::from(now_ns.saturating_sub(self.begin_ns));
        // The inverse of the rounding in `tick_ns`: the least number whose time is past, less 1.
        ((since * u128::from(self.hz) + u128::from(self.hz) - 1) / 1_000_000_000) as u64
    }

    /// Whether nothing else happens at that time, but perhaps the end of the run: a stint that
    /// is over by then is not cut.
    fn is_last_at(&self, at_ns: u64) -> bool {
        self.next().is_none_or(|(next_ns, event)| next_ns > at_ns || event == Event::End)
    }

    /// When the next event is due.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.next().map(|(at, _)| at)
    }

    fn next(&self) -> Option<(u64, Event)> {
        [
            (!self.has_begun).then_some((self.begin_ns, Event::Begin)),
            self.reschedule_ns.map(|at| (at, Event::Reschedule)),
            self.sleepers.peek().map(|&Reverse((at, task))| (at, Event::Wake(task))),
            self.burst_end_ns.map(|at| (at, Event::BurstEnd)),
            self.slice_end_ns.map(|at| (at, Event::SliceTimer)),
            self.steal_ns().map(|at| (at, Event::Steal)),
            self.next_tick.map(|number| (self.tick_ns(number), Event::Tick)),
            self.end_ns.filter(|_| self.has_begun).map(|at| (at, Event::End)),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Takes the next event off, if it is due at `now_ns`; with how many ticks it skips.
    fn take_due(&mut self, now_ns: u64) -> Option<(u64, Event, u64)> {
        let (at, event) = self.next().filter(|&(at, _)| at <= now_ns)?;
        let mut missed = 0;
        match event {
            Event::Begin => {
                self.has_begun = true;
                self.next_tick = Some(1);
            }
            Event::Reschedule => self.reschedule_ns = None,
            Event::Wake(_) => {
                self.sleepers.pop();
            }
            Event::BurstEnd => self.burst_end_ns = None,
            Event::Steal => self.next_steal += 1,
            Event::SliceTimer => self.slice_end_ns = None,
            Event::Tick => {
                let number = self.next_tick.expect("it is the next event");
                // A tick that comes a whole period late stands for those it overtook.
                let last = self.ticks_until(now_ns).max(number);
                missed = last - number;
                self.next_tick = Some(last + 1);
            }
            Event::End => self.end_ns = None,
        }
        Some((at, event, missed))
    }
}

/// The timer fired.
pub(crate) fn on_timer() {
    let cpu = cpu::this();
    if is_busy(cpu) {
        return;
    }
    let begin_ns = if run::config().kernel_cost { clock::now_ns() } else { 0 };
    let handled = handle_due(cpu);
    if run::config().kernel_cost && handled == Handled::Tick && !cpu.need_resched() {
        cpu.account.lock().tick_cost.record(clock::now_ns() - begin_ns);
    }
    sched::leave_interrupt();
}

/// What was handled at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Handled {
    Nothing,
    /// One tick and nothing else.
    Tick,
    Other,
}

/// Whether what is due here has to wait: for other events that are being handled, or until time
/// passes. The timer will be set again then.
fn is_busy(cpu: &Cpu) -> bool {
    cpu.local.with(|local| {
        let is_busy = local.is_handling || local.time.is_held();
        if is_busy {
            local.timers.armed_ns = None;
        }
        is_busy
    })
}

fn handle_due(cpu: &'static Cpu) -> Handled {
    let mut handled = Handled::Nothing;
    let is_periodic = cpu.local.with(|local| {
        local.timers.armed_ns = None;
        local.is_handling = true;
        local.timers.is_periodic()
    });
    // A periodic timer cannot fire again soon, so its CPUs do not wait for each other.
    let is_ordered = run::config().clock == Clock::Virtual && !is_periodic;
    loop {
        let read_ns = clock::now_ns();
        let due_ns = cpu.local.with(|local| local.timers.next_ns()).filter(|&at| at <= read_ns);
        if let Some(due_ns) = due_ns.filter(|_| is_ordered) {
            cpu.set_acts(due_ns);
            if !cpu.is_turn(due_ns) {
                cpu.local.with(|local| local.is_handling = false);
                return handled;
            }
        }
        let due = cpu.local.with(|local| {
            let (at_ns, event, missed) = local.timers.take_due(read_ns)?;
            let happens_ns = local.timers.happens_ns(at_ns, read_ns);
            local.time.begin_event(happens_ns);
            Some((happens_ns, event, missed))
        });
        let Some((happens_ns, event, missed)) = due else { break };
        cpu.account.lock().timer_event(read_ns - happens_ns, missed);
        handle(cpu, event);
        handled = match (handled, event) {
            (Handled::Nothing, Event::Tick) => Handled::Tick,
            _ => Handled::Other,
        };
        // The task whose burst ended acts on it first. A periodic timer does not fire again for
        // what is left, so nothing may be.
        let is_last = cpu.local.with(|local| local.timers.is_last_at(happens_ns));
        let stops = event == Event::BurstEnd || cpu.need_resched() && is_last;
        if stops && !is_periodic {
            break;
        }
        let_interrupts_in();
    }
    cpu.local.with(|local| {
        local.is_handling = false;
        arm(local);
    });
    handled
}

fn handle(cpu: &'static Cpu, event: Event) {
    match event {
        Event::Begin => {
            cpu.local.with(|local| local.timers.start_periodic());
            tick::begin(cpu);
            cpu.set_need_resched();
        }
        // The request is made already.
        Event::Reschedule => {}
        Event::Wake(id) => wakeup::wake(task::by_id(id), Wake::default()),
        Event::BurstEnd => {
            let id = cpu.current().expect("only a running task has a burst");
            task::by_id(id).burst.end();
        }
        Event::SliceTimer => {
            let now = cpu.local.with(|local| local.time.now());
            let mut rq = cpu.rq.lock();
            rq.advance(now);
            let task_ns = rq.task_ns();
            if rq.fair.hrtick(task_ns) != Resched::No {
                rq.request_resched(cpu, crate::sched::Why::Slice);
            }
        }
        Event::Steal => tick::steal(cpu, run::config().steal.map_or(0, |steal| steal.time_ns)),
        Event::Tick => tick::tick(cpu),
        Event::End => run::end(cpu),
    }
}

impl Timers {
    fn start_periodic(&mut self) {
        if self.mode == TickMode::Periodic {
            lapic::set_mode(TimerMode::Periodic);
            lapic::set_timer(0, clock::timer_counts(1_000_000_000 / self.hz));
        }
    }
}

/// Another CPU asked this one to look: a task was put on its queue, or the run is set, or over.
pub(crate) fn on_reschedule() {
    let cpu = cpu::this();
    cpu.account.lock().ipis += 1;
    let is_set = cpu.local.with(|local| {
        if run::take_over(local) {
            arm(local);
            return true;
        }
        local.timers.reschedule_ns = Some(cpu.wake_ns());
        false
    });
    if !is_set && !is_busy(cpu) {
        handle_due(cpu);
        sched::leave_interrupt();
    }
}

/// Sets the timer to the next event, where that changed.
pub(crate) fn arm(local: &mut Local) {
    let timers = &mut local.timers;
    if timers.is_periodic() {
        return;
    }
    let next = timers.next_ns();
    if timers.armed_ns == next {
        return;
    }
    timers.armed_ns = next;
    match next {
        Some(at) => {
            let distance = at.saturating_sub(clock::now_ns());
            lapic::set_timer(clock::cycles_at(at), clock::timer_counts(distance));
        }
        None => lapic::stop_timer(),
    }
}
