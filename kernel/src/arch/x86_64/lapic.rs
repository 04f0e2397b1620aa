//! This CPU's local APIC: its timer and the interrupts it sends.
//!
//! The `x2apic` crate drives the registers, in x2APIC mode where the CPU has it and through the
//! memory-mapped page elsewhere. The timer counts at divider 1, one-shot unless asked
//! otherwise; with TSC-deadline it compares the TSC itself, and no count has to be converted.
//!
//! Source: Intel SDM vol. 3A, 11.5.4 (timer) and 11.6 (IPIs).

use super::interrupts_entry::{ERROR_VECTOR, RESCHEDULE_VECTOR, SPURIOUS_VECTOR, TIMER_VECTOR};
use super::memory::PHYSICAL_MEMORY_OFFSET;
use super::this_cpu::block;
use abi::record::{ApicMode, TimerMode};
use core::arch::asm;
use core::arch::x86_64::__cpuid;
use spin::Once;
use x2apic::lapic::{
    LocalApic, LocalApicBuilder, TimerDivide, TimerMode as HardwareMode, xapic_base,
};
use x86_64::instructions::port::Port;
use x86_64::registers::model_specific::Msr;

const CPUID_FEATURES: u32 = 1;
const ECX_X2APIC: u32 = 1 << 21;
const ECX_TSC_DEADLINE: u32 = 1 << 24;
const IA32_TSC_DEADLINE: u32 = 0x6e0;
/// Longest distance the timer is set to, in counts: half its range, so that a late look at the
/// clock cannot push the result past the end.
const LONGEST: u64 = 1 << 31;

/// A local APIC, in the hands of its CPU.
pub(crate) struct Lapic {
    apic: LocalApic,
    mode: TimerMode,
}

/// Masks the two 8259s, which the firmware may have left with a running PIT behind them: here
/// every interrupt comes from a local APIC. Once, before interrupts are let in.
pub(crate) fn mask_legacy_interrupts() {
    for port in [0x21, 0xa1] {
        // SAFETY: the data ports of the PICs; with all lines masked they send nothing more.
        unsafe { Port::<u8>::new(port).write(0xff) };
    }
}

// SAFETY: made by `init` on its CPU and put into that CPU's own `LocalCell`, which lets nobody
// else at it. `LocalApic` is not `Send` only because its registers are those of the CPU it is
// used on.
unsafe impl Send for Lapic {}

/// How APICs are reached on this machine. Asked once: under a hypervisor CPUID is a trap.
pub(crate) fn apic_mode() -> ApicMode {
    static MODE: Once<ApicMode> = Once::new();
    *MODE.call_once(|| match __cpuid(CPUID_FEATURES).ecx & ECX_X2APIC {
        0 => ApicMode::XApic,
        _ => ApicMode::X2Apic,
    })
}

/// The best way to program single events on this machine.
pub(crate) fn best_mode() -> TimerMode {
    match __cpuid(CPUID_FEATURES).ecx & ECX_TSC_DEADLINE {
        0 => TimerMode::Oneshot,
        _ => TimerMode::TscDeadline,
    }
}

/// Switches this CPU's APIC on, its timer idle. Once per CPU.
///
/// # Panics
/// If the CPU has no usable APIC.
pub(crate) fn init() {
    // SAFETY: IA32_APIC_BASE exists on every CPU with an APIC, which x86_64 implies.
    let base = unsafe { xapic_base() };
    let mut apic = LocalApicBuilder::new()
        .timer_vector(TIMER_VECTOR.into())
        .error_vector(ERROR_VECTOR.into())
        .spurious_vector(SPURIOUS_VECTOR.into())
        .timer_mode(HardwareMode::OneShot)
        .timer_divide(TimerDivide::Div1)
        .timer_initial(0)
        .set_xapic_base(PHYSICAL_MEMORY_OFFSET + base)
        .build()
        .unwrap_or_else(|reason| panic!("no usable local APIC: {reason}"));
    // SAFETY: the IDT has handlers for all three vectors; the page is mapped uncached.
    unsafe { apic.enable() };
    block().lapic.with(|slot| *slot = Some(Lapic { apic, mode: TimerMode::Oneshot }));
}

fn with<R>(f: impl FnOnce(&mut Lapic) -> R) -> R {
    block().lapic.with(|lapic| f(lapic.as_mut().expect("the APIC is initialised first")))
}

/// The id that IPIs to this CPU carry.
pub(crate) fn id() -> u32 {
    // SAFETY: reads a register of this CPU's enabled APIC.
    let raw = with(|lapic| unsafe { lapic.apic.id() });
    match apic_mode() {
        // The register holds the id in its top byte.
        ApicMode::XApic => raw >> 24,
        ApicMode::X2Apic => raw,
    }
}

