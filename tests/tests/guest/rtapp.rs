//! rt-app files: what runs is what the file says, to the nanosecond where nobody competes.
//!
//! Each test states the sums that anybody can do on paper. Files of rt-app itself are read where
//! they lie, beside this repository, and not copied here.

use runner::{
    Config, Experiment, RunResult,
    rtapp::{self, Machine},
};
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};
use tests::{MS, SECOND, US, run, run_passing, runtimes, task};

/// A file's experiment, as `slicelab run FILE --smp N` makes it.
fn experiment(description: &rtapp::Description, cpus: u32) -> Experiment {
    let duration_ns = rtapp::length(description).ns();
    let workload = rtapp::lower(description, cpus, duration_ns);
    let config = Config { cpus, duration_ns, ..Config::default() };
    Experiment { config, workload, ..Experiment::default() }
}

fn run_text(text: &str, cpus: u32) -> RunResult {
    let machine = Machine { cpus, without_slices: None };
    let description = rtapp::parse("test.json", text, &machine).unwrap_or_else(|e| panic!("{e}"));
    run_passing(&experiment(&description, cpus))
}

/// What a metric says.
fn metric(result: &RunResult, name: &str) -> f64 {
    let metrics = result.metrics();
    let found = metrics.iter().find(|metric| metric.name == name);
    found.unwrap_or_else(|| panic!("no metric {name}")).value.expect("it was measured")
}

/// How often a task went through a phase.
fn activations(result: &RunResult, task: &str) -> u64 {
    let seconds = result.records.total.elapsed_ns as f64 / 1e9;
    (metric(result, &format!("{task} activations")) * seconds).round() as u64
}

fn runtime(result: &RunResult, thread: &str) -> u64 {
    task(result, thread).counters.runtime_ns
}

#[test]
fn phases_and_loops_add_up() {
    // 2 x (3 x (1 + 4) + (2 + 7)) ms = 48 ms, of which 2 x (3 x 1 + 2) = 10 ms run.
    let file = r#"{ "tasks": { "t": { "loop": 2, "phases": {
        "light": { "loop": 3, "run": 1000, "sleep": 4000 },
        "heavy": { "run": 1500, "sleep": 7000, "run": 500 } } } } }"#;
    let result = run_text(file, 1);
    assert_eq!(result.records.total.elapsed_ns, 48 * MS);
    assert_eq!(runtime(&result, "t-0"), 10 * MS);
    assert_eq!(activations(&result, "t"), 8);
    assert_eq!(metric(&result, "t phase 0 light activations"), 6.0);
    assert_eq!(metric(&result, "t phase 1 heavy activations"), 2.0);
    // Light begins at 0 and 24 ms, heavy at 15 and 39 ms.
    assert_eq!(metric(&result, "t phase 0 light begins"), 12.0);
    assert_eq!(metric(&result, "t phase 1 heavy begins"), 27.0);
}

#[test]
fn threads_are_called_by_task_and_number() {
    let file = r#"{ "tasks": { "a": { "instance": 2, "loop": 1, "run": 1000 },
        "b": { "loop": 1, "delay": 5000, "run": 1000 } } }"#;
    let result = run_text(file, 2);
    let names: Vec<_> = result.plan.scenario.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["a-0", "a-1", "b-2"]);
    assert_eq!(runtimes(&result), [MS; 3]);
    // The delay and the run after it; nothing else lasts as long.
    assert_eq!(result.records.total.elapsed_ns, 6 * MS);
}

#[test]
fn a_missed_timer_restarts_or_catches_up() {
    let file = |mode: &str| {
        format!(
            r#"{{ "tasks": {{ "t": {{ "loop": 1, "phases": {{
            "late": {{ "run": 25000, "timer": {{ "ref": "unique", "period": 10000, "mode": "{mode}" }} }},
            "in-time": {{ "loop": 9, "run": 5000, "timer": {{ "ref": "unique", "period": 10000 }} }}
            }} }} }} }}"#
        )
    };
    // Forgotten: the periods begin anew at 25 ms. Caught up: ten periods from 0.
    assert_eq!(run_text(&file("relative"), 1).records.total.elapsed_ns, 115 * MS);
    assert_eq!(run_text(&file("absolute"), 1).records.total.elapsed_ns, 100 * MS);
}

