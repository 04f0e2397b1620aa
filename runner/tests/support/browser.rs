//! A page as headless Chromium shows it.

use serde_json::Value;
use std::{fs, process::Command};
use tempfile::TempDir;

/// What the page's own script finds, sent to the page around it.
const PROBE: &str = "<script>
addEventListener('load', () => {
  const seen = e => { const r = e.getBoundingClientRect(); return r.width > 100 && r.height > 80; };
  const figures = [...document.querySelectorAll('figure')];
  parent.postMessage(JSON.stringify({
    figures: figures.length,
    drawn: figures.filter(f => [...f.querySelectorAll('svg')].filter(seen).length == 1).length,
    overflow: document.documentElement.scrollWidth - innerWidth,
    ink: getComputedStyle(document.querySelector('figure svg text')).fill,
  }), '*');
});</script>";

/// Loads the page in a frame of that width; returns what the probe says and what was logged.
fn load(folder: &TempDir, page: &str, width: u32, dark: bool) -> (Value, String) {
    let (inner, outer) = (folder.path().join("inner.html"), folder.path().join("outer.html"));
    fs::write(&inner, page.replace("</body>", &format!("{PROBE}</body>"))).expect("written");
    let frame = format!(
        "<body><script>onmessage = m => document.body.innerHTML = '<pre>' + m.data + '</pre>'</script>\
         <iframe src=inner.html width={width} height=4000></iframe>"
    );
    fs::write(&outer, frame).expect("written");
    // 0 is dark, 1 is light.
    let scheme = format!("--blink-settings=preferredColorScheme={}", u8::from(!dark));
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", &scheme])
        .args(["--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", outer.display()))
        .output()
        .expect("started");
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = dom
        .split_once("<pre>")
        .and_then(|(_, rest)| rest.split_once("</pre>"))
        .unwrap_or_else(|| panic!("the page said nothing: {dom}"))
        .0;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    (serde_json::from_str(said).expect("JSON"), log)
}

/// Checks that a page shows all its figures, at the width of a desk and of a telephone, in light and
/// dark, with nothing wider than the screen and nothing on the console. Says so and checks nothing
/// where there is no browser.
pub fn assert_shown(page: &str, figures: usize) {
    let is_there =
        Command::new("chromium").arg("--version").output().is_ok_and(|o| o.status.success());
    if !is_there {
        eprintln!("SKIPPED: there is no chromium here; `apt-get install chromium` brings it");
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let mut inks = Vec::new();
    for (width, dark) in [(1280, false), (1280, true), (400, false), (400, true)] {
        let (said, log) = load(&folder, page, width, dark);
        let counts = [&said["figures"], &said["drawn"]].map(Value::as_u64);
        assert_eq!(counts, [Some(figures as u64); 2], "{width}: {said}");
        assert!(said["overflow"].as_i64() <= Some(0), "{width}: {said}");
        assert!(!log.contains("CONSOLE"), "{log}");
        inks.push(said["ink"].clone());
    }
    assert_ne!(inks[0], inks[1], "dark text on a dark page");
}
