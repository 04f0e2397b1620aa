//! Built-in mixes on the command line: what is refused before anything starts, and help.

mod support;

use support::{FakeQemu, slicelab};

/// Exit code, stdout and stderr; fails if a guest was started.
#[track_caller]
fn said(arguments: &[&str]) -> (Option<i32>, String, String) {
    let qemu = FakeQemu::new("touch \"$HERE/started\"; exit 33");
    let output = slicelab(&qemu.path()).args(arguments).output().expect("started");
    assert!(!qemu.folder().join("started").exists(), "{arguments:?} started a guest");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[track_caller]
fn refused(arguments: &[&str], words: &[&str]) {
    let (code, _, text) = said(&[&["run", "--mix"], arguments].concat());
    assert_eq!(code, Some(2), "{arguments:?}: {text}");
    for word in words {
        assert!(text.contains(word), "{arguments:?}: `{word}` is not in: {text}");
    }
}

#[test]
fn mixes_and_options_that_are_not() {
    refused(&["nope"], &["--mix nope", "hackbench", "cyclictest", "slicelab mixes"]);
    refused(&["hackbench", "--", "-m", "3"], &["'-m'", "--mix hackbench"]);
    refused(&["hackbench", "--", "-g", "0"], &["'0'", "-g", "from 1 to 10000"]);
    refused(&["hackbench", "--", "-g", "1000"], &["-g 1000", "40000 tasks", "20000"]);
    refused(&["hackbench", "--", "-s", "65537"], &["'65537'", "from 1 to 65536"]);
    refused(&["pipe", "--", "-l", "99999999999999999999"], &["-l", "from 1 to 1000000000"]);
    refused(&["schbench", "--", "-M", "auto"], &["-M auto", "raise --smp"]);
    refused(&["schbench", "--", "-M", "9"], &["-M 9: the machine has only cpu0; raise --smp"]);
    refused(
        &["schbench", "--smp", "2", "--", "-W", "0-2"],
        &["-W 2: the machine has cpu0 to cpu1"],
    );
    for (options, words) in [
        (&["-A", "80"][..], &["-A 80", "-R"][..]),
        (&["-P", "ccx"], &["-P ccx", "-M and -W"]),
        (&["-j", "out.json"], &["-j out.json", "-j -", "--quiet"]),
        (&["-w", "10", "-r", "10"], &["-w 10", "the 10s of the run", "raise -r"]),
        (&["-R", "5", "-p", "4096"], &["-R 5", "-p 4096"]),
        (&["-R", "1", "-m", "2"], &["-R 1: is none for each of 2 message threads"]),
        (&["-p", "1048577"], &["'1048577'", "--pipe", "from 1 to 1048576"]),
    ] {
        refused(&[&["schbench", "--"], options].concat(), words);
    }
    let too_many = ["-f 20000: ", "16 children each make 340000 tasks", "-f 1176 at most"];
    refused(&["forkstorm", "--", "-f", "20000"], &too_many);
    let too_large = ["-m 5000: ", "make 20001 tasks", "-m 4999 at most"];
    refused(&["forkstorm", "--", "-l", "9999", "-m", "5000"], &too_large);
    refused(&["yield", "--", "--op-cost", "-1us"], &["'-1us'", "--op-cost", "cannot be negative"]);
    refused(&["yield", "--", "-l", "-5"], &["'-5'", "-l", "from 1 to 1000000000"]);
    refused(&["schbench", "--duration", "5s", "--", "-r", "6"], &["-r 6s", "--duration 5s"]);
    refused(&["hogs", "--", "-t", "5h"], &["-t", "'5h'", "unknown unit"]);
    refused(&["hackbench", "--repeat", "0"], &["--repeat", "'0'", "from 1 to 1000"]);
    refused(&["pipe", "--repeat", "2", "--seed", "18446744073709551615"], &["--seed", "2 seeds"]);
}

/// Options of a mix without the `--` before them: what is missing is said.
#[test]
fn options_of_a_mix_come_after_two_dashes() {
    let tip = "options of the mix come after `--`: slicelab run --mix hackbench -- -g 4";
    refused(&["hackbench", "-g", "4"], &["'-g'", tip]);
    refused(&["hackbench", "--smp", "2", "--groups", "4"], &["'--groups'", "come after `--`"]);
    // Elsewhere it would mislead.
    for others in [&["run", "--hgos", "2"][..], &["run", "--mix", "pipe", "--hgos", "2", "--"]] {
        let (code, _, text) = said(others);
        assert_eq!(code, Some(2));
        assert!(!text.contains("come after"), "{text}");
    }
}

#[test]
fn options_belong_to_a_mix_and_repeats_to_figures() {
    let (code, _, text) = said(&["run", "--hogs", "2", "--", "-g", "1"]);
    assert_eq!(code, Some(2));
    assert!(text.contains("--mix"), "{text}");
    let (code, _, text) = said(&["run", "--hogs", "2", "--repeat", "3"]);
    assert_eq!(code, Some(2));
    assert!(text.contains("--repeat 3: this load measures nothing"), "{text}");
}

#[test]
fn help_says_what_every_option_is_for() {
    let (code, text, _) = said(&["run", "--mix", "cyclictest", "--", "--help"]);
    assert_eq!(code, Some(0));
    for word in ["-t", "-i", "-d", "-l", "-h", "[default: 1000]", "--mix cyclictest --"] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    let (code, text, _) = said(&["mixes"]);
    assert_eq!((code, text.lines().count()), (Some(0), 14), "{text}");
}
