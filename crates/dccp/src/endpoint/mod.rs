//! Many connections behind one socket: demultiplexing, admission, and the remains of ended
//! connections.

mod admission;
mod config;
mod cookie;
mod half_open;
mod place;
mod prefix;
mod refusal;
mod slots;
mod timers;
mod tombs;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use tfrc_units::{Ecn, Instant, SeqNo48};

pub use config::{Carrier, ConnectConfig, EndpointConfig, Listen, PerSource, Pressure};
pub use prefix::{Allow, Prefix, PrefixError, source_of};
pub use refusal::Refusal;
pub use slots::ConnectionId;

use crate::connection::SendError;
use crate::connection::build::Scratch;
use crate::connection::{
    Connection, ConnectionConfig, Encapsulation, Event, PathError, Ports, Received, Wake, WakeReason,
    WireEnding,
};
use crate::feature::Role;
use crate::limiter::RateLimiter;
use crate::secret::{self, Purpose};
use crate::wire::{Header, Integrity, Packet, PacketType, PseudoHeader, Quoted, Reset, Sequence};
use half_open::HalfOpenTable;
use refusal::Refusals;
use slots::{Live, Owner, Slots, is_current_timer};
use timers::WakeTimes;
use tombs::Tombs;

/// Key of a connection: the peer's address, our DCCP port and the peer's (RFC 6773 §3.8).
type Key = (SocketAddr, u16, u16);

/// Owns connections, sans-IO, by the [contract](crate#the-contract) of this crate. Work is
/// proportional to the connections touched.
#[derive(Debug, Clone)]
pub struct Endpoint {
    config: EndpointConfig,
    /// Settings of all accepted connections.
    serving_config: Arc<ConnectionConfig>,
    seed: [u8; 32],
    slots: Slots,
    by_key: BTreeMap<Key, ConnectionId>,
    timers: WakeTimes,
    scratch: Scratch,
    /// Connections whose timers may have changed.
    touched: Vec<ConnectionId>,
    may_transmit: VecDeque<ConnectionId>,
    may_tell: VecDeque<ConnectionId>,
    half_open: HalfOpenTable,
    /// Half-open connections that may owe a Response.
    may_respond: VecDeque<Key>,
    /// Established connections begun by peers and not released.
    serving: usize,
    /// Number of accepted connections of each source; kept only if it is limited.
    sources: BTreeMap<IpAddr, usize>,
    tombs: Tombs,
    outbox: VecDeque<EndpointPacket>,
    limiter: RateLimiter,
    clients: u64,
    now: Instant,
    stats: EndpointStats,
    refusals: Refusals,
}

/// Counts of an endpoint's work outside of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct EndpointStats {
    /// Datagrams that were not DCCP packets.
    pub malformed: u64,
    /// Packets without a connection from peers that [`EndpointConfig::allow`] leaves out; they get
    /// no answer.
    pub not_allowed: u64,
    /// Connections replaced by a new client from the same IP address because they had left two
    /// Syncs unanswered.
    pub replaced: u64,
    /// Requests refused, and handshakes that were completed when there was no room any more.
    pub refused: u64,
    /// Resets sent for packets without a connection, refusals among them.
    pub resets: u64,
    /// Responses sent with an Init Cookie, without keeping state.
    pub cookies_sent: u64,
    /// Init Cookies that came back and made a connection.
    pub cookies_redeemed: u64,
    /// Handshakes completed without the Init Cookie that was given: peers that do not echo cookies.
    pub cookies_not_echoed: u64,
}

/// A packet of the endpoint's own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EndpointPacket {
    remote: SocketAddr,
    kind: PacketType,
    bytes: Vec<u8>,
}

/// A packet to be sent, whose bytes are in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmission {
    /// The address to send it to.
    pub remote: SocketAddr,
    /// The ECN codepoint to send it with.
    pub ecn: Ecn,
    /// Its type, for statistics.
    pub kind: PacketType,
}

impl Transmission {
    /// True if a host must not combine it with other packets by segmentation offload. A link may
    /// drop all packets of such a group for the longest: a path MTU probe must not be dropped
    /// together with the short Sync after it, whose answer shows that the path works.
    #[must_use]
    pub const fn goes_alone(&self) -> bool {
        matches!(self.kind, PacketType::Sync | PacketType::SyncAck)
    }
}

