//! What Linux takes for the same, and the costs of system calls that follow from it.

use serde::Deserialize;

const TABLE: &str = include_str!("../../data/linux_costs.csv");
/// The kernel that the costs are of.
const KERNEL: &str = "6.12.117";

/// One measurement.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Measured {
    pub(super) what: String,
    pub(super) kernel: String,
    /// An instruction took 2^shift ns of guest time.
    pub(super) icount_shift: u32,
    pub(super) irq_time_accounting: bool,
    pub(super) instructions: f64,
}

/// Everything measured.
pub(super) fn table() -> Vec<Measured> {
    csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .from_reader(TABLE.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .expect("the table is part of this program")
}

/// The figures for one thing as a line to set beside our own.
pub(super) fn beside(what: &str) -> String {
    let figures = table().into_iter().filter(|row| row.what == what).map(|row| {
        let accounting = if row.irq_time_accounting { "" } else { ", no IRQ time accounting" };
        let Measured { kernel, icount_shift, instructions, .. } = row;
        format!("{instructions:.0} ({kernel}, shift {icount_shift}{accounting})")
    });
    format!("Linux in the same QEMU: {}", figures.collect::<Vec<_>>().join(", "))
}

/// What one operation costs at an instruction a nanosecond.
fn cost_ns(what: &str) -> u64 {
    let measured = table()
        .into_iter()
        .rfind(|row| row.what == what && row.kernel == KERNEL)
        .expect("the table is part of this program");
    measured.instructions.round() as u64
}

/// Half of a pipe's write and read without a switch: one of the two, ns.
pub(super) fn pipe_operation_ns() -> u64 {
    cost_ns("pipe_write_read").div_ceil(2)
}

/// A `sched_yield` that finds nobody else, ns.
pub(super) fn yield_ns() -> u64 {
    cost_ns("yield_alone")
}

/// The cheapest system call, ns.
pub(super) fn system_call_ns() -> u64 {
    cost_ns("getppid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_follow_from_the_table() {
        assert_eq!((pipe_operation_ns(), yield_ns(), system_call_ns()), (775, 639, 216));
    }

    #[test]
    fn figures_say_how_they_were_counted() {
        let text = beside("yield_switch");
        assert!(text.contains("1797 (6.12.117, shift 0), 1826 (6.12.117, shift 3)"), "{text}");
        assert!(text.contains("1836 (6.12.117, shift 3, no IRQ time accounting)"), "{text}");
    }
}
