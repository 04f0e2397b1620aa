//! Built-in mixes: how often each thing happens is known beforehand, and under the virtual clock
//! so is when.

use abi::{CpuSet, record::Ending, scenario::Policy};
use runner::{
    Config, RunResult,
    expect::Verdict,
    mixes::{self, Machine, Prepared},
    workload::Metric,
};
use tests::{MS, US, moments, run, run_passing, task};

/// Composes and runs a mix on so many CPUs, and checks what must hold in every run.
#[track_caller]
fn mix(name: &str, cpus: u32, options: &[&str]) -> (Prepared, RunResult) {
    let options: Vec<_> = options.iter().map(|&option| option.to_owned()).collect();
    let prepared = mixes::prepare(name, &options, &Machine { cpus, ..Machine::small() })
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let result = run_passing(&prepared.experiment(Config { cpus, ..Config::default() }));
    (prepared, result)
}

#[track_caller]
fn value(result: &RunResult, name: &str) -> f64 {
    let metrics = result.metrics();
    let of_name = |metric: &&Metric| metric.name == name;
    let metric = metrics.iter().find(of_name).unwrap_or_else(|| panic!("there is no {name}"));
    metric.value.unwrap_or_else(|| panic!("{name} was not measured"))
}

/// Every message arrives, on one CPU and on four, and the run ends with the last of them.
#[test]
fn hackbench_passes_every_message() {
    for cpus in [1, 4] {
        let options = ["-g", "2", "-f", "5", "-l", "20", "--op-cost", "1us"];
        let (prepared, result) = mix("hackbench", cpus, &options);
        assert_eq!(result.records.total.ending, Ending::Done);
        assert_eq!(value(&result, "messages"), 2.0 * 5.0 * 5.0 * 20.0);
        // A thousand messages, each written and read in 1 us.
        let busy_ns: u64 = result.records.cpus.iter().map(|cpu| cpu.counters.busy_ns).sum();
        assert_eq!(busy_ns, 2 * MS, "on {cpus} CPUs");
        let text = prepared.original(&result).expect("it has finished");
        assert!(text.contains("using 10 file descriptors each (== 20 tasks)"), "{text}");
        if cpus == 1 {
            assert!(text.ends_with("\nTime: 0.002\n"), "{text}");
        }
    }
}

/// A limit that is too short is said, and gives no result.
#[test]
fn work_that_is_cut_off_has_no_result() {
    let options = ["-g", "1", "-l", "1000"].map(str::to_owned);
    let machine = Machine { duration_ns: Some(5 * MS), ..Machine::small() };
    let prepared = mixes::prepare("hackbench", &options, &machine).expect("fine");
    let result = run(&prepared.experiment(Config::default()));
    let judgement = result.judge();
    assert_eq!(judgement.verdict, Verdict::Fail);
    let goal = judgement.expectations.iter().find(|goal| goal.what == "tasks finished");
    assert_eq!(
        goal.map(|goal| goal.got.as_str()),
        Some("0 when the run ended at 5ms; raise --duration")
    );
    let reason = prepared.original(&result).expect_err("nothing has finished");
    assert_eq!(reason, "hackbench has no result: 0 of 40 tasks finished when the run ended at 5ms");
    assert_eq!(result.metrics()[0].value, None);
}

/// Workers on CPUs of their own: each request takes its think time and its work, and nobody
/// ever waits.
#[test]
fn schbench_counts_requests() {
    let options = ["-m", "1", "-t", "3", "-M", "auto", "-n", "1", "-s", "100", "-r", "1"];
    let (prepared, result) = mix("schbench", 4, &options);
    // Asking, being answered, going to sleep, and the work.
    let request_ns = 100 * US + 775 + 3_372_800;
    assert_eq!(value(&result, "request_latency_p99"), request_ns as f64 / 1e3);
    let round_ns = request_ns + 2 * 775;
    let each = 1_000 * MS / round_ns;
    assert_eq!(value(&result, "requests"), (3 * each) as f64);
    assert_eq!(task(&result, "worker0.0").counters.migrations, 0);
    let text = prepared.original(&result).expect("a run for a time always has a result");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines[0],
        format!(
            "Wakeup Latencies percentiles (usec) runtime 1 (s) ({} total samples)",
            3 * (each + 1)
        )
    );
    assert!(lines[14].starts_with(&format!("\t* 50.0th: {}", 3 * each)), "{text}");
    assert_eq!(lines[17], format!("average rps: {}.00", 3 * each));
    // Counted from the answer, not from when they asked: nobody is in the way.
    assert_eq!(value(&result, "wakeup_latency_p99"), 0.0);
}