#[test]
fn a_timer_is_a_threads_own_or_shared() {
    let file = |name: &str| {
        format!(
            r#"{{ "tasks": {{ "t": {{ "instance": 2,
            "run": 1000, "timer": {{ "ref": "{name}", "period": 10000 }} }} }},
            "global": {{ "duration": 1 }} }}"#
        )
    };
    // 100 periods for each of the two, or for both together.
    assert_eq!(activations(&run_text(&file("unique"), 2), "t"), 200);
    assert_eq!(activations(&run_text(&file("tick"), 2), "t"), 100);
}

#[test]
fn wall_time_passes_for_all_at_once() {
    // Three tasks want 20 ms of the clock each, at the same time on one CPU.
    let file = r#"{ "tasks": { "t": { "instance": 3, "loop": 1, "runtime": 20000 } } }"#;
    let result = run_text(file, 1);
    assert!(result.records.total.elapsed_ns <= 24 * MS, "{}", result.records.total.elapsed_ns);
    let all: u64 = runtimes(&result).iter().sum();
    assert_eq!(all, result.records.total.elapsed_ns);
}

#[test]
fn suspended_tasks_go_on_when_resumed() {
    // 10 ms each in turn: 100 turns in a second, 50 each.
    let file = r#"{ "tasks": {
        "ping": { "run": 10000, "resume": "pong", "suspend" },
        "pong": { "suspend", "run": 10000, "resume": "ping" } },
        "global": { "duration": 1 } }"#;
    let result = run_text(file, 2);
    assert_eq!(runtimes(&result), [SECOND / 2; 2]);
}

#[test]
fn mutexes_exclude_and_conditions_wake() {
    // The others come at 1 ms and wait until the holder lets go at 5 ms; they follow each other
    // and are through at 7 ms, before it comes back at 8 ms.
    let file = r#"{ "tasks": {
        "holder": { "loop": 2, "lock": "m", "run": 5000, "unlock": "m", "sleep": 3000 },
        "other": { "instance": 2, "loop": 1, "delay": 1000,
            "lock": "m", "run": 1000, "unlock": "m" },
        "consumer": { "loop": 3, "lock": "n", "wait": { "ref": "q", "mutex": "n" },
            "unlock": "n", "run": 500 },
        "producer": { "loop": 3, "sleep": 2000, "lock": "n", "signal": "q", "unlock": "n" } } }"#;
    let result = run_text(file, 4);
    assert_eq!(runtimes(&result), [10 * MS, MS, MS, 1500 * US, 0]);
    // The first other gets the mutex at 5 ms, the second one at 6 ms.
    assert_eq!(result.records.total.elapsed_ns, 16 * MS);
    let last_wakeups: u64 =
        ["other-1", "other-2"].map(|t| task(&result, t).counters.wakeups).iter().sum();
    // Each sleeps its delay and waits for the mutex once.
    assert_eq!(last_wakeups, 4);
}

#[test]
fn barriers_and_semaphores_hold_back() {
    // Everybody leaves the barrier when the slowest comes: 3 rounds of 4 ms.
    let file = r#"{ "tasks": {
        "fast": { "instance": 3, "loop": 3, "run": 1000, "barrier": "b" },
        "slow": { "loop": 3, "run": 4000, "barrier": "b" } } }"#;
    let result = run_text(file, 4);
    assert_eq!(result.records.total.elapsed_ns, 12 * MS);
    assert_eq!(runtimes(&result), [3 * MS, 3 * MS, 3 * MS, 12 * MS]);
    // Posts are kept: two at 0, so the taker is held back only for the third.
    let file = r#"{ "tasks": {
        "poster": { "loop": 1, "sem_post0": "s", "sem_post1": "s", "sleep": 9000, "sem_post2": "s" },
        "taker": { "loop": 3, "sem_wait": "s", "run": 1000 } } }"#;
    let result = run_text(file, 2);
    assert_eq!(result.records.total.elapsed_ns, 10 * MS);
    assert_eq!(runtime(&result, "taker-1"), 3 * MS);
}

