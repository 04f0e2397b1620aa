use super::*;
use crate::trace::{self, Description, TaskDescription};
use abi::trace::{Event, Joins, Leaves, Pick, Preempts, Record, StintEnd, TaskIn, TaskOut};

const MS: u64 = 1_000_000;

/// Task `a` runs from the start, is preempted by `b` from 3 ms to 4 ms, and is cut at 10 ms.
fn example() -> Trace {
    let task = |name: &str, pid| {
        let (name, policy) = (name.into(), "normal".into());
        TaskDescription { name, pid, nice: 0, policy, prio: 120 }
    };
    let description = Description {
        slicelab: String::new(),
        cpus: 2,
        hz: 1000,
        config: serde_json::Value::Null,
        tasks: vec![task("a", 1), task("b", 2)],
    };
    let into = |task| Some(TaskIn { task, pick: Pick::Deadline, lag_ns: 0 });
    let out = |task, end| Some(TaskOut { task, end, lag_ns: -1_500_000 });
    let switch = |prev, next| Event::Switch { prev, next, nr_running: 1 };
    let how = Joins::Wakeup;
    let (preempts, is_new) = (Preempts::Yes, false);
    let events = [
        (0, switch(None, into(0))),
        (3 * MS, Event::Waking { task: 1, cpu: 0, waker: Some(0) }),
        (3 * MS, Event::Enqueue { task: 1, cpu: 0, how, nr_running: 2, lag_ns: 0 }),
        (3 * MS, Event::Wakeup { task: 1, cpu: 0, is_new, preempts }),
        (3 * MS, switch(out(0, StintEnd::Preempt), into(1))),
        (4 * MS, Event::Dequeue { task: 1, cpu: 0, why: Leaves::Sleep, nr_running: 1 }),
        (4 * MS, switch(out(1, StintEnd::Block), into(0))),
        (10 * MS, Event::End),
    ];
    let records: Vec<Record> = (0..)
        .zip(events)
        .map(|(sequence, (at_ns, event))| Record { at_ns, sequence, event })
        .collect();
    trace::example(&description, &[(0, &records)])
}

/// What `show` prints of it with these flags.
fn shown(flags: &[&str]) -> String {
    let trace = example();
    let arguments = arguments(flags);
    let selection = Selection::new(&trace, &arguments).expect("all of that is there");
    let mut out = Vec::new();
    print(&trace, &selection, arguments.view(), &mut out).expect("a Vec takes everything");
    String::from_utf8(out).expect("it is text")
}

fn arguments(flags: &[&str]) -> ShowArgs {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        show: ShowArgs,
    }
    let words = ["show", "file"].iter().chain(flags);
    <Line as clap::Parser>::try_parse_from(words).expect("these are flags").show
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn timehist_has_the_columns_of_perf() {
    let text = shown(&[]);
    let lines: Vec<&str> = text.lines().collect();
    let [head, _, rule, rows @ ..] = &lines[..] else { panic!("{text}") };
    assert_eq!(
        words(head),
        ["time", "cpu", "task", "name", "wait", "time", "sch", "delay", "run", "time"]
    );
    assert_eq!(words(rows[0]), ["0.003000", "[0000]", "a[1]", "0.000", "0.000", "3.000"]);
    assert_eq!(words(rows[1]), ["0.004000", "[0000]", "b[2]", "0.000", "0.000", "1.000"]);
    assert_eq!(words(rows[2]), ["0.010000", "[0000]", "a[1]", "1.000", "1.000", "6.000"]);
    assert_eq!(rows.len(), 3, "{text}");
    for row in rows {
        let is_between = |place| rule.as_bytes()[place] == b' ';
        assert_eq!(row.len(), rule.len(), "{text}");
        assert!((0..row.len()).all(|place| !is_between(place) || row.as_bytes()[place] == b' '));
    }
}

#[test]
fn timehist_says_why_in_words() {
    let text = shown(&["--reasons", "--state", "--wakeups"]);
    let rows: Vec<&str> = text.lines().skip(3).collect();
    assert_eq!(words(rows[0]), ["0.003000", "[0000]", "a[1]", "awakened:", "b[2]"]);
    assert!(rows[1].ends_with(" R      -1.500  earliest deadline   preempted"), "{text}");
    assert!(rows[2].ends_with(" S      -1.500  earliest deadline   blocked"), "{text}");
    assert!(rows[3].ends_with(" R       0.000  earliest deadline   the run ended"), "{text}");
}

#[test]
fn filters_leave_out_the_rest() {
    let rows = |flags: &[&str]| shown(flags).lines().skip(3).map(String::from).collect::<Vec<_>>();
    assert_eq!(rows(&["--task", "b"]).len(), 1);
    assert_eq!(rows(&["--task", "1"]).len(), 2);
    assert_eq!(rows(&["--cpu", "1"]).len(), 0);
    assert_eq!(rows(&["--time", ",3ms"]).len(), 1);
    assert_eq!(rows(&["--time", "4ms,"]).len(), 1);
    let trace = example();
    let refusal = |flags| Selection::new(&trace, &arguments(flags)).expect_err("not there");
    assert_eq!(refusal(&["--cpu", "2"]).to_string(), "--cpu 2: the trace has 2 CPUs, 0 to 1");
    assert!(refusal(&["--task", "c"]).to_string().starts_with("--task c: unknown; did you mean"));
}

#[test]
fn latency_has_the_longest_delay_first() {
    let text = shown(&["--latency"]);
    let row = |name: &str| text.lines().position(|line| line.contains(name)).expect("a row");
    assert!(row("a:1") < row("b:2"), "{text}");
    let line = text.lines().nth(row("a:1")).expect("it is there");
    for part in ["9.000 ms |", "max:   1.000 ms", "start:     0.003000 s", "end:     0.004000 s"] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[test]
fn map_shows_who_is_where() {
    let text = shown(&["--map"]);
    let rows: Vec<Vec<&str>> = text.lines().map(words).collect();
    assert_eq!(rows[0], ["*A0", "0.000000", "secs", "A0", "=>", "a:1"]);
    assert_eq!(rows[1], ["*B0", "0.003000", "secs", "B0", "=>", "b:2"]);
    assert_eq!(rows[2], ["*A0", "0.004000", "secs"]);
    assert_eq!(rows[3], ["*.", "0.010000", "secs"]);
}

/// Between 2 ms and 5 ms `a` ran for 1 ms and again for 1 ms.
#[test]
fn summary_counts_what_is_selected() {
    let text = shown(&["--summary", "--time", "2ms,5ms"]);
    let row = |start: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(start));
        words(line.unwrap_or_else(|| panic!("no {start} in {text}")))
    };
    assert_eq!(row("a[1]"), ["a[1]", "2", "2.000", "1.000", "1.000", "1.000", "0.00", "0"]);
    assert_eq!(row("b[2]")[1..3], ["1", "1.000"]);
    assert_eq!(row("CPU   0"), ["CPU", "0", "idle", "for", "0.000", "msec", "(", "0.00%)"]);
    assert_eq!(row("Total number of context switches:").last(), Some(&"2"));
}
