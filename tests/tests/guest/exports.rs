//! Exports of a real trace: what others' readers insist on, and sums that are those of the
//! accounting, in every format.

use runner::{
    Experiment,
    records::Records,
    trace::{
        Request,
        export::{self, Format},
        read::Trace,
    },
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
    process::Command,
    sync::OnceLock,
};
use tests::{MS, US, run};

/// What the checker's exit status says if the `perfetto` package is not there.
const NOT_THERE: i32 = 77;

/// A run with everything that exports show, and its trace.
fn recorded() -> &'static (Records, Trace) {
    static RECORDED: OnceLock<(Records, Trace)> = OnceLock::new();
    RECORDED.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("run.slt");
        let mut experiment = Experiment::new().smp(3).hogs(4).load(|load| {
            load.bursts(2, 700 * US, 1900 * US).expect("both are stretches");
            load.pairs(2, 50 * US).expect("it is a stretch");
            load.yielders(1, 100 * US).expect("it is a stretch");
        });
        experiment = experiment.duration_ns(200 * MS);
        experiment.host.trace = Some(Request { file: file.clone(), slots: None });
        let result = run(&experiment);
        (result.records, Trace::open(&file).unwrap_or_else(|error| panic!("{error}")))
    })
}

fn exported(format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    export::write(&recorded().1, format, &mut bytes).expect("a Vec takes everything");
    bytes
}

fn exported_text(format: Format) -> String {
    String::from_utf8(exported(format)).expect("it is text")
}

/// Checks CPU time by pid against the accounting.
fn assert_runtimes(found: &BTreeMap<u32, u64>, what: &str) {
    let expected = recorded().0.tasks.iter().zip(1..);
    let expected: BTreeMap<u32, u64> =
        expected.map(|(task, pid)| (pid, task.counters.runtime_ns)).collect();
    assert_eq!(*found, expected, "{what}");
}

/// A line of the kernel's text by the rules that Perfetto's importer documents.
struct Line<'a> {
    pid: u32,
    cpu: u32,
    at_ns: u64,
    event: &'a str,
    arguments: HashMap<&'a str, &'a str>,
}

fn all(text: &str, is: impl Fn(char) -> bool) -> bool {
    !text.is_empty() && text.chars().all(is)
}

/// `TASK-PID [CPU] FLAGS SECONDS.FRACTION: EVENT: ARGUMENTS`, strictly.
fn parse(line: &str) -> Option<Line<'_>> {
    let (task, rest) = line.split_once(" [")?;
    let (name, pid) = task.trim_start().rsplit_once('-')?;
    let (cpu, rest) = rest.split_once("] ")?;
    let (flags, rest) = rest.split_once(' ')?;
    let (time, rest) = rest.trim_start().split_once(": ")?;
    let (event, arguments) = rest.split_once(": ")?;
    let (seconds, fraction) = time.split_once('.')?;
    let is_digit = |c: char| c.is_ascii_digit();
    let is_word = |c: char| c.is_ascii_lowercase() || c == '_';
    let well_formed = !name.contains(' ')
        && all(pid, is_digit)
        && cpu.len() == 3
        && all(cpu, is_digit)
        && (1..=4).contains(&flags.len())
        && all(flags, |c| "d.NnphHsS0123456789".contains(c))
        && all(seconds, is_digit)
        && fraction.len() == 9
        && all(fraction, is_digit)
        && all(event, is_word);
    if !well_formed {
        return None;
    }
    let mut pairs = HashMap::new();
    for token in arguments.split(' ').filter(|&token| token != "==>") {
        let (key, value) = token.split_once('=')?;
        let is_new = pairs.insert(key, value).is_none();
        if !is_new || value.is_empty() || value.contains('=') {
            return None;
        }
    }
    let at_ns = seconds.parse::<u64>().ok()? * 1_000_000_000 + fraction.parse::<u64>().ok()?;
    Some(Line { pid: pid.parse().ok()?, cpu: cpu.parse().ok()?, at_ns, event, arguments: pairs })
}

/// The arguments that the kernel's events have, in any order here.
fn keys_of(event: &str) -> Option<&'static [&'static str]> {
    const WAKEUP: &[&str] = &["comm", "pid", "prio", "target_cpu"];
    Some(match event {
        "sched_switch" => &[
            "prev_comm",
            "prev_pid",
            "prev_prio",
            "prev_state",
            "next_comm",
            "next_pid",
            "next_prio",
        ],
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => WAKEUP,
        "sched_migrate_task" => &["comm", "pid", "prio", "orig_cpu", "dest_cpu"],
        _ => return None,
    })
}

#[test]
fn ftrace_text_passes_a_strict_parser() {
    let text = exported_text(Format::Ftrace);
    assert!(text.starts_with("# tracer: nop\n"), "readers look for it");
    let mut runtimes = BTreeMap::new();
    let mut running: HashMap<u32, (u32, u64)> = HashMap::new();
    let mut latest_ns = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let parsed = parse(line).unwrap_or_else(|| panic!("{line}"));
        assert!(parsed.at_ns >= latest_ns, "{line}");
        latest_ns = parsed.at_ns;
        let keys = keys_of(parsed.event).unwrap_or_else(|| panic!("{line}"));
        assert_eq!(parsed.arguments.len(), keys.len(), "{line}");
        let argument = |key: &str| parsed.arguments.get(key).unwrap_or_else(|| panic!("{line}"));
        let number =
            |key: &str| -> u32 { argument(key).parse().unwrap_or_else(|_| panic!("{line}")) };
        keys.iter().filter(|key| !key.contains("comm") && **key != "prev_state").for_each(|key| {
            number(key);
        });
        if parsed.event != "sched_switch" {
            continue;
        }
        assert!(["R", "R+", "S", "X"].contains(argument("prev_state")), "{line}");
        let (prev, next) = (number("prev_pid"), number("next_pid"));
        assert_eq!(parsed.pid, prev, "a switch is the leaving task's: {line}");
        let before = running.insert(parsed.cpu, (next, parsed.at_ns));
        if let Some((pid, since_ns)) = before {
            assert_eq!(pid, prev, "{line}");
            if pid != 0 {
                *runtimes.entry(pid).or_default() += parsed.at_ns - since_ns;
            }
        }
    }
    assert_runtimes(&runtimes, "ftrace text");
}