#[test]
fn phases_change_cpus_and_weights() {
    let file = r#"{ "tasks": { "t": { "loop": 2, "cpus": [0], "phases": {
        "here": { "run": 2000 },
        "there": { "cpus": [1], "run": 3000 },
        "back": { "run": 4000 } } } } }"#;
    let result = run_text(file, 2);
    let busy: Vec<_> = result.records.cpus.iter().map(|cpu| cpu.counters.busy_ns).collect();
    assert_eq!(busy, [12 * MS, 6 * MS]);
    assert_eq!(task(&result, "t-0").counters.migrations, 4);
    // Nice 5 against nice 0: 335 of 1359 parts.
    let file = r#"{ "tasks": {
        "nice": { "phases": { "p": { "loop": -1, "priority": 5, "run": 100000 } } },
        "other": { "run": 100000 } }, "global": { "duration": 10 } }"#;
    let result = run_text(file, 1);
    let share = runtime(&result, "nice-0") as f64 / 10e9;
    assert!((share - 335.0 / 1359.0).abs() < 0.0025, "{share}");
}

#[test]
fn forked_tasks_run_and_end() {
    // Three forks 2 ms apart, each child 5 ms on a CPU of its own.
    let file = r#"{ "tasks": {
        "parent": { "loop": 3, "run": 2000, "fork": "child" },
        "child": { "instance": 0, "loop": 1, "run": 5000 } } }"#;
    let result = run_text(file, 4);
    let names: Vec<_> = result.plan.scenario.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["parent-0", "child-1-0000", "child-2-0001", "child-3-0002"]);
    assert_eq!(runtimes(&result), [6 * MS, 5 * MS, 5 * MS, 5 * MS]);
    assert_eq!(result.records.total.elapsed_ns, 11 * MS);
}

/// Where files of rt-app itself lie, if they do.
fn reference(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/reference/rtapp");
    let path = folder.join(format!("rt-app__examples_{name}.json"));
    if path.exists() {
        return Some(path);
    }
    // Not captured as what `eprintln` prints: a test that did not run should say so.
    let note = format!("skipped: {} is not there\n", path.display());
    io::stderr().write_all(note.as_bytes()).expect("stderr can be written");
    None
}

fn run_reference(name: &str, cpus: u32) -> Option<RunResult> {
    let machine = Machine { cpus, without_slices: None };
    let description = rtapp::read(&reference(name)?, &machine).unwrap_or_else(|e| panic!("{e}"));
    Some(run(&experiment(&description, cpus)))
}

/// That a figure is right to one percent.
fn about(got: f64, expected: f64, what: &str) {
    let error = (got / expected - 1.0).abs();
    assert!(error <= 0.01, "{what}: {got} where {expected} is expected");
}

#[test]
fn single_tasks_of_rt_app_run_as_often_as_stated() {
    // Name, seconds, ms of run, ms of period.
    for (name, seconds, run_ms, period_ms) in [
        ("tutorial_example1", 2, 20, 100),
        ("tutorial_example2", 2, 10, 100),
        ("template", 6, 10, 100),
    ] {
        let Some(result) = run_reference(name, 1) else { continue };
        let times = seconds * 1000 / period_ms;
        assert_eq!(result.records.total.elapsed_ns, seconds * SECOND, "{name}");
        assert_eq!(activations(&result, "thread0"), times, "{name}");
        assert_eq!(runtime(&result, "thread0-0"), times * run_ms * MS, "{name}");
    }
}

