//! Two endpoints and whatever can happen to them, one operation after another: for the property
//! test `operations` of `tfrc-dccp` and the fuzz target `connection`.

use std::collections::VecDeque;

use tfrc_dccp::connection::SkippedNumbers;
use tfrc_dccp::endpoint::{ConnectConfig, Listen};
use tfrc_dccp::wire::{Header, SeqAck, Sequence};
use tfrc_dccp::{ConnectionConfig, ConnectionId, Endpoint, EndpointConfig, Event};
use tfrc_units::{Ecn, Instant, SeqNo48};

use crate::{PORT, Side, address, at, emit, ms, parse};

/// Something that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Time passes.
    Advance {
        /// Milliseconds.
        ms: u64,
    },
    /// A packet on its way arrives; the rest of them wait.
    Deliver {
        /// At whom.
        to: Side,
        /// Which of those on their way.
        index: usize,
    },
    /// It arrives, and stays on its way as well.
    Duplicate {
        /// At whom.
        to: Side,
    },
    /// The oldest on its way is lost.
    Drop {
        /// For whom.
        to: Side,
    },
    /// Some bits of the oldest on its way change.
    Corrupt {
        /// For whom.
        to: Side,
        /// Where.
        offset: usize,
        /// Which bits.
        bits: u8,
    },
    /// The application sends a datagram, if it may.
    Send {
        /// From whom.
        from: Side,
        /// Its length.
        length: usize,
    },
    /// An Ack with the right numbers and any options.
    Options {
        /// At whom.
        to: Side,
        /// The option bytes.
        options: Vec<u8>,
    },
    /// Any bytes at all arrive.
    Garbage {
        /// At whom.
        to: Side,
        /// They.
        bytes: Vec<u8>,
    },
    /// The application closes.
    Close {
        /// At which end.
        side: Side,
    },
}

impl Operation {
    /// Operations from bytes; every sequence of bytes is some.
    #[must_use]
    pub fn all(bytes: &[u8]) -> Vec<Self> {
        let mut bytes = bytes.iter().copied();
        let mut operations = Vec::new();
        while let Some(operation) = Self::next(&mut bytes) {
            operations.push(operation);
            if operations.len() == 2000 {
                break;
            }
        }
        operations
    }

    fn next(bytes: &mut impl Iterator<Item = u8>) -> Option<Self> {
        let first = bytes.next()?;
        let side = if first & 0x80 == 0 { Side::Client } else { Side::Server };
        let mut byte = || bytes.next().unwrap_or(0);
        Some(match first & 0x0F {
            0..=3 => Self::Deliver { to: side, index: usize::from(first >> 4 & 3) },
            4 | 5 => Self::Send { from: side, length: usize::from(byte()) * 6 },
            6 => Self::Advance { ms: u64::from(byte()) },
            7 => Self::Advance { ms: u64::from(byte()) * 200 },
            8 => Self::Duplicate { to: side },
            9 => Self::Drop { to: side },
            10 | 11 => Self::Corrupt { to: side, offset: usize::from(byte()), bits: byte() },
            12 | 13 => {
                let length = usize::from(byte() % 64);
                Self::Options { to: side, options: bytes.take(length).collect() }
            }
            14 => {
                let length = usize::from(byte() % 96);
                Self::Garbage { to: side, bytes: bytes.take(length).collect() }
            }
            _ => Self::Close { side },
        })
    }
}

struct End {
    endpoint: Endpoint,
    id: Option<ConnectionId>,
    /// On its way to this end.
    inbox: VecDeque<(Ecn, Vec<u8>)>,
    /// The number after the last one sent to it, and the last one it sent.
    next_seq: SeqNo48,
    newest_sent: SeqNo48,
    ports: (u16, u16),
    received: u64,
}

struct World {
    client: End,
    server: End,
    now: Instant,
}

impl End {
    fn new(config: EndpointConfig, seed: u8) -> Self {
        Self {
            endpoint: Endpoint::new(config, [seed; 32]),
            id: None,
            inbox: VecDeque::new(),
            next_seq: SeqNo48::new(0),
            newest_sent: SeqNo48::new(0),
            ports: (0, 0),
            received: 0,
        }
    }
}

impl World {
    fn new() -> Self {
        let connection = ConnectionConfig {
            skipped_numbers: SkippedNumbers::Every { datagrams: 8 },
            ..Default::default()
        };
        let serving = EndpointConfig {
            listen: Listen::One,
            port: PORT,
            connection: connection.clone(),
            half_open: 1,
            ..EndpointConfig::default()
        };
        let mut world =
            Self { client: End::new(EndpointConfig::default(), 1), server: End::new(serving, 2), now: at(1) };
        let config = ConnectConfig { port: PORT, connection };
        world.client.id = world.client.endpoint.connect(world.now, address(Side::Server), config).ok();
        world.drain();
        world
    }

