//! The handle of a session.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use noq::{PathId, SendStream, VarInt};
use rustls::pki_types::CertificateDer;
use tfrc::RateChange;
use tfrc_dccp::wire::ResetCode;
use tfrc_net::options::Common;
use tfrc_net::{Cause, Closed, ClosedBy, LatePolicy, Received, SendError, Status, Variant};
use tfrc_units::{Duration, Instant, Rate};
use tokio::sync::Notify;

use crate::Fingerprint;
use crate::closing::CloseCode;
use crate::endpoint::Place;
use crate::frame::Message;
use crate::settings::SILENCE;
use crate::state::{Shared, State};
use crate::tasks::{Tasks, agreed};

/// Time for an answer to Close in [`Connection::close_now`], at least and at most.
const LEAST_PATIENCE: Duration = Duration::from_secs(3);
const MOST_PATIENCE: Duration = Duration::from_secs(30);
/// The time for an answer to Close, as over DCCP: no peer that lives needs longer, as an end whose
/// application does not answer says so after 15 s.
const ANSWER: std::time::Duration = std::time::Duration::from_secs(30);
/// The wait for the end of a peer that has our agreement. It ends at once, unless it is gone or its
/// last packet was lost.
const LAST_WORD: std::time::Duration = std::time::Duration::from_secs(2);
/// Interval between two looks at the datagrams that QUIC has taken and not sent yet, of which no
/// event tells.
const LOOK: std::time::Duration = std::time::Duration::from_millis(1);

/// One end of a session over QUIC, with the methods of [`tfrc_net::Connection`], which say more.
/// Dropping it ends the connection.
#[derive(Debug)]
pub struct Connection {
    shared: Arc<Shared>,
    _tasks: Tasks,
    /// Its place at a server.
    _place: Option<Place>,
}

impl Connection {
    /// A connection whose tasks begin now.
    pub(crate) fn new(
        shared: Arc<Shared>,
        control: SendStream,
        options: &Common,
        first_data_within: Option<Duration>,
        place: Option<Place>,
    ) -> Self {
        let tasks = Tasks::start(&shared, control, options.silence.unwrap_or(SILENCE), first_data_within);
        Self { shared, _tasks: tasks, _place: place }
    }

    /// Waits for the peer's greeting, the first message of a session.
    pub(crate) async fn greeted(&self) -> Result<(), Option<noq::ConnectionError>> {
        self.until(&self.shared.changed, |state| match (&state.greeting, &state.over) {
            (Some(_), _) => Some(Ok(())),
            (None, Some(_)) => Some(Err(self.shared.quic.close_reason())),
            (None, None) => None,
        })
        .await
    }

    #[cfg(test)]
    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The peer's address now: it changes when the peer moves.
    #[must_use]
    pub fn remote_addr(&self) -> Option<SocketAddr> {
        self.shared.quic.path(PathId::ZERO)?.remote_address().ok()
    }

    /// The fingerprint of the peer's key, which it has proved to have.
    #[must_use]
    pub fn peer_key(&self) -> Option<Fingerprint> {
        let identity = self.shared.quic.peer_identity()?;
        let keys = identity.downcast_ref::<Vec<CertificateDer<'static>>>()?;
        keys.first().map(|key| Fingerprint::of(key))
    }

    /// Chooses what happens to data that the rate cannot carry at once.
    pub fn set_late_policy(&self, policy: LatePolicy) {
        self.shared.state().policy = policy;
    }

