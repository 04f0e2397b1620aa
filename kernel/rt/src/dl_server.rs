//! The fair deadline server of one CPU: what it guarantees fair tasks beside real-time ones.
//!
//! A budget for each period, spent by whatever fair tasks run. The server waits as long as it can
//! still give what is left of the budget before the deadline; if fair tasks wait even then, they
//! go before everybody until the budget is spent.
//!
//! ```text
//!           start                    deadline - budget, fair tasks wait
//! Stopped ─────────► Deferred ──────────────────────────────────────────► Active
//!    ▲                │  ▲ │ spent without the server:                     │  ▲
//!    └── stop ────────┘  │ └ a new period begins                    spent │  │ deadline,
//!                        │                                                ▼  │ fair tasks wait
//!                        └─────────── fair tasks ran ─────────────── Throttled
//! ```
//!
//! 1. Time is the time of day; what fair tasks used is by the task clock.
//! 2. A budget that was overdrawn, since only ticks notice, is taken from the next one.
//! 3. Once active the server does not wait again in later periods, until fair tasks run by
//!    themselves or it stops. (From memory of Linux's state machine, not checked against a tree.)
//!
//! Source: "sched/fair: Add trivial fair server", "sched/deadline: Deferrable dl server";
//! "sched/deadline: Less agressive dl_server handling" for [`Stop::Lazy`].

/// When the server of a CPU without fair tasks stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// With the last of them (up to 6.16).
    Eager,
    /// After a whole period without one (since 6.17).
    Lazy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Stopped,
    Deferred,
    Active,
    Throttled,
}

/// A CPU's server.
#[derive(Clone, Debug)]
pub struct DlServer {
    stop: Stop,
    runtime_ns: u64,
    period_ns: u64,
    state: State,
    /// What is left; less than nothing if overdrawn.
    budget_ns: i64,
    deadline_ns: u64,
    /// Whether there was a fair task since the period began.
    saw_fair: bool,
}

impl DlServer {
    /// A stopped server that guarantees `runtime_ns` of each `period_ns`.
    ///
    /// # Panics
    /// If that is more than there is.
    pub fn new(stop: Stop, runtime_ns: u64, period_ns: u64) -> Self {
        assert!(runtime_ns <= period_ns, "{runtime_ns} ns cannot be had of {period_ns} ns");
        let state = State::Stopped;
        let (budget_ns, deadline_ns) = (0, 0);
        Self { stop, runtime_ns, period_ns, state, budget_ns, deadline_ns, saw_fair: false }
    }

    /// Whether fair tasks go before real-time ones.
    pub fn is_active(&self) -> bool {
        self.state == State::Active
    }

    /// The first fair task became runnable; returns whether that started the server.
    pub fn fair_arrives(&mut self, now_ns: u64) -> bool {
        self.saw_fair = true;
        if self.state != State::Stopped {
            return false;
        }
        if self.needs_new_period(now_ns) {
            self.begin_period(now_ns);
        }
        self.state = State::Deferred;
        true
    }

    /// The last fair task stopped being runnable; returns whether that stopped the server.
    pub fn fair_leaves(&mut self) -> bool {
        match (self.stop, self.state) {
            (Stop::Eager, state) => {
                self.state = State::Stopped;
                return state != State::Stopped;
            }
            (Stop::Lazy, State::Active) => {
                // What is left is forfeited until the next period.
                self.budget_ns = self.budget_ns.min(0);
                self.state = State::Throttled;
            }
            (Stop::Lazy, _) => {}
        }
        false
    }

    /// Fair tasks ran for so long, up to now; returns whether their turn is over by that.
    pub fn charge(&mut self, ran_ns: u64, now_ns: u64) -> bool {
        if ran_ns == 0 || self.state == State::Stopped {
            return false;
        }
        self.saw_fair = true;
        self.budget_ns = self.budget_ns.saturating_sub_unsigned(ran_ns);
        if self.budget_ns > 0 {
            return false;
        }
        match self.state {
            State::Active => {
                self.state = State::Throttled;
                true
            }
            // They got it all without help.
            State::Deferred | State::Throttled => {
                self.begin_period(now_ns);
                self.state = State::Deferred;
                false
            }
            State::Stopped => false,
        }
    }

    /// When [`Self::on_timer`] has something to do.
    pub fn timer_ns(&self) -> Option<u64> {
        match self.state {
            State::Stopped | State::Active => None,
            State::Deferred => Some(self.latest_start_ns()),
            State::Throttled => Some(self.deadline_ns),
        }
    }

    /// The timer fired, with fair tasks runnable or without; returns whether it is the turn of
    /// fair tasks from now on.
    pub fn on_timer(&mut self, has_fair: bool, now_ns: u64) -> bool {
        if self.timer_ns().is_none_or(|at_ns| at_ns > now_ns) {
            return false;
        }
        if self.state == State::Throttled {
            self.replenish(now_ns);
        } else if !has_fair {
            self.begin_period(now_ns);
        }
        self.state = match (has_fair, self.saw_fair) {
            (true, _) => State::Active,
            (false, true) => State::Deferred,
            (false, false) => State::Stopped,
        };
        self.saw_fair = has_fair;
        has_fair
    }

