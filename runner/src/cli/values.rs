//! Readers of flag values. Each error says what would be right; clap adds flag and value.

use crate::{config, model, repeat, trace, units, workload};
use abi::{
    Burn, Clock, Cost, CpuSet, Crash, MAX_CPUS, NohzMode, Preempt, Steal, Surroundings, TickMode,
    scenario::{DlServer, FIFO_PRIORITIES, Policy},
    trace::ring::LINE_BYTES,
};
use eevdf::{Feature, Preset, TunableScaling};
use std::{fmt::Display, ops::RangeInclusive, str::FromStr, time::Duration};

/// A time that is not negative, in ns.
pub(super) fn time(text: &str) -> Result<u64, units::TimeError> {
    units::parse(text)
}

/// A time that may be negative, in ns.
pub(super) fn signed_time(text: &str) -> Result<i64, units::TimeError> {
    units::parse_signed(text)
}

/// A limit in host time.
pub(super) fn limit(text: &str) -> Result<Duration, String> {
    match units::parse(text) {
        Ok(0) => Err("nothing can be done in no time".into()),
        Ok(ns) => Ok(Duration::from_nanos(ns)),
        Err(error) => Err(error.to_string()),
    }
}

/// A number of CPUs.
pub(super) fn cpus(text: &str) -> Result<u32, String> {
    whole(text, &config::CPUS)
}

/// A tick rate.
pub(super) fn hz(text: &str) -> Result<u32, String> {
    whole(text, &config::HZ)
}

/// How often a run is repeated.
pub(super) fn repeats(text: &str) -> Result<u32, String> {
    whole(text, &repeat::TIMES)
}

/// One of a machine's costs.
pub(super) fn cost(text: &str) -> Result<(Cost, u32), String> {
    let known = Cost::ALL.map(Cost::name);
    let Some((name, time)) = text.split_once('=') else {
        return Err(format!(
            "must be NAME=TIME, such as ipi_send=1us; names are {}",
            known.join(", ")
        ));
    };
    let cost = Cost::parse(name).ok_or_else(|| format!("{name} is {}", unknown(name, &known)))?;
    Ok((cost, model::cost_time(time)?))
}

/// Guest memory, MiB.
pub(super) fn memory(text: &str) -> Result<u32, String> {
    whole(text, &config::MEMORY_MIB)
}

/// Slots of a trace's ring from its memory in KiB.
pub(super) fn ring(text: &str) -> Result<u32, String> {
    let kib: u32 = whole(text, &trace::RING_KIB)?;
    // The layout wants a power of two; nobody gets less than was asked for.
    Ok((kib * 1024 / LINE_BYTES as u32).next_power_of_two())
}

/// Where random streams start.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    whole(text, &(0..=u64::MAX))
}

pub(crate) fn whole<T>(text: &str, range: &RangeInclusive<T>) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display,
{
    let (start, end) = (range.start(), range.end());
    text.parse()
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| format!("must be a whole number from {start} to {end}"))
}

/// A number of tasks of one kind.
pub(super) fn count(text: &str) -> Result<usize, String> {
    whole(text, &(0..=workload::MAX_TASKS))
}

/// The name of the preset that is used when none is named.
pub(super) fn newest_preset_name() -> &'static str {
    config::newest_preset().name()
}

/// A Linux version.
pub(super) fn preset(text: &str) -> Result<Preset, String> {
    let names = Preset::ALL.map(Preset::name);
    Preset::parse(text).ok_or_else(|| unknown(text, &names))
}

/// A feature, whoever decides by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyFeature {
    /// One queue.
    Queue(Feature),
    /// CPU selection and remote wake-ups.
    Placement(placement::Feature),
}

impl AnyFeature {
    pub(super) fn of_queue(self) -> Option<Feature> {
        match self {
            Self::Queue(feature) => Some(feature),
            Self::Placement(_) => None,
        }
    }

