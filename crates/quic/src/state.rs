//! A session as its application and its tasks see it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use noq::{PathId, VarInt};
use tfrc::config::ClockGrain;
use tfrc::{Arrival, ConfigError, PacketKind, Receiver, Settings};
use tfrc_dccp::wire::ResetCode;
use tfrc_net::options::Common;
use tfrc_net::{Boundaries, Cause, Closed, ClosedBy, LatePolicy, Received, UNCONFIRMED};
use tfrc_noq::Readings;
use tfrc_units::{Duration, Ecn, Instant, Rate, SeqNo48, saturating};
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::closing::{CloseCode, Violation};
use crate::frame::{self, Message};
use crate::socket::SocketCounts;
use crate::stopped::{Handed, Stopped};

/// Numbers that one datagram, or the count of the peer's last message, may be ahead of the highest:
/// no path loses as many in a row within the silence that ends a session.
pub(crate) const FURTHEST: u64 = 1 << 20;

/// Datagrams dropped by the peer's slow application, since it last said so, for which the sender
/// slows down as for a congestion mark: as many as over DCCP (docs/decisions/0007).
pub(crate) const MANY_DROPPED: u64 = 8;

/// A session that its application and its tasks share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    pub(crate) quic: noq::Connection,
    pub(crate) clock: Clock,
    /// X, R and p, where this end sends the data.
    pub(crate) readings: Arc<Readings>,
    pub(crate) sends: bool,
    pub(crate) socket: Arc<SocketCounts>,
    /// Free bytes of QUIC's buffer of datagrams when it is empty.
    buffer: usize,
    /// Something waits to be read, or nothing more will.
    pub(crate) readable: Notify,
    /// The queue has room, or everything has gone.
    pub(crate) room: Notify,
    /// A message of the peer has come, or the connection is over.
    pub(crate) changed: Notify,
    /// The queue has a datagram for the task that sends.
    pub(crate) queued: Notify,
    /// A message waits for the task that writes the control stream.
    pub(crate) posted: Notify,
    /// Holds the task that takes datagrams out.
    #[cfg(test)]
    pub(crate) held: tokio::sync::Mutex<()>,
}

/// Everything that changes.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct State {
    /// Datagrams that wait, and since when.
    pub(crate) queue: VecDeque<(Instant, Vec<u8>)>,
    queue_limit: usize,
    pub(crate) policy: LatePolicy,
    pub(crate) boundaries: Boundaries,
    /// The task that sends has a datagram that QUIC has not taken yet.
    pub(crate) in_hand: bool,
    pub(crate) sent_packets: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) late: u64,
    pub(crate) unsent_packets: u64,
    pub(crate) unsent_bytes: u64,
    pub(crate) stopped: Stopped,
    /// Datagrams that wait to be read.
    pub(crate) received: VecDeque<Received>,
    receive_limit: usize,
    pub(crate) received_packets: u64,
    pub(crate) received_bytes: u64,
    pub(crate) queue_dropped: u64,
    pub(crate) malformed: u64,
    /// The number after the highest that has come.
    end: u64,
    pub(crate) meter: Receiver,
    after_slow_start: Option<(u64, u64)>,
    /// The peer.
    pub(crate) greeting: Option<String>,
    pub(crate) peer_dropped: u64,
    /// The peer's Close: datagrams sent, and its text.
    pub(crate) peer_close: Option<(u64, String)>,
    /// Datagrams that Close has overtaken have had their time to come.
    pub(crate) is_drained: bool,
    /// Our own words in Close.
    pub(crate) closing_text: String,
    /// When this end asked the peer for the end.
    pub(crate) asked: Option<tokio::time::Instant>,
    /// We have agreed to the peer's Close.
    pub(crate) has_agreed: bool,
    /// The queue is not sent any more.
    pub(crate) discards: bool,
    pub(crate) outbox: VecDeque<Message>,
    pub(crate) over: Option<(Instant, Closed)>,
    pub(crate) told_rate: Option<Rate>,
}

impl Shared {
    pub(crate) fn new(
        quic: noq::Connection,
        clock: Clock,
        options: &Common,
        readings: Arc<Readings>,
        socket: Arc<SocketCounts>,
    ) -> Result<Self, ConfigError> {
        let mut settings =
            Settings { clock_grain: ClockGrain::Measured, ..Settings::for_revision(options.revision) };
        options.profile.choose(settings.algorithm.choices_mut());
        let state = State {
            queue: VecDeque::new(),
            queue_limit: options.send_queue,
            policy: LatePolicy::Wait,
            boundaries: options.boundaries,
            in_hand: false,
            sent_packets: 0,
            sent_bytes: 0,
            late: 0,
            unsent_packets: 0,
            unsent_bytes: 0,
            stopped: Stopped::default(),
            received: VecDeque::new(),
            receive_limit: options.receive_queue,
            received_packets: 0,
            received_bytes: 0,
            queue_dropped: 0,
            malformed: 0,
            end: 0,
            meter: Receiver::new(&settings.validate()?),
            after_slow_start: None,
            greeting: None,
            peer_dropped: 0,
            peer_close: None,
            is_drained: false,
            closing_text: String::new(),
            asked: None,
            has_agreed: false,
            discards: false,
            outbox: VecDeque::from([Message::Hello { greeting: options.greeting.clone() }]),
            over: None,
            told_rate: None,
        };
        Ok(Self {
            state: Mutex::new(state),
            buffer: quic.datagram_send_buffer_space(),
            quic,
            clock,
            readings,
            sends: options.sends(),
            socket,
            readable: Notify::new(),
            room: Notify::new(),
            changed: Notify::new(),
            queued: Notify::new(),
            posted: Notify::new(),
            #[cfg(test)]
            held: tokio::sync::Mutex::default(),
        })
    }

