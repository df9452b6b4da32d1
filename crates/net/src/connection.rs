//! The handle of a connection.

use std::net::SocketAddr;
use std::sync::Arc;

use tfrc::RateChange;
use tfrc::config::{ConfigError, RateCap};
use tfrc_dccp::{Closed, ConnectionId, Received};
use tfrc_units::{Duration, Instant, Rate};

use crate::LatePolicy;
use crate::endpoint::Shared;
use crate::options::Carrier;
use crate::scheduler::{Awaited, Slot, SlotStage, State, Waiters};
use crate::status::Status;

/// One end of a connection. Dropping it closes the connection, or aborts it if the client was asked
/// to close and has not ([`Connection::request_close`]). [`Connection::close`] returns how it
/// ended.
#[derive(Debug)]
pub struct Connection {
    shared: Arc<Shared>,
    id: ConnectionId,
    waiters: Arc<Waiters>,
}

/// Why a connection was not established.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The peer, or our own patience, ended the attempt.
    #[error("{}", explain(.0))]
    Refused(Closed),
    /// It could not be started.
    #[error(transparent)]
    Start(#[from] tfrc_dccp::endpoint::ConnectError),
    /// The endpoint is connected to another peer.
    #[error("this endpoint connects to {peer} only")]
    OtherPeer {
        /// The peer of the endpoint.
        peer: SocketAddr,
    },
    /// The route is too narrow for packets of DCCP with data in them.
    #[error(
        "the route there takes {limit} bytes in a datagram, and a session needs 256: give its interface a \
         larger MTU"
    )]
    Narrow {
        /// The longest UDP payload, bytes.
        limit: u64,
    },
    /// The endpoint has ended.
    #[error("the local endpoint has ended")]
    EndpointEnded,
}

/// Why a datagram was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// It does not fit into a packet.
    #[error("a datagram of {length} bytes does not fit into a packet: at most {limit}")]
    TooLong {
        /// Its length, bytes.
        length: usize,
        /// The longest possible, bytes.
        limit: usize,
    },
    /// The connection is over or ending.
    #[error("the connection is closed")]
    Closed,
}

impl From<tfrc_dccp::SendError> for SendError {
    fn from(error: tfrc_dccp::SendError) -> Self {
        match error {
            tfrc_dccp::SendError::TooLong { length, limit } => Self::TooLong { length, limit },
            _ => Self::Closed,
        }
    }
}

/// Time for an answer to Close in [`Connection::close_now`]: on a short path six attempts. At 30 %
/// loss in each direction half of the attempts fail, and all six in one session of 57.
const LEAST_PATIENCE: Duration = Duration::from_secs(3);
/// Interval between two looks for a server's first packet after its Response, of which no event
/// tells.
const CONFIRMATION_LOOK: std::time::Duration = std::time::Duration::from_millis(5);
/// The least of [`overtaken`].
const LEAST_OVERTAKEN: Duration = Duration::from_millis(250);
/// The time for which Close is repeated.
const MOST_PATIENCE: Duration = Duration::from_secs(30);

impl Connection {
    /// Returns true while its slot exists; `state` is that of `shared`.
    pub(crate) fn new(shared: &Arc<Shared>, id: ConnectionId, state: &State) -> Self {
        let waiters = state.slots.get(&id).map(|slot| Arc::clone(&slot.waiters)).unwrap_or_default();
        Self { shared: Arc::clone(shared), id, waiters }
    }

    /// The protocol that carries its packets.
    #[must_use]
    pub fn carrier(&self) -> Carrier {
        self.shared.carrier
    }

    /// The peer's address; `None` once everything about the connection is forgotten.
    #[must_use]
    pub fn remote_addr(&self) -> Option<SocketAddr> {
        self.shared.state().machine.remote(self.id)
    }

    /// Chooses what happens to data that the rate cannot carry at once, waiting data included.
    pub fn set_late_policy(&self, policy: LatePolicy) {
        self.shared.state().machine.set_late_policy(self.shared.clock.now(), self.id, policy);
    }

    /// Replaces the limit on the sending rate, first
    /// [`Common::cap_bps`](crate::options::Common::cap_bps), for datagrams sent from now on.
    ///
    /// # Errors
    /// [`ConfigError::Cap`] for a cap of zero; then the one before stays.
    pub fn set_cap(&self, cap: RateCap) -> Result<(), ConfigError> {
        let outcome = self.shared.state().machine.set_cap(self.shared.clock.now(), self.id, cap);
        self.shared.wake.notify_one();
        self.waiters.of(Awaited::Rate).notify_waiters();
        outcome
    }

