//! Ctrl-C and SIGTERM as a question that long waits ask.
//!
//! The first signal asks for an orderly end: guests are killed, what is known is reported. The
//! second one ends the process at once; guests die with it, see `leash`.

use crate::error::EXIT_INTERRUPTED;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};
use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

static REQUESTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Makes the signals set the flag from now on; without it they end the process as usual.
///
/// # Errors
/// Those of the operating system.
pub fn install() -> io::Result<()> {
    let requested = REQUESTED.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the first signal finds the flag still down.
        flag::register_conditional_shutdown(
            signal,
            EXIT_INTERRUPTED.into(),
            Arc::clone(requested),
        )?;
        flag::register(signal, Arc::clone(requested))?;
    }
    Ok(())
}

/// Whether the user wants an end.
pub fn requested() -> bool {
    // Relaxed: nothing else is read on the strength of it.
    REQUESTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
