//! The decoder on canned transcripts: good ones, and each way in which one can be bad.

mod support;

use abi::{
    line::LineError,
    record::{Fail, Failure, Measure, Record},
};
use runner::{
    decode::{DecodeError, Decoder},
    records::{CollectError, Records},
};
use support::{CONSOLE_LINE, bytes, distribution, lines, machine_line, records};

const CPUS: u32 = 2;
const TASKS: u32 = 3;

fn decode(bytes: &[u8]) -> Result<Records, DecodeError> {
    let mut decoder = Decoder::new(support::shape(CPUS, TASKS));
    decoder.feed(bytes, &mut |_| ());
    decoder.finish()
}

fn good() -> Vec<String> {
    lines(&records(CPUS, TASKS))
}

/// Decodes the good transcript after a change.
fn changed(change: impl FnOnce(&mut Vec<String>)) -> Result<Records, DecodeError> {
    let mut lines = good();
    change(&mut lines);
    decode(&bytes(&lines))
}

#[test]
fn a_good_report_is_read_completely() {
    let records = decode(&bytes(&good())).expect("good");
    assert_eq!(records.cpus.len(), 2);
    assert_eq!(records.tasks[2].counters.task, 2);
    assert_eq!(records.tasks[1].stint.histogram().moments().max, 3_000_016);
    assert_eq!(records.cpus[1].tick_interval.histogram().quantile(0.5), 1_000_000);
    assert_eq!(records.tasks[0].wakeup_latency.histogram().moments().count, 0);
    assert_eq!(records.total.switches, 33);
}

#[test]
fn portions_of_any_size_read_the_same() {
    let whole = bytes(&good());
    for size in [1, 2, 7, 64, 1000] {
        let mut decoder = Decoder::new(support::shape(CPUS, TASKS));
        let mut console = Vec::new();
        for portion in whole.chunks(size) {
            decoder.feed(portion, &mut |line| console.push(line.to_owned()));
        }
        assert!(decoder.finish().is_ok(), "portions of {size}");
        assert_eq!(console, [CONSOLE_LINE], "portions of {size}");
    }
}

#[test]
fn every_cut_is_noticed() {
    let whole = bytes(&good());
    // The last line may lack its line break.
    for len in 0..whole.len() - 2 {
        assert!(decode(&whole[..len]).is_err(), "cut at {len} of {}", whole.len());
    }
}

#[test]
fn silence_is_no_result() {
    assert_eq!(decode(b"").unwrap_err(), DecodeError::NoEnd { records: 0 });
}

#[test]
fn every_lost_machine_line_is_noticed() {
    for index in 1..good().len() {
        let result = changed(|lines| drop(lines.remove(index)));
        assert!(result.is_err(), "without line {index}: {}", good()[index]);
    }
}

#[test]
fn a_corrupted_line_is_named() {
    let mut at = 0;
    let error = changed(|lines| {
        at = lines.iter().position(|line| line.starts_with("@cpu cpu=1 ")).expect("there are two");
        lines[at] = lines[at].replacen("ticks=100", "ticks=101", 1);
    });
    let DecodeError::Line { number, cause: LineError::Checksum { .. }, text } = error.unwrap_err()
    else {
        panic!("it must name the line and its checksum");
    };
    assert_eq!(number as usize, at + 1);
    assert!(text.starts_with("@cpu cpu=1 "), "{text}");
}

#[test]
fn two_ends_are_one_too_many() {
    let error = changed(|lines| lines.push(lines[lines.len() - 1].clone())).unwrap_err();
    assert_eq!(error, DecodeError::AfterEnd { kind: "end" });
}

#[test]
fn a_record_after_the_end_is_noticed() {
    let error = changed(|lines| lines.push(lines[1].clone())).unwrap_err();
    assert_eq!(error, DecodeError::AfterEnd { kind: "machine" });
}

#[test]
fn a_wrong_count_is_noticed() {
    let mut records = records(CPUS, TASKS);
    let lost = records.pop().expect("a total");
    let mut lines = lines(&records);
    lines.insert(2, machine_line(&lost));
    let stated = records.len() as u64;
    let received = stated + 1;
    assert_eq!(decode(&bytes(&lines)).unwrap_err(), DecodeError::Count { stated, received });
}

#[test]
fn a_missing_task_is_named() {
    let records: Vec<_> = records(CPUS, TASKS)
        .into_iter()
        .filter(|record| !matches!(record, Record::Task(task) if task.task == 1))
        .collect();
    let error = decode(&bytes(&lines(&records))).unwrap_err();
    assert_eq!(error, CollectError::Missing { kind: "task", number: 1 }.into());
    assert_eq!(error.to_string(), "there is no `@task` record of task 1");
}

