//! schbench: message threads that hand requests to workers.
//!
//! A worker asks its message thread for a request and waits; once woken it thinks (sleeps), then
//! computes with a lock of the CPU it is on, so that whoever preempts it there pays.

use super::{
    Built, Machine, Mix, check_tasks, linux,
    options::{length, seconds, time, within},
    percentiles::{LATENCY, RATE, Samples},
    pins::{self, Pins},
    sequence::Sequence,
};
use crate::{
    error::Refusal,
    records::Records,
    workload::{Better, Reading, Stat, Workload},
};
use abi::{CpuSet, Op, program::Since};
use clap::Args;

const DEFAULT_NS: u64 = 30_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// CPU time of one operation with a footprint of 256 KB: schbench's README has 16 864 us for
/// five.
const OPERATION_NS: f64 = 3_372_800.0;
const FOOTPRINT_KB: f64 = 256.0;

/// schbench: message threads hand requests to workers, which sleep and compute
#[derive(Args, Debug)]
pub(super) struct Schbench {
    /// Message threads
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = within(1..=20_000u64))]
    message_threads: u64,
    /// Workers of each message thread [default: the CPUs divided by the message threads]
    #[arg(short, long, value_name = "N", value_parser = within(1..=20_000u64))]
    threads: Option<u64>,
    /// Length of the run: seconds, or a time such as 500ms [default: --duration, or 30]
    #[arg(short, long, value_name = "TIME", value_parser = seconds)]
    runtime: Option<u64>,
    /// Matrices that a request multiplies
    #[arg(short = 'n', long, value_name = "N", default_value = "5", value_parser = within(0..=1_000_000u64))]
    operations: u64,
    /// Size of a matrix in KB; an operation takes 3.373ms at 256, as in schbench's README, and
    /// the time of a multiplication at other sizes
    #[arg(short = 'F', long, value_name = "KB", default_value = "256", value_parser = within(1..=1_000_000u64))]
    cache_footprint: u64,
    /// Think time of a request before it computes, us
    #[arg(short, long, value_name = "US", default_value = "100", value_parser = within(0..=3_600_000_000u64))]
    sleep_usec: u64,
    /// Compute without the lock of the CPU
    #[arg(short = 'L', long)]
    no_locking: bool,
    /// Time the computing alone: no locks, no think time in request latencies
    #[arg(short = 'C', long)]
    calibrate: bool,
    /// Pin each message thread to one of these CPUs in turn, such as 0-3,8; `auto` gives each a
    /// CPU of its own and the workers the others
    #[arg(short = 'M', long, value_name = "CPUS", value_parser = pins::read)]
    message_cpus: Option<Pins>,
    /// Pin workers to these CPUs, or `auto`
    #[arg(short = 'W', long, value_name = "CPUS", value_parser = pins::read)]
    worker_cpus: Option<Pins>,
    /// Accepted; only the end is printed here
    #[arg(short, long, value_name = "S", hide = true)]
    intervaltime: Option<u64>,
    /// Print wake-up latencies alone, as schbench did before 2023
    #[arg(long)]
    old: bool,
    /// What posting and waiting cost, each [default: 775ns, Linux 6.12's half of a pipe's write
    /// and read, at an instruction a nanosecond; a futex was not measured]
    #[arg(long, value_name = "TIME", value_parser = time)]
    op_cost: Option<u64>,
}

/// What a run measures.
#[derive(Clone, Copy, Debug)]
struct Figures {
    requests: u32,
    wakeups: u32,
    latencies: u32,
    rates: u32,
}

impl Mix for Schbench {
    const NAME: &'static str = "schbench";
    const ABOUT: &'static str = "message threads hand requests to workers (schbench)";

    fn build(self, machine: &Machine, load: &mut Workload) -> Result<Built, Refusal> {
        let messengers = self.message_threads;
        let workers = self.threads.unwrap_or(u64::from(machine.cpus).div_ceil(messengers));
        check_tasks("-t", workers, 1 + messengers * (1 + workers))?;
        let duration_ns = length("-r", self.runtime, machine, DEFAULT_NS)?;
        let (message_cpus, worker_cpus) =
            pins::resolve(self.message_cpus, self.worker_cpus, self.message_threads, machine.cpus)?;
        let figures = Figures {
            requests: load.shared.counter(),
            wakeups: load.shared.histogram(),
            latencies: load.shared.histogram(),
            rates: load.shared.histogram(),
        };
        let first_lock = (0..machine.cpus)
            .map(|cpu| load.shared.mutex(format!("of cpu{cpu}")))
            .min()
            .unwrap_or(0);
        let op_cost_ns = self.op_cost.unwrap_or_else(linux::pipe_operation_ns);

        load.add("main".into(), counts_each_second(figures));
        for number in 0..messengers {
            let asked = load.shared.semaphore(format!("requests to message{number}"));
            let handed = load.shared.semaphore(format!("answers of message{number}"));
            let mut program = Sequence::new(op_cost_ns);
            program.forever(|body| {
                body.then(Op::SemWait(asked)).call(Op::SemPost(handed));
            });
            let task = load.add(format!("message{number}"), program.program());
            task.pin =
                message_cpus.as_ref().map(|cpus| CpuSet::only(cpus[number as usize % cpus.len()]));
            for worker in 0..workers {
                let begins = load.shared.mark();
                let mut program = Sequence::new(op_cost_ns);
                program.forever(|body| {
                    self.request(body, [asked, handed], begins, first_lock, figures);
                });
                let task = load.add(format!("worker{number}.{worker}"), program.program());
                task.pin = worker_cpus;
            }
        }
        add_metrics(load, figures);
        let old = self.old;
        Ok(Built::time(duration_ns, move |result| text(&result.records, figures, duration_ns, old)))
    }
}

