//! One end: an endpoint, a clock that may be wrong, and an application that keeps books.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

use tfrc_dccp::wire::{Integrity, Packet, Sequence};
use tfrc_dccp::{Closed, Connection, ConnectionId, Endpoint, Event, State};
use tfrc_testkit::Side;
use tfrc_units::{Duration, Ecn, Instant};

use super::network::Flight;
use crate::heap;

pub(crate) struct End {
    pub(crate) side: Side,
    pub(crate) endpoint: Endpoint,
    pub(crate) address: SocketAddr,
    pub(crate) id: Option<ConnectionId>,
    /// Lead of this end's clock; clocks start well ahead so that steps back are possible.
    pub(crate) offset: Duration,
    pub(crate) sends: bool,
    pub(crate) size: usize,
    pub(crate) sent: u64,
    pub(crate) received: BTreeSet<u64>,
    pub(crate) closed: Option<Closed>,
    /// Datagram number by sequence number, of what this end sent.
    pub(crate) numbers: BTreeMap<u64, u64>,
    /// It wants no more of any connection.
    pub(crate) leaving: bool,
    /// The latest time passed to the endpoint.
    latest: Instant,
    meter: Meter,
    /// Heap used by the endpoint.
    heap: i64,
}

/// Holds what is sent against what is allowed.
#[derive(Default)]
struct Meter {
    /// Bytes ahead of the allowed rate.
    ahead: f64,
    since: Option<Instant>,
    rate: f64,
    /// Recent maxima of the bytes of a round-trip time at the allowed rate (and four segments),
    /// with their times.
    windows: VecDeque<(Instant, f64)>,
}

/// An endpoint that is drained by its application stays below this.
const MOST_HEAP: i64 = 256 * 1024;

impl Meter {
    fn advance(&mut self, now: Instant, connection: &Connection) {
        // A machine whose clock goes back stays at the latest time.
        let now = self.since.map_or(now, |since| since.max(now));
        let elapsed = self.since.map_or(0.0, |since| now.saturating_since(since).as_secs_f64());
        self.ahead = (self.ahead - elapsed * self.rate).max(0.0);
        self.since = Some(now);
        let sender = connection.rate_sender();
        // X, or X_inst where the spacing is closer for a moment (RFC 5348 §4.5).
        self.rate = sender.sending_rate().max(sender.allowed_rate()).bytes_per_sec();
        let rtt = connection.rtt().unwrap_or(Duration::from_millis(200));
        let window = self.rate * rtt.as_secs_f64() + 4.0 * sender.segment_size();
        while self.windows.back().is_some_and(|(_, other)| *other <= window) {
            self.windows.pop_back();
        }
        self.windows.push_back((now, window));
        let mut shrunk = false;
        while self.windows.len() > 1
            && self.windows.front().is_some_and(|(at, _)| now.saturating_since(*at) > rtt * 2)
        {
            self.windows.pop_front();
            shrunk = true;
        }
        // What went while more was allowed is not a fault now.
        if shrunk {
            self.ahead = self.ahead.min(self.allowed());
        }
    }

    fn allowed(&self) -> f64 {
        self.windows.iter().map(|(_, window)| *window).fold(0.0, f64::max)
    }

    /// At most a round-trip time's worth may go at once (RFC 5348 §4.6), at the rate of the last
    /// two, plus rounding.
    fn sent(&mut self, bytes: usize) {
        let bytes = f64::from(u32::try_from(bytes).expect("short"));
        self.ahead += bytes;
        // A raised rate counts from the packet before on: that may be a round-trip time's worth
        // once more.
        let allowed = 2.0 * self.allowed() + 2.0 * bytes;
        assert!(self.ahead <= allowed, "{} bytes ahead, {allowed} allowed", self.ahead);
    }
}

impl End {
    pub(crate) fn new(side: Side, endpoint: Endpoint, address: SocketAddr, size: usize) -> Self {
        Self {
            side,
            endpoint,
            address,
            id: None,
            offset: Duration::from_secs(1000),
            sends: false,
            size,
            sent: 0,
            received: BTreeSet::new(),
            closed: None,
            numbers: BTreeMap::new(),
            leaving: false,
            latest: Instant::ZERO,
            meter: Meter::default(),
            heap: 0,
        }
    }

    /// The time as this end has it. Its clock may be set back; its host then waits for the latest
    /// time passed.
    pub(crate) fn clock(&mut self, now: Instant) -> Instant {
        self.latest = self.latest.max(now + self.offset);
        self.latest
    }

    fn counted<T>(&mut self, work: impl FnOnce(&mut Endpoint) -> T) -> T {
        let before = heap::held();
        let result = work(&mut self.endpoint);
        self.heap += heap::held() - before;
        assert!(self.heap <= MOST_HEAP, "the {:?} holds {} bytes", self.side, self.heap);
        result
    }

