//! schbench: message threads that hand requests to workers.
//!
//! A worker asks its message thread for a request and waits; once woken it thinks (sleeps), then
//! computes with a lock of the CPU it is on, so that whoever preempts it there pays.

mod output;
mod rate;

use super::{
    Built, Machine, Mix, check_tasks, linux,
    options::{length, seconds, time, within},
    pins::{self, Pins},
    sequence::Sequence,
};
use crate::{
    error::Refusal,
    units,
    workload::{Better, Reading, Stat, Workload},
};
use abi::{CpuSet, Op, Program, program::Since};
use clap::Args;
use output::Output;

const DEFAULT_NS: u64 = 30_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// The largest of schbench's transfers.
const PIPE_TRANSFER_BUFFER: u64 = 1 << 20;
/// CPU time of one operation with a footprint of 256 KB: schbench's README has 16 864 us for
/// five.
const OPERATION_NS: f64 = 3_372_800.0;
const FOOTPRINT_KB: f64 = 256.0;

/// schbench: message threads hand requests to workers, which sleep and compute
#[derive(Args, Clone, Debug)]
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
    /// Hand out so many requests a second instead of one whenever a worker asks
    #[arg(short = 'R', long, value_name = "N", value_parser = within(1..=1_000_000u64))]
    rps: Option<u64>,
    /// Seconds after which distributions begin anew
    #[arg(short, long, value_name = "S", default_value = "0", value_parser = within(0..=1_000_000u64))]
    warmuptime: u64,
    /// Begin distributions anew every so many seconds, so that those of the last ones remain; 0
    /// for never
    #[arg(short, long, value_name = "S", default_value = "0", value_parser = within(0..=1_000_000u64))]
    zerotime: u64,
    /// Pipe test: no requests, but so many bytes to and fro, whose copying takes no time here
    #[arg(short, long, value_name = "BYTES", value_parser = within(1..=PIPE_TRANSFER_BUFFER))]
    pipe: Option<u64>,
    /// Print schbench's JSON instead; only to stdout, `-`
    #[arg(short, long, value_name = "FILE", conflicts_with = "old")]
    json: Option<String>,
    /// A name in that JSON
    #[arg(short = 'J', long, value_name = "NAME", requires = "json")]
    jobname: Option<String>,
    /// Refused: it steers the rate by how busy the machine is
    #[arg(short = 'A', long, value_name = "PCT", hide = true)]
    auto_rps: Option<String>,
    /// Refused: -M and -W say which CPUs
    #[arg(short = 'P', long, value_name = "HOW", hide = true)]
    pin: Option<String>,
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
        self.refuse_what_is_not_here()?;
        let messengers = self.message_threads;
        let workers = self.threads.unwrap_or(u64::from(machine.cpus).div_ceil(messengers));
        check_tasks("-t", workers, 1 + messengers * (1 + workers))?;
        let duration_ns = length("-r", self.runtime, machine, DEFAULT_NS)?;
        let kept_s = self.kept_s(duration_ns)?;
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

        load.add("main".into(), self.counts_each_second(figures));
        for number in 0..messengers {
            let (messenger, waits) = self.hand_out(load, number, workers, op_cost_ns)?;
            load.add(format!("message{number}"), messenger).pin =
                message_cpus.as_ref().map(|cpus| CpuSet::only(cpus[number as usize % cpus.len()]));
            for (worker, wait) in waits.into_iter().enumerate() {
                let begins = load.shared.mark();
                let mut program = Sequence::new(op_cost_ns);
                program.forever(|body| {
                    if let Some(asked) = wait.asks {
                        body.call(Op::SemPost(asked));
                    }
                    body.then(Op::SemWait(wait.handed));
                    // From the message thread's answer on, as schbench has it.
                    let (since, histogram) = (Since::Wakeup, figures.wakeups);
                    body.then(Op::Measure { since, histogram });
                    if self.pipe.is_none() {
                        self.request(body, begins, first_lock, figures);
                    }
                    body.then(Op::Count { counter: figures.requests, by: 1 });
                });
                let task = load.add(format!("worker{number}.{worker}"), program.program());
                task.pin = worker_cpus;
            }
        }
        self.add_metrics(load, figures);
        let workers = messengers * workers;
        let output = Output { figures, duration_ns, kept_s, workers, options: self };
        Ok(Built::time(duration_ns, move |result| output.print(result)))
    }
}

/// How a worker gets its requests.
#[derive(Clone, Copy, Debug)]
struct Wait {
    /// What it asks its message thread with, if it asks.
    asks: Option<u32>,
    /// What it waits for.
    handed: u32,
}

impl Schbench {
    fn refuse_what_is_not_here(&self) -> Result<(), Refusal> {
        if let Some(target) = &self.auto_rps {
            let reason = "the rate cannot be steered by how busy the machine is; set it with -R";
            return Err(Refusal::new("-A", target, reason));
        }
        if let Some(how) = &self.pin {
            let reason = "CPUs are not pinned to by chiplet here; name them with -M and -W";
            return Err(Refusal::new("-P", how, reason));
        }
        if let Some(file) = self.json.as_ref().filter(|file| *file != "-") {
            let reason = "a mix prints to stdout only; use -j - with --quiet, and redirect it";
            return Err(Refusal::new("-j", file, reason));
        }
        if let (Some(rate), Some(bytes)) = (self.rps, self.pipe) {
            let reason = format!("a pipe test (-p {bytes}) has no requests; give one of them");
            return Err(Refusal::new("-R", rate, reason));
        }
        Ok(())
    }

