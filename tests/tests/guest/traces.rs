//! Traces: they change nothing, say the same as the accounting, and survive whatever ends a run.

use abi::trace::{Event, StintEnd};
use abi::{Crash, Op};
use runner::{
    Experiment, RunResult,
    trace::{
        Request,
        read::{Entry, Trace, What},
        stints::{Stint, Timeline},
    },
};
use std::{path::PathBuf, time::Duration};
use tempfile::TempDir;
use tests::{MS, SECOND, US, moments, repeatable_document, run};

/// A folder, and an experiment that is recorded in it.
fn traced(experiment: &Experiment, slots: Option<u32>) -> (TempDir, PathBuf, Experiment) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.slt");
    let mut experiment = experiment.clone();
    experiment.host.trace = Some(Request { file: file.clone(), slots });
    (folder, file, experiment)
}

/// Runs it and reads what was recorded.
pub(super) fn record(experiment: &Experiment) -> (RunResult, Trace) {
    let (_folder, file, experiment) = traced(experiment, None);
    let result = run(&experiment);
    let trace = Trace::open(&file).unwrap_or_else(|error| panic!("{error}"));
    (result, trace)
}

/// Every kind of task at once.
fn everything(cpus: u32) -> Experiment {
    let experiment = Experiment::new().smp(cpus).hogs(cpus as usize + 1).load(|load| {
        load.bursts(3, 700 * US, 1900 * US).expect("both are stretches");
        load.pairs(2, 50 * US).expect("it is a stretch");
        load.background(300.0, 150 * US, 30).expect("rate and time are in range");
        load.yielders(1, 100 * US).expect("it is a stretch");
    });
    experiment.duration_ns(500 * MS)
}

fn stints(trace: &Trace) -> Vec<Stint> {
    let mut timeline = Timeline::new(&trace.description);
    trace.entries().filter_map(|entry| timeline.take(&entry)).collect()
}

/// The result document without what may differ, and without the trace.
fn untraced_document(result: &RunResult) -> serde_json::Value {
    let mut document = repeatable_document(result);
    document.as_object_mut().expect("a document").remove("trace");
    document
}

#[test]
fn tracing_changes_no_result() {
    for cpus in [1, 8] {
        let experiment = everything(cpus);
        let plain = run(&experiment);
        let (result, trace) = record(&experiment);
        assert_eq!(untraced_document(&plain), untraced_document(&result), "{cpus} cpus");
        assert!(plain.trace.is_none());
        let summary = result.trace.expect("it was asked for");
        assert_eq!((summary.records, summary.lost), (trace.records(), 0));
        assert!(summary.records > 5_000, "{summary:?}");
        // Little more than half of the 16 that are the aim.
        assert!(summary.bytes < 16 * summary.records, "{summary:?}");
    }
}

/// Two traces of one run have the same records, CPU by CPU; how those of two CPUs at one
/// nanosecond interleave is up to QEMU.
#[test]
fn a_trace_repeats() {
    let experiment = everything(4);
    let of_cpu = |trace: &Trace, cpu: u32| -> Vec<Entry> {
        trace.entries().filter(|entry| entry.cpu == cpu).collect()
    };
    let (first, second) = (record(&experiment).1, record(&experiment).1);
    for cpu in 0..4 {
        assert!(of_cpu(&first, cpu) == of_cpu(&second, cpu), "cpu {cpu}");
    }
}

/// Stint by stint the trace adds up to what the guest counted itself, to the nanosecond.
#[test]
fn stints_are_those_of_the_accounting() {
    let (result, trace) = record(&everything(4));
    let stints = stints(&trace);
    for (number, task) in (0..).zip(&result.records.tasks) {
        let name = trace.name(number);
        let own = || stints.iter().filter(|stint| stint.task == number);
        let sum: u64 = own().map(Stint::length_ns).sum();
        assert_eq!(sum, task.counters.runtime_ns, "runtime of {name}");
        let ends = |end| own().filter(|stint| stint.end == Some(end)).count() as u64;
        assert_eq!(ends(StintEnd::Slice), task.counters.slice, "{name}");
        assert_eq!(ends(StintEnd::Preempt), task.counters.preempt, "{name}");
        assert_eq!(ends(StintEnd::Block), task.counters.block, "{name}");
        assert_eq!(ends(StintEnd::Yield), task.counters.yields, "{name}");
        let moves = own().filter(|stint| stint.moved_from.is_some()).count() as u64;
        assert_eq!(moves, task.counters.migrations, "migrations of {name}");
        let delays = own().filter(|stint| stint.was_woken).filter_map(|stint| stint.delay_ns);
        let latency = moments(&task.wakeup_latency);
        let (count, sum) = delays.fold((0, 0), |(count, sum), delay| (count + 1, sum + delay));
        assert_eq!((count, u128::from(sum)), (latency.count, latency.sum), "latency of {name}");
    }
    let busy: u64 = result.records.cpus.iter().map(|cpu| cpu.counters.busy_ns).sum();
    assert_eq!(stints.iter().map(Stint::length_ns).sum::<u64>(), busy);
}

