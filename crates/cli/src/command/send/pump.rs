//! The task that moves the data of `send` from its source into the connection.

use std::sync::{Arc, Mutex, PoisonError};

use tfrc_net::SendError;

use crate::session::{Connection, DatagramSource, FileOutcome, FileSource, UdpInCounts, count, pump_file};

/// The end of the data, as the task that moves it sees it.
pub(super) enum Pumped {
    /// Everything was sent; holds the number of bytes.
    AllSent(u64),
    /// The connection takes nothing more.
    Over,
    /// The source failed; a phrase.
    Unreadable(String),
    /// The receiver has all of a file of this many bytes.
    Whole(u64),
    /// Each byte of a file of this many bytes was sent once.
    Once(u64),
    /// The receiver does not get the file; a sentence.
    NotWhole(String),
}

/// Since when the source has nothing, and that the user knows.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<Silence>);

#[derive(Debug, Default)]
struct Silence {
    since: Option<tokio::time::Instant>,
    told: bool,
}

impl Waiting {
    fn begin(&self) {
        self.silence().since = Some(tokio::time::Instant::now());
    }

    fn end(&self) {
        *self.silence() = Silence::default();
    }

    pub(super) fn since(&self) -> Option<tokio::time::Instant> {
        self.silence().since
    }

    /// Returns true the first time.
    pub(super) fn tell(&self) -> bool {
        !std::mem::replace(&mut self.silence().told, true)
    }

    fn silence(&self) -> std::sync::MutexGuard<'_, Silence> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Moves data from its source into the connection.
pub(super) async fn pump(
    mut source: DatagramSource,
    connection: Arc<Connection>,
    counts: Option<Arc<UdpInCounts>>,
    waiting: Arc<Waiting>,
) -> Pumped {
    loop {
        // Made-up data that drops what is late never waits by itself.
        tokio::task::coop::consume_budget().await;
        waiting.begin();
        let next = source.next(connection.max_datagram(), connection.buffer()).await;
        waiting.end();
        let datagram = match next {
            Ok(Some(datagram)) => datagram,
            Ok(None) => break,
            Err(error) => return Pumped::Unreadable(error.to_string()),
        };
        match (connection.send(datagram).await, &counts) {
            (Ok(()), _) => {}
            (Err(SendError::TooLong { length, .. }), Some(counts)) => counts.refuse(length),
            (Err(_), _) => return Pumped::Over,
        }
    }
    connection.flushed().await;
    match source.shortfall() {
        Some((sent, length)) => shrunk(sent, length),
        None => Pumped::AllSent(source.given()),
    }
}

/// A file of which `sent` bytes were there, of `length`.
fn shrunk(sent: u64, length: u64) -> Pumped {
    Pumped::Unreadable(format!(
        "became shorter while it was sent: {} of {} bytes were there",
        count(sent),
        count(length)
    ))
}

/// Moves a file into the connection until the receiver has all of it.
pub(super) async fn moved_file(
    mut source: FileSource,
    connection: Arc<Connection>,
    mut answers: tokio::sync::mpsc::Receiver<Vec<u8>>,
) -> Pumped {
    let length = |source: &FileSource| source.length().unwrap_or(0);
    match pump_file(&mut source, &connection, &mut answers).await {
        Err(error) => Pumped::Unreadable(error.to_string()),
        Ok(None) => Pumped::Over,
        Ok(Some(FileOutcome::Once)) => {
            connection.flushed().await;
            Pumped::Once(length(&source))
        }
        Ok(Some(FileOutcome::Whole)) => Pumped::Whole(length(&source)),
        Ok(Some(FileOutcome::Shrunk(sent, length))) => shrunk(sent, length),
        Ok(Some(outcome)) => Pumped::NotWhole(outcome.to_string()),
    }
}
