//! Strangers: clients that speak DCCP, packets made by hand, and numbers without a pattern.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use tfrc_dccp::endpoint::ConnectConfig;
use tfrc_dccp::wire::{Header, Integrity, Packet, ServiceCode};
use tfrc_dccp::{ConnectionConfig, ConnectionId, Endpoint, EndpointConfig, State};
use tfrc_units::{Ecn, SeqNo48, saturating};

/// The DCCP port of `tfrc`.
pub(crate) const PORT: u16 = 6511;

/// Numbers without a pattern (xorshift64*).
pub(crate) struct Xorshift(u64);

impl Xorshift {
    /// A stream for this seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next 64 bits.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        saturating::<usize>(self.next() >> 33) % limit.max(1)
    }

    /// A new sequence number.
    pub(crate) fn number(&mut self) -> SeqNo48 {
        SeqNo48::new(self.next() >> 16)
    }
}

/// A packet as bytes; one that cannot be written is empty.
pub(crate) fn packet(ports: (u16, u16), header: Header, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let (source_port, destination_port) = ports;
    let packet = Packet { source_port, destination_port, ccval: 0, coverage: 0, header, options, payload };
    emit(&packet)
}

/// A packet as bytes; one that cannot be written is empty.
pub(crate) fn emit(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    match packet.emit(&mut bytes, Integrity::Udp) {
        Ok(()) => bytes,
        Err(_) => Vec::new(),
    }
}

/// A Request of a client with this DCCP port.
pub(crate) fn request(port: u16, seq: SeqNo48) -> Vec<u8> {
    packet((port, PORT), Header::Request { seq, service: ServiceCode::NONE }, &[], &[])
}

/// A socket at `address` that does not block.
pub(crate) fn socket(address: &str) -> Result<UdpSocket, String> {
    let socket = UdpSocket::bind((address, 0)).map_err(|error| format!("{address}: {error}"))?;
    socket.set_nonblocking(true).map_err(|error| error.to_string())?;
    Ok(socket)
}

/// Sleeps so that `done` events keep to `per_second` from `begin` on.
pub(crate) fn pace(begin: Instant, done: u64, per_second: u64) {
    let due = Duration::from_nanos(done.saturating_mul(1_000_000_000) / per_second.max(1));
    if let Some(rest) = due.checked_sub(begin.elapsed()) {
        std::thread::sleep(rest);
    }
}

/// A client with connections of its own, which knows the protocol.
pub(crate) struct Stranger {
    endpoint: Endpoint,
    socket: UdpSocket,
    to: SocketAddr,
    epoch: Instant,
}

impl Stranger {
    /// A client at `address` that will talk to `to`.
    pub(crate) fn new(address: &str, to: &str, seed: u8) -> Result<Self, String> {
        let to = to.parse().map_err(|error| format!("{to}: {error}"))?;
        Ok(Self {
            endpoint: Endpoint::new(EndpointConfig::default(), [seed; 32]),
            socket: socket(address)?,
            to,
            epoch: Instant::now(),
        })
    }

    fn now(&self) -> tfrc_units::Instant {
        tfrc_units::Instant::ZERO + tfrc_units::Duration::from(self.epoch.elapsed())
    }

    pub(crate) fn begin(&mut self) -> Result<ConnectionId, String> {
        let config = ConnectConfig { port: PORT, connection: ConnectionConfig::default() };
        self.endpoint.connect(self.now(), self.to, config).map_err(|error| error.to_string())
    }

    /// Begins a connection and waits until it stands; `None` if it is refused or nobody answers
    /// within `within`.
    pub(crate) fn connect(&mut self, within: Duration) -> Result<Option<ConnectionId>, String> {
        let id = self.begin()?;
        let begin = Instant::now();
        while begin.elapsed() < within {
            self.turn();
            match self.state(id) {
                Some(State::PartOpen | State::Open) => return Ok(Some(id)),
                Some(State::Closed) | None => break,
                _ => std::thread::sleep(Duration::from_micros(50)),
            }
        }
        self.release(id);
        Ok(None)
    }

    /// Takes in what has come, sends what is due.
    pub(crate) fn turn(&mut self) {
        let mut buffer = [0; 2000];
        while let Ok((length, from)) = self.socket.recv_from(&mut buffer) {
            let now = self.now();
            self.endpoint.handle_datagram(now, from, Ecn::NotEct, buffer.get(..length).unwrap_or_default());
        }
        // One time for both: between two readings a busy machine may let a deadline pass.
        let now = self.now();
        self.endpoint.handle_timeout(now);
        let mut out = Vec::new();
        while let Some(to) = self.endpoint.poll_transmit(now, &mut out) {
            // A full socket buffer loses the datagram, as a network may.
            let _ = self.socket.send_to(&out, to.remote);
        }
        while self.endpoint.poll_event().is_some() {}
    }

    /// Takes turns for `time`.
    pub(crate) fn live(&mut self, time: Duration) {
        let begin = Instant::now();
        while begin.elapsed() < time {
            self.turn();
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Where a connection stands.
    pub(crate) fn state(&self, id: ConnectionId) -> Option<State> {
        self.endpoint.connection(id).map(tfrc_dccp::Connection::state)
    }

    /// Hands over a datagram; true if the rate control took it.
    pub(crate) fn send(&mut self, id: ConnectionId, bytes: &[u8]) -> bool {
        let now = self.now();
        self.endpoint.send(now, id, bytes).is_ok()
    }

    /// Closes and waits for the answer; true if it came within `within`.
    pub(crate) fn close(&mut self, id: ConnectionId, within: Duration) -> bool {
        let now = self.now();
        if let Some(connection) = self.endpoint.connection_mut(id) {
            connection.close(now);
        }
        let begin = Instant::now();
        while begin.elapsed() < within && self.state(id) != Some(State::Closed) {
            self.turn();
            std::thread::sleep(Duration::from_micros(50));
        }
        let over = self.state(id) == Some(State::Closed);
        self.release(id);
        over
    }

    pub(crate) fn release(&mut self, id: ConnectionId) {
        let now = self.now();
        self.endpoint.release(now, id);
        self.turn();
    }
}
