//! Where the rings are in guest memory.
//!
//! One piece of memory, in lines of [`LINE_WORDS`] words of 64 bits, little-endian, as long as a
//! cache line so that no two CPUs write into the same one:
//!
//! ```text
//! line 0            header: MAGIC, VERSION, CPUs, slots per CPU, start of the run by the counter
//! line 1 + c        of CPU c: records written so far
//! line 1 + C + cS + n mod S   of CPU c: its record number n, until n + S is written over it
//! ```
//!
//! with C CPUs and S slots, a power of two. The guest tells the physical address
//! ([`crate::record::Rings`]) before the run.
//!
//! A CPU writes a record first and then, with release order, how many there are. It never looks
//! whether anybody has read them: what the host does must not change what the guest does, and a
//! full ring must not hold a scheduler up. So whoever reads too late has lost the records that
//! were written over, and knows how many: of `n` records, those before `n - S` are gone, and
//! number `n - S` may just be going.

use super::{Event, Record, code::EVENT_WORDS};

/// Words of a line.
pub const LINE_WORDS: usize = 8;
/// Bytes of a line.
pub const LINE_BYTES: usize = LINE_WORDS * 8;
/// The first word of the header: `SLICERNG`.
pub const MAGIC: u64 = u64::from_le_bytes(*b"SLICERNG");
/// Version of this layout and of the events.
pub const VERSION: u64 = 1;

/// Place of each word in the header.
pub const HEADER_MAGIC: usize = 0;
/// See [`HEADER_MAGIC`].
pub const HEADER_VERSION: usize = 1;
/// See [`HEADER_MAGIC`].
pub const HEADER_CPUS: usize = 2;
/// See [`HEADER_MAGIC`].
pub const HEADER_SLOTS: usize = 3;
/// See [`HEADER_MAGIC`]; 0 before the start is known.
pub const HEADER_START_NS: usize = 4;

/// Words of a record; the rest of its line is not used.
pub const RECORD_WORDS: usize = 2 + EVENT_WORDS;
/// Fewest slots that a ring can have.
pub const MIN_SLOTS: u32 = 64;

/// How large the rings are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// CPUs.
    pub cpus: u32,
    /// Records that a CPU's ring holds, a power of two.
    pub slots: u32,
}

impl Layout {
    /// Lines of all of it.
    pub const fn lines(self) -> usize {
        self.first_slot(self.cpus)
    }

    /// Bytes of all of it.
    pub const fn bytes(self) -> usize {
        self.lines() * LINE_BYTES
    }

    /// The line that counts a CPU's records.
    pub const fn counter(self, cpu: u32) -> usize {
        1 + cpu as usize
    }

    /// The first line of a CPU's ring.
    pub const fn first_slot(self, cpu: u32) -> usize {
        1 + self.cpus as usize + cpu as usize * self.slots as usize
    }
}

impl Record {
    /// Reads a record of a run that began at `start_ns` by the counter; nothing if these words
    /// are none.
    pub fn from_words(words: [u64; RECORD_WORDS], start_ns: u64) -> Option<Self> {
        let [at_ns, sequence, event @ ..] = words;
        let at_ns = at_ns.saturating_sub(start_ns);
        Some(Self { at_ns, sequence: sequence as u32, event: Event::from_words(event)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_lie_one_after_the_other() {
        let layout = Layout { cpus: 3, slots: 64 };
        assert_eq!((layout.counter(0), layout.counter(2)), (1, 3));
        assert_eq!((layout.first_slot(0), layout.first_slot(2)), (4, 132));
        assert_eq!((layout.lines(), layout.bytes()), (196, 196 * 64));
    }

    #[test]
    fn times_count_from_the_start() {
        let [a, b, c, d] = Event::IpiReceive.to_words();
        let record = Record::from_words([1_500, 7 | 1 << 32, a, b, c, d], 1_000);
        assert_eq!(record, Some(Record { at_ns: 500, sequence: 7, event: Event::IpiReceive }));
    }
}
