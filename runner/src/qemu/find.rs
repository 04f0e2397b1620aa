//! Finding a QEMU and asking for its version.

use crate::{
    error::{Error, SetupError},
    leash::{Leashed, Waited},
};
use std::{
    collections::HashMap,
    env, fmt,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
    time::{Duration, Instant},
};

/// The program's usual name.
const PROGRAM: &str = "qemu-system-x86_64";
/// The oldest version that was tried.
const MINIMUM: Version = Version { major: 7, minor: 2, patch: 0 };
/// A QEMU that takes longer to say its version is broken.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// A QEMU version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number.
    pub patch: u32,
}

impl Version {
    /// Reads the first line of `--version`.
    fn parse(text: &str) -> Option<Self> {
        let number = text.lines().next()?.strip_prefix("QEMU emulator version ")?;
        let number = number.split_whitespace().next()?;
        let mut parts = number.split('.').map(|part| {
            let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part[..digits].parse().ok()
        });
        Some(Self {
            major: parts.next()??,
            minor: parts.next()??,
            patch: parts.next().flatten().unwrap_or(0),
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A QEMU that can be used.
#[derive(Clone, Debug)]
pub struct Qemu {
    /// The program.
    pub program: PathBuf,
    /// Its version.
    pub version: Version,
}

/// Versions that were asked for already; many guests are started in one process.
static KNOWN: Mutex<Option<HashMap<PathBuf, Version>>> = Mutex::new(None);

impl Qemu {
    /// Finds the program named, or the one in the environment's `QEMU`, or the one in `PATH`.
    ///
    /// # Errors
    /// None there, too old, or not a QEMU.
    pub fn find(named: Option<&Path>) -> Result<Self, Error> {
        let wanted = match (named, env::var_os("QEMU")) {
            (Some(path), _) => path.to_owned(),
            (None, Some(path)) if !path.is_empty() => path.into(),
            (None, _) => PROGRAM.into(),
        };
        let program = locate(&wanted).ok_or(SetupError::QemuMissing { program: wanted })?;
        // A poisoned lock still holds a whole map.
        let mut known = KNOWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let known = known.get_or_insert_default();
        let version = match known.get(&program) {
            Some(&version) => version,
            None => {
                let version = ask_version(&program)?;
                known.insert(program.clone(), version);
                version
            }
        };
        if version < MINIMUM {
            return Err(SetupError::QemuTooOld { program, found: version, needed: MINIMUM }.into());
        }
        Ok(Self { program, version })
    }
}

/// Whether this user may use KVM.
pub fn kvm_usable() -> bool {
    std::fs::OpenOptions::new().read(true).write(true).open("/dev/kvm").is_ok()
}

/// Resolves a name without a slash along `PATH`.
fn locate(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn ask_version(program: &Path) -> Result<Version, Error> {
    let unusable = |reason: String| SetupError::QemuUnusable { program: program.into(), reason };
    let start = Instant::now();
    let mut leashed = Leashed::spawn(
        Command::new(program)
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null()),
    )
    .map_err(|error| unusable(format!("it cannot be started ({error})")))?;
    let stdout = leashed.child().stdout.take();
    match leashed.wait(start, Some(VERSION_LIMIT), || false) {
        Ok(Waited::Exited(_)) => {}
        Ok(Waited::Interrupted) => {
            let after_s = start.elapsed().as_secs_f64();
            return Err(Error::Interrupted { after_s, console: Vec::new() });
        }
        Ok(Waited::TimedOut | Waited::Stopped) => {
            return Err(unusable("it does not answer `--version`".into()).into());
        }
        Err(error) => return Err(unusable(error.to_string()).into()),
    }
    let mut text = Vec::new();
    // What does not fit the pipe was never needed: the version is in the first line.
    let _ = stdout.map(|pipe| pipe.take(4096).read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    Version::parse(&text).ok_or_else(|| {
        let first = text.lines().next().unwrap_or("nothing");
        unusable(format!("it answers `--version` with `{first}`")).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_distributions_write_them() {
        let version = |major, minor, patch| Some(Version { major, minor, patch });
        let parse = |text| Version::parse(text);
        assert_eq!(
            parse("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)\nCopyright"),
            version(7, 2, 22)
        );
        assert_eq!(parse("QEMU emulator version 10.0.0"), version(10, 0, 0));
        assert_eq!(parse("QEMU emulator version 9.1.0-rc2"), version(9, 1, 0));
        assert_eq!(parse("QEMU emulator version 8.2"), version(8, 2, 0));
        assert_eq!(parse("bash: no such thing"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn newer_is_greater() {
        let at = |major, minor, patch| Version { major, minor, patch };
        assert!(at(10, 0, 0) > at(9, 2, 4) && at(7, 1, 9) < MINIMUM);
    }
}
