//! Who is on which CPU after each switch, as `perf sched map` has it.
//!
//! A column for each CPU with the two letters of its task, `.` where it idles; a star marks the
//! CPU that switched. New letters are explained at the end of the line.

use super::{seconds, selection::Selection};
use crate::trace::read::{Entry, Trace, What};
use abi::trace::Event;
use std::io::{self, Write};

/// What a column shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Unknown,
    Idle,
    Runs(u32),
}

/// Prints what is selected.
pub(super) fn print(trace: &Trace, selection: &Selection, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = vec![Column::Unknown; trace.description.cpus as usize];
    let mut names = vec![None; trace.description.tasks.len()];
    let mut given = 0;
    for Entry { at_ns, cpu, what } in trace.entries() {
        let next = match what {
            What::Happened(Event::Switch { next, .. }) => next.map(|into| into.task),
            What::Happened(Event::End) => None,
            What::Happened(_) => continue,
            What::Lost(_) => {
                columns[cpu as usize] = Column::Unknown;
                continue;
            }
        };
        let before = columns[cpu as usize];
        columns[cpu as usize] = next.map_or(Column::Idle, Column::Runs);
        let is_of_interest = |column| match column {
            Column::Runs(task) => selection.has_task(task),
            Column::Idle | Column::Unknown => false,
        };
        let concerns = is_of_interest(before) || is_of_interest(columns[cpu as usize]);
        if !selection.has(at_ns, cpu) || !concerns {
            continue;
        }
        let mut new = None;
        let mut line = String::new();
        for (place, column) in (0..).zip(&columns).filter(|&(place, _)| selection.has_cpu(place)) {
            line.push_str(if place == cpu { " *" } else { "  " });
            match *column {
                Column::Unknown => line.push_str("  "),
                Column::Idle => line.push_str(". "),
                Column::Runs(task) => {
                    let name = names[task as usize].get_or_insert_with(|| {
                        new = Some(task);
                        given += 1;
                        short_name(given - 1)
                    });
                    line.push_str(name);
                }
            }
        }
        write!(out, "{line}  {:>12} secs", seconds(at_ns))?;
        if let Some(task) = new {
            let short = names[task as usize].as_deref().unwrap_or_default();
            write!(out, " {short} => {}:{}", trace.name(task), trace.pid(Some(task)))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// `A0` to `Z0`, then `A1`, and on with letters where digits run out.
fn short_name(number: usize) -> String {
    const SECONDS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let first = char::from(b'A' + (number % 26) as u8);
    match SECONDS.get(number / 26) {
        Some(&second) => format!("{first}{}", char::from(second)),
        None => format!("{first}{}", number / 26),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_has_letters_of_its_own() {
        assert_eq!(
            (short_name(0), short_name(25), short_name(26)),
            ("A0".into(), "Z0".into(), "A1".into())
        );
        let all: std::collections::HashSet<_> = (0..5000).map(short_name).collect();
        assert_eq!(all.len(), 5000);
    }
}