    /// Of how many seconds, the last ones, the distributions are.
    fn kept_s(&self, duration_ns: u64) -> Result<u64, Refusal> {
        if self.warmuptime > 0 && self.warmuptime * SECOND_NS >= duration_ns {
            let reason = format!(
                "leaves nothing of the {} of the run; raise -r",
                units::exact_unsigned(duration_ns)
            );
            return Err(Refusal::new("-w", self.warmuptime, reason));
        }
        let warm = duration_ns / SECOND_NS - self.warmuptime;
        Ok(match self.zerotime {
            0 => warm,
            // What would begin as the run ends does not.
            zero if duration_ns.is_multiple_of(SECOND_NS) && warm > 0 => (warm - 1) % zero + 1,
            zero => warm % zero,
        })
    }

    /// The program of a message thread, and how its workers get what it hands out.
    fn hand_out(
        &self,
        load: &mut Workload,
        number: u64,
        workers: u64,
        op_cost_ns: u64,
    ) -> Result<(Program, Vec<Wait>), Refusal> {
        let Some(rate) = self.rps else {
            let asked = load.shared.semaphore(format!("requests to message{number}"));
            let handed = load.shared.semaphore(format!("answers of message{number}"));
            let mut program = Sequence::new(op_cost_ns);
            program.forever(|body| {
                body.then(Op::SemWait(asked)).call(Op::SemPost(handed));
            });
            let wait = Wait { asks: Some(asked), handed };
            return Ok((program.program(), vec![wait; workers as usize]));
        };
        let each = rate / self.message_threads;
        if each == 0 {
            let reason = format!("is none for each of {} message threads", self.message_threads);
            return Err(Refusal::new("-R", rate, reason));
        }
        let queue = |worker| format!("requests of worker{number}.{worker}");
        let queues: Vec<u32> =
            (0..workers).map(|worker| load.shared.semaphore(queue(worker))).collect();
        let timer = load.shared.timer();
        let program = rate::hands_out(each, &queues, timer, op_cost_ns)?;
        let waits = queues.into_iter().map(|handed| Wait { asks: None, handed });
        Ok((program, waits.collect()))
    }

    /// One request of a worker.
    fn request(&self, body: &mut Sequence, begins: u32, first_lock: u32, figures: Figures) {
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
        let (since, histogram) = (Since::Mark(begins), figures.latencies);
        body.then(Op::Measure { since, histogram });
    }

    /// CPU time of a request: a multiplication takes the third power of a matrix's edge, its
    /// size is the second.
    fn work_ns(&self) -> u64 {
        let edge = (self.cache_footprint as f64 / FOOTPRINT_KB).sqrt();
        (OPERATION_NS * edge.powi(3) * self.operations as f64).round() as u64
    }

    /// The main thread: looks once a second how many requests there were, and lets distributions
    /// begin anew.
    fn counts_each_second(&self, figures: Figures) -> Program {
        let Figures { requests, wakeups, latencies, rates } = figures;
        let pass = |body: &mut Sequence, seconds: u64| {
            body.times(seconds, |body| {
                body.then(Op::Sleep(SECOND_NS));
                body.then(Op::Sample { counter: requests, histogram: rates });
            });
        };
        let zero = |body: &mut Sequence| {
            body.then(Op::Clear(wakeups)).then(Op::Clear(latencies)).then(Op::Clear(rates));
        };
        let mut program = Sequence::new(0);
        if self.warmuptime > 0 {
            pass(&mut program, self.warmuptime);
            zero(&mut program);
        }
        program.forever(|body| {
            pass(body, self.zerotime.max(1));
            if self.zerotime > 0 {
                zero(body);
            }
        });
        program.program()
    }

    fn add_metrics(&self, load: &mut Workload, figures: Figures) {
        let Figures { requests, wakeups, latencies, .. } = figures;
        let mut measured = vec![("wakeup_latency", wakeups)];
        if self.pipe.is_none() {
            measured.push(("request_latency", latencies));
        }
        for (what, histogram) in measured {
            for (name, stat) in
                [("p50", Stat::P50), ("p90", Stat::P90), ("p99", Stat::P99), ("p999", Stat::P999)]
            {
                let reading = Reading::Histogram(histogram, stat);
                load.measure(format!("{what}_{name}"), "us", Better::Lower, reading, 1e3);
            }
        }
        let [count, unit, rate, per_s] = match self.pipe {
            None => ["requests", "requests", "average_rps", "requests/s"],
            Some(_) => ["transfers", "transfers", "transfers_per_s", "transfers/s"],
        };
        load.measure(count, unit, Better::Higher, Reading::Counter(requests), 1.0);
        load.measure(rate, per_s, Better::Higher, Reading::Rate(requests), 1.0);
    }
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
    fn distributions_are_of_what_was_not_forgotten() {
        let kept = |options: &[&str], ms: u64| schbench(options).kept_s(ms * 1_000_000).ok();
        assert_eq!(kept(&[], 10_000), Some(10));
        assert_eq!(kept(&["-w", "3"], 10_000), Some(7));
        assert_eq!(kept(&["-w", "10"], 10_000), None);
        // Begun anew at 7 s; with a whole number of intervals not as the run ends.
        assert_eq!(kept(&["-w", "3", "-z", "4"], 10_000), Some(3));
        assert_eq!(kept(&["-z", "5"], 10_000), Some(5));
        assert_eq!(kept(&["-z", "20"], 10_000), Some(10));
        assert_eq!(kept(&["-z", "5"], 10_500), Some(0));
    }

    #[test]
    fn a_larger_footprint_takes_longer() {
        assert_eq!(schbench(&[]).work_ns(), 16_864_000);
        assert_eq!(schbench(&["-n", "1", "-F", "1024"]).work_ns(), 26_982_400);
        assert_eq!(schbench(&["-n", "0"]).work_ns(), 0);
    }
}
