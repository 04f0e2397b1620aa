//! When each kind of event happens next on a CPU.

use super::ticks::{Tick, Ticks};
use crate::arch::{clock, lapic};
use crate::task::TaskId;
use abi::record::TimerMode;
use abi::{Burn, Clock, Scenario, TickMode};
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

/// What can happen, in the order of precedence at one time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Event {
    /// The measured run begins.
    Begin,
    /// Another CPU put a task on the queue that should run.
    Reschedule,
    /// A sleeper wants up.
    Wake,
    /// The running task has computed as long as it wanted.
    BurstEnd,
    /// The hypervisor takes the CPU away.
    Steal,
    /// The slice timer (HRTICK).
    SliceTimer,
    Tick,
    /// A CPU that idled is awake; after whatever woke it.
    Awake,
    /// The deadline server has something to do; after a tick at the same time, which charges it.
    Server,
    /// The measured run ends; after a tick at the same time, which still counts.
    End,
}

impl Event {
    const ALL: [Self; 10] = [
        Self::Begin,
        Self::Reschedule,
        Self::Wake,
        Self::BurstEnd,
        Self::Steal,
        Self::SliceTimer,
        Self::Tick,
        Self::Awake,
        Self::Server,
        Self::End,
    ];
}

/// When an event is due, and which one it is, in one number: the least of several is what comes
/// first, and of what is due at one time that with precedence. Times end after 36 years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Due(u64);

impl Due {
    const EVENT_BITS: u32 = 4;

    const fn new(event: Event, at_ns: u64) -> Self {
        let at_ns = if at_ns < NEVER { at_ns } else { NEVER };
        Self(at_ns << Self::EVENT_BITS | event as u64)
    }

    const fn at_ns(self) -> u64 {
        self.0 >> Self::EVENT_BITS
    }

    const fn event(self) -> Event {
        Event::ALL[(self.0 & ((1 << Self::EVENT_BITS) - 1)) as usize]
    }
}

/// Of an event that is not to come.
const NEVER: u64 = u64::MAX >> Due::EVENT_BITS;

/// A CPU's events.
#[derive(Debug)]
pub(crate) struct Timers {
    /// By [`Event`]; at [`NEVER`] if it is not to come.
    due: [Due; Event::ALL.len()],
    /// The least of them.
    first: Due,
    mode: TickMode,
    hz: u32,
    ticks: Ticks,
    /// The tick that comes next, or came last while it is stopped.
    tick: Tick,
    /// When the run ends; an event only once it has begun.
    end_ns: u64,
    steal_period_ns: Option<u64>,
    /// Whether a tick can come too late to be handled.
    loses_ticks: bool,
    /// Whether the end of computing is a time of the clock, not of the task's own.
    is_burst_wall: bool,
    sleepers: BinaryHeap<Reverse<(u64, TaskId)>>,
    /// What the hardware is set to.
    armed_ns: Option<u64>,
}

impl Timers {
    /// Timers for a CPU on which up to `tasks` may sleep.
    pub(crate) fn new(scenario: &Scenario, tasks: usize) -> Self {
        let ticks = Ticks::new(scenario.hz, NEVER);
        Self {
            due: Event::ALL.map(|event| Due::new(event, NEVER)),
            first: Due::new(Event::Begin, NEVER),
            mode: scenario.tick,
            hz: scenario.hz,
            ticks,
            tick: ticks.nth(0),
            end_ns: NEVER,
            steal_period_ns: scenario.steal.map(|steal| steal.period_ns),
            loses_ticks: scenario.clock == Clock::Real || scenario.burn == Burn::Spin,
            is_burst_wall: false,
            sleepers: BinaryHeap::with_capacity(tasks),
            armed_ns: None,
        }
    }

    /// Sets the run's start and end.
    pub(crate) fn set_run(&mut self, begin_ns: u64, end_ns: u64) {
        self.ticks = Ticks::new(self.hz, begin_ns);
        self.end_ns = end_ns;
        self.set(Event::Begin, begin_ns);
    }

    /// Whether the run's start is known here.
    pub(crate) fn is_set(&self) -> bool {
        self.end_ns != NEVER
    }

    /// Whether the run has begun here, and is not over.
    fn is_running(&self) -> bool {
        self.at(Event::End) != NEVER
    }

