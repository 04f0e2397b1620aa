//! The HTML report, as a browser shows it: every figure has a size, nothing is wider than the
//! screen, nothing is fetched and the console stays empty.

mod support;

use serde_json::{Value, json};
use std::{fs, path::Path};
use support::{FakeQemu, browser::assert_shown, bytes, lines, records, slicelab};
use tempfile::TempDir;

/// The page of a canned run, with a name that would be markup if nobody escaped it.
fn page(folder: &TempDir) -> String {
    let qemu = FakeQemu::printing(&bytes(&lines(&records(2, 3))), 33);
    let (result, page) = (folder.path().join("r.json"), folder.path().join("r.html"));
    let output = slicelab(&qemu.path())
        .args(["run", "--smp", "2", "--hogs", "3", "--duration", "100ms", "--quiet", "--json"])
        .arg(&result)
        .output()
        .expect("started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(&result).expect("written");
    let mut document: Value = serde_json::from_str(&text).expect("a document");
    document["tasks"][0]["name"] = json!("<script>alert(1)</script>");
    document["tasks"][1]["wakeup_latency_ns"] = json!({
        "count": 9, "min": 0, "mean": 50000.0, "max": 4_000_000, "stddev": 0.0,
        "p50": 1000, "p90": 20_000, "p99": 3_000_000, "p999": 4_000_000,
    });
    fs::write(&result, document.to_string()).expect("written");
    report(&[&result], &page);
    fs::read_to_string(page).expect("written")
}

fn report(results: &[&Path], page: &Path) {
    let output = slicelab(Path::new("/nonexistent/qemu"))
        .arg("report")
        .args(results)
        .arg("--output")
        .arg(page)
        .output()
        .expect("started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_browser_shows_every_figure_at_every_width_in_both_schemes() {
    let folder = TempDir::new().expect("a folder");
    // Stints of two kinds, extra ticks, wake-ups, ticks.
    assert_shown(&page(&folder), 5);
}

#[test]
fn a_page_fetches_nothing_and_escapes_names() {
    let folder = TempDir::new().expect("a folder");
    let page = page(&folder);
    for word in ["http://", "https://", "<script", "src=", "url("] {
        let found = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!found.contains(word), "`{word}` is in the page");
    }
    for words in [
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "slicelab run --hogs 3 --smp 2 --duration 100ms",
        "Extra ticks",
        "Wake-up latency",
        "Tick intervals",
        "prefers-color-scheme: dark",
        "@media print",
    ] {
        assert!(page.contains(words), "`{words}` is not in the page");
    }
}

#[test]
fn several_results_share_a_page_and_what_is_none_is_refused() {
    let folder = TempDir::new().expect("a folder");
    page(&folder);
    let (result, both) = (folder.path().join("r.json"), folder.path().join("both.html"));
    report(&[&result, &result], &both);
    let text = fs::read_to_string(both).expect("written");
    assert!(text.contains("2 results") && text.contains("id=\"result-1\""), "no contents");
    let output = slicelab(Path::new("/nonexistent/qemu"))
        .args(["report", "/nonexistent.json", "--output"])
        .arg(folder.path().join("none.html"))
        .output()
        .expect("started");
    assert_eq!(output.status.code(), Some(2));
    assert!(!folder.path().join("none.html").exists());
}
