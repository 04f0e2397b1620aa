//! The records of one complete run, each in its place.
//!
//! A record for a CPU or task that does not exist, a second one for the same, or a distribution
//! whose buckets do not add up is a fault of its own: its checksum was right, so something
//! wrote it wrongly, and no number of that run can be trusted.

use abi::{
    Histogram,
    histogram::Moments,
    record::{
        Balance, Candidate, Cpu, Domain, Held, Machine, Measure, Moves, Pick, Record, Task, Total,
        Wait, Wakeups,
    },
};

/// Why records do not make a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectError {
    /// Not there.
    #[error("there is no `@{kind}` record of {kind} {number}")]
    Missing {
        /// Kind of record.
        kind: &'static str,
        /// Whose.
        number: usize,
    },
    /// There is only one of these, and it is not there.
    #[error("there is no `@{0}` record")]
    MissingOnly(&'static str),
    /// There twice.
    #[error("there are two `@{kind}` records of number {number}")]
    Twice {
        /// Kind of record.
        kind: &'static str,
        /// Whose.
        number: u32,
    },
    /// Of something that does not exist.
    #[error("a `@{kind}` record names number {number}, the last one is {last}")]
    NoSuch {
        /// Kind of record.
        kind: &'static str,
        /// The number it names.
        number: u32,
        /// The last that exists.
        last: usize,
    },
    /// Buckets do not add up to the count.
    #[error(
        "distribution {of} of number {owner} has {counted} values and {in_buckets} in its buckets"
    )]
    Buckets {
        /// Which distribution.
        of: &'static str,
        /// Whose.
        owner: u32,
        /// By its moments.
        counted: u64,
        /// By its buckets.
        in_buckets: u64,
    },
    /// A bucket that no histogram has.
    #[error("distribution {of} of number {owner} has no bucket {bucket}")]
    NoSuchBucket {
        /// Which distribution.
        of: &'static str,
        /// Whose.
        owner: u32,
        /// The bucket.
        bucket: u32,
    },
}

/// A distribution that takes no memory until it has a value.
#[derive(Clone, Debug, Default)]
pub struct Distribution(Option<Box<Histogram>>);

static NO_VALUES: Histogram = Histogram::EMPTY;

impl Distribution {
    /// The values.
    pub fn histogram(&self) -> &Histogram {
        self.0.as_deref().unwrap_or(&NO_VALUES)
    }

    /// Adds the values of another distribution.
    pub fn merge(&mut self, other: &Self) {
        if let Some(other) = &other.0 {
            self.make().merge(other);
        }
    }

    fn make(&mut self) -> &mut Histogram {
        self.0.get_or_insert_with(|| Box::new(Histogram::EMPTY))
    }
}

/// One CPU's part of a run.
#[derive(Clone, Debug)]
pub struct CpuRecords {
    /// Its counters.
    pub counters: Cpu,
    /// What it did to even out load.
    pub balance: Balance,
    /// The same by scheduling domain, of those in which it did anything.
    pub domains: Vec<Domain>,
    /// The wake-ups it made.
    pub wakeups: Wakeups,
    /// From tick to tick, ns.
    pub tick_interval: Distribution,
    /// What a tick took that nobody was switched at, ns.
    pub tick_cost: Distribution,
    /// How late timer events were handled, ns.
    pub timer_late: Distribution,
}

/// One task's part of a run.
#[derive(Clone, Debug)]
pub struct TaskRecords {
    /// Its counters.
    pub counters: Task,
    /// Lengths of its stints, ns.
    pub stint: Distribution,
    /// Ticks seen in each stint.
    pub stint_ticks: Distribution,
    /// From wake-up to running, ns.
    pub wakeup_latency: Distribution,
}

/// Everything a guest reports.
#[derive(Clone, Debug)]
pub struct Records {
    /// The machine as the guest found it.
    pub machine: Machine,
    /// By CPU number.
    pub cpus: Vec<CpuRecords>,
    /// In the order of the scenario.
    pub tasks: Vec<TaskRecords>,
    /// By the workload's counters.
    pub counters: Vec<u64>,
    /// By the workload's histograms.
    pub histograms: Vec<Distribution>,
    /// Tasks that wait for others at the end.
    pub waits: Vec<Wait>,
    /// Mutexes that are held at the end.
    pub held: Vec<Held>,
    /// Explained decisions, each CPU's in the order of time.
    pub decisions: Vec<Decision>,
    /// Why tasks moved between CPUs.
    pub moves: Moves,
    /// The run as a whole.
    pub total: Total,
}

/// A decision and those among whom it was made.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Who was chosen, when and why.
    pub pick: Pick,
    /// All that were queued, the running task included.
    pub candidates: Vec<Candidate>,
}

/// Counters and distributions of one CPU or task while they arrive.
#[derive(Clone)]
struct Slot<C, const N: usize> {
    counters: Option<C>,
    measures: [Distribution; N],
}

impl<C, const N: usize> Slot<C, N> {
    fn empty(count: usize) -> Vec<Self> {
        (0..count)
            .map(|_| Self {
                counters: None,
                measures: std::array::from_fn(|_| Distribution::default()),
            })
            .collect()
    }

