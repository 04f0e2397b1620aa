//! What is counted of tasks and CPUs while the run goes on.
//!
//! Bounded memory, no allocation: each stint is folded into counters and histograms when it
//! ends. The stint that the end of the run cuts counts as time, but not as a stint: its
//! length says nothing about slices.

use crate::task::Moved;
use abi::histogram::{TICK_BUCKETS, TIME_BUCKETS};
use abi::record::Wakeups;
use abi::{Clock, Histogram};
use core::ops::Range;

const NS_PER_S: u64 = 1_000_000_000;

pub(crate) use abi::trace::StintEnd as End;

/// One task's counters.
pub(crate) struct TaskAccount {
    pub(crate) runtime_ns: u64,
    /// By [`End`].
    pub(crate) ends: [u64; 6],
    pub(crate) extra_ticks: u64,
    /// By [`Moved`].
    pub(crate) moves: [u32; Moved::ALL.len()],
    pub(crate) wakeups: u64,
    /// Lowest and highest at the start or end of a stint.
    pub(crate) lag_ns: Option<(i64, i64)>,
    pub(crate) stint: Histogram<TIME_BUCKETS>,
    pub(crate) stint_ticks: Histogram<TICK_BUCKETS>,
    pub(crate) wakeup_latency: Histogram<TIME_BUCKETS>,
    woken_ns: Option<u64>,
    /// Since when it has waited for a CPU, if it waits for one.
    waits_since_ns: u64,
    /// How long it has waited for a CPU in all.
    pub(crate) run_delay_ns: u64,
    /// When it was woken last, or had no need to be.
    pub(crate) last_wakeup_ns: Option<u64>,
    /// What was charged to those that had this task's number before it was spawned.
    pub(crate) charged_before_ns: u64,
    last_cpu: Option<u32>,
}

impl TaskAccount {
    pub(crate) fn new() -> Self {
        Self {
            runtime_ns: 0,
            ends: [0; 6],
            extra_ticks: 0,
            moves: [0; Moved::ALL.len()],
            wakeups: 0,
            lag_ns: None,
            stint: Histogram::EMPTY,
            stint_ticks: Histogram::EMPTY,
            wakeup_latency: Histogram::EMPTY,
            woken_ns: None,
            waits_since_ns: 0,
            run_delay_ns: 0,
            last_wakeup_ns: None,
            charged_before_ns: 0,
            last_cpu: None,
        }
    }

    /// The task is runnable as the run begins.
    pub(crate) fn begin_run(&mut self, start_ns: u64) {
        self.waits_since_ns = start_ns;
    }

    /// The task became runnable.
    pub(crate) fn wake(&mut self, now_ns: u64) {
        self.wakeups += 1;
        let woken_ns = *self.woken_ns.get_or_insert(now_ns);
        self.last_wakeup_ns = Some(woken_ns);
        self.waits_since_ns = woken_ns;
    }

    /// It will become runnable as soon as its CPU takes its wake list; the wait counts from now.
    pub(crate) fn queue_wakeup(&mut self, now_ns: u64) {
        self.woken_ns = Some(now_ns);
    }

    /// It had no need to wait for what came, or would have come, at that time.
    pub(crate) fn pass_wait(&mut self, at_ns: u64) {
        self.last_wakeup_ns = Some(at_ns);
    }

    /// A new task gets the number; so much was charged to the one before.
    pub(crate) fn spawn(&mut self, charged_ns: u64) {
        self.charged_before_ns += charged_ns;
        self.last_cpu = None;
    }

    /// It got a CPU.
    pub(crate) fn begin_stint(
        &mut self,
        now_ns: u64,
        cpu: u32,
        moved_by: Moved,
        lag_ns: i64,
    ) -> Option<u32> {
        self.see_lag(lag_ns);
        // The clocks of two CPUs may be a little apart, here and below.
        self.run_delay_ns += now_ns.saturating_sub(self.waits_since_ns);
        if let Some(woken_ns) = self.woken_ns.take() {
            self.wakeup_latency.record(now_ns.saturating_sub(woken_ns));
        }
        let left = self.last_cpu.replace(cpu).filter(|&last| last != cpu);
        self.moves[moved_by as usize] += u32::from(left.is_some());
        left
    }

    /// It left the CPU after a stint of so many `ticks`, with `slice_ns` in force.
    pub(crate) fn end_stint(
        &mut self,
        end: End,
        stint_ns: Range<u64>,
        ticks: u64,
        slice_ns: u64,
        lag_ns: i64,
    ) {
        let length_ns = stint_ns.end - stint_ns.start;
        self.runtime_ns += length_ns;
        // Until it is woken, if it blocks.
        self.waits_since_ns = stint_ns.end;
        self.ends[end as usize] += 1;
        self.stint.record(length_ns);
        self.stint_ticks.record(ticks);
        self.see_lag(lag_ns);
        // More ticks than slice * HZ / 1 s, rounded up, without the division: so many less one are
        // not fewer than the fraction. Slices are 1 s at most and HZ 10 000, runs four hours, so
        // neither product leaves 64 bits.
        let hz = u64::from(crate::run::config().hz);
        if ticks > 0 && (ticks - 1) * NS_PER_S >= slice_ns * hz {
            self.extra_ticks += 1;
        }
    }

    fn see_lag(&mut self, lag_ns: i64) {
        let (low, high) = self.lag_ns.unwrap_or((lag_ns, lag_ns));
        self.lag_ns = Some((low.min(lag_ns), high.max(lag_ns)));
    }

    /// The end of the run cut its stint after `length_ns`.
    pub(crate) fn cut_stint(&mut self, length_ns: u64) {
        self.runtime_ns += length_ns;
    }
}

/// One CPU's counters.
pub(crate) struct CpuAccount {
    pub(crate) ticks: u64,
    pub(crate) missed_ticks: u64,
    pub(crate) irq_ns: u64,
    pub(crate) ipis: u64,
    /// Known at the end of the run only.
    pub(crate) wakeups: Wakeups,
    /// Longest time with interrupts off; only where it is measured.
    pub(crate) irqsoff_ns: u64,
    pub(crate) tick_interval: Histogram<TIME_BUCKETS>,
    /// What ticks took that nobody was switched at; only where it is measured.
    pub(crate) tick_cost: Histogram<TIME_BUCKETS>,
    /// Under the real clock only. Under the virtual one it says how QEMU orders the CPUs, which
    /// no result depends on and no two runs share.
    pub(crate) timer_late: Histogram<TIME_BUCKETS>,
    last_tick_ns: Option<u64>,
}

impl CpuAccount {
    pub(crate) fn new(cpu: u32) -> Self {
        Self {
            ticks: 0,
            missed_ticks: 0,
            irq_ns: 0,
            ipis: 0,
            wakeups: Wakeups::none(cpu),
            irqsoff_ns: 0,
            tick_interval: Histogram::EMPTY,
            tick_cost: Histogram::EMPTY,
            timer_late: Histogram::EMPTY,
            last_tick_ns: None,
        }
    }

    /// A timer event was handled `late_ns` after its time, with so many ticks overtaken.
    pub(crate) fn timer_event(&mut self, late_ns: u64, missed_ticks: u64) {
        if crate::run::config().clock == Clock::Real {
            self.timer_late.record(late_ns);
        }
        self.missed_ticks += missed_ticks;
    }

    /// A tick was handled.
    pub(crate) fn tick(&mut self, now_ns: u64) {
        self.ticks += 1;
        if let Some(last) = self.last_tick_ns.replace(now_ns) {
            self.tick_interval.record(now_ns - last);
        }
    }
}
