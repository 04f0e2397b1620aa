//! Everything that can go wrong, sorted by who has to act on it.
//!
//! Each group is one exit code of the command. A message names the cause first and then what to
//! do about it; nothing is reported as a bare operating-system error.

use crate::{decode::DecodeError, trace, units};
use std::{path::PathBuf, process::ExitStatus};

/// Exit code of a run in which an expectation did not hold.
pub const EXIT_EXPECTATION: u8 = 1;
/// Exit code of a refused command line or workload.
pub const EXIT_USAGE: u8 = 2;
/// Exit code of a machine that cannot run guests.
pub const EXIT_SETUP: u8 = 3;
/// Exit code of a guest that failed.
pub const EXIT_GUEST: u8 = 4;
/// Exit code after Ctrl-C or SIGTERM.
pub const EXIT_INTERRUPTED: u8 = 130;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user asked for something that cannot be.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// This machine lacks something.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The guest did not do its part.
    #[error(transparent)]
    Guest(Box<GuestError>),
    /// Ctrl-C or SIGTERM.
    #[error("interrupted after {}", units::rounded(*.after_s * 1e9))]
    Interrupted {
        /// Host seconds since the guest was started.
        after_s: f64,
        /// The guest's last lines.
        console: Vec<String>,
    },
}

impl From<GuestError> for Error {
    fn from(error: GuestError) -> Self {
        Self::Guest(Box::new(error))
    }
}

impl Error {
    /// The exit code that stands for this error.
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Refused(_) => EXIT_USAGE,
            Self::Setup(_) => EXIT_SETUP,
            Self::Guest(_) => EXIT_GUEST,
            Self::Interrupted { .. } => EXIT_INTERRUPTED,
        }
    }

    /// The guest's last lines, where there was a guest.
    pub fn console(&self) -> &[String] {
        match self {
            Self::Guest(error) => &error.console,
            Self::Interrupted { console, .. } => console,
            Self::Refused(_) | Self::Setup(_) => &[],
        }
    }
}

/// A value that is refused before anything is started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{flag} {value}: {reason}")]
pub struct Refusal {
    /// The flag it was given with, as on the command line.
    pub flag: &'static str,
    /// The value.
    pub value: String,
    /// What is allowed instead.
    pub reason: String,
}

impl Refusal {
    /// Refuses the value of a flag.
    pub fn new(
        flag: &'static str,
        value: impl std::fmt::Display,
        reason: impl Into<String>,
    ) -> Self {
        Self { flag, value: value.to_string(), reason: reason.into() }
    }
}

/// What this machine lacks.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// No QEMU.
    #[error(
        "{} not found{}; install qemu-system-x86 (./setup does), or name one with --qemu PATH or QEMU=PATH",
        .program.display(), if .program.components().count() > 1 { "" } else { " in PATH" }
    )]
    QemuMissing {
        /// What was looked for.
        program: PathBuf,
    },
    /// It does not answer `--version` as QEMU does.
    #[error("{} is not a usable QEMU: {reason}; name another one with --qemu PATH", .program.display())]
    QemuUnusable {
        /// The program.
        program: PathBuf,
        /// What it did instead.
        reason: String,
    },
    /// Too old.
    #[error("{} is QEMU {found}, at least {needed} is needed; install a newer one or name it with --qemu PATH", .program.display())]
    QemuTooOld {
        /// The program.
        program: PathBuf,
        /// Its version.
        found: crate::qemu::Version,
        /// The oldest one that will do.
        needed: crate::qemu::Version,
    },
    /// QEMU exited with status 1 without running the guest.
    #[error("QEMU refused its arguments: {stderr}\nthe command was: {command}")]
    QemuRefused {
        /// What it said.
        stderr: String,
        /// The command line.
        command: String,
    },
    /// cargo failed.
    #[error("the kernel does not build; cargo said:\n{output}")]
    KernelBuild {
        /// What cargo printed.
        output: String,
    },
    /// The kernel that was asked for is not there.
    #[error("no kernel at {}: {reason}; `{source_of_path}` names it", .path.display())]
    KernelMissing {
        /// Where it should be.
        path: PathBuf,
        /// What the operating system says.
        reason: String,
        /// Where the path came from.
        source_of_path: &'static str,
    },
    /// The bare target is not installed.
    #[error(
        "the toolchain has no target {target}; run ./setup, or `rustup target add {target}`\ncargo said:\n{output}"
    )]
    TargetMissing {
        /// The target.
        target: &'static str,
        /// What cargo printed.
        output: String,
    },
    /// The trace could not be read out of the guest.
    #[error(transparent)]
    Trace(trace::RingError),
    /// A file or process could not be made.
    #[error("cannot {what}: {source}")]
    System {
        /// What was to be done.
        what: String,
        /// What the operating system says.
        source: std::io::Error,
    },
}

impl SetupError {
    /// Says what was to be done when the operating system objected.
    pub fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }
}

/// A guest that did not finish its run properly.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct GuestError {
    /// What happened.
    pub cause: GuestFailure,
    /// The guest's last lines.
    pub console: Vec<String>,
}

/// How a guest can fail.
#[derive(Debug, thiserror::Error)]
pub enum GuestFailure {
    /// It said so itself.
    #[error("the guest gave up: {0}")]
    GaveUp(String),
    /// It panicked.
    #[error("the guest panicked: {0}")]
    Panic(String),
    /// It did not finish in time.
    #[error(
        "the guest did not finish within {}; {progress}. If the run is just long, raise --timeout",
        units::rounded(*.limit_s * 1e9)
    )]
    Timeout {
        /// The limit in host seconds.
        limit_s: f64,
        /// How far it got.
        progress: String,
    },
    /// QEMU ended as it does after a triple fault.
    #[error(
        "the guest vanished: QEMU exited with status 0 and no complete report ({missing}). That is a triple fault, or somebody ended QEMU"
    )]
    Vanished {
        /// What is missing.
        missing: DecodeError,
    },
    /// The guest says all is well, its report says otherwise.
    #[error(
        "the guest's report cannot be trusted: {0}; run it again with --verbose to see all of it"
    )]
    Report(DecodeError),
    /// More output than any run produces.
    #[error(
        "the guest printed more than {limit_mib} MiB and was stopped; it may be printing in a loop"
    )]
    Flood {
        /// The limit.
        limit_mib: u64,
    },
    /// QEMU died.
    #[error("QEMU ended with {status}{}", if .stderr.is_empty() { String::new() } else { format!(": {}", .stderr) })]
    QemuDied {
        /// How.
        status: ExitStatus,
        /// What it said.
        stderr: String,
    },
}
