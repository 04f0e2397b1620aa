use super::*;
use crate::trace::{
    drain::Sink,
    format::{RingTotal, TaskDescription},
    write::Writer,
};
use abi::trace::{Pick, StintEnd, TaskIn, TaskOut};

fn description() -> Description {
    let task = |name: &str, pid| TaskDescription {
        name: name.into(),
        pid,
        nice: 0,
        policy: "normal".into(),
        prio: 120,
    };
    Description {
        slicelab: "0.0.0".into(),
        cpus: 2,
        hz: 1000,
        config: serde_json::json!({ "seed": 1 }),
        tasks: vec![task("a", 1), task("b", 2)],
    }
}

fn record(at_ns: u64, sequence: u32, event: Event) -> Record {
    Record { at_ns, sequence, event }
}

fn switch(prev: Option<u32>, next: Option<u32>) -> Event {
    let out = |task| TaskOut { task, end: StintEnd::Block, lag_ns: -5 };
    let into = |task| TaskIn { task, pick: Pick::Deadline, lag_ns: 7_000_000 };
    Event::Switch { prev: prev.map(out), next: next.map(into), nr_running: 1 }
}

/// Two CPUs, two blocks on the first; the records in between were lost.
fn file() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &description()).expect("a Vec takes everything");
    let mut put = |cpu, first, records: &[Record]| {
        writer.take(cpu, first, records).expect("a Vec takes everything");
    };
    put(0, 0, &[record(0, 0, Event::Begin), record(1_000, 2, switch(None, Some(0)))]);
    put(1, 0, &[record(0, 1, Event::Begin), record(1_000, 3, switch(None, Some(1)))]);
    put(0, 7, &[record(5_000, 4, switch(Some(0), None)), record(9_000, 6, Event::End)]);
    put(1, 2, &[record(5_000, 5, Event::IpiReceive), record(9_000, 7, Event::End)]);
    writer.close(None, &[5, 0]).expect("a Vec takes everything");
    bytes
}

/// A trace of these blocks of CPU and records.
fn trace_of(blocks: &[(u32, &[Record])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &description()).expect("a Vec takes everything");
    for &(cpu, records) in blocks {
        writer.take(cpu, 0, records).expect("a Vec takes everything");
    }
    writer.close(None, &[0, 0]).expect("a Vec takes everything");
    bytes
}

#[test]
fn entries_come_in_one_order_with_what_is_missing() {
    let trace = Trace::from_bytes(file()).expect("it is whole");
    assert_eq!((trace.records(), trace.lost()), (8, 5));
    assert_eq!(trace.closing.rings[0], RingTotal { records: 4, lost: 5 });
    assert_eq!(trace.description, description());
    let entry = |at_ns, cpu, event| Entry { at_ns, cpu, what: What::Happened(event) };
    let expected = [
        entry(0, 0, Event::Begin),
        entry(0, 1, Event::Begin),
        entry(1_000, 0, switch(None, Some(0))),
        entry(1_000, 1, switch(None, Some(1))),
        Entry { at_ns: 5_000, cpu: 0, what: What::Lost(5) },
        entry(5_000, 0, switch(Some(0), None)),
        entry(5_000, 1, Event::IpiReceive),
        entry(9_000, 0, Event::End),
        entry(9_000, 1, Event::End),
    ];
    assert_eq!(trace.entries().collect::<Vec<_>>(), expected);
}

/// A cause has the lower sequence, whatever the CPUs' numbers.
#[test]
fn at_one_time_the_sequence_decides() {
    let waking = Event::Waking { task: 0, cpu: 0, waker: Some(1) };
    // It wrapped around in between.
    let effect = [record(10, u32::MAX - 1, Event::Begin), record(50, 0, switch(None, Some(0)))];
    let bytes = trace_of(&[(1, &[record(50, u32::MAX, waking)]), (0, &effect)]);
    let trace = Trace::from_bytes(bytes).expect("it is whole");
    let cpus: Vec<_> = trace.entries().map(|entry| entry.cpu).collect();
    assert_eq!(cpus, [0, 1, 0]);
}

#[test]
fn a_cut_file_says_where_and_what_is_left() {
    let whole = file();
    for length in format::PREFIX..whole.len() {
        let fault = Trace::from_bytes(whole[..length].to_vec()).expect_err("it is cut");
        let Fault::Truncated { at, records } = fault else { panic!("{length}: {fault}") };
        assert!(at <= length && records <= 8 && records % 2 == 0, "{length}: {fault}");
    }
    let fault = Trace::from_bytes(whole[..whole.len() - 1].to_vec()).expect_err("it is cut");
    assert!(matches!(fault, Fault::Truncated { records: 8, .. }), "{fault}");
}

#[test]
fn every_flipped_bit_is_noticed() {
    let whole = file();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x04;
        assert!(Trace::from_bytes(bytes).is_err(), "byte {at}");
    }
}

#[test]
fn other_files_are_named_as_what_they_are() {
    let fault = |bytes: &[u8]| Trace::from_bytes(bytes.to_vec()).expect_err("it is no trace");
    assert!(matches!(fault(b"{}"), Fault::NotATrace));
    assert!(matches!(fault(b""), Fault::NotATrace));
    let mut newer = file();
    newer[8] = 9;
    assert!(matches!(fault(&newer), Fault::Version(9)));
    let mut longer = file();
    longer.push(0);
    assert!(fault(&longer).to_string().contains("something follows the end"));
}

/// Checksums are right, what is said is not.
#[test]
fn nonsense_is_damage() {
    let with = |records: &[Record]| {
        Trace::from_bytes(trace_of(&[(0, records)])).expect_err("it is nonsense").to_string()
    };
    let text = with(&[record(0, 0, Event::IpiSend { cpu: 2 })]);
    assert!(text.contains("not there"), "{text}");
    let text = with(&[record(0, 0, switch(Some(2), None))]);
    assert!(text.contains("not there"), "{text}");
    let text = with(&[record(9, 0, Event::Begin), record(8, 1, Event::End)]);
    assert!(text.contains("beyond all numbers"), "{text}");
}

/// What a busy guest writes: the aim is at most 16 bytes a record.
#[test]
fn records_are_compact() {
    let events = |n: u32| {
        [
            Event::Waking { task: n % 2, cpu: 1, waker: Some(1) },
            Event::Enqueue {
                task: n % 2,
                cpu: 1,
                how: abi::trace::Joins::Wakeup,
                nr_running: 40,
                lag_ns: -1_234_567,
            },
            switch(Some(n % 2), Some((n + 1) % 2)),
        ]
    };
    let records: Vec<_> =
        (0..999).map(|n| record(u64::from(n) * 20_000, n * 8, events(n)[n as usize % 3])).collect();
    let bytes = trace_of(&[(0, &records)]);
    let per_record = bytes.len() as f64 / 999.0;
    assert!(per_record < 16.0, "{per_record} bytes");
}