#[test]
fn what_does_not_exist_or_comes_twice_is_named() {
    let with = |extra: Record| {
        let mut records = records(CPUS, TASKS);
        records.push(extra);
        decode(&bytes(&lines(&records))).unwrap_err()
    };
    assert_eq!(
        with(support::cpu(2)),
        CollectError::NoSuch { kind: "cpu", number: 2, last: 1 }.into()
    );
    assert_eq!(with(support::cpu(1)), CollectError::Twice { kind: "cpu", number: 1 }.into());
    assert_eq!(
        with(support::machine(2)),
        CollectError::Twice { kind: "machine", number: 0 }.into()
    );
    let stray = distribution(Measure::Stint, 3, &[1])[0];
    assert!(matches!(with(stray), DecodeError::Content(CollectError::NoSuch { number: 3, .. })));
}

#[test]
fn buckets_must_add_up() {
    let mut records = records(CPUS, TASKS);
    // Moments of two values, and no bucket.
    records.push(distribution(Measure::WakeupLatency, 1, &[5, 6])[0]);
    let error = decode(&bytes(&lines(&records))).unwrap_err();
    let expected =
        CollectError::Buckets { of: "wakeup_latency_ns", owner: 1, counted: 2, in_buckets: 0 };
    assert_eq!(error, expected.into());
}

#[test]
fn a_panic_explains_what_follows() {
    let error = changed(|lines| {
        lines.truncate(4);
        lines.push("[    0.5][cpu1][ERROR fail] panicked at kernel/src/schedule.rs:17:9:".into());
        lines.push("boom".into());
        lines.push("@ta".into());
        lines.push("[    0.6][cpu0][INFO  run] and more".into());
    });
    let expected = "panicked at kernel/src/schedule.rs:17:9: boom";
    assert_eq!(error.unwrap_err(), DecodeError::Panic(expected.into()));
}

#[test]
fn a_panic_spoils_even_a_complete_report() {
    let error = changed(|lines| lines.insert(2, "panicked at x".into())).unwrap_err();
    assert_eq!(error, DecodeError::Panic("panicked at x".into()));
}

#[test]
fn a_guest_that_gives_up_is_quoted() {
    let fail = Fail { what: Failure::Memory, cpu: 0, have: 30, need: 60 };
    let error = changed(|lines| {
        lines.truncate(2);
        lines.push(machine_line(&Record::Fail(fail)));
    })
    .unwrap_err();
    assert_eq!(error.to_string(), "it has 30 MiB of memory and needs 60; raise --memory");
    let error = changed(|lines| {
        lines.truncate(2);
        lines.push("[    0.5][cpu0][ERROR fail] stack overflow in task 2".into());
        let what = Failure::StackOverflow;
        lines.push(machine_line(&Record::Fail(Fail { what, cpu: 0, have: 2, need: 0 })));
    })
    .unwrap_err();
    assert_eq!(error.to_string(), "stack overflow in task 2");
}

#[test]
fn another_version_of_the_contract_is_named() {
    let Record::Machine(mut machine) = support::machine(CPUS) else { unreachable!() };
    machine.version += 1;
    let error = changed(|lines| lines[1] = machine_line(&Record::Machine(machine))).unwrap_err();
    assert_eq!(error, DecodeError::Version { guest: machine.version });
}

#[test]
fn garbage_bytes_are_harmless() {
    let mut garbage: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    garbage.extend_from_slice(b"\n\x1b[2J\x1b]0;title\x07\n");
    let mut decoder = Decoder::new(support::shape(1, 1));
    decoder.feed(&garbage, &mut |line| {
        assert!(!line.chars().any(|c| c.is_control() && c != '\t'), "{line:?}");
    });
    assert!(decoder.finish().is_err());
    // Before a good report, it is just noise on the console.
    let noisy: Vec<u8> = b"\x00\xff\xfe noise\n".iter().copied().chain(bytes(&good())).collect();
    assert!(decode(&noisy).is_ok());
}

#[test]
fn endless_output_takes_no_more_memory() {
    let mut decoder = Decoder::new(support::shape(1, 1));
    // One line without end, then lines without end.
    for _ in 0..1000 {
        decoder.feed(&[b'x'; 10_000], &mut |_| ());
    }
    for _ in 0..100_000 {
        decoder.feed(b"the same again\n", &mut |_| ());
    }
    let console = decoder.console();
    assert!(console.len() <= 200 && console.iter().all(|line| line.len() <= 4096));
    assert_eq!(decoder.finish().unwrap_err(), DecodeError::NoEnd { records: 0 });
}