    /// Hands over a datagram; waits while the queue is full, unless late data is dropped.
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn send(&self, datagram: Vec<u8>) -> Result<(), SendError> {
        let limit = self.max_datagram();
        let length = datagram.len();
        let mut datagram = Some(datagram);
        self.until(&self.shared.room, |state| {
            if state.takes_nothing() {
                return Some(Err(SendError::Closed));
            }
            if length > limit {
                return Some(Err(SendError::TooLong { length, limit }));
            }
            if !state.has_room() {
                if state.policy == LatePolicy::Wait {
                    return None;
                }
                state.queue.pop_front();
                state.late += 1;
            }
            let now = self.shared.clock.now();
            if state.sent_packets == 0 && state.queue.is_empty() {
                self.shared.readings.count_from(std::time::Instant::now());
            }
            state.queue.push_back((now, datagram.take()?));
            self.shared.queued.notify_one();
            Some(Ok(()))
        })
        .await
    }

    /// The word of the peer's application; `None` if it has none.
    #[must_use]
    pub fn peer_greeting(&self) -> Option<String> {
        self.shared.state().greeting.clone()
    }

    /// The text of the peer's Close; `None` if it has not closed, or has no text.
    #[must_use]
    pub fn peer_closing_text(&self) -> Option<String> {
        let state = self.shared.state();
        state.peer_close.as_ref().map(|(_, text)| text.clone()).filter(|text| !text.is_empty())
    }

    /// Sets the text, at most 200 bytes, that goes to the peer with our Close; if that has gone, it
    /// goes again.
    pub fn set_closing_text(&self, text: &str) {
        let mut state = self.shared.state();
        text.clone_into(&mut state.closing_text);
        if state.asked.is_some() {
            self.post_close(&mut state);
        }
    }

    /// The longest datagram that fits into a packet now, in bytes.
    #[must_use]
    pub fn max_datagram(&self) -> usize {
        self.shared.max_datagram()
    }

