//! A CPU's request to look at its runqueue (Linux: `TIF_NEED_RESCHED`).
//!
//! | store | pairs with | so that |
//! | --- | --- | --- |
//! | [`NeedResched::set`], Release, under the runqueue's lock | [`NeedResched::is_set`], Acquire, by the CPU before it halts or leaves an interrupt | what was enqueued is seen without the lock having been taken |
//! | [`NeedResched::clear`], Relaxed, under the lock | the lock | no request is lost: one made before is granted by the choice under this lock, one made later sets it again |
//!
//! A request from another CPU comes with an interrupt, sent after the flag is set. The owner looks
//! at the flag with interrupts off and lets them in by the instruction that halts (`sti; hlt`), so
//! the interrupt either finds it halted or is taken before it halts.

use crate::shim::atomic::{AtomicBool, Ordering};

/// Whether the CPU should choose again.
#[derive(Debug)]
pub struct NeedResched(AtomicBool);

impl NeedResched {
    /// No request.
    #[cfg(not(loom))]
    pub const fn none() -> Self {
        Self(AtomicBool::new(false))
    }

    /// No request.
    #[cfg(loom)]
    pub fn none() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Asks. The caller holds the runqueue's lock or is its CPU.
    #[inline]
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// The request is being granted. The caller holds the runqueue's lock.
    #[inline]
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether there is one.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[cfg(loom)]
mod loom_tests {
    use super::*;
    use crate::{OnCpu, WakeLink, WakeList};
    use loom::cell::UnsafeCell;
    use loom::sync::{Arc, Mutex, Notify};
    use std::vec::Vec;

    /// Two wakers put a task each on a CPU's queue while that CPU goes idle. It runs both in the
    /// end, and never halts for good with one of them queued.
    #[test]
    fn no_request_is_lost_while_a_cpu_halts() {
        let mut model = loom::model::Builder::new();
        // As for the wake list: three threads.
        model.preemption_bound = Some(3);
        model.check(|| {
            let queue = Arc::new(Mutex::new(Vec::new()));
            let (need, ipi) = (Arc::new(NeedResched::none()), Arc::new(Notify::new()));
            let wakers: Vec<_> = (0..2)
                .map(|task| {
                    let (queue, need, ipi) = (queue.clone(), need.clone(), ipi.clone());
                    loom::thread::spawn(move || {
                        {
                            let mut queue = queue.lock().expect("nobody panics");
                            queue.push(task);
                            need.set();
                        }
                        ipi.notify();
                    })
                })
                .collect();
            let mut ran = Vec::new();
            while ran.len() < 2 {
                if need.is_set() {
                    let mut queue = queue.lock().expect("nobody panics");
                    need.clear();
                    assert!(!queue.is_empty(), "a request comes with a task");
                    ran.append(&mut queue);
                } else {
                    // `sti; hlt`: an interrupt from before counts.
                    ipi.wait();
                }
            }
            for waker in wakers {
                waker.join().expect("wakers do not panic");
            }
        });
    }

    /// A task that blocks, in the words of the kernel's `block`, `schedule` and `wake`.
    struct Blocking {
        /// Whether it is blocked (`Task::wait`), and the kept wake-up.
        wait: Mutex<(bool, bool)>,
        on_cpu: OnCpu,
        /// What it wrote, and its registers.
        saved: UnsafeCell<u32>,
        list: WakeList,
        link: WakeLink,
        ipi: Notify,
    }

    fn blocking() -> Arc<Blocking> {
        let task = Arc::new(Blocking {
            wait: Mutex::new((false, false)),
            on_cpu: OnCpu::off(),
            saved: UnsafeCell::new(0),
            list: WakeList::new(),
            link: WakeLink::new(),
            ipi: Notify::new(),
        });
        task.on_cpu.enter();
        task
    }

    impl Blocking {
        /// Blocks unless a wake-up came first; returns whether it did.
        fn block(&self) -> bool {
            {
                let mut wait = self.wait.lock().expect("nobody panics");
                if std::mem::take(&mut wait.1) {
                    return false;
                }
                wait.0 = true;
            }
            self.saved.with_mut(|saved| {
                // SAFETY: loom checks that no other thread is in here.
                unsafe { *saved = 7 }
            });
            self.on_cpu.leave();
            true
        }

        /// Whether the waker found it blocked and has it to itself now.
        fn claim(&self) -> bool {
            let mut wait = self.wait.lock().expect("nobody panics");
            if !wait.0 {
                wait.1 = true;
                return false;
            }
            wait.0 = false;
            true
        }

        fn resume(&self) {
            self.on_cpu.enter();
            let saved = self.saved.with(|saved| {
                // SAFETY: loom checks that no other thread is writing.
                unsafe { *saved }
            });
            assert_eq!(saved, 7);
        }
    }

    /// The waker waits until the blocker's CPU has left its stack, and runs it elsewhere.
    #[test]
    fn a_wakeup_meets_a_block_by_waiting() {
        loom::model(|| {
            let task = blocking();
            let blocker = Arc::clone(&task);
            let thread = loom::thread::spawn(move || blocker.block());
            let claimed = task.claim();
            if claimed {
                while task.on_cpu.is_on() {
                    loom::thread::yield_now();
                }
                task.resume();
            }
            let blocked = thread.join().expect("the blocker does not panic");
            assert_eq!(blocked, claimed, "neither lost nor woken twice");
        });
    }

    /// The waker does not wait: it puts the task on the list of the CPU that is leaving it, which
    /// takes it from there once it has left.
    #[test]
    fn a_wakeup_meets_a_block_by_the_wake_list() {
        loom::model(|| {
            let task = blocking();
            let waker = Arc::clone(&task);
            let thread = loom::thread::spawn(move || {
                let claimed = waker.claim();
                if claimed && waker.list.push(0, &waker.link) {
                    waker.ipi.notify();
                }
                claimed
            });
            let blocked = task.block();
            if blocked {
                // Idle, until the interrupt; others may come before.
                while task.list.take(|_| &task.link).count() == 0 {
                    task.ipi.wait();
                }
                task.resume();
            }
            assert_eq!(thread.join().expect("the waker does not panic"), blocked);
        });
    }

    /// Two wakers of one task: one of them gets it.
    #[test]
    fn two_wakers_wake_once() {
        loom::model(|| {
            let task = blocking();
            assert!(task.block());
            let other = Arc::clone(&task);
            let thread = loom::thread::spawn(move || other.claim());
            let mine = task.claim();
            let theirs = thread.join().expect("the waker does not panic");
            assert!(mine != theirs);
        });
    }
}
