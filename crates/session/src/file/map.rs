//! The map next to an unfinished file: which of its bytes are on the disk, for the session that
//! goes on.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use super::ranges::Ranges;
use super::wire::{End, HASH, MOST_BYTES};
use crate::output::{confirm, on_disk};

/// The first line of a map.
const FIRST_LINE: &str = "tfrc map 1";
/// Bytes of a map, at most: those of all ranges that a receiver holds apart.
const MOST: u64 = 4 << 20;
/// Bytes, and time, after which what was written goes to the disk, and then into the map.
const SYNC_BYTES: u64 = 8_000_000;
const SYNC_TIME: Duration = Duration::from_secs(1);

/// The contents of a map.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Map {
    pub(super) here: Ranges,
    /// Length and hash of the file, if the sender has said them.
    pub(super) known: Option<(u64, [u8; HASH])>,
}

impl Map {
    /// Reads the map of a file of `length` bytes; an empty one if it is not there or not a map.
    fn read(path: &Path, length: u64) -> io::Result<Self> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes)?;
        let map = std::str::from_utf8(&bytes).ok().and_then(Self::parse);
        let mut map = map.unwrap_or_default();
        map.here.clip(length);
        Ok(map)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_prefix(FIRST_LINE)?.strip_prefix('\n')?.lines();
        let mut map = Self::default();
        // A map that was cut has no last line.
        loop {
            let line = lines.next()?;
            if line == "." {
                return Some(map);
            }
            if let Some(known) = line.strip_prefix("file ") {
                let (length, hash) = known.split_once(' ')?;
                let hash = blake3::Hash::from_hex(hash).ok()?;
                map.known = Some((length.parse().ok()?, *hash.as_bytes()));
                continue;
            }
            let (start, end) = line.split_once(' ')?;
            let range = start.parse().ok()?..end.parse().ok().filter(|end| *end <= MOST_BYTES)?;
            map.here.insert(range)?;
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{FIRST_LINE}\n");
        if let Some((length, hash)) = self.known {
            text.push_str(&format!("file {length} {}\n", blake3::Hash::from_bytes(hash).to_hex()));
        }
        for range in self.here.iter() {
            text.push_str(&format!("{} {}\n", range.start, range.end));
        }
        text.push_str(".\n");
        text
    }

    /// Brings the file to the disk, and then the map that speaks of it.
    pub(super) fn keep(&self, file: &File, path: &Path) -> io::Result<()> {
        on_disk(file)?;
        let mut new = path.as_os_str().to_owned();
        new.push(".new");
        let new = PathBuf::from(new);
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut written = File::create_new(&new)?;
        written.write_all(self.text().as_bytes())?;
        on_disk(&written)?;
        fs::rename(&new, path)?;
        // Its name, too: after a power cut the map before it would be there.
        confirm(&written, path)
    }
}

/// A map that follows what is written.
#[derive(Debug)]
pub(super) struct Keeper {
    pub(super) path: PathBuf,
    map: Map,
    /// Bytes written since the last time.
    since: u64,
    at: Instant,
}

impl Keeper {
    /// The map of a file that an earlier session has left.
    pub(super) fn open(path: PathBuf, file: &File) -> io::Result<Self> {
        let map = Map::read(&path, file.metadata()?.len())?;
        Ok(Self { path, map, since: 0, at: Instant::now() })
    }

    pub(super) const fn map(&self) -> &Map {
        &self.map
    }

    /// These bytes are written.
    pub(super) fn wrote(&mut self, offset: u64, length: u64) {
        // A range too many is missing in the map, and comes again.
        let _ = self.map.here.insert(offset..offset + length);
        self.since += length;
    }

    /// True if there is something for the map, and it is time.
    pub(super) fn is_due(&self) -> bool {
        self.since >= SYNC_BYTES || self.is_behind() && self.at.elapsed() >= SYNC_TIME
    }

    /// True if bytes are written that the map does not know of.
    pub(super) const fn is_behind(&self) -> bool {
        self.since > 0
    }

    /// The map as it is now, to be kept.
    pub(super) fn take(&mut self, end: Option<End>) -> Map {
        (self.since, self.at) = (0, Instant::now());
        if let Some(end) = end {
            self.map.known = Some((end.length, end.hash));
        }
        self.map.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_reads_back_as_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.part.map");
        let file = File::create_new(folder.path().join("x.part")).expect("made");
        assert_eq!(Map::read(&path, 1000).expect("none there"), Map::default());
        let mut map = Map { known: Some((5000, [7; HASH])), ..Map::default() };
        for range in [0..10, 20..30, 900..1100] {
            map.here.insert(range);
        }
        map.keep(&file, &path).expect("written");
        assert_eq!(Map::read(&path, 2000).expect("there"), map);
        let clipped = Map::read(&path, 25).expect("there");
        assert_eq!(clipped.here.iter().collect::<Vec<_>>(), [0..10, 20..25], "no more than is there");
        let text = map.text();
        for length in 0..text.len() - 1 {
            std::fs::write(&path, &text[..length]).expect("written");
            let read = Map::read(&path, 2000).expect("there");
            assert!(read == Map::default(), "{length} of {text:?}: {read:?}");
        }
    }
}
