//! Rings of a running guest, emptied from outside.
//!
//! The guest writes a record and then counts it; it never waits for this side. So after reading
//! records, the count is read again: those that the guest may have begun to write over meanwhile
//! are dropped and counted as lost. See `abi::trace::ring` for the layout.

use super::ram::Memory;
use abi::{
    record::Rings,
    trace::{
        Record,
        ring::{self, LINE_BYTES, LINE_WORDS, Layout, RECORD_WORDS},
    },
};
use std::io;

/// Records read at once.
const PORTION: u64 = 4096;

/// What is wrong with rings.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// Guest memory cannot be read.
    #[error("cannot read the guest's memory: {0}")]
    Memory(#[from] io::Error),
    /// The guest never said where they are.
    #[error("the guest has no trace rings; build kernel and runner from one tree")]
    NoRings,
    /// There are other ones.
    #[error(
        "the guest's trace rings are not where it says ({0}); build kernel and runner from one tree"
    )]
    NotThere(&'static str),
    /// A record is none.
    #[error("record {number} of cpu {cpu} is not one; build kernel and runner from one tree")]
    NoRecord {
        /// Whose ring.
        cpu: u32,
        /// Its number there.
        number: u64,
    },
}

/// Takes records that were read from the ring of a CPU, the first of which has that number.
pub(super) trait Sink {
    /// Takes them.
    fn take(&mut self, cpu: u32, first: u64, records: &[Record]) -> io::Result<()>;
}

/// How far the rings of a guest have been read.
pub(super) struct Drain<'a, M> {
    memory: &'a M,
    layout: Layout,
    at: u64,
    cpus: Vec<Progress>,
    bytes: Vec<u8>,
    records: Vec<Record>,
}

/// How far one of them has.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// Number of the record that is read next.
    next: u64,
    /// Records that came too late for.
    lost: u64,
}

/// Why a pass ended early.
#[derive(Debug, thiserror::Error)]
pub(super) enum PassError {
    #[error(transparent)]
    Ring(#[from] RingError),
    #[error(transparent)]
    Sink(io::Error),
}

impl<'a, M: Memory> Drain<'a, M> {
    /// Looks whether the rings are where the guest says.
    pub(super) fn new(memory: &'a M, rings: &Rings) -> Result<Self, RingError> {
        let Rings { version, at, cpus, slots } = *rings;
        if version != ring::VERSION {
            return Err(RingError::NotThere("another version"));
        }
        if !slots.is_power_of_two() || slots < ring::MIN_SLOTS {
            return Err(RingError::NotThere("an impossible size"));
        }
        let layout = Layout { cpus, slots };
        let drain = Self {
            memory,
            layout,
            at,
            cpus: vec![Progress::default(); cpus as usize],
            bytes: Vec::new(),
            records: Vec::new(),
        };
        let header = drain.line(0)?;
        let expected = [ring::MAGIC, ring::VERSION, cpus.into(), slots.into()];
        let found = [
            header[ring::HEADER_MAGIC],
            header[ring::HEADER_VERSION],
            header[ring::HEADER_CPUS],
            header[ring::HEADER_SLOTS],
        ];
        if found != expected {
            return Err(RingError::NotThere("another header"));
        }
        Ok(drain)
    }

    /// Reads what is there; returns how many records that were.
    pub(super) fn pass(&mut self, sink: &mut impl Sink) -> Result<u64, PassError> {
        let start_ns = self.line(0)?[ring::HEADER_START_NS];
        let mut counters = vec![0; self.cpus.len() * LINE_BYTES];
        let first = self.address(self.layout.counter(0));
        self.memory.read(first, &mut counters).map_err(RingError::from)?;
        let mut read = 0;
        for (cpu, line) in (0..).zip(counters.chunks_exact(LINE_BYTES)) {
            let written = word(line, 0);
            while self.cpus[cpu as usize].next < written {
                read += self.portion(cpu, written, start_ns, sink)?;
            }
        }
        Ok(read)
    }

    /// Records lost on each CPU so far.
    pub(super) fn lost(&self) -> impl Iterator<Item = u64> + '_ {
        self.cpus.iter().map(|progress| progress.lost)
    }

