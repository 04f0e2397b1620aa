//! One guest from start to end: bytes to the decoder, exit status to a verdict on the process.
//!
//! Two threads read the pipes, so that a talkative guest never waits for us and a silent one
//! never makes us wait: this thread only watches the clock, the interrupt and the child.

use crate::{
    decode::{DecodeError, Decoder},
    error::{Error, GuestError, GuestFailure, SetupError},
    leash::{Leashed, Waited},
    records::Records,
    records::Shape,
};
use abi::{Clock, Op, Scenario, exit, record::Rings};
use std::{
    io::{self, Read},
    process::{Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// QEMU's status when it refuses its arguments.
const STATUS_REFUSED: i32 = 1;
/// What is kept of QEMU's own messages.
const STDERR_LIMIT: u64 = 64 << 10;

/// What is known when a guest has finished properly.
pub(crate) struct Finished {
    pub(crate) records: Records,
    pub(crate) console: Vec<String>,
    pub(crate) wall: Duration,
}

/// Sees what a guest says while it says it.
pub(crate) trait Observer: Send {
    /// A line that is not a record.
    fn console(&mut self, line: &str);
    /// Where the trace is in its memory.
    fn rings(&mut self, rings: Rings);
}

/// Runs a guest to its end.
///
/// `limit` is in host time, `flood_limit` in bytes of output.
pub(crate) fn run(
    mut command: Command,
    printable: &str,
    decoder: Decoder,
    limit: Option<Duration>,
    flood_limit: u64,
    observer: &mut dyn Observer,
) -> Result<Finished, Error> {
    let start = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut leashed =
        Leashed::spawn(&mut command).map_err(SetupError::system(format!("start {printable}")))?;
    let stdout = leashed.child().stdout.take().expect("it was asked for");
    let stderr = leashed.child().stderr.take().expect("it was asked for");
    let flooded = AtomicBool::new(false);

    let (waited, decoder, stderr) = thread::scope(|scope| {
        let serial = scope.spawn(|| read_serial(stdout, decoder, flood_limit, &flooded, observer));
        let messages = scope.spawn(|| read_some(stderr));
        // Relaxed: the flag carries no data.
        let waited = leashed.wait(start, limit, || flooded.load(Ordering::Relaxed));
        // All holders of the pipes are dead now, so both threads reach their end.
        drop(leashed);
        (waited, join(serial), join(messages))
    });
    let wall = start.elapsed();
    let console = decoder.console();
    let records = decoder.records();
    let failed = |cause| Err(Error::from(GuestError { cause, console: console.clone() }));

    if flooded.load(Ordering::Relaxed) {
        return failed(GuestFailure::Flood { limit_mib: flood_limit >> 20 });
    }
    match waited.map_err(SetupError::system("wait for QEMU"))? {
        Waited::Exited(status) => judge_exit(status, decoder, &stderr, printable, console, wall),
        Waited::Interrupted => Err(Error::Interrupted { after_s: wall.as_secs_f64(), console }),
        Waited::TimedOut | Waited::Stopped => failed(GuestFailure::Timeout {
            limit_s: limit.unwrap_or(wall).as_secs_f64(),
            progress: progress(&console, records),
        }),
    }
}

fn progress(console: &[String], records: u64) -> String {
    match console.last() {
        None if records == 0 => "it never said anything".into(),
        None => format!("it had sent {records} records"),
        Some(line) => format!("it had sent {records} records, its last line was: {line}"),
    }
}

fn judge_exit(
    status: ExitStatus,
    decoder: Decoder,
    stderr: &str,
    printable: &str,
    console: Vec<String>,
    wall: Duration,
) -> Result<Finished, Error> {
    const OK: i32 = exit::status(exit::OK);
    const FAILED: i32 = exit::status(exit::FAILED);
    let cause = match (status.code(), decoder.finish()) {
        (Some(OK), Ok(records)) => return Ok(Finished { records, console, wall }),
        // The guest's own explanation beats whatever else can be said.
        (_, Err(DecodeError::Panic(text))) => GuestFailure::Panic(text),
        (_, Err(error @ DecodeError::GaveUp { .. })) => GuestFailure::GaveUp(error.to_string()),
        (Some(OK), Err(error)) => GuestFailure::Report(error),
        (Some(STATUS_REFUSED), _) => {
            let stderr = match stderr.trim() {
                "" => "it gave no reason",
                text => text,
            };
            let (stderr, command) = (stderr.into(), printable.into());
            return Err(SetupError::QemuRefused { stderr, command }.into());
        }
        (Some(FAILED), Err(error)) => GuestFailure::GaveUp(error.to_string()),
        (Some(0), Err(missing)) => GuestFailure::Vanished { missing },
        (_, _) => GuestFailure::QemuDied { status, stderr: stderr.trim().into() },
    };
    Err(GuestError { cause, console }.into())
}

fn read_serial(
    mut pipe: impl Read,
    mut decoder: Decoder,
    flood_limit: u64,
    flooded: &AtomicBool,
    observer: &mut dyn Observer,
) -> Decoder {
    let mut buffer = [0; 16 << 10];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return decoder,
            Ok(len) => {
                decoder.feed(&buffer[..len], &mut |line| observer.console(line));
                if let Some(rings) = decoder.take_rings() {
                    observer.rings(rings);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A broken pipe ends the report early, which the decoder will notice.
            Err(_) => return decoder,
        }
        if decoder.bytes() > flood_limit {
            flooded.store(true, Ordering::Relaxed);
            return decoder;
        }
    }
}

fn read_some(pipe: impl Read) -> String {
    let mut text = Vec::new();
    let mut limited = pipe.take(STDERR_LIMIT);
    // What was read before an error is all there is to show.
    let _ = limited.read_to_end(&mut text);
    // The rest is drained, or QEMU would wait for room.
    let _ = io::copy(&mut limited.into_inner(), &mut io::sink());
    String::from_utf8_lossy(&text).into_owned()
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Tasks that compute for less than this at a stretch keep the host busier than ticks do, ns.
const SHORT_NS: u64 = 20_000;
/// By how much longer the host may take for a guest full of such tasks, on each CPU.
const SLOWER: u32 = 120;

/// The limit where the user names none: a minute, and a millisecond for each tick, which is five
/// times what the slowest guest needed; under the real clock also twice the run's length; and much
/// more where the guest is to do little else than switch.
pub(crate) fn default_limit(scenario: &Scenario) -> Duration {
    let length = Duration::from_nanos(scenario.duration_ns);
    let ticks = f64::from(scenario.cpus) * f64::from(scenario.hz) * length.as_secs_f64();
    let limit = Duration::from_secs(60) + Duration::from_secs_f64(ticks / 1e3);
    let is_short = |op: &Op| matches!(*op, Op::Run(ns) if ns < SHORT_NS);
    let slower = match scenario.programs.iter().flatten().any(is_short) {
        true => SLOWER * scenario.cpus,
        false => 0,
    };
    let real = if scenario.clock == Clock::Real { 2 } else { 0 };
    limit + length.saturating_mul(slower + real)
}

/// More output than any run produces: three distributions of a task take up to 70 lines each.
pub(crate) const fn flood_limit(shape: Shape) -> u64 {
    let Shape { cpus, tasks, counters, histograms } = shape;
    (16 << 20) + ((cpus + tasks + histograms) as u64 * (128 << 10)) + counters as u64 * 128
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_guest_gets_more_time() {
        let limit = |change: &dyn Fn(crate::Experiment) -> crate::Experiment| {
            let plan = change(crate::Experiment::new().hogs(1)).plan().expect("all is in range");
            default_limit(&plan.scenario).as_secs()
        };
        assert_eq!(limit(&|e| e), 70);
        assert_eq!(limit(&|e| e.clock(Clock::Real)), 90);
        assert_eq!(limit(&|e| e.load(|load| load.pairs(1, 1_000).expect("fine"))), 70 + 1200);
    }

    #[test]
    fn a_timeout_says_how_far_it_got() {
        assert_eq!(progress(&[], 0), "it never said anything");
        assert!(progress(&["boot".into()], 3).contains("last line was: boot"));
    }
}