impl Schbench {
    /// One request of a worker.
    fn request(
        &self,
        body: &mut Sequence,
        [asked, handed]: [u32; 2],
        begins: u32,
        first_lock: u32,
        figures: Figures,
    ) {
        let measure = |since, histogram| Op::Measure { since, histogram };
        body.call(Op::SemPost(asked)).then(Op::SemWait(handed));
        // From the message thread's answer on, as schbench has it.
        body.then(measure(Since::Wakeup, figures.wakeups));
        if !self.calibrate {
            body.then(Op::Mark(begins));
        }
        if self.sleep_usec > 0 {
            body.call(Op::Sleep(self.sleep_usec * 1_000));
        }
        if self.calibrate {
            body.then(Op::Mark(begins));
        }
        let locks = self.operations > 0 && !self.no_locking && !self.calibrate;
        if locks {
            body.then(Op::LockThisCpu(first_lock));
        }
        body.run(self.work_ns());
        if locks {
            body.then(Op::UnlockThisCpu);
        }
        body.then(measure(Since::Mark(begins), figures.latencies));
        body.then(Op::Count { counter: figures.requests, by: 1 });
    }

    /// CPU time of a request: a multiplication takes the third power of a matrix's edge, its
    /// size is the second.
    fn work_ns(&self) -> u64 {
        let edge = (self.cache_footprint as f64 / FOOTPRINT_KB).sqrt();
        (OPERATION_NS * edge.powi(3) * self.operations as f64).round() as u64
    }
}

/// The main thread: looks once a second how many requests there were.
fn counts_each_second(figures: Figures) -> Vec<Op> {
    let mut program = Sequence::new(0);
    program.forever(|body| {
        body.then(Op::Sleep(SECOND_NS));
        body.then(Op::Sample { counter: figures.requests, histogram: figures.rates });
    });
    program.program()
}

fn add_metrics(load: &mut Workload, figures: Figures) {
    let Figures { requests, wakeups, latencies, .. } = figures;
    for (what, histogram) in [("wakeup_latency", wakeups), ("request_latency", latencies)] {
        for (name, stat) in
            [("p50", Stat::P50), ("p90", Stat::P90), ("p99", Stat::P99), ("p999", Stat::P999)]
        {
            let reading = Reading::Histogram(histogram, stat);
            load.measure(format!("{what}_{name}"), "us", Better::Lower, reading, 1e3);
        }
    }
    load.measure("requests", "requests", Better::Higher, Reading::Counter(requests), 1.0);
    load.measure("average_rps", "requests/s", Better::Higher, Reading::Rate(requests), 1.0);
}

fn text(records: &Records, figures: Figures, duration_ns: u64, old: bool) -> String {
    let histogram = |number: u32| records.histograms[number as usize].histogram();
    let wakeups = Samples::of(histogram(figures.wakeups), 1_000);
    if old {
        return wakeups.old_block();
    }
    let latencies = Samples::of(histogram(figures.latencies), 1_000);
    let requests = records.counters[figures.requests as usize];
    let sampled = histogram(figures.rates);
    let mut rates = Samples::of(sampled, 1);
    let seconds = duration_ns / SECOND_NS;
    // The run ends with its last second: what was not sampled came in it.
    if duration_ns.is_multiple_of(SECOND_NS) && sampled.moments().count < seconds {
        rates.add(requests - sampled.moments().sum as u64);
    }
    let mut text = wakeups.block("Wakeup Latencies", "usec", seconds, LATENCY);
    text += &latencies.block("Request Latencies", "usec", seconds, LATENCY);
    text += &rates.block("RPS", "requests", seconds, RATE);
    let average = requests as f64 / (records.total.elapsed_ns as f64 / 1e9);
    text + &format!("average rps: {average:.2}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mixes::options::parse;

    fn schbench(options: &[&str]) -> Schbench {
        let options: Vec<_> = options.iter().map(|&option| option.to_owned()).collect();
        parse(&options).expect("fine")
    }

    #[test]
    fn workers_are_as_many_as_cpus_unless_told() {
        let tasks = |options: &[&str], cpus| {
            let mut load = Workload::default();
            let machine = Machine { cpus, ..Machine::small() };
            schbench(options).build(&machine, &mut load).expect("fine");
            load.tasks().len()
        };
        assert_eq!(tasks(&[], 4), 1 + 1 + 4);
        assert_eq!(tasks(&["-m", "2"], 3), 1 + 2 * (1 + 2));
        assert_eq!(tasks(&["-m", "2", "-t", "16"], 4), 1 + 2 * 17);
    }

    #[test]
    fn auto_gives_message_threads_cpus_of_their_own() {
        let mut load = Workload::default();
        let machine = Machine { cpus: 3, ..Machine::small() };
        schbench(&["-m", "1", "-t", "1", "-M", "auto"]).build(&machine, &mut load).expect("fine");
        let pins: Vec<_> = load.tasks().iter().map(|task| task.pin).collect();
        assert_eq!(pins, [None, Some(CpuSet::only(0)), Some((1..3).collect())]);
    }

    #[test]
    fn a_larger_footprint_takes_longer() {
        assert_eq!(schbench(&[]).work_ns(), 16_864_000);
        assert_eq!(schbench(&["-n", "1", "-F", "1024"]).work_ns(), 26_982_400);
        assert_eq!(schbench(&["-n", "0"]).work_ns(), 0);
    }
}