/// The same for three seconds, of which the first one is forgotten. A worker has finished 287
/// requests after one second, 575 after two and 863 after three.
#[test]
fn schbench_forgets_its_warm_up() {
    let common = ["-m", "1", "-t", "3", "-M", "auto", "-n", "1", "-s", "100", "-r", "3"];
    let (prepared, result) = mix("schbench", 4, &[&common[..], &["-w", "1"]].concat());
    let text = prepared.original(&result).expect("a run for a time always has a result");
    let has = |text: &str, line: &str| assert!(text.contains(line), "no {line}: {text}");
    has(&text, &format!("runtime 3 (s) ({} total samples)", 3 * (863 - 287)));
    has(&text, "RPS percentiles (requests) runtime 3 (s) (2 total samples)");
    has(
        &text,
        "min=864, max=864\naverage rps: 863.00\nsched delay: message 0 (usec) worker 0 (usec)",
    );
    // Zeroed every two seconds: what is left is the last one.
    let (prepared, result) = mix("schbench", 4, &[&common[..], &["-z", "2"]].concat());
    let text = prepared.original(&result).expect("a run for a time always has a result");
    has(&text, &format!("runtime 3 (s) ({} total samples)", 3 * (863 - 575)));
    has(&text, "RPS percentiles (requests) runtime 3 (s) (1 total samples)");
}

/// Seven requests a second for three workers, in turn over the seconds: 0 1 2 0 1 2 0, then 1 2 0 1 2 0 1.
#[test]
fn schbench_hands_out_a_rate() {
    let options = ["-m", "1", "-t", "3", "-M", "auto", "-n", "1", "-R", "7", "-r", "2"];
    let (_, result) = mix("schbench", 4, &options);
    assert_eq!(value(&result, "requests"), 14.0);
    for (worker, requests) in [("worker0.0", 5), ("worker0.1", 5), ("worker0.2", 4)] {
        // Going to sleep and the work; nobody is asked.
        let runtime_ns = task(&result, worker).counters.runtime_ns;
        assert_eq!(runtime_ns, requests * (775 + 3_372_800), "{worker}");
    }
}

/// A round trip is one post of the worker and one of its message thread.
#[test]
fn schbench_sends_to_and_fro() {
    let options = ["-m", "1", "-t", "1", "-M", "auto", "-p", "4096", "-r", "50ms"];
    let (prepared, result) = mix("schbench", 2, &options);
    let trips = 50 * MS / (2 * 775);
    assert_eq!(value(&result, "transfers"), trips as f64);
    let text = prepared.original(&result).expect("a run for a time always has a result");
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[1].starts_with("\t  20.0th: 0 "), "{text}");
    // 645 160 times 4096 bytes are 2.46 times 2^30.
    assert_eq!(lines[7], format!("avg worker transfer: {}.00 ops/sec 2.46GB/s", 20 * trips));
}

/// The original's JSON, in which nothing says when or where it was made.
#[test]
fn schbench_prints_its_json() {
    let common = ["-m", "1", "-t", "1", "-M", "auto", "-n", "1", "-r", "1"];
    let (prepared, result) = mix("schbench", 2, &[&common[..], &["-j", "-", "-J", "x"]].concat());
    let text = prepared.original(&result).expect("a run for a time always has a result");
    let start = r#"{"normal":{"version":"v7.0","jobname":"x","#;
    assert!(text.starts_with(start) && text.ends_with("\"runtime\":1}}\n"), "{text}");
    for part in ["\"request_latency_pct99.9\":3473,", "\"rps_min\":287,"] {
        assert!(text.contains(part), "no {part}: {text}");
    }
}

