//! CPUs for message threads and for workers, as schbench's `-M` and `-W` name them.

use crate::{cli, error::Refusal, workload::machine_has};
use abi::{CpuSet, MAX_CPUS};

/// Where threads may run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pins {
    Auto,
    Cpus(CpuSet),
}

/// CPUs as `0-3,8`, or `auto`.
pub(super) fn read(text: &str) -> Result<Pins, String> {
    if text == "auto" {
        return Ok(Pins::Auto);
    }
    let bad = || format!("must be CPUs (0 to {}) such as 0-3,8, or auto", MAX_CPUS - 1);
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let set = cli::pin(part).map_err(|_| bad())?.ok_or_else(bad)?;
        cpus.extend(set.iter());
    }
    Ok(Pins::Cpus(cpus.into_iter().collect()))
}

/// CPUs of message threads, in turn, and those of the workers, as far as they are pinned.
pub(super) type Resolved = (Option<Vec<usize>>, Option<CpuSet>);

/// What both options mean on a machine with so many CPUs.
pub(super) fn resolve(
    messengers: Option<Pins>,
    workers: Option<Pins>,
    threads: u64,
    cpus: u32,
) -> Result<Resolved, Refusal> {
    let listed = |pins| match pins {
        Some(Pins::Cpus(cpus)) => Some(cpus),
        _ => None,
    };
    let there = CpuSet::first(cpus as usize);
    for (flag, pins) in [("-M", messengers), ("-W", workers)] {
        let missing = listed(pins).and_then(|set| set.iter().find(|&cpu| !there.contains(cpu)));
        if let Some(cpu) = missing {
            return Err(Refusal::new(flag, cpu, machine_has(cpus)));
        }
    }
    if ![messengers, workers].contains(&Some(Pins::Auto)) {
        return Ok((listed(messengers).map(|cpus| cpus.iter().collect()), listed(workers)));
    }
    let (threads, cpus) = (threads as usize, cpus as usize);
    if threads >= cpus {
        let reason = format!(
            "{threads} message threads with a CPU each leave none of {cpus} for the workers; raise --smp"
        );
        return Err(Refusal::new("-M", "auto", reason));
    }
    Ok((Some((0..threads).collect()), Some((threads..cpus).collect())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_cpus_and_ranges() {
        assert_eq!(read("0-1,3"), Ok(Pins::Cpus([0, 1, 3].into_iter().collect())));
        assert_eq!(read("auto"), Ok(Pins::Auto));
        for bad in ["3-1", "x", "any", "", "0,,1"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn auto_gives_message_threads_cpus_of_their_own() {
        let both = resolve(Some(Pins::Auto), None, 1, 4);
        assert_eq!(both, Ok((Some(vec![0]), Some((1..4).collect()))));
        assert!(resolve(None, Some(Pins::Auto), 4, 4).is_err());
        let listed = Some(Pins::Cpus(CpuSet::only(2)));
        assert_eq!(resolve(listed, None, 4, 4), Ok((Some(vec![2]), None)));
    }

    #[test]
    fn cpus_that_are_not_there_are_refused_by_their_flag() {
        let listed = Some(Pins::Cpus([1, 2].into_iter().collect()));
        let message = |messengers, workers| resolve(messengers, workers, 1, 2).unwrap_err();
        let expected = "-M 2: the machine has cpu0 to cpu1; raise --smp";
        assert_eq!(message(listed, None).to_string(), expected);
        assert!(message(None, listed).to_string().starts_with("-W 2: "));
        assert!(message(Some(Pins::Auto), listed).to_string().starts_with("-W 2: "));
    }
}
