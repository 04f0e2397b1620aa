//! Bad input never starts anything: exit code 2, and a message with flag, value and range.

mod support;

use support::{FakeQemu, slicelab};

#[track_caller]
fn refused(arguments: &[&str], words: &[&str]) {
    let qemu = FakeQemu::new("touch \"$HERE/started\"; exit 33");
    let output = slicelab(&qemu.path()).args(arguments).output().expect("started");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    for word in words {
        assert!(text.contains(word), "{arguments:?}: `{word}` is not in: {text}");
    }
    assert!(!qemu.folder().join("started").exists(), "{arguments:?} started a guest");
}

#[track_caller]
fn run_refused(arguments: &[&str], words: &[&str]) {
    let all: Vec<_> = ["run", "--hogs", "2"].iter().chain(arguments).copied().collect();
    refused(&all, words);
}

#[test]
fn machines_that_cannot_be() {
    run_refused(&["--hz", "0"], &["--hz", "'0'", "from 10 to 10000"]);
    run_refused(&["--hz", "-5"], &["--hz", "'-5'", "from 10 to 10000"]);
    run_refused(&["--smp", "0"], &["--smp", "from 1 to 255"]);
    run_refused(&["--smp", "300"], &["--smp", "'300'", "from 1 to 255"]);
    run_refused(&["--memory", "10"], &["--memory 10", "need 33 MiB"]);
}

#[test]
fn times_without_sense() {
    run_refused(&["--duration", "0"], &["--duration 0s", "1ms to 14400s", "a tick"]);
    run_refused(&["--duration", "500us"], &["--duration 500us", "1ms to 14400s"]);
    run_refused(&["--duration", "5"], &["--duration", "needs a unit: 5ns, 5us, 5ms or 5s"]);
    run_refused(&["--base-slice", "-3ms"], &["--base-slice", "'-3ms'", "cannot be negative"]);
    run_refused(&["--base-slice", "1us"], &["--base-slice 1us", "100us to 1s"]);
    run_refused(&["--slice", "-1ms"], &["--slice", "'-1ms'", "cannot be negative"]);
    run_refused(&["--slice", "3ms,1s"], &["--slice", "'1s'", "100us to 100ms"]);
    run_refused(&["--timeout", "0"], &["--timeout", "no time"]);
    run_refused(&["--tick-error", "2ms"], &["--tick-error 2ms", "shorter than a tick, 1ms"]);
}

#[test]
fn lists_and_windows_that_fit_nothing() {
    run_refused(&["--nice", "0,0,0"], &["--nice with 3 values", "only 2 tasks"]);
    run_refused(&["--explain", "20s..30s"], &["--explain 20s..", "before the run ends, at 10s"]);
    run_refused(&["--seed", "-1"], &["--seed", "'-1'", "from 0 to 18446744073709551615"]);
    run_refused(&["--hz", "1e3"], &["--hz", "'1e3'", "from 10 to 10000"]);
    refused(&["slices", "--duration", "5ms"], &["--duration 5ms", "10ms to 14400s"]);
}

#[test]
fn unknown_names_get_the_nearest() {
    run_refused(&["--preset", "v6.81"], &["--preset", "'v6.81'", "did you mean v6.8?"]);
    run_refused(&["--feature", "NO_RUN_TO_PARTY"], &["--feature", "did you mean RUN_TO_PARITY?"]);
    run_refused(&["--clock", "vitual"], &["--clock", "did you mean virtual?"]);
    run_refused(&["--policy", "rr"], &["--policy", "normal, other, batch, idle, fifo:PRIORITY"]);
    run_refused(&["--policy", "fifo"], &["--policy", "needs a priority, 1 to 99: fifo:10"]);
    run_refused(&["--policy", "fifo:100"], &["--policy", "from 1 to 99"]);
    run_refused(&["--preset", "v6.8", "--feature", "PREEMPT_SHORT"], &["v6.8 does not have it"]);
}

#[test]
fn tasks_that_cannot_be() {
    refused(&["run"], &["there is no task", "--hogs"]);
    refused(&["run", "--hogs", "50000"], &["--hogs", "0 to 20000"]);
    refused(&["run", "--hogs", "19000", "--pairs", "600"], &["20200 tasks", "at most 20000"]);
    refused(&["run", "--bursts", "2:1ms"], &["--bursts", "COUNT:RUN:SLEEP"]);
    refused(&["run", "--bursts", "2:0:1ms"], &["--bursts 0s", "1us to 3600s"]);
    refused(&["run", "--background", "0:1ms"], &["--background", "0.01 to 100000"]);
    run_refused(&["--nice", "0,20"], &["--nice", "'20'", "-20 to 19"]);
    run_refused(&["--pin", "0,1"], &["--pin 1", "hog1", "only cpu0"]);
    run_refused(&["--smp", "4", "--pin", "2-5"], &["--pin 4", "cpu0 to cpu3"]);
}

#[test]
fn results_that_cannot_be_written() {
    run_refused(
        &["--json", "/nonexistent/x.json"],
        &["--json /nonexistent/x.json", "cannot be written"],
    );
    refused(&["slices", "--json", "/"], &["--json /", "is a folder"]);
}

#[test]
fn combinations_that_cannot_be() {
    run_refused(&["--accel", "kvm"], &["--accel kvm", "--clock real"]);
    run_refused(&["--verbose", "--quiet"], &["cannot be used with"]);
    refused(&["nonsense"], &["nonsense"]);
    refused(&["presets", "v6.8"], &["2 values"]);
}

#[test]
fn comparisons_that_cannot_be() {
    refused(&["slices", "--against", "windows"], &["--against", "windows", "linux"]);
    refused(&["slices", "--against", "linux", "--fit"], &["--against", "--fit"]);
}
