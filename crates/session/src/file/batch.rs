//! Bytes of a file that wait for the disk, those behind one another together.

use std::fs::File;
use std::io;

use tfrc_units::saturating;

use super::positioned;

/// Bytes that are written together. Their memory is used again.
#[derive(Debug, Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    /// Offset in the file and length of each run of bytes.
    runs: Vec<(u64, usize)>,
    /// Datagrams that brought them, and bytes that were not here before.
    pub(super) datagrams: u64,
    pub(super) new: u64,
}

impl Batch {
    /// Adds the bytes of a datagram, of which `new` were not here.
    pub(super) fn push(&mut self, offset: u64, bytes: &[u8], new: u64) {
        match self.runs.last_mut() {
            Some((from, length)) if *from + saturating::<u64>(*length) == offset => *length += bytes.len(),
            _ => self.runs.push((offset, bytes.len())),
        }
        self.bytes.extend_from_slice(bytes);
        self.datagrams += 1;
        self.new += new;
    }

    /// Number of bytes.
    pub(super) const fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Offsets and lengths, in the order in which the bytes came.
    pub(super) fn runs(&self) -> impl Iterator<Item = (u64, u64)> {
        self.runs.iter().map(|(offset, length)| (*offset, saturating(*length)))
    }

    /// Writes each run in its place.
    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        let mut rest = &self.bytes[..];
        for (offset, length) in &self.runs {
            let (run, behind) = rest.split_at_checked(*length).unwrap_or_default();
            positioned::write_at(file, run, *offset)?;
            rest = behind;
        }
        Ok(())
    }

    /// Forgets the bytes, and keeps their memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.runs.clear();
        (self.datagrams, self.new) = (0, 0);
    }
}
