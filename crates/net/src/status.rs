//! A snapshot of a connection at one moment.

use tfrc::guard::Trip;
use tfrc::{Limit, RateReason};
use tfrc_dccp::{Connection, Stats};
use tfrc_units::{Duration, Instant, Probability, Rate};

use crate::Variant;
use crate::scheduler::Slot;

/// State of a connection at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Status {
    /// When, by the endpoint's clock.
    pub at: Instant,
    /// The variant of what we send, once agreed on.
    pub sending: Option<Variant>,
    /// The variant of what we receive, once agreed on.
    pub receiving: Option<Variant>,
    /// X, the allowed rate of what we send, in data bytes (RFC 5348 §4.3).
    pub allowed_rate: Rate,
    /// The rate that a media encoder should aim at, in data bytes: the allowed rate, at most the
    /// cap; zero after a stop.
    pub target_rate: Rate,
    /// The rule that set X last; `None` before the first round-trip time.
    pub rate_reason: Option<RateReason>,
    /// Reason for the rate of what we send; `None` before the first round-trip time.
    pub limit: Option<Limit>,
    /// Why sending has stopped, if the circuit breaker has struck (RFC 8083).
    pub stopped: Option<Trip>,
    /// R of what we send, once there is a sample.
    pub rtt: Option<Duration>,
    /// p of what we send, as the peer reports it.
    pub reported_loss_event_rate: Probability,
    /// X_recv of the latest feedback.
    pub reported_receive_rate: Option<Rate>,
    /// Loss events that feedback has reported.
    pub reported_loss_events: u64,
    /// p of what we receive (RFC 5348 §5).
    pub loss_event_rate: Probability,
    /// The sender's round-trip time as we, the receiver, know it; none before it has said one.
    pub sender_rtt: Option<Duration>,
    /// Loss events in what we receive.
    pub loss_events: u64,
    /// Loss events, and data packets sent by the peer, since the first loss event: slow start is
    /// not in them. Of a sender over QUIC, its own, which marks are part of.
    pub after_slow_start: (u64, u64),
    /// Datagrams the peer has sent, received or not, as far as known.
    pub peer_sent_packets: u64,
    /// The longest datagram that fits into a packet, as far as the path is known.
    pub max_datagram: usize,
    /// Counts.
    pub stats: Stats,
    /// Datagrams that wait to be sent.
    pub queued: usize,
    /// Datagrams dropped unsent because they were late.
    pub late_dropped: u64,
    /// Datagrams handed over that were not sent and will not be, dropped by no policy: discarded by
    /// [`close_now`](crate::Connection::close_now), waiting when the connection ended, or refused
    /// because the path had become too narrow. Complete once the connection is over.
    pub unsent_packets: u64,
    /// Total length of those datagrams, bytes.
    pub unsent_bytes: u64,
}

impl Status {
    pub(crate) fn of(connection: &Connection, slot: &Slot, now: Instant) -> Self {
        let (sender, receiver) = (connection.rate_sender(), connection.rate_receiver());
        let stats = connection.stats();
        Self {
            at: now,
            sending: connection.sending_ccid().and_then(Variant::of),
            receiving: connection.receiving_ccid().and_then(Variant::of),
            allowed_rate: sender.allowed_rate(),
            target_rate: sender.target_rate(),
            rate_reason: sender.rtt().map(|_| sender.rate_reason()),
            limit: sender.rtt().map(|_| sender.limit(now)),
            stopped: sender.stopped().map(|stopped| stopped.trip),
            rtt: sender.rtt(),
            reported_loss_event_rate: sender.loss_event_rate(),
            reported_receive_rate: sender.latest_feedback().map(|feedback| feedback.receive_rate),
            reported_loss_events: sender.loss_events(),
            loss_event_rate: receiver.map_or(Probability::ZERO, tfrc::Receiver::loss_event_rate),
            sender_rtt: receiver.filter(|receiver| receiver.knows_rtt()).map(tfrc::Receiver::rtt),
            loss_events: receiver.map_or(0, tfrc::Receiver::loss_events),
            after_slow_start: slot.loss_measure.after_slow_start(),
            peer_sent_packets: connection.peer_sent_data_packets(),
            max_datagram: connection.max_datagram(),
            stats,
            queued: connection.queued(),
            late_dropped: stats.late_packets,
            unsent_packets: stats.unsent_packets,
            unsent_bytes: stats.unsent_bytes,
        }
    }
}