    /// Brings the end forward.
    pub(crate) fn end_at(&mut self, at_ns: u64) {
        self.end_ns = self.end_ns.min(at_ns);
        if self.is_running() {
            self.set(Event::End, self.end_ns);
        }
    }

    /// Puts a task to sleep; the heap has room for all.
    pub(crate) fn add_sleeper(&mut self, at_ns: u64, task: TaskId) {
        self.sleepers.push(Reverse((at_ns, task)));
        self.set_wake();
    }

    /// Takes the sleeper off that wakes first.
    pub(super) fn pop_sleeper(&mut self) -> TaskId {
        let Reverse((_, task)) = self.sleepers.pop().expect("a wake-up is a sleeper's");
        self.set_wake();
        task
    }

    fn set_wake(&mut self) {
        let first = self.sleepers.peek();
        self.set(Event::Wake, first.map_or(NEVER, |&Reverse((at_ns, _))| at_ns));
    }

    /// Another CPU asked at that time for a look at the queue.
    pub(super) fn set_reschedule(&mut self, at_ns: u64) {
        self.set(Event::Reschedule, at_ns);
    }

    /// Sets or clears the end of the running task's computing; `is_wall` if it is a time of the
    /// clock and not the end of a time of its own.
    pub(crate) fn set_burst_end(&mut self, at_ns: Option<u64>, is_wall: bool) {
        self.set(Event::BurstEnd, at_ns.unwrap_or(NEVER));
        self.is_burst_wall = is_wall;
    }

    /// The end of the running task's computing.
    pub(crate) fn burst_end_ns(&self) -> Option<u64> {
        Some(self.at(Event::BurstEnd)).filter(|&at_ns| at_ns != NEVER)
    }

    /// Sets or clears the slice timer.
    pub(crate) fn set_slice_end(&mut self, at_ns: Option<u64>) {
        self.set(Event::SliceTimer, at_ns.unwrap_or(NEVER));
    }

    /// Sets or clears the time at which the deadline server wants to be asked.
    pub(crate) fn set_server(&mut self, at_ns: Option<u64>) {
        self.set(Event::Server, at_ns.unwrap_or(NEVER));
    }

    /// Sets when an idle CPU that was asked to reschedule is awake.
    pub(crate) fn set_awake(&mut self, at_ns: u64) {
        self.set(Event::Awake, at_ns);
    }

    /// The running task computes that much longer, if for a time of its own.
    pub(crate) fn prolong_burst(&mut self, ns: u64) {
        if let Some(end_ns) = self.burst_end_ns().filter(|_| !self.is_burst_wall) {
            self.set(Event::BurstEnd, end_ns + ns);
        }
    }

    /// The running task lost this much time to an interrupt, up to `end_ns`: what is measured in its
    /// own CPU time comes later. The slice timer measures the clock's, but cannot interrupt an
    /// interrupt.
    pub(crate) fn postpone(&mut self, ns: u64, end_ns: u64) {
        let burst_end_ns = self.at(Event::BurstEnd);
        if !self.is_burst_wall && burst_end_ns != NEVER {
            self.set(Event::BurstEnd, burst_end_ns + ns);
        }
        if self.at(Event::SliceTimer) < end_ns {
            self.set(Event::SliceTimer, end_ns);
        }
    }

    /// Stops the tick of a CPU that idles.
    pub(crate) fn stop_tick(&mut self) {
        if self.mode == TickMode::Oneshot {
            self.set(Event::Tick, NEVER);
        }
    }

    /// Starts it again at the first tick after `now_ns`, in phase.
    pub(crate) fn restart_tick(&mut self, now_ns: u64) {
        if self.at(Event::Tick) == NEVER && self.is_running() {
            self.set_tick(self.ticks.after(self.ticks.last_until(now_ns)));
        }
    }

    fn set_tick(&mut self, tick: Tick) {
        self.tick = tick;
        self.set(Event::Tick, tick.at_ns);
    }

    /// Whether a tick that is due at that time has not been handled yet.
    pub(crate) fn is_tick_due_at(&self, ns: u64) -> bool {
        self.at(Event::Tick) == ns
    }

    /// The first tick that is not before a time.
    pub(crate) fn tick_at_or_after_ns(&self, ns: u64) -> u64 {
        let last = self.ticks.last_until(ns);
        if last.at_ns < ns { self.ticks.after(last).at_ns } else { last.at_ns }
    }

