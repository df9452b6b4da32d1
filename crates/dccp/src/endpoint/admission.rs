//! Admission of a Request as a connection (RFC 4340 §8.1.3, step 3 of §8.5), at once or after a
//! cookie (§8.1.4).

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use tfrc_units::{Duration, Ecn, Instant, SeqNo48};

use super::cookie::{Cookie, Freshness, LONGEST_LIFE, Seal};
use super::half_open::HalfOpen;
use super::place::Place;
use super::slots::Owner;
use super::{ConnectionId, Endpoint, EndpointPacket, Key, Listen, Pressure, Refusal};
use crate::connection::{Connection, ConnectionConfig, Ports, State, WireEnding};
use crate::wire::{
    self, Header, Integrity, Opt, Packet, PacketType, Reset, ResetCode, Sequence, ServiceCode,
};

/// A connection half-open for longer is replaced by a new one when there is no room: several
/// handshakes have passed.
const PATIENCE: Duration = Duration::from_secs(3);

/// The first packet of a connection in RESPOND.
enum Answer {
    /// A Response, and the connection.
    Response(Box<Connection>, Vec<u8>),
    /// A Reset, because an option of the Request cannot be processed (RFC 4340 §5.8.2): the
    /// connection is over.
    Reset(ResetCode, Vec<u8>),
}

/// Verdict on a Request that is not refused.
enum RequestVerdict {
    /// A half-open connection, as a record.
    Hold,
    /// A Response with a cookie; no state is kept.
    Cookie,
    /// No answer: the client repeats its Request, and by then the number of free places is known.
    Wait,
}

impl Endpoint {
    /// A Request without a connection: a new connection, a cookie, or a Reset.
    pub(super) fn admit(&mut self, now: Instant, remote: SocketAddr, packet: &Packet<'_>) {
        let Header::Request { service, .. } = packet.header else { return };
        let Sequence::Long(isr) = packet.header.sequence() else { return };
        let ports = Ports { local: packet.destination_port, remote: packet.source_port };
        let verdict = self.judge(now, remote, ports.local, service);
        let made = match verdict {
            Ok(RequestVerdict::Hold) => self.hold(now, remote, ports, isr, packet),
            Ok(RequestVerdict::Cookie) => self.give_cookie(now, remote, ports, isr, packet),
            Ok(RequestVerdict::Wait) => return,
            Err(code) => {
                self.refuse(now, (remote, ports.local, ports.remote), packet, code);
                return;
            }
        };
        if made.is_none() {
            self.refuse(now, (remote, ports.local, ports.remote), packet, ResetCode::TooBusy);
        }
    }

    /// Answers a Request and remembers what a cookie would hold.
    fn hold(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        ports: Ports,
        isr: SeqNo48,
        packet: &Packet<'_>,
    ) -> Option<()> {
        let record = HalfOpen {
            since: now,
            came: now,
            answered: None,
            request: isr,
            sent: self.initial_sequence_number(remote, ports, now),
            options: Box::from(packet.options),
        };
        let key = (remote, ports.local, ports.remote);
        self.encapsulation(remote)?;
        self.half_open.insert(key, record);
        self.count_source(remote.ip());
        self.may_respond.push_back(key);
        Some(())
    }

    /// The next answer that a half-open connection owes: a Response, or the Reset that refuses it.
    pub(super) fn poll_response(&mut self, now: Instant) -> Option<EndpointPacket> {
        while let Some(key) = self.may_respond.pop_front() {
            let Some(record) = self.half_open.get_mut(&key) else { continue };
            if record.answered.is_some() {
                continue;
            }
            record.answered = Some(now);
            let Some(record) = self.half_open.get(&key) else { continue };
            match self.thaw(&key, record) {
                Some(Answer::Response(_, bytes)) => {
                    return Some(EndpointPacket { remote: key.0, kind: PacketType::Response, bytes });
                }
                Some(Answer::Reset(code, bytes)) => {
                    self.forget_half_open(&key);
                    let reset = self.refusal(now, key.0, code, bytes);
                    if reset.is_some() {
                        return reset;
                    }
                }
                None => {}
            }
        }
        None
    }

