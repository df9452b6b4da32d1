//! A file as the source of a session.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tfrc_units::saturating;
use tokio::time::Interval;

use super::sending::Next;
use super::{FileOutcome, Outgoing, positioned, rounded, wire};
use crate::Connection;

/// The next thing to do for a session that sends a file.
#[derive(Debug)]
pub(crate) enum FileNext {
    /// Send this datagram.
    Datagram(Vec<u8>),
    /// Send this datagram, and say so with [`FileSource::asked`] when it has left.
    Question(Vec<u8>),
    /// Wait this long for an answer of the receiver.
    Wait(std::time::Duration),
    /// Nothing any more.
    Ended(FileOutcome),
}

/// Counts of a file that is sent, which go on.
#[derive(Debug, Default)]
pub struct FileSent {
    once: AtomicU64,
    again: AtomicU64,
}

impl FileSent {
    /// Bytes sent for the first time, and bytes sent again.
    pub fn counts(&self) -> (u64, u64) {
        (self.once.load(Ordering::Relaxed), self.again.load(Ordering::Relaxed))
    }
}

/// A file that is sent until the receiver has all of it.
#[derive(Debug)]
pub struct FileSource {
    file: Arc<File>,
    /// Bytes of the file in a datagram, at most.
    length: usize,
    /// Bytes of the file that are to be sent, at most, and those that it had when it was opened.
    limit: u64,
    expected: u64,
    ticker: Option<Interval>,
    out: Outgoing,
    /// Bytes that were read, and their offset.
    block: Vec<u8>,
    at: u64,
    /// Bytes of the file that are in the hash.
    hashed: u64,
    sent: Arc<FileSent>,
}

/// The length and the hash of a file, of its first `limit` bytes at most.
pub(crate) fn whole_hash(file: &File, limit: u64) -> io::Result<(u64, [u8; wire::HASH])> {
    let (mut hash, mut length) = (blake3::Hasher::new(), 0);
    while length < limit {
        let block = positioned::read_block(file, length)?;
        let taken = saturating::<usize>(limit - length).min(block.len());
        hash.update(block.get(..taken).unwrap_or_default());
        length += saturating::<u64>(taken);
        if taken == 0 {
            break;
        }
    }
    Ok((length, *hash.finalize().as_bytes()))
}

impl FileSource {
    /// The first `limit` bytes of a file, `length` in a datagram.
    pub(crate) fn new(
        file: File,
        length: usize,
        limit: u64,
        expected: u64,
        ticker: Option<Interval>,
    ) -> Self {
        Self {
            file: Arc::new(file),
            length,
            limit,
            expected,
            ticker,
            out: Outgoing::default(),
            block: Vec::new(),
            at: 0,
            hashed: 0,
            sent: Arc::default(),
        }
    }

    /// Sends only what the receiver lacks of the file, which has this length and hash.
    pub(crate) fn going_on(self, (length, hash): (u64, [u8; wire::HASH])) -> Self {
        Self { out: Outgoing::going_on(length, hash), ..self }
    }

    /// Sends each byte once, from the first one on, to a receiver that takes holes.
    #[must_use]
    pub fn once(self) -> Self {
        Self { out: Outgoing::once(), ..self }
    }

    /// True if what the receiver lacks is sent again.
    #[must_use]
    pub const fn repairs(&self) -> bool {
        self.out.repairs()
    }

    /// The length of the file, once all of it has been read.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        self.out.length()
    }

    /// The counts.
    #[must_use]
    pub fn sent(&self) -> Arc<FileSent> {
        Arc::clone(&self.sent)
    }

    /// The next datagram of the first pass; `None` at its end.
    ///
    /// # Errors
    /// The error of the file.
    pub async fn first_pass(&mut self, connection: &Connection) -> io::Result<Option<Vec<u8>>> {
        if self.out.asks() {
            return Ok(None);
        }
        match self.next(connection).await? {
            FileNext::Datagram(datagram) => Ok(Some(datagram)),
            FileNext::Question(_) | FileNext::Wait(_) | FileNext::Ended(_) => Ok(None),
        }
    }

    /// The next thing to do.
    ///
    /// # Errors
    /// The error of the file.
    pub(crate) async fn next(&mut self, connection: &Connection) -> io::Result<FileNext> {
        if let Some(ticker) = &mut self.ticker {
            ticker.tick().await;
        }
        let most = connection.max_datagram().saturating_sub(wire::HEADER);
        loop {
            let now = connection.now();
            let rtt = rounded(if self.out.asks() { connection.status().rtt } else { None });
            match self.out.next(now, rtt, self.length.min(most)) {
                Next::Ended(outcome) => return Ok(FileNext::Ended(outcome)),
                Next::Wait(until) => return Ok(FileNext::Wait(until.saturating_since(now).into())),
                Next::Send(datagram) => return Ok(FileNext::Question(datagram)),
                Next::Read(range) => {
                    let (offset, first) = (range.start, !self.out.asks());
                    let range = self.read(range).await?;
                    if first && range.is_empty() {
                        self.hash_sent();
                    }
                    let bytes = self.block.get(range).unwrap_or_default();
                    let given = offset + saturating::<u64>(bytes.len());
                    if bytes.is_empty() && (!first || offset < self.expected.min(self.limit)) {
                        return Ok(FileNext::Ended(FileOutcome::Shrunk(given, self.expected)));
                    }
                    self.out.read(bytes);
                    let (once, again) = self.out.counts();
                    self.sent.once.store(once, Ordering::Relaxed);
                    self.sent.again.store(again, Ordering::Relaxed);
                    if !bytes.is_empty() {
                        let mut datagram = connection.buffer();
                        wire::put_data(&mut datagram, offset, bytes);
                        return Ok(FileNext::Datagram(datagram));
                    }
                }
            }
        }
    }

    /// The question has left this end.
    pub(crate) fn asked(&mut self, connection: &Connection) {
        self.out.asked(connection.now());
    }

    /// Takes a datagram of the receiver.
    pub(crate) fn hear(&mut self, connection: &Connection, datagram: &[u8]) {
        self.out.hear(connection.now(), datagram);
    }

    /// Takes what was sent of the block into the hash.
    fn hash_sent(&mut self) {
        let (sent, _) = self.out.counts();
        let in_block = |offset: u64| saturating::<usize>(offset.saturating_sub(self.at));
        let bytes = self.block.get(in_block(self.hashed)..in_block(sent)).unwrap_or_default();
        self.out.hash(bytes);
        self.hashed = sent;
    }

    /// Reads these bytes of the file, as far as they are there; where they are in the block.
    async fn read(&mut self, range: Range<u64>) -> io::Result<Range<usize>> {
        let wanted = range.start..range.end.min(self.limit).max(range.start);
        let held = self.at..self.at + saturating::<u64>(self.block.len());
        let is_held = held.contains(&wanted.start) && wanted.end <= held.end;
        if !is_held && !wanted.is_empty() {
            if !self.out.asks() {
                self.hash_sent();
            }
            let (file, at) = (Arc::clone(&self.file), wanted.start);
            let reading = tokio::task::spawn_blocking(move || positioned::read_block(&file, at));
            self.block = reading.await.map_err(io::Error::other)??;
            self.at = at;
        }
        let from = saturating::<usize>(wanted.start - self.at.min(wanted.start)).min(self.block.len());
        let length = saturating::<usize>(wanted.end - wanted.start).min(self.block.len() - from);
        Ok(from..from + length)
    }
}
