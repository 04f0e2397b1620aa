//! What holds for all mixes, and what is refused of their options.

use super::*;

fn refused(name: &str, options: &[&str]) -> String {
    let options: Vec<_> = options.iter().map(|&option| option.to_owned()).collect();
    prepare(name, &options, &Machine::small()).expect_err("must be refused").to_string()
}

#[test]
fn every_mix_is_a_scenario_with_its_defaults() {
    for name in names() {
        let machine = Machine { cpus: 2, ..Machine::small() };
        let prepared = prepare(name, &[], &machine).expect(name);
        let specs = prepared.workload.specs(2).expect(name);
        assert!(!specs.tasks.is_empty(), "{name}");
        assert!(!prepared.workload.metrics.is_empty(), "{name} measures nothing");
    }
}

#[test]
fn an_unknown_mix_gets_all_of_them() {
    let text = refused("hackbensh", &[]);
    assert!(text.starts_with("--mix hackbensh: unknown; did you mean hackbench?"), "{text}");
    for name in names() {
        assert!(text.contains(name), "{name}: {text}");
    }
}

#[test]
fn options_of_another_mix_and_bad_values_are_refused() {
    let text = refused("hackbench", &["-m", "3"]);
    assert!(text.contains("'-m'") && text.contains("hackbench"), "{text}");
    let text = refused("hackbench", &["-g", "0"]);
    assert!(text.contains("'0'") && text.contains("-g") && text.contains("from 1 to"), "{text}");
    let text = refused("hackbench", &["-g", "-3"]);
    assert!(text.contains("'-3'") && text.contains("from 1 to"), "{text}");
    let text = refused("hackbench", &["-s", "70000"]);
    assert!(text.contains("'70000'") && text.contains("65536"), "{text}");
    let text = refused("hackbench", &["-g", "1000"]);
    assert!(text.contains("40000 tasks; at most 20000"), "{text}");
    let text = refused("schbench", &["-m", "300", "-t", "300"]);
    assert!(text.contains("at most 20000"), "{text}");
}

#[test]
fn work_has_a_limit_and_time_a_length() {
    let duration = |name, options: &[&str], duration_ns| {
        let options: Vec<_> = options.iter().map(|&option| option.to_owned()).collect();
        let machine = Machine { duration_ns, ..Machine::small() };
        prepare(name, &options, &machine).expect(name).duration_ns
    };
    assert_eq!(duration("hackbench", &[], None), WORK_LIMIT_NS);
    assert_eq!(duration("hackbench", &[], Some(5_000_000)), 5_000_000);
    assert_eq!(duration("schbench", &["-r", "2"], None), 2_000_000_000);
    assert_eq!(duration("schbench", &[], Some(5_000_000)), 5_000_000);
}
