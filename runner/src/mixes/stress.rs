//! The lines that `stress-ng --metrics-brief` prints of a stressor.

use std::fmt::Write;

/// What one kind of stressor did, all its instances together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stressor {
    pub(super) name: &'static str,
    pub(super) bogo_ops: u64,
    pub(super) real_s: f64,
    /// Time on a CPU; the kernel's part is in the user's, as nobody is in either here.
    pub(super) usr_s: f64,
}

/// The metrics, with a line for each remark.
pub(super) fn text(stressor: Stressor, remarks: &[String]) -> String {
    let Stressor { name, bogo_ops, real_s, usr_s } = stressor;
    let per = |seconds: f64| if seconds > 0.0 { bogo_ops as f64 / seconds } else { 0.0 };
    let mut text = String::from(
        "stress-ng: metrc: [1] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s\n\
         stress-ng: metrc: [1]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)\n",
    );
    writeln!(
        text,
        "stress-ng: metrc: [1] {name:<13} {bogo_ops:>9} {real_s:>9.2} {usr_s:>9.2} {:>9.2} {:>12.2} {:>14.2}",
        0.0,
        per(real_s),
        per(usr_s),
    )
    .expect("a String takes everything");
    for remark in remarks {
        writeln!(text, "stress-ng: metrc: [1] {name:<13} {remark}")
            .expect("a String takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_stress_ng() {
        let stressor = Stressor { name: "switch", bogo_ops: 20000, real_s: 0.16, usr_s: 0.08 };
        let text = text(stressor, &["7875.93 nanosecs per context switch".into()]);
        let lines: Vec<_> =
            text.lines().map(|line| &line["stress-ng: metrc: [1] ".len()..]).collect();
        assert_eq!(
            lines,
            [
                "stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s",
                "                          (secs)    (secs)    (secs)   (real time) (usr+sys time)",
                "switch            20000      0.16      0.08      0.00    125000.00      250000.00",
                "switch        7875.93 nanosecs per context switch",
            ]
        );
    }
}