    /// The time at which the rest of the budget just fits.
    fn latest_start_ns(&self) -> u64 {
        self.deadline_ns.saturating_add_signed(-self.budget_ns)
    }

    /// Whether what is left cannot be kept: it would be more than the server's part of the time
    /// up to the deadline (the rule of the constant bandwidth server).
    fn needs_new_period(&self, now_ns: u64) -> bool {
        let left_ns = self.deadline_ns.saturating_sub(now_ns);
        let budget_ns = i128::from(self.budget_ns);
        budget_ns <= 0
            || budget_ns * i128::from(self.period_ns)
                > i128::from(left_ns) * i128::from(self.runtime_ns)
    }

    fn begin_period(&mut self, now_ns: u64) {
        self.deadline_ns = now_ns + self.period_ns;
        self.budget_ns = self.runtime_ns as i64;
    }

    /// The next period follows the last one, as often as it takes to pay back.
    fn replenish(&mut self, now_ns: u64) {
        while self.budget_ns <= 0 {
            self.deadline_ns += self.period_ns;
            self.budget_ns += self.runtime_ns as i64;
        }
        if self.deadline_ns <= now_ns {
            self.begin_period(now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn server(stop: Stop) -> DlServer {
        DlServer::new(stop, 50 * MS, 1000 * MS)
    }

    /// Fair tasks that always want to run beside a real-time one that never sleeps, with a tick
    /// each millisecond; returns when they ran, in ms.
    fn starved(server: &mut DlServer, until_ms: u64) -> (u64, std::vec::Vec<u64>) {
        server.fair_arrives(0);
        let mut ran = std::vec::Vec::new();
        for ms in 1..=until_ms {
            if server.is_active() {
                ran.push(ms - 1);
                server.charge(MS, ms * MS);
            }
            while server.timer_ns().is_some_and(|at_ns| at_ns <= ms * MS) {
                server.on_timer(true, ms * MS);
            }
        }
        (ran.len() as u64, ran)
    }

    #[test]
    fn the_starved_get_their_part_at_the_end_of_the_first_period_and_of_each_one_after() {
        for stop in [Stop::Eager, Stop::Lazy] {
            let (total, ran) = starved(&mut server(stop), 10_000);
            assert_eq!(total, 500, "{stop:?}");
            assert_eq!((ran[0], ran[99]), (950, 1049), "{stop:?}");
            assert_eq!((ran[100], ran[150]), (2000, 3000), "{stop:?}");
        }
    }

    #[test]
    fn what_runs_by_itself_needs_no_server() {
        let mut server = server(Stop::Lazy);
        server.fair_arrives(0);
        for ms in 1..=10_000 {
            assert!(!server.charge(MS, ms * MS));
            assert!(server.timer_ns().expect("armed") > ms * MS, "at {ms} ms");
        }
        assert!(!server.is_active());
    }

    #[test]
    fn what_was_overdrawn_is_paid_back() {
        let mut server = server(Stop::Lazy);
        server.fair_arrives(0);
        assert!(server.on_timer(true, 950 * MS));
        assert!(server.charge(54 * MS, 1004 * MS));
        assert_eq!(server.timer_ns(), Some(1000 * MS));
        assert!(server.on_timer(true, 1004 * MS));
        assert!(!server.charge(45 * MS, 1049 * MS));
        assert!(server.charge(MS, 1050 * MS), "46 ms are left of the second budget");
    }

    #[test]
    fn eager_stops_with_the_last_task_and_keeps_what_was_left() {
        let mut server = server(Stop::Eager);
        server.fair_arrives(0);
        server.charge(10 * MS, 10 * MS);
        server.fair_leaves();
        assert_eq!(server.timer_ns(), None);
        // 40 ms until 1000 ms are within the part of the time.
        server.fair_arrives(100 * MS);
        assert_eq!(server.timer_ns(), Some(960 * MS));
        server.fair_leaves();
        // 40 ms in 100 ms are not.
        server.fair_arrives(900 * MS);
        assert_eq!(server.timer_ns(), Some(1850 * MS));
    }

    #[test]
    fn lazy_stops_after_a_period_without_a_task() {
        let mut server = server(Stop::Lazy);
        server.fair_arrives(0);
        server.fair_leaves();
        assert_eq!(server.timer_ns(), Some(950 * MS));
        assert!(!server.on_timer(false, 950 * MS), "it saw a task in this period");
        assert_eq!(server.timer_ns(), Some(1900 * MS));
        assert!(!server.on_timer(false, 1900 * MS));
        assert_eq!(server.timer_ns(), None, "a whole period had none");
        server.fair_arrives(5000 * MS);
        assert_eq!(server.timer_ns(), Some(5950 * MS));
    }

    #[test]
    fn lazy_forfeits_what_is_left_when_its_tasks_sleep() {
        let mut server = server(Stop::Lazy);
        server.fair_arrives(0);
        assert!(server.on_timer(true, 950 * MS));
        server.charge(10 * MS, 960 * MS);
        server.fair_leaves();
        assert!(!server.is_active());
        server.fair_arrives(970 * MS);
        assert!(!server.is_active());
        assert!(server.on_timer(true, 1000 * MS), "the next period");
    }
}
