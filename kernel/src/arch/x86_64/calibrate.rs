//! How fast TSC and LAPIC timer run, measured against a clock that has nothing to do with them.
//!
//! HPET, ACPI PM timer and PIT are tried in this order; one that is missing or stands still is
//! named and passed over. Every wait is bounded by a number of reads, so a dead clock is an
//! error and never a hang. The LAPIC timers of the other CPUs are compared with the TSC, which
//! is enough to see that they all run at one rate.

use super::acpi_tables::{Firmware, PmTimer};
use super::memory::PHYSICAL_MEMORY_OFFSET;
use super::{clock, lapic};
use crate::log::info;
use abi::record::Reference;
use x86_64::instructions::port::Port;

const FEMTOSECONDS_PER_S: u64 = 1_000_000_000_000_000;
/// ACPI specification, 4.8.3.3.
const PM_TIMER_HZ: u64 = 3_579_545;
const PIT_HZ: u64 = 1_193_182;
/// Reads until a clock that does not move is called dead; far more than any working one needs.
const PATIENCE: u32 = 1_000_000;
/// TSC cycles over which another CPU's timer is watched: 50 us at 1 GHz.
const GLANCE_CYCLES: u64 = 50_000;

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calibration {
    /// By which clock.
    pub(crate) reference: Reference,
    /// TSC cycles per second.
    pub(crate) tsc_hz: u64,
    /// LAPIC timer counts per second at divider 1.
    pub(crate) lapic_hz: u64,
}

/// A counter of known rate.
enum Clock {
    Hpet { counter: *const u64, hz: u64, mask: u64 },
    PmTimer(PmTimer),
    Pit,
}

impl Clock {
    fn read(&self) -> u64 {
        match self {
            // SAFETY: the main counter register, mapped uncached, readable at any time.
            Self::Hpet { counter, .. } => unsafe { counter.read_volatile() },
            // SAFETY: reading the counter has no effect.
            Self::PmTimer(timer) => u64::from(unsafe { Port::<u32>::new(timer.port).read() }),
            Self::Pit => pit::read(),
        }
    }

    fn hz(&self) -> u64 {
        match self {
            Self::Hpet { hz, .. } => *hz,
            Self::PmTimer(_) => PM_TIMER_HZ,
            Self::Pit => PIT_HZ,
        }
    }

    /// Counts from `start` to `end`, over at most one wrap.
    fn elapsed(&self, start: u64, end: u64) -> u64 {
        match self {
            Self::Hpet { mask, .. } => end.wrapping_sub(start) & mask,
            Self::PmTimer(PmTimer { is_32_bit: true, .. }) => end.wrapping_sub(start) & 0xffff_ffff,
            Self::PmTimer(_) => end.wrapping_sub(start) & 0xff_ffff,
            // It counts down.
            Self::Pit => start.wrapping_sub(end) & 0xffff,
        }
    }

    fn moves(&self) -> bool {
        let start = self.read();
        (0..PATIENCE).any(|_| self.read() != start)
    }
}

/// Measures over about `window_us`, by the first clock that works; `None` if none does.
pub(crate) fn measure(firmware: &Firmware, window_us: u64) -> Option<Calibration> {
    let candidates = [
        (Reference::Hpet, firmware.hpet.and_then(hpet)),
        (Reference::PmTimer, firmware.pm_timer.map(Clock::PmTimer)),
        (Reference::Pit, Some(pit::start())),
    ];
    for (reference, clock) in candidates {
        let Some(clock) = clock else {
            info!("time", "{}: not there", reference.word());
            continue;
        };
        if !clock.moves() {
            info!("time", "{}: does not move", reference.word());
            continue;
        }
        return against(&clock, window_us).map(|(tsc_hz, lapic_hz)| Calibration {
            reference,
            tsc_hz,
            lapic_hz,
        });
    }
    None
}