    pub(super) fn of_placement(self) -> Option<placement::Feature> {
        match self {
            Self::Queue(_) => None,
            Self::Placement(feature) => Some(feature),
        }
    }
}

/// A feature as Linux writes it: `NAME` switches on, `NO_NAME` off.
pub(super) fn feature(text: &str) -> Result<(AnyFeature, bool), String> {
    let upper = text.to_ascii_uppercase();
    let (name, on) = match upper.strip_prefix("NO_") {
        Some(name) => (name, false),
        None => (upper.as_str(), true),
    };
    let of_queue = Feature::parse(name).map(AnyFeature::Queue);
    let feature = of_queue.or_else(|| placement::Feature::parse(name).map(AnyFeature::Placement));
    feature.map(|feature| (feature, on)).ok_or_else(|| {
        let names = Feature::ALL.map(Feature::name).into_iter();
        let names = names.chain(placement::Feature::ALL.map(placement::Feature::name));
        unknown(name, &names.collect::<Vec<_>>())
    })
}

/// A clock.
pub(super) fn clock(text: &str) -> Result<Clock, String> {
    word(text, &[("virtual", Clock::Virtual), ("real", Clock::Real)])
}

/// A way to spend time.
pub(super) fn burn(text: &str) -> Result<Burn, String> {
    word(text, &[("halt", Burn::Halt), ("spin", Burn::Spin)])
}

/// A way to make the tick.
pub(super) fn tick(text: &str) -> Result<TickMode, String> {
    word(text, &[("oneshot", TickMode::Oneshot), ("periodic", TickMode::Periodic)])
}

/// What idle CPUs do.
pub(super) fn nohz(text: &str) -> Result<NohzMode, String> {
    word(text, &[("off", NohzMode::Off), ("idle", NohzMode::Idle)])
}

/// What decides where tasks go.
pub(super) fn surroundings(text: &str) -> Result<Surroundings, String> {
    word(text, &[("simple", Surroundings::Simple), ("linux", Surroundings::Linux)])
}

/// A preemption model.
pub(super) fn preempt(text: &str) -> Result<Preempt, String> {
    let words = [
        ("none", Preempt::None),
        ("voluntary", Preempt::Voluntary),
        ("full", Preempt::Full),
        ("lazy", Preempt::Lazy),
    ];
    word(text, &words)
}

/// What keeps real-time tasks from starving fair ones.
pub(super) fn dl_server(text: &str) -> Result<DlServer, String> {
    let words = [("off", DlServer::Off), ("eager", DlServer::Eager), ("lazy", DlServer::Lazy)];
    word(text, &words)
}

/// Whether something is done.
pub(super) fn on_off(text: &str) -> Result<bool, String> {
    word(text, &[("on", true), ("off", false)])
}

/// How the base slice grows.
pub(super) fn scaling(text: &str) -> Result<TunableScaling, String> {
    let words = [
        ("none", TunableScaling::None),
        ("log", TunableScaling::Log),
        ("linear", TunableScaling::Linear),
    ];
    word(text, &words)
}

/// A scheduling policy; Linux's constants are understood too.
pub(super) fn policy(text: &str) -> Result<Policy, String> {
    let lower = text.to_ascii_lowercase();
    let short = lower.strip_prefix("sched_").unwrap_or(&lower);
    if let Some(priority) = short.strip_prefix("fifo:") {
        return Ok(Policy::Fifo { priority: whole(priority, &FIFO_PRIORITIES)? });
    }
    if short == "fifo" {
        return Err("needs a priority, 1 to 99: fifo:10".into());
    }
    let words = [
        ("normal", Policy::Normal),
        ("other", Policy::Normal),
        ("batch", Policy::Batch),
        ("idle", Policy::Idle),
    ];
    word(short, &words).map_err(|known| format!("{known}, fifo:PRIORITY"))
}

/// A way to break the guest.
pub(super) fn crash(text: &str) -> Result<Crash, String> {
    word(text, &Crash::ALL.map(|how| (how.name(), how)))
}

