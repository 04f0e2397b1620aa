//! cyclictest of rt-tests: threads that sleep for an interval and see how late they wake.
//!
//! Wake-ups are planned ahead, every interval from the start of the run (`clock_nanosleep` with
//! `TIMER_ABSTIME`): a thread that is late has less time to sleep, and one that is later than an
//! interval leaves out what it missed.

use super::{
    Built, Machine, Mix, check_tasks,
    finish::Finish,
    linux,
    options::{seconds, time, within},
    sequence::Sequence,
};
use crate::{
    error::Refusal,
    records::Records,
    workload::{Better, Reading, Stat, Workload},
};
use abi::{
    Histogram, Op,
    program::{Late, Since},
};
use clap::Args;
use std::fmt::Write;

const DEFAULT_NS: u64 = 10_000_000_000;

/// cyclictest: threads sleep until the next of their intervals and see how late they wake
#[derive(Args, Debug)]
pub(super) struct Cyclictest {
    /// Threads
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = within(1..=20_000u64))]
    threads: u64,
    /// Interval of the first thread, us
    #[arg(short, long, value_name = "US", default_value = "1000", value_parser = within(1..=60_000_000u64))]
    interval: u64,
    /// How much longer the interval of each further thread is, us
    #[arg(short, long, value_name = "US", default_value = "500", value_parser = within(0..=60_000_000u64))]
    distance: u64,
    /// Wake-ups of each thread; 0 for as many as fit into the length
    #[arg(short, long, value_name = "N", default_value = "0", value_parser = within(0..=1_000_000_000u64))]
    loops: u64,
    /// Length, where -l does not give it: seconds, or a time such as 500ms [default: 10]
    #[arg(short = 'D', long, value_name = "TIME", value_parser = seconds)]
    duration: Option<u64>,
    /// Print a histogram of latencies up to so many us
    #[arg(short, long, value_name = "US", value_parser = within(1..=1_000_000u64))]
    histogram: Option<u64>,
    /// Print only the end, as it always does here
    #[arg(short, long)]
    quiet: bool,
    /// What going to sleep costs [default: 216ns, Linux 6.12's cheapest system call at an
    /// instruction a nanosecond]
    #[arg(long, value_name = "TIME", value_parser = time)]
    op_cost: Option<u64>,
}

/// One thread's figures.
#[derive(Clone, Copy, Debug)]
struct Thread {
    /// Its task.
    task: u32,
    interval_us: u64,
    /// All its latencies.
    latencies: u32,
    /// The last one.
    last: u32,
}

impl Mix for Cyclictest {
    const NAME: &'static str = "cyclictest";
    const ABOUT: &'static str = "threads sleep and see how late they wake (rt-tests cyclictest)";

    fn build(self, _machine: &Machine, load: &mut Workload) -> Result<Built, Refusal> {
        check_tasks("-t", self.threads, self.threads)?;
        let finish = Finish::of(load, self.threads);
        let op_cost_ns = self.op_cost.unwrap_or_else(linux::system_call_ns);
        let mut threads = Vec::new();
        let mut longest_ns = 0u64;
        for number in 0..self.threads as u32 {
            let interval_us = self.interval + u64::from(number) * self.distance;
            let fitting = self.duration.unwrap_or(DEFAULT_NS) / (interval_us * 1_000);
            let loops = if self.loops == 0 { fitting.max(1) } else { self.loops };
            longest_ns = longest_ns.max(loops.saturating_mul(interval_us * 1_000));
            let (latencies, last) = (load.shared.histogram(), load.shared.histogram());
            let timer = load.shared.timer();
            let thread = Thread { task: number, interval_us, latencies, last };
            let mut program = Sequence::new(op_cost_ns);
            let measure = |histogram| Op::Measure { since: Since::Wakeup, histogram };
            let wakes = |body: &mut Sequence| {
                body.call(Op::Timer { timer, period_ns: interval_us * 1_000, late: Late::Skip });
                body.then(measure(latencies));
            };
            program.times(loops - 1, wakes);
            wakes(&mut program);
            let program = program.then(measure(last)).then(finish.note()).program();
            load.add(format!("cyclictest{number}"), program);
            for (name, stat) in [("avg", Stat::Mean), ("max", Stat::Max)] {
                let reading = Reading::Histogram(latencies, stat);
                load.measure(format!("{name}_latency_{number}"), "us", Better::Lower, reading, 1e3);
            }
            threads.push(thread);
        }
        let rows = self.histogram;
        Ok(Built::work_of(longest_ns, move |result| text(&threads, rows, &result.records)))
    }
}

