//! The questions about benchmarks, as the command answers them.

mod support;

use serde_json::Value;
use std::{fs, process::Command};
use support::browser;
use tempfile::TempDir;

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

/// The cells of an answer with their numbers in `column`, by the names that `key` gives them.
fn normalized(answer: &Value, key: &str, column: &str) -> Vec<(String, f64)> {
    let cells = answer["cells"].as_array().expect("a table").iter();
    cells
        .map(|cell| {
            let name = cell[key].as_str().expect("a name").to_owned();
            (name, cell[column]["normalized"].as_f64().expect("a number"))
        })
        .collect()
}

/// The same, with its page as a browser shows it, which is to have so many figures.
fn ask_for_page(words: &[&str], figures: usize) -> (Value, String) {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("page.html");
    let answer = ask(&[words, &["--report", file.to_str().expect("a plain name")]].concat());
    let page = fs::read_to_string(file).expect("the page was written");
    browser::assert_shown(&page, figures);
    (answer, page)
}

/// On the model of the machine on which all six kernels were measured they stand in the published
/// order, and each step's cause is in its counter: the command says so itself.
#[test]
fn steps_of_wakeups_stand_in_the_published_order() {
    let (answer, page) = ask_for_page(&["wakeups", "--model", "spr"], 4);
    assert_eq!(answer["verdict"], "pass", "{:#}", answer["expectations"]);
    let mut published = normalized(&answer, "step", "published");
    let mut measured = normalized(&answer, "step", "measured");
    assert_eq!(measured[0], ("6.9".to_owned(), 1.0));
    for order in [&mut published, &mut measured] {
        order.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    }
    let names = |order: &[(String, f64)]| order.iter().map(|(name, _)| name.clone()).collect();
    let [published, measured]: [Vec<String>; 2] = [names(&published), names(&measured)];
    assert_eq!(published, measured);
    assert!(page.contains("remote wake-ups do to schbench?") && page.contains("+ DELAYED"));
}

/// A pair for each CPU is where it pays; with a CPU for each task there is no search to leave out,
/// and with four tasks for each nobody is alone.
#[test]
fn overload_pays_where_each_pair_has_a_cpu() {
    let (answer, _) = ask_for_page(&["overload", "--tests", "UDP_RR"], 4);
    assert_eq!(answer["verdict"], "pass", "{:#}", answer["expectations"]);
    let gains = normalized(&answer, "case", "measured");
    let gain = |case: &str| {
        let (_, ratio) = gains.iter().find(|(name, _)| name == case).expect("the load");
        100.0 * (ratio - 1.0)
    };
    assert_eq!((gain("1x"), gain("8x")), (0.0, 0.0));
    assert!(gain("4x") > 3.0, "{gains:?}");
    assert!(gain("4x settled").abs() < 0.5, "{gains:?}");
    let counted = |case: &str, how: &str| {
        let cells = answer["cells"].as_array().expect("a table");
        let cell = cells.iter().find(|cell| cell["case"] == case).expect("the load");
        cell[how]["probes"].as_f64().expect("a count")
    };
    // Seven other CPUs and the wakee's own, at each of the two wake-ups of a transaction.
    assert!(counted("4x", "counted_without") > 10.0);
    assert!(counted("4x", "counted_with") < 0.1);
}
