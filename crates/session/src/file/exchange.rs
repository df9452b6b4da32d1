//! A file through a session in one call at each end, which ends the session.

use std::future::pending;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::{FileNext, FileOutcome, FileSource, FileTaker};
use crate::{
    Cause, Closed, ClosingWord, Connection, Existing, FileWay, Output, OutputError, OutputPlan, Part,
    SendError, Tally, Trouble, on_disk, why,
};

/// Words of a receiver that wait to be heard; those that come faster say the same.
const ANSWERS: usize = 16;
/// Datagrams taken from the connection at once, at most.
const BATCH: usize = 64;

/// A file that has arrived: the hash of the whole agreed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileCopy {
    /// Its length, bytes.
    pub bytes: u64,
    /// Bytes that went after the first pass, in place of those that the network lost.
    pub repaired_bytes: u64,
}

/// Why a file has not arrived.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The peer does not say that it takes, or brings, a file whole.
    #[error("the peer does not {0} files that have to arrive whole")]
    NotAgreed(&'static str),
    /// The receiver has no place for it.
    #[error(transparent)]
    Place(#[from] OutputError),
    /// It cannot be read or written.
    #[error(transparent)]
    File(#[from] io::Error),
    /// It is another one at the receiver, or bytes are missing there.
    #[error("{0}")]
    NotWhole(String),
    /// The session ended first.
    #[error("the session ended first: {0}")]
    Over(String),
}

/// Sends what a source has of its file until the receiver has all of it; `None` if the connection
/// ends first. `answers` brings the receiver's datagrams.
///
/// # Errors
/// The error of the file.
pub async fn pump_file(
    source: &mut FileSource,
    connection: &Connection,
    answers: &mut mpsc::Receiver<Vec<u8>>,
) -> io::Result<Option<FileOutcome>> {
    loop {
        while let Ok(answer) = answers.try_recv() {
            source.hear(connection, &answer);
        }
        let (datagram, asks) = match source.next(connection).await? {
            FileNext::Datagram(datagram) => (datagram, false),
            FileNext::Question(datagram) => (datagram, true),
            FileNext::Wait(most) => {
                if let Ok(Some(answer)) = tokio::time::timeout(most, answers.recv()).await {
                    source.hear(connection, &answer);
                }
                continue;
            }
            FileNext::Ended(outcome) => return Ok(Some(outcome)),
        };
        match connection.send(datagram).await {
            // One for which the path has become too narrow is asked for again.
            Ok(()) | Err(SendError::TooLong { .. }) => {}
            Err(_) => return Ok(None),
        }
        if asks {
            connection.flushed().await;
            source.asked(connection);
        }
    }
}

/// Sends a file whole, and ends the session. The endpoint's greeting is that of
/// [`Part::SendsFile`].
///
/// # Errors
/// [`FileError`]; the session has ended then, too.
pub async fn send_file(connection: &Connection, path: &Path) -> Result<FileCopy, FileError> {
    let sent = sent(connection, path).await;
    let word = sent.as_ref().map_or(ClosingWord::Unfinished, |copy| ClosingWord::File(copy.bytes));
    connection.set_closing_text(&word.to_string());
    let closed = if connection.is_asked_to_close() {
        connection.accept_close("").await
    } else {
        connection.close().await
    };
    let copy = sent.map_err(|error| explained(error, closed.as_ref()))?;
    match tally(closed)? {
        Some(Tally { trouble: Some(trouble), .. }) => Err(not_taken(trouble)),
        Some(_) => Ok(copy),
        None => Err(FileError::Over("the receiver does not say that it has kept the file".to_owned())),
    }
}

async fn sent(connection: &Connection, path: &Path) -> Result<FileCopy, FileError> {
    let at = path.to_owned();
    let file = blocking(move || std::fs::File::open(at)).await?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file").into());
    }
    if Part::SendsFile.file_way(connection) != Some(FileWay::Repaired) {
        return Err(FileError::NotAgreed("take"));
    }
    let length = file.metadata()?.len();
    // A datagram is as long as the path takes it.
    let mut source = FileSource::new(file, usize::MAX, u64::MAX, length, None);
    let (answers, mut heard) = mpsc::channel(ANSWERS);
    let outcome = tokio::select! {
        outcome = pump_file(&mut source, connection, &mut heard) => outcome?,
        () = async {
            while let Some(received) = connection.recv().await {
                drop(answers.try_send(received.bytes));
            }
        } => None,
    };
    match outcome {
        Some(FileOutcome::Whole) => {
            let repaired_bytes = source.sent().counts().1;
            Ok(FileCopy { bytes: source.length().unwrap_or(0), repaired_bytes })
        }
        Some(outcome) => Err(FileError::NotWhole(outcome.to_string())),
        None => Err(FileError::Over(ended(connection))),
    }
}

/// Receives a file whole under this name, and ends the session: the name is there, and all of it
/// on the disk, once the hash agrees. The endpoint's greeting is that of [`Part::ReceivesFiles`].
/// `FILE.part` keeps the bytes of a session that breaks off.
///
/// # Errors
/// [`FileError`]; the session has ended then, too.
pub async fn receive_file(
    connection: &Connection,
    path: &Path,
    existing: Existing,
) -> Result<FileCopy, FileError> {
    let mut place = Output::Nowhere;
    let taken = taken(connection, path, existing, &mut place).await;
    let kept = match taken {
        Ok(taken) => blocking(move || {
            if let Some(file) = place.to_sync()? {
                on_disk(&file)?;
            }
            place.keep()
        })
        .await
        .map(|_| taken)
        .map_err(FileError::File),
        Err(error) => {
            blocking(move || place.leave()).await;
            Err(error)
        }
    };
    let tally = match &kept {
        Ok((_, tally)) => *tally,
        Err(error) => Tally { trouble: Some(trouble_of(error)), ..Tally::default() },
    };
    let text = tally.to_string();
    let closed = match (&kept, connection.is_asked_to_close()) {
        (Ok(_), _) | (_, true) => connection.accept_close(&text).await,
        _ => connection.request_close(&text).await,
    };
    // Once the file is here, whole and under its name, a peer that is gone changes nothing.
    kept.map(|(copy, _)| copy).map_err(|error| explained(error, closed.as_ref()))
}

async fn taken(
    connection: &Connection,
    path: &Path,
    existing: Existing,
    place: &mut Output,
) -> Result<(FileCopy, Tally), FileError> {
    if Part::ReceivesFiles.file_way(connection) != Some(FileWay::Repaired) {
        return Err(FileError::NotAgreed("send"));
    }
    let at = path.to_owned();
    *place = blocking(move || OutputPlan::new(&at, existing)?.open()).await?;
    let file = place.part_file()?.ok_or_else(|| io::Error::other("it is no regular file"))?;
    let mut taker = FileTaker::start(file);
    let (written, state) = (taker.written(), taker.state());
    let failed = |error: Arc<io::Error>| io::Error::new(error.kind(), error.to_string());
    let (mut batch, mut done) = (Vec::new(), Vec::new());
    loop {
        let now = connection.now();
        taker.drive();
        if let Some(answer) = taker.answer(now, connection.max_datagram())
            && connection.status().queued == 0
        {
            // A connection that is over says so to the reader.
            let _ = connection.send(answer).await;
        }
        connection.recycle(done.drain(..));
        let due = taker.answer_due().map(|at| std::time::Duration::from(at.saturating_since(now)));
        tokio::select! {
            count = connection.recv_many(&mut batch, BATCH), if taker.has_room() => {
                if count == 0 { break }
                let (now, rtt) = (connection.now(), connection.status().sender_rtt);
                for received in batch.drain(..) {
                    taker.take(now, rtt, &received.bytes);
                    done.push(received.bytes);
                }
            }
            () = async { match due {
                Some(wait) => tokio::time::sleep(wait).await,
                None => pending().await,
            } } => {}
            stepped = taker.step(|| connection.now()) => stepped.map_err(failed)?,
        }
    }
    taker.finish(|| connection.now()).await.map_err(failed)?;
    match (state.agrees(), ClosingWord::of_peer(connection)) {
        (Some(true), Some(ClosingWord::File(_))) => {
            let (received, bytes) = written.counts();
            let copy = FileCopy { bytes, repaired_bytes: state.repaired_bytes() };
            Ok((copy, Tally { received, bytes, ..Tally::default() }))
        }
        (_, None) if !connection.is_asked_to_close() => Err(FileError::Over(ended(connection))),
        _ => Err(FileError::NotWhole("not whole: the sender ended before all of it was here".to_owned())),
    }
}

/// The error of a session that ended first, with the reason if it broke off.
fn explained(error: FileError, closed: Option<&Closed>) -> FileError {
    match (error, closed) {
        (FileError::Over(_), Some(closed)) if closed.cause != Cause::Agreed => FileError::Over(why(closed)),
        (error, _) => error,
    }
}

/// The trouble that the sender hears of.
fn trouble_of(error: &FileError) -> Trouble {
    match error {
        FileError::File(error) => Trouble::of(error),
        FileError::NotWhole(_) => Trouble::NotWhole,
        FileError::NotAgreed(_) | FileError::Over(_) | FileError::Place(_) => Trouble::Other,
    }
}

fn not_taken(trouble: Trouble) -> FileError {
    FileError::NotWhole(format!("not whole: the receiver says: {}", trouble.word()))
}

/// The counts of the receiver, if it has ended by agreement.
fn tally(closed: Option<Closed>) -> Result<Option<Tally>, FileError> {
    match closed {
        Some(Closed { cause: Cause::Agreed, text, .. }) => Ok(text.and_then(|text| text.parse().ok())),
        Some(closed) => Err(FileError::Over(why(&closed))),
        None => Err(FileError::Over("the endpoint is gone".to_owned())),
    }
}

fn ended(connection: &Connection) -> String {
    let heard = connection.peer_closing_text().filter(|text| !text.is_empty());
    heard.map_or("by the peer".to_owned(), |text| format!("by the peer: {text}"))
}

/// Work that may wait for a disk.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
