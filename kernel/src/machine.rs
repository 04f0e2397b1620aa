//! Taking stock of the machine: clocks, timers, CPUs.
//!
//! Boot CPU, once; the part of each other CPU on that CPU.

use crate::arch::calibrate::{self, Calibration};
use crate::arch::{Firmware, clock, lapic};
use crate::cpu::{Cpu, TickTimer};
use crate::fail::fail;
use crate::log::info;
use abi::record::{Failure, Machine, TimerMode};
use abi::{Clock, Scenario, TickMode};
use alloc::vec::Vec;
use spin::Once;

static FOUND: Once<Machine> = Once::new();

/// A stated rate may differ from the measured one by 1 in this many.
const RATE_TOLERANCE: u64 = 1000;
/// Under the virtual clock every wait costs the host time, and nothing disturbs a short one.
const WINDOW_VIRTUAL_US: u64 = 1_000;
const WINDOW_REAL_US: u64 = 20_000;

/// The machine's record.
pub(crate) fn found() -> &'static Machine {
    FOUND.get().expect("the machine is looked at before it runs")
}

/// Measures the clocks, chooses the timer mode and fixes both.
pub(crate) fn init_clocks(firmware: &Firmware, scenario: &Scenario) {
    let window_us = match scenario.clock {
        Clock::Virtual => WINDOW_VIRTUAL_US,
        Clock::Real => WINDOW_REAL_US,
    };
    let Some(Calibration { reference, tsc_hz: measured_hz, lapic_hz }) =
        calibrate::measure(firmware, window_us)
    else {
        fail(
            Failure::NoReference,
            0,
            1,
            format_args!("no reference clock: neither HPET nor ACPI PM timer nor PIT counts"),
        );
    };
    let tsc_hz = scenario.tsc_hz.unwrap_or(measured_hz);
    if tsc_hz.abs_diff(measured_hz) > tsc_hz / RATE_TOLERANCE {
        fail(
            Failure::ClockRate,
            measured_hz,
            tsc_hz,
            format_args!(
                "the TSC runs at {measured_hz} Hz by {}, the scenario states {tsc_hz} Hz",
                reference.word()
            ),
        );
    }
    // Where the TSC's rate is known, the LAPIC timer's is corrected by the same error.
    let lapic_hz = (u128::from(lapic_hz) * u128::from(tsc_hz) / u128::from(measured_hz)) as u64;
    let lapic_hz = snap(lapic_hz, tsc_hz);
    clock::set_rates(tsc_hz, lapic_hz);
    let timer = match scenario.tick {
        TickMode::Periodic => TimerMode::Periodic,
        TickMode::Oneshot => lapic::best_mode(),
    };
    info!(
        "time",
        "tsc {tsc_hz} Hz, lapic timer {lapic_hz} Hz by {} over {window_us} us; {} in {} mode",
        reference.word(),
        timer.word(),
        lapic::apic_mode().word(),
    );
    FOUND.call_once(|| Machine {
        version: abi::scenario::VERSION,
        cpus: scenario.cpus,
        disabled: firmware.processors.iter().filter(|cpu| !cpu.enabled).count() as u32,
        tsc_hz,
        lapic_hz,
        reference,
        apic: lapic::apic_mode(),
        timer,
    });
}

/// Both counters often run off one crystal; a difference below what was measured is none.
fn snap(lapic_hz: u64, tsc_hz: u64) -> u64 {
    if lapic_hz.abs_diff(tsc_hz) < tsc_hz / RATE_TOLERANCE { tsc_hz } else { lapic_hz }
}

/// The APIC ids to run on, the boot CPU's first; the run fails if there are too few.
pub(crate) fn choose_cpus(firmware: &Firmware, wanted: u32) -> Vec<u32> {
    let boot = lapic::id();
    let enabled = firmware.processors.iter().filter(|cpu| cpu.enabled).map(|cpu| cpu.apic_id);
    let others = enabled.filter(|&apic_id| apic_id != boot);
    let apic_ids: Vec<u32> = core::iter::once(boot).chain(others).collect();
    if apic_ids.len() != wanted as usize {
        fail(
            Failure::Cpus,
            apic_ids.len() as u64,
            wanted.into(),
            format_args!(
                "the machine has {} enabled cpus, the scenario wants {wanted}",
                apic_ids.len()
            ),
        );
    }
    apic_ids
}

/// Sets this CPU's timer up and says how it makes the tick.
pub(crate) fn init_timer(cpu: &Cpu, hz: u32) {
    let machine = found();
    let measured_hz = calibrate::lapic_hz_against_tsc(machine.tsc_hz);
    // Until the run begins, a periodic timer serves as a one-shot one.
    let (mode, rate_hz, measured_hz) = match machine.timer {
        TimerMode::TscDeadline => (TimerMode::TscDeadline, machine.tsc_hz, machine.tsc_hz),
        TimerMode::Oneshot | TimerMode::Periodic => {
            (TimerMode::Oneshot, machine.lapic_hz, measured_hz)
        }
    };
    lapic::set_mode(mode);
    let count = rate_hz / u64::from(hz);
    let measured_mhz = measured_hz * 1000 / count;
    cpu.tick_timer.call_once(|| TickTimer { count, measured_mhz });
    info!(
        "time",
        "cpu{} apic {}: {hz} Hz requested, timer count {count}, {}.{:03} Hz measured",
        cpu.id,
        cpu.apic_id,
        measured_mhz / 1000,
        measured_mhz % 1000,
    );
}