    pub(crate) fn connection(&self) -> Option<&Connection> {
        self.id.and_then(|id| self.endpoint.connection(id))
    }

    pub(crate) fn handle(&mut self, now: Instant, from: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        let now = self.clock(now);
        self.counted(|endpoint| endpoint.handle_datagram(now, from, ecn, bytes));
        self.measure(now);
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let now = self.clock(now);
        self.counted(|endpoint| endpoint.handle_timeout(now));
        self.measure(now);
    }

    fn measure(&mut self, now: Instant) {
        if let Some(connection) = self.id.and_then(|id| self.endpoint.connection(id)) {
            self.meter.advance(now, connection);
        }
    }

    /// The application does what it can; what goes out is handed to `post`. Says whether anything
    /// did. `peer` is what the other end has sent, if what arrives can be held against it.
    pub(crate) fn run(
        &mut self,
        now: Instant,
        peer: Option<&BTreeMap<u64, u64>>,
        mut post: impl FnMut(Side, Ecn, Flight),
    ) -> bool {
        self.handle_timeout(now);
        let clock = self.clock(now);
        let mut busy = false;
        while let Some((id, event)) = self.counted(Endpoint::poll_event) {
            if self.id.is_none() {
                self.id = Some(id);
            }
            if matches!(event, Event::Closed(_)) && (self.leaving || self.id != Some(id)) {
                self.endpoint.release(clock, id);
            }
            if self.leaving || self.id != Some(id) {
                continue;
            }
            assert!(self.closed.is_none(), "{:?}: {event:?} after the end", self.side);
            match event {
                Event::Closed(closed) => self.closed = Some(closed),
                Event::CloseReceived => {
                    self.read(peer);
                    if let Some(connection) = self.endpoint.connection_mut(id) {
                        connection.accept_close(clock);
                    }
                }
                _ => {}
            }
        }
        self.read(peer);
        if self.sends
            && let Some(id) = self.id
        {
            let mut datagram = self.sent.to_be_bytes().to_vec();
            datagram.resize(self.size.max(8), 0xA5);
            let taken = self.counted(|endpoint| {
                endpoint.connection(id).is_some_and(|connection| connection.queued() == 0)
                    && endpoint.send(clock, id, &datagram).is_ok()
            });
            self.sent += u64::from(taken);
        }
        let mut bytes = Vec::with_capacity(1500);
        while let Some(sent) = self.counted(|endpoint| endpoint.poll_transmit(clock, &mut bytes)) {
            busy = true;
            self.note(clock, &bytes);
            post(self.side, sent.ecn, Flight { from: self.address, to: sent.remote, bytes: bytes.clone() });
        }
        busy
    }

    /// Records which number carries which datagram of what goes out, and checks that it may go
    /// already.
    fn note(&mut self, clock: Instant, bytes: &[u8]) {
        // The checksum is checked at the other end.
        let mut bare = bytes.to_vec();
        if let Some(checksum) = bare.get_mut(6..8) {
            checksum.fill(0);
        }
        let packet = Packet::parse(&bare, Integrity::Udp).expect("what is sent parses");
        self.note_packet(clock, &packet);
    }

    fn note_packet(&mut self, clock: Instant, packet: &Packet<'_>) {
        if !packet.header.kind().carries_datagram() {
            return;
        }
        let Sequence::Long(seq) = packet.header.sequence() else { panic!("short numbers are never sent") };
        let number = packet.payload.first_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes));
        assert_eq!(self.numbers.insert(seq.get(), number.expect("it has one")), None, "a number used twice");
        self.measure(clock);
        self.meter.sent(packet.payload.len());
    }

    fn read(&mut self, peer: Option<&BTreeMap<u64, u64>>) {
        let Some(id) = self.id else { return };
        let next = |endpoint: &mut Endpoint| {
            let received = endpoint.connection_mut(id)?.recv()?;
            let number = received.bytes.first_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes));
            Some((received.seq.get(), number))
        };
        while let Some((seq, number)) = self.counted(next) {
            if let Some(peer) = peer {
                let number = number.expect("whole");
                assert_eq!(peer.get(&seq), Some(&number), "{:?}: what was sent under it", self.side);
                assert!(self.received.insert(number), "{:?}: {number} twice", self.side);
            }
        }
    }

    pub(crate) fn next(&mut self, now: Instant) -> Option<Instant> {
        let timer = self.counted(Endpoint::poll_timeout)?.at;
        Some(now + timer.saturating_since(now + self.offset))
    }

    pub(crate) fn close(&mut self, now: Instant) {
        let clock = self.clock(now);
        self.sends = false;
        if let Some(id) = self.id
            && let Some(connection) = self.endpoint.connection_mut(id)
            && connection.state() != State::Closed
        {
            connection.close(clock);
        }
    }
}
