//! The calls of the application.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tfrc_units::{Duration, Instant, Probability, Rate, SeqNo48, saturating};

use super::{Connection, Event, Notice, PathError, PathMtu, Received, State, Stats};
use crate::ccid::Ccid;
use crate::feature::{Feature, Location, Role};
use crate::wire::{Packet, Sequence};

impl Connection {
    /// The oldest datagram that waits to be read.
    pub fn recv(&mut self) -> Option<Received> {
        let received = self.queue.pop()?;
        if let Some(pace) = &mut self.pace {
            pace.on_read(saturating::<u64>(received.bytes.len()));
        }
        Some(received)
    }

    /// Returns the buffer of a datagram that was read, for later ones: with it no packet allocates.
    pub fn recycle(&mut self, bytes: Vec<u8>) {
        self.queue.recycle(bytes);
    }

    /// The oldest event not yet polled.
    pub fn poll_event(&mut self) -> Option<Event> {
        match self.sender.poll_event() {
            Some(change) => Some(Event::RateChanged(change)),
            None => match self.notices.pop_front() {
                Some(notice) => Some(notice.into()),
                None => self.poll_last_events(),
            },
        }
    }

    fn poll_last_events(&mut self) -> Option<Event> {
        match self.outgoing.take_dropped() {
            Some((reason, packets, bytes)) => Some(Event::Dropped { reason, packets, bytes }),
            None => self.closed.take().map(|closed| Event::Closed(*closed)),
        }
    }

    /// Notes an event. At most one of each kind waits to be polled.
    pub(super) fn tell(&mut self, notice: Notice) {
        if !self.notices.contains(&notice) {
            self.notices.push_back(notice);
        }
    }

    /// Number of datagrams that the peer has sent before the packet `seq`, as far as is known now:
    /// lost ones count, packets known to carry no data do not. The number can fall when a later
    /// packet shows that missing ones carried no data. Two received datagrams whose numbers differ
    /// by more than one have lost ones between them. `None` if the packet is not known, or
    /// forgotten: several hundred runs of packets are kept.
    #[must_use]
    pub fn data_index(&self, seq: SeqNo48) -> Option<u64> {
        self.seq.gsr()?;
        self.ledger.data_before(self.seq.extend(seq))
    }

    /// Datagrams that the peer has sent, received or not, up to the newest packet received. At the
    /// end of a connection this is all of them: Close has a number too, and its NDP Count says what
    /// stood before it. Where NDP Count says nothing, a lost packet counts as a datagram.
    #[must_use]
    pub const fn peer_sent_data_packets(&self) -> u64 {
        self.ledger.data_sent()
    }

    /// Datagrams received, duplicates excluded.
    #[must_use]
    pub const fn received_data_packets(&self) -> u64 {
        self.ledger.data_received()
    }

    /// The state of the connection.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// The role of this end.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Our DCCP port and the peer's.
    #[must_use]
    pub const fn ports(&self) -> (u16, u16) {
        (self.ports.local, self.ports.remote)
    }

    /// The counts of what has been sent and received so far.
    #[must_use]
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// The agreed value of a feature.
    #[must_use]
    pub fn feature(&self, feature: Feature, location: Location) -> u64 {
        self.features.value(feature, location)
    }

    /// The CCID that governs the data that we send, once the ends have agreed on it.
    #[must_use]
    pub fn sending_ccid(&self) -> Option<Ccid> {
        self.ccid(Location::Local)
    }

    /// The CCID that governs the data that the peer sends, once the ends have agreed on it.
    #[must_use]
    pub fn receiving_ccid(&self) -> Option<Ccid> {
        self.ccid(Location::Remote)
    }

