//! A CPU that runs hogs for seconds, against what theory promises.
//!
//! Time passes in quanta: the queue is asked only at ticks, or, with a quantum of zero, exactly when a
//! request or the smallest slice is used up. Lags are sampled at each of these points before the pick, which
//! is where they are extreme: the running entity's falls until then, all others rise.
//!
//! TR-95-22 bounds lag by requests and quantum. Linux counts a new deadline from the overrun
//! vruntime and protects the running entity, so what holds is `|lag| <= largest request + quantum`,
//! a request counted in the whole quanta it takes, and none shorter than one. Shorter ones run for a
//! quantum all the same, with deadlines that promise less: see `coarse_quanta_exceed_the_limit`.

mod common;

use common::*;
use eevdf::{Attr, Nice, Policy, Preset, Resched, Rules};

/// What a run showed, per entity: service, and the extremes of lag in real nanoseconds.
struct Report {
    exec_ns: Vec<u64>,
    lag_ns: Vec<(f64, f64)>,
    /// Extremes of `s_i/w_i - s_j/w_j` per pair, in virtual nanoseconds.
    gap: Vec<((usize, usize), (f64, f64))>,
    violations: u64,
}

impl Report {
    fn lag_range(&self) -> (f64, f64) {
        let extremes = |(low, high): (f64, f64), &(l, h): &(f64, f64)| (low.min(l), high.max(h));
        self.lag_ns.iter().fold((0.0, 0.0), extremes)
    }

    fn share(&self, index: usize) -> f64 {
        self.exec_ns[index] as f64 / self.exec_ns.iter().sum::<u64>() as f64
    }
}

fn widen(range: &mut (f64, f64), value: f64) {
    *range = (range.0.min(value), range.1.max(value));
}

fn simulate(rules: Rules, attrs: &[Attr], quantum_ns: u64, duration_ns: u64) -> Report {
    let mut cpu = Cpu::with(rules, attrs);
    let count = attrs.len();
    let ids: Vec<_> = (0..count as u32).map(eevdf::EntityId).collect();
    let pairs = (0..count).flat_map(|i| (0..i).map(move |j| (i, j)));
    let mut report = Report {
        exec_ns: vec![0; count],
        lag_ns: vec![(0.0, 0.0); count],
        gap: pairs.map(|pair| (pair, (0.0, 0.0))).collect(),
        violations: 0,
    };
    let mut curr = cpu.pick();
    let mut picked_at = 0;
    while cpu.now < duration_ns {
        let step = if quantum_ns > 0 {
            quantum_ns
        } else {
            let request = cpu.left(curr) as u128 * u128::from(cpu.entity(curr).weight());
            let shortest = cpu.rq.min_slice_ns().unwrap();
            let protected = shortest.saturating_sub(cpu.now - picked_at);
            (request.div_ceil(1024) as u64)
                .min(if protected == 0 { shortest } else { protected })
                .max(1)
        };
        cpu.now += step;
        let resched = cpu.rq.tick(cpu.now);
        let mean = cpu.rq.avg_vruntime();
        for (index, &id) in ids.iter().enumerate() {
            let entity = cpu.rq.entity(id).unwrap();
            let vlag = mean.wrapping_sub(entity.vruntime()) as i64 as f64;
            widen(&mut report.lag_ns[index], vlag * f64::from(entity.weight()) / 1024.0);
            report.exec_ns[index] = entity.sum_exec_ns();
        }
        for ((i, j), range) in &mut report.gap {
            let served = |index: usize| {
                let weight = cpu.rq.entity(ids[index]).unwrap().weight();
                report.exec_ns[index] as f64 * 1024.0 / f64::from(weight)
            };
            widen(range, served(*i) - served(*j));
        }
        if resched != Resched::No {
            let next = cpu.pick();
            picked_at = if next == curr { picked_at } else { cpu.now };
            curr = next;
        }
    }
    report.violations = cpu.rq.lag_violations();
    report
}

