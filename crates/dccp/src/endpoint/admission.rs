//! Whether a Request becomes a connection (RFC 4340 §8.1.3, step 3 of §8.5), at once or by way of a cookie (§8.1.4).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use tfrc_units::{Duration, Ecn, Instant, SeqNo48};

use super::cookie::{Cookie, Seal};
use super::{ConnectionId, Endpoint, Key, Listen, Outgoing, PerSource, Pressure};
use crate::connection::{Connection, ConnectionConfig, Ports};
use crate::feature::Role;
use crate::wire::{self, Header, Opt, Packet, PacketType, Reset, ResetCode, Sequence, ServiceCode};

/// A connection half-open for longer gives way to a newcomer when there is no room: several handshakes have passed.
const PATIENCE: Duration = Duration::from_secs(3);

/// What becomes of a Request.
enum Verdict {
    /// A half-open connection.
    Hold,
    /// A Response with a cookie, and nothing is remembered.
    Cookie,
}

impl Endpoint {
    /// A Request without a connection: a new connection, a cookie, or a Reset.
    pub(super) fn admit(&mut self, now: Instant, remote: SocketAddr, ecn: Ecn, packet: &Packet<'_>) {
        let Header::Request { service, .. } = packet.header else { return };
        let Sequence::Long(isr) = packet.header.sequence() else { return };
        let ports = Ports { local: packet.destination_port, remote: packet.source_port };
        let verdict = self.judge(now, remote.ip(), ports.local, service);
        let made = match verdict {
            Ok(Verdict::Hold) => {
                let iss = self.initial_sequence_number(remote, ports, now);
                self.server(now, remote, ports, iss, isr).map(|mut server| {
                    server.handle_packet(now, ecn, packet);
                    self.adopt(remote, ports, server);
                })
            }
            Ok(Verdict::Cookie) => self.give_cookie(now, remote, ports, isr, packet),
            Err(code) => {
                self.refuse(now, (remote, ports.local, ports.remote), packet, code);
                return;
            }
        };
        if made.is_none() {
            self.refuse(now, (remote, ports.local, ports.remote), packet, ResetCode::TooBusy);
        }
    }

    pub(super) fn refuse(&mut self, now: Instant, key: Key, packet: &Packet<'_>, code: ResetCode) {
        self.stats.refused += 1;
        if self.limiter.allow(now) {
            self.reset_without_connection(key, packet, Reset::new(code));
        }
    }

    fn judge(
        &mut self,
        now: Instant,
        source: IpAddr,
        port: u16,
        service: ServiceCode,
    ) -> Result<Verdict, ResetCode> {
        if port != self.config.port || self.config.listen == Listen::Refuse {
            return Err(ResetCode::ConnectionRefused);
        }
        if service != self.config.connection.service || service == ServiceCode::INVALID {
            return Err(ResetCode::BadServiceCode);
        }
        if self.is_full() {
            return Err(ResetCode::TooBusy);
        }
        let crowded = |endpoint: &Self| {
            endpoint.half_open.len() >= endpoint.config.half_open || endpoint.has_its_share(source)
        };
        if crowded(self) {
            self.displace_half_open(now);
        }
        if !crowded(self) {
            return Ok(Verdict::Hold);
        }
        match self.config.under_pressure {
            // Whoever answers with a cookie is not forged; its share is then looked at again.
            Pressure::Cookies => Ok(Verdict::Cookie),
            Pressure::Refuse => Err(ResetCode::TooBusy),
        }
    }

    /// As many established connections as are to be served. Half-open ones do not count: anybody can make those.
    pub(super) const fn is_full(&self) -> bool {
        let limit = match self.config.listen {
            Listen::Refuse => 0,
            Listen::One => 1,
            Listen::Many { limit } => limit,
        };
        self.serving >= limit
    }

    fn has_its_share(&self, source: IpAddr) -> bool {
        match self.config.per_source {
            PerSource::Unlimited => false,
            PerSource::AtMost(limit) => self.sources.get(&source).is_some_and(|held| *held >= limit),
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
        let (_, response) = self.half_open_from(remote, ports, &cookie)?;
        if self.outbox.len() < super::MAX_OUTBOX {
            self.outbox.push_back(Outgoing { remote, kind: PacketType::Response, bytes: response });
            self.stats.cookies_sent += 1;
        }
        Some(())
    }

    /// The half-open connection that a Request makes, with the Response that it has sent: the same for the same cookie.
    fn half_open_from(
        &self,
        remote: SocketAddr,
        ports: Ports,
        cookie: &Cookie,
    ) -> Option<(Connection, Vec<u8>)> {
        let seal = Seal { seed: &self.seed, remote, ports };
        let bytes = cookie.seal(&seal)?;
        let iss = seal.initial_sequence_number(cookie.issued);
        let mut server = self.server(cookie.issued, remote, ports, iss, cookie.request)?;
        server.set_init_cookie(bytes);
        let request = Packet {
            source_port: ports.remote,
            destination_port: ports.local,
            ccval: 0,
            coverage: 0,
            header: Header::Request { seq: cookie.request, service: self.config.connection.service },
            options: &cookie.options,
            payload: &[],
        };
        server.handle_packet(cookie.issued, Ecn::NotEct, &request);
        let mut response = Vec::new();
        let sent = server.poll_transmit(cookie.issued, &mut response)?;
        (sent.kind == PacketType::Response).then_some((server, response))
    }

    /// A packet without a connection may bring a cookie back: then its connection exists after all, and its id is given. `Err` if
    /// there was a cookie that is none of ours.
    pub(super) fn redeem(
        &mut self,
        now: Instant,
        key: Key,
        packet: &Packet<'_>,
    ) -> Result<Option<ConnectionId>, ResetCode> {
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
        let cookie = Cookie::open(bytes, &seal, now).ok_or(ResetCode::BadInitCookie)?;
        let answered = Sequence::Long(seal.initial_sequence_number(cookie.issued));
        if packet.header.acknowledgement() != Some(answered) {
            return Err(ResetCode::BadInitCookie);
        }
        if self.is_full() || self.has_its_share(remote.ip()) {
            return Err(ResetCode::TooBusy);
        }
        let (server, _) = self.half_open_from(remote, ports, &cookie).ok_or(ResetCode::BadInitCookie)?;
        self.stats.cookies_redeemed += 1;
        Ok(Some(self.adopt(remote, ports, server)))
    }

    /// Drops the oldest half-open connection without a word, if it has had its time.
    fn displace_half_open(&mut self, now: Instant) {
        let Some((since, id)) = self.half_open.first().copied() else { return };
        if now.saturating_since(since) < PATIENCE {
            return;
        }
        self.half_open.remove(&(since, id));
        let Some(live) = self.slots.get_mut(id) else { return };
        let key = live.key;
        self.forget_key(&key, Role::Server);
        self.slots.remove(id);
    }
}
