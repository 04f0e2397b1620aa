//! The records of a finished run, from the boot CPU, when all others have halted.

use crate::account::{CpuAccount, End as StintEnd, TaskAccount};
use crate::arch::{exit, serial};
use crate::cpu::{self, Cpu};
use crate::machine;
use crate::run;
use crate::sched::Passes;
use crate::task::{self, Moved, Task};
use crate::trace;
use crate::waste;
use crate::workload;
use abi::Histogram;
use abi::record::{self, BucketList, Buckets, End, Measure, Record, Status, Total};
use core::fmt::{self, Write};

/// Sends everything and leaves.
pub(crate) fn report() -> ! {
    let mut sums = Sums::default();
    let mut records = trace::announced();
    serial::with(|out| {
        let mut send = |record: Record| {
            records += 1;
            abi::line::write(out, &record)
        };
        send(Record::Machine(*machine::found()))?;
        for cpu in cpu::all() {
            send_cpu(cpu, &mut sums, &mut send)?;
            send_balance(cpu, &mut send)?;
        }
        for task in task::all() {
            send_task(task, &mut sums, &mut send)?;
        }
        send_workload(&mut send)?;
        let mut lost_records = 0;
        for cpu in cpu::all() {
            if let Some(decisions) = &cpu.rq.lock().decisions {
                decisions.send(&mut send)?;
                lost_records += decisions.lost();
            }
        }
        send(Record::Moves(moves(&sums.moves)))?;
        send(Record::Total(Total {
            elapsed_ns: run::elapsed_ns(),
            switches: sums.switches,
            migrations: sums.moves.iter().sum(),
            wakeups: sums.wakeups,
            lost_records,
            lag_violations: sums.lag_violations,
            failed_spawns: workload::failed_spawns(),
            ending: run::ending(),
        }))
    });
    serial::with(|out: &mut dyn Write| {
        abi::line::write(out, &Record::End(End { status: Status::Ok, records }))
    });
    exit::exit(abi::exit::OK)
}

#[derive(Default)]
struct Sums {
    switches: u64,
    /// By [`Moved`].
    moves: [u64; Moved::ALL.len()],
    wakeups: u64,
    lag_violations: u64,
}

type Send<'a> = &'a mut dyn FnMut(Record) -> fmt::Result;

fn send_cpu(cpu: &Cpu, sums: &mut Sums, send: Send<'_>) -> fmt::Result {
    let rq = cpu.rq.lock();
    sums.switches += rq.switches;
    sums.lag_violations += rq.fair.lag_violations();
    let tick = cpu.tick_timer.get().expect("every CPU measures its timer before it runs");
    let account: &CpuAccount = &cpu.account.lock();
    send(Record::Cpu(record::Cpu {
        cpu: cpu.id,
        apic_id: cpu.apic_id,
        ticks: account.ticks,
        missed_ticks: account.missed_ticks,
        timer_count: tick.count,
        measured_mhz: tick.measured_mhz,
        busy_ns: rq.busy_ns,
        idle_ns: run::elapsed_ns().saturating_sub(rq.busy_ns),
        irq_ns: account.irq_ns,
        switches: rq.switches,
        ipis: account.ipis,
        irqsoff_ns: account.irqsoff_ns,
        goes_idle: rq.goes_idle,
        yields: rq.yields,
        run_delay_ns: rq.run_delay_ns,
    }))?;
    send(Record::Wakeups(account.wakeups))?;
    send_histogram(Measure::TickInterval, cpu.id, &account.tick_interval, send)?;
    send_histogram(Measure::TickCost, cpu.id, &account.tick_cost, send)?;
    send_histogram(Measure::TimerLate, cpu.id, &account.timer_late, send)
}

