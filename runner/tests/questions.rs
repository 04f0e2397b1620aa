//! The questions about benchmarks, as the command answers them.

use serde_json::Value;
use std::process::Command;

/// Runs a question with one seed; returns its answer.
fn ask(words: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_slicelab"))
        .args(words)
        .args(["--repeat", "1", "--quiet", "--json", "-"])
        .output()
        .expect("the command is built with the tests");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    serde_json::from_slice(&output.stdout).expect("a document")
}

/// Two tasks on one CPU for 10 s. A slice of 3 ms is three ticks of 1 ms, and a fourth if each
/// charges 1 us less: 10 000 / 3 and 10 000 / 4 stints. 2.8 ms are three ticks both times. At
/// HZ=250 a tick of 4 ms ends either.
#[test]
fn an_extra_tick_comes_of_a_tick_charged_short() {
    let answer = ask(&["extra-tick", "--tests", "none"]);
    assert_eq!((&answer["question"], &answer["verdict"]), (&"extra-tick".into(), &"pass".into()));
    let switches = |hz, slice_ns, error_ns: i64| {
        let all = answer["cells"].as_array().expect("a table");
        let is_it = |cell: &&Value| {
            cell["hz"] == hz
                && cell["base_slice_ns"] == slice_ns
                && cell["tick_error_ns"] == error_ns
        };
        let cell = all.iter().find(is_it).expect("the cell");
        let measured = &cell["measured"];
        (measured["switches"].as_u64().expect("a number"), measured["extra_tick_share"].clone())
    };
    let (three, four, slow) = (10_000_u64.div_ceil(3), 10_000 / 4, 10_000 / 4);
    for (setting, ticks, extra) in [
        ((1000, 3_000_000, 0), three, 0.0),
        ((1000, 3_000_000, -1_000), four, 1.0),
        ((1000, 2_800_000, 0), three, 0.0),
        ((1000, 2_800_000, -1_000), three, 0.0),
        ((250, 3_000_000, -1_000), slow, 0.0),
        ((250, 2_800_000, -1_000), slow, 0.0),
    ] {
        let (hz, slice_ns, error_ns) = setting;
        let (found, share) = switches(hz, slice_ns, error_ns);
        assert!(found.abs_diff(ticks) <= 1, "{setting:?}: {found} switches, not {ticks}");
        let share = share.as_f64().expect("a number");
        assert!((share - extra).abs() < 0.001, "{setting:?}: {share}");
    }
}

/// Refused before anything runs.
#[test]
fn an_unknown_test_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_slicelab"))
        .args(["extra-tick", "--tests", "hackbnech"])
        .output()
        .expect("the command is built with the tests");
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("did you mean hackbench?"), "{errors}");
}
