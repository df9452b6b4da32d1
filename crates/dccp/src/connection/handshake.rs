//! The three-way handshake: REQUEST, RESPOND, PARTOPEN (RFC 4340 §8.1).

use alloc::sync::Arc;

use tfrc_units::{Duration, Instant, SeqNo48};

use super::timers::expired;
use super::{Cause, Connection, ConnectionConfig, Ledger, Notice, Ports, State};
use crate::feature::Role;
use crate::secret::{self, Purpose};
use crate::wire::{Reset, ResetCode};

/// Time between the first two Requests, and the longest wait (§8.1.1).
/// RFC 4340 §8.1.1.
const FIRST_REQUEST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(64);
/// The PARTOPEN timer and how long a client may stay there: 4 MSL (§8.1.5).
/// RFC 4340 §8.1.5.
const PART_OPEN_WAIT: Duration = Duration::from_millis(200);
const PART_OPEN_LIMIT: Duration = Duration::from_secs(480);

impl Connection {
    /// A client that asks for a connection from `now` on. `local_port` and `remote_port` are DCCP
    /// ports; the initial sequence number comes from `seed` and the ports, so use a fresh seed per
    /// process.
    #[must_use]
    pub fn client(
        config: ConnectionConfig,
        local_port: u16,
        remote_port: u16,
        seed: [u8; 32],
        now: Instant,
    ) -> Self {
        let iss = secret::initial_sequence_number(&seed, None, local_port, remote_port, now);
        let mut client = Self::client_at(config, Ports { local: local_port, remote: remote_port }, iss, now);
        client.set_secret(secret::keyed_hash(&seed, Purpose::SkippedNumbers, None, iss.get()));
        client
    }

    /// A client whose first packet has number `iss`.
    pub(crate) fn client_at(
        config: impl Into<Arc<ConnectionConfig>>,
        ports: Ports,
        iss: SeqNo48,
        now: Instant,
    ) -> Self {
        let config = config.into();
        let limit = now + config.connect_timeout;
        let mut client = Self::new(config, Role::Client, State::Request, ports, iss, now);
        client.features.ask_for_wishes();
        client.due.handshake = true;
        client.backoff = FIRST_REQUEST_WAIT;
        client.timers.handshake_limit = Some(limit);
        client
    }

    /// A server that has got a Request with number `isr` (step 3 of §8.5), to be fed with it.
    pub(crate) fn server_at(
        config: impl Into<Arc<ConnectionConfig>>,
        ports: Ports,
        iss: SeqNo48,
        isr: SeqNo48,
        now: Instant,
    ) -> Self {
        let config = config.into();
        let limit = now + config.respond_timeout;
        let mut server = Self::new(config, Role::Server, State::Respond, ports, iss, now);
        server.seq.begin_peer(isr);
        server.ledger = Ledger::new(server.seq.extend(isr));
        server.timers.handshake_limit = Some(limit);
        server
    }

    /// Schedules the next Request after one was sent.
    pub(super) fn request_sent(&mut self, now: Instant) {
        self.timers.handshake = Some(now + self.backoff);
        self.backoff = (self.backoff * 2).min(LONGEST_WAIT);
    }

    /// Steps 4 and 10: the Response has come.
    pub(super) fn enter_part_open(&mut self, now: Instant, waited: Duration, ack: SeqNo48) {
        if let Some(sent) = self.sender.departure(ack) {
            self.take_handshake_rtt(now, (now - waited).saturating_since(sent), Duration::ZERO);
        }
        self.state = State::PartOpen;
        self.established = true;
        self.due.ack = true;
        self.backoff = PART_OPEN_WAIT;
        self.timers.handshake_limit = Some(now + PART_OPEN_LIMIT);
        self.tell(Notice::Connected);
    }

    /// Schedules an Ack after a packet in PARTOPEN, in case nothing comes back.
    pub(super) fn part_open_sent(&mut self, now: Instant) {
        self.timers.handshake = Some(now + self.backoff);
    }

    /// Steps 11 and 12: the handshake is complete.
    pub(super) fn enter_open(&mut self, now: Instant, seq: SeqNo48) {
        let was = self.state;
        self.seq.opened(seq);
        self.state = State::Open;
        self.established = true;
        self.timers.handshake = None;
        self.timers.handshake_limit = None;
        self.init_cookies.clear();
        self.features.handshake_done();
        self.timers.first_data = self.config.first_data_within.map(|patience| now + patience);
        if was == State::Respond {
            // So that the client leaves PARTOPEN.
            self.due.ack = true;
            self.last_nudge = Some(now);
            self.tell(Notice::Incoming(self.config.service));
        }
    }

    /// A client that still acknowledges a Response has not heard from us since: it is answered
    /// again, about once a round-trip time.
    pub(super) fn nudge_part_open(&mut self, now: Instant, ack: SeqNo48) {
        let in_part_open = self.role == Role::Server
            && self.state == State::Open
            && self.first_since_response.is_some_and(|first| first.is_after(ack));
        let wait = self.round_trip();
        if in_part_open && self.last_nudge.is_none_or(|at| now.saturating_since(at) > wait) {
            self.last_nudge = Some(now);
            self.due.ack = true;
            self.try_ecn_again(now);
        }
    }

    /// The handshake's round-trip time starts both halves: `whole` less the time for which the peer
    /// says it held the packet, as far as that is at most half of it. Zero is shorter than the
    /// host's clock can show.
    pub(super) fn take_handshake_rtt(&mut self, now: Instant, whole: Duration, held: Duration) {
        if self.handshake_rtt.is_none() {
            let rtt = whole.saturating_sub(held).max(whole / 2);
            self.sender.on_rtt_sample(now, rtt);
            self.handshake_rtt = Some(rtt);
        }
    }

    pub(super) fn handshake_timeout(&mut self, now: Instant) {
        if expired(&mut self.timers.handshake_limit, now) {
            let patience = match self.state {
                State::Request => self.config.connect_timeout,
                State::Respond => self.config.respond_timeout,
                _ => PART_OPEN_LIMIT,
            };
            let cause = Cause::HandshakeIncomplete(patience);
            self.break_off(Reset::new(ResetCode::Aborted), cause, "the handshake was not completed in time");
            return;
        }
        if !expired(&mut self.timers.handshake, now) {
            return;
        }
        match self.state {
            State::Request => self.due.handshake = true,
            State::PartOpen => {
                self.due.ack = true;
                self.backoff = (self.backoff * 2).min(LONGEST_WAIT);
                self.try_ecn_again(now);
            }
            _ => {}
        }
    }
}
