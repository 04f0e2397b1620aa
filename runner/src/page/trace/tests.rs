use super::*;
use crate::{
    page,
    trace::{Description, TaskDescription, file_of},
};
use abi::trace::{Event, Pick, Record, TaskIn, TaskOut};
use std::{fs, process::Command};

/// Two tasks take turns on one CPU, 4 ms each, for 40 ms.
fn trace() -> Trace {
    let task = |name: &str, pid| TaskDescription {
        name: name.into(),
        pid,
        nice: 0,
        policy: "normal".into(),
        prio: 120,
    };
    let description = Description {
        slicelab: "0.0.0".into(),
        cpus: 1,
        hz: 250,
        config: serde_json::json!({}),
        tasks: vec![task("<one>", 1), task("two", 2)],
    };
    let mut records = vec![Record { at_ns: 0, sequence: 0, event: Event::Begin }];
    for turn in 0..=10_u32 {
        let out = TaskOut { task: (turn + 1) % 2, end: StintEnd::Slice, lag_ns: -2_000_000 };
        let into = TaskIn { task: turn % 2, pick: Pick::Deadline, lag_ns: 2_000_000 };
        let prev = (turn > 0).then_some(out);
        let next = (turn < 10).then_some(into);
        let event = Event::Switch { prev, next, nr_running: 2 };
        records.push(Record { at_ns: u64::from(turn) * 4_000_000, sequence: turn + 1, event });
    }
    records.push(Record { at_ns: 40_000_000, sequence: 12, event: Event::End });
    Trace::from_bytes(file_of(&description, &records)).expect("whole")
}

#[test]
fn every_stint_is_a_bar_with_its_reason() {
    let html = figures(&trace()).into_string();
    // In both widths; from 52 to 866 pixels for 40 ms, each stint is a tenth.
    assert_eq!(html.matches("height=\"22\"").count(), 20);
    assert!(html.contains("<rect x=\"133.4000\" width=\"81.4000\" y=\"4\""), "{html}");
    assert!(html.contains("&lt;one&gt;: 8.000 to 12.000 ms, slice"), "{html}");
    assert!(html.contains("10 stints of 2 tasks on 1 of 1 CPUs"), "{html}");
    assert!(html.contains("Lag over time"));
}

/// Ten stints, and after three steps closer an eighth of the time: at most three are left.
#[test]
fn a_browser_zooms() {
    let is_there =
        Command::new("chromium").arg("--version").output().is_ok_and(|o| o.status.success());
    if !is_there {
        eprintln!("SKIPPED: there is no chromium here; `apt-get install chromium` brings it");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let probe = "<script>addEventListener('load', () => {
        const seen = () => [...document.querySelectorAll('.timeline .wide rect')]
            .filter(bar => bar.style.display != 'none').length;
        const times = () => [...document.querySelectorAll('.timeline .wide .time')].map(t => t.textContent);
        const said = [seen(), times().at(-1)];
        for (let n = 0; n < 3; n++) document.querySelector('.zoom button').click();
        said.push(seen(), times()[0], times().at(-1));
        document.body.innerHTML = '<pre>' + JSON.stringify(said) + '</pre>';
    });</script></body>";
    let html = page::page(&[section("t", &trace())]).replace("</body>", probe);
    let file = folder.path().join("t.html");
    fs::write(&file, html).expect("written");
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"])
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("started");
    let dom = String::from_utf8_lossy(&output.stdout);
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(!log.contains("CONSOLE"), "{log}");
    // 40 ms around 20 ms, then 5 ms: 17.5 to 22.5, in which two stints meet at 20.
    assert!(dom.contains("<pre>[10,\"40\",2,\"17.50\",\"22.50\"]</pre>"), "{dom}");
}
