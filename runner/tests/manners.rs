//! What a shell, a script and a reader expect of any command.

mod support;

use std::{fs, path::Path};
use support::{FakeQemu, bytes, lines, records, slicelab};
use tempfile::TempDir;

fn output(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output =
        slicelab(Path::new("/nonexistent/qemu")).args(arguments).output().expect("started");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn every_shell_completes_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, script, _) = output(&["completions", shell]);
        assert_eq!(code, Some(0), "{shell}");
        for word in ["slices", "sweep", "compare", "base-slice"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
    let (code, _, complaint) = output(&["completions", "bas"]);
    assert_eq!(code, Some(2));
    assert!(complaint.contains("bash"), "{complaint}");
}

#[test]
fn man_pages_are_of_every_command() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("man1");
    let (code, _, _) = output(&["man", "--dir", path.to_str().expect("plain")]);
    assert_eq!(code, Some(0));
    let page = fs::read_to_string(path.join("slicelab-run.1")).expect("written");
    assert!(page.starts_with(".ie") && page.contains("base\\-slice"), "{page}");
    assert!(path.join("slicelab.1").exists() && !path.join("slicelab-boot.1").exists());
    let (code, page, _) = output(&["man"]);
    assert_eq!(code, Some(0));
    assert!(page.contains(".TH slicelab 1"), "{page}");
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let qemu = FakeQemu::printing(&bytes(&lines(&records(1, 2))), 33);
    let run = |force: bool| {
        let mut command = slicelab(&qemu.path());
        command.args(["run", "--hogs", "2", "--duration", "100ms"]);
        if force {
            command.env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR");
        }
        let output = command.output().expect("started");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(!run(false).contains('\x1b'));
    assert!(run(true).contains("\x1b[1m\x1b[32mpass"), "{:?}", run(true));
}

#[test]
fn the_exact_command_line_of_qemu_is_shown_when_asked_for() {
    let qemu = FakeQemu::printing(&bytes(&lines(&records(1, 2))), 33);
    let said = |flag: &[&str]| {
        let output = slicelab(&qemu.path())
            .args(["run", "--hogs", "2", "--duration", "100ms"])
            .args(flag)
            .output()
            .expect("started");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let line = format!("$ {} -machine pc", qemu.path().display());
    assert!(said(&["--verbose"]).contains(&line), "{}", said(&["--verbose"]));
    assert_eq!(said(&[]), "");
}
