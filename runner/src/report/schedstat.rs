//! A result as Linux's `/proc/schedstat` of version 17 (Linux 6.14 and later) has it.
//!
//! ```text
//! version 17
//! timestamp JIFFIES
//! cpuN 9 numbers
//! domainN NAME MASK 45 numbers         once for each scheduling domain of that CPU
//! ```
//!
//! What each number means: Documentation/scheduler/sched-stats.rst of Linux; which of them the
//! laboratory does not count, and are 0: docs/schedstat.md.

use super::document::{CpuDocument, Document, DomainDocument};
use abi::{CpuSet, TopologySpec};
use placement::Topology;
use std::fmt::Write;

const VERSION: u32 = 17;

/// The text of a result.
pub(crate) fn schedstat(document: &Document) -> String {
    let config = &document.config;
    let topology = config.topology;
    let spec = TopologySpec {
        core: topology.core,
        cluster: topology.cluster,
        llc: topology.llc,
        package: topology.package,
    };
    let topology = (config.cpus > 1).then(|| Topology::new(spec, config.cpus));
    let jiffies = u128::from(document.totals.elapsed_ns) * u128::from(config.hz) / 1_000_000_000;
    let mut text = format!("version {VERSION}\ntimestamp {jiffies}\n");
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    for cpu in &document.cpus {
        line(numbers(format!("cpu{}", cpu.cpu), cpu_line(cpu, document)));
        let domains = topology.iter().flat_map(|topology| topology.domains(cpu.cpu as usize));
        for (number, domain) in domains.enumerate() {
            let mask = mask(&domain.span.cpus().collect(), config.cpus);
            let name = domain.level.name();
            let counted = cpu.domains.get(number).copied().unwrap_or_default();
            line(numbers(format!("domain{number} {name} {mask}"), domain_line(&counted)));
        }
    }
    text
}

fn numbers(mut line: String, numbers: impl IntoIterator<Item = u64>) -> String {
    for number in numbers {
        write!(line, " {number}").expect("a String takes everything");
    }
    line
}

fn cpu_line(cpu: &CpuDocument, document: &Document) -> [u64; 9] {
    let (ttwu_count, ttwu_local) = match &cpu.wakeup_counts {
        Some(counts) => (counts.local + counts.remote, counts.local),
        // Nobody else is there to be woken, or to wake.
        None => (document.totals.wakeups, document.totals.wakeups),
    };
    [
        cpu.yields,
        0,
        cpu.switches,
        cpu.goes_idle,
        ttwu_count,
        ttwu_local,
        cpu.busy_ns,
        cpu.run_delay_ns,
        cpu.switches - cpu.goes_idle,
    ]
}

/// By type of idleness: busy, idle, newly idle; then pushes, and what Linux counts no more, or of
/// wake-ups by domain.
fn domain_line(domain: &DomainDocument) -> Vec<u64> {
    let types = [domain.busy, domain.idle, domain.newly_idle];
    let balanced = types.into_iter().flat_map(|passes| {
        let imbalance = [0; 4];
        let [hot, no_queue, no_group] = [0; 3];
        [passes.count, passes.balanced, passes.failed].into_iter().chain(imbalance).chain([
            passes.gained,
            hot,
            no_queue,
            no_group,
        ])
    });
    // Whether the other CPU did it is not told to who asked.
    let active = [domain.pushes, 0, domain.pushes];
    balanced.chain(active).chain([0; 9]).collect()
}

/// CPUs as Linux prints them: hexadecimal, in groups of 32 bits, as many as there are CPUs for.
fn mask(cpus: &CpuSet, count: u32) -> String {
    let word = |group: u32| {
        (0..32)
            .filter(|bit| cpus.contains((group * 32 + bit) as usize))
            .fold(0u32, |w, b| w | 1 << b)
    };
    let groups = count.div_ceil(32);
    // The first group has only as many digits as its CPUs take.
    let digits = (count - (groups - 1) * 32).div_ceil(4) as usize;
    let rest = (0..groups - 1).rev().map(|group| format!(",{:08x}", word(group)));
    format!("{:0digits$x}", word(groups - 1)) + &rest.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_a_digit_for_four_cpus_and_groups_of_eight_digits() {
        let set = |cpus: std::ops::Range<usize>| cpus.collect::<CpuSet>();
        assert_eq!(mask(&set(0..2), 2), "3");
        assert_eq!(mask(&set(4..8), 8), "f0");
        assert_eq!(mask(&set(0..1), 8), "01");
        assert_eq!(mask(&set(0..36), 40), "0f,ffffffff");
        assert_eq!(mask(&set(32..64), 64), "ffffffff,00000000");
    }
}
