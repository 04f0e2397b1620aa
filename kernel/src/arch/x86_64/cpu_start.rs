//! Starting the other CPUs: INIT, start-up IPI, real mode to Rust.
//!
//! A started CPU begins in real mode at the page its start-up IPI names. The code there goes
//! straight to long mode with the kernel's tables, takes stack and number from the end of the
//! page, and jumps high. CPUs are started one at a time, so one page serves all; it is mapped
//! at its own address only meanwhile, and gets its old content back.
//!
//! Source: Intel SDM vol. 3A, 9.4.4.1 (the start-up sequence). The 10 ms after INIT are for
//! CPUs with a discrete APIC; anything with long mode needs none of it.

use super::descriptors::{self, FaultStacks};
use super::memory::PHYSICAL_MEMORY_OFFSET;
use super::stack::{Owner, Stack};
use super::{clock, lapic, paging, wait_for_interrupt};
use alloc::boxed::Box;
use core::arch::global_asm;
use core::sync::atomic::{AtomicU32, Ordering};

/// Below 640 KiB, above the BIOS data area, and not where any loader keeps what still matters.
const START_PAGE: u64 = 0x8000;
const PAGE: usize = 4096;
/// Time between two looks whether the CPU has come up, and between the two start-up IPIs.
const LOOK_NS: u64 = 200_000;
/// Looks until it is given up: five seconds, for hosts that do not run all CPUs at once.
const LOOKS: u32 = 25_000;
/// The second one is for CPUs that miss the first.
const STARTUP_IPIS: u32 = 2;
const IDLE_STACK_SIZE: u64 = 32 * 1024;

/// What the start code reads at the end of its page.
#[repr(C)]
struct Parameters {
    root: u64,
    stack: u64,
    entry: u64,
    argument: u64,
}

const PARAMETERS_AT: usize = PAGE - size_of::<Parameters>();

/// What a started CPU needs before it can use per-CPU data.
struct Starter {
    id: u32,
    fault_stacks: FaultStacks,
    then: fn(u32) -> !,
}

/// The last CPU that came up.
static STARTED: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" {
    static start_code: u8;
    static start_code_end: u8;
}

/// Gives the boot CPU its number 0, descriptors and fault stacks.
pub(crate) fn init_boot_cpu() {
    descriptors::load(0, FaultStacks::new(0));
}

/// Starts CPUs; `cpus` gives number and APIC id of each, `then` is what they go on in, with
/// their APIC on and interrupts off.
///
/// # Errors
/// The APIC id of the first CPU that does not start.
pub(crate) fn start(cpus: impl Iterator<Item = (u32, u32)>, then: fn(u32) -> !) -> Result<(), u32> {
    // SAFETY: the page is in the map of physical memory, below what the heap uses.
    let page = unsafe {
        core::slice::from_raw_parts_mut((PHYSICAL_MEMORY_OFFSET + START_PAGE) as *mut u8, PAGE)
    };
    let mut old = Box::new([0; PAGE]);
    old.copy_from_slice(page);
    let result = paging::with_identity_page(START_PAGE, || {
        let len = &raw const start_code_end as usize - &raw const start_code as usize;
        assert!(len <= PARAMETERS_AT, "the start code runs into its parameters");
        // SAFETY: the two symbols enclose the start code.
        let code = unsafe { core::slice::from_raw_parts(&raw const start_code, len) };
        page[..len].copy_from_slice(code);
        cpus.into_iter().try_for_each(|(id, apic_id)| start_one(page, id, apic_id, then))
    });
    page.copy_from_slice(&*old);
    result
}

fn start_one(page: &mut [u8], id: u32, apic_id: u32, then: fn(u32) -> !) -> Result<(), u32> {
    let starter = Box::new(Starter { id, fault_stacks: FaultStacks::new(id), then });
    let parameters = [
        paging::root().start_address().as_u64(),
        Stack::new(Owner::Idle(id), IDLE_STACK_SIZE).top(),
        enter as *const () as u64,
        Box::into_raw(starter) as u64,
    ];
    for (word, slot) in parameters.iter().zip(page[PARAMETERS_AT..].chunks_exact_mut(8)) {
        slot.copy_from_slice(&word.to_le_bytes());
    }
    lapic::send_init(apic_id);
    for look in 0..LOOKS {
        if look < STARTUP_IPIS {
            lapic::send_startup(apic_id, (START_PAGE / PAGE as u64) as u8);
        }
        // Halted, not spinning: under QEMU's single-threaded TCG the started CPU gets its turn
        // when this one has nothing to do.
        lapic::set_timer(clock::cycles_at(clock::now_ns() + LOOK_NS), clock::timer_counts(LOOK_NS));
        wait_for_interrupt();
        // Acquire: what the CPU set up before it reported.
        if STARTED.load(Ordering::Acquire) == id {
            return Ok(());
        }
    }
    Err(apic_id)
}

/// First Rust code of a started CPU, on its own stack.
extern "sysv64" fn enter(starter: *mut Starter) -> ! {
    // SAFETY: `start_one` made it for this CPU alone and will not touch it again.
    let Starter { id, fault_stacks, then } = *unsafe { Box::from_raw(starter) };
    paging::adopt();
    descriptors::load(id, fault_stacks);
    lapic::init();
    // Release: pairs with the load in `start_one`.
    STARTED.store(id, Ordering::Release);
    then(id)
}

global_asm!(
    ".pushsection .rodata.start_code, \"a\", @progbits",
    ".balign 16",
    ".global start_code, start_code_end",
    ".code16",
    "start_code:",
    "jmp 1f",
    // At known places, since 16-bit code can name no address relative to this copy.
    ".balign 8",
    ".quad 0",
    ".quad 0x00af9b000000ffff", // 64-bit code, ring 0
    ".word 15",
    ".long {base} + {gdt}",
    "1:",
    "cli",
    "cld",
    "xor ax, ax",
    "mov ds, ax",
    "lgdt [{base} + {gdt} + 16]",
    "mov eax, {cr4}",
    "mov cr4, eax",
    "mov eax, [{base} + {root}]",
    "mov cr3, eax",
    "mov ecx, {efer}",
    "xor edx, edx",
    "mov eax, {efer_bits}",
    "wrmsr",
    // Protection and paging at once: from real mode right into long mode.
    "mov eax, {cr0}",
    "mov cr0, eax",
    ".byte 0x66, 0xea", // jmp far 8:start_long
    ".long {base} + start_long - start_code",
    ".word 8",
    ".code64",
    "start_long:",
    "xor eax, eax",
    "mov ss, eax",
    "mov ds, eax",
    "mov es, eax",
    "mov rsp, [{base} + {stack}]",
    "mov rdi, [{base} + {argument}]",
    "xor ebp, ebp",
    "call [{base} + {entry}]",
    "ud2",
    "start_code_end:",
    ".popsection",
    base = const START_PAGE,
    gdt = const 8, // behind the jump, aligned
    // PAE.
    cr4 = const 1 << 5,
    efer = const 0xc000_0080u32,
    // Long mode and no-execute.
    efer_bits = const 1 << 8 | 1 << 11,
    // Paging, write protection, numeric error, protection.
    cr0 = const 1u32 << 31 | 1 << 16 | 1 << 5 | 1 << 4 | 1,
    root = const PARAMETERS_AT + core::mem::offset_of!(Parameters, root),
    stack = const PARAMETERS_AT + core::mem::offset_of!(Parameters, stack),
    entry = const PARAMETERS_AT + core::mem::offset_of!(Parameters, entry),
    argument = const PARAMETERS_AT + core::mem::offset_of!(Parameters, argument),
);
