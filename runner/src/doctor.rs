//! `doctor`: is everything there, and what to do about what is not.
//!
//! Each check runs even if the one before failed, so that one visit names all that is missing.

use crate::{
    error::{EXIT_SETUP, Error},
    experiment::{Experiment, Host},
    interrupt, kernel_image, qemu, report, units,
};
use anstyle::{AnsiColor, Style};
use std::{fmt::Write, process::Command};

/// Length of the trial run.
const TRIAL_NS: u64 = 100_000_000;

/// Runs all checks, prints each as it ends, and returns the exit code.
///
/// # Errors
/// Only an interrupt; everything else is a finding.
pub(crate) fn examine(host: &Host) -> Result<u8, Error> {
    let checks: [(&str, Check); 5] = [
        ("rust target", rust_target),
        ("QEMU", qemu_version),
        ("KVM", kvm),
        ("kernel", kernel),
        ("trial run", trial_run),
    ];
    let mut missing = 0;
    for (name, check) in checks {
        let found = check(host);
        if interrupt::requested() {
            return Err(Error::Interrupted { after_s: 0.0, console: Vec::new() });
        }
        missing += u32::from(found.is_err());
        report::print(&line(name, &found), false)?;
    }
    let verdict = match missing {
        0 => "ready: try `slicelab run --hogs 2`\n".to_owned(),
        count => {
            format!("{count} of {} checks failed; ./setup installs what is missing\n", checks.len())
        }
    };
    report::print(&verdict, false)?;
    Ok(if missing == 0 { 0 } else { EXIT_SETUP })
}

type Check = fn(&Host) -> Result<String, String>;

fn line(name: &str, found: &Result<String, String>) -> String {
    let (colour, mark, text) = match found {
        Ok(text) => (AnsiColor::Green, "ok", text),
        Err(text) => (AnsiColor::Red, "NO", text),
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    let mut out = String::new();
    writeln!(out, "{style}{mark}{style:#}  {name}: {text}").expect("a String takes everything");
    out
}

fn rust_target(_: &Host) -> Result<String, String> {
    let target = kernel_image::TARGET;
    let missing =
        format!("no standard library for {target}; run ./setup, or `rustup target add {target}`");
    let output = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .current_dir(kernel_image::workspace())
        .output()
        .map_err(|error| {
            format!("rustc cannot be started ({error}); install Rust from https://rustup.rs")
        })?;
    let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let entries = std::fs::read_dir(&folder).map_err(|_| missing.clone())?;
    let has_core =
        entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libcore-"));
    has_core.then(|| format!("{target} in {folder}")).ok_or(missing)
}

fn qemu_version(host: &Host) -> Result<String, String> {
    let found = qemu::Qemu::find(host.qemu.as_deref()).map_err(|error| error.to_string())?;
    let fair = qemu::is_fair_to_spinning_cpus(found.version);
    let remark = if fair { "" } else { " (--burn spin with several CPUs needs 8.1)" };
    Ok(format!("{} in {}{remark}", found.version, found.program.display()))
}

/// Never a failure: KVM is a choice.
fn kvm(_: &Host) -> Result<String, String> {
    Ok(match qemu::kvm_usable() {
        true => "usable for --clock real --accel kvm".into(),
        false => "not usable here; only `--accel kvm` needs it".into(),
    })
}

fn kernel(host: &Host) -> Result<String, String> {
    let path = kernel_image::build(host.quiet).map_err(|error| error.to_string())?;
    Ok(path.display().to_string())
}

fn trial_run(host: &Host) -> Result<String, String> {
    let mut trial = Experiment::new().smp(2).hogs(3).duration_ns(TRIAL_NS);
    trial.host = host.clone();
    let result = trial.run().map_err(|error| error.to_string())?;
    let judgement = result.judge();
    let failed: Vec<_> = judgement
        .expectations
        .iter()
        .filter(|expectation| !expectation.ok)
        .map(|e| format!("{}: {} (expected {})", e.what, e.got, e.expected))
        .collect();
    match failed.is_empty() {
        true => Ok(format!(
            "2 CPUs, 3 tasks, {} of guest time in {}",
            units::exact_unsigned(TRIAL_NS),
            units::rounded(result.wall.as_nanos() as f64)
        )),
        false => Err(failed.join("; ")),
    }
}
