//! How far a command is: a bar in a terminal, plain lines elsewhere, nothing when quiet.

use indicatif::{ProgressBar, ProgressStyle};
use std::{
    io::{self, IsTerminal},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Plain output gets about this many lines.
const PLAIN_LINES: u64 = 8;

/// A number of equal steps, some of them done.
pub(crate) struct Progress {
    kind: Kind,
    what: String,
    steps: u64,
    done: AtomicU64,
}

enum Kind {
    Quiet,
    Plain,
    Bar(ProgressBar),
}

impl Progress {
    /// Starts to show `steps` steps of `what`.
    pub(crate) fn start(what: &str, steps: usize, quiet: bool) -> Self {
        let steps = steps as u64;
        let kind = if quiet {
            Kind::Quiet
        } else if io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len} {elapsed}")
                .expect("the template is well-formed")
                .progress_chars("=> ");
            let bar = ProgressBar::new(steps).with_style(style).with_message(what.to_owned());
            bar.enable_steady_tick(Duration::from_millis(250));
            Kind::Bar(bar)
        } else {
            Kind::Plain
        };
        Self { kind, what: what.to_owned(), steps, done: AtomicU64::new(0) }
    }

    /// One more step is done.
    pub(crate) fn step(&self) {
        // Relaxed: only the count matters.
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        match &self.kind {
            Kind::Quiet => {}
            Kind::Bar(bar) => bar.inc(1),
            Kind::Plain => {
                let part = |done| done * PLAIN_LINES / self.steps.max(1);
                if part(done) != part(done - 1) {
                    anstream::eprintln!("{}: {done} of {}", self.what, self.steps);
                }
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Kind::Bar(bar) = &self.kind {
            bar.finish_and_clear();
        }
    }
}
