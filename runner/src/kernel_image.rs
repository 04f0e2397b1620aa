//! The kernel to boot: built by cargo from this workspace, once per process.
//!
//! Cargo runs with its own target folder, so that it never waits for the lock that an outer
//! `cargo run` or `cargo test` holds, and without the variables by which that outer cargo would
//! make it build for the wrong target with the wrong flags.

use crate::{
    error::{Error, SetupError},
    leash::{Leashed, Waited},
};
use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
    thread,
    time::Instant,
};

/// The target that the kernel is built for.
pub const TARGET: &str = "x86_64-unknown-none";
/// Names a kernel that was built by other means.
const OVERRIDE: &str = "SLICELAB_KERNEL";

/// Builds the kernel if it is not up to date, and says where it is.
///
/// # Errors
/// Cargo's, with all it printed.
pub fn build(quiet: bool) -> Result<PathBuf, Error> {
    static BUILT: Mutex<Option<PathBuf>> = Mutex::new(None);
    if let Some(path) = env::var_os(OVERRIDE).filter(|path| !path.is_empty()) {
        return found(Path::new(&path), OVERRIDE);
    }
    // A poisoned lock still holds a path or none. Others wait here while the first one builds.
    let mut built = BUILT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(path) = built.as_ref() {
        return Ok(path.clone());
    }
    let target_dir = target_dir();
    run_cargo(&target_dir, quiet)?;
    let path = target_dir.join(TARGET).join("release/kernel");
    Ok(built.insert(found(&path, "the build")?).clone())
}

/// Checks a kernel that the caller names.
///
/// # Errors
/// It is not there.
pub fn existing(path: &Path) -> Result<PathBuf, Error> {
    found(path, "the command line")
}

/// The workspace this runner was built from.
pub fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Where cargo puts the kernel and what it is made of.
pub(crate) fn target_dir() -> PathBuf {
    workspace().join("target/guest")
}

fn found(path: &Path, source_of_path: &'static str) -> Result<PathBuf, Error> {
    // QEMU runs in a folder of its own, so the path must be absolute.
    fs::canonicalize(path).map_err(|error| {
        let (path, reason) = (path.to_owned(), error.to_string());
        SetupError::KernelMissing { path, reason, source_of_path }.into()
    })
}

fn run_cargo(target_dir: &Path, quiet: bool) -> Result<(), Error> {
    let start = Instant::now();
    let mut command = Command::new("cargo");
    command
        .args(["build", "--release", "--package", "kernel", "--target", TARGET, "--target-dir"])
        .arg(target_dir)
        .current_dir(workspace())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    for (name, _) in env::vars_os().filter(|(name, _)| is_leak(name)) {
        command.env_remove(name);
    }
    let mut leashed = Leashed::spawn(&mut command).map_err(SetupError::system(
        "start cargo, which builds the kernel (it is not in PATH; run ./setup)",
    ))?;
    let stderr = leashed.child().stderr.take().expect("it was asked for");
    let (waited, output) = thread::scope(|scope| {
        let reader = scope.spawn(move || collect(BufReader::new(stderr), quiet));
        let waited = leashed.wait(start, None, || false);
        (waited, reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    match waited.map_err(SetupError::system("wait for cargo"))? {
        Waited::Exited(status) if status.success() => Ok(()),
        Waited::Exited(_) if output.contains("can't find crate for `core`") => {
            Err(SetupError::TargetMissing { target: TARGET, output }.into())
        }
        Waited::Exited(_) => Err(SetupError::KernelBuild { output }.into()),
        Waited::Interrupted | Waited::TimedOut | Waited::Stopped => {
            let after_s = start.elapsed().as_secs_f64();
            Err(Error::Interrupted { after_s, console: Vec::new() })
        }
    }
}

/// Keeps what cargo prints, and says once that there is work to do.
fn collect(lines: impl BufRead, quiet: bool) -> String {
    let mut output = String::new();
    let mut is_announced = quiet;
    for line in lines.lines().map_while(Result::ok) {
        if !is_announced && line.trim_start().starts_with("Compiling") {
            anstream::eprintln!("building the kernel for {TARGET} ...");
            is_announced = true;
        }
        output.push_str(&line);
        output.push('\n');
    }
    output
}

/// Whether a variable would make the inner cargo build something else than a shell would.
///
/// Settings of the user's cargo (where it lives, registries, network) and of rustup stay.
fn is_leak(name: &OsStr) -> bool {
    const KEPT: [&str; 9] = [
        "CARGO_HOME",
        "CARGO_NET_",
        "CARGO_HTTP_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
        "CARGO_TERM_",
        "CARGO_RESOLVER_",
        "RUSTUP_",
        "RUST_LOG",
    ];
    const REMOVED: [&str; 3] = ["CARGO", "RUST", "__CARGO"];
    let starts =
        |prefixes: &[&str], name: &str| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let name = OsString::from(name).into_string().unwrap_or_default();
    starts(&REMOVED, &name) && !starts(&KEPT, &name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outer_cargo_does_not_leak_in() {
        let leaks = |name: &str| is_leak(OsStr::new(name));
        for name in ["CARGO", "CARGO_TARGET_DIR", "CARGO_PKG_NAME", "RUSTFLAGS", "RUSTC_WRAPPER"] {
            assert!(leaks(name), "{name}");
        }
        for name in ["CARGO_HOME", "CARGO_REGISTRIES_X_INDEX", "RUSTUP_TOOLCHAIN", "PATH", "HOME"] {
            assert!(!leaks(name), "{name}");
        }
    }
}
