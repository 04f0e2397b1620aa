//! Requests at a rate (`-R`): at the beginning of each second a message thread queues a second's
//! requests at its workers, one after the other, and sleeps.

use super::super::sequence::Sequence;
use crate::error::Refusal;
use abi::{Op, Program, program::Late};

const SECOND_NS: u64 = 1_000_000_000;
/// As many operations as a message thread's program may take.
const MAX_OPS: u64 = 100_000;

/// The program of a message thread that posts `rate` of these semaphores a second, in turn.
///
/// Whose turn it is goes on from one second to the next, so the program has as many seconds as
/// it takes until the first one is again first.
pub(super) fn hands_out(
    rate: u64,
    workers: &[u32],
    timer: u32,
    op_cost_ns: u64,
) -> Result<Program, Refusal> {
    let count = workers.len() as u64;
    let seconds = count / gcd(rate, count);
    if seconds.saturating_mul(3 * count) > MAX_OPS {
        let reason = format!(
            "the turns of {count} workers repeat after {seconds} seconds, too many to keep; make it a \
             multiple of {count} for each message thread"
        );
        return Err(Refusal::new("-R", rate, reason));
    }
    let mut program = Sequence::new(op_cost_ns);
    program.forever(|body| {
        for second in 0..seconds {
            let first = (second * rate % count) as usize;
            // To the end of the line, around it, and what is left.
            let head = if first > 0 { rate.min(count - first as u64) } else { 0 };
            let left = rate - head;
            post(body, &workers[first..first + head as usize]);
            body.times(left / count, |round| post(round, workers));
            post(body, &workers[..(left % count) as usize]);
            body.call(Op::Timer { timer, period_ns: SECOND_NS, late: Late::Restart });
        }
    });
    Ok(program.program())
}

fn post(body: &mut Sequence, workers: &[u32]) {
    for &worker in workers {
        body.call(Op::SemPost(worker));
    }
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posts(rate: u64, workers: &[u32]) -> Vec<Vec<u32>> {
        let program = hands_out(rate, workers, 0, 0).expect("short enough");
        let mut seconds = vec![Vec::new()];
        for (at, op) in program.iter().enumerate() {
            let this = seconds.last_mut().expect("there is always one");
            match *op {
                Op::SemPost(worker) => this.push(worker),
                Op::Timer { .. } => seconds.push(Vec::new()),
                Op::Repeat { times, to, .. } => {
                    let round = this[this.len() - (at - to as usize)..].to_vec();
                    (1..times).for_each(|_| this.extend(&round));
                }
                Op::Jump(0) => {}
                _ => panic!("{op:?} is not to be there"),
            }
        }
        assert_eq!(seconds.pop(), Some(Vec::new()), "the last second ends with its sleep");
        seconds
    }

    #[test]
    fn a_multiple_of_the_workers_is_the_same_every_second() {
        assert_eq!(posts(6, &[7, 8, 9]), [[7, 8, 9, 7, 8, 9]]);
    }

    #[test]
    fn turns_go_on_over_the_seconds() {
        assert_eq!(posts(2, &[7, 8, 9]), [[7, 8], [9, 7], [8, 9]]);
        assert_eq!(posts(5, &[7, 8]), [[7, 8, 7, 8, 7], [8, 7, 8, 7, 8]]);
    }

    #[test]
    fn turns_that_do_not_repeat_are_refused() {
        let workers: Vec<u32> = (0..1009).collect();
        assert!(hands_out(1009, &workers, 0, 0).is_ok());
        let refusal = hands_out(1000, &workers, 0, 0).expect_err("a thousand seconds of them");
        assert!(refusal.to_string().contains("a multiple of 1009"), "{refusal}");
    }
}
