//! Pairs of tasks that ask and answer, each through a pipe of its own.

use super::{
    finish::Finish,
    options::{PIPE_BYTES, time},
    sequence::Sequence,
};
use crate::{records::Records, workload::Workload};
use abi::{Op, program::Since};
use clap::Args;

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
    /// When the exchanges that count begin, by the time of the run, ns; until then all compute, after
    /// one exchange that lets each know its partner.
    pub(super) settle_ns: u64,
    /// Both end after so many; without it they go on.
    pub(super) times: Option<(u64, Finish)>,
}

/// Option of mixes whose pairs talk for a time: what comes before that.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct Settle {
    /// Begin with one exchange of each pair and so long of computing, which do not count, so that
    /// averages of load have settled, and a task has woken nobody else for so long
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = time)]
    settle: u64,
}

impl Settle {
    /// When exchanges begin to count, by the time of the run, ns.
    pub(super) fn ns(self) -> u64 {
        self.settle
    }

    /// The length of a run in which they count for so long, ns.
    pub(super) fn whole_ns(self, counts_ns: u64) -> u64 {
        counts_ns.saturating_add(self.settle)
    }

    /// By what a rate over the whole of that run is to be divided.
    pub(super) fn share(self, counts_ns: u64) -> f64 {
        counts_ns as f64 / self.whole_ns(counts_ns) as f64
    }

    /// For how long they counted in a run, seconds.
    pub(super) fn counted_s(self, records: &Records) -> f64 {
        records.total.elapsed_ns.saturating_sub(self.settle) as f64 / 1e9
    }
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

        let ask = |body: &mut Sequence| {
            body.call(Op::PipeWrite { pipe: there, bytes: request });
            body.call(Op::PipeRead { pipe: back, bytes: response });
        };
        let answer = |body: &mut Sequence| {
            body.call(Op::PipeRead { pipe: there, bytes: request });
            body.run(self.work_ns).call(Op::PipeWrite { pipe: back, bytes: response });
        };
        let client = self.program(ask, |body| {
            if let Some((mark, _)) = mark {
                body.then(Op::Mark(mark));
            }
            ask(body);
            if let Some((mark, histogram)) = mark {
                body.then(Op::Measure { since: Since::Mark(mark), histogram });
            }
            body.then(Op::Count { counter: measured.counter, by: 1 });
        });
        let server = self.program(answer, answer);
        load.add(asks, client);
        load.add(answers, server);
    }

    fn program(
        &self,
        first: impl FnOnce(&mut Sequence),
        body: impl FnOnce(&mut Sequence),
    ) -> Vec<Op> {
        let mut program = Sequence::new(self.op_cost_ns);
        if self.settle_ns > 0 {
            first(&mut program);
            program.then(Op::RunUntil(self.settle_ns));
        }
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
            settle_ns: 0,
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
        Talk { settle_ns: 70, ..talk }.add(&mut load, 4, Measured { counter, latency: None });
        let begin = [
            Op::Run(5),
            Op::PipeRead { pipe: 2, bytes: 1 },
            Op::Run(55),
            Op::PipeWrite { pipe: 3, bytes: 9 },
            Op::RunUntil(70),
            Op::Run(5),
            Op::PipeRead { pipe: 2, bytes: 1 },
        ];
        assert_eq!(load.tasks()[3].program[..7], begin);
        assert_eq!(load.tasks()[3].program.last(), Some(&Op::Jump(5)));
    }
}
