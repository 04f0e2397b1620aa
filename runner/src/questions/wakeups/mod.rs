//! `wakeups`: what did delayed dequeue, the fair deadline server and remote wake-ups do to
//! schbench?
//!
//! The threads: Chris Mason's report that `schbench -L -m 4 -M auto -t 128 -n 0 -r 60` lost 3 to
//! 6.5 % between 6.9 and 6.15, and Peter Zijlstra's patches that gain it back. No lock, no work:
//! what is measured is waking up alone. Message threads have a CPU each and hand out requests as
//! fast as they can wake workers, so that whatever makes waking dearer is seen at once.
//!
//! A kernel whose decisions take no time cannot lose any by them. The steps are measured on machine
//! models (`--model`), where locking another CPU's queue, interrupting it, looking at it or starting
//! a timer costs something; each step changes how often that is done, which CPUs count.

mod causes;
mod order;
mod published;
mod steps;
mod table;
mod words;

use super::{
    answer::{Answer, Sinks, expect},
    bench::{Bench, Counting, Noise, Reading},
    counts::{Count, Counted},
    matrix::{Matrix, Variant},
};
use crate::{
    cli::{Statistic, WakeupsArgs},
    compare::Sample,
    error::Error,
    expect::Expectation,
    model::Model,
    workload::Better,
};
use order::Order;
use published::Published;
use std::time::Instant;
use steps::STEPS;

/// The load of the thread for a machine of this size. There, four message threads have 128 workers
/// each on some 50 to 110 CPUs. Here, two have six CPUs full of workers: as many as keep them about
/// as busy as they can be, with answers quick enough that workers are still found delayed at times.
const CPUS: u32 = 8;
const MESSAGE_THREADS: u32 = 2;
const WORKERS: u32 = 72;
const LENGTH: &str = "20ms";

/// As beside other benchmarks: what makes one seed differ from another.
const NOISE: Noise = Noise { rate: 45.0 * CPUS as f64, run_ns: 20_000 };

const READINGS: &[Reading] = &[Reading {
    test: "schbench",
    units: "Normalized Requests per second",
    metric: "average_rps",
    statistic: Statistic::Mean,
}];

/// What a machine model gave.
struct Machine {
    /// What it is called.
    name: String,
    /// What it is set beside.
    published: Published,
    steps: [Measured; STEPS.len()],
}

/// One step on it.
struct Measured {
    /// Requests by the second, by those of the first step.
    requests: Sample,
    /// By request.
    counted: Option<Counted>,
}

/// Where something was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    /// On all CPUs.
    Everywhere,
    /// On those of message threads.
    Messengers,
}

/// Answers the question.
///
/// # Errors
/// What keeps everything from running, or an interrupt.
pub(crate) fn execute(arguments: &WakeupsArgs) -> Result<u8, Error> {
    let sinks = Sinks::prepare(&arguments.question)?;
    let host = arguments.question.host.host();
    let start = Instant::now();
    let variants: Vec<Variant> = arguments.model.iter().flat_map(variants).collect();
    let benches = [bench()];
    let matrix = Matrix::run("schbench", &variants, &benches, arguments.question.repeat, &host)?;
    let machines: Vec<Machine> =
        (0..).zip(&arguments.model).map(|(at, model)| Machine::of(model, at, &matrix)).collect();
    let answer = Answer {
        question: "wakeups",
        title: "What did delayed dequeue, the deadline server and remote wake-ups do to schbench?",
        cells: machines.iter().flat_map(table::cells).collect(),
        expectations: expectations(&machines),
        runs: matrix.verdict(),
        tables: table::text(&machines),
        words: words::answer(&machines),
        guest_ns: matrix.guest_ns(),
        losses: matrix.losses,
    };
    answer.tell(&arguments.question, sinks, start)
}

fn variants(model: &Model) -> impl Iterator<Item = Variant> {
    STEPS.iter().map(|step| Variant {
        name: format!("{}, {}", model.name, step.name),
        config: step.config(CPUS, model.costs),
    })
}

fn bench() -> Bench {
    let options = format!("-L -m {MESSAGE_THREADS} -M auto -t {WORKERS} -n 0 -r {LENGTH}");
    Bench {
        mix: "schbench",
        case: "schbench".into(),
        options: options.split(' ').map(String::from).collect(),
        // Message threads have the first CPUs to themselves.
        counting: Some(Counting {
            rate: "average_rps",
            first_cpus: MESSAGE_THREADS as usize,
            settle_ns: 0,
        }),
        readings: READINGS,
        noise: Some(NOISE),
    }
}

impl Machine {
    /// The model with that number.
    fn of(model: &Model, at: usize, matrix: &Matrix<'_>) -> Self {
        let requests: [Sample; STEPS.len()] = std::array::from_fn(|step| {
            let figures = matrix.figures(at * STEPS.len() + step);
            Sample::of(&figures[0].values, Statistic::Mean)
        });
        let measured = |step: usize| Measured {
            requests: requests[step].against(&requests[0], Some(Better::Higher)),
            counted: matrix.counted(at * STEPS.len() + step, 0),
        };
        Self {
            name: model.name.clone(),
            published: Published::beside(&model.name),
            steps: std::array::from_fn(measured),
        }
    }

    /// A count of a step, by request; no number where nothing ran.
    fn count(&self, step: usize, at: Where, count: Count) -> f64 {
        let Some(counted) = self.steps[step].counted else { return f64::NAN };
        match at {
            Where::Everywhere => counted.all[count],
            Where::Messengers => counted.first[count],
        }
    }
}

/// What the thread says, as something that holds or not: the order on one model at least, and on
/// every model that each step does what it is for.
fn expectations(machines: &[Machine]) -> Vec<Expectation> {
    let orders: Vec<Order> = machines.iter().map(Order::of).collect();
    let words = machines.iter().zip(&orders);
    let words = words.map(|(machine, order)| format!("{}: {}", machine.name, order.words()));
    let order = expect(
        "steps that published spreads tell apart",
        "in the published order, on one model at least",
        words.collect::<Vec<_>>().join("; "),
        orders.iter().any(Order::holds),
    );
    [order].into_iter().chain(causes::expectations(machines)).collect()
}