    /// Hands over a datagram. It waits in a queue for the rate control; with [`LatePolicy::Wait`]
    /// this call waits while the queue is full. If it is cancelled, nothing was handed over.
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn send(&self, datagram: Vec<u8>) -> Result<(), SendError> {
        let mut datagram = Some(datagram);
        let mut wake = false;
        let outcome = self
            .until(Awaited::Room, |state, id| {
                let Some(connection) = state.machine.connection(id) else {
                    return Some(Err(SendError::Closed));
                };
                match connection.check_send(datagram.as_ref()?.len()) {
                    Ok(()) => {}
                    Err(tfrc_dccp::SendError::Full) => return None,
                    Err(error) => return Some(Err(error.into())),
                }
                // A connection with a queue that is not empty has its time in the driver's timer.
                wake = connection.queued() == 0;
                let now = self.shared.clock.now();
                Some(state.machine.send(now, id, datagram.take()?).map_err(SendError::from))
            })
            .await
            .unwrap_or(Err(SendError::Closed));
        if wake {
            self.shared.wake.notify_one();
        }
        outcome
    }

    /// The text of the peer's application
    /// ([`Common::greeting`](crate::options::Common::greeting)), safe to show; `None` if it has
    /// none.
    #[must_use]
    pub fn peer_greeting(&self) -> Option<String> {
        let state = self.shared.state();
        state.machine.connection(self.id)?.peer_greeting().map(str::to_owned)
    }

    /// The text of the peer's Close so far, safe to show; `None` if it has none.
    #[must_use]
    pub fn peer_closing_text(&self) -> Option<String> {
        let state = self.shared.state();
        state.machine.connection(self.id)?.peer_closing_text().map(str::to_owned)
    }

    /// Sets the text, at most 200 bytes, that goes to the peer with our Close, or with the Reset
    /// that ends the connection. The peer has it in [`Closed::text`](tfrc_dccp::Closed::text). If
    /// Close has gone, it goes again.
    pub fn set_closing_text(&self, text: &str) {
        self.shared.state().machine.set_closing_text(self.shared.clock.now(), self.id, text);
        self.shared.wake.notify_one();
    }

    /// The longest datagram that fits into a packet now, in bytes.
    #[must_use]
    pub fn max_datagram(&self) -> usize {
        self.shared.state().machine.connection(self.id).map_or(0, tfrc_dccp::Connection::max_datagram)
    }

    /// Waits until everything handed over has gone out, or the connection is over.
    pub async fn flushed(&self) {
        self.until(Awaited::Room, |state, id| {
            let connection = state.machine.connection(id);
            connection.is_none_or(|connection| connection.queued() == 0).then_some(())
        })
        .await;
    }

    /// The next datagram received, in order of arrival; `None` when the peer has asked for the end,
    /// or the connection is over, and all has been read. Datagrams that Close has overtaken are
    /// waited for, for [`overtaken`]. Cancel-safe.
    pub async fn recv(&self) -> Option<Received> {
        self.read(|state, id| state.machine.recv(id)).await
    }

    /// Waits as [`Connection::recv`] does, then adds all datagrams that wait, at most `limit`, to
    /// `batch`, oldest first. Returns their number; 0 at the end, or for a limit of 0. Cancel-safe.
    pub async fn recv_many(&self, batch: &mut Vec<Received>, limit: usize) -> usize {
        if limit == 0 {
            return 0;
        }
        let read = self.read(|state, id| {
            let before = batch.len();
            batch.extend(std::iter::from_fn(|| state.machine.recv(id)).take(limit));
            Some(batch.len() - before).filter(|count| *count > 0)
        });
        read.await.unwrap_or(0)
    }

    /// Waits for something to read; `None` once nothing more will come.
    async fn read<T>(&self, mut take: impl FnMut(&mut State, ConnectionId) -> Option<T>) -> Option<T> {
        loop {
            let step = self.until(Awaited::Readable, |state, id| match take(state, id) {
                Some(taken) => Some(Ok(taken)),
                None => time_to_come(state, id, self.shared.clock.now()).map(Err),
            });
            match step.await? {
                Ok(taken) => return Some(taken),
                Err(Duration::ZERO) => return None,
                Err(wait) => {
                    let news = self.waiters.of(Awaited::Readable).notified();
                    let _ = tokio::time::timeout(wait.into(), news).await;
                }
            }
        }
    }

    /// Returns true while the peer has asked for the end and has no answer yet.
    #[must_use]
    pub fn is_asked_to_close(&self) -> bool {
        let state = self.shared.state();
        let connection = state.machine.connection(self.id);
        connection.is_some_and(|connection| connection.state() == tfrc_dccp::State::CloseReceived)
    }

