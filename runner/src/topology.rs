//! Descriptions of a machine such as `2s8c2t` or `llc=4`, and what a machine looks like.
//!
//! ```text
//! [Ns][Nc][Nt][,cluster=N][,llc=N]     sockets, cores of each, threads of each core;
//!                                      CPUs (threads) of each cluster and each last-level cache
//! ```
//!
//! What is left out: one socket, one thread, as many cores as there are CPUs for, a cache for
//! each socket, no clusters.

use crate::{error::Refusal, report};
use abi::TopologySpec;
use placement::topology::{Domain, Span, Topology};
use std::{fmt, str::FromStr};

/// A description, before the number of CPUs is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    text: String,
    sockets: Option<u32>,
    cores: Option<u32>,
    threads: Option<u32>,
    cluster: Option<u32>,
    llc: Option<u32>,
}

impl FromStr for Description {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut description = Self { text: text.into(), ..Self::default() };
        for part in text.split(',') {
            match part.split_once('=') {
                Some(("cluster", number)) => set(&mut description.cluster, "cluster", number)?,
                Some(("llc", number)) => set(&mut description.llc, "llc", number)?,
                Some((name, _)) => {
                    return Err(format!("{name:?} is unknown; known are cluster=N and llc=N"));
                }
                None => description.counts(part)?,
            }
        }
        Ok(description)
    }
}

impl Description {
    /// Reads `2s8c2t` or a part of it.
    fn counts(&mut self, text: &str) -> Result<(), String> {
        let mut rest = text;
        while !rest.is_empty() {
            let digits = rest.chars().take_while(char::is_ascii_digit).count();
            let (number, unit) = rest.split_at(digits);
            let place = match unit.chars().next() {
                Some('s') => &mut self.sockets,
                Some('c') => &mut self.cores,
                Some('t') => &mut self.threads,
                _ => return Err(format!("{text:?} must be like 2s8c2t, or llc=4 or cluster=2")),
            };
            set(place, &unit[..1], number)?;
            rest = &unit[1..];
        }
        if text.is_empty() {
            return Err("must be like 2s8c2t, llc=4 or 2s8c2t,llc=8".into());
        }
        Ok(())
    }

    /// How many CPUs it describes, if it says so.
    pub fn cpus(&self) -> Option<u32> {
        let (sockets, threads) = (self.sockets.unwrap_or(1), self.threads.unwrap_or(1));
        self.cores?.checked_mul(sockets)?.checked_mul(threads)
    }

    /// The machine of so many CPUs that fits the description.
    ///
    /// # Errors
    /// So many CPUs do not.
    pub fn resolve(&self, cpus: u32) -> Result<TopologySpec, Refusal> {
        let refuse = |reason: String| Err(Refusal::new("--topology", &self.text, reason));
        let (sockets, core) = (self.sockets.unwrap_or(1), self.threads.unwrap_or(1));
        if self.cores.is_some() && self.cpus() != Some(cpus) {
            let described = u64::from(sockets) * u64::from(core);
            let described = described * u64::from(self.cores.unwrap_or(1));
            return refuse(format!("describes {described} CPUs, --smp says {cpus}"));
        }
        if !cpus.is_multiple_of(sockets.saturating_mul(core)) {
            return refuse(format!(
                "{cpus} CPUs are no whole number of cores with {core} threads on each of \
                 {sockets} sockets; choose another --smp"
            ));
        }
        let package = cpus / sockets;
        let llc = self.llc.unwrap_or(package);
        let cluster = self.cluster.unwrap_or(core);
        for (name, part, of, whole) in [
            ("llc", llc, package, "a socket's"),
            ("llc", core, llc, "a core's"),
            ("cluster", cluster, llc, "a last-level cache's"),
            ("cluster", core, cluster, "a core's"),
        ] {
            if !of.is_multiple_of(part) {
                let (given, other) = if part == core { (of, part) } else { (part, of) };
                return refuse(format!(
                    "{name}={given} does not fit {whole} {other} CPUs (--smp {cpus}): one must be a \
                     multiple of the other"
                ));
            }
        }
        Ok(TopologySpec { core, cluster, llc, package })
    }
}

