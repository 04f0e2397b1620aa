//! The default base slice grows with the logarithm of the number of CPUs, and the guest agrees.

use eevdf::Preset;
use runner::Experiment;
use tests::{MS, US, run_passing, task};

const CPUS: [u32; 7] = [1, 2, 3, 4, 7, 8, 16];

/// The slice that the guest's own rules give a task, as it reports it.
fn assert_slices_us(preset: Preset, expected: [u64; CPUS.len()]) {
    for (cpus, expected_us) in CPUS.into_iter().zip(expected) {
        let experiment = Experiment::new().preset(preset).smp(cpus).hogs(1).duration_ns(10 * MS);
        let result = run_passing(&experiment);
        let slice_ns = task(&result, "hog0").counters.slice_ns;
        assert_eq!(slice_ns, expected_us * US, "{} on {cpus} CPUs", preset.name());
    }
}

#[test]
fn since_6_15_it_starts_at_700_us() {
    assert_slices_us(Preset::V6_15, [700, 1400, 1400, 2100, 2100, 2800, 2800]);
}

#[test]
fn before_it_started_at_750_us() {
    assert_slices_us(Preset::V6_8, [750, 1500, 1500, 2250, 2250, 3000, 3000]);
}
