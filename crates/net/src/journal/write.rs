//! Writing a journal.

use std::io::{self, Write};

use tfrc_units::Instant;

use super::block::{Chain, MAGIC, VERSION, head};
use super::record::{END, Record, SETUP, Setup};

/// Writes a journal. [`Writer::finish`] reports a failed write; the session goes on.
pub struct Writer {
    out: Box<dyn Write + Send>,
    chain: Chain,
    blocks: u64,
    last: Instant,
    body: Vec<u8>,
    failed: Option<io::Error>,
}

impl Writer {
    /// Begins a journal with what the machine is made of.
    ///
    /// # Errors
    /// What the system says of the first write.
    pub fn new(out: Box<dyn Write + Send>, setup: &Setup) -> io::Result<Self> {
        let mut writer =
            Self { out, chain: Chain::new(), blocks: 0, last: Instant::ZERO, body: Vec::new(), failed: None };
        writeln!(writer.out, "{MAGIC}{VERSION}")?;
        writer.body = serde_json::to_vec(setup)?;
        writer.block(SETUP, Instant::ZERO)?;
        Ok(writer)
    }

    /// Appends a record.
    pub fn add(&mut self, at: Instant, record: &Record) {
        self.body.clear();
        record.encode(&mut self.body);
        if self.failed.is_none() {
            self.failed = self.block(record.kind(), at).err();
        }
    }

    /// Ends the journal.
    ///
    /// # Errors
    /// The first write that failed; the journal is then of no use.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.body = self.blocks.to_le_bytes().to_vec();
        self.block(END, self.last)?;
        self.out.flush()
    }

    fn block(&mut self, kind: u8, at: Instant) -> io::Result<()> {
        let head = head(kind, at.as_nanos(), self.body.len());
        let check = self.chain.next(&head, &self.body);
        self.out.write_all(&head)?;
        self.out.write_all(&self.body)?;
        self.out.write_all(&check.to_le_bytes())?;
        self.blocks += 1;
        self.last = at;
        Ok(())
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("blocks", &self.blocks)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}
