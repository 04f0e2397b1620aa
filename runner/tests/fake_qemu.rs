//! QEMUs and guests that go wrong: each has its exit code and a message that names the cause,
//! none takes longer than its limit, none leaves a process behind.

mod support;

use std::{
    fs,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};
use support::{FakeQemu, bytes, lines, records, slicelab};

/// Far below the minute that a run may take by default.
const SOON: Duration = Duration::from_secs(20);

fn run(qemu: &FakeQemu, extra: &[&str]) -> Output {
    let start = Instant::now();
    let output = slicelab(&qemu.path())
        .args(["run", "--hogs", "2", "--duration", "100ms"])
        .args(extra)
        .output()
        .expect("started");
    assert!(start.elapsed() < SOON, "it took {:?}", start.elapsed());
    output
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn expect(output: &Output, code: i32, words: &[&str]) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

fn is_alive(pid: &str) -> bool {
    // A killed process that nobody has waited for yet is as good as gone.
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !status.is_empty() && !status.contains(") Z ")
}

#[track_caller]
fn expect_gone(qemu: &FakeQemu) {
    let pids = fs::read_to_string(qemu.folder().join("pids")).expect("the script wrote them");
    let deadline = Instant::now() + SOON;
    for pid in pids.split_whitespace() {
        while is_alive(pid) {
            assert!(Instant::now() < deadline, "process {pid} is still there");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Hangs with a child of its own, and leaves both numbers in a file.
const HANG: &str =
    "sleep 1000 & echo $$ $! > \"$HERE/pids.new\"; mv \"$HERE/pids.new\" \"$HERE/pids\"; wait";

#[test]
fn a_good_guest_is_reported() {
    let qemu = FakeQemu::printing(&bytes(&lines(&records(1, 2))), 33);
    let output = run(&qemu, &[]);
    expect(&output, 0, &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for word in ["hog1", "50.00 %", "HZ=1000", "pass", "cpu0"] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[test]
fn the_document_has_the_keys_that_others_rely_on() {
    let qemu = FakeQemu::printing(&bytes(&lines(&records(1, 2))), 33);
    let output = run(&qemu, &["--json", "-"]);
    expect(&output, 0, &["pass"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON only");
    for path in [
        "/schema",
        "/config/hz",
        "/config/features/RUN_TO_PARITY",
        "/config/qemu",
        "/verdict",
        "/expectations/0/what",
        "/totals/wall_s",
        "/cpus/0/tick_interval_ns/p999",
        "/tasks/1/switches/yield",
        "/tasks/1/stint_ticks/3",
        "/tasks/1/wakeup_latency_ns/stddev",
        "/tasks/1/lag_ns/min",
    ] {
        assert!(document.pointer(path).is_some(), "{path} is missing");
    }
    assert_eq!(document["tasks"][0]["share"], 0.5);
    assert_eq!(document["tasks"][0]["stint_ticks"]["3"], 2);
}

#[test]
fn a_broken_expectation_is_exit_1() {
    let mut records = records(1, 2);
    for record in &mut records {
        if let abi::Record::Total(total) = record {
            total.lag_violations = 3;
        }
    }
    let qemu = FakeQemu::printing(&bytes(&lines(&records)), 33);
    let output = run(&qemu, &[]);
    expect(&output, 1, &[]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("lag violations: 3 (expected 0)"));
}

#[test]
fn a_hanging_guest_is_stopped_in_time() {
    let qemu = FakeQemu::new(&format!("echo 'booting'; {HANG}"));
    let output = run(&qemu, &["--timeout", "500ms"]);
    expect(
        &output,
        4,
        &["did not finish within 500.000 ms", "last line was: booting", "--timeout"],
    );
    expect_gone(&qemu);
}

#[test]
fn a_guest_that_vanishes_is_no_success() {
    expect(&run(&FakeQemu::new("exit 0"), &[]), 4, &["vanished", "triple fault", "no `@end`"]);
}

#[test]
fn the_right_status_without_a_report_is_no_success() {
    expect(&run(&FakeQemu::new("exit 33"), &[]), 4, &["cannot be trusted", "no `@end`"]);
}

#[test]
fn a_complete_report_with_the_wrong_status_is_no_success() {
    let transcript = bytes(&lines(&records(1, 2)));
    expect(&run(&FakeQemu::printing(&transcript, 0), &[]), 4, &["ended with exit status: 0"]);
    expect(&run(&FakeQemu::printing(&transcript, 35), &[]), 4, &["ended with exit status: 35"]);
}

#[test]
fn a_panic_is_quoted_with_what_came_before() {
    let qemu = FakeQemu::new("echo 'all fine so far'; echo 'panicked at x.rs:1: boom'; exit 35");
    expect(
        &run(&qemu, &[]),
        4,
        &["the guest panicked: panicked at x.rs:1: boom", "| all fine so far"],
    );
}

#[test]
fn a_refusal_by_qemu_is_a_setup_problem() {
    let qemu = FakeQemu::new("echo 'qemu: -icount: no such option' >&2; exit 1");
    expect(
        &run(&qemu, &[]),
        3,
        &["refused its arguments: qemu: -icount: no such option", "-smp 1"],
    );
}

#[test]
fn a_killed_qemu_is_named() {
    let text = stderr(&run(&FakeQemu::new("kill -9 $$"), &[]));
    assert!(text.contains("signal: 9"), "{text}");
}

#[test]
fn qemus_that_cannot_be_used_are_setup_problems() {
    let old = FakeQemu::with_version("QEMU emulator version 6.2.0", "exit 33");
    expect(&run(&old, &[]), 3, &["is QEMU 6.2.0, at least 7.2.0 is needed"]);
    let other = FakeQemu::with_version("a kettle", "exit 33");
    expect(&run(&other, &[]), 3, &["not a usable QEMU", "`a kettle`"]);
    let none = slicelab("/nonexistent/qemu".as_ref())
        .args(["run", "--hogs", "1"])
        .output()
        .expect("started");
    expect(&none, 3, &["/nonexistent/qemu not found; install", "--qemu PATH"]);
    let no_path = slicelab("".as_ref())
        .args(["run", "--hogs", "1"])
        .env("PATH", "/nonexistent")
        .output()
        .expect("started");
    expect(&no_path, 3, &["qemu-system-x86_64 not found in PATH"]);
}

#[test]
fn a_missing_kernel_is_a_setup_problem() {
    let qemu = FakeQemu::new("exit 33");
    let output = slicelab(&qemu.path())
        .args(["run", "--hogs", "1"])
        .env("SLICELAB_KERNEL", "/nonexistent/kernel")
        .output()
        .expect("started");
    expect(&output, 3, &["no kernel at /nonexistent/kernel", "SLICELAB_KERNEL"]);
}

#[test]
fn endless_output_is_stopped() {
    expect(&run(&FakeQemu::new("yes 'and so on'"), &[]), 4, &["printed more than 16 MiB"]);
}

#[test]
fn chatter_on_stderr_does_not_block() {
    let qemu = FakeQemu::new("yes complaint | head -c 10000000 >&2; exit 33");
    expect(&run(&qemu, &[]), 4, &["cannot be trusted"]);
}

/// Starts a run against a hanging guest, sends the runner a signal, and waits for its end.
fn interrupted_by(signal: &str, qemu: &FakeQemu) -> Output {
    let runner = slicelab(&qemu.path())
        .args(["run", "--hogs", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let deadline = Instant::now() + SOON;
    while !qemu.folder().join("pids").exists() {
        assert!(Instant::now() < deadline, "the guest never started");
        thread::sleep(Duration::from_millis(10));
    }
    let pid = runner.id().to_string();
    let killed = Command::new("kill").args([signal, &pid]).status().expect("kill is there");
    assert!(killed.success());
    runner.wait_with_output().expect("ended")
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    for signal in ["-INT", "-TERM"] {
        let qemu = FakeQemu::new(&format!("echo 'as far as this'; {HANG}"));
        let output = interrupted_by(signal, &qemu);
        expect(&output, 130, &["interrupted after", "| as far as this"]);
        expect_gone(&qemu);
    }
}

#[test]
fn even_a_killed_runner_leaves_no_guest() {
    // A single process, as a real QEMU is.
    let qemu =
        FakeQemu::new("echo $$ > \"$HERE/new\"; mv \"$HERE/new\" \"$HERE/pids\"; exec sleep 1000");
    let output = interrupted_by("-KILL", &qemu);
    assert_eq!(output.status.code(), None);
    expect_gone(&qemu);
}

#[test]
fn temporary_files_are_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let qemu = FakeQemu::printing(&bytes(&lines(&records(1, 2))), 33);
    let output = slicelab(&qemu.path())
        .args(["run", "--hogs", "2", "--duration", "100ms", "--quiet"])
        .env("TMPDIR", folder.path())
        .output()
        .expect("started");
    expect(&output, 0, &[]);
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "quiet means quiet");
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
}
