//! How long a run lasts, and how long tasks take at least.

use crate::rtapp::model::{Description, Event, Loops, Phase, Task};

/// The length of a run that nothing bounds, ns.
const ENDLESS_NS: u64 = 10_000_000_000;
/// The longest run, ns.
const LONGEST_NS: u64 = 4 * 3600 * 1_000_000_000;

/// How long a run lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// As long as the file says.
    Stated(u64),
    /// Until all tasks have ended, which takes no longer than this where none waits for ever.
    UntilDone(u64),
    /// The file says nothing, and tasks loop for ever: as long as other runs.
    Endless(u64),
}

impl Length {
    /// At most so many ns.
    pub const fn ns(self) -> u64 {
        match self {
            Self::Stated(ns) | Self::UntilDone(ns) | Self::Endless(ns) => ns,
        }
    }
}

/// The length that a file asks for.
pub fn length(description: &Description) -> Length {
    if let Some(ns) = description.global.duration_ns {
        return Length::Stated(ns);
    }
    let ends = |task: &Task| {
        task.loops != Loops::Forever
            && task.phases.iter().all(|phase| phase.loops != Loops::Forever)
    };
    if !description.tasks.iter().all(ends) {
        return Length::Endless(ENDLESS_NS);
    }
    // One after the other, as on one CPU with everybody waiting for everybody. A fork is one
    // task more for each time, and its length is in the sum already.
    let one = |task: &Task| life(task).saturating_mul(u64::from(task.instances.max(1)));
    let sum = description.tasks.iter().map(one).fold(0, u64::saturating_add);
    Length::UntilDone(sum.saturating_mul(2).clamp(ENDLESS_NS, LONGEST_NS))
}

/// Time that a thread takes from start to end without waiting for others.
fn life(task: &Task) -> u64 {
    task.delay_ns.saturating_add(times(task.loops).saturating_mul(pass(task)))
}

/// Time that a thread takes to go through its phases once.
pub(super) fn pass(task: &Task) -> u64 {
    task.phases.iter().map(of_phase).fold(0, u64::saturating_add)
}

fn of_phase(phase: &Phase) -> u64 {
    times(phase.loops).saturating_mul(once(phase))
}

/// Time that a thread takes to go through the events of a phase once.
pub(super) fn once(phase: &Phase) -> u64 {
    let of_event = |event: &Event| match *event {
        Event::Run(ns) | Event::RunWall(ns) | Event::Sleep(ns) => ns,
        Event::Timer { period_ns, .. } => period_ns,
        _ => 0,
    };
    phase.steps.iter().map(|step| of_event(&step.event)).fold(0, u64::saturating_add)
}

fn times(loops: Loops) -> u64 {
    match loops {
        Loops::Forever => u64::MAX,
        Loops::Times(times) => times.into(),
    }
}