    /// Returns the buffers of datagrams that were read, for later ones: a receiver that returns all
    /// of them allocates nothing for a datagram.
    pub fn recycle(&self, buffers: impl IntoIterator<Item = Vec<u8>>) {
        self.shared.state().machine.recycle(self.id, buffers);
    }

    /// An empty buffer for the next datagram: that of one that was sent, if there is one.
    #[must_use]
    pub fn buffer(&self) -> Vec<u8> {
        self.shared.state().machine.buffer()
    }

    /// The time by the endpoint's clock, zero at its creation.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    /// The state of the connection now; after its end, the state known then.
    #[must_use]
    pub fn status(&self) -> Status {
        let now = self.shared.clock.now();
        let state = self.shared.state();
        match (state.slots.get(&self.id), state.machine.connection(self.id)) {
            (Some(slot), Some(connection)) => {
                let at = if let SlotStage::Over { at, .. } = slot.standing { at } else { now };
                Status::of(connection, slot, at)
            }
            _ => Status::default(),
        }
    }

    /// The rate that a media encoder should aim at
    /// ([`Status::target_rate`](crate::Status::target_rate)), as soon as it differs from the last
    /// one returned; first as soon as there is a round-trip time. `None` once the connection is
    /// over. Several changes since the last call are returned as one. Cancel-safe.
    pub async fn rate_changed(&self) -> Option<Rate> {
        self.until(Awaited::Rate, |state, id| {
            let slot =
                state.slots.get_mut(&id).filter(|slot| !matches!(slot.standing, SlotStage::Over { .. }));
            let (Some(slot), Some(connection)) = (slot, state.machine.connection(id)) else {
                return Some(None);
            };
            let sender = connection.rate_sender();
            let rate = sender.target_rate();
            if sender.rtt().is_none() || slot.told_rate == Some(rate) {
                return None;
            }
            slot.told_rate = Some(rate);
            Some(Some(rate))
        })
        .await
        .flatten()
    }

    /// The changes of the allowed rate since the last call, oldest first; up to 4096 are kept, and
    /// 32 until the first call.
    #[must_use]
    pub fn take_rate_changes(&self) -> Vec<RateChange> {
        self.with_slot(Slot::take_rate_changes).unwrap_or_default()
    }

    /// Closes the connection once what was handed over has gone out, and waits for the peer to
    /// agree. Returns how it ended; `None` if the endpoint ended first.
    pub async fn close(&self) -> Option<Closed> {
        self.shared.state().close(self.shared.clock.now(), self.id);
        self.shared.wake.notify_one();
        self.over().await
    }

    /// Closes the connection at once: what waits to be sent is discarded
    /// ([`Status::unsent_packets`](crate::Status::unsent_packets)), Close goes now, and this waits
    /// for the peer's answer for four round-trip times, but at least 3 s and at most 30 s. Returns
    /// how the connection ended; `None` if no answer came in time or the endpoint ended first. May
    /// be called while [`Connection::close`] waits, which then ends too. Has no effect on a
    /// connection that is over, or that the peer has asked to close.
    pub async fn close_now(&self) -> Option<Closed> {
        use tfrc_dccp::State::{CloseReceived, Closed};
        let patience = {
            let now = self.shared.clock.now();
            let mut state = self.shared.state();
            let connection = state.machine.connection(self.id)?;
            let rtt = connection.rtt();
            let rtt = match connection.state() {
                CloseReceived | Closed => None,
                _ => {
                    state.machine.close_now(now, self.id);
                    rtt
                }
            };
            (rtt.unwrap_or(Duration::ZERO) * 4).clamp(LEAST_PATIENCE, MOST_PATIENCE)
        };
        self.shared.wake.notify_one();
        tokio::time::timeout(patience.into(), self.over()).await.ok().flatten()
    }

    /// Agrees to the end that the peer has asked for (after [`Connection::recv`] gave `None`), with
    /// a text for it of at most 200 bytes, and waits for it. Returns how the connection ended;
    /// `None` if the endpoint ended first.
    pub async fn accept_close(&self, text: &str) -> Option<Closed> {
        let now = self.shared.clock.now();
        self.shared.state().machine.accept_close(now, self.id, text);
        self.shared.wake.notify_one();
        self.over().await
    }

    /// Ends the connection as its server: asks the client to close (CloseReq, RFC 4340 §8.3),
    /// answers its Close with a text of at most 200 bytes, and waits for that. Data that comes
    /// meanwhile can still be read; what waits to be sent is discarded. A client closes as with
    /// [`Connection::close_now`], and its Close carries the text. Returns how the connection ended;
    /// `None` if the endpoint ended first.
    pub async fn request_close(&self, text: &str) -> Option<Closed> {
        self.shared.state().machine.request_close(self.shared.clock.now(), self.id, text);
        self.shared.wake.notify_one();
        self.over().await
    }

