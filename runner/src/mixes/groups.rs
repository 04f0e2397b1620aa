//! Groups of senders and receivers, as hackbench has them: each sender writes to each receiver
//! of its group, and each receiver reads from a pipe of its own.

use super::{
    check_tasks,
    finish::Finish,
    options::{self, PIPE_BYTES},
    sequence::Sequence,
};
use crate::{
    error::Refusal,
    workload::{Better, Reading, Workload},
};
use abi::Op;

/// How many of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Groups {
    pub(super) groups: u64,
    /// Senders of a group, and receivers.
    pub(super) fds: u64,
    /// Messages from each sender to each receiver.
    pub(super) loops: u64,
    pub(super) message_bytes: u32,
    /// What a write or a read costs, ns.
    pub(super) op_cost_ns: u64,
}

/// The most messages that one receiver may get: a thousand years of them.
const MESSAGES: u64 = 1 << 60;

impl Groups {
    /// All tasks.
    pub(super) fn tasks(&self) -> u64 {
        self.groups * 2 * self.fds
    }

    /// Adds the tasks: of each group first the receivers, then the senders.
    pub(super) fn add(&self, load: &mut Workload) -> Result<Finish, Refusal> {
        check_tasks("-g", self.groups, self.tasks())?;
        let to_each = self.fds.checked_mul(self.loops).filter(|&count| count <= MESSAGES);
        let to_each = to_each.ok_or_else(|| {
            Refusal::new("-l", self.loops, format!("at most {} fit", MESSAGES / self.fds))
        })?;
        let finish = Finish::of(load, self.tasks());
        let received = load.shared.counter();
        load.measure("messages", "messages", Better::Higher, Reading::Counter(received), 1.0);
        let bytes = self.message_bytes;
        for group in 0..self.groups {
            let pipe = |receiver| load.shared.pipe(format!("{group}.{receiver}"), PIPE_BYTES);
            let pipes: Vec<u32> = (0..self.fds).map(pipe).collect();
            for (receiver, &pipe) in pipes.iter().enumerate() {
                let mut program = Sequence::new(self.op_cost_ns);
                program.times(to_each, |body| {
                    body.call(Op::PipeRead { pipe, bytes });
                    body.then(Op::Count { counter: received, by: 1 });
                });
                let program = program.then(finish.note()).program();
                load.add(format!("receiver{group}.{receiver}"), program);
            }
            let mut program = Sequence::new(self.op_cost_ns);
            program.times(self.loops, |body| {
                for &pipe in &pipes {
                    body.call(Op::PipeWrite { pipe, bytes });
                }
            });
            let program = program.then(finish.note()).program();
            for sender in 0..self.fds {
                load.add(format!("sender{group}.{sender}"), program.clone());
            }
        }
        Ok(finish)
    }
}

/// What a write or a read of a pipe costs unless `--op-cost` says otherwise, ns.
pub(super) fn op_cost_ns(own: Option<u64>) -> u64 {
    own.unwrap_or_else(super::linux::pipe_operation_ns)
}

/// Sizes of messages that fit a pipe.
pub(super) fn message(text: &str) -> Result<u32, String> {
    options::within(1..=PIPE_BYTES)(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sender_writes_to_each_receiver_of_its_group() {
        let mut load = Workload::default();
        let groups = Groups { groups: 2, fds: 2, loops: 3, message_bytes: 100, op_cost_ns: 775 };
        groups.add(&mut load).expect("fine");
        let names: Vec<_> = load.tasks().iter().map(|task| task.name.as_str()).collect();
        assert_eq!(
            names[..5],
            ["receiver0.0", "receiver0.1", "sender0.0", "sender0.1", "receiver1.0"]
        );
        let write = |pipe| Op::PipeWrite { pipe, bytes: 100 };
        let last = &load.tasks()[7].program;
        assert_eq!(last[..4], [Op::Run(775), write(2), Op::Run(775), write(3)]);
        assert_eq!(last[4], Op::Repeat { counter: 0, times: 3, to: 0 });
        let read = Op::PipeRead { pipe: 3, bytes: 100 };
        assert_eq!(load.tasks()[5].program[..2], [Op::Run(775), read]);
        assert_eq!(load.tasks()[5].program[3], Op::Repeat { counter: 0, times: 6, to: 0 });
    }
}