    fn put(
        slots: &mut [Self],
        kind: &'static str,
        number: u32,
        record: C,
    ) -> Result<(), CollectError> {
        let slot = find(slots, kind, number)?;
        match slot.counters.replace(record) {
            None => Ok(()),
            Some(_) => Err(CollectError::Twice { kind, number }),
        }
    }

    fn finish(
        self,
        kind: &'static str,
        number: usize,
    ) -> Result<(C, [Distribution; N]), CollectError> {
        let counters = self.counters.ok_or(CollectError::Missing { kind, number })?;
        Ok((counters, self.measures))
    }
}

fn find<'a, T>(
    slots: &'a mut [T],
    kind: &'static str,
    number: u32,
) -> Result<&'a mut T, CollectError> {
    let last = slots.len().saturating_sub(1);
    slots.get_mut(number as usize).ok_or(CollectError::NoSuch { kind, number, last })
}

const CPU_MEASURES: [Measure; 3] = [Measure::TickInterval, Measure::TickCost, Measure::TimerLate];
const TASK_MEASURES: [Measure; 3] = [Measure::Stint, Measure::StintTicks, Measure::WakeupLatency];

/// How many of each a run reports.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// CPUs.
    pub cpus: usize,
    /// Tasks.
    pub tasks: usize,
    /// Counters of the programs.
    pub counters: usize,
    /// Histograms of the programs.
    pub histograms: usize,
}

impl Shape {
    /// What a scenario's guest reports.
    pub fn of(scenario: &abi::Scenario) -> Self {
        Self {
            cpus: scenario.cpus as usize,
            tasks: scenario.tasks.len(),
            counters: scenario.resources.counters as usize,
            histograms: scenario.resources.histograms as usize,
        }
    }
}

/// Puts records into their places as they come.
pub(crate) struct Collector {
    machine: Option<Machine>,
    cpus: Vec<Slot<Cpu, { CPU_MEASURES.len() }>>,
    balances: Vec<Slot<Balance, 0>>,
    wakeups: Vec<Option<Wakeups>>,
    domains: Vec<Vec<Domain>>,
    tasks: Vec<Slot<Task, { TASK_MEASURES.len() }>>,
    counters: Vec<Option<u64>>,
    histograms: Vec<Distribution>,
    waits: Vec<Wait>,
    held: Vec<Held>,
    decisions: Vec<Decision>,
    moves: Option<Moves>,
    total: Option<Total>,
}

