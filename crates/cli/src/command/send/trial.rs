//! The first datagrams of a sender that listens: a receiver that acknowledges none of them does not
//! use the sender up, and the datagrams go to the next.

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use tfrc_net::SendError;

use crate::session::{Connection, DatagramSource, FileSource, ticks};

/// Datagrams that a receiver gets before it has acknowledged one, at most.
const AT_FIRST: usize = 8;
/// Time in which a receiver must acknowledge the first of them, or four round-trip times if that is
/// longer. An answer comes at once, and a lost datagram or answer is followed by others.
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval between two looks at the connection.
const LOOK: Duration = Duration::from_millis(10);

/// How the trial of a receiver went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trial {
    /// It takes the data; what it has got is no longer in the source.
    Acknowledged,
    /// It does not, for this reason; the source is as it was.
    Failed(&'static str),
}

/// The data for a receiver.
pub(super) enum Feed<'a> {
    /// A file, of which each receiver has its own reader.
    File(&'a mut FileSource),
    Stream(&'a mut DatagramSource),
}

impl Feed<'_> {
    async fn next(&mut self, connection: &Connection) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::File(file) => file.first_pass(connection).await,
            Self::Stream(source) => source.next(connection.max_datagram(), connection.buffer()).await,
        }
    }

    fn put_back(self, datagrams: Vec<Vec<u8>>) {
        if let Self::Stream(source) = self {
            source.put_back(datagrams);
        }
    }
}

/// Sends the beginning of the data and waits until the receiver acknowledges some of it. Data that
/// does not come yet is waited for.
///
/// # Errors
/// The error of the source.
pub(super) async fn begin(connection: &Connection, mut feed: Feed<'_>) -> io::Result<Trial> {
    let (given, refused) = (RefCell::new(Vec::new()), RefCell::new(None));
    let verdict = {
        let offer = async {
            while given.borrow().len() < AT_FIRST {
                let Some(datagram) = feed.next(connection).await? else {
                    return io::Result::Ok(given.borrow().is_empty());
                };
                match connection.send(datagram.clone()).await {
                    Ok(()) => given.borrow_mut().push(datagram),
                    // The transfer counts it.
                    Err(SendError::TooLong { .. }) => {
                        refused.replace(Some(datagram));
                        break;
                    }
                    Err(_) => {
                        given.borrow_mut().push(datagram);
                        break;
                    }
                }
            }
            Ok(false)
        };
        tokio::pin!(offer);
        let verdict = acknowledged(connection);
        tokio::pin!(verdict);
        tokio::select! {
            verdict = &mut verdict => verdict,
            is_empty = &mut offer => match is_empty? {
                // There is nothing to acknowledge.
                true => Trial::Acknowledged,
                false if refused.borrow().is_some() && given.borrow().is_empty() => Trial::Acknowledged,
                false => verdict.await,
            },
        }
    };
    let mut back = match verdict {
        Trial::Acknowledged => Vec::new(),
        Trial::Failed(_) => given.into_inner(),
    };
    back.extend(refused.into_inner());
    feed.put_back(back);
    Ok(verdict)
}

async fn acknowledged(connection: &Connection) -> Trial {
    let mut tick = ticks(LOOK);
    let mut since = None;
    let mut ended = false;
    loop {
        let status = connection.status();
        if status.stats.received_feedback > 0 {
            return Trial::Acknowledged;
        }
        if ended {
            return Trial::Failed("left without acknowledging anything");
        }
        if status.stats.sent_data_packets > 0 {
            let round_trips = status.rtt.map_or(Duration::ZERO, Duration::from) * 4;
            let waited = since.get_or_insert_with(tokio::time::Instant::now).elapsed();
            if waited >= PATIENCE.max(round_trips) {
                return Trial::Failed("acknowledges nothing");
            }
        }
        tokio::select! {
            received = connection.recv() => ended = received.is_none(),
            _ = tick.tick() => {}
        }
    }
}
