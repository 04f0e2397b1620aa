//! Sweeps that are killed, split and changed: the table at the end is the same, or there is an
//! error.

mod support;

use std::{
    collections::hash_map::RandomState,
    fs,
    hash::{BuildHasher, Hasher},
    path::{Path, PathBuf},
    process::{Output, Stdio},
    thread,
    time::Duration,
};
use support::{FakeQemu, bytes, lines, records, slicelab};
use tempfile::TempDir;

/// 36 cells on one and two CPUs.
const SPEC: &str = "\
# what does a slice do?
hogs = 2
duration = \"100ms\"
smp = [1, 2]
base-slice = { from = \"1ms\", to = \"3ms\", step = \"1ms\" }
seed = { from = 1, to = 6 }
";

/// A QEMU that takes a moment, and whose figures depend on the number of CPUs.
fn qemu() -> FakeQemu {
    let qemu = FakeQemu::new(
        "while [ $# -gt 0 ]; do [ \"$1\" = -smp ] && cpus=$2; shift; done\n\
         echo >> \"$HERE/started\"\nsleep 0.02\ncat \"$HERE/$cpus\"\nexit 33",
    );
    for cpus in [1, 2] {
        let transcript = bytes(&lines(&records(cpus, 2)));
        fs::write(qemu.folder().join(cpus.to_string()), transcript).expect("written");
    }
    qemu
}

fn started(qemu: &FakeQemu) -> usize {
    fs::read_to_string(qemu.folder().join("started")).map_or(0, |text| text.lines().count())
}

struct Sweep {
    folder: TempDir,
}

impl Sweep {
    fn new(spec: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        fs::write(folder.path().join("sweep.toml"), spec).expect("written");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, qemu: &FakeQemu, flags: &[&str]) -> Output {
        let mut command = slicelab(&qemu.path());
        command.arg("sweep").arg(self.path("sweep.toml")).args(flags).output().expect("started")
    }

    fn merge(&self, parts: &[&str]) -> Output {
        slicelab(Path::new("/nonexistent/qemu"))
            .arg("merge")
            .args(parts.iter().map(|part| self.path(part)))
            .arg("--output")
            .arg(self.path("merged.jsonl"))
            .output()
            .expect("started")
    }

    /// The results of a file by cell, without the host's time.
    fn results(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(name)).expect("results");
        let mut lines: Vec<String> = text
            .lines()
            .map(|line| {
                let mut line: serde_json::Value = serde_json::from_str(line).expect("JSON");
                if let Some(totals) = line.pointer_mut("/document/totals") {
                    totals["wall_s"] = 0.into();
                }
                line.to_string()
            })
            .collect();
        lines.sort();
        lines
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn table(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_sweep_killed_ten_times_ends_with_the_table_of_an_undisturbed_one() {
    let (undisturbed, disturbed, qemu) = (Sweep::new(SPEC), Sweep::new(SPEC), qemu());
    let expected = table(&undisturbed.run(&qemu, &[]));
    assert!(expected.contains("36 of 36 cells: 0 failed, 0 did not pass"), "{expected}");
    let random = RandomState::new();
    let mut waits = Vec::new();
    let lines = || {
        let text = fs::read(disturbed.path("sweep.jsonl")).unwrap_or_default();
        text.iter().filter(|&&byte| byte == b'\n').count()
    };
    for round in 0..10 {
        let before = lines();
        let mut sweep = slicelab(&qemu.path())
            .arg("sweep")
            .arg(disturbed.path("sweep.toml"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        // Each round gets something done, however slow the host; then any moment is as good.
        while lines() <= before && sweep.try_wait().expect("it is there").is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        let mut hasher = random.build_hasher();
        hasher.write_u32(round);
        let wait = Duration::from_micros(hasher.finish() % 100_000);
        waits.push(wait);
        thread::sleep(wait);
        // SIGKILL: nothing of it runs any more.
        sweep.kill().expect("it is there, or has ended and not been waited for");
        sweep.wait().expect("ended");
    }
    let kept = lines().saturating_sub(1);
    assert!(kept > 0, "nothing was kept: {waits:?}");
    assert_eq!(table(&disturbed.run(&qemu, &[])), expected, "killed after {waits:?}");
    assert_eq!(disturbed.results("sweep.jsonl"), undisturbed.results("sweep.jsonl"), "{waits:?}");
}

#[test]
fn what_has_a_result_is_not_run_again() {
    let (sweep, qemu) = (Sweep::new(SPEC), qemu());
    let first = table(&sweep.run(&qemu, &[]));
    assert_eq!(started(&qemu), 36);
    let again = sweep.run(&qemu, &[]);
    assert_eq!(started(&qemu), 36);
    assert!(text(&again.stderr).contains("0 cells to run; 36 have a result"));
    assert_eq!(table(&again), first);
}

#[test]
fn two_shards_merged_equal_the_whole() {
    let (whole, parts, qemu) = (Sweep::new(SPEC), Sweep::new(SPEC), qemu());
    let expected = table(&whole.run(&qemu, &[]));
    let first = table(&parts.run(&qemu, &["--shard", "1/2"]));
    assert!(first.contains("18 of 36 cells"), "{first}");
    table(&parts.run(&qemu, &["--shard", "2/2"]));
    let merged = table(&parts.merge(&["sweep.1-of-2.jsonl", "sweep.2-of-2.jsonl"]));
    assert_eq!(merged, expected);
    assert_eq!(parts.results("merged.jsonl"), whole.results("sweep.jsonl"));
    // And in the order of the cells, so that a merged file is the same whoever ran what.
    let text = fs::read_to_string(parts.path("merged.jsonl")).expect("written");
    let cells: Vec<u64> = text
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["cell"].as_u64())
        .map(|cell| cell.expect("a number"))
        .collect();
    assert_eq!(cells, (0..36).collect::<Vec<_>>());
}

#[test]
fn parts_of_two_sweeps_are_not_merged() {
    let (one, qemu) = (Sweep::new("hogs = 2\nduration = \"100ms\"\nseed = [1, 2]\n"), qemu());
    table(&one.run(&qemu, &[]));
    fs::write(one.path("sweep.toml"), "hogs = 2\nduration = \"100ms\"\nseed = [1, 3]\n")
        .expect("written");
    let changed = one.run(&qemu, &[]);
    assert_eq!(changed.status.code(), Some(2));
    for words in ["sweep.toml", "sweep.jsonl", "`seed` was 1, 2, is 1, 3", "--output"] {
        assert!(text(&changed.stderr).contains(words), "{words}: {}", text(&changed.stderr));
    }
    let other = one.path("other.jsonl");
    table(&one.run(&qemu, &["--output", other.to_str().expect("plain")]));
    let merged = one.merge(&["sweep.jsonl", "other.jsonl"]);
    assert_eq!(merged.status.code(), Some(2));
    assert!(text(&merged.stderr).contains("of another sweep"), "{}", text(&merged.stderr));
    assert!(!one.path("merged.jsonl").exists());
}

#[test]
fn a_failed_cell_keeps_its_cause_and_the_others_go_on() {
    let sweep = Sweep::new("hogs = 2\nduration = \"100ms\"\nsmp = [1, 2]\n");
    let qemu = qemu();
    let good = fs::read(qemu.folder().join("2")).expect("there");
    fs::write(qemu.folder().join("2"), "[    0.1][cpu1][ERROR x] oh\n").expect("written");
    let output = sweep.run(&qemu, &["--jobs", "1"]);
    assert_eq!(output.status.code(), Some(4));
    let shown = text(&output.stdout);
    assert!(shown.contains("failed: smp=2: the guest's report cannot be trusted"), "{shown}");
    assert!(shown.contains("2 of 2 cells: 1 failed"), "{shown}");
    // It is not run again unless that is asked for, and then the newer line counts.
    fs::write(qemu.folder().join("2"), good).expect("written");
    assert_eq!(sweep.run(&qemu, &[]).status.code(), Some(4));
    assert_eq!(started(&qemu), 2);
    let shown = table(&sweep.run(&qemu, &["--retry"]));
    assert_eq!(started(&qemu), 3);
    assert!(shown.contains("2 of 2 cells: 0 failed"), "{shown}");
}

#[test]
fn a_bad_spec_is_refused_with_its_place_before_anything_runs() {
    let qemu = qemu();
    let refused = |spec: &str, words: &[&str]| {
        let output = Sweep::new(spec).run(&qemu, &[]);
        let shown = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{shown}");
        for word in words {
            assert!(shown.contains(word), "`{word}` is not in: {shown}");
        }
    };
    refused("hogs = 2\nhzz = 250\n", &["sweep.toml:2:1", "did you mean hz?", "2 | hzz = 250"]);
    refused("hogs = 2\nhz = [250, 5]\n", &["sweep.toml:2:12", "from 10 to 10000"]);
    refused("hogs = 2\npin = [\"0\", \"3\"]\n", &["sweep.toml:2:13", "--pin 3", "only cpu0"]);
    refused("hogs = 2\nhz = [250\n", &["sweep.toml:"]);
    assert_eq!(started(&qemu), 0);
}

#[test]
fn seeds_are_summed_up_and_figures_chosen() {
    let (sweep, qemu) = (Sweep::new(SPEC), qemu());
    let csv = sweep.path("table.csv");
    let flags = ["--metric", "hog CPU time", "--csv", csv.to_str().expect("plain")];
    let shown = table(&sweep.run(&qemu, &flags));
    let row = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let rows: Vec<_> = shown.lines().map(row).collect();
    assert_eq!(rows[0], "smp base-slice seeds hog CPU time, ms CV");
    // 100 ms on each CPU.
    assert_eq!(rows[1], "1 1ms 6 100 0.00 %");
    assert_eq!(rows[6], "2 3ms 6 200 0.00 %");
    let csv = fs::read_to_string(csv).expect("written");
    assert!(csv.starts_with("smp,base-slice,seeds,hog mean stint [ms],"), "{csv}");
    assert_eq!(csv.lines().count(), 7);
    let refused = sweep.run(&qemu, &["--metric", "hog CPU tim"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("did you mean hog CPU time?"));
}
