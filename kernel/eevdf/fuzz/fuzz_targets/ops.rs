//! Bytes as rules, attributes and a sequence of operations, for the driver of the property test.
//!
//! Coverage leads where chance seldom goes: a rule that needs three conditions at once, a tree shape
//! that rotates twice.

#![no_main]

#[path = "../../tests/lane/mod.rs"]
mod lane;

use arbitrary::{Result, Unstructured};
use eevdf::{Attr, Dequeue, Features, Nice, Policy, Preset, Rules, Wake};
use lane::{Look, Op, go_through, mixed};
use libfuzzer_sys::fuzz_target;

/// Longer sequences find nothing new and slow the search down.
const MAX_OPS: usize = 300;

fn rules(input: &mut Unstructured<'_>) -> Result<Rules> {
    let preset = *input.choose(&Preset::ALL)?;
    let other = *input.choose(&Preset::ALL)?;
    let rules = Rules::new(preset, input.int_in_range(1..=8)?, *input.choose(&[100, 250, 1000])?);
    let flipped: u16 = input.arbitrary()?;
    let features = Features::from_bits(rules.features().bits() ^ u64::from(flipped));
    let mut rules = rules.with_features(features);
    rules.variant = mixed(preset.variant(), other.variant(), input.arbitrary()?);
    Ok(rules)
}

fn attr(input: &mut Unstructured<'_>) -> Result<Attr> {
    let level = input.int_in_range(-20..=19)?;
    Ok(Attr {
        nice: Nice::new(level).expect("between -20 and 19"),
        policy: *input.choose(&[Policy::Normal, Policy::Batch, Policy::Idle])?,
        slice_ns: match input.int_in_range(0..=2)? {
            0 => None,
            1 => Some(*input.choose(&[100_000, 3_000_000, 100_000_000])?),
            _ => Some(input.int_in_range(1..=200_000_000)?),
        },
    })
}

fn op(input: &mut Unstructured<'_>, count: usize) -> Result<Op> {
    let id = input.choose_index(count)?;
    Ok(match input.int_in_range(0..=9)? {
        0 => Op::Run {
            ns: input.int_in_range(0..=12_000_000)?,
            how: *input.choose(&[Look::Charge, Look::Tick, Look::SliceTimer])?,
        },
        1 => Op::Wake {
            id,
            how: Wake {
                fork: input.arbitrary()?,
                sync: input.arbitrary()?,
                cpu_selected: input.arbitrary()?,
            },
        },
        2 => Op::Dequeue {
            id,
            why: *input.choose(&[
                Dequeue::Sleep,
                Dequeue::SleepSpecial,
                Dequeue::Migrate,
                Dequeue::Change,
                Dequeue::Exit,
            ])?,
        },
        3 => Op::Block,
        4 => Op::Pick,
        5 => Op::Yield,
        6 => Op::YieldTo { id },
        7 => Op::SetAttr { id, attr: attr(input)? },
        8 => Op::Migrate { id },
        _ => Op::Change { id, attr: attr(input)? },
    })
}

fn run(input: &mut Unstructured<'_>) -> Result<()> {
    let rules = rules(input)?;
    // Enough for several leaves, so that they split, share and merge.
    let count = input.int_in_range(2..=80)?;
    let attrs = (0..count).map(|_| attr(input)).collect::<Result<Vec<_>>>()?;
    let ops = core::iter::from_fn(|| (!input.is_empty()).then(|| op(input, count).ok()).flatten());
    go_through(rules, &attrs, ops.take(MAX_OPS));
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    // Too few bytes for a world are no world.
    let _ = run(&mut Unstructured::new(data));
});
