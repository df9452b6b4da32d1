//! A file as the place of what a session brings: each datagram at its offset.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tfrc_units::{Duration, Instant, saturating};
use tokio::task::JoinHandle;

use super::map::Keeper;
use super::wire::End;
use super::{Incoming, positioned, rounded};
use crate::Written;

/// Bytes that are written together.
const BATCH: usize = 1 << 18;
/// Bytes that wait for the disk, at most. More wait in the connection, and then the sender.
const WAITING: usize = 1 << 20;
/// The longest time for which bytes wait for others of their batch.
const GATHERING: std::time::Duration = std::time::Duration::from_millis(20);

/// The state of a file that is received, which goes on.
#[derive(Debug, Default)]
pub struct FileState {
    repaired: AtomicU64,
    known: Mutex<Known>,
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
    /// Bytes that wait for the disk, those behind one another together.
    runs: Vec<(u64, Vec<u8>)>,
    waiting: usize,
    /// Datagrams among them, and bytes that were not here.
    datagrams: u64,
    new: u64,
    /// When they go to the disk.
    due: Option<tokio::time::Instant>,
    job: Option<JoinHandle<io::Result<Done>>>,
    /// Offsets and lengths of what is being written, for the map.
    writing: Vec<(u64, u64)>,
    keeper: Option<Keeper>,
    failed: Option<Arc<io::Error>>,
    written: Arc<Written>,
    state: Arc<FileState>,
}

/// Work that was done.
#[derive(Debug)]
enum Done {
    Written { datagrams: u64, bytes: u64 },
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
            runs: Vec::new(),
            waiting: 0,
            datagrams: 0,
            new: 0,
            due: None,
            job: None,
            writing: Vec::new(),
            keeper: None,
            failed: None,
            written: Arc::default(),
            state: Arc::default(),
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
        Ok(Self { incoming, keeper: Some(keeper), ..taker })
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
        self.waiting < WAITING
    }

    /// Takes a datagram; [`FileTaker::drive`] has it written.
    pub fn take(&mut self, now: Instant, rtt: Option<Duration>, datagram: &[u8]) {
        let Some(piece) = self.incoming.take(now, rounded(rtt), datagram) else {
            self.written.add(1, 0);
            return;
        };
        match self.runs.last_mut() {
            Some((from, run)) if *from + saturating::<u64>(run.len()) == piece.offset => {
                run.extend_from_slice(piece.bytes);
            }
            _ => self.runs.push((piece.offset, piece.bytes.to_vec())),
        }
        self.waiting += piece.bytes.len();
        self.datagrams += 1;
        self.new += piece.new;
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
        if self.waiting >= BATCH || is_due || to_compare.is_some() {
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
        let ends = ends && self.runs.is_empty();
        if let Some(keeper) = &mut self.keeper
            && (keeper.is_due() || ends && keeper.is_behind())
        {
            let end = self.incoming.end().filter(|_| self.incoming.agrees() != Some(false));
            let (map, path) = (keeper.take(end), keeper.path.clone());
            self.job = Some(tokio::task::spawn_blocking(move || map.keep(&file, &path).map(|()| Done::Kept)));
            return;
        }
        if !self.runs.is_empty() {
            let runs = std::mem::take(&mut self.runs);
            let (datagrams, bytes) = (std::mem::take(&mut self.datagrams), std::mem::take(&mut self.new));
            (self.waiting, self.due) = (0, None);
            if self.keeper.is_some() {
                let pieces = runs.iter().map(|(offset, run)| (*offset, saturating(run.len())));
                self.writing = pieces.collect();
            }
            self.job = Some(tokio::task::spawn_blocking(move || {
                runs.iter().try_for_each(|(offset, run)| positioned::write_at(&file, run, *offset))?;
                Ok(Done::Written { datagrams, bytes })
            }));
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
                    Ok(Done::Written { datagrams, bytes }) => {
                        self.written.add(datagrams, saturating(bytes));
                        if let Some(keeper) = &mut self.keeper {
                            self.writing.drain(..).for_each(|(offset, length)| keeper.wrote(offset, length));
                        }
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
                return self.failed.clone().map_or(Ok(()), Err);
            }
            self.step(&now).await?;
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