/// Why no connection can be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The peer's address is of another IP version than ours.
    #[error("the peer's address and ours are of two IP versions")]
    AddressFamily,
    /// All ports are in use with this peer.
    #[error("no free DCCP port towards this peer: release connections that are over")]
    NoPort,
}

/// Maximum number of the endpoint's own packets that wait to be sent.
const MAX_OUTBOX: usize = 256;
/// Ports for clients (RFC 6335's dynamic ports).
const FIRST_PORT: u16 = 49_152;
const PORTS: u64 = 16_384;

impl Endpoint {
    /// An endpoint without connections. Initial sequence numbers and client ports come from `seed`,
    /// which must be secret, and fresh for each process.
    #[must_use]
    pub fn new(config: EndpointConfig, seed: [u8; 32]) -> Self {
        Self {
            // RFC 4340 §8.1.3.
            limiter: RateLimiter::new(config.resets_per_second),
            serving_config: Arc::new(config.connection.clone()),
            config,
            seed,
            slots: Slots::default(),
            by_key: BTreeMap::new(),
            timers: WakeTimes::default(),
            scratch: Scratch::default(),
            touched: Vec::new(),
            may_transmit: VecDeque::new(),
            may_tell: VecDeque::new(),
            half_open: HalfOpenTable::default(),
            may_respond: VecDeque::new(),
            serving: 0,
            sources: BTreeMap::new(),
            tombs: Tombs::default(),
            outbox: VecDeque::new(),
            clients: 0,
            now: Instant::ZERO,
            stats: EndpointStats::default(),
            refusals: Refusals::default(),
        }
    }

    /// Opens a connection to a peer.
    ///
    /// # Errors
    /// [`ConnectError`] if there cannot be one.
    pub fn connect(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        config: ConnectConfig,
    ) -> Result<ConnectionId, ConnectError> {
        let now = self.advance(now);
        let encapsulation = self.encapsulation(remote).ok_or(ConnectError::AddressFamily)?;
        let ports = Ports { local: self.free_port(remote, config.port)?, remote: config.port };
        let iss = self.initial_sequence_number(remote, ports, now);
        let connection = ConnectionConfig { encapsulation, ..config.connection };
        let client = Connection::client_at(connection, ports, iss, now);
        Ok(self.adopt(remote, ports, client))
    }

    /// Takes in a datagram that came from a peer then; returns its connection, if it had one
    /// before. It may have waited at this host, and be older than the latest call: see
    /// [`Connection::handle_datagram`](crate::Connection::handle_datagram).
    pub fn handle_datagram(
        &mut self,
        at: Instant,
        remote: SocketAddr,
        ecn: Ecn,
        bytes: &[u8],
    ) -> Option<ConnectionId> {
        let now = self.advance(self.now.max(at));
        let integrity = match self.config.carrier {
            Carrier::Udp | Carrier::Hosted => Some(Integrity::Udp),
            Carrier::Native { local } => PseudoHeader::new(remote.ip(), local).map(Integrity::Native),
        };
        let Some(packet) = integrity.and_then(|integrity| Packet::parse(bytes, integrity).ok()) else {
            self.stats.malformed += 1;
            return None;
        };
        let key = (remote, packet.destination_port, packet.source_port);
        if let Some(id) = self.by_key.get(&key).copied() {
            self.deliver(at, id, ecn, &packet);
            return Some(id);
        } else if !self.config.allow.permits(remote.ip()) && !self.tombs.contains(&key) {
            self.stats.not_allowed += 1;
            self.refusals.add(remote, None);
        } else if self.half_open.get(&key).is_some() {
            self.answer_half_open(now, key, ecn, &packet);
        } else if let Header::Request { seq, .. } = packet.header
            && self.tombs.yields(&key, seq)
        {
            self.admit(now, remote, &packet);
        } else if packet.header.kind() != PacketType::Reset {
            match self.redeem(now, key, &packet) {
                Ok(Some(server)) => self.complete_with(now, key, server, ecn, &packet),
                Ok(None) => self.answer_straggler(now, key, &packet),
                Err(code) => self.refuse(now, key, &packet, code),
            }
        }
        None
    }

    fn deliver(&mut self, at: Instant, id: ConnectionId, ecn: Ecn, packet: &Packet<'_>) {
        if let Some(live) = self.slots.get_mut(id) {
            live.connection.handle_packet(at, ecn, packet);
        }
        self.touch(id);
    }

