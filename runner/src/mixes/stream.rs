//! STREAM, as far as a scheduler sees it: threads that compute a part each and meet.
//!
//! Memory is not modelled. A pass takes the CPU time that its bytes take at a given bandwidth;
//! what is measured is how much longer it took because somebody had to wait for a CPU.

use super::{
    Built, Machine, Mix, check_tasks, finish::Finish, options::within, sequence::Sequence,
};
use crate::{
    error::Refusal,
    records::Records,
    workload::{Better, Reading, Stat, Workload},
};
use abi::{Op, program::Since};
use clap::Args;
use std::fmt::Write;

/// The four passes, with the arrays that each reads and writes.
const PASSES: [(&str, u64); 4] = [("Copy", 2), ("Scale", 2), ("Add", 3), ("Triad", 3)];
/// Bytes of an element.
const ELEMENT: u64 = 8;
/// A pass is at least this long, or nothing could be measured of it; ns.
const SHORTEST_PASS_NS: u64 = 1_000;

/// STREAM: threads each do a part of a pass and meet; CPU time only, memory is not modelled
#[derive(Args, Debug)]
pub(super) struct Stream {
    /// Threads; 0 for one on each CPU
    #[arg(short, long, value_name = "N", default_value = "0", value_parser = within(0..=20_000u64))]
    threads: u64,
    /// Times that each pass is done; the first is not measured
    #[arg(short, long, value_name = "N", default_value = "10", value_parser = within(2..=1_000_000u64))]
    ntimes: u64,
    /// Elements of each array
    #[arg(short = 's', long, value_name = "N", default_value = "10000000", value_parser = within(1_000..=10_000_000_000u64))]
    array_size: u64,
    /// Bandwidth of a CPU that is not disturbed, MB/s
    #[arg(long, value_name = "MBPS", default_value = "10000", value_parser = within(1..=1_000_000u64))]
    bandwidth: u64,
}

impl Mix for Stream {
    const NAME: &'static str = "stream";
    const ABOUT: &'static str = "threads each do a part of a pass and meet (STREAM; CPU time only)";

    fn build(self, machine: &Machine, load: &mut Workload) -> Result<Built, Refusal> {
        let threads = if self.threads == 0 { machine.cpus.into() } else { self.threads };
        check_tasks("-t", threads, threads)?;
        let bytes = PASSES.map(|(_, arrays)| arrays * ELEMENT * self.array_size);
        // MB/s are bytes per us.
        let part_ns = bytes.map(|bytes| bytes * 1_000 / self.bandwidth / threads);
        if part_ns[0] < SHORTEST_PASS_NS {
            let reason = format!("leaves each of {threads} threads less than 1us for a pass");
            return Err(Refusal::new("-s", self.array_size, reason));
        }
        let finish = Finish::of(load, threads);
        let barrier = load.shared.barrier("between passes".into(), threads as u32);
        let mark = load.shared.mark();
        let histograms = PASSES.map(|_| load.shared.histogram());
        for thread in 0..threads {
            let mut program = Sequence::new(0);
            // Who comes first does not matter: the first thread looks at the clock for all.
            let looks = thread == 0;
            let round = |program: &mut Sequence, measures: bool| {
                for (pass, part_ns) in part_ns.into_iter().enumerate() {
                    program.then(Op::Barrier(barrier));
                    if looks {
                        program.then(Op::Mark(mark));
                    }
                    program.run(part_ns).then(Op::Barrier(barrier));
                    if looks && measures {
                        let (since, histogram) = (Since::Mark(mark), histograms[pass]);
                        program.then(Op::Measure { since, histogram });
                    }
                }
            };
            round(&mut program, false);
            program.times(self.ntimes - 1, |body| round(body, true));
            let program = program.then(finish.note()).program();
            load.add(format!("thread{thread}"), program);
        }
        for ((name, _), histogram) in PASSES.into_iter().zip(histograms) {
            let (name, mean) = (name.to_lowercase(), Reading::Histogram(histogram, Stat::Mean));
            load.measure(format!("{name}_time"), "s", Better::Lower, mean, 1e9);
        }
        Ok(Built::work(move |result| text(&bytes, &times(&result.records, histograms))))
    }
}

/// Mean, minimum and maximum of each pass, ns.
fn times(records: &Records, histograms: [u32; 4]) -> [[f64; 3]; 4] {
    histograms.map(|histogram| {
        let moments = records.histograms[histogram as usize].histogram().moments();
        [moments.mean(), moments.min as f64, moments.max as f64]
    })
}

fn text(bytes: &[u64; 4], times: &[[f64; 3]; 4]) -> String {
    let mut text = String::from(
        "CPU time only: memory is not modelled, a pass takes its bytes divided by --bandwidth\n\
         Function    Best Rate MB/s  Avg time     Min time     Max time\n",
    );
    for (((name, _), &bytes), times) in PASSES.into_iter().zip(bytes).zip(times) {
        let [mean, min, max] = times.map(|ns| ns / 1e9);
        let label = format!("{name}:");
        writeln!(
            text,
            "{label:<12}{:12.1}  {mean:11.6}  {min:11.6}  {max:11.6}",
            bytes as f64 / min / 1e6
        )
        .expect("a String takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_stream() {
        let text = text(&[160_000_000; 4], &[[2e7, 1.6e7, 3.5e7]; 4]);
        let rows: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(rows[0], "Function    Best Rate MB/s  Avg time     Min time     Max time");
        assert_eq!(rows[1], "Copy:            10000.0     0.020000     0.016000     0.035000");
        assert_eq!(rows.len(), 5);
    }
}