    /// Waits until everything handed over has gone out, or the connection is over.
    pub async fn flushed(&self) {
        self.until(&self.shared.room, |state| {
            (state.over.is_some() || state.queue.is_empty() && !state.in_hand).then_some(())
        })
        .await;
        while !self.shared.is_flushed() && self.shared.state().over.is_none() {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The next datagram received; `None` when the peer has asked for the end, or the connection is
    /// over, and all has been read. Cancel-safe.
    pub async fn recv(&self) -> Option<Received> {
        self.until(&self.shared.readable, |state| match state.received.pop_front() {
            None => state.is_read_out().then_some(None),
            received => Some(received),
        })
        .await
    }

    /// Waits as [`Connection::recv`] does, then adds all datagrams that wait, at most `limit`, to
    /// `batch`. Returns their number; 0 at the end, or for a limit of 0. Cancel-safe.
    pub async fn recv_many(&self, batch: &mut Vec<Received>, limit: usize) -> usize {
        if limit == 0 {
            return 0;
        }
        self.until(&self.shared.readable, |state| {
            let count = state.received.len().min(limit);
            batch.extend(state.received.drain(..count));
            (count > 0 || state.is_read_out()).then_some(count)
        })
        .await
    }

    /// Returns true while the peer has asked for the end and has no answer yet.
    #[must_use]
    pub fn is_asked_to_close(&self) -> bool {
        let state = self.shared.state();
        state.over.is_none() && state.peer_close.is_some() && !state.has_agreed
    }

    /// The time by the endpoint's clock, zero at its creation.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    /// The state of the connection now; after its end, the state known then. Rates are those of the
    /// Advisor, in bytes of UDP payload, less the share that a full packet has for headers.
    #[must_use]
    pub fn status(&self) -> Status {
        let shared = &self.shared;
        if shared.sends {
            shared.count_stopped();
        }
        let (reading, rtt) = (shared.readings.now(), shared.rtt());
        let max_datagram = shared.max_datagram();
        let path = shared.quic.path_stats(PathId::ZERO).unwrap_or_default();
        let part = match path.current_mtu {
            0 => 1.0,
            mtu => (max_datagram as f64 / f64::from(mtu)).min(1.0),
        };
        let mut state = shared.state();
        let mut status = Status::default();
        status.at = state.over.as_ref().map_or_else(|| shared.clock.now(), |(at, _)| *at);
        status.max_datagram = max_datagram;
        if shared.sends {
            status.sending = Some(Variant::Tfrc);
            status.allowed_rate = reading.allowed_rate * part;
            status.target_rate = reading.target_rate * part;
            status.rate_reason = reading.reason;
            status.rtt = reading.rtt;
            status.reported_loss_event_rate = reading.loss_event_rate;
            status.reported_loss_events = reading.loss_events;
            status.after_slow_start = (reading.loss_events.saturating_sub(1), reading.packets_after_loss);
            status.reported_receive_rate = reading.receive_rate.map(|rate| rate * part);
        } else {
            status.receiving = Some(Variant::Tfrc);
            status.sender_rtt = rtt;
            status.loss_event_rate = state.meter.loss_event_rate();
            status.loss_events = state.meter.loss_events();
            status.after_slow_start = state.after_slow_start();
        }
        status.peer_sent_packets = state.peer_sent();
        status.queued = state.queue.len() + usize::from(state.in_hand);
        status.late_dropped = state.late;
        let (packets, bytes) = (state.sent_packets, state.sent_bytes);
        let (stopped, stopped_bytes) = state.stopped.of(packets, bytes);
        status.unsent_packets = state.unsent_packets + stopped;
        status.unsent_bytes = state.unsent_bytes + stopped_bytes;
        let stats = &mut status.stats;
        stats.sent_data_packets = state.sent_packets - stopped;
        stats.sent_data_bytes = state.sent_bytes - stopped_bytes;
        stats.received_data_packets = state.received_packets + state.queue_dropped;
        stats.received_data_bytes = state.received_bytes;
        stats.received_non_data_packets = reading.reports;
        stats.received_feedback = reading.acknowledged;
        stats.queue_dropped_packets = state.queue_dropped;
        stats.peer_dropped_packets = state.peer_dropped.min(state.sent_packets - stopped);
        stats.late_packets = state.late;
        stats.unsent_packets = status.unsent_packets;
        stats.unsent_bytes = status.unsent_bytes;
        stats.malformed_packets = state.malformed;
        stats.sent_path_probes = path.sent_plpmtud_probes;
        stats.unreachable_reports = shared.socket.unreachable.load(Ordering::Relaxed);
        status
    }

    /// The rate that an encoder should aim at, as soon as it differs from the last one returned.
    /// `None` once the connection is over. Cancel-safe.
    pub async fn rate_changed(&self) -> Option<Rate> {
        let mut tick = tokio::time::interval(std::time::Duration::from_millis(10));
        loop {
            tick.tick().await;
            let status = self.status();
            let mut state = self.shared.state();
            if state.over.is_some() {
                return None;
            }
            if status.rtt.is_some() && state.told_rate != Some(status.target_rate) {
                state.told_rate = Some(status.target_rate);
                return state.told_rate;
            }
        }
    }

    /// The changes of the allowed rate since the last call, oldest first.
    #[must_use]
    pub fn take_rate_changes(&self) -> Vec<RateChange> {
        let changes = self.shared.readings.take_changes().into_iter();
        changes
            .map(|change| RateChange { at: self.shared.clock.of_controller(change.at), ..change })
            .collect()
    }

    /// Closes the connection once what was handed over has gone out, and waits for the peer to
    /// agree, 30 s at most. Returns how it ended.
    pub async fn close(&self) -> Option<Closed> {
        self.flushed().await;
        self.ask();
        self.answered().await
    }

    /// Closes the connection at once: what waits to be sent is discarded, and this waits for the
    /// peer's answer for four round-trip times, but at least 3 s and at most 30 s. `None` if no
    /// answer came in time.
    pub async fn close_now(&self) -> Option<Closed> {
        self.shared.state().discard();
        self.shared.wake_all();
        let patience = (self.shared.rtt().unwrap_or(Duration::ZERO) * 4).clamp(LEAST_PATIENCE, MOST_PATIENCE);
        self.ask();
        tokio::time::timeout(patience.into(), self.answered()).await.ok().flatten()
    }

    /// Agrees to the end that the peer has asked for, with a text for it of at most 200 bytes, and
    /// waits for it. Returns how the connection ended.
    pub async fn accept_close(&self, text: &str) -> Option<Closed> {
        let agrees = {
            let mut state = self.shared.state();
            let agrees = state.over.is_none() && state.peer_close.is_some() && !state.has_agreed;
            if agrees {
                state.has_agreed = true;
                state.discard();
            }
            agrees
        };
        if agrees {
            self.shared.wake_all();
            // The number that the peer hears is the last one: nothing goes after it.
            self.until(&self.shared.room, |state| (state.over.is_some() || !state.in_hand).then_some(()))
                .await;
            let mut state = self.shared.state();
            let sent = state.sent_packets;
            self.shared.post(&mut state, Message::Agreed { sent, text: text.to_owned() });
        }
        if let Ok(closed) = tokio::time::timeout(LAST_WORD, self.over()).await {
            return closed;
        }
        self.shared.end(|state| {
            let text = state.peer_close.as_ref().map_or("", |(_, text)| text);
            agreed(text, state.peer_sent())
        });
        self.hang_up(CloseCode::Agreed);
        self.over().await
    }

    /// Asks the peer for the end, with a text of at most 200 bytes, or agrees to the end that it
    /// has asked for, and waits for it. Data that comes meanwhile can still be read; what waits to
    /// be sent is discarded. Returns how the connection ended.
    pub async fn request_close(&self, text: &str) -> Option<Closed> {
        if self.is_asked_to_close() {
            return self.accept_close(text).await;
        }
        {
            let mut state = self.shared.state();
            state.discard();
            text.clone_into(&mut state.closing_text);
        }
        self.shared.wake_all();
        self.ask();
        self.answered().await
    }

    /// Asks for the end, once.
    fn ask(&self) {
        let mut state = self.shared.state();
        if state.asked.is_none() && state.peer_close.is_none() && state.over.is_none() {
            state.asked = Some(tokio::time::Instant::now());
            self.post_close(&mut state);
        }
    }

    /// Waits for the end, and gives the peer up if it does not answer Close in time. QUIC's own
    /// time limit does not see a program that stands still, as its keep-alive goes on.
    async fn answered(&self) -> Option<Closed> {
        let asked = self.shared.state().asked;
        if let Some(asked) = asked
            && tokio::time::timeout_at(asked + ANSWER, self.over()).await.is_err()
        {
            self.shared.end(|state| Closed {
                by: ClosedBy::OurReset,
                code: ResetCode::Aborted,
                cause: Cause::CloseUnanswered(ANSWER.into()),
                text: None,
                peer_sent_data_packets: state.peer_sent(),
            });
            let code = CloseCode::GivenUp;
            self.shared.quic.close(VarInt::from_u32(code.wire()), b"the close was not answered in time");
        }
        self.over().await
    }

    fn post_close(&self, state: &mut State) {
        let (sent, text) = (state.sent_packets, state.closing_text.clone());
        self.shared.post(state, Message::Close { sent, text });
    }

    fn hang_up(&self, code: CloseCode) {
        self.shared.quic.close(VarInt::from_u32(code.wire()), code.reason());
    }

    async fn over(&self) -> Option<Closed> {
        self.until(&self.shared.changed, |state| state.over.as_ref().map(|(_, closed)| Some(closed.clone())))
            .await
    }

    /// Waits until `answer` returns a value, which `news` may change.
    async fn until<T>(&self, news: &Notify, mut answer: impl FnMut(&mut State) -> Option<T>) -> T {
        loop {
            let notified = news.notified();
            if let Some(answer) = answer(&mut self.shared.state()) {
                return answer;
            }
            notified.await;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Without effect if it is over.
        self.hang_up(CloseCode::GivenUp);
    }
}