fn set(place: &mut Option<u32>, name: &str, number: &str) -> Result<(), String> {
    let value = number.parse().ok().filter(|&number| number > 0);
    let value = value.ok_or_else(|| format!("{name} needs a number from 1 on"))?;
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("{name} is there twice")),
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What `--show-topology` prints: the machine and its scheduling domains.
pub(crate) fn show(topology: &Topology) -> String {
    let spec = topology.spec();
    let mut text = format!("{}\n", machine(topology));
    let first: Vec<Domain> = topology.domains(0).collect();
    if first.is_empty() {
        text.push_str("One CPU has no scheduling domains.\n");
        return text;
    }
    let head =
        ["domain", "CPUs", "number", "of CPU 0", "groups", "interval", "imbalance", "cache tries"];
    let rows = first.iter().map(|domain| {
        vec![
            domain.level.name().to_owned(),
            domain.span.weight.to_string(),
            (topology.cpus() / domain.span.weight).to_string(),
            range(domain.span),
            format!("{} of {}", domain.groups().count(), domain.group_weight),
            format!("{}-{}ms", domain.min_interval_ms(), domain.max_interval_ms()),
            format!("{} %", domain.level.imbalance_pct()),
            domain.level.cache_nice_tries().to_string(),
        ]
    });
    text.push_str(&report::table(&head, rows));
    text.push('\n');
    for domain in &first {
        text.push_str(&format!("{:<4} {}\n", domain.level.name(), domain.level.flags().join(" ")));
    }
    if spec.package < topology.cpus() as u32 {
        text.push_str(
            "\nMemory is the same distance from every socket: there is no NUMA domain.\n",
        );
    }
    text
}

fn machine(topology: &Topology) -> String {
    let spec = topology.spec();
    let plural = |count: u32, one: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    };
    let mut text = format!(
        "{}: {} of {}, {} each; a last-level cache for every {}",
        plural(topology.cpus() as u32, "CPU"),
        plural(topology.cpus() as u32 / spec.package, "socket"),
        plural(spec.package / spec.core, "core"),
        plural(spec.core, "thread"),
        plural(spec.llc, "CPU"),
    );
    if topology.has_clusters() {
        text.push_str(&format!(", a cluster for every {}", plural(spec.cluster, "CPU")));
    }
    text
}

fn range(span: Span) -> String {
    match span.weight {
        1 => span.first.to_string(),
        _ => format!("{}-{}", span.first, span.first + span.weight - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str, cpus: u32) -> Result<TopologySpec, String> {
        text.parse::<Description>()?.resolve(cpus).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn what_is_left_out_is_plain() {
        let spec = TopologySpec { core: 2, cluster: 2, llc: 16, package: 16 };
        assert_eq!(resolved("2s8c2t", 32), Ok(spec));
        assert_eq!("2s8c2t".parse::<Description>().map(|machine| machine.cpus()), Ok(Some(32)));
        assert_eq!(resolved("llc=4", 8), Ok(TopologySpec { llc: 4, ..TopologySpec::flat(8) }));
        let spec = TopologySpec { core: 2, cluster: 4, llc: 8, package: 16 };
        assert_eq!(resolved("2t,cluster=4,llc=8", 16), Ok(spec));
        assert_eq!(resolved("2s", 6), Ok(TopologySpec { core: 1, cluster: 1, llc: 3, package: 3 }));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_reason() {
        let refused = |text, cpus| resolved(text, cpus).unwrap_err();
        assert!(refused("2s8c2t", 16).contains("describes 32 CPUs, --smp says 16"));
        assert!(refused("2s2t", 6).contains("no whole number of cores with 2 threads"));
        let text = refused("llc=3", 8);
        assert!(text.contains("llc=3 does not fit a socket's 8 CPUs"), "{text}");
        let text = refused("2t,llc=1", 8);
        assert!(text.contains("llc=1 does not fit a core's 2 CPUs"), "{text}");
        // Without --smp.
        assert!(refused("llc=4", 1).contains("a socket's 1 CPUs (--smp 1)"));
        let text = refused("2t,llc=4,cluster=3", 8);
        assert!(text.contains("cluster=3 does not fit a last-level cache's 4 CPUs"), "{text}");
        assert!(refused("8x", 8).contains("must be like 2s8c2t"));
        assert!(refused("l3=4", 8).contains("known are cluster=N and llc=N"));
        assert!(refused("0s", 8).contains("s needs a number from 1 on"));
        assert!(refused("2c2c", 8).contains("c is there twice"));
        assert!(refused("", 8).contains("must be like"));
    }

    #[test]
    fn a_machine_is_shown_with_its_domains() {
        let spec = TopologySpec { core: 2, cluster: 2, llc: 16, package: 16 };
        let text = show(&Topology::new(spec, 32));
        assert!(text.starts_with("32 CPUs: 2 sockets of 8 cores, 2 threads each"), "{text}");
        let cells = |level: &str| -> Vec<String> {
            let row = text.lines().map(str::split_whitespace).map(Iterator::collect::<Vec<_>>);
            let row = row.into_iter().find(|cells| cells.first() == Some(&level));
            row.expect("a row for each level").into_iter().map(str::to_owned).collect()
        };
        assert_eq!(cells("SMT")[1..4], ["2", "16", "0-1"]);
        assert_eq!(cells("MC")[1..4], ["16", "2", "0-15"]);
        assert_eq!(cells("PKG")[1..4], ["32", "1", "0-31"]);
        assert!(show(&Topology::new(TopologySpec::flat(1), 1)).contains("no scheduling domains"));
    }
}