/// More workers than CPUs: a lock of the CPU is waited for, and nothing is stuck.
#[test]
fn schbench_survives_contended_locks() {
    let (_, result) = mix("schbench", 2, &["-m", "2", "-t", "8", "-r", "500ms"]);
    // Two CPUs, 16.864 ms of work for each request.
    let requests = value(&result, "requests");
    assert!((40.0..=59.0).contains(&requests), "{requests} requests");
}

/// On one CPU a run counts the kernel's own instructions: some thousand for two switches.
#[test]
fn pipe_counts_instructions() {
    let (prepared, result) = mix("pipe", 1, &["-l", "2000"]);
    let own = value(&result, "instructions_per_round_trip");
    assert!((500.0..20_000.0).contains(&own), "{own} instructions");
    let text = prepared.original(&result).expect("it has finished");
    assert!(text.contains("# Linux in the same QEMU: 7418 (6.12.117, shift 0)"), "{text}");
}

/// With costs of its own every round trip takes the same time. On two CPUs each side pays for its
/// read while the other one writes.
#[test]
fn pipe_takes_what_its_operations_cost() {
    for (cpus, us) in [(1, 80.0), (2, 40.0)] {
        let (_, result) = mix("pipe", cpus, &["-l", "500", "--op-cost", "20us"]);
        assert_eq!(value(&result, "usecs_per_op"), us, "on {cpus} CPUs");
    }
}

#[test]
fn yields_switch_every_time() {
    let (_, result) = mix("yield", 1, &["-l", "2000"]);
    let switches: u64 = result.records.tasks.iter().map(|task| task.counters.yields).sum();
    assert!(switches >= 3_900, "{switches} switches in 4000 yields");
    let (_, result) = mix("yield", 1, &["-y", "3", "-l", "500", "--op-cost", "20us"]);
    assert_eq!(value(&result, "ns_per_yield"), 20_000.0);
}

#[test]
fn pairs_exchange_at_a_fixed_rate() {
    let (prepared, result) = mix("rr", 2, &["-l", "50ms", "--op-cost", "20us"]);
    // A write on each side; reads are paid for meanwhile. The last answer comes with the end.
    assert_eq!(value(&result, "transactions_per_second"), 24_980.0);
    let text = prepared.original(&result).expect("a run for a time always has a result");
    assert!(text.contains("16384  131072 1        1       0.05     24980.00"), "{text}");
    let options = ["2", "-t", "64ms", "--op-cost", "20us", "--work", "24us", "--sizes", "100,900"];
    let (_, result) = mix("tbench", 4, &options);
    // A write, the work and a write: 64 us for 1000 bytes.
    assert_eq!(value(&result, "throughput"), 31.21875);
    let (_, result) = mix("context_switch1", 2, &["-s", "50ms", "--op-cost", "20us"]);
    assert_eq!(value(&result, "round_trips_per_second"), 24_980.0);
}

#[test]
fn forkstorm_starts_every_child() {
    let options = ["-f", "2", "-l", "50", "-m", "4", "--run", "50us", "--op-cost", "10us"];
    let (prepared, result) = mix("forkstorm", 2, &options);
    assert_eq!(value(&result, "children"), 100.0);
    assert_eq!(result.records.total.failed_spawns, 0);
    assert_eq!(result.records.total.ending, Ending::Done);
    let text = prepared.original(&result).expect("it has finished");
    assert!(text.contains("fork                100"), "{text}");
}

