//! tbench of dbench: clients that each talk to a server thread of their own.

use super::{
    Built, Machine, Mix, check_tasks,
    format::general,
    linux,
    options::{length, seconds, sizes, time, within},
    pairs::{Measured, Settle, Talk},
};
use crate::{
    error::Refusal,
    workload::{Better, Reading, Stat, Workload},
};
use clap::Args;

/// Short, because every operation is simulated by itself: a second costs the host half a minute.
const DEFAULT_NS: u64 = 1_000_000_000;

/// tbench: clients each talk to a server thread of their own
#[derive(Args, Debug)]
pub(super) struct Tbench {
    /// Clients
    #[arg(value_name = "CLIENTS", default_value = "1", value_parser = within(1..=10_000u64))]
    clients: u64,
    /// Length of the run: seconds, or a time such as 500ms [default: --duration, or 1; tbench's
    /// is 600]
    #[arg(short, long, value_name = "TIME", value_parser = seconds)]
    timelimit: Option<u64>,
    /// Bytes of a request and of its response
    #[arg(long, value_name = "REQ,RSP", default_value = "100,100", value_parser = sizes)]
    sizes: (u32, u32),
    /// CPU time of the server for a request
    #[arg(long, value_name = "TIME", default_value = "2us", value_parser = time)]
    work: u64,
    /// What each send and receive costs [default: 775ns, Linux 6.12's half of a pipe's write and
    /// read, at an instruction a nanosecond; a network stack takes more]
    #[arg(long, value_name = "TIME", value_parser = time)]
    op_cost: Option<u64>,
    #[command(flatten)]
    settle: Settle,
}

impl Mix for Tbench {
    const NAME: &'static str = "tbench";
    const ABOUT: &'static str =
        "clients talk to server threads (dbench's tbench, without its trace)";

    fn build(self, machine: &Machine, load: &mut Workload) -> Result<Built, Refusal> {
        let Self { clients, sizes, settle, .. } = self;
        check_tasks("CLIENTS", clients, 2 * clients)?;
        let duration_ns = length("-t", self.timelimit, machine, DEFAULT_NS)?;
        let talk = Talk {
            names: ["client", "server"],
            request_bytes: sizes.0,
            response_bytes: sizes.1,
            work_ns: self.work,
            op_cost_ns: self.op_cost.unwrap_or_else(linux::pipe_operation_ns),
            settle_ns: settle.ns(),
            times: None,
        };
        let (counter, latency) = (load.shared.counter(), load.shared.histogram());
        for client in 0..clients {
            talk.add(load, client, Measured { counter, latency: Some(latency) });
        }
        let bytes = f64::from(sizes.0) + f64::from(sizes.1);
        let rate = Reading::Rate(counter);
        let share = settle.share(duration_ns);
        load.measure("throughput", "MB/s", Better::Higher, rate.clone(), share * 1e6 / bytes);
        load.measure("transactions_per_second", "1/s", Better::Higher, rate, share);
        let longest = Reading::Histogram(latency, Stat::Max);
        load.measure("max_latency", "ms", Better::Lower, longest, 1e6);
        Ok(Built::time(settle.whole_ns(duration_ns), move |result| {
            let records = &result.records;
            let transactions = records.counters[counter as usize];
            let longest_ns = records.histograms[latency as usize].histogram().moments().max;
            let seconds = settle.counted_s(records);
            text(clients, bytes, transactions, seconds, longest_ns)
        }))
    }
}

fn text(clients: u64, bytes: f64, transactions: u64, seconds: f64, longest_ns: u64) -> String {
    format!(
        "{transactions} transactions, {:.2} per second\n\
         \n\
         Throughput {} MB/sec  {clients} clients  {clients} procs  max_latency={:.3} ms\n",
        transactions as f64 / seconds,
        general(transactions as f64 * bytes / seconds / 1e6),
        longest_ns as f64 / 1e6,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_that_of_tbench() {
        let text = text(4, 200.0, 1_234_567, 2.0, 1_234_567);
        assert_eq!(
            text.lines().last(),
            Some("Throughput 123.457 MB/sec  4 clients  4 procs  max_latency=1.235 ms")
        );
        assert_eq!(text.lines().next(), Some("1234567 transactions, 617283.50 per second"));
    }
}
