use super::*;
use crate::rtapp::{Machine, parse};
use abi::{
    Op,
    program::{Late, Since},
};
use program::{IN_PHASE, IN_TASK};

fn of(text: &str) -> Workload {
    let machine = Machine { cpus: 4, without_slices: None };
    let description = parse("f", text, &machine).expect("a workload");
    let workload = lower(&description, 4, length(&description).ns());
    workload.specs(4).expect("the kernel takes it");
    workload
}

fn ops(workload: &Workload, thread: usize) -> &[Op] {
    &workload.tasks()[thread].program
}

#[test]
fn an_endless_task_is_a_jump_and_a_count() {
    let workload = of(r#"{"tasks": {"t": {"run": 5, "sleep": 0, "sleep1": 7}}}"#);
    let count = Op::Count { counter: 0, by: 1 };
    assert_eq!(ops(&workload, 0), [Op::Run(5000), Op::Sleep(7000), count, Op::Jump(0)]);
}

#[test]
fn phases_are_loops_in_a_loop() {
    let workload = of(r#"{"tasks": {"t": {"delay": 9, "loop": 2, "cpus": [1], "phases": {
        "a": {"loop": 3, "run": 1},
        "b": {"cpus": [2, 3], "priority": 4, "dl-runtime": 300, "run": 2}}}}}"#);
    let count = |counter| Op::Count { counter, by: 1 };
    let begins = |histogram| Op::Measure { since: Since::Start, histogram };
    assert_eq!(
        ops(&workload, 0),
        [
            Op::SleepUntil(9000),
            Op::Epoch(9000),
            Op::SetAffinity(0),
            begins(0),
            Op::Run(1000),
            count(0),
            count(1),
            Op::Repeat { counter: IN_PHASE, times: 3, to: 4 },
            Op::SetAffinity(1),
            Op::SetNice(4),
            Op::SetSlice(Some(300_000)),
            begins(1),
            Op::Run(2000),
            count(0),
            count(2),
            Op::Repeat { counter: IN_TASK, times: 2, to: 2 },
        ]
    );
    let sets = &workload.shared.resources().cpu_sets;
    assert_eq!(*sets, [CpuSet::only(1), [2, 3].into_iter().collect()]);
    assert_eq!(workload.tasks()[0].pin, Some(CpuSet::only(1)));
}

#[test]
fn nothing_follows_an_endless_phase() {
    let workload = of(r#"{"tasks": {"t": {"phases": {
        "a": {"run": 1}, "b": {"loop": -1, "run": 2}, "c": {"run": 3}}}}}"#);
    let ops = ops(&workload, 0);
    assert_eq!(ops.last(), Some(&Op::Jump(5)), "{ops:?}");
    assert!(!ops.contains(&Op::Run(3000)), "{ops:?}");
}

#[test]
fn each_thread_has_its_own_unique_timers() {
    let workload = of(r#"{"tasks": {
        "a": {"instance": 2, "timer": {"ref": "unique", "period": 5, "mode": "absolute"},
            "timer1": {"ref": "tick", "period": 6}},
        "b": {"timer": {"ref": "unique", "period": 7}}}}"#);
    let timers = |thread: usize| -> Vec<_> {
        let timer = |op: &Op| match *op {
            Op::Timer { timer, period_ns, late } => Some((timer, period_ns, late)),
            _ => None,
        };
        ops(&workload, thread).iter().filter_map(timer).collect()
    };
    let tick = (0, 6000, Late::Restart);
    assert_eq!(timers(0), [(1, 5000, Late::CatchUp), tick]);
    assert_eq!(timers(1), [(2, 5000, Late::CatchUp), tick]);
    assert_eq!(timers(2), [(3, 7000, Late::Restart)]);
}

#[test]
fn what_is_locked_is_unlocked() {
    let workload = of(r#"{"tasks": {
        "a": {"sync": {"ref": "q", "mutex": "m"}, "suspend"},
        "b": {"run": 1, "resume": "a"}}}"#);
    let wait = |condition, mutex| Op::CondWait { condition, mutex: Some(mutex) };
    let suspend = [Op::Lock(1), wait(1, 1), Op::Unlock(1)];
    let sync = [Op::Lock(0), Op::Signal(0), wait(0, 0), Op::Unlock(0)];
    assert_eq!(ops(&workload, 0)[..7], [&sync[..], &suspend[..]].concat());
    assert_eq!(ops(&workload, 1)[1..4], [Op::Lock(1), Op::Broadcast(1), Op::Unlock(1)]);
}

#[test]
fn pools_hold_as_many_as_forks_can_make() {
    let pools = |text: &str| of(text).tasks().iter().filter(|task| task.pool.is_some()).count();
    let child = r#""c": {"instance": 0, "loop": 1, "run": 1}"#;
    // Two parents, three loops, two forks each.
    let parents = r#""p": {"instance": 2, "loop": 3, "run": 1, "fork": "c", "fork1": "c"}"#;
    assert_eq!(pools(&format!(r#"{{"tasks": {{{parents}, {child}}}}}"#)), 12);
    // Every 10 ms for a second.
    let endless = r#""p": {"run": 1, "timer": {"ref": "unique", "period": 9999}, "fork": "c"}"#;
    let global = r#""global": {"duration": 1}"#;
    assert_eq!(pools(&format!(r#"{{"tasks": {{{endless}, {child}}}, {global}}}"#)), 100);
    // A bomb, and children that fork once.
    let bomb = r#"{"tasks": {"b": {"run": 10, "fork": "b"}}}"#;
    assert_eq!(pools(bomb), 1024);
    let chain = r#"{"tasks": {"a": {"loop": 5, "run": 1, "fork": "b"},
        "b": {"instance": 0, "loop": 1, "run": 1, "fork": "c"},
        "c": {"instance": 0, "loop": 1, "run": 1}}}"#;
    assert_eq!(pools(chain), 10);
}

#[test]
fn the_length_is_stated_bounded_or_a_default() {
    let length = |text: &str| {
        let machine = Machine { cpus: 1, without_slices: None };
        super::length(&parse("f", text, &machine).expect("a workload"))
    };
    let global = r#""global": {"duration": 3}"#;
    let endless = r#"{"tasks": {"t": {"run": 5}}"#;
    assert_eq!(length(&format!("{endless}, {global}}}")), Length::Stated(3_000_000_000));
    assert_eq!(length(&format!("{endless}}}")), Length::Endless(10_000_000_000));
    let ends = r#"{"tasks": {"t": {"instance": 2, "loop": 4, "run": 2000000, "sleep": 3000000}}}"#;
    assert_eq!(length(ends), Length::UntilDone(2 * 2 * 4 * 5_000_000_000));
    let short = r#"{"tasks": {"t": {"loop": 1, "run": 1}}}"#;
    assert_eq!(length(short), Length::UntilDone(10_000_000_000));
}
