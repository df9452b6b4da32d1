//! A file as the place of what a session brings: each datagram at its offset.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tfrc_units::{Duration, Instant, saturating};
use tokio::task::JoinHandle;

use super::batch::Batch;
use super::map::Keeper;
use super::wire::End;
use super::{Incoming, positioned, rounded};
use crate::Written;

/// Bytes that are written together.
const BATCH: usize = 1 << 18;
/// Bytes that wait for the disk, at most. More wait in the connection, and then the sender.
const WAITING: usize = 1 << 19;
/// Holes of a file that are named at its end, at most.
const NAMED: usize = 1000;
/// The longest time for which bytes wait for others of their batch.
const GATHERING: std::time::Duration = std::time::Duration::from_millis(20);

/// The state of a file that is received, which goes on.
#[derive(Debug, Default)]
pub struct FileState {
    repaired: AtomicU64,
    known: Mutex<Known>,
    goes_on: bool,
    holes: OnceLock<Vec<[u64; 2]>>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Known {
    length: Option<u64>,
    agrees: Option<bool>,
}

impl FileState {
    /// Bytes that came after the first pass.
    pub fn repaired_bytes(&self) -> u64 {
        self.repaired.load(Ordering::Relaxed)
    }

    /// The length of the file, once the sender has said it.
    pub fn length(&self) -> Option<u64> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).length
    }

    /// True if all bytes are here and their hash is that of the sender's file, false if it is
    /// another one; `None` as long as bytes are missing.
    pub fn agrees(&self) -> Option<bool> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).agrees
    }

    /// True if an earlier session had brought a part of it.
    pub const fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Offset and length of each hole in a file that is taken with holes, the first 1000 of them;
    /// `None` before its end, and of other files.
    pub fn holes(&self) -> Option<&[[u64; 2]]> {
        self.holes.get().map(Vec::as_slice)
    }

    fn note(&self, incoming: &Incoming) {
        self.repaired.store(incoming.repaired(), Ordering::Relaxed);
        let known = Known { length: incoming.length(), agrees: incoming.agrees() };
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }
}

/// Takes the datagrams of a file.
#[derive(Debug)]
pub struct FileTaker {
    file: Arc<File>,
    incoming: Incoming,
    /// Bytes that wait for the disk, and the memory of those before them.
    waiting: Batch,
    spare: Batch,
    /// When they go to the disk.
    due: Option<tokio::time::Instant>,
    job: Option<JoinHandle<io::Result<Done>>>,
    keeper: Option<Box<Keeper>>,
    failed: Option<Arc<io::Error>>,
    written: Arc<Written>,
    state: Arc<FileState>,
    holes: Holes,
}

/// Holes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holes {
    /// They are asked for until there are none.
    Repaired,
    /// They stay. The length of the file, if the sender has said it.
    Taken(Option<u64>),
}

/// Work that was done.
#[derive(Debug)]
enum Done {
    Written(Batch),
    Compared(bool),
    Kept,
}

impl FileTaker {
    /// Begins to write into an empty file, which can be read, too.
    #[must_use]
    pub fn start(file: File) -> Self {
        Self {
            file: Arc::new(file),
            incoming: Incoming::default(),
            waiting: Batch::default(),
            spare: Batch::default(),
            due: None,
            job: None,
            keeper: None,
            failed: None,
            written: Arc::default(),
            state: Arc::default(),
            holes: Holes::Repaired,
        }
    }

    /// Begins to write into an empty file what comes, each byte in its place.
    #[must_use]
    pub fn with_holes(file: File) -> Self {
        Self { incoming: Incoming::with_holes(), holes: Holes::Taken(None), ..Self::start(file) }
    }

    /// Takes the length that the sender has said at its end. It counts for a file with holes.
    pub const fn ends_at(&mut self, length: u64) {
        if let Holes::Taken(_) = self.holes {
            self.holes = Holes::Taken(Some(length));
        }
    }

    /// Goes on with a file that an earlier session has left, and with the map of it at this path;
    /// both may be new. What is written goes to the disk, and then into the map, each 8 MB or
    /// second. Blocks.
    ///
    /// # Errors
    /// When the map cannot be read.
    pub fn go_on(file: File, map: PathBuf) -> io::Result<Self> {
        let keeper = Keeper::open(map, &file)?;
        let (here, before) = (keeper.map().here.clone(), keeper.map().known);
        let taker = Self::start(file);
        let incoming = Incoming::going_on(here, before);
        taker.written.add(0, saturating(incoming.here()));
        let state = FileState { goes_on: incoming.here() > 0, ..FileState::default() };
        Ok(Self { incoming, keeper: Some(Box::new(keeper)), state: Arc::new(state), ..taker })
    }

    /// The counts, which go on: datagrams taken, and bytes of the file that are written.
    #[must_use]
    pub fn written(&self) -> Arc<Written> {
        Arc::clone(&self.written)
    }

    /// The state, which goes on.
    #[must_use]
    pub fn state(&self) -> Arc<FileState> {
        Arc::clone(&self.state)
    }

    /// True if datagrams can be handed over now.
    #[must_use]
    pub const fn has_room(&self) -> bool {
        self.waiting.len() < WAITING
    }

