//! Tasks that other CPUs have woken and this CPU has yet to put on its queue (Linux:
//! `rq->wake_list`, a `llist`).
//!
//! Any CPU pushes, the owner takes all at once. The list runs through the tasks: each has one
//! [`WakeLink`] and is on one list at most, since only who finds it blocked may push it. Who finds
//! the list empty sends the owner an interrupt; who does not, leaves it to that interrupt. So
//! there is one for each batch, and none is lost: the owner empties the list in one step, and
//! whoever pushes after that finds it empty again.
//!
//! | store | pairs with | so that |
//! | --- | --- | --- |
//! | [`WakeList::push`], Release on the head | [`WakeList::take`], Acquire on the head | the link, and all the waker did to the task, are seen; pushes in between carry it on, since each is one read-modify-write of the head |
//! | `pending`, Relaxed | Relaxed, anywhere | nothing: a hint for CPUs that look for an idle one |
//!
//! No ABA: nothing is ever taken from the middle, and a push only compares the head with what it
//! links to.

use crate::shim::atomic::{AtomicBool, AtomicU32, Ordering};

/// Nobody, in a head or a link.
const NOBODY: u32 = u32::MAX;

/// The place for the next task of a list, in the task.
#[derive(Debug)]
pub struct WakeLink(AtomicU32);

/// One CPU's list. Tasks are numbers below `u32::MAX`; whoever takes them knows where their
/// links are.
#[derive(Debug)]
pub struct WakeList {
    /// The one pushed last.
    head: AtomicU32,
    is_pending: AtomicBool,
}

macro_rules! constructors {
    ($($constness:tt)?) => {
        impl WakeLink {
            /// The link of a task on no list.
            pub $($constness)? fn new() -> Self {
                Self(AtomicU32::new(NOBODY))
            }
        }

        impl WakeList {
            /// A list of nobody.
            pub $($constness)? fn new() -> Self {
                Self { head: AtomicU32::new(NOBODY), is_pending: AtomicBool::new(false) }
            }
        }
    };
}
#[cfg(not(loom))]
constructors!(const);
#[cfg(loom)]
constructors!();

impl Default for WakeLink {
    fn default() -> Self {
        Self::new()
    }
}

impl Default for WakeList {
    fn default() -> Self {
        Self::new()
    }
}

impl WakeList {
    /// Adds a task that is on no list. Returns whether the owner has to be told.
    pub fn push(&self, task: u32, link: &WakeLink) -> bool {
        self.is_pending.store(true, Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            link.0.store(head, Ordering::Relaxed);
            match self.head.compare_exchange_weak(head, task, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return head == NOBODY,
                Err(found) => head = found,
            }
        }
    }

    /// Takes all tasks, the first that was pushed first. For the owner, which says
    /// [`done`](Self::done) when they are on its queue.
    pub fn take<'a, L: Fn(u32) -> &'a WakeLink>(&self, link_of: L) -> Batch<L> {
        let mut newest = match self.head.load(Ordering::Relaxed) {
            // Spares the list's line a write where nobody pushed.
            NOBODY => NOBODY,
            _ => self.head.swap(NOBODY, Ordering::Acquire),
        };
        // Turned round in place: nobody else has these links now.
        let mut next = NOBODY;
        while newest != NOBODY {
            let link = link_of(newest);
            let older = link.0.load(Ordering::Relaxed);
            link.0.store(next, Ordering::Relaxed);
            (next, newest) = (newest, older);
        }
        Batch { next, link_of }
    }

    /// Whether tasks are on their way to this CPU, as of a moment ago.
    pub fn is_pending(&self) -> bool {
        self.is_pending.load(Ordering::Relaxed)
    }

    /// What was taken is on the queue. One pushed since then is not noticed by those who ask
    /// [`is_pending`](Self::is_pending); they see that the queue is not empty.
    pub fn done(&self) {
        self.is_pending.store(false, Ordering::Relaxed);
    }
}

/// Tasks that were taken together.
#[derive(Debug)]
pub struct Batch<L> {
    next: u32,
    link_of: L,
}

impl<'a, L: Fn(u32) -> &'a WakeLink> Iterator for Batch<L> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let task = Some(self.next).filter(|&task| task != NOBODY)?;
        // Before the task is handed out: it may be on another list by the time we are asked again.
        self.next = (self.link_of)(task).0.load(Ordering::Relaxed);
        Some(task)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn the_first_in_is_the_first_out_and_tells() {
        let links: [WakeLink; 4] = core::array::from_fn(|_| WakeLink::new());
        let (list, link) = (WakeList::new(), |task: u32| &links[task as usize]);
        assert_eq!(list.take(link).count(), 0);
        assert!(list.push(2, link(2)) && !list.push(0, link(0)) && !list.push(3, link(3)));
        assert!(list.is_pending());
        let mut batch = list.take(link);
        assert_eq!(batch.next(), Some(2));
        // It is woken again at once; that is another batch, which somebody is told of.
        assert!(list.push(2, link(2)));
        assert_eq!(batch.collect::<Vec<_>>(), [0, 3]);
        assert_eq!(list.take(link).collect::<Vec<_>>(), [2]);
        list.done();
        assert!(!list.is_pending());
    }
}

#[cfg(loom)]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::{Arc, Notify};
    use std::vec::Vec;

    struct Tasks {
        list: WakeList,
        links: Vec<WakeLink>,
        /// What a waker wrote before it pushed.
        written: Vec<UnsafeCell<u32>>,
        /// The interrupt to the owner.
        ipi: Notify,
    }

    /// Two CPUs push, one of them twice. The owner halts until it is told, and takes; it gets
    /// each task once, with what its waker wrote, those of one waker in order, and is never
    /// left halted with a task on the list (loom would find it blocked for ever).
    #[test]
    fn pushed_tasks_arrive_once_and_none_is_forgotten() {
        let mut model = loom::model::Builder::new();
        // Three threads in every order take hours; a fault needs few preemptions to show.
        model.preemption_bound = Some(3);
        model.check(|| {
            let tasks = Arc::new(Tasks {
                list: WakeList::new(),
                links: (0..3).map(|_| WakeLink::new()).collect(),
                written: (0..3).map(|_| UnsafeCell::new(0)).collect(),
                ipi: Notify::new(),
            });
            let pushers: Vec<_> = [&[0, 1][..], &[2]]
                .into_iter()
                .map(|own| {
                    let tasks = Arc::clone(&tasks);
                    loom::thread::spawn(move || {
                        for &task in own {
                            tasks.written[task as usize].with_mut(|value| {
                                // SAFETY: loom checks that no other thread is in here.
                                unsafe { *value = task + 1 }
                            });
                            if tasks.list.push(task, &tasks.links[task as usize]) {
                                tasks.ipi.notify();
                            }
                        }
                    })
                })
                .collect();
            let mut arrived = Vec::new();
            while arrived.len() < 3 {
                tasks.ipi.wait();
                for task in tasks.list.take(|task| &tasks.links[task as usize]) {
                    let value = tasks.written[task as usize].with(|value| {
                        // SAFETY: loom checks that no other thread is writing.
                        unsafe { *value }
                    });
                    assert_eq!(value, task + 1);
                    arrived.push(task);
                }
            }
            let place = |task| arrived.iter().position(|&found| found == task);
            assert!(place(0) < place(1), "{arrived:?}");
            assert!(place(2).is_some());
            for pusher in pushers {
                pusher.join().expect("pushers do not panic");
            }
            assert_eq!(tasks.list.take(|task| &tasks.links[task as usize]).count(), 0);
        });
    }
}