#[test]
fn spreading_tasks_run_their_phases_in_order() {
    // On two CPUs nothing competes. thread1: 300 x 1 + 300 x 7 ms in 6 s, ten times. thread2:
    // 900 x 1 + 600 x 7 + 300 x 1 + 600 x 7 ms in 24 s, two and a half times, the half being
    // 900 x 1 + 300 x 7.
    let Some(result) = run_reference("spreading-tasks", 2) else { return };
    assert_eq!(runtime(&result, "thread1-0"), 24_000 * MS);
    assert_eq!(runtime(&result, "thread2-1"), (2 * 9_600 + 3_000) * MS);
    assert_eq!(activations(&result, "thread1"), 6000);
    assert_eq!(activations(&result, "thread2"), 6000);
    let phases = [("0 light1", 2700), ("1 heavy1", 1500), ("2 light2", 600), ("3 heavy1", 1200)];
    for (phase, times) in phases {
        let name = format!("thread2 phase {phase} activations");
        assert_eq!(metric(&result, &name), f64::from(times), "{phase}");
    }
    // They begin at 0, 9, 15 and 18 s, and 24 s later.
    let begins = |phase: &str| metric(&result, &format!("thread2 phase {phase} begins"));
    assert_eq!(begins("0 light1"), 24_000.0);
    assert_eq!(begins("1 heavy1"), 33_000.0);
    assert_eq!(begins("2 light2"), 27_000.0);
    assert_eq!(begins("3 heavy1"), 30_000.0);
}

#[test]
fn barriers_of_rt_app_give_a_cycle_of_nine_ms() {
    // task0 computes for 1 + 2 + 1 ms and task1 for 2 + 1 + 2 ms of each cycle: to FIRST 3 ms, to
    // SECOND 3 ms, to THIRD 3 ms. 555 cycles fit 5 s; of the last 5 ms both compute for 3.
    let Some(result) = run_reference("tutorial_example7", 2) else { return };
    assert_eq!(activations(&result, "task0"), 555);
    assert_eq!(activations(&result, "task1"), 555);
    assert_eq!(runtimes(&result), [(555 * 4 + 3) * MS, (555 * 5 + 3) * MS]);
}

#[test]
fn a_condition_of_rt_app_starts_the_other_task() {
    // thread0: 8 x (10 + 10 + 100) ms of CPU 0 in eight periods of 200 ms. thread1: three loops of
    // 10 + 10 + 10 ms, each woken by what thread0 does. Both end.
    let Some(result) = run_reference("tutorial_example5", 2) else { return };
    assert_eq!(runtimes(&result), [960 * MS, 90 * MS]);
    assert_eq!(metric(&result, "thread0 phase 1 p1 activations"), 8.0);
    assert_eq!(activations(&result, "thread1"), 3);
    about(result.records.total.elapsed_ns as f64, 1600e6, "the end of the eighth period");
}

#[test]
fn the_video_of_rt_app_keeps_its_beat() {
    // On four CPUs the chains keep up with what drives them: a wake-up of the renderer every
    // 33.333 ms, and one of the display every 16.667 ms, for 6 s. At time 0 CPUs act in the order of
    // their numbers: the renderer, on CPU 2, has not suspended when the waker on CPU 1 resumes it,
    // so the first of 180 wake-ups goes unheard. Every third that it hears decodes. Times of one
    // activation are those of the file, in us.
    let Some(result) = run_reference("video-short", 4) else { return };
    let tasks = [
        ("hwc_eventmon", 2, 360, 115),
        ("NuPlayerDriver1", 7, 179, 100 + 50 + 80 + 370 + 135),
        ("NuPlayerDriver2", 8, 179, 110 + 80 + 50 + 70 + 35),
        ("CodecLooper1", 9, 179, 230 + 150 + 330 + 170 + 125),
        ("CodecLooper3", 12, 179, 1000),
        ("NPDecoder", 13, 59, 500 + 2000),
        ("NPDecoder-CL", 14, 59, 570 + 2100),
        ("gle.aac.decoder", 15, 59, 2400 + 45),
        ("OMXCallbackDisp1", 16, 59, 135 + 140 + 190 + 160),
    ];
    for (name, number, times, us) in tasks {
        about(activations(&result, name) as f64, f64::from(times), name);
        let expected = f64::from(times) * f64::from(us) * 1e3;
        about(runtime(&result, &format!("{name}-{number}")) as f64, expected, name);
    }
}

