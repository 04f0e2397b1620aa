//! A task's stack and saved registers, and the switch from one to another.
//!
//! A context that is not running keeps everything on its stack: the six callee-saved registers
//! and the return address, nothing else. The caller-saved ones are dead at a call by the System
//! V ABI, there is no FPU state in soft-float code, and segments, CR3 and GS are the same for
//! all tasks of a CPU.
//!
//! The switch takes no lock. Who may run a context is decided by the runqueues; that nobody
//! runs on a stack that is still in use is checked here, by [`OnCpu`].

use super::stack::Stack;
use core::arch::naked_asm;
use core::cell::UnsafeCell;
use ksync::OnCpu;
use x86_64::instructions::interrupts;

/// A stack and the place of its saved registers.
#[derive(Debug)]
pub(crate) struct Context {
    /// Valid while nobody is on the CPU with this context.
    saved_stack_pointer: UnsafeCell<u64>,
    on_cpu: OnCpu,
    _stack: Option<Stack>,
}

// SAFETY: `saved_stack_pointer` is written and read in `switch` only: by the CPU that leaves the
// context, before `OnCpu::leave`, and by the one that enters it, after `OnCpu::enter`, which
// synchronise with each other and admit one CPU at a time.
unsafe impl Sync for Context {}
// SAFETY: nothing in it belongs to a CPU.
unsafe impl Send for Context {}

impl Context {
    /// The context of the code that is running now: an idle loop.
    pub(crate) fn current() -> Self {
        let on_cpu = OnCpu::off();
        on_cpu.enter();
        Self { saved_stack_pointer: UnsafeCell::new(0), on_cpu, _stack: None }
    }

    /// A context that begins in `entry`, on `stack`, with interrupts off.
    pub(crate) fn new(stack: Stack, entry: extern "C" fn() -> !) -> Self {
        // What `switch_stacks` pops, then its return address. The stack is empty, and aligned
        // for a call, when `first_entry` begins.
        let frame: [u64; 7] = [
            0,                               // r15
            0,                               // r14
            0,                               // r13
            entry as *const () as u64,       // r12
            0,                               // rbx
            0,                               // rbp: ends a backtrace
            first_entry as *const () as u64, // return address
        ];
        let stack_pointer = stack.push_frame(&frame);
        Self {
            saved_stack_pointer: UnsafeCell::new(stack_pointer),
            on_cpu: OnCpu::off(),
            _stack: Some(stack),
        }
    }

    /// Whether a CPU is on this context's stack.
    pub(crate) fn on_cpu(&self) -> &OnCpu {
        &self.on_cpu
    }
}

/// Leaves `prev`, which must be the running context, and goes on in `next`. Returns when
/// somebody switches back to `prev`, perhaps on another CPU. Interrupts must be off.
///
/// # Panics
/// If interrupts are on, or a CPU is on `next` already.
pub(crate) fn switch(prev: &'static Context, next: &'static Context) {
    assert!(!interrupts::are_enabled(), "a switch with interrupts on could be switched away from");
    assert!(prev.on_cpu.is_on(), "the context to leave is not running");
    next.on_cpu.enter();
    // SAFETY: `enter` admitted this CPU alone, and saw what the CPU that left `next` wrote.
    let load = unsafe { *next.saved_stack_pointer.get() };
    // SAFETY: `load` is what this function or `Context::new` saved for a context that nobody
    // runs. `prev` is running here, so no one reads its place until `finish` releases it.
    let left = unsafe { switch_stacks(prev.saved_stack_pointer.get(), load, prev) };
    finish(left);
}

/// The second half of a switch, on the stack that was switched to, with what was left.
extern "C" fn finish(left: &'static Context) {
    left.on_cpu.leave();
}

/// Saves the callee-saved registers on the stack, its pointer in `*save`, and returns on the
/// stack at `load`, there with `left` as its answer.
///
/// # Safety
/// `save` is writable; `load` was saved by this function, or laid out like it, and nobody else
/// uses that stack.
#[unsafe(naked)]
unsafe extern "C" fn switch_stacks(
    save: *mut u64,
    load: u64,
    left: &'static Context,
) -> &'static Context {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "mov rax, rdx",
        "ret",
    )
}

/// Where a new context's first switch returns to, as to a caller of `switch_stacks`: finishes that
/// switch, then enters the function in r12.
#[unsafe(naked)]
extern "C" fn first_entry() {
    naked_asm!("mov rdi, rax", "call {finish}", "call r12", "ud2", finish = sym finish)
}
