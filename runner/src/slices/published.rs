//! The published table, as it was posted to the kernel mailing list: four busy threads on one
//! CPU for 30 s, average run and context switches by HZ and base slice.

use serde::Deserialize;

const TABLE: &str = include_str!("../../data/base_slice_vs_hz.csv");

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Published {
    /// CONFIG_HZ.
    pub hz: u32,
    /// The base slice in ms.
    pub base_slice_ms: u32,
    /// Average time of a run until the next switch, in ms.
    pub avg_run_ms: f64,
    /// Context switches of all threads.
    pub context_switches: u64,
    /// CPUs.
    pub cpus: u32,
    /// Busy threads.
    pub threads: usize,
    /// Length of the measurement.
    pub seconds: u64,
}

impl Published {
    /// The base slice in ns.
    pub fn base_slice_ns(&self) -> u64 {
        u64::from(self.base_slice_ms) * 1_000_000
    }
}

/// All rows in the order of the table.
pub fn table() -> Vec<Published> {
    csv::Reader::from_reader(TABLE.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .expect("the table is part of this program")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_cells_of_one_cpu_and_four_threads() {
        let table = table();
        assert_eq!(table.len(), 12);
        assert!(table.iter().all(|row| (row.cpus, row.threads, row.seconds) == (1, 4, 30)));
        assert_eq!(table.iter().filter(|row| row.hz == 100).count(), 6);
        assert_eq!(table[0].base_slice_ns(), 3_000_000);
    }
}
