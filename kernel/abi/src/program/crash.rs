//! Ways to break the guest, so that tests see each failure noticed and told apart.

use serde::{Deserialize, Serialize};

/// Ways to break the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Crash {
    /// A failed assertion.
    Panic,
    /// Endless recursion, into the guard page of the task's stack.
    StackOverflow,
    /// A read through a null pointer.
    NullRead,
    /// A write to the kernel's code.
    CodeWrite,
    /// A jump into data.
    DataExecute,
    /// Nothing happens any more, interrupts off.
    Hang,
    /// A fault that cannot be handled: the machine resets.
    TripleFault,
}

impl Crash {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Panic,
        Self::StackOverflow,
        Self::NullRead,
        Self::CodeWrite,
        Self::DataExecute,
        Self::Hang,
        Self::TripleFault,
    ];

    /// The word on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::StackOverflow => "stack-overflow",
            Self::NullRead => "null-read",
            Self::CodeWrite => "code-write",
            Self::DataExecute => "data-execute",
            Self::Hang => "hang",
            Self::TripleFault => "triple-fault",
        }
    }
}