#[test]
fn the_browser_of_rt_app_does_what_its_file_says() {
    // How often each is resumed depends on who is there to hear it; what each does then does
    // not. BrowserMain is in its third round when 6 s are over.
    let Some(result) = run_reference("browser-short", 1) else { return };
    let round_us = [15_000 + 7_000, 50 * 3_000, 10_000 + 5_000, 20 * 3_000, 2_000, 4 * 1_000, 200];
    let two_rounds = 2 * round_us.iter().sum::<u64>() * US;
    let main = runtime(&result, "BrowserMain-0");
    assert_eq!(metric(&result, "BrowserMain phase 6 stop2 activations"), 2.0);
    about(main as f64, two_rounds as f64, "two rounds of BrowserMain");
    let mut begins = Vec::new();
    for phase in ["0 start", "1 render1", "2 render2", "3 render3", "4 stop", "5 scroll", "6 stop2"]
    {
        let name = format!("BrowserMain phase {phase} begins");
        let metrics = result.metrics();
        let found = metrics.into_iter().find(|metric| metric.name == name).expect("it is there");
        begins.push(found.distribution.expect("a histogram").min);
    }
    assert!(begins.is_sorted(), "the phases begin in order: {begins:?}");
    let tasks = [
        ("BrowserSub1", 1, 100),
        ("BrowserSub2", 2, 100),
        ("BrowserDisplay", 3, 300 + 12_000 + 300 + 400),
        ("Binder-dummy", 4, 200 + 100),
        ("Binder-display", 5, 300),
        ("Event-Browser", 6, 50 + 50),
        ("Event-Display", 7, 50 + 50),
        ("Display", 8, 16_000),
    ];
    for (name, number, us) in tasks {
        let whole = activations(&result, name) * us * US;
        let got = runtime(&result, &format!("{name}-{number}"));
        // One more may have begun.
        assert!(
            (whole..=whole + us * US).contains(&got),
            "{name}: {got} ns, {whole} in whole ones"
        );
    }
}

#[test]
fn the_slice_of_rt_app_beside_a_deadline_task_is_refused_by_name() {
    let Some(path) = reference("custom-slice") else { return };
    let machine = Machine { cpus: 1, without_slices: None };
    let refusal = rtapp::read(&path, &machine).expect_err("SCHED_DEADLINE").to_string();
    assert!(refusal.contains(":19:15: task `thread1`, key `policy`: SCHED_DEADLINE"), "{refusal}");
    // Alone it runs, nice -19 with a slice of 100 ms; the same in words of our own.
    let file = r#"{ "tasks": { "thread0": {
        "run": 20000, "policy": "SCHED_OTHER", "priority": -19, "dl-runtime": 100000 },
        "plain": { "run": 20000 } }, "global": { "duration": 5 } }"#;
    let result = run_text(file, 1);
    let spec = &result.plan.scenario.tasks[0];
    assert_eq!((spec.nice, spec.slice_ns), (-19, Some(100 * MS)));
    // A slice is about latency; the share is that of the weights, 71755 against 1024.
    let share = runtime(&result, "thread0-0") as f64 / 5e9;
    about(share, 71_755.0 / (71_755.0 + 1024.0), "share of nice -19");
}