/// A thread that is alone wakes at once, whatever its interval.
#[test]
fn cyclictest_is_on_time_on_an_idle_cpu() {
    let (prepared, result) =
        mix("cyclictest", 2, &["-t", "2", "-i", "1000", "-d", "500", "-l", "100"]);
    for histogram in [0, 2] {
        let number = histogram + 1;
        let latencies = moments(&result.records.histograms[number]);
        assert_eq!((latencies.count, latencies.max), (100, 0), "histogram {number}");
    }
    let text = prepared.original(&result).expect("it has finished");
    assert_eq!(
        text,
        "T: 0 (    1) P: 0 I:1000 C:    100 Min:      0 Act:    0 Avg:    0 Max:       0\n\
         T: 1 (    2) P: 0 I:1500 C:    100 Min:      0 Act:    0 Avg:    0 Max:       0\n"
    );
}

/// A thread beside tasks that compute waits for its turn, and comes late by whole ticks. Its wake-ups
/// stay where they were planned, at whole intervals from the start: what it takes to go to sleep,
/// 50 times, moves none of them.
#[test]
fn cyclictest_keeps_to_its_plan() {
    let options = ["-i", "1000", "-l", "50", "--op-cost", "216ns"].map(str::to_owned);
    let prepared = mixes::prepare("cyclictest", &options, &Machine::small()).expect("fine");
    let mut experiment = prepared.experiment(Config::default());
    experiment.workload.hogs(3);
    experiment.workload.background_from(1);
    // It does not preempt, and its deadlines are later than theirs.
    experiment.workload.policies(&[Policy::Batch, Policy::Normal]);
    experiment.workload.slices(&[Some(20 * MS), Some(4 * MS)]);
    let result = run_passing(&experiment);
    let all = result.records.histograms[1].histogram();
    assert_eq!((all.moments().count, all.moments().min), (50, 4 * MS), "a slice of somebody else");
    assert_eq!((all.moments().sum as u64 % MS, all.moments().max % MS), (0, 0));
    // It first runs when each hog has had its slice, at 12 ms, and leaves 12 intervals out. Who is L
    // ms late then has missed L intervals and sleeps to the end of the next.
    let late_ns = all.moments().sum as u64;
    assert_eq!(result.records.total.elapsed_ns, 12 * MS + 50 * MS + late_ns);
}

/// What runs beside work that is to be done does not keep the run up.
#[test]
fn a_run_ends_with_the_work_of_its_mix() {
    let options = ["-l", "10", "--op-cost", "20us"].map(str::to_owned);
    let machine = Machine { cpus: 2, ..Machine::small() };
    let prepared = mixes::prepare("pipe", &options, &machine).expect("fine");
    let mut experiment = prepared.experiment(Config { cpus: 2, ..Config::default() });
    experiment.workload.hogs(1);
    experiment.workload.background_from(2);
    experiment.workload.pins(&[0, 0, 1].map(|cpu| Some(CpuSet::only(cpu))));
    let result = run_passing(&experiment);
    // Four operations of 20 us each round trip, on a CPU of the pair's own.
    assert_eq!(result.records.total.ending, Ending::Done);
    assert_eq!(result.records.total.elapsed_ns, 10 * 80 * US);
    assert_eq!(task(&result, "hog0").counters.runtime_ns, 800 * US);
}

/// Parts that meet after each pass: undisturbed, a pass takes its bytes by the bandwidth.
#[test]
fn stream_takes_what_its_bytes_take() {
    let options = ["-n", "3", "-s", "1000000", "--bandwidth", "1000"];
    let (prepared, result) = mix("stream", 2, &options);
    assert_eq!(value(&result, "copy_time"), 0.008);
    assert_eq!(value(&result, "triad_time"), 0.012);
    let text = prepared.original(&result).expect("it has finished");
    assert!(text.contains("Copy:             2000.0     0.008000"), "{text}");
}

#[test]
fn hogs_take_all_there_is() {
    let (prepared, result) = mix("hogs", 2, &["--cpu", "4", "-t", "200ms"]);
    assert_eq!(value(&result, "bogo_ops_per_second"), 2_000.0);
    let text = prepared.original(&result).expect("a run for a time always has a result");
    assert!(text.contains("cpu                 400      0.20      0.40"), "{text}");
}
