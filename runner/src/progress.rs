//! How far a command is and how long the rest may take: a bar in a terminal, plain lines
//! elsewhere, nothing when quiet.

use indicatif::{ProgressBar, ProgressStyle};
use std::{
    io::{self, IsTerminal},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Plain output gets about this many lines.
const PLAIN_LINES: u64 = 8;

/// A number of equal steps, some of them done.
pub(crate) struct Progress {
    kind: Kind,
    what: String,
    steps: u64,
    done: AtomicU64,
    start: Instant,
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
            let style =
                ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len} {elapsed}, {eta} left")
                    .expect("the template is well-formed")
                    .progress_chars("=> ");
            let bar = ProgressBar::new(steps).with_style(style).with_message(what.to_owned());
            bar.enable_steady_tick(Duration::from_millis(250));
            Kind::Bar(bar)
        } else {
            Kind::Plain
        };
        Self { kind, what: what.to_owned(), steps, done: AtomicU64::new(0), start: Instant::now() }
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
                    let left = remaining(self.start.elapsed(), done, self.steps);
                    anstream::eprintln!("{}: {done} of {}{left}", self.what, self.steps);
                }
            }
        }
    }
}

/// An estimate in words, from what the steps done took.
fn remaining(elapsed: Duration, done: u64, steps: u64) -> String {
    match steps.saturating_sub(done) {
        0 => String::new(),
        left => {
            let seconds = elapsed.as_secs_f64() / done.max(1) as f64 * left as f64;
            let seconds = seconds.ceil() as u64;
            match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
                (0, 0, s) => format!(", about {s} s left"),
                (0, m, s) => format!(", about {m} min {s} s left"),
                (h, m, _) => format!(", about {h} h {m} min left"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_is_done() {
        let left = |seconds, done, steps| remaining(Duration::from_secs(seconds), done, steps);
        assert_eq!(left(10, 4, 8), ", about 10 s left");
        assert_eq!(left(90, 1, 2), ", about 1 min 30 s left");
        assert_eq!(left(3600, 1, 3), ", about 2 h 0 min left");
        assert_eq!(left(10, 8, 8), "");
    }
}