    /// The state. A panic elsewhere does not make it unusable: each change is whole.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// R as QUIC has it.
    pub(crate) fn rtt(&self) -> Option<Duration> {
        self.quic.rtt(PathId::ZERO).map(Duration::from)
    }

    /// The longest datagram that fits into a packet now, bytes.
    pub(crate) fn max_datagram(&self) -> usize {
        self.quic.max_datagram_size().unwrap_or(0).saturating_sub(frame::HEADER)
    }

    /// True if QUIC has sent, or dropped, all datagrams that it has taken.
    pub(crate) fn is_flushed(&self) -> bool {
        self.quic.datagram_send_buffer_space() >= self.buffer
    }

    /// Counts the datagrams that QUIC has taken and this end has not sent.
    pub(crate) fn count_stopped(&self) {
        // In this order, so that all of `taken` have left the buffer if it is empty afterwards.
        let taken = self.state().sent_packets;
        let is_flushed = self.is_flushed();
        let framed = self.quic.stats().frame_tx.datagram;
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        let (refused, handed) = (count(&self.socket.refused), count(&self.socket.handed));
        let longest = self.quic.path_stats(PathId::ZERO).unwrap_or_default().current_mtu;
        let mut state = self.state();
        let is_lost = state.over.as_ref().is_some_and(|(_, closed)| closed.cause != Cause::Agreed);
        if is_flushed || is_lost {
            state.stopped.by_quic(taken, framed);
        }
        state.stopped.by_system(Handed { framed, handed, refused }, longest.into());
    }

    /// Counts datagrams that have come and that QUIC dropped because they were not taken out in
    /// time: `framed` have come, and none waits there.
    pub(crate) fn overrun(&self, framed: u64) {
        let mut state = self.state();
        let taken = state.arrivals() + state.malformed;
        state.queue_dropped += framed.saturating_sub(taken);
    }

    /// Takes in what has arrived.
    pub(crate) fn arrived(&self, batch: &mut [Bytes]) {
        let now = self.clock.now();
        let rtt = self.rtt();
        {
            let mut state = self.state();
            for datagram in batch {
                state.arrived(now, rtt, &std::mem::take(datagram));
            }
        }
        self.readable.notify_waiters();
    }

    /// Takes in a message of the peer. Returns true if datagrams may still be on their way that
    /// were sent before it.
    ///
    /// # Errors
    /// The rule that the message breaks.
    pub(crate) fn on_message(&self, message: Message) -> Result<bool, Violation> {
        let mut waits = false;
        {
            let mut state = self.state();
            if let Message::Close { sent, .. } | Message::Agreed { sent, .. } = message
                && sent > state.end.saturating_add(FURTHEST)
            {
                return Err(Violation::Count);
            }
            match message {
                Message::Hello { greeting } => drop(state.greeting.get_or_insert(greeting)),
                Message::Dropped { datagrams } => {
                    if datagrams.saturating_sub(state.peer_dropped) >= MANY_DROPPED {
                        self.readings.mark();
                    }
                    state.peer_dropped = state.peer_dropped.max(datagrams);
                }
                Message::Close { sent, text } => {
                    if state.asked.is_some() {
                        // Both ends have asked.
                        state.agreed(self.clock.now(), sent, text);
                    } else {
                        state.peer_close = Some((sent, text));
                        state.is_drained |= state.arrivals() >= sent;
                        waits = !state.is_drained;
                    }
                }
                Message::Agreed { .. } if state.asked.is_none() => return Err(Violation::Unasked),
                Message::Agreed { sent, text } => state.agreed(self.clock.now(), sent, text),
            }
            if state.over.is_some() {
                self.quic.close(VarInt::from_u32(CloseCode::Agreed.wire()), CloseCode::Agreed.reason());
            }
        }
        self.wake_all();
        Ok(waits)
    }

    /// Ends the session of a peer that has broken a rule.
    pub(crate) fn violated(&self, rule: Violation) {
        self.end(|state| Closed {
            by: ClosedBy::OurReset,
            code: ResetCode::PacketError,
            cause: Cause::Rule(rule.phrase()),
            text: None,
            peer_sent_data_packets: state.peer_sent(),
        });
        self.quic.close(VarInt::from_u32(CloseCode::Protocol.wire()), rule.phrase().as_bytes());
    }