    /// Reads some of the records of a CPU that are before number `written`.
    fn portion(
        &mut self,
        cpu: u32,
        written: u64,
        start_ns: u64,
        sink: &mut impl Sink,
    ) -> Result<u64, PassError> {
        let slots = u64::from(self.layout.slots);
        // Nothing is gained by reading what is surely gone.
        self.lose_before(cpu, written.saturating_sub(slots));
        let first = self.cpus[cpu as usize].next;
        let slot = first % slots;
        let count = (written - first).min(slots - slot).min(PORTION) as usize;
        self.bytes.resize(count * LINE_BYTES, 0);
        let at = self.address(self.layout.first_slot(cpu) + slot as usize);
        self.memory.read(at, &mut self.bytes).map_err(RingError::from)?;

        let written = self.line(self.layout.counter(cpu))?[0];
        // What number `written` replaces may be half gone already.
        self.lose_before(cpu, (written + 1).saturating_sub(slots));
        let intact = self.cpus[cpu as usize].next.min(first + count as u64);
        self.records.clear();
        for (number, line) in (first..).zip(self.bytes.chunks_exact(LINE_BYTES)) {
            if number < intact {
                continue;
            }
            let words: [u64; RECORD_WORDS] = std::array::from_fn(|place| word(line, place));
            let record = Record::from_words(words, start_ns);
            self.records.push(record.ok_or(RingError::NoRecord { cpu, number })?);
        }
        if !self.records.is_empty() {
            sink.take(cpu, intact, &self.records).map_err(PassError::Sink)?;
        }
        let progress = &mut self.cpus[cpu as usize];
        progress.next = progress.next.max(first + count as u64);
        Ok(self.records.len() as u64)
    }

    /// Gives up the records of a CPU before that number which have not been read.
    fn lose_before(&mut self, cpu: u32, number: u64) {
        let progress = &mut self.cpus[cpu as usize];
        progress.lost += number.saturating_sub(progress.next);
        progress.next = progress.next.max(number);
    }

    fn address(&self, line: usize) -> u64 {
        self.at + (line * LINE_BYTES) as u64
    }

    fn line(&self, line: usize) -> Result<[u64; LINE_WORDS], RingError> {
        let mut bytes = [0; LINE_BYTES];
        self.memory.read(self.address(line), &mut bytes)?;
        Ok(std::array::from_fn(|place| word(&bytes, place)))
    }
}

