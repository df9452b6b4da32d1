//! The data of one connection, from the connection to the writer. A task of its own on the
//! protocol's thread: words about the connection, which may wait for a terminal, do not hold it up.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tfrc_net::Received;
use tfrc_units::{Duration, Instant};

use crate::interrupt::Interrupt;
use crate::session::{Connection, DatagramWriter, Inbox};

/// The round-trip time assumed until the sender gives its own (RFC 4340 §3.4).
const DEFAULT_RTT: Duration = Duration::from_millis(200);
/// Datagrams taken from the connection at once, at most.
const BATCH: usize = 64;

/// Why no more data is taken from a connection.
#[derive(Debug)]
pub(super) enum StopTaking {
    /// The peer wants the end, or the connection is over.
    Ended,
    /// No data came for the time that the user allows.
    Idle(Duration),
    /// The user wants the end.
    Interrupted,
    /// The output cannot be written.
    Output(Arc<io::Error>),
}

/// Counts of datagrams on their way from the connection to the writer, which go on.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Taken from the connection.
    taken: AtomicU64,
    /// Those of them that came after their place had been given up.
    late: AtomicU64,
    /// Places given up.
    given_up: AtomicU64,
}

impl Progress {
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    pub(super) fn late(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    pub(super) fn given_up(&self) -> u64 {
        self.given_up.load(Ordering::Relaxed)
    }
}

/// Takes datagrams, puts them in order and hands them on.
pub(super) struct Intake {
    connection: Arc<Connection>,
    inbox: Inbox,
    pub(super) writer: DatagramWriter,
    /// When data came last.
    fed: Instant,
    /// Time without data after which the connection is given up.
    idle: Option<Duration>,
    progress: Arc<Progress>,
    batch: Vec<Received>,
    /// Buffers of datagrams that have been handed on.
    done: Vec<Vec<u8>>,
}

impl Intake {
    pub(super) fn new(
        connection: &Arc<Connection>,
        inbox: Inbox,
        writer: DatagramWriter,
        idle: Option<Duration>,
    ) -> Self {
        Self {
            fed: connection.now(),
            connection: Arc::clone(connection),
            inbox,
            writer,
            idle,
            progress: Arc::default(),
            batch: Vec::new(),
            done: Vec::new(),
        }
    }

    /// Takes in the first datagram.
    pub(super) fn begin(&mut self, first: Received) {
        self.push(first);
    }

    /// The counts.
    pub(super) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    fn push(&mut self, datagram: Received) {
        self.inbox.push(self.fed, datagram);
        self.progress.taken.fetch_add(1, Ordering::Relaxed);
    }

    fn note(&self) {
        self.progress.late.store(self.inbox.late(), Ordering::Relaxed);
        self.progress.given_up.store(self.inbox.given_up(), Ordering::Relaxed);
    }

    /// Takes data and hands it on, in order, until something ends that. While the output takes
    /// nothing, nothing is read: the connection's own queue fills, drops, and informs the sender.
    pub(super) async fn take(mut self, mut interrupt: Interrupt) -> (Self, StopTaking) {
        let stop = self.taken(&mut interrupt).await;
        self.note();
        (self, stop)
    }

    async fn taken(&mut self, interrupt: &mut Interrupt) -> StopTaking {
        let interrupted = interrupt.wished();
        tokio::pin!(interrupted);
        loop {
            let now = self.connection.now();
            let rtt = self.connection.status().sender_rtt.unwrap_or(DEFAULT_RTT);
            self.hand_on(now, rtt);
            self.writer.flush();
            self.connection.recycle(self.done.drain(..));
            self.note();
            let room = self.writer.has_room();
            let next_gap = self.inbox.poll_timeout(rtt).filter(|_| room);
            let wait = next_gap.map(|at| std::time::Duration::from(at.saturating_since(now)));
            let (idle, fed) = (self.idle, self.fed);
            let hungry = idle.map(|idle| std::time::Duration::from((fed + idle).saturating_since(now)));
            let writer = &mut self.writer;
            let writable = async { if room { Err(writer.failure().await) } else { writer.room().await } };
            tokio::select! {
                count = self.connection.recv_many(&mut self.batch, BATCH), if room => {
                    if count == 0 {
                        return StopTaking::Ended;
                    }
                    self.fed = self.connection.now();
                    let mut batch = std::mem::take(&mut self.batch);
                    for datagram in batch.drain(..) {
                        self.push(datagram);
                        self.hand_on(self.fed, rtt);
                    }
                    self.batch = batch;
                }
                () = sleep(wait) => {}
                outcome = writable => if let Err(error) = outcome { return StopTaking::Output(error) },
                () = &mut interrupted => return StopTaking::Interrupted,
                () = sleep(hungry), if room => return StopTaking::Idle(idle.unwrap_or(Duration::ZERO)),
            }
        }
    }

    /// Hands on what need not wait for an earlier datagram. Called for each that comes: how many
    /// later ones end the wait for a gap does not depend on batches.
    fn hand_on(&mut self, now: Instant, rtt: Duration) {
        while self.writer.has_room()
            && let Some(datagram) = self.inbox.pop(now, rtt)
        {
            self.writer.write(&datagram);
            self.done.push(datagram);
        }
    }

    /// Hands on what waits for a gap, and waits until all is written.
    ///
    /// # Errors
    /// The failure of a write.
    pub(super) async fn write_rest(&mut self) -> Result<(), Arc<io::Error>> {
        loop {
            self.writer.room().await?;
            let Some(datagram) = self.inbox.take() else { break };
            self.writer.write(&datagram);
        }
        self.note();
        self.writer.finish().await
    }
}

async fn sleep(wait: Option<std::time::Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}