fn send_balance(cpu: &Cpu, send: Send<'_>) -> fmt::Result {
    let state = cpu.balance.lock();
    let counters = state.counters;
    let wasted = waste::of_cpu(cpu.id);
    send(Record::Balance(record::Balance {
        cpu: cpu.id,
        attempts: counters.attempts,
        failed: counters.failed,
        newidle_pulls: counters.newidle_pulls,
        newidle_misses: counters.newidle_misses,
        pushes: counters.pushes,
        kicks: counters.kicks,
        wasted_ns: wasted.total_ns,
        wasted_longest_ns: wasted.longest_ns,
    }))?;
    for (domain, passes) in (0..).zip(state.passes()) {
        if passes != Passes::default() {
            send(Record::Domain(passes.record(cpu.id, domain)))?;
        }
    }
    Ok(())
}

fn moves(by: &[u64; Moved::ALL.len()]) -> record::Moves {
    let of = |why: Moved| by[why as usize];
    record::Moves {
        wakeup: of(Moved::Wakeup),
        fork: cpu::all().iter().map(|cpu| cpu.balance.lock().counters.forks).sum(),
        periodic: of(Moved::Periodic),
        newidle: of(Moved::Newidle),
        active: of(Moved::Active),
        nohz: of(Moved::Nohz),
        affinity: of(Moved::Affinity),
        wasted_ns: waste::total_ns(),
    }
}

fn send_task(task: &Task, sums: &mut Sums, send: Send<'_>) -> fmt::Result {
    let (charged_ns, slice_ns) = run::charged(task);
    let account: &TaskAccount = &task.account.lock();
    for (sum, &moves) in sums.moves.iter_mut().zip(&account.moves) {
        *sum += u64::from(moves);
    }
    sums.wakeups += account.wakeups;
    let ends = |end: StintEnd| account.ends[end as usize];
    let (lag_min_ns, lag_max_ns) = account.lag_ns.unwrap_or_default();
    send(Record::Task(record::Task {
        task: task.id,
        slice_ns,
        runtime_ns: account.runtime_ns,
        charged_ns,
        slice: ends(StintEnd::Slice),
        preempt: ends(StintEnd::Preempt),
        block: ends(StintEnd::Block),
        yields: ends(StintEnd::Yield),
        migrate: ends(StintEnd::Migrate),
        exit: ends(StintEnd::Exit),
        extra_ticks: account.extra_ticks,
        migrations: account.moves.iter().map(|&moves| u64::from(moves)).sum(),
        wakeups: account.wakeups,
        run_delay_ns: account.run_delay_ns,
        lag_min_ns,
        lag_max_ns,
    }))?;
    send_histogram(Measure::Stint, task.id, &account.stint, send)?;
    send_histogram(Measure::StintTicks, task.id, &account.stint_ticks, send)?;
    send_histogram(Measure::WakeupLatency, task.id, &account.wakeup_latency, send)
}

/// What the programs measured, and who waits for whom.
fn send_workload(send: Send<'_>) -> fmt::Result {
    for (counter, value) in (0..).zip(workload::counters()) {
        send(Record::Counter(record::Counter { counter, value }))?;
    }
    workload::histograms(|number, histogram| {
        send_histogram(Measure::Measured, number, histogram, send)
    })?;
    for task in task::all() {
        if let Some((on, object)) = task.waits.get() {
            send(Record::Wait(record::Wait { task: task.id, on, object }))?;
        }
    }
    for (mutex, task) in workload::held_mutexes() {
        send(Record::Held(record::Held { mutex, task }))?;
    }
    Ok(())
}

fn send_histogram<const N: usize>(
    of: Measure,
    owner: u32,
    histogram: &Histogram<N>,
    send: Send<'_>,
) -> fmt::Result {
    let moments = histogram.moments();
    if moments.count == 0 {
        return Ok(());
    }
    send(Record::Moments(record::Moments {
        of,
        owner,
        count: moments.count,
        min: moments.min,
        max: moments.max,
        sum: moments.sum,
        sum_of_squares: moments.sum_of_squares,
    }))?;
    let mut filled = histogram.filled();
    while let Some(filled) = BucketList::take_from(&mut filled) {
        send(Record::Buckets(Buckets { of, owner, filled }))?;
    }
    Ok(())
}