fn word(line: &[u8], place: usize) -> u64 {
    let bytes = &line[place * 8..place * 8 + 8];
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi::trace::Event;
    use std::cell::RefCell;

    const SLOTS: u64 = 64;
    const AT: u64 = 4096;
    const RINGS: Rings = Rings { version: ring::VERSION, at: AT, cpus: 2, slots: SLOTS as u32 };

    /// A guest that writes some more records whenever its ring was read.
    struct Guest {
        bytes: RefCell<Vec<u8>>,
        written: RefCell<[u64; 2]>,
        /// Records written on CPU 0 after each read of a slot.
        busy: u64,
    }

    impl Guest {
        fn new(busy: u64) -> Self {
            let layout = Layout { cpus: 2, slots: SLOTS as u32 };
            let guest = Self {
                bytes: RefCell::new(vec![0; AT as usize + layout.bytes()]),
                written: RefCell::new([0; 2]),
                busy,
            };
            for (place, value) in
                [ring::MAGIC, ring::VERSION, 2, SLOTS, 1_000].into_iter().enumerate()
            {
                guest.set(0, place, value);
            }
            guest
        }

        fn set(&self, line: usize, place: usize, value: u64) {
            let at = AT as usize + line * LINE_BYTES + place * 8;
            self.bytes.borrow_mut()[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }

        /// CPU `cpu` writes `count` records; number n happens at n ns.
        fn write(&self, cpu: usize, count: u64) {
            let layout = Layout { cpus: 2, slots: SLOTS as u32 };
            for _ in 0..count {
                let number = self.written.borrow()[cpu];
                let line = layout.first_slot(cpu as u32) + (number % SLOTS) as usize;
                let words = Event::IpiSend { cpu: number as u32 }.to_words();
                for (place, value) in [1_000 + number, number].into_iter().chain(words).enumerate()
                {
                    self.set(line, place, value);
                }
                self.written.borrow_mut()[cpu] += 1;
                self.set(layout.counter(cpu as u32), 0, number + 1);
            }
        }
    }

    impl Memory for Guest {
        fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
            let from = at as usize;
            bytes.copy_from_slice(&self.bytes.borrow()[from..from + bytes.len()]);
            let is_slot = at >= AT + 3 * LINE_BYTES as u64;
            if is_slot {
                self.write(0, self.busy);
            }
            Ok(())
        }
    }

    #[derive(Default)]
    struct Seen([Vec<u64>; 2]);

    impl Sink for Seen {
        fn take(&mut self, cpu: u32, first: u64, records: &[Record]) -> io::Result<()> {
            for (number, record) in (first..).zip(records) {
                let event = Event::IpiSend { cpu: number as u32 };
                assert_eq!(*record, Record { at_ns: number, sequence: number as u32, event });
                self.0[cpu as usize].push(number);
            }
            Ok(())
        }
    }

    #[test]
    fn a_host_that_keeps_up_loses_nothing() {
        let guest = Guest::new(0);
        let mut drain = Drain::new(&guest, &RINGS).expect("the rings are there");
        let mut seen = Seen::default();
        for round in 0..10 {
            guest.write(0, 50);
            guest.write(1, round);
            assert_eq!(drain.pass(&mut seen).expect("all are records"), 50 + round);
        }
        assert_eq!(seen.0[0], (0..500).collect::<Vec<_>>());
        assert_eq!(seen.0[1], (0..45).collect::<Vec<_>>());
        assert_eq!(drain.lost().collect::<Vec<_>>(), [0, 0]);
    }

    /// Of a ring that is full, the oldest record may be half written over: 63 are kept of 64.
    #[test]
    fn what_was_written_over_is_counted_and_the_rest_is_whole() {
        let guest = Guest::new(0);
        let mut drain = Drain::new(&guest, &RINGS).expect("the rings are there");
        let mut seen = Seen::default();
        guest.write(0, 200);
        guest.write(1, 3);
        drain.pass(&mut seen).expect("all are records");
        assert_eq!(seen.0[0], (200 - 63..200).collect::<Vec<_>>());
        assert_eq!(seen.0[1], [0, 1, 2]);
        assert_eq!(drain.lost().collect::<Vec<_>>(), [137, 0]);
    }

    #[test]
    fn a_guest_that_writes_meanwhile_spoils_only_what_it_writes_over() {
        let guest = Guest::new(40);
        let mut drain = Drain::new(&guest, &RINGS).expect("the rings are there");
        let mut seen = Seen::default();
        guest.write(0, 60);
        for _ in 0..5 {
            drain.pass(&mut seen).expect("no record is torn");
        }
        let lost: u64 = drain.lost().sum();
        let kept = seen.0[0].len() as u64;
        assert!(lost > 0 && kept > 0);
        assert_eq!(kept + lost, drain.cpus[0].next);
        assert!(seen.0[0].is_sorted());
    }

    #[test]
    fn other_memory_is_no_ring() {
        let guest = Guest::new(0);
        let elsewhere = Rings { at: AT + 64, ..RINGS };
        assert!(matches!(Drain::new(&guest, &elsewhere), Err(RingError::NotThere(_))));
        let newer = Rings { version: ring::VERSION + 1, ..RINGS };
        assert!(matches!(Drain::new(&guest, &newer), Err(RingError::NotThere(_))));
        guest.write(0, 1);
        guest.set(Layout { cpus: 2, slots: 64 }.first_slot(0), 2, 0);
        let mut drain = Drain::new(&guest, &RINGS).expect("the rings are there");
        let error = drain.pass(&mut Seen::default()).expect_err("that is no record");
        assert!(error.to_string().contains("record 0 of cpu 0"), "{error}");
    }
}
