//! rt-app files: what each quirk of the format is read as, and what each slip is answered with.

use abi::{CpuSet, scenario::Policy};
use runner::rtapp::{
    self, Barrier, Description, Machine,
    model::{Event, Loops, Phase, Sched, SchedChange},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

const MACHINE: Machine<'_> = Machine { cpus: 4, without_slices: None };

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rtapp")
}

fn read(name: &str) -> Description {
    let path = folder().join(name).with_extension("json");
    rtapp::read(&path, &MACHINE).unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn events(phase: &Phase) -> Vec<Event> {
    phase.steps.iter().map(|step| step.event).collect()
}

const fn ms(count: u64) -> u64 {
    count * 1_000_000
}

const fn us(count: u64) -> u64 {
    count * 1_000
}

#[test]
fn comments_and_trailing_commas_are_fine() {
    let file = read("comments-and-commas");
    assert_eq!(file.global.duration_ns, Some(2_000_000_000));
    let [task] = &file.tasks[..] else { panic!("one task") };
    assert_eq!((task.name.as_str(), task.instances, task.loops), ("busy", 1, Loops::Forever));
    let [phase] = &task.phases[..] else { panic!("one phase") };
    assert_eq!(events(phase), [Event::Run(ms(1)), Event::Sleep(ms(3))]);
    assert_eq!((phase.loops, &phase.name), (Loops::ONCE, &None));
    assert_eq!(file.notes, [""; 0]);
}

#[test]
fn every_repeated_key_counts_and_one_note_says_so() {
    let file = read("repeated-keys");
    let [task] = &file.tasks[..] else { panic!("one task") };
    assert_eq!(task.loops, Loops::Times(2));
    let [one, two] = &task.phases[..] else { panic!("two phases") };
    assert_eq!(events(one), [Event::Run(ms(1)), Event::Sleep(us(500)), Event::Run(ms(2))]);
    assert_eq!(events(two), [Event::Run(ms(4))]);
    assert_eq!(
        file.notes,
        [
            "`step` repeats in one object (at 7:5, the first of 2): every one counts, as with rt-app's \
          workgen; rt-app itself would keep the last alone"
        ]
    );
}

#[test]
fn suspend_and_yield_may_stand_alone() {
    let file = read("keys-alone");
    let suspend = Event::Suspend { condition: 0, mutex: 0 };
    let run = |time| Event::Run(us(time));
    assert_eq!(events(&file.tasks[0].phases[0]), [suspend, run(200), Event::Yield, suspend]);
    let resume = Event::Resume { condition: 0, mutex: 0 };
    let sleep = Event::Sleep(ms(5));
    assert_eq!(events(&file.tasks[1].phases[0]), [run(100), resume, sleep, Event::Yield]);
    assert_eq!(file.resources.conditions, ["sleeper"]);
    assert_eq!(file.resources.mutexes, ["sleeper"]);
}

#[test]
fn the_beginning_of_a_key_says_which_event_it_is() {
    let file = read("prefixes");
    assert_eq!(
        events(&file.tasks[0].phases[0]),
        [
            Event::Run(us(10)),
            Event::RunWall(us(20)),
            Event::Sleep(us(30)),
            Event::Timer { timer: 0, period_ns: us(40) },
            Event::Barrier(0),
            Event::Run(500),
            Event::Run(us(5)),
        ]
    );
    assert_eq!(
        file.notes,
        [
            "`mem` and `iorun` are CPU time here: 1 ns for 10 bytes of memory, 1 ns for a byte of I/O"
        ]
    );
}

#[test]
fn attributes_are_a_tasks_or_change_with_a_phase() {
    let file = read("attributes");
    let [plain, set] = &file.tasks[..] else { panic!("two tasks") };
    assert_eq!(plain.sched, Sched { policy: Policy::Batch, nice: 0, slice_ns: None });
    assert_eq!(plain.cpus, None);
    assert_eq!(set.sched, Sched { policy: Policy::Normal, nice: -5, slice_ns: Some(us(2800)) });
    assert_eq!(set.cpus, Some([0, 2].into_iter().collect()));
    assert_eq!((set.delay_ns, set.instances), (us(1500), 3));
    let [same, nicer, idle, long] = &set.phases[..] else { panic!("four phases") };
    assert_eq!((same.loops, same.change), (Loops::Times(4), SchedChange::default()));
    assert_eq!(nicer.change, SchedChange { nice: Some(7), ..SchedChange::default() });
    assert_eq!(nicer.cpus, Some(CpuSet::only(1)));
    // A policy brings nice 0 along; a slice of 0 is none.
    let to_idle = SchedChange { policy: Some(Policy::Idle), nice: Some(0), slice_ns: Some(None) };
    assert_eq!(idle.change, to_idle);
    assert_eq!(idle.cpus, None);
    assert_eq!(long.change.slice_ns, Some(Some(ms(100))));
    assert!(file.notes[0].contains("within 100 us and 100 ms"), "{:?}", file.notes);
}

#[test]
fn unique_timers_are_a_threads_own_and_the_mode_is_the_timers() {
    let file = read("timers");
    let timers: Vec<_> = file
        .resources
        .timers
        .iter()
        .map(|timer| (timer.name.as_str(), timer.of_task, timer.absolute))
        .collect();
    assert_eq!(
        timers,
        [
            ("unique", Some(0), true),
            ("uniqueB", Some(0), false),
            ("tick", None, false),
            ("unique", Some(1), false),
        ]
    );
    let used = |task: usize| -> Vec<_> {
        let steps = file.tasks[task].phases.iter().flat_map(|phase| &phase.steps);
        steps
            .filter_map(|step| match step.event {
                Event::Timer { timer, period_ns } => Some((timer, period_ns)),
                _ => None,
            })
            .collect()
    };
    assert_eq!(used(0), [(0, us(100)), (0, us(200)), (1, us(300)), (2, us(400))]);
    assert_eq!(used(1), [(3, us(500)), (2, 0)]);
}

#[test]
fn a_barrier_counts_each_mention_for_each_instance() {
    let barrier = |name: &str| Barrier { name: name.into(), parties: 3 };
    assert_eq!(read("barriers").resources.barriers, [barrier("start"), barrier("end")]);
}

#[test]
fn conditions_take_their_mutex_where_it_is_not_held() {
    let file = read("conditions");
    let sync = |held| Event::Sync { condition: 0, mutex: 0, held };
    assert_eq!(
        events(&file.tasks[0].phases[0]),
        [
            Event::Lock(0),
            Event::Wait { condition: 0, mutex: 0 },
            Event::Unlock(0),
            sync(false),
            Event::Lock(0),
            sync(true),
            Event::Unlock(0),
        ]
    );
    assert_eq!(
        events(&file.tasks[1].phases[0])[1..],
        [
            Event::Signal(0),
            Event::Broadcast(0),
            Event::Resume { condition: 0, mutex: 1 },
            Event::SemPost(0)
        ]
    );
    assert_eq!(events(&file.tasks[2].phases[0])[0], Event::SemWait(0));
    assert_eq!(
        file.notes[1..],
        [
            "a `sync` without its mutex locks and unlocks it, as rt-app's description has it; \
             rt-app itself does not",
            "task `lonely` waits for `godot`, and nothing resumes or signals that"
        ]
    );
}

#[test]
fn tasks_without_instances_are_there_to_be_forked() {
    let file = read("fork");
    assert_eq!(events(&file.tasks[0].phases[0]), [Event::Run(ms(1)), Event::Fork(1)]);
    assert_eq!(file.threads(), 1);
    assert_eq!(file.notes, ["task `orphan` has `instance` 0 and is never forked"]);
}

#[test]
fn tasks_of_one_name_all_run_and_that_is_said() {
    let text = "{\"tasks\": {\n\"a\": {\"run\": 1},\n\"b\": {\"run\": 2},\n  \"a\": {\"run\": 3},\n\
                \"a\": {\"run\": 4}}}";
    let file = rtapp::parse("w.json", text, &MACHINE).expect("fine");
    assert_eq!(file.threads(), 4);
    assert_eq!(
        file.notes,
        ["several tasks are called `a` (again at 4:3): all of them run, and `fork` means the \
          first; rt-app itself would keep the last alone"]
    );
}

/// rt-app stops the run after a duration above zero; anything else does not.
#[test]
fn a_duration_of_nothing_is_none() {
    for duration in ["-1", "0"] {
        let text = format!(
            "{{\"global\": {{\"duration\": {duration}}}, \"tasks\": {{\"a\": {{\"run\": 1}}}}}}"
        );
        let file = rtapp::parse("w.json", &text, &MACHINE).expect("fine");
        assert_eq!(file.global.duration_ns, None, "{duration}");
    }
}

#[test]
fn keys_without_a_meaning_are_named_once() {
    let file = read("ignored");
    assert_eq!(file.global.duration_ns, None);
    assert_eq!(
        file.notes,
        ["without a meaning here: `resources`, `calibration`, `ftrace`, `gnuplot`, `pi_enabled`, \
          `lock_pages`, `logdir`, `log_basename`, `log_size`, `frag`, `util_min`, `nodes_membind` \
          and more"]
    );
}

/// Each file says in its first line what it is answered with.
#[test]
fn each_slip_is_answered_with_its_place() {
    let mut count = 0;
    for entry in fs::read_dir(folder().join("refused")).expect("the folder is there") {
        let path = entry.expect("readable").path();
        let text = fs::read_to_string(&path).expect("readable");
        let first = text.lines().next().unwrap_or_default();
        let expected = first.strip_prefix("// expect: ").unwrap_or_else(|| panic!("{path:?}"));
        let refusal =
            rtapp::read(&path, &MACHINE).err().unwrap_or_else(|| panic!("{path:?} is accepted"));
        let message = refusal.to_string();
        let got = message.lines().next().unwrap_or_default();
        assert_eq!(got, format!("workload {}:{expected}", path.display()));
        assert!(message.contains("^"), "{message}");
        count += 1;
    }
    assert!(count > 40, "{count} files");
}

#[test]
fn several_slips_come_in_one_message() {
    let path = folder().join("refused/several.json");
    let message = rtapp::read(&path, &MACHINE).expect_err("wrong").to_string();
    let carets = message.lines().filter(|line| line.trim_start().starts_with("| ")).count();
    assert_eq!(carets, 2, "{message}");
    assert!(message.contains("several.json:6:19: task `c`, key `run`: "), "{message}");
}

#[test]
fn files_that_are_no_workload_are_refused_at_once() {
    let inputs = [
        ("", "1:1: the file is empty"),
        ("\u{feff}", "1:1: the file is empty"),
        ("[]", "1:1: a list where a workload is expected, an object in braces"),
        ("{}", "1:1: there are no tasks"),
        ("{\"tasks\": {}}", "1:11: there are no tasks"),
        ("{\"tasks\": null}", "1:11: key `tasks`: null where tasks by name is expected"),
        ("{\"tasks\": {\"t\": 5}}", "1:17: task `t`: a number where a task is expected"),
    ];
    for (text, expected) in inputs {
        let message = rtapp::parse("f", text, &MACHINE).expect_err(text).to_string();
        assert!(message.starts_with(&format!("workload f:{expected}")), "{message}");
    }
    let marked = "\u{feff}{\"tasks\": {\"t\": {\"run\": 5}}}";
    assert!(rtapp::parse("f", marked, &MACHINE).is_ok());
    let missing =
        rtapp::read(Path::new("/nonexistent.json"), &MACHINE).expect_err("missing").to_string();
    assert!(missing.starts_with("workload /nonexistent.json: cannot be read: "), "{missing}");
    let latin1 = tempfile(b"{\n \"t\xe4sks\": 1}");
    let message = rtapp::read(latin1.path(), &MACHINE).expect_err("Latin-1").to_string();
    assert!(message.contains(":2:4: not UTF-8 text from here on"), "{message}");
    let large = tempfile(&[b'\n'; (16 << 20) + 1]);
    let message = rtapp::read(large.path(), &MACHINE).expect_err("large").to_string();
    assert!(message.contains(":16777217:1: the file goes on after 16 MiB"), "{message}");
    let folder = rtapp::read(&folder(), &MACHINE).expect_err("a folder").to_string();
    assert!(folder.contains("cannot be read"), "{folder}");
}

#[test]
fn nothing_makes_reading_slow() {
    let tasks = |count: usize, body: &str| -> String {
        let tasks: Vec<_> = (0..count).map(|n| format!("\"t{n}\":{{{body}}}")).collect();
        format!("{{\"tasks\":{{{}}}}}", tasks.join(","))
    };
    let resumes = (0..100_000).map(|n| format!("\"resume\":\"x{n}\",")).collect::<String>();
    let waits = (0..99_000).map(|n| format!("\"suspend\":\"y{n}\",")).collect::<String>();
    let locks = (0..99_000).map(|n| format!("\"lock\":\"y{n}\",")).collect::<String>();
    let phases = "\"p\":{\"loop\":2,\"run\":1},".repeat(100_000);
    let inputs = [
        ("a large file", " ".repeat(17 << 20)),
        ("deep lists", "[".repeat(15 << 20)),
        ("deep objects", "{\"a\":".repeat(3 << 20)),
        ("many values", format!("{{\"tasks\":[{}", "0,".repeat(7 << 20))),
        ("a long word", format!("{{\"tasks\":{{\"t\":{{\"{}\":1}}}}}}", "x".repeat(15 << 20))),
        ("a long name", tasks(1, &format!("\"run\":1,\"fork\":\"{}\"", "t".repeat(9 << 20)))),
        ("bad tasks", tasks(200_000, "\"rn\":1")),
        ("many tasks", tasks(200_000, "\"run\":1")),
        ("many events", tasks(1, &format!("{}\"run\":1", "\"sleep\":1,".repeat(200_000)))),
        (
            "events by threads",
            tasks(1, &format!("\"instance\":20000,{}\"run\":1", "\"sleep\":1,".repeat(200))),
        ),
        (
            "events by timers",
            tasks(
                1,
                &format!(
                    "\"instance\":20000,{}\"timer\":{{\"ref\":\"unique\",\"period\":5}}",
                    "\"sleep\":1,".repeat(10)
                ),
            ),
        ),
        ("bad forks", tasks(100_000, "\"run\":1,\"fork\":\"t\"")),
        ("bad resumes", tasks(1, &format!("{resumes}{waits}\"run\":1"))),
        ("locks", tasks(1, &format!("\"phases\":{{\"l\":{{{locks}\"run\":1}},{phases}}}"))),
    ];
    for (what, text) in inputs {
        let file = tempfile(text.as_bytes());
        let start = Instant::now();
        let message = rtapp::read(file.path(), &MACHINE).expect_err(what).to_string();
        let took = start.elapsed();
        assert!(message.len() < 2000, "{what}: {} bytes", message.len());
        println!("{what}: {took:?}: {}", message.lines().next().unwrap_or_default());
        // Generous, for hosts that do other things too.
        assert!(took < Duration::from_secs(5), "{what} took {took:?}");
    }
}

/// The command with a file of that text, and its exit code and what it says.
fn slicelab(text: &str, flags: &[&str]) -> (Option<i32>, String) {
    let file = tempfile(text.as_bytes());
    let output = Command::new(env!("CARGO_BIN_EXE_slicelab"))
        .arg("run")
        .arg(file.path())
        .args(flags)
        // Far enough to see the workload accepted, and no further.
        .args(["--qemu", "/nonexistent"])
        .output()
        .expect("the command starts");
    let stderr = String::from_utf8(output.stderr).expect("it writes text");
    (output.status.code(), stderr.replace(&file.path().display().to_string(), "FILE"))
}

#[test]
fn the_command_refuses_with_2_and_a_place() {
    let fine = r#"{"tasks": {"t": {"cpus": [1], "dl-runtime": 3000, "run": 10}}}"#;
    let (code, text) = slicelab(fine, &["--smp", "2"]);
    assert_eq!(code, Some(3), "{text}");
    let length = "note: the file has no duration and its tasks loop for ever: this run takes 10s";
    assert!(text.starts_with(length), "{text}");
    let (code, text) = slicelab(fine, &["--smp", "2", "--duration", "3s", "--quiet"]);
    assert_eq!(code, Some(3), "{text}");
    assert!(!text.contains("note:"), "{text}");
    let (code, text) = slicelab(fine, &[]);
    assert_eq!(code, Some(2), "{text}");
    let cpu = "error: workload FILE:1:27: task `t`, key `cpus`: cpu1, and the machine has only cpu0; \
               raise --smp\n";
    assert!(text.starts_with(cpu), "{text}");
    let (code, text) = slicelab(fine, &["--smp", "2", "--preset", "v6.8"]);
    assert_eq!(code, Some(2), "{text}");
    let slice = "error: workload FILE:1:45: task `t`, key `dl-runtime`: v6.8 has no slices of a task's \
                 own; choose a newer --preset\n";
    assert!(text.starts_with(slice), "{text}");
    let (code, text) = slicelab(fine, &["--smp", "2", "--nice", "5"]);
    assert_eq!(code, Some(2), "{text}");
    let nice =
        "error: --nice with FILE: the tasks are those of the file; leave one of the two out\n";
    assert_eq!(text, nice);
}

fn tempfile(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(file.path(), bytes).expect("writable");
    file
}