    /// The application has not answered the peer's Close in time.
    pub(crate) fn not_confirmed(&self) {
        let mut state = self.state();
        if state.over.is_none() && state.peer_close.is_some() && !state.has_agreed {
            state.has_agreed = true;
            let sent = state.sent_packets;
            self.post(&mut state, Message::Agreed { sent, text: UNCONFIRMED.to_owned() });
        }
    }

    /// Datagrams that Close has overtaken have had their time.
    pub(crate) fn drained(&self) {
        self.state().is_drained = true;
        self.readable.notify_waiters();
    }

    /// The connection is over, unless it was before.
    pub(crate) fn end(&self, closed: impl FnOnce(&State) -> Closed) {
        let now = self.clock.now();
        {
            let mut state = self.state();
            if state.over.is_none() {
                let closed = closed(&state);
                state.finish(now, closed);
            }
        }
        self.wake_all();
    }

    /// Has the control stream carry a message.
    pub(crate) fn post(&self, state: &mut State, message: Message) {
        state.outbox.push_back(message);
        self.posted.notify_one();
    }

    pub(crate) fn wake_all(&self) {
        self.readable.notify_waiters();
        self.room.notify_waiters();
        self.changed.notify_waiters();
        self.queued.notify_one();
        self.posted.notify_one();
    }
}

impl State {
    /// Returns true if a datagram may be added to the queue.
    pub(crate) fn has_room(&self) -> bool {
        self.queue.len() < self.queue_limit
    }

    /// Returns true if nothing more is taken from the application.
    pub(crate) const fn takes_nothing(&self) -> bool {
        self.over.is_some() || self.asked.is_some() || self.peer_close.is_some()
    }

    /// Returns true if nothing more comes to be read.
    pub(crate) const fn is_read_out(&self) -> bool {
        self.over.is_some() || self.is_drained
    }

    /// Datagrams that have arrived, dropped ones too.
    const fn arrivals(&self) -> u64 {
        self.received_packets + self.queue_dropped
    }

    /// Datagrams that the peer has sent, as far as known.
    pub(crate) fn peer_sent(&self) -> u64 {
        self.peer_close.as_ref().map_or(self.end, |(sent, _)| self.end.max(*sent))
    }

    /// Loss events and datagrams sent after the first loss event.
    pub(crate) fn after_slow_start(&self) -> (u64, u64) {
        let now = (self.meter.loss_events(), self.peer_sent());
        let (events, packets) = self.after_slow_start.unwrap_or(now);
        (now.0.saturating_sub(events), now.1.saturating_sub(packets))
    }

    fn arrived(&mut self, now: Instant, rtt: Option<Duration>, datagram: &[u8]) {
        let read = frame::number(datagram, self.end);
        let Some((number, data)) = read.filter(|(number, _)| *number < self.end.saturating_add(FURTHEST))
        else {
            self.malformed += 1;
            return;
        };
        let first = self.end == 0;
        self.end = self.end.max(number.saturating_add(1));
        if first {
            self.meter.expect(now, 1);
        }
        self.meter.on_packet(
            now,
            Arrival {
                seq: number.saturating_add(1),
                size: saturating(data.len()),
                // QUIC counts marks, and says not on which packet.
                ecn: Ecn::NotEct,
                rtt,
                window_counter: 0,
                kind: PacketKind::Data,
                non_data_before: 0,
            },
        );
        match self.meter.loss_events() {
            // A late packet has repaired the history (RFC 5348 §5.1).
            0 => self.after_slow_start = None,
            events => drop(self.after_slow_start.get_or_insert((events, self.end))),
        }
        if self.received.len() >= self.receive_limit {
            self.queue_dropped += 1;
        } else {
            self.received_packets += 1;
            self.received_bytes += saturating::<u64>(data.len());
            self.received.push_back(Received {
                seq: SeqNo48::new(number % SeqNo48::MODULUS),
                data_index: number,
                bytes: data.to_vec(),
                at: now,
                ecn: Ecn::NotEct,
            });
        }
        if self.peer_close.as_ref().is_some_and(|(sent, _)| self.arrivals() >= *sent) {
            self.is_drained = true;
        }
    }

    /// The peer has agreed to our Close.
    fn agreed(&mut self, now: Instant, sent: u64, text: String) {
        let closed = Closed {
            by: ClosedBy::Us,
            code: ResetCode::Closed,
            cause: Cause::Agreed,
            text: Some(text).filter(|text| !text.is_empty()),
            peer_sent_data_packets: sent.max(self.peer_sent()),
        };
        // Those that were on their way are lost to both ends.
        self.end = self.end.max(sent);
        if self.over.is_none() {
            self.finish(now, closed);
        }
    }

    fn finish(&mut self, now: Instant, closed: Closed) {
        self.discard();
        self.over = Some((now, closed));
    }

    /// Gives up the datagrams that wait to be sent.
    pub(crate) fn discard(&mut self) {
        self.discards = true;
        for (_, datagram) in self.queue.drain(..) {
            self.unsent_packets += 1;
            self.unsent_bytes += saturating::<u64>(datagram.len());
        }
    }
}