/// A nice value.
pub(super) fn nice(text: &str) -> Result<i8, String> {
    text.parse()
        .ok()
        .filter(|nice| workload::NICE.contains(nice))
        .ok_or_else(|| "must be -20 to 19".into())
}

/// A task's own slice; `-` for none.
pub(super) fn slice(text: &str) -> Result<Option<u64>, String> {
    if text == "-" {
        return Ok(None);
    }
    let range = workload::CUSTOM_SLICE_NS;
    match units::parse(text) {
        Ok(ns) if range.contains(&ns) => Ok(Some(ns)),
        Ok(_) => Err(format!("must be {}, or - for the base slice", workload::time_range(&range))),
        Err(error) => Err(error.to_string()),
    }
}

/// A CPU, a range of CPUs, or `-` for all.
pub(crate) fn pin(text: &str) -> Result<Option<CpuSet>, String> {
    if text == "-" || text == "any" {
        return Ok(None);
    }
    let cpu = |number: &str| {
        number.parse().ok().filter(|&cpu: &usize| cpu < MAX_CPUS).ok_or_else(|| {
            format!("must be a CPU (0 to {}), a range such as 0-3, or - for any", MAX_CPUS - 1)
        })
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (cpu(first)?, cpu(last)?);
    if first > last {
        return Err("the range ends before it begins".into());
    }
    Ok(Some((first..=last).collect()))
}

/// `COUNT:RUN:SLEEP`.
pub(super) fn bursts(text: &str) -> Result<(usize, u64, u64), String> {
    let parts: Vec<_> = text.split(':').collect();
    let [number, run, sleep] = parts[..] else {
        return Err("must be COUNT:RUN:SLEEP, such as 2:1ms:9ms".into());
    };
    Ok((count(number)?, part("RUN", run)?, part("SLEEP", sleep)?))
}

/// `COUNT` or `COUNT:RUN`.
pub(super) fn counted(text: &str) -> Result<(usize, Option<u64>), String> {
    match text.split_once(':') {
        None => Ok((count(text)?, None)),
        Some((number, run)) => Ok((count(number)?, Some(part("RUN", run)?))),
    }
}

/// `RATE:RUN[:SHARE%]`.
pub(super) fn background(text: &str) -> Result<(f64, u64, u32), String> {
    let mut parts = text.splitn(3, ':');
    let (Some(rate), Some(run)) = (parts.next(), parts.next()) else {
        return Err("must be RATE:RUN, wake-ups a second and a time, such as 64:500us".into());
    };
    let range = workload::WAKE_RATE;
    let rate = rate.parse().ok().filter(|rate| range.contains(rate)).ok_or_else(|| {
        format!("RATE must be {} to {} wake-ups a second", range.start(), range.end())
    })?;
    let share = parts.next().unwrap_or("0%");
    let at_tick_pct = share
        .strip_suffix('%')
        .and_then(|share| share.parse().ok())
        .filter(|share| (0..=100).contains(share))
        .ok_or("SHARE must be 0% to 100%")?;
    Ok((rate, part("RUN", run)?, at_tick_pct))
}

/// `PERIOD:TIME`.
pub(super) fn steal(text: &str) -> Result<Steal, String> {
    let (period, time) = text
        .split_once(':')
        .ok_or("must be PERIOD:TIME, such as 100ms:2ms: 2 ms stolen every 100 ms")?;
    Ok(Steal { period_ns: part("PERIOD", period)?, time_ns: part("TIME", time)? })
}

/// `FROM..TO`, either of which may be left out: a window of time, ns.
pub(super) fn window(text: &str) -> Result<(u64, u64), String> {
    let (from, to) =
        text.split_once("..").ok_or("must be FROM..TO, times of the run, such as 1s..1010ms")?;
    between(from, to)
}

/// Two times of the run with a comma in between, either of which may be missing.
pub(super) fn interval(text: &str) -> Result<(u64, u64), String> {
    let (from, to) =
        text.split_once(',').ok_or("must be FROM,TO, times of the run, such as 1s,1010ms")?;
    between(from, to)
}

/// CPUs, such as 3 or 0-3.
pub(super) fn cpu_range(text: &str) -> Result<CpuSet, String> {
    pin(text)?.ok_or_else(|| "must be a CPU or a range of them, such as 0-3".into())
}

fn between(from: &str, to: &str) -> Result<(u64, u64), String> {
    let from = if from.is_empty() { 0 } else { part("FROM", from)? };
    let to = if to.is_empty() { u64::MAX } else { part("TO", to)? };
    if from >= to {
        return Err("FROM must be before TO".into());
    }
    Ok((from, to))
}

fn part(name: &str, text: &str) -> Result<u64, String> {
    units::parse(text).map_err(|error| format!("{name}: {error}"))
}

fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let names: Vec<_> = words.iter().map(|&(name, _)| name).collect();
    let known = words.iter().find(|&&(name, _)| name == text);
    known.map(|&(_, value)| value).ok_or_else(|| unknown(text, &names))
}

