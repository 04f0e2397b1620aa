//! Pipes, by the byte: only how many are in them matters.
//!
//! As Linux has it (`pipe(7)`): what fits [`PIPE_BUF`] is written at once or not at all, a
//! writer wakes a reader when the pipe was empty, and a reader wakes a writer when there is room
//! for one again; both do so as wakers that are about to wait.

use super::line::{self, Line};
use crate::arch::ThisCpu;
use crate::irqsoff::let_interrupts_in;
use crate::task::Task;
use abi::record::Waits;
use alloc::boxed::Box;
use ksync::IrqLock;
use spin::Once;

/// What is written in one piece, in bytes.
const PIPE_BUF: u32 = 4096;

static PIPES: Once<Box<[IrqLock<Pipe, ThisCpu>]>> = Once::new();

struct Pipe {
    capacity: u32,
    used: u32,
    readers: Line,
    writers: Line,
}

pub(super) fn init(capacities: &[u32]) {
    let pipe = |&capacity: &u32| {
        IrqLock::new(Pipe { capacity, used: 0, readers: Line::EMPTY, writers: Line::EMPTY })
    };
    PIPES.call_once(|| capacities.iter().map(pipe).collect());
}

fn get(number: u32) -> &'static IrqLock<Pipe, ThisCpu> {
    &PIPES.get().expect("pipes exist before tasks run")[number as usize]
}

impl Pipe {
    fn room(&self) -> u32 {
        self.capacity - self.used
    }

    /// Whether every writer could go on.
    fn has_room(&self) -> bool {
        self.room() >= PIPE_BUF.min(self.capacity)
    }
}

/// Writes so many bytes. Interrupts must be off.
pub(super) fn write(number: u32, bytes: u32, task: &'static Task) {
    let mut left = bytes;
    while left > 0 {
        let mut pipe = get(number).lock_masked();
        if pipe.room() < left.min(PIPE_BUF).min(pipe.capacity) {
            pipe.writers.push(task);
            drop(pipe);
            line::wait(task, Waits::PipeRoom, number);
            continue;
        }
        let was_empty = pipe.used == 0;
        let written = left.min(pipe.room());
        pipe.used += written;
        left -= written;
        let reader = if was_empty { pipe.readers.pop() } else { None };
        let writer = if pipe.has_room() { pipe.writers.pop() } else { None };
        drop(pipe);
        reader.into_iter().chain(writer).for_each(line::wake_sync);
        let_interrupts_in();
    }
}

/// Reads so many bytes. Interrupts must be off.
pub(super) fn read(number: u32, bytes: u32, task: &'static Task) {
    let mut left = bytes;
    while left > 0 {
        let mut pipe = get(number).lock_masked();
        if pipe.used == 0 {
            pipe.readers.push(task);
            drop(pipe);
            line::wait(task, Waits::PipeData, number);
            continue;
        }
        let read = left.min(pipe.used);
        pipe.used -= read;
        left -= read;
        let writer = if pipe.has_room() { pipe.writers.pop() } else { None };
        // What is left over is for the next one; the writer woke only one.
        let reader = if pipe.used > 0 { pipe.readers.pop() } else { None };
        drop(pipe);
        writer.into_iter().chain(reader).for_each(line::wake_sync);
        let_interrupts_in();
    }
}
