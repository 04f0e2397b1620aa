//! Writing a trace, block by block as records come.

use super::{
    drain::Sink,
    format::{self, Closing, Deltas, Description, Head, RingTotal},
};
use abi::trace::Record;
use std::io::{self, Write};

/// A trace in the making.
pub(super) struct Writer<W> {
    out: W,
    rings: Vec<RingTotal>,
    payload: Vec<u8>,
    bytes: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a trace.
    pub(super) fn new(out: W, description: &Description) -> io::Result<Self> {
        let mut writer = Self {
            out,
            rings: vec![RingTotal::default(); description.cpus as usize],
            payload: Vec::new(),
            bytes: 0,
        };
        writer.put(&format::MAGIC)?;
        writer.put(&format::VERSION.to_le_bytes())?;
        let text = serde_json::to_vec(description).expect("all keys are strings");
        writer.block(format::DESCRIPTION, &text)?;
        Ok(writer)
    }

    /// Ends it; `lost` are the records of each CPU that were written over. Returns how many
    /// records there are, and how many bytes.
    pub(super) fn close(mut self, failure: Option<String>, lost: &[u64]) -> io::Result<(u64, u64)> {
        for (ring, &lost) in self.rings.iter_mut().zip(lost) {
            ring.lost = lost;
        }
        let records = self.rings.iter().map(|ring| ring.records).sum();
        let closing = Closing { failure, rings: self.rings.clone() };
        let text = serde_json::to_vec(&closing).expect("all keys are strings");
        self.block(format::CLOSING, &text)?;
        self.out.flush()?;
        Ok((records, self.bytes))
    }

    fn block(&mut self, tag: [u8; 4], payload: &[u8]) -> io::Result<()> {
        self.put(&format::frame(tag, payload))?;
        self.put(payload)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }
}

impl<W: Write> Sink for Writer<W> {
    fn take(&mut self, cpu: u32, first: u64, records: &[Record]) -> io::Result<()> {
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        let fits = "a Vec takes everything";
        let head = Head { cpu, first, count: records.len() as u32 };
        payload = postcard::to_extend(&head, payload).expect(fits);
        let mut deltas = Deltas::default();
        for &record in records {
            payload = postcard::to_extend(&deltas.encode(record), payload).expect(fits);
        }
        self.rings[cpu as usize].records += records.len() as u64;
        let written = self.block(format::RECORDS, &payload);
        self.payload = payload;
        written
    }
}

/// A whole file of these records of one CPU, for tests of what reads files.
#[cfg(test)]
pub(crate) fn file_of(description: &Description, records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, description).expect("a Vec takes everything");
    writer.take(0, 0, records).expect("a Vec takes everything");
    writer.close(None, &[0]).expect("a Vec takes everything");
    bytes
}
