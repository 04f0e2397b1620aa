//! What a real Linux did: the rows of `data/linux` that can be set beside a run here.

use eevdf::{Feature, Preset};
use serde::Deserialize;

const TABLE: &str = include_str!("../../../data/linux/table.csv");

/// Tables were made with several; only under this one does an instruction last 8 ns.
const ICOUNT_SHIFT: Option<u32> = Some(3);
/// Rarer and more frequent wake-ups were measured too; one rate says how wake-ups cut stints.
const NOISE_HZ: [u32; 2] = [0, 45];

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reference {
    /// The name of the run in the data.
    pub run: String,
    /// The kernel, such as `6.12.117`.
    pub kernel: String,
    /// Its rules.
    pub preset: Preset,
    /// Features that were switched against their defaults.
    pub features: Vec<(Feature, bool)>,
    /// Ticks per second.
    pub hz: u32,
    /// The base slice.
    pub base_slice_ns: u64,
    /// Whether interrupts were nobody's run time.
    pub irq_time_accounting: bool,
    /// How often the background task was told to wake, if there was one.
    pub wakeups_per_s: Option<u32>,
    /// Processes that spin.
    pub hogs: usize,
    /// Length of the measurement.
    pub seconds: f64,
    /// Average time of a run until the next switch.
    pub avg_run_ms: f64,
    /// Switches of the processes that spin.
    pub switches: u64,
}

/// A line of the table, as far as it matters.
#[derive(Deserialize)]
struct Line {
    run: String,
    build: String,
    icount_shift: Option<u32>,
    irqtime: String,
    feats: String,
    smp: u32,
    kernel: String,
    hz: u32,
    base_slice_ns: u64,
    ntasks: usize,
    secs: f64,
    body: String,
    switches: u64,
    avg_run_ms: f64,
    noise_hz: u32,
}

/// All rows that can be compared, in the order of the table.
pub(super) fn rows() -> Vec<Reference> {
    csv::Reader::from_reader(TABLE.as_bytes())
        .deserialize()
        .map(|line: Result<Line, _>| line.expect("the table is part of this program"))
        .filter(Line::is_comparable)
        .map(Reference::from)
        .collect()
}

impl Line {
    /// One CPU under the clock that repeats, processes that only spin, a periodic tick.
    fn is_comparable(&self) -> bool {
        self.smp == 1
            && self.icount_shift == ICOUNT_SHIFT
            && self.body == "spin"
            && !self.build.contains("nohz")
            && NOISE_HZ.contains(&self.noise_hz)
            && Feature::parse(self.feats.trim_start_matches("NO_")) != Some(Feature::RunToParity)
    }
}

impl From<Line> for Reference {
    fn from(line: Line) -> Self {
        let features = line.feats.split_whitespace().map(|name| {
            let feature = Feature::parse(name.trim_start_matches("NO_")).expect("Linux has it");
            (feature, !name.starts_with("NO_"))
        });
        Self {
            preset: preset_of(&line.kernel),
            features: features.collect(),
            hz: line.hz,
            base_slice_ns: line.base_slice_ns,
            irq_time_accounting: line.irqtime == "on",
            wakeups_per_s: (line.noise_hz > 0).then_some(line.noise_hz),
            hogs: line.ntasks,
            seconds: line.secs,
            avg_run_ms: line.avg_run_ms,
            switches: line.switches,
            run: line.run,
            kernel: line.kernel,
        }
    }
}

/// The rules of a kernel are those of its release: `6.12` of `6.12.117`.
fn preset_of(kernel: &str) -> Preset {
    let end = kernel.match_indices('.').nth(1).map_or(kernel.len(), |(at, _)| at);
    Preset::parse(&kernel[..end]).expect("the rules of these kernels are known")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_are_quiet_and_with_background_by_kernel() {
        let rows = rows();
        let count = |preset, noisy| {
            let is =
                |row: &&Reference| row.preset == preset && row.wakeups_per_s.is_some() == noisy;
            rows.iter().filter(is).count()
        };
        assert_eq!((count(Preset::V6_12, false), count(Preset::V6_12, true)), (48, 18));
        assert_eq!((count(Preset::V7_3, false), count(Preset::V7_3, true)), (36, 12));
        assert!(rows.iter().all(|row| row.hogs == 4));
    }
}