    /// Whether the timer fires by itself, at every tick and at nothing else.
    pub(super) fn is_periodic(&self) -> bool {
        self.mode == TickMode::Periodic && self.is_running()
    }

    /// When something happens that was to happen at `at_ns` and is handled at `now_ns`.
    pub(super) fn happens_ns(&self, at_ns: u64, now_ns: u64) -> u64 {
        match self.is_periodic() {
            true => self.ticks.last_until(now_ns).at_ns.max(at_ns),
            false => at_ns,
        }
    }

    /// Whether nothing else happens at that time, but perhaps the end of the run: a stint that
    /// is over by then is not cut.
    pub(super) fn is_last_at(&self, at_ns: u64) -> bool {
        self.first.at_ns() > at_ns || self.first.event() == Event::End
    }

    /// When the next event is due.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        Some(self.first.at_ns()).filter(|&at_ns| at_ns != NEVER)
    }

    /// Whether something is due for which the hardware is not set: whoever waits on this CPU
    /// looks first. Not where a task spins, nor where times are read when they are needed.
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        let is_looked_for = !self.loses_ticks && self.mode == TickMode::Oneshot;
        is_looked_for && self.first.at_ns() <= now_ns
    }

    /// Takes the next event off, if it is due at `now_ns`; with how many ticks it skips.
    pub(super) fn take_due(&mut self, now_ns: u64) -> Option<(u64, Event, u64)> {
        let (event, at_ns) = (self.first.event(), self.first.at_ns());
        if at_ns > now_ns {
            return None;
        }
        let mut missed = 0;
        match event {
            Event::Begin => {
                self.set(event, NEVER);
                self.set(Event::End, self.end_ns);
                self.set_tick(self.ticks.nth(1));
                if let Some(period_ns) = self.steal_period_ns {
                    self.set(Event::Steal, at_ns + period_ns);
                }
            }
            // Its sleeper is taken off by `pop_sleeper`.
            Event::Wake => {}
            Event::Steal => self.set(event, at_ns + self.steal_period_ns.unwrap_or(NEVER)),
            Event::Tick => {
                let mut next = self.ticks.after(self.tick);
                // A tick that comes a whole period late stands for those it overtook. Not where
                // events carry their own time: however late they are handled, none is lost.
                if self.loses_ticks && next.at_ns <= now_ns {
                    next = self.ticks.after(self.ticks.last_until(now_ns));
                    missed = next.number - self.tick.number - 1;
                }
                self.set_tick(next);
            }
            Event::Reschedule
            | Event::BurstEnd
            | Event::SliceTimer
            | Event::Awake
            | Event::Server
            | Event::End => {
                self.set(event, NEVER);
            }
        }
        Some((at_ns, event, missed))
    }

    fn at(&self, event: Event) -> u64 {
        self.due[event as usize].at_ns()
    }

    fn set(&mut self, event: Event, at_ns: u64) {
        let (due, was) = (Due::new(event, at_ns), self.due[event as usize]);
        // Switches set what mostly is not there and was not.
        if due == was {
            return;
        }
        self.due[event as usize] = due;
        if due < self.first {
            self.first = due;
        } else if was == self.first {
            self.first = self.due.into_iter().fold(due, Ord::min);
        }
    }

    /// Starts the periodic timer, where that is how ticks are made.
    pub(super) fn start_periodic(&mut self) {
        if self.mode == TickMode::Periodic {
            lapic::set_mode(TimerMode::Periodic);
            lapic::set_timer(0, clock::timer_counts(1_000_000_000 / u64::from(self.hz)));
        }
    }

    /// Sets the hardware to the next event, where that changed.
    #[inline]
    pub(super) fn arm(&mut self) {
        let next = self.next_ns();
        if self.armed_ns != next && !self.is_periodic() {
            self.arm_for(next);
        }
    }

    fn arm_for(&mut self, next: Option<u64>) {
        let now_ns = clock::now_ns();
        if self.is_due(now_ns) {
            return;
        }
        self.armed_ns = next;
        match next {
            Some(at_ns) => {
                let distance = at_ns.saturating_sub(now_ns);
                lapic::set_timer(clock::cycles_at(at_ns), clock::timer_counts(distance));
            }
            None => lapic::stop_timer(),
        }
    }

    /// The hardware fired, or is to be set again whatever it is set to.
    pub(super) fn disarm(&mut self) {
        self.armed_ns = None;
    }
}