impl Collector {
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
            machine: None,
            cpus: Slot::empty(shape.cpus),
            balances: Slot::empty(shape.cpus),
            wakeups: vec![None; shape.cpus],
            domains: vec![Vec::new(); shape.cpus],
            tasks: Slot::empty(shape.tasks),
            counters: vec![None; shape.counters],
            histograms: vec![Distribution::default(); shape.histograms],
            waits: Vec::new(),
            held: Vec::new(),
            decisions: Vec::new(),
            moves: None,
            total: None,
        }
    }

    pub(crate) fn take(&mut self, record: Record) -> Result<(), CollectError> {
        match record {
            Record::Machine(machine) => only_one(&mut self.machine, "machine", machine),
            Record::Total(total) => only_one(&mut self.total, "total", total),
            Record::Moves(moves) => only_one(&mut self.moves, "moves", moves),
            Record::Balance(balance) => {
                Slot::put(&mut self.balances, "balance", balance.cpu, balance)
            }
            Record::Domain(domain) => {
                let domains = find(&mut self.domains, "domain", domain.cpu)?;
                if domains.iter().any(|known| known.domain == domain.domain) {
                    return Err(CollectError::Twice { kind: "domain", number: domain.domain });
                }
                domains.push(domain);
                Ok(())
            }
            Record::Cpu(cpu) => Slot::put(&mut self.cpus, "cpu", cpu.cpu, cpu),
            Record::Wakeups(wakeups) => {
                let place = find(&mut self.wakeups, "wakeups", wakeups.cpu)?;
                match place.replace(wakeups) {
                    None => Ok(()),
                    Some(_) => Err(CollectError::Twice { kind: "wakeups", number: wakeups.cpu }),
                }
            }
            Record::Task(task) => Slot::put(&mut self.tasks, "task", task.task, task),
            Record::Moments(moments) => {
                self.distribution(moments.of, moments.owner)?.make().add_moments(&Moments {
                    count: moments.count,
                    min: moments.min,
                    max: moments.max,
                    sum: moments.sum,
                    sum_of_squares: moments.sum_of_squares,
                });
                Ok(())
            }
            Record::Buckets(buckets) => {
                let histogram = self.distribution(buckets.of, buckets.owner)?.make();
                for &(bucket, count) in buckets.filled.as_slice() {
                    histogram.add_bucket(bucket as usize, count).ok_or(
                        CollectError::NoSuchBucket {
                            of: buckets.of.word(),
                            owner: buckets.owner,
                            bucket,
                        },
                    )?;
                }
                Ok(())
            }
            Record::Counter(counter) => {
                let place = find(&mut self.counters, "counter", counter.counter)?;
                match place.replace(counter.value) {
                    None => Ok(()),
                    Some(_) => {
                        Err(CollectError::Twice { kind: "counter", number: counter.counter })
                    }
                }
            }
            Record::Wait(wait) => {
                find(&mut self.tasks, "wait", wait.task)?;
                self.waits.push(wait);
                Ok(())
            }
            Record::Held(held) => {
                find(&mut self.tasks, "held", held.task)?;
                self.held.push(held);
                Ok(())
            }
            Record::Pick(pick) => {
                find(&mut self.cpus, "pick", pick.cpu)?;
                self.decisions.push(Decision { pick, candidates: Vec::new() });
                Ok(())
            }
            Record::Candidate(candidate) => {
                find(&mut self.tasks, "candidate", candidate.task)?;
                match self.decisions.last_mut() {
                    Some(decision) => {
                        decision.candidates.push(candidate);
                        Ok(())
                    }
                    None => Err(CollectError::MissingOnly("pick")),
                }
            }
            // The decoder deals with these: two end the run, the third is no part of the result.
            Record::Fail(_) | Record::End(_) | Record::Rings(_) => Ok(()),
        }
    }

    pub(crate) fn finish(self) -> Result<Records, CollectError> {
        let machine = self.machine.ok_or(CollectError::MissingOnly("machine"))?;
        let total = self.total.ok_or(CollectError::MissingOnly("total"))?;
        let moves = self.moves.ok_or(CollectError::MissingOnly("moves"))?;
        let mut cpus = Vec::with_capacity(self.cpus.len());
        let counted = self.wakeups.into_iter().zip(self.domains);
        let slots = self.cpus.into_iter().zip(self.balances).zip(counted).enumerate();
        for (number, ((slot, balance), (wakeups, domains))) in slots {
            let (counters, measures) = slot.finish("cpu", number)?;
            let wakeups = wakeups.ok_or(CollectError::Missing { kind: "wakeups", number })?;
            check_buckets(CPU_MEASURES, &measures, counters.cpu)?;
            let [tick_interval, tick_cost, timer_late] = measures;
            let (balance, []) = balance.finish("balance", number)?;
            cpus.push(CpuRecords {
                counters,
                balance,
                domains,
                wakeups,
                tick_interval,
                tick_cost,
                timer_late,
            });
        }
        let mut tasks = Vec::with_capacity(self.tasks.len());
        for (number, slot) in self.tasks.into_iter().enumerate() {
            let (counters, measures) = slot.finish("task", number)?;
            check_buckets(TASK_MEASURES, &measures, counters.task)?;
            let [stint, stint_ticks, wakeup_latency] = measures;
            tasks.push(TaskRecords { counters, stint, stint_ticks, wakeup_latency });
        }
        for Decision { pick, candidates } in &self.decisions {
            if candidates.len() != pick.candidates as usize {
                return Err(CollectError::Missing { kind: "candidate", number: candidates.len() });
            }
        }
        let counters =
            self.counters.into_iter().enumerate().map(|(number, value)| {
                value.ok_or(CollectError::Missing { kind: "counter", number })
            });
        for (owner, histogram) in (0..).zip(&self.histograms) {
            check_buckets([Measure::Measured], std::slice::from_ref(histogram), owner)?;
        }
        Ok(Records {
            machine,
            cpus,
            tasks,
            counters: counters.collect::<Result<_, _>>()?,
            histograms: self.histograms,
            waits: self.waits,
            held: self.held,
            decisions: self.decisions,
            moves,
            total,
        })
    }

    fn distribution(&mut self, of: Measure, owner: u32) -> Result<&mut Distribution, CollectError> {
        if of == Measure::Measured {
            return find(&mut self.histograms, of.word(), owner);
        }
        let place = |list: &[Measure]| list.iter().position(|&measure| measure == of);
        match (place(&CPU_MEASURES), place(&TASK_MEASURES)) {
            (Some(at), _) => Ok(&mut find(&mut self.cpus, of.word(), owner)?.measures[at]),
            (_, Some(at)) => Ok(&mut find(&mut self.tasks, of.word(), owner)?.measures[at]),
            (None, None) => unreachable!("every measure belongs to a CPU or a task"),
        }
    }
}

fn only_one<T>(place: &mut Option<T>, kind: &'static str, record: T) -> Result<(), CollectError> {
    match place.replace(record) {
        None => Ok(()),
        Some(_) => Err(CollectError::Twice { kind, number: 0 }),
    }
}

fn check_buckets<const N: usize>(
    measures: [Measure; N],
    distributions: &[Distribution],
    owner: u32,
) -> Result<(), CollectError> {
    for (of, distribution) in measures.into_iter().zip(distributions) {
        let histogram = distribution.histogram();
        let (counted, in_buckets) = (histogram.moments().count, histogram.bucket_total());
        if counted != in_buckets {
            return Err(CollectError::Buckets { of: of.word(), owner, counted, in_buckets });
        }
    }
    Ok(())
}
