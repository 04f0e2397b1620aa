//! Pairs of tasks that ask and answer, each through a pipe of its own.

use super::{finish::Finish, options::PIPE_BYTES, sequence::Sequence};
use crate::workload::Workload;
use abi::{Op, program::Since};

/// How a pair talks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Talk {
    /// What the two are called: the one who asks, and the one who answers.
    pub(super) names: [&'static str; 2],
    pub(super) request_bytes: u32,
    pub(super) response_bytes: u32,
    /// CPU time between a request and its response, ns.
    pub(super) work_ns: u64,
    /// What a write or a read costs, ns.
    pub(super) op_cost_ns: u64,
    /// Both end after so many; without it they go on.
    pub(super) times: Option<(u64, Finish)>,
}

/// What is measured of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Answers received.
    pub(super) counter: u32,
    /// From each request to its answer, ns.
    pub(super) latency: Option<u32>,
}

impl Talk {
    /// Adds the pair with this number.
    pub(super) fn add(&self, load: &mut Workload, number: u64, measured: Measured) {
        let [asks, answers] = self.names.map(|name| format!("{name}{number}"));
        let there = load.shared.pipe(format!("{asks} to {answers}"), PIPE_BYTES);
        let back = load.shared.pipe(format!("{answers} to {asks}"), PIPE_BYTES);
        let mark = measured.latency.map(|histogram| (load.shared.mark(), histogram));
        let (request, response) = (self.request_bytes, self.response_bytes);

        let client = self.program(|body| {
            if let Some((mark, _)) = mark {
                body.then(Op::Mark(mark));
            }
            body.call(Op::PipeWrite { pipe: there, bytes: request });
            body.call(Op::PipeRead { pipe: back, bytes: response });
            if let Some((mark, histogram)) = mark {
                body.then(Op::Measure { since: Since::Mark(mark), histogram });
            }
            body.then(Op::Count { counter: measured.counter, by: 1 });
        });
        let server = self.program(|body| {
            body.call(Op::PipeRead { pipe: there, bytes: request });
            body.run(self.work_ns).call(Op::PipeWrite { pipe: back, bytes: response });
        });
        load.add(asks, client);
        load.add(answers, server);
    }

    fn program(&self, body: impl FnOnce(&mut Sequence)) -> Vec<Op> {
        let mut program = Sequence::new(self.op_cost_ns);
        match self.times {
            Some((times, finish)) => program.times(times, body).then(finish.note()),
            None => program.forever(body),
        };
        program.program()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_answers_each_other() {
        let mut load = Workload::default();
        let talk = Talk {
            names: ["client", "server"],
            request_bytes: 1,
            response_bytes: 9,
            work_ns: 50,
            op_cost_ns: 5,
            times: None,
        };
        let counter = load.shared.counter();
        talk.add(&mut load, 3, Measured { counter, latency: None });
        assert_eq!(
            (load.tasks()[0].name.as_str(), load.tasks()[1].name.as_str()),
            ("client3", "server3")
        );
        let expected = [
            Op::Run(5),
            Op::PipeRead { pipe: 0, bytes: 1 },
            Op::Run(55),
            Op::PipeWrite { pipe: 1, bytes: 9 },
            Op::Jump(0),
        ];
        assert_eq!(load.tasks()[1].program, expected);
    }
}