/// Tells the APIC that the interrupt in service is handled.
pub(crate) fn end_of_interrupt() {
    // SAFETY: called once by each handler of an APIC interrupt.
    with(|lapic| unsafe { lapic.apic.end_of_interrupt() });
}

/// Chooses how the timer is programmed from now on.
pub(crate) fn set_mode(mode: TimerMode) {
    let hardware = match mode {
        TimerMode::Oneshot => HardwareMode::OneShot,
        TimerMode::TscDeadline => HardwareMode::TscDeadline,
        TimerMode::Periodic => HardwareMode::Periodic,
    };
    with(|lapic| {
        lapic.mode = mode;
        // SAFETY: the timer is stopped, and its handler is in place.
        unsafe { lapic.apic.set_timer_mode(hardware) };
    });
    if mode == TimerMode::TscDeadline {
        // The write above must have reached the APIC before the first deadline does.
        fence_before_msr_write();
    }
}

/// Sets the timer to fire once: at the TSC value `deadline`, or after `count` of its own units
/// where it cannot compare the TSC. Something in the past fires at once.
pub(crate) fn set_timer(deadline: u64, count: u64) {
    with(|lapic| match lapic.mode {
        TimerMode::TscDeadline => {
            // SAFETY: the MSR exists where CPUID says so, which is how the mode was chosen.
            unsafe { Msr::new(IA32_TSC_DEADLINE).write(deadline.max(1)) };
        }
        TimerMode::Oneshot | TimerMode::Periodic => {
            let count = count.clamp(1, LONGEST) as u32;
            // SAFETY: the handler is in place.
            unsafe { lapic.apic.set_timer_initial(count) };
        }
    });
}

/// Stops the timer.
pub(crate) fn stop_timer() {
    with(|lapic| match lapic.mode {
        // SAFETY: zero disarms; see `set_timer` for the MSR.
        TimerMode::TscDeadline => unsafe { Msr::new(IA32_TSC_DEADLINE).write(0) },
        // SAFETY: zero stops the count.
        TimerMode::Oneshot | TimerMode::Periodic => unsafe { lapic.apic.set_timer_initial(0) },
    });
}

/// What is left of the count, for calibration.
pub(crate) fn timer_count() -> u32 {
    // SAFETY: reads a register of this CPU's enabled APIC.
    with(|lapic| unsafe { lapic.apic.timer_current() })
}

/// Makes what this CPU wrote visible to all others before it writes an MSR next.
///
/// Writes to the TSC deadline and to x2APIC registers do not wait for earlier ones, neither to
/// memory nor to the APIC (SDM 11.5.4.1 and 11.12.3). An atomic fence is not enough: it
/// compiles to a locked instruction, which orders memory only.
fn fence_before_msr_write() {
    // SAFETY: two fences; they change no register, flag or memory.
    unsafe { asm!("mfence", "lfence", options(nostack, preserves_flags)) };
}

/// Makes ready to send an IPI; returns the upper half of the interrupt command register, in
/// which an xAPIC's id is the top byte.
fn prepare_ipi(apic_id: u32) -> u32 {
    match apic_mode() {
        ApicMode::XApic => apic_id << 24,
        ApicMode::X2Apic => {
            // The receiver must see what it is called for. In xAPIC mode it does: the uncached
            // write that sends the IPI comes after all writes before it.
            fence_before_msr_write();
            apic_id
        }
    }
}

/// Asks a CPU, by APIC id, to look at its runqueue.
pub(crate) fn send_reschedule(apic_id: u32) {
    // SAFETY: the vector has a handler on every CPU that is up, and only those are asked.
    with(|lapic| unsafe { lapic.apic.send_ipi(RESCHEDULE_VECTOR, prepare_ipi(apic_id)) });
}

/// Makes the timer of a CPU, by APIC id, fire at once.
pub(crate) fn send_timer(apic_id: u32) {
    // SAFETY: as for `send_reschedule`; the timer's handler finds out by itself what is due.
    with(|lapic| unsafe { lapic.apic.send_ipi(TIMER_VECTOR, prepare_ipi(apic_id)) });
}

/// INIT, the first half of starting a CPU.
pub(super) fn send_init(apic_id: u32) {
    // SAFETY: the target is not running anything yet.
    with(|lapic| unsafe { lapic.apic.send_init_ipi(prepare_ipi(apic_id)) });
}

/// The start-up IPI: begin in real mode at page `page`.
pub(super) fn send_startup(apic_id: u32, page: u8) {
    // SAFETY: the start code is in place at that page.
    with(|lapic| unsafe { lapic.apic.send_sipi(page, prepare_ipi(apic_id)) });
}
