//! Programs written as they run: operations, loops, and what each system call costs.

use abi::{Op, Program};

/// A program in the making.
///
/// The kernel's operations take no time, so what a system call costs is computed before it.
#[derive(Debug)]
pub(super) struct Sequence {
    ops: Vec<Op>,
    op_cost_ns: u64,
    /// Loops around the next operation.
    depth: u8,
    /// The last operation that a loop comes back to.
    loop_start: usize,
}

impl Sequence {
    /// A program whose system calls cost this much.
    pub(super) fn new(op_cost_ns: u64) -> Self {
        Self { ops: Vec::new(), op_cost_ns, depth: 0, loop_start: 0 }
    }

    /// An operation that a system call does.
    pub(super) fn call(&mut self, op: Op) -> &mut Self {
        self.run(self.op_cost_ns).then(op)
    }

    /// An operation that costs nothing: what the benchmark would do in a few instructions, or
    /// what only this laboratory needs.
    pub(super) fn then(&mut self, op: Op) -> &mut Self {
        self.ops.push(op);
        self
    }

    /// Computing. Two stretches in a row are one, so that the guest stops once.
    pub(super) fn run(&mut self, ns: u64) -> &mut Self {
        let is_inside = self.ops.len() > self.loop_start;
        match self.ops.last_mut() {
            _ if ns == 0 => {}
            Some(Op::Run(before)) if is_inside => *before += ns,
            _ => self.ops.push(Op::Run(ns)),
        }
        self
    }

    /// Something done so many times.
    pub(super) fn times(&mut self, times: u64, body: impl FnOnce(&mut Self)) -> &mut Self {
        if times == 0 {
            return self;
        }
        let to = self.begin_loop();
        let counter = self.depth;
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.then(Op::Repeat { counter, times, to })
    }

    /// Something done until the run is over.
    pub(super) fn forever(&mut self, body: impl FnOnce(&mut Self)) -> &mut Self {
        let to = self.begin_loop();
        body(self);
        self.then(Op::Jump(to))
    }

    fn begin_loop(&mut self) -> u32 {
        self.loop_start = self.ops.len();
        self.loop_start as u32
    }

    /// The program.
    pub(super) fn program(&mut self) -> Program {
        std::mem::take(&mut self.ops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_paid_for_before_they_act() {
        let mut sequence = Sequence::new(5);
        sequence.run(7).call(Op::Yield).times(3, |body| {
            body.run(2).call(Op::SemPost(0)).times(2, |body| {
                body.call(Op::SemWait(0));
            });
        });
        let expected = [
            Op::Run(12),
            Op::Yield,
            Op::Run(7),
            Op::SemPost(0),
            Op::Run(5),
            Op::SemWait(0),
            Op::Repeat { counter: 1, times: 2, to: 4 },
            Op::Repeat { counter: 0, times: 3, to: 2 },
        ];
        assert_eq!(sequence.program(), expected);
    }

    #[test]
    fn work_before_a_loop_stays_outside() {
        let mut sequence = Sequence::new(0);
        sequence.run(7).forever(|body| {
            body.run(1).call(Op::Yield);
        });
        assert_eq!(sequence.program(), [Op::Run(7), Op::Run(1), Op::Yield, Op::Jump(1)]);
    }
}
