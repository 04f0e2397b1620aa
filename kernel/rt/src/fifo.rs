//! The `SCHED_FIFO` tasks of one CPU: a line for each priority.
//!
//! 1. The first of the highest line runs; it stays in its line meanwhile, at the front.
//! 2. Who becomes runnable joins the end of its line. Who is preempted by a higher line keeps its
//!    place. Who yields goes to the end.
//! 3. There is no slice: a task runs until it blocks, yields or a higher line fills.
//!
//! Source: sched(7), "SCHED_FIFO: First in-first out scheduling"; POSIX.1-2017, 2.8.4.

/// 1 to 99; the larger one goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(u8);

impl Priority {
    /// How many there are.
    const COUNT: usize = 99;

    /// The priority, if there is one of that number.
    pub const fn new(priority: u8) -> Option<Self> {
        if 1 <= priority && priority as usize <= Self::COUNT { Some(Self(priority)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> u8 {
        self.0
    }

    const fn line(self) -> usize {
        self.0 as usize - 1
    }
}

const NONE: u32 = u32::MAX;

/// A task's place in a line; storage that the caller gives, number n for task n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    before: u32,
    after: u32,
    priority: Option<Priority>,
}

impl Link {
    /// Of a task that is in no line.
    pub const EMPTY: Self = Self { before: NONE, after: NONE, priority: None };
}

#[derive(Clone, Copy, Debug)]
struct Line {
    first: u32,
    last: u32,
}

/// The lines of one CPU.
#[derive(Clone, Debug)]
pub struct FifoQueue<S> {
    links: S,
    lines: [Line; Priority::COUNT],
    /// Bit n: line n is not empty.
    filled: u128,
    len: u32,
}

impl<S: AsRef<[Link]> + AsMut<[Link]>> FifoQueue<S> {
    /// An empty queue for as many tasks as there are links.
    pub fn new(mut links: S) -> Self {
        links.as_mut().fill(Link::EMPTY);
        let lines = [Line { first: NONE, last: NONE }; Priority::COUNT];
        Self { links, lines, filled: 0, len: 0 }
    }

    /// Puts a task at the end of the line of its priority.
    ///
    /// # Panics
    /// If it is in one already, or its number is beyond the capacity.
    pub fn enqueue(&mut self, task: u32, priority: Priority) {
        assert!(!self.contains(task), "task {task} is enqueued while it is in a line");
        let line = &mut self.lines[priority.line()];
        let last = core::mem::replace(&mut line.last, task);
        if last == NONE {
            line.first = task;
            self.filled |= 1 << priority.line();
        } else {
            self.links.as_mut()[last as usize].after = task;
        }
        self.links.as_mut()[task as usize] =
            Link { before: last, after: NONE, priority: Some(priority) };
        self.len += 1;
    }

    /// Takes a task out of its line.
    ///
    /// # Panics
    /// If it is in none.
    pub fn dequeue(&mut self, task: u32) {
        let link = core::mem::replace(&mut self.links.as_mut()[task as usize], Link::EMPTY);
        let Some(priority) = link.priority else {
            panic!("task {task} is dequeued while it is in no line");
        };
        let line = &mut self.lines[priority.line()];
        match link.before {
            NONE => line.first = link.after,
            before => self.links.as_mut()[before as usize].after = link.after,
        }
        match link.after {
            NONE => line.last = link.before,
            after => self.links.as_mut()[after as usize].before = link.before,
        }
        if line.first == NONE {
            self.filled &= !(1 << priority.line());
        }
        self.len -= 1;
    }

    /// Who is to run.
    pub fn first(&self) -> Option<u32> {
        let highest = self.filled.checked_ilog2()?;
        Some(self.lines[highest as usize].first)
    }

    /// The priority of a task that is in a line.
    pub fn priority(&self, task: u32) -> Option<Priority> {
        self.links.as_ref().get(task as usize)?.priority
    }

    /// Whether the task is in a line.
    pub fn contains(&self, task: u32) -> bool {
        self.priority(task).is_some()
    }

    /// How many tasks are in lines.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether nobody is.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Tasks in the order in which they would run.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.lines.iter().rev().flat_map(|line| {
            core::iter::successors((line.first != NONE).then_some(line.first), |&task| {
                let after = self.links.as_ref()[task as usize].after;
                (after != NONE).then_some(after)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn queue(tasks: &[(u32, u8)]) -> FifoQueue<[Link; 8]> {
        let mut queue = FifoQueue::new([Link::EMPTY; 8]);
        for &(task, priority) in tasks {
            queue.enqueue(task, Priority::new(priority).expect("1 to 99"));
        }
        queue
    }

    #[test]
    fn priorities_are_1_to_99() {
        assert_eq!(Priority::new(0), None);
        assert_eq!(Priority::new(99).map(Priority::get), Some(99));
        assert_eq!(Priority::new(100), None);
    }

    #[test]
    fn the_higher_line_first_and_each_in_order_of_arrival() {
        let queue = queue(&[(0, 10), (1, 99), (2, 10), (3, 1), (4, 99)]);
        assert_eq!(queue.iter().collect::<Vec<_>>(), [1, 4, 0, 2, 3]);
        assert_eq!((queue.first(), queue.len()), (Some(1), 5));
    }

    #[test]
    fn any_place_in_a_line_can_be_left() {
        for leaves in 0..3 {
            let mut queue = queue(&[(0, 5), (1, 5), (2, 5)]);
            queue.dequeue(leaves);
            let left: Vec<_> = (0..3).filter(|&task| task != leaves).collect();
            assert_eq!(queue.iter().collect::<Vec<_>>(), left);
            // And joined again, at the end.
            queue.enqueue(leaves, Priority(5));
            assert_eq!(queue.iter().last(), Some(leaves));
        }
    }

    #[test]
    fn an_empty_line_is_passed_over() {
        let mut queue = queue(&[(0, 5), (1, 7)]);
        queue.dequeue(1);
        assert_eq!(queue.first(), Some(0));
        queue.dequeue(0);
        assert_eq!((queue.first(), queue.is_empty()), (None, true));
    }

    #[test]
    #[should_panic(expected = "task 3 is enqueued while it is in a line")]
    fn nobody_is_in_two_lines() {
        queue(&[(3, 5), (3, 6)]);
    }
}