    /// The connection in RESPOND of a record, with its last Response.
    fn thaw(&self, (remote, local, remote_port): &Key, record: &HalfOpen) -> Option<Answer> {
        let ports = Ports { local: *local, remote: *remote_port };
        let iss = self.initial_sequence_number(*remote, ports, record.since);
        let mut server = self.server(record.came, *remote, ports, iss, record.request)?;
        server.next_number(record.sent);
        let answered = record.answered.unwrap_or(record.came);
        self.respond(server, (record.came, answered), ports, record.request, &record.options)
    }

    /// A packet for a half-open connection: a repeated Request, or what completes the handshake.
    pub(super) fn answer_half_open(&mut self, now: Instant, key: Key, ecn: Ecn, packet: &Packet<'_>) {
        let Some(record) = self.half_open.get(&key) else { return };
        let responded = record.answered.is_some();
        // One whose Request is refused gets its Reset when it is polled.
        let Some(Answer::Response(mut server, _)) = self.thaw(&key, record) else { return };
        let invalid = server.stats().invalid_packets;
        server.handle_packet(now, ecn, packet);
        if server.state() != State::Respond {
            self.forget_half_open(&key);
            self.complete(now, key, *server);
            return;
        }
        let mut record_sent = server.last_numbers().0.sub(1);
        let repeated =
            packet.header.kind() == PacketType::Request && server.stats().invalid_packets == invalid;
        if repeated {
            // The Response goes when it is polled.
            if responded {
                record_sent = record_sent.add(1);
                self.may_respond.push_back(key);
            }
        } else {
            self.send_what_it_says(now, key.0, &mut server);
            record_sent = server.last_numbers().0.sub(1);
        }
        let Some(record) = self.half_open.get_mut(&key) else { return };
        record.sent = record_sent;
        if repeated {
            (record.came, record.answered) = (now, None);
            record.request = server.last_numbers().1;
            record.options = Box::from(packet.options);
        }
    }

    /// Sends the Syncs and Resets of a connection that will not be kept, as many as the limit
    /// allows.
    fn send_what_it_says(&mut self, now: Instant, remote: SocketAddr, server: &mut Connection) {
        self.send_what_it_says_at(now, now, remote, server);
    }

    /// As [`Self::send_what_it_says`], for a connection whose own time is another.
    fn send_what_it_says_at(
        &mut self,
        its_time: Instant,
        now: Instant,
        remote: SocketAddr,
        server: &mut Connection,
    ) {
        let mut bytes = Vec::new();
        while let Some(sent) = server.poll_transmit(its_time, &mut bytes) {
            if self.limiter.allow(now) {
                self.post(remote, sent.kind, core::mem::take(&mut bytes));
            }
        }
    }

    /// A connection that has left RESPOND: it is kept, unless other clients were faster.
    fn complete(&mut self, now: Instant, key: Key, mut server: Connection) {
        let (remote, local, remote_port) = key;
        // Only now it is certain that the client is where it says.
        let place = if server.was_established() { self.place(now, remote) } else { Place::Free };
        let rejected = match place {
            Place::Free => false,
            Place::GivenUpBy(old) => {
                self.replace(now, old);
                false
            }
            Place::Undecided | Place::Taken => true,
        };
        if rejected {
            self.stats.refused += 1;
            self.refusals.add(remote, Some(ResetCode::TooBusy));
            server.abort(now, ResetCode::TooBusy);
        }
        let id = self.adopt(remote, Ports { local, remote: remote_port }, server);
        if rejected && let Some(live) = self.slots.get_mut(id) {
            live.owner = Owner::Rejected;
            self.serving -= usize::from(core::mem::take(&mut live.serves));
        }
    }

    /// Ends a connection whose place another client has taken.
    fn replace(&mut self, now: Instant, old: ConnectionId) {
        if let Some(live) = self.slots.get_mut(old) {
            live.connection.give_way(now);
            self.stats.replaced += 1;
        }
        self.touch(old);
    }

    fn forget_half_open(&mut self, key: &Key) -> Option<HalfOpen> {
        let record = self.half_open.remove(key)?;
        self.uncount_source(key.0.ip());
        Some(record)
    }

