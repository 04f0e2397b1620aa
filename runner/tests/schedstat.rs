//! `run --schedstat`: read by a parser that takes nothing but version 17.

mod support;

use abi::record::{Domain, Record};
use std::collections::BTreeMap;
use support::{FakeQemu, bytes, lines, records, slicelab};

/// What a file says: lines of CPUs, and of their domains with name and mask.
#[derive(Debug, Default)]
struct Stat {
    timestamp: u64,
    cpus: BTreeMap<u32, [u64; 9]>,
    domains: BTreeMap<(u32, u32), (String, u64, [u64; 45])>,
}

fn exactly<const N: usize>(words: &[&str], line: &str) -> [u64; N] {
    let numbers: Vec<u64> = words
        .iter()
        .map(|word| word.parse().unwrap_or_else(|_| panic!("{word}: {line}")))
        .collect();
    numbers.try_into().unwrap_or_else(|numbers: Vec<_>| panic!("{} numbers: {line}", numbers.len()))
}

fn parse(text: &str) -> Stat {
    let mut stat = Stat::default();
    let mut lines = text.split_terminator('\n');
    assert!(text.ends_with('\n'));
    assert_eq!(lines.next(), Some("version 17"));
    let timestamp = lines.next().and_then(|line| line.strip_prefix("timestamp "));
    stat.timestamp = timestamp.and_then(|number| number.parse().ok()).expect("a timestamp");
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        if let Some(number) = words[0].strip_prefix("cpu") {
            let cpu = number.parse().expect("a number of a CPU");
            assert_eq!(cpu as usize, stat.cpus.len(), "CPUs in their order");
            stat.cpus.insert(cpu, exactly(&words[1..], line));
        } else {
            let number = words[0].strip_prefix("domain").expect("a CPU or a domain");
            let domain = number.parse().expect("a number of a domain");
            let (cpu, _) = stat.cpus.last_key_value().expect("domains follow their CPU");
            let of_cpu = stat.domains.keys().filter(|(known, _)| known == cpu).count();
            assert_eq!(domain as usize, of_cpu, "domains in their order");
            let mask = u64::from_str_radix(&words[2].replace(',', ""), 16).expect("a mask");
            let value = (words[1].to_owned(), mask, exactly(&words[3..], line));
            stat.domains.insert((*cpu, domain), value);
        }
    }
    stat
}

/// What a run of those records gives.
fn schedstat(records: &[Record], flags: &[&str]) -> Stat {
    let qemu = FakeQemu::printing(&bytes(&lines(records)), 33);
    let output = slicelab(&qemu.path())
        .args(["run", "--hogs", "3", "--duration", "100ms", "--quiet", "--schedstat", "-"])
        .args(flags)
        .output()
        .expect("started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    parse(&String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn each_number_has_its_place() {
    let mut records = records(4, 3);
    for record in &mut records {
        match record {
            Record::Cpu(cpu) if cpu.cpu == 2 => {
                (cpu.yields, cpu.goes_idle, cpu.run_delay_ns) = (7, 5, 123_456);
            }
            Record::Wakeups(wakeups) if wakeups.cpu == 2 => {
                (wakeups.local, wakeups.remote) = (11, 13);
            }
            _ => {}
        }
    }
    let at = records.iter().position(|record| matches!(record, Record::Task(_)));
    let domain = Domain {
        cpu: 2,
        domain: 1,
        busy: 1,
        busy_balanced: 2,
        busy_failed: 3,
        busy_gained: 4,
        idle: 5,
        idle_balanced: 6,
        idle_failed: 7,
        idle_gained: 8,
        newly_idle: 9,
        newly_idle_balanced: 10,
        newly_idle_failed: 11,
        newly_idle_gained: 12,
        pushes: 13,
    };
    records.insert(at.expect("there are tasks"), Record::Domain(domain));
    let stat = schedstat(&records, &["--topology", "1s2c2t"]);
    // 100 ms at HZ=1000; 33 switches, 5 of them to the idle loop; 11 + 13 wake-ups.
    assert_eq!(stat.timestamp, 100);
    assert_eq!(stat.cpus[&2], [7, 0, 33, 5, 24, 11, 100_000_000, 123_456, 28]);
    assert_eq!(stat.cpus[&0], [0, 0, 33, 0, 0, 0, 100_000_000, 0, 33]);
    let names = stat.domains.iter().map(|(at, (name, mask, _))| (*at, name.as_str(), *mask));
    let expected = [
        ((0, 0), "SMT", 0x3),
        ((0, 1), "MC", 0xf),
        ((1, 0), "SMT", 0x3),
        ((1, 1), "MC", 0xf),
        ((2, 0), "SMT", 0xc),
        ((2, 1), "MC", 0xf),
        ((3, 0), "SMT", 0xc),
        ((3, 1), "MC", 0xf),
    ];
    assert_eq!(names.collect::<Vec<_>>(), expected);
    let mut numbers = [0; 45];
    for (first, passes) in [(0, [1, 2, 3, 4]), (11, [5, 6, 7, 8]), (22, [9, 10, 11, 12])] {
        let [count, balanced, failed, gained] = passes;
        (numbers[first], numbers[first + 1], numbers[first + 2]) = (count, balanced, failed);
        numbers[first + 7] = gained;
    }
    (numbers[33], numbers[35]) = (13, 13);
    assert_eq!(stat.domains[&(2, 1)].2, numbers);
    assert_eq!(stat.domains[&(2, 0)].2, [0; 45]);
}

#[test]
fn one_cpu_has_no_domains() {
    let stat = schedstat(&records(1, 3), &[]);
    assert_eq!((stat.cpus.len(), stat.domains.len()), (1, 0));
}