fn against(clock: &Clock, window_us: u64) -> Option<(u64, u64)> {
    let window = clock.hz() * window_us / 1_000_000;
    lapic::set_timer(u64::MAX, u64::MAX);
    let start = (clock.read(), clock::cycles(), lapic::timer_count());
    let mut reads = 0;
    let elapsed = loop {
        let elapsed = clock.elapsed(start.0, clock.read());
        reads += 1;
        if elapsed >= window {
            break elapsed;
        }
        if reads > PATIENCE {
            return None;
        }
    };
    let end = (clock::cycles(), lapic::timer_count());
    lapic::stop_timer();
    let per_second =
        |counts: u64| (u128::from(counts) * u128::from(clock.hz()) / u128::from(elapsed)) as u64;
    Some((per_second(end.0 - start.1), per_second(u64::from(start.2 - end.1))))
}

/// This CPU's LAPIC timer rate, by a short comparison with the TSC at `tsc_hz`.
pub(crate) fn lapic_hz_against_tsc(tsc_hz: u64) -> u64 {
    lapic::set_timer(u64::MAX, u64::MAX);
    let start = (clock::cycles(), lapic::timer_count());
    while clock::cycles() - start.0 < GLANCE_CYCLES {}
    let end = (clock::cycles(), lapic::timer_count());
    lapic::stop_timer();
    let counts = u128::from(start.1 - end.1);
    (counts * u128::from(tsc_hz) / u128::from(end.0 - start.0)) as u64
}

/// The HPET's main counter, switched on; `None` if its registers make no sense.
fn hpet(address: u64) -> Option<Clock> {
    // Offsets in the register block.
    const CAPABILITIES: u64 = 0x00;
    const CONFIGURATION: u64 = 0x10;
    const MAIN_COUNTER: u64 = 0xf0;
    const ENABLE: u64 = 1;
    const IS_64_BIT: u64 = 1 << 13;
    let register = |offset| (PHYSICAL_MEMORY_OFFSET + address + offset) as *mut u64;
    // SAFETY: the firmware's table gives the register block; it is mapped uncached.
    let capabilities = unsafe { register(CAPABILITIES).read_volatile() };
    let period_fs = capabilities >> 32;
    // The specification's limit (2.4): at most 100 ns.
    if period_fs == 0 || period_fs > 100_000_000 {
        return None;
    }
    // SAFETY: as above.
    let configuration = unsafe { register(CONFIGURATION).read_volatile() };
    // SAFETY: as above; starting the counter arms no interrupt.
    unsafe { register(CONFIGURATION).write_volatile(configuration | ENABLE) };
    let mask = if capabilities & IS_64_BIT == 0 { 0xffff_ffff } else { u64::MAX };
    Some(Clock::Hpet { counter: register(MAIN_COUNTER), hz: FEMTOSECONDS_PER_S / period_fs, mask })
}

/// Channel 2 of the PIT: the one whose gate software holds and whose output goes nowhere.
mod pit {
    use super::Clock;
    use x86_64::instructions::port::Port;

    const CHANNEL_2: u16 = 0x42;
    const COMMAND: u16 = 0x43;
    const GATE: u16 = 0x61;
    /// Channel 2, low byte then high byte, rate generator.
    const RATE_GENERATOR: u8 = 0b1011_0100;
    const LATCH: u8 = 0b1000_0000;

    fn write(port: u16, value: u8) {
        // SAFETY: the PIT and its gate; nothing else uses channel 2.
        unsafe { Port::<u8>::new(port).write(value) }
    }

    fn byte(port: u16) -> u8 {
        // SAFETY: as above.
        unsafe { Port::<u8>::new(port).read() }
    }

    /// Starts it over its full range.
    pub(super) fn start() -> Clock {
        // Gate on, speaker off.
        write(GATE, byte(GATE) & !0b10 | 0b01);
        write(COMMAND, RATE_GENERATOR);
        write(CHANNEL_2, 0);
        write(CHANNEL_2, 0);
        Clock::Pit
    }

    pub(super) fn read() -> u64 {
        write(COMMAND, LATCH);
        let low = byte(CHANNEL_2);
        u64::from(byte(CHANNEL_2)) << 8 | u64::from(low)
    }
}