/// Sets of hogs that share a CPU.
fn mixes() -> Vec<(&'static str, Vec<Attr>)> {
    let custom = |slices_us: &[u64]| slices_us.iter().map(|&us| slice(us * US)).collect();
    let levels = |levels: &[i8]| levels.iter().map(|&level| nice(level)).collect();
    vec![
        ("two equal", levels(&[0, 0])),
        ("seven equal", levels(&[0; 7])),
        ("near weights", levels(&[0, 5])),
        ("far weights", levels(&[-20, 0, 19])),
        ("many weights", levels(&[-10, -5, -1, 0, 1, 5, 10, 15])),
        ("with SCHED_IDLE", vec![nice(0), policy(Policy::Idle), policy(Policy::Batch)]),
        ("one short slice", custom(&[2800, 2800, 100])),
        ("long and short", custom(&[100_000, 100, 3000])),
        (
            "slices against weights",
            vec![
                Attr { slice_ns: Some(100 * US), ..nice(10) },
                Attr { slice_ns: Some(20 * MS), ..nice(-10) },
                nice(0),
            ],
        ),
    ]
}

const QUANTA_MS: [u64; 4] = [0, 1, 4, 10];

fn rules_for(preset: Preset, quantum_ms: u64) -> Rules {
    let hz = if quantum_ms == 0 { 1_000_000 } else { 1000 / quantum_ms as u32 };
    rules(preset, hz, (2_800 * US).max(quantum_ms * 1_100 * US))
}

/// Makes no request shorter than the quantum.
fn at_least(quantum_ns: u64, attrs: &[Attr]) -> Vec<Attr> {
    let raise =
        |attr: &Attr| Attr { slice_ns: attr.slice_ns.map(|ns| ns.max(quantum_ns)), ..*attr };
    attrs.iter().map(raise).collect()
}

/// The largest request in whole quanta, plus a quantum, plus the rounding of virtual time.
fn lag_bound_ns(rules: &Rules, attrs: &[Attr], quantum_ms: u64) -> f64 {
    let longest_ns = attrs.iter().filter_map(|attr| attr.slice_ns).max().unwrap_or(0);
    let longest_ns = longest_ns.max(rules.base_slice_ns());
    let quantum_ns = quantum_ms * MS;
    let request_ns =
        if quantum_ns == 0 { longest_ns } else { longest_ns.next_multiple_of(quantum_ns) };
    (request_ns + quantum_ns + US) as f64
}

/// Lag stays within the largest request plus the quantum, and so does the difference of what any two
/// got: from the start, and over every interval.
#[test]
fn lag_and_shares_stay_within_theory() {
    for preset in [Preset::V6_17, Preset::V7_0, Preset::V7_3] {
        for quantum_ms in QUANTA_MS {
            let rules = rules_for(preset, quantum_ms);
            for (name, attrs) in mixes() {
                let attrs = at_least(quantum_ms * MS, &attrs);
                let report = simulate(rules, &attrs, quantum_ms * MS, 3_000 * MS);
                let bound = lag_bound_ns(&rules, &attrs, quantum_ms);
                let scene = format!("{preset:?}, quantum {quantum_ms} ms, {name}");
                let (low, high) = report.lag_range();
                assert!(-bound <= low && high <= bound, "{scene}: lag {low}..{high} of {bound}");
                for ((i, j), (low, high)) in &report.gap {
                    let per_weight = |index: &usize| {
                        let weight = eevdf::Entity::new(attrs[*index], &rules).weight();
                        bound * 1024.0 / f64::from(weight)
                    };
                    let pair = per_weight(i) + per_weight(j);
                    assert!(-pair <= *low && *high <= pair, "{scene}: {i} and {j}, {low}..{high}");
                    assert!(high - low <= 2.0 * pair, "{scene}: {i} and {j} over an interval");
                }
                if preset >= Preset::V7_0 && quantum_ms <= 1 {
                    assert_eq!(report.violations, 0, "{scene}");
                }
            }
        }
    }
}

/// Before 6.17 a whole request is protected; with equal slices that is the same.
#[test]
fn older_rules_keep_the_bound_with_equal_slices() {
    for preset in [Preset::V6_6, Preset::V6_8, Preset::V6_12, Preset::V6_14, Preset::V6_15] {
        for quantum_ms in QUANTA_MS {
            let rules = rules_for(preset, quantum_ms);
            for (name, attrs) in mixes() {
                if attrs.iter().any(|attr| attr.slice_ns.is_some()) {
                    continue;
                }
                let report = simulate(rules, &attrs, quantum_ms * MS, 3_000 * MS);
                let bound = lag_bound_ns(&rules, &attrs, quantum_ms);
                let (low, high) = report.lag_range();
                assert!(
                    -bound <= low && high <= bound,
                    "{preset:?} {quantum_ms} {name}: {low}..{high}"
                );
            }
        }
    }
}

