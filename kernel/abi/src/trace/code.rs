//! Records as the words of a ring.
//!
//! ```text
//! word 0   time, ns by the guest's counter
//! word 1   sequence
//! word 2   kind (8 bits) | byte a (8) | byte b (8) | 0 (8) | nr_running (32)
//! word 3   number x (32) | number y (32)
//! word 4   value v
//! word 5   value w
//! ```
//!
//! Kinds, bytes and numbers are those that [`Event::to_words`] shows. Encoding takes no branch
//! once the compiler knows the kind of event, so that writing one costs the guest little.

use super::{Event, Joins, Leaves, Move, Pick, Preempts, StintEnd, TaskIn, TaskOut};

/// Words of an event, after time and sequence.
pub(super) const EVENT_WORDS: usize = 4;

/// No task, no CPU.
const NONE: u32 = u32::MAX;

const BEGIN: u8 = 1;
const END: u8 = 2;
const TICK: u8 = 3;
const SWITCH: u8 = 4;
const WAKING: u8 = 5;
const WAKEUP: u8 = 6;
const MIGRATE: u8 = 7;
const ENQUEUE: u8 = 8;
const DEQUEUE: u8 = 9;
const IPI_SEND: u8 = 10;
const IPI_RECEIVE: u8 = 11;
const BALANCE: u8 = 12;
const MARK: u8 = 13;
const MEASURE: u8 = 14;

const fn head(kind: u8, a: u8, b: u8, nr_running: u32) -> u64 {
    kind as u64 | (a as u64) << 8 | (b as u64) << 16 | (nr_running as u64) << 32
}

const fn pair(x: u32, y: u32) -> u64 {
    x as u64 | (y as u64) << 32
}

fn some(number: u32) -> Option<u32> {
    Some(number).filter(|&number| number != NONE)
}

impl Event {
    /// The event as words 2 to 5 of a record.
    #[inline(always)]
    pub fn to_words(self) -> [u64; EVENT_WORDS] {
        match self {
            Self::Begin => [head(BEGIN, 0, 0, 0), 0, 0, 0],
            Self::End => [head(END, 0, 0, 0), 0, 0, 0],
            Self::Tick { curr, nr_running, resched } => {
                [head(TICK, resched as u8, 0, nr_running), pair(curr.unwrap_or(NONE), 0), 0, 0]
            }
            Self::Switch { prev, next, nr_running } => {
                let (prev, end, prev_lag) = match prev {
                    Some(TaskOut { task, end, lag_ns }) => (task, end as u8, lag_ns as u64),
                    None => (NONE, 0, 0),
                };
                let (next, pick, next_lag) = match next {
                    Some(TaskIn { task, pick, lag_ns }) => (task, pick as u8, lag_ns as u64),
                    None => (NONE, 0, 0),
                };
                [head(SWITCH, end, pick, nr_running), pair(prev, next), prev_lag, next_lag]
            }
            Self::Waking { task, cpu, waker } => {
                [head(WAKING, 0, 0, 0), pair(task, cpu), waker.unwrap_or(NONE).into(), 0]
            }
            Self::Wakeup { task, cpu, is_new, preempts } => {
                [head(WAKEUP, is_new as u8, preempts as u8, 0), pair(task, cpu), 0, 0]
            }
            Self::Migrate { task, from, to, why } => {
                [head(MIGRATE, why as u8, 0, 0), pair(task, from), to.into(), 0]
            }
            Self::Enqueue { task, cpu, how, nr_running, lag_ns } => {
                [head(ENQUEUE, how as u8, 0, nr_running), pair(task, cpu), lag_ns as u64, 0]
            }
            Self::Dequeue { task, cpu, why, nr_running } => {
                [head(DEQUEUE, why as u8, 0, nr_running), pair(task, cpu), 0, 0]
            }
            Self::IpiSend { cpu } => [head(IPI_SEND, 0, 0, 0), pair(cpu, 0), 0, 0],
            Self::IpiReceive => [head(IPI_RECEIVE, 0, 0, 0), 0, 0, 0],
            Self::Balance { from, moved } => {
                [head(BALANCE, 0, 0, 0), pair(from.unwrap_or(NONE), moved), 0, 0]
            }
            Self::Mark { task, mark } => [head(MARK, 0, 0, 0), pair(task, mark), 0, 0],
            Self::Measure { task, histogram, value_ns } => {
                [head(MEASURE, 0, 0, 0), pair(task, histogram), value_ns, 0]
            }
        }
    }