#[test]
fn csv_has_every_record() {
    let text = exported_text(Format::Csv);
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let place = |name: &str| columns.iter().position(|&column| column == name).expect(name);
    let (time, cpu, event) = (place("time_ns"), place("cpu"), place("event"));
    let (prev, next) = (place("pid"), place("next_pid"));
    let mut runtimes = BTreeMap::new();
    let mut running: HashMap<&str, (u32, u64)> = HashMap::new();
    let mut count = 0;
    for line in lines {
        count += 1;
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), columns.len(), "{line}");
        let at_ns: u64 = cells[time].parse().expect("a time");
        let pid = |cell: usize| cells[cell].parse().unwrap_or(0);
        let next = match cells[event] {
            "switch" => pid(next),
            "end" => 0,
            _ => continue,
        };
        if let Some((pid_before, since_ns)) = running.insert(cells[cpu], (next, at_ns)) {
            assert!(cells[event] == "end" || pid_before == pid(prev), "{line}");
            if pid_before != 0 {
                *runtimes.entry(pid_before).or_default() += at_ns - since_ns;
            }
        }
    }
    assert_eq!(count, recorded().1.records());
    assert_runtimes(&runtimes, "csv");
}

/// A time in microseconds with three decimals, in ns.
fn us(value: &str) -> u64 {
    let (whole, part) = value.split_once('.').expect("decimals");
    assert_eq!(part.len(), 3, "{value}");
    whole.parse::<u64>().expect("a number") * 1000 + part.parse::<u64>().expect("a number")
}

#[test]
fn chrome_json_has_slices_that_do_not_overlap() {
    let text = exported_text(Format::Chrome);
    let document: Value = serde_json::from_str(&text).expect("it is JSON");
    let events = document["traceEvents"].as_array().expect("events");
    let phases = |phase: &'static str| events.iter().filter(move |event| event["ph"] == phase);
    assert!(phases("C").count() > 0 && phases("i").count() > 0);
    let ids = |phase| phases(phase).map(|event| event["id"].clone()).collect::<Vec<_>>();
    let tails = ids("s");
    assert!(!tails.is_empty() && ids("f").iter().all(|id| tails.contains(id)));

    // From the text: a float of microseconds has not all digits.
    let mut runtimes = BTreeMap::new();
    let mut free_ns: HashMap<u64, u64> = HashMap::new();
    let slices = text.lines().filter(|line| line.starts_with("{\"ph\":\"X\""));
    for (line, event) in slices.zip(phases("X")) {
        let number = |key: &str| {
            let (_, rest) = line.split_once(&format!("\"{key}\":")).expect(key);
            us(&rest[..rest.find([',', '}']).expect("an end")])
        };
        let (start_ns, length_ns) = (number("ts"), number("dur"));
        let free_ns = free_ns.entry(event["tid"].as_u64().expect("a cpu")).or_default();
        assert!(*free_ns <= start_ns, "{line}");
        *free_ns = start_ns + length_ns;
        let pid = event["args"]["pid"].as_u64().expect("a pid") as u32;
        *runtimes.entry(pid).or_default() += length_ns;
    }
    assert_runtimes(&runtimes, "chrome JSON");
}

/// By the official generated classes, where they are: `pip install perfetto`, and PERFETTO_PYTHON
/// for an interpreter that is not the `python3` in PATH.
#[test]
fn perfetto_protobuf_is_what_its_own_classes_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.pftrace");
    fs::write(&file, exported(Format::Perfetto)).expect("written");
    let python = std::env::var_os("PERFETTO_PYTHON").unwrap_or_else(|| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/check_perfetto.py");
    let output = match Command::new(&python).arg(script).arg(&file).output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("note: not checked, there is no {}: {error}", python.display());
            return;
        }
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(NOT_THERE) {
        eprintln!("note: not checked, {said}");
        return;
    }
    assert!(output.status.success(), "{said}");
    let found: Value = serde_json::from_slice(&output.stdout).expect("the script prints JSON");
    for kind in ["runtime_ns", "slices_ns"] {
        let by_pid = found[kind].as_object().expect(kind).iter();
        let by_pid =
            by_pid.map(|(pid, ns)| (pid.parse().expect("a pid"), ns.as_u64().expect("ns")));
        assert_runtimes(&by_pid.collect(), kind);
    }
    let (records, trace) = recorded();
    let wakings = records.total.wakeups;
    assert_eq!(found["events"]["sched_waking"], wakings);
    assert_eq!(found["events"]["sched_wakeup"], wakings);
    assert_eq!(found["packets"]["track_descriptor"], 1 + 2 * 3 + 2 * trace.description.tasks.len());
    assert!(found["flows"].as_u64().is_some_and(|flows| flows > 100), "{found}");
}