    /// Gives up handshakes that were not completed in time (§8.1.3), with a Reset.
    pub(super) fn expire_half_open(&mut self, now: Instant) {
        let patience = self.config.connection.respond_timeout;
        while let Some(key) = self.half_open.older_than(now, patience) {
            let Some(record) = self.forget_half_open(&key) else { return };
            let Some(Answer::Response(mut server, _)) = self.thaw(&key, &record) else { continue };
            // It gives up that long after the Request that came last, which may be ahead of now:
            // the patience with the first one is over.
            let given_up = now.max(record.came + patience);
            server.handle_timeout(given_up);
            self.send_what_it_says_at(given_up, now, key.0, &mut server);
        }
    }

    pub(super) fn refuse(&mut self, now: Instant, key: Key, packet: &Packet<'_>, code: ResetCode) {
        self.stats.refused += 1;
        self.refusals.add(key.0, Some(code));
        if self.limiter.allow(now) {
            self.reset_without_connection(key, packet, Reset::new(code));
        }
    }

    fn judge(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        port: u16,
        service: ServiceCode,
    ) -> Result<RequestVerdict, ResetCode> {
        if port != self.config.port || self.config.listen == Listen::Refuse {
            return Err(ResetCode::ConnectionRefused);
        }
        // RFC 4340 §8.1.2.
        if service != self.config.connection.service || service == ServiceCode::INVALID {
            return Err(ResetCode::BadServiceCode);
        }
        match self.place(now, remote) {
            Place::Undecided => return Ok(RequestVerdict::Wait),
            Place::Taken if self.is_full() => return Err(ResetCode::TooBusy),
            _ => {}
        }
        let crowded = |endpoint: &Self| {
            endpoint.half_open.len() >= endpoint.config.half_open || endpoint.has_its_share(remote.ip())
        };
        if crowded(self) {
            self.displace_half_open(now);
        }
        if !crowded(self) {
            return Ok(RequestVerdict::Hold);
        }
        match self.config.under_pressure {
            // A client that answers with a cookie is not forged; its share is then looked at again.
            Pressure::Cookies => Ok(RequestVerdict::Cookie),
            Pressure::Refuse => Err(ResetCode::TooBusy),
        }
    }

    fn server(
        &self,
        now: Instant,
        remote: SocketAddr,
        ports: Ports,
        iss: SeqNo48,
        isr: SeqNo48,
    ) -> Option<Connection> {
        let encapsulation = self.encapsulation(remote)?;
        let config = if encapsulation == self.serving_config.encapsulation {
            Arc::clone(&self.serving_config)
        } else {
            Arc::new(ConnectionConfig { encapsulation, ..(*self.serving_config).clone() })
        };
        Some(Connection::server_at(config, ports, iss, isr, now))
    }

    /// Answers a Request and forgets it.
    fn give_cookie(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        ports: Ports,
        isr: SeqNo48,
        packet: &Packet<'_>,
    ) -> Option<()> {
        let cookie = Cookie { issued: now, request: isr, options: Vec::from(packet.options) };
        match self.half_open_from(remote, ports, &cookie)? {
            Answer::Response(_, response) => {
                if self.post(remote, PacketType::Response, response) {
                    self.stats.cookies_sent += 1;
                }
            }
            Answer::Reset(code, bytes) => {
                if let Some(EndpointPacket { kind, bytes, .. }) = self.refusal(now, remote, code, bytes) {
                    self.post(remote, kind, bytes);
                }
            }
        }
        Some(())
    }

    /// The Reset of a connection that refuses its Request, if the limit allows one.
    fn refusal(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        code: ResetCode,
        bytes: Vec<u8>,
    ) -> Option<EndpointPacket> {
        self.stats.refused += 1;
        let ccid = match Packet::parse(&bytes, Integrity::Udp).map(|packet| packet.header) {
            Ok(Header::Reset { reset, .. }) => reset.refused_ccid(),
            _ => None,
        };
        self.refusals.keep(Refusal { remote, code: Some(code), ccid });
        if !self.limiter.allow(now) {
            return None;
        }
        self.stats.resets += 1;
        Some(EndpointPacket { remote, kind: PacketType::Reset, bytes })
    }