    fn end(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    fn arrive(&mut self, to: Side, ecn: Ecn, bytes: &[u8]) {
        let now = self.now;
        self.end(to).endpoint.handle_datagram(now, address(to.other()), ecn, bytes);
    }

    fn apply(&mut self, operation: &Operation) {
        let now = self.now;
        match operation {
            Operation::Advance { ms: time } => {
                self.now = now + ms(*time);
                for side in Side::BOTH {
                    let now = self.now;
                    self.end(side).endpoint.handle_timeout(now);
                }
            }
            Operation::Deliver { to, index } => {
                let inbox = &mut self.end(*to).inbox;
                let index = (*index).min(inbox.len().saturating_sub(1));
                if let Some((ecn, bytes)) = inbox.remove(index) {
                    self.arrive(*to, ecn, &bytes);
                }
            }
            Operation::Duplicate { to } => {
                if let Some((ecn, bytes)) = self.end(*to).inbox.front().cloned() {
                    self.arrive(*to, ecn, &bytes);
                }
            }
            Operation::Drop { to } => {
                self.end(*to).inbox.pop_front();
            }
            Operation::Corrupt { to, offset, bits } => {
                if let Some((_, bytes)) = self.end(*to).inbox.front_mut()
                    && let Some(byte) = bytes.get_mut(*offset)
                {
                    *byte ^= bits;
                }
            }
            Operation::Send { from, length } => {
                let end = self.end(*from);
                if let Some(connection) = end.id.and_then(|id| end.endpoint.connection_mut(id)) {
                    let _ = connection.send(now, &vec![7; *length]);
                }
            }
            Operation::Options { to, options } => {
                let end = self.end(*to);
                let ((local, remote), seq, ack) = (end.ports, end.next_seq, end.newest_sent);
                end.next_seq = seq.add(1);
                let mut options = options.clone();
                options.resize(options.len().next_multiple_of(4), 0);
                let bytes =
                    emit((remote, local), Header::Ack { numbers: SeqAck::Long { seq, ack } }, &options, &[]);
                self.arrive(*to, Ecn::NotEct, &bytes);
            }
            Operation::Garbage { to, bytes } => self.arrive(*to, Ecn::Ce, bytes),
            Operation::Close { side } => {
                let end = self.end(*side);
                if let Some(connection) = end.id.and_then(|id| end.endpoint.connection_mut(id)) {
                    connection.close(now);
                }
            }
        }
        self.drain();
    }

    /// Everything the machines have to say is taken, in the order of their contract.
    fn drain(&mut self) {
        for side in Side::BOTH {
            let now = self.now;
            let end = self.end(side);
            let mut sent = Vec::new();
            let mut bytes = Vec::new();
            while let Some(transmission) = end.endpoint.poll_transmit(now, &mut bytes) {
                let packet = parse(&bytes);
                assert_eq!(packet.header.kind(), transmission.kind);
                assert!(bytes.len() <= 1472, "{} bytes", bytes.len());
                if let Sequence::Long(seq) = packet.header.sequence() {
                    end.newest_sent = seq;
                    end.ports = (packet.source_port, packet.destination_port);
                    sent.push((transmission.ecn, bytes.clone(), seq));
                }
                assert!(sent.len() < 100, "it does not stop sending");
            }
            let wake = end.endpoint.poll_timeout();
            while let Some((id, event)) = end.endpoint.poll_event() {
                end.id = end.id.or(Some(id));
                if matches!(event, Event::Closed(_)) && end.id != Some(id) {
                    end.endpoint.release(now, id);
                }
            }
            if let Some(connection) = end.id.and_then(|id| end.endpoint.connection_mut(id)) {
                while connection.recv().is_some() {
                    end.received += 1;
                }
            }
            assert!(end.endpoint.connections().count() <= 3);
            let to = self.end(side.other());
            for (ecn, bytes, seq) in sent {
                to.next_seq = seq.add(1);
                if to.inbox.len() < 256 {
                    to.inbox.push_back((ecn, bytes));
                }
            }
            // An expired timer is served, and does not expire again at once without end.
            if wake.is_some_and(|wake| wake.at <= now) {
                self.end(side).endpoint.handle_timeout(now);
            }
        }
    }

    /// Left alone, with a network that works, everything ends.
    fn finish(mut self) -> u64 {
        for side in Side::BOTH {
            self.apply(&Operation::Close { side });
        }
        for _ in 0..3000 {
            let mut quiet = true;
            for to in Side::BOTH {
                while !self.end(to).inbox.is_empty() {
                    quiet = false;
                    self.apply(&Operation::Deliver { to, index: 0 });
                }
            }
            if quiet {
                self.apply(&Operation::Advance { ms: 500 });
            }
        }
        for side in Side::BOTH {
            let end = self.end(side);
            let over = end.id.and_then(|id| end.endpoint.connection(id)).map(tfrc_dccp::Connection::state);
            assert!(over.is_none_or(|state| state == tfrc_dccp::State::Closed), "{side:?} stays in {over:?}");
        }
        self.client.received + self.server.received
    }
}

/// Does all of it; gives the number of datagrams that arrived.
#[expect(clippy::must_use_candidate, reason = "fuzz targets wait for a panic alone")]
pub fn run(operations: &[Operation]) -> u64 {
    let mut world = World::new();
    for operation in operations {
        world.apply(operation);
    }
    world.finish()
}