    /// An ICMP message about a packet to `remote` whose beginning it quotes. It is ignored unless a
    /// connection sent that packet lately.
    /// RFC 6773 §3.6.
    pub fn handle_path_error(&mut self, now: Instant, remote: SocketAddr, quoted: &[u8], error: PathError) {
        let now = self.advance(now);
        let Some(quoted) = Quoted::parse(quoted) else { return };
        let key = (remote, quoted.source_port, quoted.destination_port);
        let Some(id) = self.by_key.get(&key).copied() else { return };
        if let Some(live) = self.slots.get_mut(id) {
            live.connection.path_error(now, quoted.seq, error);
        }
        self.touch(id);
    }

    /// The system did not take a packet of ours to `remote` because it is too long for the
    /// interface or the route. Connections with that peer send shorter ones, and a datagram in the
    /// packet goes again.
    pub fn handle_refused(&mut self, now: Instant, remote: SocketAddr, packet: &[u8]) {
        let now = self.advance(now);
        let length = packet.len();
        let integrity = match self.config.carrier {
            Carrier::Udp | Carrier::Hosted => Some(Integrity::Udp),
            Carrier::Native { local } => PseudoHeader::new(local, remote.ip()).map(Integrity::Native),
        };
        let packet = integrity.and_then(|integrity| Packet::parse(packet, integrity).ok());
        let own = packet.as_ref().and_then(|packet| {
            self.by_key.get(&(remote, packet.source_port, packet.destination_port)).copied()
        });
        for id in self.with_peer(remote) {
            if let Some(live) = self.slots.get_mut(id) {
                match &packet {
                    Some(packet) if own == Some(id) => live.connection.refused(now, length, packet),
                    _ => live.connection.path_refuses(now, length),
                }
            }
            self.touch(id);
        }
    }

    /// The system says that the route to `remote` takes packets of `bytes` at most
    /// ([`Connection::route_takes`](crate::Connection::route_takes)).
    pub fn handle_route(&mut self, now: Instant, remote: SocketAddr, bytes: usize) {
        let now = self.advance(now);
        for id in self.with_peer(remote) {
            if let Some(live) = self.slots.get_mut(id) {
                live.connection.route_takes(now, bytes);
            }
            self.touch(id);
        }
    }

    /// The host was held up between the packets polled since then and their departure
    /// ([`Connection::held_up`](crate::Connection::held_up)).
    pub fn handle_held_up(&mut self, since: Instant) {
        for live in self.slots.values_mut() {
            live.connection.held_up(since);
        }
    }

    /// The connections with this peer.
    fn with_peer(&self, remote: SocketAddr) -> Vec<ConnectionId> {
        let first = (remote, u16::MIN, u16::MIN);
        let last = (remote, u16::MAX, u16::MAX);
        self.by_key.range(first..=last).map(|(_, id)| *id).collect()
    }

