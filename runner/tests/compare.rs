//! `compare` on files that runs have left, and what it refuses.

mod support;

use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};
use support::{FakeQemu, bytes, lines, records, slicelab};
use tempfile::TempDir;

/// Exit code, stdout and stderr.
fn compare(arguments: &[&Path]) -> (Option<i32>, String, String) {
    let output = slicelab("/nonexistent/qemu".as_ref())
        .arg("compare")
        .args(arguments)
        .output()
        .expect("started");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The document of a canned run with these flags, changed.
fn document(folder: &TempDir, name: &str, flags: &[&str], change: impl Fn(&mut Value)) -> PathBuf {
    let qemu = FakeQemu::printing(&bytes(&lines(&records(1, 2))), 33);
    let path = folder.path().join(name);
    let output = slicelab(&qemu.path())
        .args(["run", "--hogs", "2", "--duration", "100ms", "--json"])
        .arg(&path)
        .args(flags)
        .output()
        .expect("started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(&path).expect("written");
    let mut document = serde_json::from_str(&text).expect("a document");
    change(&mut document);
    fs::write(&path, document.to_string()).expect("written");
    path
}

/// A mix's document with one metric, in so many seeds.
fn metric(name: &str, better: &str, values: &[f64]) -> impl Fn(&mut Value) {
    let (name, better, values) = (name.to_owned(), better.to_owned(), values.to_vec());
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    move |document| {
        document["command"] = json!(["run", "--mix", "hackbench", "--", "-g", "4"]);
        let repeats = json!({"values": values, "mean": mean, "median": mean, "cv_pct": 0.0});
        document["metrics"] = json!([{
            "name": name, "unit": "s", "better": better, "value": values[0], "repeats": repeats,
        }]);
    }
}

#[test]
fn two_runs_of_one_load_list_what_differs() {
    let folder = TempDir::new().expect("a folder");
    let base = document(&folder, "base.json", &["--preset", "v6.15"], |_| {});
    let new = document(&folder, "new.json", &["--preset", "v7.0"], |document| {
        document["tasks"][0]["extra_ticks"] = json!(1);
    });
    let (code, text, _) = compare(&[&base, &new]);
    assert_eq!(code, Some(0));
    for words in ["preset", "v6.15  v7.0", "hog mean stint", "Neither is better", "one run each"] {
        assert!(text.contains(words), "`{words}` is not in:\n{text}");
    }
    assert!(!text.contains("memory_mib"), "{text}");
}

#[test]
fn the_sign_follows_the_direction_and_seeds_give_a_spread() {
    let folder = TempDir::new().expect("a folder");
    let base = document(&folder, "tip.json", &[], metric("time", "lower", &[1.0, 1.02]));
    let new = document(&folder, "my-change.json", &[], metric("time", "lower", &[0.9, 0.918]));
    let json = folder.path().join("out.json");
    let (code, text, _) = compare(&[&base, &new, Path::new("--json"), &json]);
    assert_eq!(code, Some(0));
    // Means 1.01 and 0.909: exactly a tenth less; both spread by 0.0141 of 1.01.
    assert!(text.contains("1.00 [ -0.00]( 1.40)"), "{text}");
    assert!(text.contains("0.90 [ 10.00]( 1.40)"), "{text}");
    assert!(text.contains("1 better, 0 worse"), "{text}");
    let text = fs::read_to_string(json).expect("written");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let case = &document["comparisons"][0]["tests"][0]["cases"][0];
    assert_eq!((&case["case"], &case["new"][0]["seeds"]), (&json!("time"), &json!(2)));
    assert_eq!(case["new"][0]["within_spread"], false);
}

#[test]
fn documents_of_two_questions_are_not_compared() {
    let folder = TempDir::new().expect("a folder");
    let base = document(&folder, "base.json", &[], metric("time", "lower", &[1.0]));
    let other = document(&folder, "other.json", &[], |_| {});
    let (code, _, text) = compare(&[&base, &other]);
    assert_eq!(code, Some(2));
    for words in ["result other", "another question (load flags)", "base (hackbench)"] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    let (code, _, text) = compare(&[&base]);
    assert_eq!(code, Some(2));
    assert!(text.contains("nothing to compare it with"), "{text}");
}

#[test]
fn answers_are_compared_cell_by_cell() {
    let folder = TempDir::new().expect("a folder");
    let answer = |name: &str, run: f64| {
        let path = folder.path().join(name);
        let cell = json!({
            "hz": 100, "base_slice_ns": 3_000_000, "published": {"avg_run_ms": 9.1},
            "quiet": {"avg_run_ms": run, "extra_tick_share": 0.0}, "error_pct": 1.0,
        });
        let answer = json!({"schema": 1, "question": "slices", "cells": [cell], "verdict": "pass"});
        fs::write(&path, answer.to_string()).expect("written");
        path
    };
    let (code, text, _) = compare(&[&answer("a.json", 10.0), &answer("b.json", 9.0)]);
    assert_eq!(code, Some(0));
    for words in ["slices, quiet: avg run", "HZ=100, base slice 3ms", "0.90 [-10.00]"] {
        assert!(text.contains(words), "`{words}` is not in:\n{text}");
    }
    assert!(!text.contains("published"), "{text}");
}

#[test]
fn posted_tables_come_out_as_they_went_in() {
    let posted = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/default_slice_patch.csv");
    let (code, text, _) = compare(&[&posted]);
    assert_eq!(code, Some(0));
    let text = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let text = text.collect::<Vec<_>>().join("\n");
    for words in [
        "hz250_new_slice",
        "1-groups 1.00 [ -0.00]( 9.88) 1.09 [ -9.19](11.57) ~",
        "1 1.00 [ 0.00]( 0.00) 0.97 [ -2.64]( 0.68)",
        "Statistic : Median",
    ] {
        assert!(text.contains(words), "`{words}` is not in:\n{text}");
    }
}

#[test]
fn what_is_no_result_is_named() {
    let folder = TempDir::new().expect("a folder");
    let base = document(&folder, "base.json", &[], |_| {});
    let broken = folder.path().join("broken.json");
    fs::write(&broken, "{\"schema\": 1,\n \"config\": 3}").expect("written");
    let (code, _, text) = compare(&[&base, &broken]);
    assert_eq!(code, Some(2));
    for words in ["broken.json: is not a result", "line 2"] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    let (code, _, text) = compare(&[&base, Path::new("/nonexistent.json")]);
    assert_eq!(code, Some(2));
    assert!(text.contains("/nonexistent.json: No such file"), "{text}");
}
