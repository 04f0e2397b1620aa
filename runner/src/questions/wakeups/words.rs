//! The answer in words, with the counters of this very run.

use super::{Machine, Where, order::Order};
use crate::questions::counts::Count;

/// Says what each step does, on the first model that has the published order, or the first of all.
pub(super) fn answer(machines: &[Machine]) -> String {
    let ordered = machines.iter().find(|machine| Order::of(machine).holds());
    let Some(machine) = ordered.or(machines.first()) else { return String::new() };
    if machine.steps.iter().any(|step| step.counted.is_none()) {
        return "Runs are missing, so nothing can be said.".into();
    }
    let paid = |step: usize, what: Count| machine.count(step, Where::Messengers, what);
    let all = |step: usize, what: Count| machine.count(step, Where::Everywhere, what);
    let change = |step: usize| match machine.steps[step].requests.pct_imp {
        Some(pct) => format!("{pct:+.1} %"),
        None => "?".into(),
    };
    let order = match Order::of(machine) {
        order if order.holds() => "in the published order".to_owned(),
        order => format!("not quite in the published order ({})", order.words()),
    };
    format!(
        "On the model {name} the steps are {order}. All of them change what a message thread pays for \
         waking a worker, and message threads are what limits requests. 6.15 ({}): a worker that \
         blocks while it owes time stays queued, and {:.2} % of wake-ups find it there and take the lock \
         of its CPU's queue; and the deadline server, which starts with a CPU's first fair task and \
         stops with its last, is started {:.2} times by request. Message threads lock other queues \
         {:.3} times by request instead of {:.3}, and machine costs of theirs are {:.0} ns instead of \
         {:.0}. The lazy server ({}) is left armed: {:.3} starts, {:.0} ns. Reading one cache line less of \
         each CPU in a search for an idle one ({}): {:.0} ns, with {:.2} CPUs looked at. \
         TTWU_QUEUE_DELAYED ({}) leaves delayed tasks to their own CPU: {:.3} locks instead of {:.3}. \
         TTWU_QUEUE_DEFAULT ({}) leaves every wake-up to it: {:.3} locks, for {:.2} interrupts sent \
         instead of {:.2}, and {:.0} ns instead of {:.0}.",
        change(1),
        100.0 * all(1, Count::Delayed) / (all(1, Count::Local) + all(1, Count::Remote)),
        all(1, Count::ServerStarts),
        paid(1, Count::RemoteLocks),
        paid(0, Count::RemoteLocks),
        paid(1, Count::CostNs),
        paid(0, Count::CostNs),
        change(2),
        all(2, Count::ServerStarts),
        paid(2, Count::CostNs),
        change(3),
        paid(3, Count::CostNs),
        paid(3, Count::Probes),
        change(4),
        paid(4, Count::RemoteLocks),
        paid(3, Count::RemoteLocks),
        change(5),
        paid(5, Count::RemoteLocks),
        paid(5, Count::Ipis),
        paid(4, Count::Ipis),
        paid(5, Count::CostNs),
        paid(4, Count::CostNs),
        name = machine.name,
    )
}