    /// Reads it back; nothing if these words are no event.
    pub fn from_words(words: [u64; EVENT_WORDS]) -> Option<Self> {
        let [head, pair, v, w] = words;
        let [kind, a, b, _, ..] = head.to_le_bytes();
        let nr_running = (head >> 32) as u32;
        let (x, y) = (pair as u32, (pair >> 32) as u32);
        Some(match kind {
            BEGIN => Self::Begin,
            END => Self::End,
            TICK => Self::Tick { curr: some(x), nr_running, resched: a != 0 },
            SWITCH => {
                let (end, pick) = (StintEnd::from_byte(a)?, Pick::from_byte(b)?);
                let prev = some(x).map(|task| TaskOut { task, end, lag_ns: v as i64 });
                let next = some(y).map(|task| TaskIn { task, pick, lag_ns: w as i64 });
                Self::Switch { prev, next, nr_running }
            }
            WAKING => Self::Waking { task: x, cpu: y, waker: some(v as u32) },
            WAKEUP => {
                let preempts = Preempts::from_byte(b)?;
                Self::Wakeup { task: x, cpu: y, is_new: a != 0, preempts }
            }
            MIGRATE => Self::Migrate { task: x, from: y, to: v as u32, why: Move::from_byte(a)? },
            ENQUEUE => {
                let how = Joins::from_byte(a)?;
                Self::Enqueue { task: x, cpu: y, how, nr_running, lag_ns: v as i64 }
            }
            DEQUEUE => Self::Dequeue { task: x, cpu: y, why: Leaves::from_byte(a)?, nr_running },
            IPI_SEND => Self::IpiSend { cpu: x },
            IPI_RECEIVE => Self::IpiReceive,
            BALANCE => Self::Balance { from: some(x), moved: y },
            MARK => Self::Mark { task: x, mark: y },
            MEASURE => Self::Measure { task: x, histogram: y, value_ns: v },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn one_of_each() -> Vec<Event> {
        let out = TaskOut { task: 0, end: StintEnd::Exit, lag_ns: i64::MIN };
        let into = TaskIn { task: 70_000, pick: Pick::Deadline, lag_ns: -1 };
        alloc::vec![
            Event::Begin,
            Event::End,
            Event::Tick { curr: None, nr_running: 0, resched: false },
            Event::Tick { curr: Some(3), nr_running: 70_000, resched: true },
            Event::Switch { prev: Some(out), next: Some(into), nr_running: 2 },
            Event::Switch { prev: None, next: Some(into), nr_running: 1 },
            Event::Switch { prev: Some(out), next: None, nr_running: 0 },
            Event::Waking { task: 1, cpu: 254, waker: None },
            Event::Waking { task: 1, cpu: 0, waker: Some(0) },
            Event::Wakeup { task: 1, cpu: 2, is_new: true, preempts: Preempts::Lazy },
            Event::Migrate { task: 1, from: 2, to: 254, why: Move::Affinity },
            Event::Enqueue { task: 1, cpu: 2, how: Joins::Migrate, nr_running: 3, lag_ns: -4 },
            Event::Dequeue { task: 1, cpu: 2, why: Leaves::Exit, nr_running: 3 },
            Event::IpiSend { cpu: 254 },
            Event::IpiReceive,
            Event::Balance { from: None, moved: 0 },
            Event::Balance { from: Some(0), moved: 7 },
            Event::Mark { task: 1, mark: 2 },
            Event::Measure { task: 1, histogram: 2, value_ns: u64::MAX },
        ]
    }

    #[test]
    fn events_survive_the_ring() {
        for event in one_of_each() {
            assert_eq!(Event::from_words(event.to_words()), Some(event));
        }
    }

    #[test]
    fn words_that_are_no_event_are_none() {
        let switch = Event::Switch { prev: None, next: None, nr_running: 0 }.to_words();
        assert_eq!(Event::from_words([0; EVENT_WORDS]), None);
        assert_eq!(Event::from_words([99, 0, 0, 0]), None);
        assert_eq!(Event::from_words([switch[0] | 6 << 8, switch[1], 0, 0]), None);
    }
}