    async fn over(&self) -> Option<Closed> {
        self.until(Awaited::State, |state, id| match &state.slots.get(&id)?.standing {
            SlotStage::Over { closed, .. } => Some(closed.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn established(&self) -> Result<(), ConnectError> {
        self.until(Awaited::State, |state, id| {
            if let SlotStage::Over { closed, .. } = &state.slots.get(&id)?.standing {
                return Some(Err(ConnectError::Refused(closed.clone())));
            }
            let stands = state.machine.connection(id)?.state().is_established();
            stands.then_some(Ok(()))
        })
        .await
        .unwrap_or(Err(ConnectError::EndpointEnded))
    }

    /// Waits until a server that has introduced itself has answered since its Response: its place
    /// for this client is certain then, which a Response alone does not say (RFC 4340 §8.1.5).
    ///
    /// # Errors
    /// [`ConnectError::Refused`] if there was no place.
    pub async fn confirmed(&self) -> Result<(), ConnectError> {
        let mut tick = tokio::time::interval(CONFIRMATION_LOOK);
        loop {
            {
                let state = self.shared.state();
                let slot = state.slots.get(&self.id).ok_or(ConnectError::EndpointEnded)?;
                if let SlotStage::Over { closed, .. } = &slot.standing {
                    return Err(ConnectError::Refused(closed.clone()));
                }
                let connection = state.machine.connection(self.id).ok_or(ConnectError::EndpointEnded)?;
                let waits = match connection.state() {
                    tfrc_dccp::State::PartOpen => connection.peer_greeting().is_some(),
                    // The refusal is on its way to the slot.
                    tfrc_dccp::State::Closed => true,
                    _ => false,
                };
                if !waits {
                    return Ok(());
                }
            }
            tick.tick().await;
        }
    }

    /// Waits until `answer` returns a value; `None` when the driver has ended without one.
    async fn until<T>(
        &self,
        awaited: Awaited,
        mut answer: impl FnMut(&mut State, ConnectionId) -> Option<T>,
    ) -> Option<T> {
        let mut ask = || {
            let mut state = self.shared.state();
            let answer = answer(&mut state, self.id);
            if answer.is_some() || state.ended { Some(answer) } else { None }
        };
        // Mostly there is no need to wait.
        if let Some(answer) = ask() {
            return answer;
        }
        loop {
            let notified = self.waiters.of(awaited).notified();
            if let Some(answer) = ask() {
                return answer;
            }
            notified.await;
        }
    }

    fn with_slot<T>(&self, f: impl FnOnce(&mut Slot) -> T) -> Option<T> {
        self.shared.state().slots.get_mut(&self.id).map(f)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.forget(self.id);
    }
}

/// How long datagrams that a Close has overtaken are waited for, if some are missing: two
/// round-trip times, by which a path may reorder, and the quarter of a second after which Close is
/// repeated, as round-trip times of a receiver are late.
#[must_use]
pub fn overtaken(rtt: Option<Duration>) -> Duration {
    (rtt.unwrap_or(Duration::ZERO) * 2).clamp(LEAST_OVERTAKEN, LEAST_PATIENCE)
}

/// The time for which datagrams may still come of a connection of which nothing waits to be read;
/// `None` while its end is open, zero when nothing more comes.
fn time_to_come(state: &State, id: ConnectionId, now: Instant) -> Option<Duration> {
    use tfrc_dccp::State::{CloseReceived, Closed};
    let (Some(connection), Some(slot)) = (state.machine.connection(id), state.slots.get(&id)) else {
        return Some(Duration::ZERO);
    };
    match connection.state() {
        Closed => Some(Duration::ZERO),
        CloseReceived => {
            let missing = connection.peer_sent_data_packets() > connection.received_data_packets();
            let rtt = connection.rate_receiver().map(tfrc::Receiver::rtt);
            let until = slot.close_heard.filter(|_| missing).map(|heard| heard + overtaken(rtt));
            Some(until.map_or(Duration::ZERO, |until| until.saturating_since(now)))
        }
        _ => None,
    }
}

fn explain(closed: &Closed) -> String {
    let text = closed.text.as_ref().map_or(String::new(), |text| format!(" ({text})"));
    match closed.by {
        tfrc_dccp::ClosedBy::Unreachable => {
            "nobody listens there: the network reports the port unreachable".to_owned()
        }
        tfrc_dccp::ClosedBy::OurReset => format!("no answer: gave up ({:?}){text}", closed.code),
        _ => format!("refused by the peer: {:?}{text}", closed.code),
    }
}