    /// Takes a datagram; [`FileTaker::drive`] has it written.
    pub fn take(&mut self, now: Instant, rtt: Option<Duration>, datagram: &[u8]) {
        let Some(piece) = self.incoming.take(now, rounded(rtt), datagram) else {
            self.written.add(1, 0);
            return;
        };
        self.waiting.push(piece.offset, piece.bytes, piece.new);
        self.due.get_or_insert_with(|| tokio::time::Instant::now() + GATHERING);
    }

    /// The answer for the sender that goes now, in `limit` bytes at most.
    pub fn answer(&mut self, now: Instant, limit: usize) -> Option<Vec<u8>> {
        self.incoming.answer(now, limit)
    }

    /// When an answer goes.
    #[must_use]
    pub const fn answer_due(&self) -> Option<Instant> {
        self.incoming.due()
    }

    /// Begins the work that is due: a write, or the comparison of the hash.
    pub fn drive(&mut self) {
        self.state.note(&self.incoming);
        let to_compare = self.incoming.to_compare();
        let is_due = self.due.is_some_and(|due| due <= tokio::time::Instant::now());
        if self.waiting.len() >= BATCH || is_due || to_compare.is_some() {
            self.begin(to_compare, false);
        }
    }

    /// Begins to keep the map if it is due, or at the end; else to write what waits; else to
    /// compare.
    fn begin(&mut self, to_compare: Option<End>, ends: bool) {
        if self.job.is_some() || self.failed.is_some() {
            return;
        }
        let file = Arc::clone(&self.file);
        let ends = ends && self.waiting.is_empty();
        if let Some(keeper) = &mut self.keeper
            && (keeper.is_due() || ends && keeper.is_behind())
        {
            let end = self.incoming.end().filter(|_| self.incoming.agrees() != Some(false));
            let (map, path) = (keeper.take(end), keeper.path.clone());
            self.job = Some(tokio::task::spawn_blocking(move || map.keep(&file, &path).map(|()| Done::Kept)));
            return;
        }
        if !self.waiting.is_empty() {
            let batch = std::mem::replace(&mut self.waiting, std::mem::take(&mut self.spare));
            self.due = None;
            self.job =
                Some(tokio::task::spawn_blocking(move || batch.write(&file).map(|()| Done::Written(batch))));
        } else if let Some(end) = to_compare {
            self.job = Some(tokio::task::spawn_blocking(move || compare(&file, &end).map(Done::Compared)));
        }
    }

    /// Waits until some work is done, and begins the next. Cancel-safe.
    ///
    /// # Errors
    /// The failure of a write.
    pub async fn step(&mut self, now: impl Fn() -> Instant) -> Result<(), Arc<io::Error>> {
        if let Some(error) = &self.failed {
            return Err(Arc::clone(error));
        }
        match (&mut self.job, self.due) {
            (Some(job), _) => {
                let done = job.await.map_err(io::Error::other).flatten();
                self.job = None;
                match done {
                    Ok(Done::Written(mut batch)) => {
                        self.written.add(batch.datagrams, saturating(batch.new));
                        if let Some(keeper) = &mut self.keeper {
                            batch.runs().for_each(|(offset, length)| keeper.wrote(offset, length));
                        }
                        batch.clear();
                        self.spare = batch;
                    }
                    Ok(Done::Kept) => {}
                    Ok(Done::Compared(agrees)) => self.incoming.compared(now(), agrees),
                    Err(error) => {
                        let error = Arc::new(error);
                        self.failed = Some(Arc::clone(&error));
                        return Err(error);
                    }
                }
            }
            (None, Some(due)) => tokio::time::sleep_until(due).await,
            (None, None) => std::future::pending().await,
        }
        self.drive();
        Ok(())
    }

    /// Waits until everything that was handed over is written. Cancel-safe.
    ///
    /// # Errors
    /// The failure of a write.
    pub async fn finish(&mut self, now: impl Fn() -> Instant) -> Result<(), Arc<io::Error>> {
        loop {
            self.begin(None, true);
            if self.job.is_none() {
                break;
            }
            self.step(&now).await?;
        }
        if let Some(error) = &self.failed {
            return Err(Arc::clone(error));
        }
        let Holes::Taken(length) = self.holes else { return Ok(()) };
        let holes = self.incoming.holes(length).take(NAMED);
        let _ = self.state.holes.set(holes.map(|hole| [hole.start, hole.end - hole.start]).collect());
        match length {
            Some(length) => self.file.set_len(length).map_err(Arc::new),
            None => Ok(()),
        }
    }
}

/// Gives the file its length, and compares its hash. What lies behind the end was not meant.
fn compare(file: &File, end: &End) -> io::Result<bool> {
    file.set_len(end.length)?;
    let (mut hash, mut at) = (blake3::Hasher::new(), 0);
    loop {
        let block = positioned::read_block(file, at)?;
        if block.is_empty() {
            break;
        }
        hash.update(&block);
        at += saturating::<u64>(block.len());
    }
    Ok(at == end.length && *hash.finalize().as_bytes() == end.hash)
}