    /// The half-open connection of a Request, with the Response that it has sent: the same for the
    /// same cookie.
    fn half_open_from(&self, remote: SocketAddr, ports: Ports, cookie: &Cookie) -> Option<Answer> {
        let seal = Seal { seed: &self.seed, remote, ports };
        let bytes = cookie.seal(&seal)?;
        let iss = seal.initial_sequence_number(cookie.issued);
        let mut server = self.server(cookie.issued, remote, ports, iss, cookie.request)?;
        server.set_init_cookie(bytes);
        self.respond(server, (cookie.issued, cookie.issued), ports, cookie.request, &cookie.options)
    }

    /// Passes a new connection its Request; returns its answer.
    fn respond(
        &self,
        mut server: Connection,
        (came, answered): (Instant, Instant),
        ports: Ports,
        seq: SeqNo48,
        options: &[u8],
    ) -> Option<Answer> {
        let request = Packet {
            source_port: ports.remote,
            destination_port: ports.local,
            ccval: 0,
            coverage: 0,
            header: Header::Request { seq, service: self.config.connection.service },
            options,
            payload: &[],
        };
        server.handle_packet(came, Ecn::NotEct, &request);
        let mut response = Vec::new();
        let sent = server.poll_transmit(answered, &mut response)?;
        match (sent.kind, server.outcome()) {
            (PacketType::Response, _) => Some(Answer::Response(Box::new(server), response)),
            (PacketType::Reset, Some(WireEnding::SentReset { reset, .. })) => {
                Some(Answer::Reset(reset.code, response))
            }
            _ => None,
        }
    }

    /// A packet without a connection may bring a cookie back: then its connection is created, in
    /// RESPOND, before it takes in this packet. `Err` if the cookie is not ours.
    pub(super) fn redeem(
        &mut self,
        now: Instant,
        key: Key,
        packet: &Packet<'_>,
    ) -> Result<Option<Connection>, ResetCode> {
        let (remote, local, remote_port) = key;
        let ports = Ports { local, remote: remote_port };
        let kind = packet.header.kind();
        if !matches!(kind, PacketType::Ack | PacketType::DataAck | PacketType::Close)
            || local != self.config.port
            || self.tombs.contains(&key)
        {
            return Ok(None);
        }
        let found = wire::options(kind, packet.options).flatten().find_map(|item| match item.option {
            Ok(Opt::InitCookie(bytes)) => Some(bytes),
            _ => None,
        });
        let seal = Seal { seed: &self.seed, remote, ports };
        let Some(bytes) = found else {
            // It knows the number of a Response of ours, but not its cookie.
            if packet.header.acknowledgement() == Some(Sequence::Long(seal.initial_sequence_number(now))) {
                self.stats.cookies_not_echoed += 1;
            }
            return Ok(None);
        };
        // Ended connections are remembered for time_wait, so that none is opened again by its
        // cookie.
        let freshness = Freshness {
            now,
            lifetime: LONGEST_LIFE.min(self.config.time_wait / 2),
            refused_until: self.tombs.forgotten(),
        };
        // RFC 4340 §8.1.4.
        let cookie = Cookie::open(bytes, &seal, freshness).ok_or(ResetCode::BadInitCookie)?;
        let answered = Sequence::Long(seal.initial_sequence_number(cookie.issued));
        if packet.header.acknowledgement() != Some(answered) {
            return Err(ResetCode::BadInitCookie);
        }
        if matches!(self.place(now, remote), Place::Undecided | Place::Taken) {
            return Err(ResetCode::TooBusy);
        }
        let Some(Answer::Response(server, _)) = self.half_open_from(remote, ports, &cookie) else {
            return Err(ResetCode::BadInitCookie);
        };
        self.stats.cookies_redeemed += 1;
        Ok(Some(*server))
    }

    /// A packet that brought its cookie back completes the handshake.
    pub(super) fn complete_with(
        &mut self,
        now: Instant,
        key: Key,
        mut server: Connection,
        ecn: Ecn,
        packet: &Packet<'_>,
    ) {
        server.handle_packet(now, ecn, packet);
        if server.state() == State::Respond {
            self.send_what_it_says(now, key.0, &mut server);
        } else {
            self.complete(now, key, server);
        }
    }

    /// Drops the oldest half-open connection silently, if it has had its time.
    fn displace_half_open(&mut self, now: Instant) {
        if let Some(key) = self.half_open.older_than(now, PATIENCE) {
            self.forget_half_open(&key);
        }
    }
}
