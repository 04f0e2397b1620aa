//! Child processes that cannot outlive us.
//!
//! A guest that is left behind burns a host core for ever. Three ways to lose one are closed:
//! 1. an error or panic here: dropping a [`Leashed`] kills its whole process group;
//! 2. Ctrl-C in the terminal: children have a process group of their own, so only we get the
//!    signal and decide (QEMU would exit with status 0, as after a triple fault);
//! 3. our own SIGKILL: the kernel kills the child when the thread that started it is gone.
//!
//! The third needs `prctl` in the child between fork and exec, which the standard library only
//! offers as `unsafe`. Starting through `setpriv --pdeathsig` would avoid that, but leaves a gap
//! in which the parent's death goes unnoticed, and needs a program that is not everywhere.
//!
//! The death signal follows the *thread*: [`Leashed`] stays on the thread that made it.

use crate::interrupt;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, getppid, kill_process_group,
    set_parent_process_death_signal, waitid,
};
use std::{
    io,
    marker::PhantomData,
    os::unix::process::CommandExt,
    process::{Child, Command, ExitStatus},
    thread,
    time::{Duration, Instant},
};

/// How often a wait looks for the child's end, the limit and an interrupt.
const POLL: Duration = Duration::from_millis(4);

/// A child process that is killed with its descendants when this is dropped.
pub(crate) struct Leashed {
    child: Child,
    group: Pid,
    status: Option<ExitStatus>,
    /// Not `Send`: the child dies with the thread that started it.
    _stays: PhantomData<*const ()>,
}

/// Why a wait is over.
pub(crate) enum Waited {
    /// The child ended by itself.
    Exited(ExitStatus),
    /// The limit passed; the child is dead now.
    TimedOut,
    /// Ctrl-C or SIGTERM; the child is dead now.
    Interrupted,
    /// The caller wanted an end; the child is dead now.
    Stopped,
}

impl Leashed {
    /// Starts a program.
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        command.process_group(0);
        die_with_parent(command);
        let child = command.spawn()?;
        let group = Pid::from_child(&child);
        Ok(Self { child, group, status: None, _stays: PhantomData })
    }

    /// The child, to take its pipes from.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits for the end, at most until `limit` has passed since `start` or `stop` says so.
    pub(crate) fn wait(
        &mut self,
        start: Instant,
        limit: Option<Duration>,
        stop: impl Fn() -> bool,
    ) -> io::Result<Waited> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            // Not reaped yet: until then no other process can get this group's number.
            if waitid(WaitId::Pid(self.group), options)?.is_some() {
                return Ok(Waited::Exited(self.kill()?));
            }
            let over = if interrupt::requested() {
                Waited::Interrupted
            } else if stop() {
                Waited::Stopped
            } else if limit.is_some_and(|limit| start.elapsed() >= limit) {
                Waited::TimedOut
            } else {
                thread::sleep(POLL);
                continue;
            };
            self.kill()?;
            return Ok(over);
        }
    }

    /// Kills what is left of the group and reaps the child.
    fn kill(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        // An error means that nobody is left, which is what is wanted.
        let _ = kill_process_group(self.group, Signal::KILL);
        let status = self.child.wait()?;
        self.status = Some(status);
        Ok(status)
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        // Nobody is left to tell about a failure.
        let _ = self.kill();
    }
}

#[expect(unsafe_code, reason = "the only door to the child between fork and exec")]
fn die_with_parent(command: &mut Command) {
    let parent = getpid();
    let tie = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // If the parent died before that call, no signal will ever come.
        if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::NotConnected.into()) }
    };
    // SAFETY: between fork and exec only async-signal-safe code may run. The closure makes two
    // bare system calls; it does not allocate, lock or touch memory shared with other threads.
    unsafe {
        command.pre_exec(tie);
    }
}