/// What holds in every trace: one task a CPU, time goes on, nobody runs before being woken.
#[test]
fn a_trace_is_consistent() {
    let (result, trace) = record(&everything(8));
    let mut free_ns = [0; 8];
    for stint in stints(&trace) {
        let free_ns = &mut free_ns[stint.cpu as usize];
        assert!(*free_ns <= stint.start_ns && stint.start_ns <= stint.end_ns, "{stint:?}");
        *free_ns = stint.end_ns;
    }
    let mut is_awake = vec![true; trace.description.tasks.len()];
    let (mut latest_ns, mut ticks, mut switches) = (0, 0, 0);
    for Entry { at_ns, cpu, what } in trace.entries() {
        assert!(at_ns >= latest_ns);
        latest_ns = at_ns;
        let What::Happened(event) = what else { panic!("{what:?}") };
        match event {
            Event::Tick { .. } => ticks += 1,
            Event::Waking { task, .. } => is_awake[task as usize] = true,
            Event::Dequeue { task, why, .. } if why != abi::trace::Leaves::Migrate => {
                is_awake[task as usize] &= why == abi::trace::Leaves::Repaid;
            }
            Event::Switch { next, .. } => {
                switches += 1;
                if let Some(into) = next {
                    assert!(is_awake[into.task as usize], "{at_ns}: cpu {cpu} {event:?}");
                }
            }
            _ => {}
        }
    }
    assert_eq!(latest_ns, 500 * MS);
    assert_eq!(ticks, result.records.cpus.iter().map(|cpu| cpu.counters.ticks).sum::<u64>());
    assert_eq!(switches, result.records.total.switches);
}

/// With rings of 64 records a busy guest laps any host now and then. What is lost is counted: the
/// rest and it are as many as a large ring keeps.
#[test]
fn what_is_lost_is_counted() {
    let experiment = everything(2);
    let (_, whole) = record(&experiment);
    let (_folder, file, small) = traced(&experiment, Some(64));
    let summary = run(&small).trace.expect("it was asked for");
    assert_eq!(summary.records + summary.lost, whole.records());
    let trace = Trace::open(&file).expect("it is whole all the same");
    assert_eq!(trace.lost(), summary.lost);
    let noted: u64 = trace
        .entries()
        .map(|entry| if let What::Lost(count) = entry.what { count } else { 0 })
        .sum();
    assert_eq!(noted, summary.lost);
}

/// A guest that breaks after a millisecond; what it did before is in the file, of every CPU.
fn broken(crash: Crash) -> Trace {
    let program = vec![Op::Run(MS), Op::Crash(crash)];
    let experiment = Experiment::new().smp(2).hogs(2).load(|load| {
        load.add("culprit".into(), program);
    });
    let (_folder, file, mut experiment) = traced(&experiment.duration_ns(SECOND), None);
    experiment.host.timeout = Some(Duration::from_secs(4));
    experiment.run().expect_err("the guest breaks");
    Trace::open(&file).unwrap_or_else(|error| panic!("{error}"))
}

fn assert_last_words(trace: &Trace, failure: &str) {
    let said = trace.closing.failure.as_deref().unwrap_or_default();
    assert!(said.contains(failure), "{said}");
    let last = trace.entries().filter_map(|entry| match entry.what {
        What::Happened(Event::Switch { next, .. }) => next.map(|into| into.task),
        _ => None,
    });
    assert_eq!(last.last().map(|task| trace.name(task)), Some("culprit"));
    for cpu in 0..2 {
        assert!(trace.entries().any(|entry| entry.cpu == cpu && entry.at_ns > 0), "cpu {cpu}");
    }
}

#[test]
fn a_panic_leaves_the_records_before_it() {
    assert_last_words(&broken(Crash::Panic), "this task was told to panic");
}

#[test]
fn a_hang_leaves_the_records_before_it() {
    assert_last_words(&broken(Crash::Hang), "did not finish within");
}

#[test]
fn a_triple_fault_leaves_the_records_before_it() {
    assert_last_words(&broken(Crash::TripleFault), "triple fault");
}

/// Under the real clock CPUs run at once; a trace is as consistent.
#[test]
fn the_real_clock_is_traced_too() {
    let experiment = everything(2).clock(abi::Clock::Real);
    let (_folder, file, experiment) = traced(&experiment, None);
    // A busy host may cost ticks, which is not what this is about.
    let result = run(&experiment);
    let trace = Trace::open(&file).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(trace.lost(), 0);
    let stints = stints(&trace);
    for (number, task) in (0..).zip(&result.records.tasks) {
        let own = stints.iter().filter(|stint| stint.task == number);
        let sum: u64 = own.map(Stint::length_ns).sum();
        assert_eq!(sum, task.counters.runtime_ns, "runtime of {}", trace.name(number));
    }
}