fn text(threads: &[Thread], rows: Option<u64>, records: &Records) -> String {
    let histogram = |number: u32| records.histograms[number as usize].histogram();
    let mut text = String::new();
    let latencies: Vec<_> = threads.iter().map(|thread| histogram(thread.latencies)).collect();
    if let Some(rows) = rows {
        text += &table(&latencies, rows);
        return text;
    }
    for (thread, latencies) in threads.iter().zip(latencies) {
        text += &line(thread, latencies, histogram(thread.last).moments().max);
    }
    text
}

/// A thread's line; times in us, cut off.
fn line(thread: &Thread, latencies: &Histogram, last_ns: u64) -> String {
    let moments = latencies.moments();
    let us = |ns: u64| ns / 1_000;
    format!(
        "T:{:2} ({:5}) P:{:2} I:{} C:{:7} Min:{:7} Act:{:5} Avg:{:5} Max:{:8}\n",
        thread.task,
        thread.task + 1,
        0,
        thread.interval_us,
        moments.count,
        us(if moments.count == 0 { 0 } else { moments.min }),
        us(last_ns),
        us(moments.mean() as u64),
        us(moments.max),
    )
}

/// The histogram of all threads, a column each, and its summary.
fn table(threads: &[&Histogram], rows: u64) -> String {
    let mut columns = vec![vec![0u64; rows as usize]; threads.len()];
    let mut overflows = vec![0u64; threads.len()];
    for (thread, histogram) in threads.iter().enumerate() {
        let moments = histogram.moments();
        for (range, count) in histogram.ranges() {
            let us = (range.end - 1).min(moments.max) / 1_000;
            match columns[thread].get_mut(us as usize) {
                Some(row) => *row += u64::from(count),
                None => overflows[thread] += u64::from(count),
            }
        }
    }
    let mut text = String::from("# Histogram\n");
    for row in 0..rows as usize {
        let counts: Vec<_> = columns.iter().map(|column| format!("{:06}", column[row])).collect();
        writeln!(text, "{row:06} {}", counts.join("\t")).expect("a String takes everything");
    }
    let us = |figure: fn(&Histogram) -> u64| -> Vec<u64> {
        threads.iter().map(|histogram| figure(histogram) / 1_000).collect()
    };
    let least = |histogram: &Histogram| match histogram.moments() {
        moments if moments.count == 0 => 0,
        moments => moments.min,
    };
    let counted: Vec<u64> = columns.iter().map(|column| column.iter().sum()).collect();
    let summary = [
        ("Total", 9, counted),
        ("Min Latencies", 5, us(least)),
        ("Avg Latencies", 5, us(|histogram| histogram.moments().mean() as u64)),
        ("Max Latencies", 5, us(|histogram| histogram.moments().max)),
        ("Histogram Overflows", 5, overflows),
    ];
    for (name, width, figures) in summary {
        let figures: Vec<_> = figures.iter().map(|figure| format!("{figure:0width$}")).collect();
        writeln!(text, "# {name}: {}", figures.join(" ")).expect("a String takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies() -> Histogram {
        let mut histogram: Histogram = Histogram::EMPTY;
        [64_000, 70_500, 3_440_721_000].into_iter().for_each(|ns| histogram.record(ns));
        histogram
    }

    #[test]
    fn a_thread_has_its_line() {
        let thread = Thread { task: 0, interval_us: 1000, latencies: 0, last: 1 };
        assert_eq!(
            line(&thread, &latencies(), 70_000),
            "T: 0 (    1) P: 0 I:1000 C:      3 Min:     64 Act:   70 Avg:1146951 Max: 3440721\n"
        );
    }

    #[test]
    fn the_histogram_is_as_cyclictest_prints_it() {
        let text = table(&[&latencies(), &Histogram::EMPTY], 72);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines[0], lines[1]), ("# Histogram", "000000 000000\t000000"));
        assert_eq!((lines[65], lines[71]), ("000064 000001\t000000", "000070 000001\t000000"));
        assert_eq!(
            lines[73..],
            [
                "# Total: 000000002 000000000",
                "# Min Latencies: 00064 00000",
                "# Avg Latencies: 1146951 00000",
                "# Max Latencies: 3440721 00000",
                "# Histogram Overflows: 00001 00000",
            ]
        );
    }
}
