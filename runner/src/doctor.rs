//! `doctor`: is everything there, and what to do about what is not.
//!
//! Each check runs even if the one before failed, so that one visit names all that is missing.

use crate::{
    error::{EXIT_SETUP, Error},
    experiment::{self, Experiment, Host},
    interrupt, kernel_image, qemu, report, units,
};
use anstyle::{AnsiColor, Style};
use std::{
    fmt::Write,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// Length of the trial run.
const TRIAL_NS: u64 = 100_000_000;

/// Runs all checks, prints each as it ends, and returns the exit code.
///
/// # Errors
/// Only an interrupt; everything else is a finding.
pub(crate) fn examine(host: &Host) -> Result<u8, Error> {
    let checks: [(&str, Check); 6] = [
        ("rust target", rust_target),
        ("QEMU", qemu_version),
        ("KVM", kvm),
        ("kernel", kernel),
        ("trial run", trial_run),
        ("temporary files", leftovers),
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
    let path = kernel_image::build(host.quiet).map_err(|error| match error.to_string() {
        text if is_stale(&text) => format!(
            "{text}\nThe toolchain has changed under what it built before: remove {} and try again",
            kernel_image::target_dir().display()
        ),
        text => text,
    })?;
    Ok(path.display().to_string())
}

/// Whether cargo failed over what another compiler has left: a crate that is there and cannot be
/// found (E0463), or was compiled by an incompatible version (E0514). Without `core` itself it is
/// the target that is missing.
fn is_stale(text: &str) -> bool {
    let is_missing = text.contains("error[E0463]") && !text.contains("can't find crate for `core`");
    is_missing || text.contains("error[E0514]")
}

/// Folders that runs have left behind which were killed. Never a failure: they only take room.
fn leftovers(_: &Host) -> Result<String, String> {
    let folder = std::env::temp_dir();
    let old = abandoned(&folder);
    Ok(match &old[..] {
        [] => format!("no run has left any in {}", folder.display()),
        [one] => format!("a run that was killed has left {}; it can be removed", one.display()),
        several => format!(
            "runs that were killed have left {} folders slicelab-* in {}; they can be removed",
            several.len(),
            folder.display()
        ),
    })
}

/// Folders of runs in which nothing has changed for as long as a run may take.
fn abandoned(folder: &Path) -> Vec<PathBuf> {
    const A_DAY: Duration = Duration::from_secs(24 * 3600);
    let is_ours = |name: &str| name.starts_with(experiment::FOLDER_PREFIX);
    let is_old = |metadata: std::fs::Metadata| {
        let age = metadata.modified().ok().and_then(|changed| changed.elapsed().ok());
        metadata.is_dir() && age.is_some_and(|age| age > A_DAY)
    };
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| is_ours(&entry.file_name().to_string_lossy()))
        .filter(|entry| entry.metadata().is_ok_and(is_old))
        .map(|entry| entry.path())
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, time::SystemTime};

    #[test]
    fn only_what_an_old_run_left_is_abandoned() {
        let folder = tempfile::tempdir().expect("a folder");
        let two_days = SystemTime::now() - Duration::from_secs(2 * 24 * 3600);
        for (name, is_old) in [("slicelab-old", true), ("slicelab-new", false), ("other", true)] {
            let path = folder.path().join(name);
            fs::create_dir(&path).expect("made");
            if is_old {
                let opened = fs::File::open(&path).expect("there");
                opened.set_modified(two_days).expect("it is ours");
            }
        }
        assert_eq!(abandoned(folder.path()), [folder.path().join("slicelab-old")]);
        assert!(abandoned(Path::new("/nonexistent")).is_empty());
    }

    #[test]
    fn what_another_compiler_left_is_told_from_a_missing_target() {
        assert!(is_stale("error[E0463]: can't find crate for `abi`"));
        assert!(is_stale("error[E0514]: found crate `core` compiled by an incompatible version"));
        assert!(!is_stale("error[E0463]: can't find crate for `core`"));
        assert!(!is_stale("error: no such file"));
    }
}
