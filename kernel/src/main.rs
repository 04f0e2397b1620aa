//! The guest: boots, runs one scenario on all CPUs, accounts for it, reports, leaves.
//!
//! Boot order: heap, scenario, firmware tables, own page tables, descriptors, APIC, clocks,
//! tasks and runqueues, other CPUs, run. Nothing is allocated once the run has begun.

#![no_std]
#![no_main]

extern crate alloc;

mod account;
mod arch;
mod costs;
mod cpu;
mod event_time;
mod events;
mod explain;
mod fail;
mod irqsoff;
mod log;
mod machine;
mod report;
mod run;
mod sched;
mod setup;
mod task;
mod trace;
mod waste;
mod workload;

use abi::Scenario;
use abi::record::Failure;
use alloc::vec::Vec;
use arch::{Context, Firmware, clock, cpu_start, lapic, memory};
use bootloader_api::config::Mapping;
use bootloader_api::info::{MemoryRegion, Optional};
use bootloader_api::{BootInfo, BootloaderConfig, entry_point};
use fail::fail;
use log::info;
use spin::Once;

static BOOTLOADER_CONFIG: BootloaderConfig = {
    let mut config = BootloaderConfig::new_default();
    config.mappings.physical_memory = Some(Mapping::FixedAddress(memory::PHYSICAL_MEMORY_OFFSET));
    config.kernel_stack_size = 128 * 1024;
    config
};

entry_point!(kernel_main, config = &BOOTLOADER_CONFIG);

/// What the boot loader gave, copied out of its memory.
struct Booted {
    scenario: Scenario,
    firmware: Firmware,
    heap_size: u64,
}

static BOOTED: Once<Booted> = Once::new();

fn kernel_main(boot_info: &'static mut BootInfo) -> ! {
    arch::begin();
    let heap_size = memory::init(boot_info);
    info!("boot", "slicelab kernel {}, heap {} KiB", env!("CARGO_PKG_VERSION"), heap_size / 1024);
    let scenario = match Scenario::from_image(arch::ramdisk(boot_info)) {
        Ok(scenario) => scenario,
        Err(error) => fail(Failure::Scenario, 0, 0, format_args!("{error}")),
    };
    let Optional::Some(rsdp) = boot_info.rsdp_addr else {
        fail(Failure::Cpus, 0, scenario.cpus.into(), format_args!("the boot loader found no RSDP"));
    };
    let firmware = Firmware::read(rsdp);
    let regions: Vec<MemoryRegion> = boot_info.memory_regions.to_vec();
    BOOTED.call_once(|| Booted { scenario, firmware, heap_size });
    arch::continue_with_own_tables(&regions, boot_cpu)
}

/// The boot CPU, on its own tables and stack.
extern "C" fn boot_cpu() -> ! {
    let Booted { scenario, firmware, heap_size } = BOOTED.get().expect("set before");
    cpu_start::init_boot_cpu();
    lapic::mask_legacy_interrupts();
    lapic::init();
    setup::configure(scenario);
    machine::init_clocks(firmware, scenario);
    let apic_ids = machine::choose_cpus(firmware, scenario.cpus);
    setup::check_memory(scenario, *heap_size);
    setup::create(scenario, &apic_ids);
    arch::set_this_cpu(cpu::by_id(0));
    info!("smp", "{} cpus, {} disabled ones left alone", apic_ids.len(), machine::found().disabled,);
    machine::init_timer(cpu::this(), scenario.hz);

    let others = cpu::all()[1..].iter().map(|cpu| (cpu.id, cpu.apic_id));
    if let Err(apic_id) = cpu_start::start(others, other_cpu) {
        fail(
            Failure::CpuStart,
            apic_id.into(),
            0,
            format_args!("the cpu with apic id {apic_id} did not start"),
        );
    }
    info!(
        "run",
        "{} tasks, {} ms, {} KiB of the heap used after {} us",
        task::count(),
        scenario.duration_ns / 1_000_000,
        memory::used() / 1024,
        clock::now_ns() / 1000,
    );
    trace::announce(scenario.cpus, scenario.trace_slots);
    let this = cpu::this();
    this.idle.call_once(Context::current);
    run::begin();
    sched::idle_loop(this)
}

/// Any other CPU, with its APIC on, interrupts off.
fn other_cpu(id: u32) -> ! {
    let this = cpu::by_id(id);
    arch::set_this_cpu(this);
    machine::init_timer(this, run::config().hz);
    this.idle.call_once(Context::current);
    sched::idle_loop(this)
}