    /// X, the allowed rate of what we send, in data bytes.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.sender.tfrc().allowed_rate()
    }

    /// The round-trip time of what we send, once there is a sample.
    #[must_use]
    pub fn rtt(&self) -> Option<Duration> {
        self.sender.tfrc().rtt()
    }

    /// p of what we send, as the peer reports it.
    #[must_use]
    pub const fn loss_event_rate(&self) -> Probability {
        self.sender.tfrc().loss_event_rate()
    }

    /// The sending half of the rate control, read-only.
    #[must_use]
    pub const fn rate_sender(&self) -> &tfrc::Sender {
        self.sender.tfrc()
    }

    /// The receiving half of the rate control, read-only; it begins with the first datagram.
    #[must_use]
    pub fn rate_receiver(&self) -> Option<&tfrc::Receiver> {
        self.receiver.as_ref().map(|receiver| receiver.tfrc())
    }

    /// The longest packet that may be tried has changed: the interface's MTU less IP and UDP
    /// headers. What was found out about the path is forgotten (RFC 4340 §14.1).
    pub fn set_max_packet(&mut self, bytes: usize) {
        Arc::make_mut(&mut self.config).max_packet = bytes;
        self.path = PathMtu::new(self.config.path_mtu, bytes);
        self.follow_path();
    }

    /// The longest packet sent now, header included: what the path carries as far as is known
    /// (RFC 4340 §14).
    #[must_use]
    pub const fn max_packet(&self) -> usize {
        self.path.current()
    }

    /// An ICMP message says that the path carries packets of `bytes` at most: its MTU less IP and
    /// UDP headers. Check before that it quotes a packet of this connection. More than is sent now
    /// is ignored; less than 1200 bytes holds while it is checked by a probe, once in ten minutes
    /// if that shows it to be wrong; less than 548 bytes (576 with IPv4 and UDP headers) leads to a
    /// probe only (RFC 4340 §14.1, RFC 8899 §4.6.2).
    pub fn path_reports(&mut self, now: Instant, bytes: usize) {
        let now = self.advance(now);
        self.path.on_report(now, bytes);
        self.follow_path();
    }

    /// An ICMP message about the packet with this number. It is accepted if we sent that packet
    /// lately: an attacker off the path cannot know its number (RFC 4340 §14.1, RFC 8899 §4.6).
    pub(crate) fn path_error(&mut self, now: Instant, seq: SeqNo48, error: PathError) {
        let now = self.advance(now);
        if self.sender.sent_at(seq).is_none() {
            return;
        }
        match error {
            PathError::TooLong { limit } => self.path_reports(now, limit),
            PathError::Unreachable if self.state == State::Request => self.on_unreachable(),
            // The path may be broken for a while; timers or the application decide.
            PathError::Unreachable => self.stats.unreachable_reports += 1,
        }
    }

    /// The system says that the route takes packets of `bytes` at most: its MTU less IP and UDP
    /// headers. More than is sent now is ignored; from 1200 bytes on, and below 548, it holds, for
    /// only an interface has so little; between them as [`Connection::path_reports`].
    pub fn route_takes(&mut self, now: Instant, bytes: usize) {
        let now = self.advance(now);
        self.path.on_route(now, bytes);
        self.follow_path();
    }

    /// The system did not take a packet of `bytes` because it is too long for the interface or the
    /// route.
    pub fn path_refuses(&mut self, now: Instant, bytes: usize) {
        let now = self.advance(now);
        self.path.on_refused(now, bytes);
        self.follow_path();
    }

    /// As [`Connection::path_refuses`]. The newest datagram goes again, in shorter packets; one
    /// with others behind it would change their order, and is dropped. Of several refused packets
    /// the newest is first.
    pub(crate) fn refused(&mut self, now: Instant, length: usize, packet: &Packet<'_>) {
        self.path_refuses(now, length);
        let Sequence::Long(seq) = packet.header.sequence() else { return };
        if packet.header.kind().carries_datagram() {
            let goes_again = seq == self.newest_datagram && length > self.path.current();
            if goes_again {
                self.newest_datagram = seq.sub(1);
            }
            self.put_back(now, packet.payload, goes_again);
        }
    }

    /// The host was held up: packets polled since then left at a time that nobody knows, and do not
    /// measure the round-trip time.
    pub fn held_up(&mut self, since: Instant) {
        self.sender.on_held_up(since);
    }

    /// The text of the peer's application in its Close, safe to show; `None` if it had none.
    #[must_use]
    pub fn peer_closing_text(&self) -> Option<&str> {
        self.notes.as_ref().map(|notes| notes.closing.as_str()).filter(|text| !text.is_empty())
    }

    /// The text of the peer's application in its first packet, safe to show; `None` if it had none.
    #[must_use]
    pub fn peer_greeting(&self) -> Option<&str> {
        self.notes.as_ref().map(|notes| notes.greeting.as_str()).filter(|text| !text.is_empty())
    }

    /// Gives the client the Init Cookie of a server's Response to keep.
    pub(crate) fn set_init_cookie(&mut self, cookie: Vec<u8>) {
        self.init_cookies = Vec::from([cookie]);
    }

    /// Sets the number of the next packet: earlier ones were sent before this machine was made.
    pub(crate) const fn next_number(&mut self, seq: SeqNo48) {
        self.seq.set_next(seq);
    }

    /// How it ended, once it has.
    pub(crate) const fn outcome(&self) -> Option<&super::WireEnding> {
        self.outcome.as_ref()
    }

    /// Returns true if the handshake was ever completed.
    pub(crate) const fn was_established(&self) -> bool {
        self.established
    }

    /// The number after the last one sent, and the greatest received.
    pub(crate) fn last_numbers(&self) -> (SeqNo48, SeqNo48) {
        (self.seq.gss().add(1), self.seq.gsr().unwrap_or_default())
    }
}