/// Says what is known instead, the nearest first.
pub(crate) fn unknown(text: &str, known: &[&str]) -> String {
    let known_list = known.join(", ");
    let similar = |name: &&&str| strsim::damerau_levenshtein(text, name);
    match known.iter().min_by_key(similar).filter(|name| similar(name) <= 1 + name.len() / 3) {
        Some(nearest) => format!("unknown; did you mean {nearest}? Known are {known_list}"),
        None => format!("unknown; known are {known_list}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_switch_both_ways() {
        let parity = AnyFeature::Queue(Feature::RunToParity);
        assert_eq!(feature("NO_RUN_TO_PARITY"), Ok((parity, false)));
        assert_eq!(feature("run_to_parity"), Ok((parity, true)));
        let short = AnyFeature::Placement(placement::Feature::SisShort);
        assert_eq!(feature("SIS_SHORT"), Ok((short, true)));
        assert!(feature("RUN_TO_PARTY").unwrap_err().contains("did you mean RUN_TO_PARITY?"));
        assert!(feature("XYZ").unwrap_err().starts_with("unknown; known are PLACE_LAG"));
        assert!(preset("v6.9").unwrap_err().contains("did you mean v6."));
    }

    #[test]
    fn pins_are_cpus_ranges_or_free() {
        assert_eq!(pin("3"), Ok(Some(CpuSet::only(3))));
        assert_eq!(pin("0-3"), Ok(Some(CpuSet::first(4))));
        assert_eq!(pin("-"), Ok(None));
        assert_eq!(pin("any"), Ok(None));
        for bad in ["255", "3-1", "-1", "x", ""] {
            assert!(pin(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn loads_are_counts_and_times() {
        assert_eq!(bursts("2:1ms:9ms"), Ok((2, 1_000_000, 9_000_000)));
        assert_eq!(counted("3"), Ok((3, None)));
        assert_eq!(counted("3:50us"), Ok((3, Some(50_000))));
        assert_eq!(background("64:500us"), Ok((64.0, 500_000, 0)));
        assert_eq!(background("64:500us:25%"), Ok((64.0, 500_000, 25)));
        assert!(background("64:500us:101%").unwrap_err().contains("0% to 100%"));
        assert_eq!(window("1s..1010ms"), Ok((1_000_000_000, 1_010_000_000)));
        assert_eq!(window(".."), Ok((0, u64::MAX)));
        assert!(window("2s..1s").unwrap_err().contains("before"));
        assert!(bursts("2:1:9ms").unwrap_err().contains("RUN: a time needs a unit: 1ns"));
        assert!(background("0:1ms").unwrap_err().contains("0.01 to 100000"));
        assert!(count("50000").unwrap_err().contains("0 to 20000"));
    }
}
