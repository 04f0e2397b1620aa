//! netperf's TCP_RR and UDP_RR: pairs that exchange a request and a response at a time.

use super::{
    Built, Machine, Mix, check_tasks, linux,
    options::{length, seconds, sizes, time, within},
    pairs::{Measured, Settle, Talk},
};
use crate::{
    error::Refusal,
    workload::{Better, Reading, Stat, Workload},
};
use clap::{Args, ValueEnum};
use std::fmt::Write;

/// Short, because every operation is simulated by itself: a second costs the host half a minute.
const DEFAULT_NS: u64 = 1_000_000_000;

/// netperf TCP_RR, UDP_RR: pairs exchange a request and a response at a time
#[derive(Args, Debug)]
pub(super) struct Rr {
    /// The test; only its heading differs here
    #[arg(short, long, value_name = "NAME", default_value = "TCP_RR")]
    test: Test,
    /// Pairs of a netperf and its netserver
    #[arg(short = 'n', long, value_name = "N", default_value = "1", value_parser = within(1..=10_000u64))]
    pairs: u64,
    /// Length of the run: seconds, or a time such as 500ms [default: --duration, or 1]
    #[arg(short = 'l', long, value_name = "TIME", value_parser = seconds)]
    length: Option<u64>,
    /// Bytes of a request and of its response
    #[arg(short = 'r', long, value_name = "REQ,RSP", default_value = "1,1", value_parser = sizes)]
    sizes: (u32, u32),
    /// What each send and receive costs [default: 775ns, Linux 6.12's half of a pipe's write and
    /// read, at an instruction a nanosecond; a network stack takes more]
    #[arg(long, value_name = "TIME", value_parser = time)]
    op_cost: Option<u64>,
    #[command(flatten)]
    settle: Settle,
}

/// netperf's names.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "verbatim")]
enum Test {
    #[value(name = "TCP_RR")]
    Tcp,
    #[value(name = "UDP_RR")]
    Udp,
}

impl Mix for Rr {
    const NAME: &'static str = "rr";
    const ABOUT: &'static str = "pairs exchange requests and responses (netperf TCP_RR, UDP_RR)";

    fn build(self, machine: &Machine, load: &mut Workload) -> Result<Built, Refusal> {
        let Self { test, sizes, pairs, settle, .. } = self;
        check_tasks("-n", pairs, 2 * pairs)?;
        let duration_ns = length("-l", self.length, machine, DEFAULT_NS)?;
        let talk = Talk {
            names: ["netperf", "netserver"],
            request_bytes: sizes.0,
            response_bytes: sizes.1,
            work_ns: 0,
            op_cost_ns: self.op_cost.unwrap_or_else(linux::pipe_operation_ns),
            settle_ns: settle.ns(),
            times: None,
        };
        let latency = load.shared.histogram();
        let counters: Vec<u32> = (0..pairs).map(|_| load.shared.counter()).collect();
        for (pair, &counter) in (0..).zip(&counters) {
            talk.add(load, pair, Measured { counter, latency: Some(latency) });
        }
        let reading = Reading::Rates(counters.clone());
        load.measure(
            "transactions_per_second",
            "1/s",
            Better::Higher,
            reading,
            settle.share(duration_ns),
        );
        for (name, stat) in [("latency_p50", Stat::P50), ("latency_p99", Stat::P99)] {
            load.measure(name, "us", Better::Lower, Reading::Histogram(latency, stat), 1e3);
        }
        Ok(Built::time(settle.whole_ns(duration_ns), move |result| {
            let count = |&counter: &u32| result.records.counters[counter as usize];
            let counts: Vec<u64> = counters.iter().map(count).collect();
            text(test, sizes, settle.counted_s(&result.records), &counts)
        }))
    }
}

/// One heading, and two lines for each pair, as its netperf would print them.
fn text(test: Test, (request, response): (u32, u32), seconds: f64, counts: &[u64]) -> String {
    let (name, send, receive) = match test {
        Test::Tcp => ("TCP", 16_384, 131_072),
        Test::Udp => ("UDP", 212_992, 212_992),
    };
    let mut text = format!(
        "MIGRATED {name} REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to localhost (127.0.0.1) port 0 AF_INET : first burst 0\n\
         Local /Remote\n\
         Socket Size   Request  Resp.   Elapsed  Trans.\n\
         Send   Recv   Size     Size    Time     Rate         \n\
         bytes  Bytes  bytes    bytes   secs.    per sec   \n\n"
    );
    for &count in counts {
        writeln!(
            text,
            "{send:<6} {receive:<6} {request:<8} {response:<6}  {seconds:<6.2}   {:7.2}   \n\
             {send:<6} {receive:<6} ",
            count as f64 / seconds
        )
        .expect("a String takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_that_of_netperf() {
        let text = text(Test::Tcp, (1, 1), 10.0, &[273_625]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[2], "Socket Size   Request  Resp.   Elapsed  Trans.");
        assert_eq!(lines[6], "16384  131072 1        1       10.00    27362.50   ");
        assert_eq!(lines[7], "16384  131072 ");
    }
}