    /// Serves the timers that are due. Early, late and repeated calls do no harm.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.advance(now);
        self.settle();
        self.tombs.expire(now);
        self.expire_half_open(now);
        while let Some((at, id)) = self.timers.first(|at, id| is_current_timer(&self.slots, at, id))
            && at <= now
        {
            if let Some(live) = self.slots.get_mut(id) {
                live.timer = None;
                live.connection.handle_timeout(now);
            }
            self.touch(id);
        }
    }

    /// The time at which [`Endpoint::handle_timeout`] wants to be called next: the latest time
    /// passed in if there may be something to send that [`Endpoint::poll_transmit`] was not asked
    /// for.
    pub fn poll_timeout(&mut self) -> Option<Wake> {
        self.settle();
        if !(self.outbox.is_empty() && self.may_respond.is_empty() && self.may_transmit.is_empty()) {
            return Some(Wake { at: self.now, reason: WakeReason::Transmit });
        }
        let first = self.timers.first(|at, id| is_current_timer(&self.slots, at, id));
        let connection = first.and_then(|(at, id)| {
            let reason = self.slots.get(id)?.connection.poll_timeout()?.reason;
            Some(Wake { at, reason })
        });
        let tomb = self.tombs.next_expiry().map(|at| Wake { at, reason: WakeReason::TimeWait });
        let patience = self.config.connection.respond_timeout;
        let handshake =
            self.half_open.oldest().map(|since| Wake { at: since + patience, reason: WakeReason::Handshake });
        connection.into_iter().chain(tomb).chain(handshake).min_by_key(|wake| wake.at)
    }

    /// The next packet to send, written into `out`, which is cleared first; `None` when there is
    /// none. Connections take turns.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Transmission> {
        let now = self.advance(now);
        out.clear();
        if let Some(EndpointPacket { remote, kind, bytes }) = self.outbox.pop_front() {
            out.extend_from_slice(&bytes);
            return Some(Transmission { remote, ecn: Ecn::NotEct, kind });
        }
        if let Some(EndpointPacket { remote, kind, bytes }) = self.poll_response(now) {
            out.extend_from_slice(&bytes);
            return Some(Transmission { remote, ecn: Ecn::NotEct, kind });
        }
        while let Some(id) = self.may_transmit.pop_front() {
            let Some(live) = self.slots.get_mut(id) else { continue };
            if let Some(transmit) = live.connection.poll_transmit_in(now, out, &mut self.scratch) {
                let remote = live.remote;
                self.may_transmit.push_back(id);
                return Some(Transmission { remote, ecn: transmit.ecn, kind: transmit.kind });
            }
            live.marks.transmit = false;
            // Sending sets timers.
            if !live.marks.timer {
                live.marks.timer = true;
                self.touched.push(id);
            }
            self.bury_if_closed(now, id);
        }
        None
    }

    /// Hands over a datagram as [`Connection::send`] does, in the buffer of one that was sent.
    ///
    /// # Errors
    /// [`SendError`], also for a connection that is not known.
    pub fn send(&mut self, now: Instant, id: ConnectionId, datagram: &[u8]) -> Result<(), SendError> {
        self.touch(id);
        match self.slots.get_mut(id) {
            Some(live) => live.connection.send_in(now, datagram, &mut self.scratch.spare),
            None => Err(SendError::Closed),
        }
    }

    /// Hands over a datagram as [`Connection::send_owned`] does.
    ///
    /// # Errors
    /// As [`Endpoint::send`].
    pub fn send_owned(&mut self, now: Instant, id: ConnectionId, datagram: Vec<u8>) -> Result<(), SendError> {
        self.touch(id);
        match self.slots.get_mut(id) {
            Some(live) => live.connection.send_owned(now, datagram),
            None => Err(SendError::Closed),
        }
    }

    /// An empty buffer for [`Endpoint::send_owned`]: that of a datagram that was sent, if there is
    /// one.
    pub fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = self.scratch.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer
    }

    /// The oldest datagram of a connection that waits to be read. Reading does not change what is
    /// sent.
    pub fn recv(&mut self, id: ConnectionId) -> Option<Received> {
        self.slots.get_mut(id)?.connection.recv()
    }

    /// Returns the buffer of a datagram that was read, for later ones of the connection
    /// ([`Connection::recycle`]).
    pub fn recycle(&mut self, id: ConnectionId, bytes: Vec<u8>) {
        if let Some(live) = self.slots.get_mut(id) {
            live.connection.recycle(bytes);
        }
    }

    /// The oldest event not yet polled. A server's connection is first heard of with
    /// [`Event::Incoming`]; after [`Event::Closed`] call [`Endpoint::release`] when its data is
    /// read: until then it counts against [`Listen`] and [`PerSource`].
    pub fn poll_event(&mut self) -> Option<(ConnectionId, Event)> {
        while let Some(id) = self.may_tell.front().copied() {
            let Some(live) = self.slots.get_mut(id) else {
                self.may_tell.pop_front();
                continue;
            };
            match live.connection.poll_event() {
                None => {
                    live.marks.tell = false;
                    self.may_tell.pop_front();
                }
                Some(event) => {
                    if live.owner == Owner::NotTold && matches!(event, Event::Incoming { .. }) {
                        live.owner = Owner::Application;
                    }
                    if live.owner == Owner::Application {
                        return Some((id, event));
                    }
                }
            }
        }
        None
    }

    /// A connection, read-only.
    #[must_use]
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.slots.get(id).map(|live| &live.connection)
    }

    /// A connection, mutable. Poll the endpoint afterwards.
    pub fn connection_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.touch(id);
        self.slots.get_mut(id).map(|live| &mut live.connection)
    }

    /// The peer's address.
    #[must_use]
    pub fn remote(&self, id: ConnectionId) -> Option<SocketAddr> {
        self.slots.get(id).map(|live| live.remote)
    }

    /// All connections that are not released.
    pub fn connections(&self) -> impl Iterator<Item = (ConnectionId, &Connection)> {
        self.slots
            .iter()
            .filter(|(_, live)| live.owner == Owner::Application)
            .map(|(id, live)| (id, &live.connection))
    }

    /// Forgets a connection; an open one is aborted first. Stragglers are still answered.
    pub fn release(&mut self, now: Instant, id: ConnectionId) {
        let now = self.advance(now);
        let Some(live) = self.slots.get_mut(id) else { return };
        live.connection.abort(now, crate::wire::ResetCode::Aborted);
        live.owner = Owner::Released;
        if live.buried {
            self.remove(id);
            return;
        }
        // What it still has to send goes first; then poll_transmit buries it.
        self.touch(id);
    }

    /// Changes what is accepted from now on.
    pub const fn set_listen(&mut self, listen: Listen) {
        self.config.listen = listen;
    }

    /// The counts of the endpoint's work outside of connections.
    #[must_use]
    pub const fn stats(&self) -> EndpointStats {
        self.stats
    }

    /// The oldest refusal not yet polled. At most 64 are kept; [`Endpoint::stats`] has
    /// the count of all.
    pub fn poll_refusal(&mut self) -> Option<Refusal> {
        self.refusals.next()
    }

    /// Time never goes back; if it does, the latest time counts.
    fn advance(&mut self, now: Instant) -> Instant {
        debug_assert!(now >= self.now, "time goes back from {:?} to {now:?}", self.now);
        self.now = self.now.max(now);
        self.now
    }

    fn encapsulation(&self, remote: SocketAddr) -> Option<Encapsulation> {
        match self.config.carrier {
            Carrier::Udp => Some(Encapsulation::Udp),
            Carrier::Hosted => Some(Encapsulation::Hosted),
            Carrier::Native { local } => PseudoHeader::new(local, remote.ip())
                .map(|_| Encapsulation::Native { local, remote: remote.ip() }),
        }
    }

    fn initial_sequence_number(&self, remote: SocketAddr, ports: Ports, now: Instant) -> SeqNo48 {
        secret::initial_sequence_number(&self.seed, Some(remote), ports.local, ports.remote, now)
    }

    /// A port that is hard to guess and not in use with this peer (RFC 4340 §5.1).
    fn free_port(&mut self, remote: SocketAddr, remote_port: u16) -> Result<u16, ConnectError> {
        if self.config.carrier == Carrier::Hosted {
            let port = self.config.port;
            let key = (remote, port, remote_port);
            let is_free = !self.by_key.contains_key(&key) && self.half_open.get(&key).is_none();
            // The initial sequence number is above those of a connection that is over.
            return if is_free { Ok(port) } else { Err(ConnectError::NoPort) };
        }
        self.clients += 1;
        let start = secret::keyed_hash(&self.seed, Purpose::Port, Some(remote), self.clients);
        (0..PORTS)
            .filter_map(|i| u16::try_from(start.wrapping_add(i) % PORTS).ok().map(|port| FIRST_PORT + port))
            .find(|port| {
                let key = (remote, *port, remote_port);
                !self.by_key.contains_key(&key)
                    && !self.tombs.contains(&key)
                    && self.half_open.get(&key).is_none()
            })
            .ok_or(ConnectError::NoPort)
    }

    fn adopt(&mut self, remote: SocketAddr, ports: Ports, mut connection: Connection) -> ConnectionId {
        connection.revived(self.now);
        let number = connection.last_numbers().0.get();
        connection.set_secret(secret::keyed_hash(&self.seed, Purpose::SkippedNumbers, Some(remote), number));
        let key = (remote, ports.local, ports.remote);
        self.tombs.remove(&key);
        let id = self.slots.insert(Box::new(Live::new(connection, remote, key, self.now)));
        self.by_key.insert(key, id);
        if let Some(live) = self.slots.get_mut(id) {
            live.serves = live.connection.role() == Role::Server && live.connection.was_established();
            self.serving += usize::from(live.serves);
            if live.connection.role() == Role::Server {
                self.count_source(remote.ip());
            }
        }
        self.touch(id);
        id
    }

    /// The connection may have something to send, a new event, or other timers.
    fn touch(&mut self, id: ConnectionId) {
        let Some(live) = self.slots.get_mut(id) else { return };
        if !live.marks.transmit {
            live.marks.transmit = true;
            self.may_transmit.push_back(id);
        }
        if !live.marks.tell {
            live.marks.tell = true;
            self.may_tell.push_back(id);
        }
        if !live.marks.timer {
            live.marks.timer = true;
            self.touched.push(id);
        }
    }

    /// Brings the timers of touched connections up to date.
    fn settle(&mut self) {
        while let Some(id) = self.touched.pop() {
            let Some(live) = self.slots.get_mut(id) else { continue };
            live.marks.timer = false;
            let at = live.connection.poll_timeout().map(|wake| wake.at);
            if at == live.timer {
                continue;
            }
            live.timer = at;
            if let Some(at) = at {
                self.timers.set(at, id, self.slots.len(), |at, id| is_current_timer(&self.slots, at, id));
            }
        }
    }

    /// Replaces a connection that is over and has sent its last packet by a tomb.
    fn bury_if_closed(&mut self, now: Instant, id: ConnectionId) {
        let Some(live) = self.slots.get_mut(id) else { return };
        let Some(outcome) = live.connection.outcome() else { return };
        let established = live.connection.was_established();
        let gone = match live.owner {
            Owner::Application => false,
            Owner::NotTold => !established,
            Owner::Rejected | Owner::Released => true,
        };
        if !live.buried {
            live.buried = true;
            let last_word = match outcome {
                WireEnding::SentReset { reset, text } => Some((*reset, text.clone())),
                WireEnding::ReceivedReset => None,
            };
            let (key, numbers) = (live.key, live.connection.last_numbers());
            let times = (live.began, now + self.config.time_wait);
            self.by_key.remove(&key);
            // RFC 4340 §8.3.
            self.tombs.add(key, times, numbers, last_word, self.config.remembered);
        }
        if gone {
            self.remove(id);
        }
    }

    /// Queues a packet of the endpoint's own, unless too many wait.
    fn post(&mut self, remote: SocketAddr, kind: PacketType, bytes: Vec<u8>) -> bool {
        let room = self.outbox.len() < MAX_OUTBOX;
        if room {
            self.outbox.push_back(EndpointPacket { remote, kind, bytes });
        }
        room
    }

    /// A packet without a connection, neither Request nor Reset (step 2 of §8.5; §8.3.1).
    fn answer_straggler(&mut self, now: Instant, key: Key, packet: &Packet<'_>) {
        if !self.limiter.allow(now) {
            return;
        }
        match self.tombs.answer(&key) {
            Some(answer) => {
                let Sequence::Long(ack) = packet.header.sequence() else { return };
                // A peer out of step has seen a number that we never sent; a Reset has to be above
                // it.
                let seq = match packet.header.acknowledgement() {
                    Some(Sequence::Long(seen)) if seen.is_at_or_after(answer.seq) => seen.add(1),
                    _ => answer.seq,
                };
                self.post_reset(key, seq, ack, answer.reset, answer.text);
            }
            None => {
                self.reset_without_connection(key, packet, Reset::new(crate::wire::ResetCode::NoConnection));
            }
        }
    }

    /// A Reset whose numbers come from the packet it answers (§8.3.1).
    fn reset_without_connection(&mut self, key: Key, packet: &Packet<'_>, reset: Reset) {
        let widen = |number| match number {
            Sequence::Long(number) => number,
            Sequence::Short(number) => SeqNo48::new(u64::from(number.get())),
        };
        let seq = packet.header.acknowledgement().map_or(SeqNo48::new(0), |ack| widen(ack).add(1));
        let ack = widen(packet.header.sequence());
        self.post_reset(key, seq, ack, reset, String::new());
    }

    fn post_reset(&mut self, key: Key, seq: SeqNo48, ack: SeqNo48, reset: Reset, text: String) {
        let (remote, local_port, remote_port) = key;
        let integrity = match self.encapsulation(remote) {
            Some(Encapsulation::Native { local, remote }) => {
                PseudoHeader::new(local, remote).map(Integrity::Native)
            }
            Some(Encapsulation::Udp | Encapsulation::Hosted) => Some(Integrity::Udp),
            None => None,
        };
        let (Some(integrity), true) = (integrity, self.outbox.len() < MAX_OUTBOX) else { return };
        let packet = Packet {
            source_port: local_port,
            destination_port: remote_port,
            ccval: 0,
            coverage: 0,
            header: Header::Reset { seq, ack, reset },
            options: &[],
            payload: text.as_bytes(),
        };
        let mut bytes = Vec::new();
        if packet.emit(&mut bytes, integrity).is_ok() {
            self.outbox.push_back(EndpointPacket { remote, kind: PacketType::Reset, bytes });
            self.stats.resets += 1;
        }
    }
}
