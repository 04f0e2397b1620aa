//! The command line of one guest.

use super::{Qemu, Version};
use crate::shell;
use abi::{Burn, Clock, Scenario, exit, trace::ring::Layout};
use std::{ffi::OsString, path::PathBuf};

/// What executes the guest's instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Accel {
    /// QEMU's translator; the only one that can count instructions.
    Tcg,
    /// The host's CPU.
    Kvm,
}

impl Accel {
    /// QEMU's name for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcg => "tcg",
            Self::Kvm => "kvm",
        }
    }
}

/// What a command line depends on.
pub(crate) struct Launch {
    pub(crate) kernel: PathBuf,
    pub(crate) scenario: PathBuf,
    pub(crate) cpus: u32,
    pub(crate) memory_mib: u32,
    pub(crate) accel: Accel,
    pub(crate) clock: Clock,
    pub(crate) burn: Burn,
    pub(crate) gdb: bool,
    /// The file that is the guest's memory, for somebody else to read it.
    pub(crate) ram: Option<PathBuf>,
}

/// Guest time per instruction is 2^shift ns.
///
/// Halted, a guest executes a few thousand instructions a tick, and the fewer nanoseconds they
/// take the less the kernel's own work shows. Spinning, every nanosecond of guest time costs
/// 2^-shift instructions: shift 3 runs eight times as fast, and a tick of about a thousand
/// instructions still takes less than 1 % of its period at HZ=1000.
const fn shift(burn: Burn) -> u32 {
    match burn {
        Burn::Halt => 0,
        Burn::Spin => 3,
    }
}

/// Guest time per instruction under the virtual clock, ns.
pub const fn ns_per_instruction(burn: Burn) -> u64 {
    1 << shift(burn)
}

/// The CPU model: all that the accelerator has, under the virtual clock without timers that are
/// programmed through model-specific registers.
///
/// QEMU (9.0 and newer, which have x2APIC, 11.1 included) does not expect RDMSR and WRMSR to look
/// at the clock: with `-icount` it exits with "Bad icount read" at the first timer register of an
/// x2APIC. All versions then also have the same timer.
const fn cpu(clock: Clock) -> &'static str {
    match clock {
        Clock::Virtual => "max,-x2apic,-tsc-deadline",
        Clock::Real => "max",
    }
}

/// Whether CPUs that spin under the virtual clock all keep their ticks.
///
/// Before 8.1, a CPU runs until the next timer of any CPU is due, and the others stand still.
pub(crate) fn is_fair_to_spinning_cpus(version: Version) -> bool {
    version >= Version { major: 8, minor: 1, patch: 0 }
}

/// Memory that the guest of a scenario needs: the kernel and its image, a stack and histograms for
/// each CPU and task, a node of each task on each CPU, what the programs share, and the programs
/// themselves, in the ramdisk and twice more.
pub(crate) fn memory_mib(scenario: &Scenario) -> u32 {
    const MIB: usize = 1 << 20;
    let (cpus, tasks) = (scenario.cpus as usize, scenario.tasks.len());
    let operations: usize = scenario.programs.iter().map(Vec::len).sum();
    let resources = &scenario.resources;
    let small = resources.semaphores + resources.mutexes + resources.conditions;
    let small = small + resources.timers + resources.marks + resources.counters;
    let small = small as usize + resources.barriers.len() + resources.pipes.len();
    let bytes = 32 * MIB + cpus * MIB / 2 + tasks * (64 << 10) + cpus * tasks * 256;
    let bytes = bytes + resources.histograms as usize * (12 << 10) + small * 64 + operations * 96;
    bytes.div_ceil(MIB) as u32
}

/// What the rings of a trace take beside that.
pub(crate) fn ring_mib(layout: Layout) -> u32 {
    layout.bytes().div_ceil(1 << 20) as u32 + 1
}

/// The arguments after the program's name.
pub(crate) fn command_line(launch: &Launch) -> Vec<OsString> {
    let accel = match (launch.accel, launch.clock) {
        (Accel::Kvm, _) => "kvm",
        (Accel::Tcg, Clock::Virtual) => "tcg",
        (Accel::Tcg, Clock::Real) => "tcg,thread=multi",
    };
    let mut arguments: Vec<OsString> = Vec::new();
    let mut option = |name: &str, value: OsString| arguments.extend([name.into(), value]);
    match &launch.ram {
        None => option("-machine", "pc".into()),
        Some(file) => {
            let object = format!(
                "memory-backend-file,id=ram,share=on,size={}M,mem-path={}",
                launch.memory_mib,
                file.display()
            );
            option("-object", object.into());
            option("-machine", "pc,memory-backend=ram".into());
        }
    }
    option("-cpu", cpu(launch.clock).into());
    option("-smp", launch.cpus.to_string().into());
    option("-m", format!("{}M", launch.memory_mib).into());
    option("-accel", accel.into());
    if launch.clock == Clock::Virtual {
        option("-icount", format!("shift={},sleep=off", shift(launch.burn)).into());
        // The date, too, is the same in every run.
        option("-rtc", "base=2000-01-01,clock=vm".into());
    }
    option("-kernel", launch.kernel.clone().into());
    option("-initrd", launch.scenario.clone().into());
    option("-display", "none".into());
    option("-vga", "none".into());
    option("-monitor", "none".into());
    option("-serial", "stdio".into());
    option("-device", format!("isa-debug-exit,iobase={:#x},iosize=0x04", exit::PORT).into());
    arguments.extend(["-nodefaults".into(), "-no-reboot".into()]);
    if launch.gdb {
        arguments.extend(["-s".into(), "-S".into()]);
    }
    arguments
}

/// The line as it can be pasted into a shell.
pub(crate) fn printable(qemu: &Qemu, arguments: &[OsString]) -> String {
    let mut line = qemu.program.display().to_string();
    for argument in arguments {
        line.push(' ');
        line.push_str(&shell::quoted(&argument.to_string_lossy()));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_large_guest_stays_small() {
        let needed = |cpus, hogs| {
            let plan = crate::Experiment::new().smp(cpus).hogs(hogs).plan();
            plan.expect("all is in range").memory_mib
        };
        assert!(needed(64, 128) <= 128);
        assert!(needed(1, 2) >= 32);
    }

    #[test]
    fn the_virtual_clock_counts_instructions_and_the_real_one_does_not() {
        let qemu = Qemu {
            program: "/opt/a b/qemu".into(),
            version: Version { major: 7, minor: 2, patch: 0 },
        };
        let line = |clock, burn| {
            let launch = Launch {
                kernel: "/k".into(),
                scenario: "/s".into(),
                cpus: 4,
                memory_mib: 64,
                accel: Accel::Tcg,
                clock,
                burn,
                gdb: false,
                ram: None,
            };
            printable(&qemu, &command_line(&launch))
        };
        let halted = line(Clock::Virtual, Burn::Halt);
        assert!(halted.starts_with("'/opt/a b/qemu' ") || halted.starts_with("/opt/a b/qemu "));
        assert!(halted.contains(" -icount shift=0,sleep=off "), "{halted}");
        assert!(halted.contains(" -smp 4 "), "{halted}");
        assert!(halted.contains(" -cpu max,-x2apic,-tsc-deadline "), "{halted}");
        assert!(line(Clock::Virtual, Burn::Spin).contains("shift=3"));
        let real = line(Clock::Real, Burn::Spin);
        assert!(!real.contains("icount") && real.contains("thread=multi"), "{real}");
        assert!(real.contains(" -cpu max "), "{real}");
    }
}
