//! What a guest would print, and programs that behave like a QEMU that goes wrong.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

pub mod browser;

use abi::{
    Histogram, line,
    record::{
        ApicMode, Balance, BucketList, Buckets, Cpu, End, Ending, Machine, Measure, Moments, Moves,
        Record, Reference, Status, Task, TimerMode, Total, Wakeups,
    },
    scenario,
};
use runner::records::Shape;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// One machine line without its newline.
pub fn machine_line(record: &Record) -> String {
    let mut text = String::new();
    line::write(&mut text, record).expect("a String takes everything");
    text.trim_end().to_owned()
}

/// A distribution as its lines.
pub fn distribution(of: Measure, owner: u32, values: &[u64]) -> Vec<Record> {
    let mut histogram: Histogram = Histogram::EMPTY;
    values.iter().for_each(|&value| histogram.record(value));
    let moments = histogram.moments();
    let mut records = vec![Record::Moments(Moments {
        of,
        owner,
        count: moments.count,
        min: moments.min,
        max: moments.max,
        sum: moments.sum,
        sum_of_squares: moments.sum_of_squares,
    })];
    let mut filled = histogram.filled();
    while let Some(filled) = BucketList::take_from(&mut filled) {
        records.push(Record::Buckets(Buckets { of, owner, filled }));
    }
    records
}

/// The machine's record.
pub fn machine(cpus: u32) -> Record {
    Record::Machine(Machine {
        version: scenario::VERSION,
        cpus,
        disabled: 0,
        tsc_hz: 1_000_000_000,
        lapic_hz: 1_000_000_000,
        reference: Reference::Hpet,
        apic: ApicMode::XApic,
        timer: TimerMode::Oneshot,
    })
}

/// Length of the canned run: 100 ms at HZ=1000.
pub const ELAPSED_NS: u64 = 100_000_000;

/// What such a run reports.
pub fn shape(cpus: u32, tasks: u32) -> Shape {
    Shape { cpus: cpus as usize, tasks: tasks as usize, counters: 0, histograms: 0 }
}

/// A CPU that was busy all the time.
pub fn cpu(cpu: u32) -> Record {
    Record::Cpu(Cpu {
        cpu,
        apic_id: cpu,
        ticks: 100,
        missed_ticks: 0,
        timer_count: 1_000_000,
        measured_mhz: 1_000_000,
        busy_ns: ELAPSED_NS,
        idle_ns: 0,
        irq_ns: 0,
        switches: 33,
        ipis: 0,
        irqsoff_ns: 0,
        goes_idle: 0,
        yields: 0,
        run_delay_ns: 0,
    })
}

/// A CPU that never had anything to balance.
pub fn balance(cpu: u32) -> Record {
    Record::Balance(Balance {
        cpu,
        attempts: 0,
        failed: 0,
        newidle_pulls: 0,
        newidle_misses: 0,
        pushes: 0,
        kicks: 0,
        wasted_ns: 0,
        wasted_longest_ns: 0,
    })
}

/// One of `tasks` equal tasks on `cpus` CPUs.
pub fn task(task: u32, tasks: u32, cpus: u32) -> Record {
    let runtime_ns = ELAPSED_NS * u64::from(cpus) / u64::from(tasks);
    Record::Task(Task {
        task,
        slice_ns: 2_800_000,
        runtime_ns,
        charged_ns: runtime_ns,
        slice: 2,
        preempt: 0,
        block: 0,
        yields: 0,
        migrate: 0,
        exit: 0,
        extra_ticks: 0,
        migrations: 0,
        wakeups: 0,
        lag_min_ns: -1_500_000,
        run_delay_ns: 0,
        lag_max_ns: 1_500_000,
    })
}

/// The records of a run in which all went well, without the end.
pub fn records(cpus: u32, tasks: u32) -> Vec<Record> {
    let mut records = vec![machine(cpus)];
    for number in 0..cpus {
        let wakeups = Record::Wakeups(Wakeups::none(number));
        records.extend([cpu(number), balance(number), wakeups]);
    }
    records.extend((0..tasks).map(|number| task(number, tasks, cpus)));
    for owner in 0..cpus {
        records.extend(distribution(Measure::TickInterval, owner, &[1_000_000; 99]));
    }
    for owner in 0..tasks {
        records.extend(distribution(Measure::Stint, owner, &[3_000_000, 3_000_016]));
        records.extend(distribution(Measure::StintTicks, owner, &[3, 3]));
    }
    records.push(Record::Moves(Moves {
        wakeup: 0,
        fork: 0,
        periodic: 0,
        newidle: 0,
        active: 0,
        nohz: 0,
        affinity: 0,
        wasted_ns: 0,
    }));
    records.push(Record::Total(Total {
        elapsed_ns: ELAPSED_NS,
        switches: 33,
        migrations: 0,
        wakeups: 0,
        lost_records: 0,
        lag_violations: 0,
        failed_spawns: 0,
        ending: Ending::Time,
    }));
    records
}

/// A console line as the kernel writes it.
pub const CONSOLE_LINE: &str = "[    0.001234][cpu0][INFO  boot] 1 cpu, 1000 ticks per second";

/// The lines of a run: a console line, the records, the end.
pub fn lines(records: &[Record]) -> Vec<String> {
    let end = Record::End(End { status: Status::Ok, records: records.len() as u64 });
    let machine_lines = records.iter().chain([&end]).map(machine_line);
    [CONSOLE_LINE.to_owned()].into_iter().chain(machine_lines).collect()
}

/// The bytes of lines, as the serial port sends them.
pub fn bytes(lines: &[String]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\r\n").into_bytes()).collect()
}

/// A shell script in the place of QEMU.
pub struct FakeQemu {
    folder: TempDir,
}

impl FakeQemu {
    /// A QEMU 7.2.0 that runs `body` in place of a guest. `$HERE` is its folder.
    pub fn new(body: &str) -> Self {
        Self::with_version("QEMU emulator version 7.2.0", body)
    }

    /// The same with another answer to `--version`.
    pub fn with_version(version: &str, body: &str) -> Self {
        let fake = Self { folder: tempfile::tempdir().expect("a folder") };
        let here = fake.folder.path().display();
        let script = format!(
            "#!/bin/sh\nHERE='{here}'\nif [ \"$1\" = --version ]; then echo '{version}'; exit 0; fi\n{body}\n"
        );
        fs::write(fake.path(), script).expect("written");
        fs::set_permissions(fake.path(), fs::Permissions::from_mode(0o755)).expect("executable");
        fake
    }

    /// A QEMU whose guest prints a canned transcript and exits with `status`.
    pub fn printing(transcript: &[u8], status: i32) -> Self {
        let fake = Self::new(&format!("cat \"$HERE/transcript\"\nexit {status}"));
        fs::write(fake.folder.path().join("transcript"), transcript).expect("written");
        fake
    }

    /// The script.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("qemu")
    }

    /// Its folder, for files that the script leaves.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// The command with this QEMU and any file in the place of a kernel.
pub fn slicelab(qemu: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slicelab"));
    command.env("SLICELAB_KERNEL", "/bin/sh").env("QEMU", qemu).env("NO_COLOR", "1");
    command
}
