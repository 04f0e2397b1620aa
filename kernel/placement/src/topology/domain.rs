//! One scheduling domain: the CPUs that it balances between, and what it is tuned to.
//!
//! Defaults as `sd_init()` sets them.

use super::Span;

/// Kinds of domains, from the bottom up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Threads of a core.
    Smt,
    /// Cores of a cluster.
    Cluster,
    /// What shares a last-level cache.
    Llc,
    /// All packages.
    Package,
}

impl Level {
    /// All of them, from the bottom up.
    pub const ALL: [Self; 4] = [Self::Smt, Self::Cluster, Self::Llc, Self::Package];

    /// Linux's name. The last one was `DIE` before v6.7.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Smt => "SMT",
            Self::Cluster => "CLS",
            Self::Llc => "MC",
            Self::Package => "PKG",
        }
    }

    /// Whether all CPUs of such a domain share a last-level cache (`SD_SHARE_LLC`).
    pub const fn shares_cache(self) -> bool {
        !matches!(self, Self::Package)
    }

    /// How much busier, in percent, a group has to be before it is worth balancing.
    pub const fn imbalance_pct(self) -> u32 {
        match self {
            Self::Smt => 110,
            Self::Cluster | Self::Llc | Self::Package => 117,
        }
    }

    /// Failed attempts at balancing after which tasks with a warm cache are moved too.
    pub const fn cache_nice_tries(self) -> u32 {
        match self {
            Self::Smt => 0,
            Self::Cluster | Self::Llc | Self::Package => 1,
        }
    }

    /// The switches that are on, as `/sys/kernel/debug/sched/domains` names them without
    /// `SD_`. All domains balance when a CPU runs dry, on fork and on exec, none on wake-up.
    pub const fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Smt => &[
                "BALANCE_NEWIDLE",
                "BALANCE_EXEC",
                "BALANCE_FORK",
                "WAKE_AFFINE",
                "SHARE_CPUCAPACITY",
                "SHARE_LLC",
                "PREFER_SIBLING",
            ],
            Self::Cluster => &[
                "BALANCE_NEWIDLE",
                "BALANCE_EXEC",
                "BALANCE_FORK",
                "WAKE_AFFINE",
                "CLUSTER",
                "SHARE_LLC",
                "PREFER_SIBLING",
            ],
            Self::Llc => &[
                "BALANCE_NEWIDLE",
                "BALANCE_EXEC",
                "BALANCE_FORK",
                "WAKE_AFFINE",
                "SHARE_LLC",
                "PREFER_SIBLING",
            ],
            Self::Package => &[
                "BALANCE_NEWIDLE",
                "BALANCE_EXEC",
                "BALANCE_FORK",
                "WAKE_AFFINE",
                "PREFER_SIBLING",
            ],
        }
    }
}

/// A domain of one CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Domain {
    /// Its kind.
    pub level: Level,
    /// Its CPUs.
    pub span: Span,
    /// CPUs of each of its groups: of each domain below.
    pub group_weight: usize,
}

impl Domain {
    /// How much longer a busy CPU waits between two attempts at balancing.
    pub const BUSY_FACTOR: u64 = 16;

    /// Its groups, the one with the lowest CPUs first.
    pub fn groups(&self) -> impl Iterator<Item = Span> + use<> {
        let Self { span, group_weight, .. } = *self;
        span.cpus().step_by(group_weight).map(move |first| Span { first, weight: group_weight })
    }

    /// The group that a CPU of the domain is in.
    pub fn group_of(&self, cpu: usize) -> Span {
        Span::around(cpu, self.group_weight)
    }

    /// The shortest time between two attempts at balancing, ms; also the first one.
    pub fn min_interval_ms(&self) -> u64 {
        self.span.weight as u64
    }

    /// The longest time between two attempts at balancing, ms.
    pub fn max_interval_ms(&self) -> u64 {
        2 * self.min_interval_ms()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_grow_with_the_span() {
        let span = Span { first: 8, weight: 8 };
        let domain = Domain { level: Level::Llc, span, group_weight: 2 };
        assert_eq!((domain.min_interval_ms(), domain.max_interval_ms()), (8, 16));
        assert!(domain.groups().map(|group| group.first).eq([8, 10, 12, 14]));
        assert_eq!(domain.group_of(13), Span { first: 12, weight: 2 });
    }
}
