//! What schbench prints of a run: percentiles and rates, or its JSON.

use super::super::percentiles::{ALL, LATENCY, RATE, Samples};
use super::{Figures, SECOND_NS, Schbench};
use crate::{experiment::RunResult, records::Records};
use serde_json::{Map, Value, json};

/// How a run is printed.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) figures: Figures,
    pub(super) duration_ns: u64,
    /// How many seconds of it, the last ones, are in the distributions.
    pub(super) kept_s: u64,
    pub(super) workers: u64,
    pub(super) options: Schbench,
}

impl Output {
    pub(super) fn print(&self, result: &RunResult) -> String {
        let records = &result.records;
        let wakeups = self.samples(records, self.figures.wakeups, 1_000);
        if self.options.json.is_some() {
            return self.json(result, &wakeups);
        }
        if self.options.old {
            return wakeups.old_block();
        }
        let seconds = self.duration_ns / SECOND_NS;
        if let Some(bytes) = self.options.pipe {
            return wakeups.block("Wakeup Latencies", "usec", seconds, ALL)
                + &self.transfer(records, bytes);
        }
        let latencies = self.samples(records, self.figures.latencies, 1_000);
        let mut text = wakeups.block("Wakeup Latencies", "usec", seconds, LATENCY);
        text += &latencies.block("Request Latencies", "usec", seconds, LATENCY);
        text += &self.rates(records).block("RPS", "requests", seconds, RATE);
        let requests = records.counters[self.figures.requests as usize];
        let average = requests as f64 / (records.total.elapsed_ns as f64 / 1e9);
        text += &format!("average rps: {average:.2}\n");
        let delay = |role| mean_delay_ns(result, role) / 1_000;
        text += &format!(
            "sched delay: message {} (usec) worker {} (usec)\n",
            delay("message"),
            delay("worker")
        );
        text
    }

    fn samples(&self, records: &Records, histogram: u32, unit: u64) -> Samples {
        Samples::of(records.histograms[histogram as usize].histogram(), unit)
    }

    /// Requests of each second.
    fn rates(&self, records: &Records) -> Samples {
        let moments =
            |histogram: u32| *records.histograms[histogram as usize].histogram().moments();
        let sampled = moments(self.figures.rates);
        let mut rates = self.samples(records, self.figures.rates, 1);
        // The run ends with its last second: what was not sampled came in it.
        if self.duration_ns.is_multiple_of(SECOND_NS) && sampled.count < self.kept_s {
            rates.add(moments(self.figures.latencies).count - sampled.sum as u64);
        }
        rates
    }

    /// What a worker transfers on average in pipe mode.
    fn transfer(&self, records: &Records, bytes: u64) -> String {
        let round_trips = records.counters[self.figures.requests as usize] as f64;
        let each = round_trips / (self.workers as f64 * records.total.elapsed_ns as f64 / 1e9);
        let mut size = each * bytes as f64;
        let mut units = ["B", "KB", "MB", "GB", "TB"].into_iter();
        let mut unit = units.next().unwrap_or_default();
        for larger in units {
            if size < 1024.0 {
                break;
            }
            (size, unit) = (size / 1024.0, larger);
        }
        format!("avg worker transfer: {each:.2} ops/sec {size:.2}{unit}/s\n")
    }

    /// The document of `-j`. What says when and where it was made is fixed, so that a run
    /// repeats.
    fn json(&self, result: &RunResult, wakeups: &Samples) -> String {
        let records = &result.records;
        let mut normal = Map::new();
        let mut is = |key: &str, value: &str| normal.insert(key.into(), value.into());
        is("version", &result.plan.scenario.rules.preset);
        if let Some(name) = &self.options.jobname {
            is("jobname", name);
        }
        is("hostname", "slicelab");
        is("sched_ext", "disabled");
        is("cmdline", "schbench");
        let mut numbers = Map::new();
        numbers.insert("time".into(), 0.into());
        let mut show = |label: &str, samples: &Samples| {
            for (percent, value) in samples.percentiles() {
                numbers.insert(format!("{label}_pct{percent:.1}"), value.into());
            }
            numbers.insert(format!("{label}_min"), samples.min().into());
            numbers.insert(format!("{label}_max"), samples.max().into());
        };
        show("wakeup_latency", wakeups);
        if self.options.pipe.is_none() {
            show("request_latency", &self.samples(records, self.figures.latencies, 1_000));
            show("rps", &self.rates(records));
        }
        numbers.insert("runtime".into(), (self.duration_ns / SECOND_NS).into());
        let document: Value = json!({ "normal": normal, "int": numbers });
        format!("{document}\n")
    }
}

/// How long threads whose name begins so waited for a CPU each time they got one, on average over
/// the threads, ns (`run_delay` by `pcount` of Linux's schedstat).
fn mean_delay_ns(result: &RunResult, role: &str) -> u64 {
    let tasks = result.plan.scenario.tasks.iter().zip(&result.records.tasks);
    let delays = tasks.filter(|(task, _)| task.name.starts_with(role)).map(|(_, task)| {
        let of = &task.counters;
        let turns = of.slice + of.preempt + of.block + of.yields + of.migrate + of.exit;
        of.run_delay_ns / turns.max(1)
    });
    let delays: Vec<u64> = delays.collect();
    delays.iter().sum::<u64>() / (delays.len() as u64).max(1)
}
