//! Whether a Request becomes a connection (RFC 4340 §8.1.3, step 3 of §8.5).

use core::net::SocketAddr;

use tfrc_units::{Duration, Ecn, Instant};

use super::{Endpoint, Listen};
use crate::connection::{Connection, ConnectionConfig, Ports};
use crate::wire::{Header, Packet, Reset, ResetCode, Sequence, ServiceCode};

/// A connection half-open for longer gives way to a newcomer when there is no room: several handshakes have passed.
const PATIENCE: Duration = Duration::from_secs(3);

impl Endpoint {
    /// A Request without a connection: a new connection, or a Reset.
    pub(super) fn admit(&mut self, now: Instant, remote: SocketAddr, ecn: Ecn, packet: &Packet<'_>) {
        let Header::Request { service, .. } = packet.header else { return };
        let Sequence::Long(isr) = packet.header.sequence() else { return };
        let ports = Ports { local: packet.destination_port, remote: packet.source_port };
        if let Err(code) = self.judge(now, ports.local, service) {
            self.stats.refused += 1;
            if self.limiter.allow(now) {
                let key = (remote, ports.local, ports.remote);
                self.reset_without_connection(key, packet, Reset::new(code));
            }
            return;
        }
        let Some(encapsulation) = self.encapsulation(remote) else { return };
        let config = ConnectionConfig { encapsulation, ..self.config.connection.clone() };
        let iss = self.initial_sequence_number(remote, ports, now);
        let mut server = Connection::server_at(config, ports, iss, isr, now);
        server.handle_packet(now, ecn, packet);
        self.adopt(remote, ports, server);
    }

    fn judge(&mut self, now: Instant, port: u16, service: ServiceCode) -> Result<(), ResetCode> {
        if port != self.config.port || self.config.listen == Listen::Refuse {
            return Err(ResetCode::ConnectionRefused);
        }
        if service != self.config.connection.service || service == ServiceCode::INVALID {
            return Err(ResetCode::BadServiceCode);
        }
        let limit = match self.config.listen {
            Listen::Refuse => 0,
            Listen::One => 1,
            Listen::Many { limit } => limit,
        };
        let no_room = |endpoint: &Self| {
            endpoint.serving >= limit || endpoint.half_open.len() >= endpoint.config.half_open
        };
        if no_room(self) {
            self.displace_half_open(now);
        }
        if no_room(self) { Err(ResetCode::TooBusy) } else { Ok(()) }
    }

    /// Drops the oldest half-open connection without a word, if it has had its time.
    fn displace_half_open(&mut self, now: Instant) {
        let Some((since, id)) = self.half_open.first().copied() else { return };
        if now.saturating_since(since) < PATIENCE {
            return;
        }
        self.half_open.remove(&(since, id));
        let Some(live) = self.slots.get_mut(id) else { return };
        let (key, timer) = (live.key, live.timer);
        self.serving -= usize::from(live.serves);
        self.by_key.remove(&key);
        if let Some(at) = timer {
            self.timers.remove(&(at, id));
        }
        self.slots.remove(id);
    }
}
