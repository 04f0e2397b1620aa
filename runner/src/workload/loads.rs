//! The loads that flags describe, each task a program of a few operations.

use super::{Workload, time_range};
use crate::{error::Refusal, units};
use abi::{Crash, Op};
use std::ops::RangeInclusive;

/// Times that a task may run, sleep or wait at a stretch, ns.
const STRETCH_NS: RangeInclusive<u64> = 1_000..=3_600_000_000_000;
/// Wake-ups a second that one background task may ask for.
pub const WAKE_RATE: RangeInclusive<f64> = 0.01..=100_000.0;

impl Workload {
    /// Adds tasks that compute until the run is over: `hog0`, `hog1`, ...
    pub fn hogs(&mut self, count: usize) {
        for _ in 0..count {
            let name = self.next_name("hog");
            self.add(name, vec![Op::RunForever]);
        }
    }

    /// Adds tasks that run and sleep in turn: `burst0`, ...
    ///
    /// # Errors
    /// A time that is no stretch.
    pub fn bursts(&mut self, count: usize, run_ns: u64, sleep_ns: u64) -> Result<(), Refusal> {
        check_stretch("--bursts", run_ns)?;
        check_stretch("--bursts", sleep_ns)?;
        for _ in 0..count {
            let program = vec![Op::Run(run_ns), Op::Sleep(sleep_ns), Op::Jump(0)];
            let name = self.next_name("burst");
            self.add(name, program);
        }
        Ok(())
    }

    /// Adds pairs of tasks that wake each other in turn: `ping0` and `pong0`, ...
    ///
    /// # Errors
    /// A time that is no stretch.
    pub fn pairs(&mut self, count: usize, run_ns: u64) -> Result<(), Refusal> {
        check_stretch("--pairs", run_ns)?;
        for _ in 0..count {
            let (name_ping, name_pong) = (self.next_name("ping"), self.next_name("pong"));
            let to_pong = self.shared.semaphore(format!("{name_ping} to {name_pong}"));
            let to_ping = self.shared.semaphore(format!("{name_pong} to {name_ping}"));
            let ping = [Op::Run(run_ns), Op::SemPost(to_pong), Op::SemWait(to_ping), Op::Jump(0)];
            let pong = [Op::SemWait(to_pong), Op::Run(run_ns), Op::SemPost(to_ping), Op::Jump(0)];
            self.add(name_ping, ping.to_vec());
            self.add(name_pong, pong.to_vec());
        }
        Ok(())
    }

    /// Adds a task that wakes at random, so many times a second on average, `at_tick_pct`
    /// percent of them with the next tick: `waker0`, ...
    ///
    /// # Errors
    /// A rate, time or share out of range.
    pub fn background(&mut self, rate: f64, run_ns: u64, at_tick_pct: u32) -> Result<(), Refusal> {
        check_stretch("--background", run_ns)?;
        if !WAKE_RATE.contains(&rate) {
            let reason = format!(
                "the rate must be {} to {} wake-ups a second",
                WAKE_RATE.start(),
                WAKE_RATE.end()
            );
            return Err(Refusal::new("--background", rate, reason));
        }
        if at_tick_pct > 100 {
            let reason = "0 to 100 % of the wake-ups can come with the tick";
            return Err(Refusal::new("--background", format!("{at_tick_pct}%"), reason));
        }
        let mean_ns = (1e9 / rate).round() as u64;
        let program = vec![Op::SleepPoisson { mean_ns, at_tick_pct }, Op::Run(run_ns), Op::Jump(0)];
        let name = self.next_name("waker");
        self.add(name, program);
        Ok(())
    }

    /// Adds tasks that run for a while and yield: `yielder0`, ...
    ///
    /// # Errors
    /// A time that is no stretch.
    pub fn yielders(&mut self, count: usize, run_ns: u64) -> Result<(), Refusal> {
        check_stretch("--yielders", run_ns)?;
        for _ in 0..count {
            let program = vec![Op::Run(run_ns), Op::Yield, Op::Jump(0)];
            let name = self.next_name("yielder");
            self.add(name, program);
        }
        Ok(())
    }

    /// Adds a task that breaks the guest after a while: `crash`.
    pub fn crash(&mut self, how: Crash, after_ns: u64) {
        self.add("crash".into(), vec![Op::Sleep(after_ns), Op::Crash(how)]);
    }

    /// The first name of that kind that is not taken: `hog0`, `hog1`, ...
    fn next_name(&mut self, kind: &'static str) -> String {
        let number = self.kinds.entry(kind).or_default();
        *number += 1;
        format!("{kind}{}", *number - 1)
    }
}

fn check_stretch(flag: &'static str, ns: u64) -> Result<(), Refusal> {
    if STRETCH_NS.contains(&ns) {
        return Ok(());
    }
    let reason = format!("a task can run or sleep for {}", time_range(&STRETCH_NS));
    Err(Refusal::new(flag, units::exact_unsigned(ns), reason))
}
