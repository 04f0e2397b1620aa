//! COM1, the only way out besides the exit port.
//!
//! One writer at a time: a whole line is written under the lock, so lines of different CPUs
//! never mix. The panic path takes the lock only if it is free, and otherwise opens the port a
//! second time: a damaged line is better than none.

use super::ThisCpu;
use core::fmt::{self, Write};
use ksync::IrqLock;
use uart_16550::backend::PioBackend;
use uart_16550::{Config, Uart16550};

const COM1: u16 = 0x3f8;

static CONSOLE: IrqLock<Console, ThisCpu> = IrqLock::new(Console(None));

/// The port, opened at its first use.
struct Console(Option<Uart16550<PioBackend>>);

impl Console {
    fn open() -> Option<Uart16550<PioBackend>> {
        // SAFETY: ports 0x3f8 to 0x3ff are COM1's on every PC; nothing else here uses them.
        let mut uart = unsafe { Uart16550::new_port(COM1) }.ok()?;
        uart.init(Config::DEFAULT).ok()?;
        Some(uart)
    }
}

impl Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.is_none() {
            self.0 = Self::open();
        }
        let uart = self.0.as_mut().ok_or(fmt::Error)?;
        uart.send_bytes_exact(text.as_bytes());
        Ok(())
    }
}

/// Runs `write` as the only writer.
pub(crate) fn with(write: impl FnOnce(&mut dyn Write) -> fmt::Result) {
    // Without a serial port there is nobody to tell; the runner notices the silence.
    let _ = write(&mut *CONSOLE.lock());
}

/// Runs `write`, over another writer if it must.
pub(crate) fn with_force(write: impl FnOnce(&mut dyn Write) -> fmt::Result) {
    let _ = match CONSOLE.try_lock() {
        Some(mut console) => write(&mut *console),
        None => write(&mut Console(Console::open())),
    };
}
