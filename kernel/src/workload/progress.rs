//! Whether anything can still happen.
//!
//! Only tasks wake tasks that wait for each other. So once every task that is alive waits for
//! another one, and none sleeps, computes or is about to run, nothing will ever happen again:
//! a deadlock, known at the very moment when the last one begins to wait. Likewise, once no
//! task is alive but those in the background, the run is over.
//!
//! `ALIVE` counts the tasks that the run waits for, `ACTIVE` all that are alive and not waiting. A
//! waker counts the task it wakes before it can itself begin to wait, so the count does not fall
//! to zero in between.

use crate::run;
use crate::task::Task;
use abi::record::Ending;
use core::sync::atomic::{AtomicU32, Ordering};

static ALIVE: AtomicU32 = AtomicU32::new(0);
static ACTIVE: AtomicU32 = AtomicU32::new(0);

// SeqCst throughout: two counters that are read together.

/// A task begins, at the start or spawned.
pub(crate) fn starts(task: &Task) {
    if !task.is_background {
        ALIVE.fetch_add(1, Ordering::SeqCst);
    }
    ACTIVE.fetch_add(1, Ordering::SeqCst);
}

/// The running task has come to its end.
pub(super) fn ended(task: &Task) {
    if !task.is_background && ALIVE.fetch_sub(1, Ordering::SeqCst) == 1 {
        run::end_early(Ending::Done);
    }
    one_less();
}

/// The running task begins to wait for another one.
pub(super) fn waits() {
    one_less();
}

/// A task that waited was woken.
pub(super) fn goes_on() {
    ACTIVE.fetch_add(1, Ordering::SeqCst);
}

fn one_less() {
    if ACTIVE.fetch_sub(1, Ordering::SeqCst) == 1 {
        run::end_early(match ALIVE.load(Ordering::SeqCst) {
            0 => Ending::Done,
            _ => Ending::Deadlock,
        });
    }
}
