//! Human log lines: `[    1.234567][cpu2][INFO  sched] text`.
//!
//! Formatted and written under the console's lock, never while a runqueue is locked, and not at
//! all between start and end of the measured run: a byte on the serial port costs guest time.

use crate::arch::{ThisCpu, clock, serial};
use core::fmt::{self, Write};
use ksync::Cpu as _;

/// How much a line matters.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    Info,
    Error,
}

/// Writes a line; use [`info`].
pub(crate) fn line(level: Level, subject: &str, text: fmt::Arguments<'_>) {
    serial::with(|out| write_line(out, level, subject, text));
}

/// Writes a line even over another writer, for the last words of a failing CPU.
pub(crate) fn line_force(level: Level, subject: &str, text: fmt::Arguments<'_>) {
    serial::with_force(|out| write_line(out, level, subject, text));
}

fn write_line(
    out: &mut dyn Write,
    level: Level,
    subject: &str,
    text: fmt::Arguments<'_>,
) -> fmt::Result {
    let now_us = clock::now_ns_or_zero() / 1000;
    let level = match level {
        Level::Info => "INFO ",
        Level::Error => "ERROR",
    };
    writeln!(
        out,
        "[{:5}.{:06}][cpu{}][{level} {subject}] {text}",
        now_us / 1_000_000,
        now_us % 1_000_000,
        ThisCpu::id(),
    )
}

macro_rules! info {
    ($subject:literal, $($text:tt)*) => {
        $crate::log::line($crate::log::Level::Info, $subject, format_args!($($text)*))
    };
}
pub(crate) use info;