/// Slices below the tick, as every default is at HZ=250 and less: entities of far apart weights get
/// further from their shares than the lag limit of any version allows for. Seen nowhere in the
/// literature, so the figures are only this simulator's.
#[test]
fn coarse_quanta_exceed_the_limit() {
    let worst = |levels: &[i8]| {
        let attrs: Vec<Attr> = levels.iter().map(|&level| nice(level)).collect();
        let report = simulate(rules(Preset::V7_0, 100, 2_800_000), &attrs, 10 * MS, 3_000 * MS);
        (report.lag_range().1 / MS as f64, report.violations > 0)
    };
    let limit_ms = 12.8;
    for levels in [&[-20, 0, 19][..], &[-10, -5, -1, 0, 1, 5, 10, 15]] {
        let (lag_ms, is_counted) = worst(levels);
        assert!(limit_ms < lag_ms && lag_ms < 25.0 && is_counted, "{levels:?}: {lag_ms} ms");
    }
    let (lag_ms, is_counted) = worst(&[0; 7]);
    assert!(lag_ms <= 10.0 && !is_counted, "equal weights stay within the quantum: {lag_ms}");
}

/// The corollary of theorem 1: with no request longer than the quantum, lag stays within the quantum.
#[test]
fn requests_of_a_quantum_bound_lag_by_the_quantum() {
    for quantum_ms in [1, 4, 10] {
        for (name, attrs) in mixes() {
            if attrs.iter().any(|attr| attr.slice_ns.is_some()) {
                continue;
            }
            let rules = rules(Preset::V7_3, 1000 / quantum_ms as u32, quantum_ms * MS);
            let report = simulate(rules, &attrs, quantum_ms * MS, 3_000 * MS);
            let (low, high) = report.lag_range();
            let quantum = (quantum_ms * MS + US) as f64;
            assert!(-quantum < low && high < quantum, "{quantum_ms} ms, {name}: {low}..{high}");
        }
    }
}

/// Shares converge to weights, however long the slices.
#[test]
fn shares_follow_weights() {
    for preset in Preset::ALL {
        for (name, attrs) in mixes() {
            let rules = rules_for(preset, 1);
            let seconds = 20;
            let report = simulate(rules, &attrs, MS, seconds * 1000 * MS);
            let weights: Vec<f64> = attrs
                .iter()
                .map(|&attr| f64::from(eevdf::Entity::new(attr, &rules).weight()))
                .collect();
            let total: f64 = weights.iter().sum();
            let allowance = 0.101 / seconds as f64;
            for (index, weight) in weights.iter().enumerate() {
                let error = (report.share(index) - weight / total).abs();
                assert!(error <= allowance, "{preset:?}, {name}: entity {index} off by {error}");
            }
        }
    }
}

/// Published figures of a model of the 7.0 rules.
#[test]
fn figures_of_the_model() {
    let run = |hz, base_ns, attrs: &[Attr], ms| {
        let rules = rules(Preset::V7_0, hz, base_ns);
        simulate(rules, attrs, rules.tick_ns(), ms * MS)
    };
    let report = run(1000, 3_000_000, &[Attr::default(); 2], 4000);
    assert_eq!(report.lag_range(), (-1_500_000.0, 1_500_000.0));
    let report = run(250, 2_800_000, &[Attr::default(); 2], 4000);
    assert_eq!(report.lag_range(), (-2_000_000.0, 2_000_000.0));

    let report = run(1000, 3_000_000, &[nice(0), nice(5)], 4000);
    let ideal = 1024.0 / f64::from(1024 + Nice::new(5).unwrap().weight());
    assert!((ideal - 0.75350).abs() < 0.000_005);
    assert!((report.share(0) - 0.75325).abs() < 0.000_005, "{}", report.share(0));
    let (low, high) = report.lag_ns[0];
    assert!(
        (low + 740_000.0).abs() < 1_000.0 && (high - 2_260_000.0).abs() < 1_000.0,
        "{low}..{high}"
    );

    let report =
        run(1000, 2_800_000, &[slice(2_800 * US), slice(2_800 * US), slice(100 * US)], 3000);
    assert!(report.exec_ns.iter().all(|&ns| ns.abs_diff(1000 * MS) <= MS), "{:?}", report.exec_ns);
    let (low, high) = report.lag_range();
    assert!(-670_000.0 < low && high < 670_000.0, "{low}..{high}");
}
