//! The data of one connection, from the connection to the writer. A task of its own on the
//! protocol's thread: words about the connection, which may wait for a terminal, do not hold it up.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tfrc_net::Received;
use tfrc_units::{Duration, Instant};

use crate::interrupt::Interrupt;
use crate::session::{Connection, DatagramWriter, FileTaker, Inbox, Written};

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
    /// Places given up, or passed over in a file.
    given_up: AtomicU64,
    /// Places of a file that were passed over and for which a datagram came all the same.
    filled: AtomicU64,
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

    /// Places given up for which a datagram came all the same.
    pub(super) fn filled(&self) -> u64 {
        self.late() + self.filled.load(Ordering::Relaxed)
    }
}

/// The way of the data in this program.
pub(super) enum Way {
    /// Each datagram of a file has its place in it.
    File(FileTaker),
    /// Datagrams are put in order and written one behind another.
    Stream { inbox: Inbox, writer: DatagramWriter },
}

/// Takes datagrams and hands them on.
pub(super) struct Intake {
    connection: Arc<Connection>,
    way: Way,
    /// Datagrams of a file that the sender had sent when it sent the latest of those that came.
    passed: u64,
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
    pub(super) fn new(connection: &Arc<Connection>, way: Way, idle: Option<Duration>) -> Self {
        Self {
            fed: connection.now(),
            connection: Arc::clone(connection),
            way,
            passed: 0,
            idle,
            progress: Arc::default(),
            batch: Vec::new(),
            done: Vec::new(),
        }
    }

    /// Takes in the first datagram.
    pub(super) fn begin(&mut self, first: Received) {
        let rtt = self.connection.status().sender_rtt;
        self.push(first, rtt);
    }

    /// The counts.
    pub(super) fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    fn push(&mut self, datagram: Received, rtt: Option<Duration>) {
        self.progress.taken.fetch_add(1, Ordering::Relaxed);
        match &mut self.way {
            Way::Stream { inbox, .. } => inbox.push(self.fed, datagram),
            Way::File(file) => {
                let passed = datagram.data_index.saturating_add(1);
                match datagram.data_index.checked_sub(self.passed) {
                    Some(over) => self.progress.given_up.fetch_add(over, Ordering::Relaxed),
                    None => self.progress.filled.fetch_add(1, Ordering::Relaxed),
                };
                self.passed = self.passed.max(passed);
                file.take(self.fed, rtt, &datagram.bytes);
                self.done.push(datagram.bytes);
            }
        }
    }

    fn note(&self) {
        if let Way::Stream { inbox, .. } = &self.way {
            self.progress.late.store(inbox.late(), Ordering::Relaxed);
            self.progress.given_up.store(inbox.given_up(), Ordering::Relaxed);
        }
    }

    /// Takes data and hands it on until something ends that. While the output takes nothing,
    /// nothing is read: the connection's own queue fills, drops, and informs the sender.
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
            let known_rtt = self.connection.status().sender_rtt;
            let rtt = known_rtt.unwrap_or(DEFAULT_RTT);
            self.hand_on(now, rtt);
            let next = match &mut self.way {
                Way::Stream { inbox, writer } => {
                    writer.flush();
                    inbox.poll_timeout(rtt).filter(|_| writer.has_room())
                }
                Way::File(file) => {
                    file.drive();
                    answer(&self.connection, file, now).await;
                    file.answer_due()
                }
            };
            self.connection.recycle(self.done.drain(..));
            self.note();
            let room = self.way.has_room();
            let wait = next.map(|at| std::time::Duration::from(at.saturating_since(now)));
            let (idle, fed) = (self.idle, self.fed);
            let hungry = idle.map(|idle| std::time::Duration::from((fed + idle).saturating_since(now)));
            tokio::select! {
                count = self.connection.recv_many(&mut self.batch, BATCH), if room => {
                    if count == 0 {
                        return StopTaking::Ended;
                    }
                    self.fed = self.connection.now();
                    let mut batch = std::mem::take(&mut self.batch);
                    for datagram in batch.drain(..) {
                        self.push(datagram, known_rtt);
                        self.hand_on(self.fed, rtt);
                    }
                    self.batch = batch;
                }
                () = sleep(wait) => {}
                outcome = self.way.step(&self.connection) => {
                    if let Err(error) = outcome { return StopTaking::Output(error) }
                }
                () = &mut interrupted => return StopTaking::Interrupted,
                () = sleep(hungry), if room => return StopTaking::Idle(idle.unwrap_or(Duration::ZERO)),
            }
        }
    }

    /// Hands on what need not wait for an earlier datagram. Called for each that comes: how many
    /// later ones end the wait for a gap does not depend on batches.
    fn hand_on(&mut self, now: Instant, rtt: Duration) {
        let Way::Stream { inbox, writer } = &mut self.way else { return };
        while writer.has_room()
            && let Some(datagram) = inbox.pop(now, rtt)
        {
            writer.write(&datagram);
            self.done.push(datagram);
        }
    }

    /// Hands on what waits for a gap, and waits until all is written. The sender may have said the
    /// length of its file.
    ///
    /// # Errors
    /// The failure of a write.
    pub(super) async fn write_rest(&mut self, length: Option<u64>) -> Result<(), Arc<io::Error>> {
        if let (Way::File(file), Some(length)) = (&mut self.way, length) {
            file.ends_at(length);
        }
        if let Way::Stream { inbox, writer } = &mut self.way {
            loop {
                writer.room().await?;
                let Some(datagram) = inbox.take() else { break };
                writer.write(&datagram);
            }
        }
        self.note();
        self.finish().await
    }

    /// Waits until all that was handed on is written.
    ///
    /// # Errors
    /// The failure of a write.
    pub(super) async fn finish(&mut self) -> Result<(), Arc<io::Error>> {
        match &mut self.way {
            Way::Stream { writer, .. } => writer.finish().await,
            Way::File(file) => file.finish(|| self.connection.now()).await,
        }
    }
}

impl Way {
    /// The counts of what is written, which go on.
    pub(super) fn written(&self) -> Arc<Written> {
        match self {
            Self::File(file) => file.written(),
            Self::Stream { writer, .. } => writer.written(),
        }
    }

    fn has_room(&self) -> bool {
        match self {
            Self::File(file) => file.has_room(),
            Self::Stream { writer, .. } => writer.has_room(),
        }
    }

    /// Waits until the output has done something that changes what can be done here.
    async fn step(&mut self, connection: &Connection) -> Result<(), Arc<io::Error>> {
        match self {
            Self::File(file) => file.step(|| connection.now()).await,
            Self::Stream { writer, .. } if writer.has_room() => Err(writer.failure().await),
            Self::Stream { writer, .. } => writer.room().await,
        }
    }
}

/// Sends the answer about a file that is due. One that would wait for others is left out: it would
/// be old when it goes, and the sender asks again.
async fn answer(connection: &Connection, file: &mut FileTaker, now: Instant) {
    if let Some(answer) = file.answer(now, connection.max_datagram())
        && connection.status().queued == 0
    {
        // A connection that is over says so to the reader.
        let _ = connection.send(answer).await;
    }
}

async fn sleep(wait: Option<std::time::Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}
