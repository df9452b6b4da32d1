//! No heap allocation for a packet, be it data or feedback, in steady state: what grows has grown by then, and buffers are used again.

use std::net::SocketAddr;

use allocation_counter::measure;
use tfrc::Settings;
use tfrc::config::SegmentSize;
use tfrc_dccp::{ConnectConfig, ConnectionConfig, ConnectionId, Endpoint, EndpointConfig, Event, Listen};
use tfrc_units::{Duration, Ecn, Instant};

const PORT: u16 = 5001;
const SIZE: usize = 500;
/// One way.
const DELAY: Duration = Duration::from_millis(20);

/// A packet in the network, in a place that is used again.
struct Flight {
    due: Instant,
    to_server: bool,
    ecn: Ecn,
    bytes: Vec<u8>,
}

struct Network {
    client: Endpoint,
    server: Endpoint,
    id: ConnectionId,
    there: Option<ConnectionId>,
    now: Instant,
    flights: std::collections::VecDeque<Flight>,
    spare: Vec<Vec<u8>>,
    /// Every so many data packets one is lost; never if zero.
    lose_every: u64,
    sent: u64,
    received: u64,
}

fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

impl Network {
    fn new(lose_every: u64) -> Self {
        let settings = Settings { segment: SegmentSize::Mean { initial: 500 }, ..Settings::default() };
        let config =
            ConnectionConfig { tfrc: settings.validate().expect("sound"), ..ConnectionConfig::default() };
        let server = EndpointConfig {
            connection: config.clone(),
            listen: Listen::One,
            port: PORT,
            ..EndpointConfig::default()
        };
        let mut client = Endpoint::new(EndpointConfig::default(), [1; 32]);
        let connect = ConnectConfig { port: PORT, connection: config };
        let id = client.connect(Instant::ZERO, address(2), connect).expect("a free port");
        Self {
            client,
            server: Endpoint::new(server, [2; 32]),
            id,
            there: None,
            now: Instant::ZERO,
            flights: std::collections::VecDeque::new(),
            spare: Vec::new(),
            lose_every,
            sent: 0,
            received: 0,
        }
    }

    /// Goes on until so many datagrams have been sent.
    fn until(&mut self, datagrams: u64) {
        while self.sent < datagrams {
            self.application();
            self.transmit(true);
            self.transmit(false);
            let times = [
                self.client.poll_timeout().map(|wake| wake.at),
                self.server.poll_timeout().map(|wake| wake.at),
                self.flights.front().map(|flight| flight.due),
            ];
            self.now = times.into_iter().flatten().min().expect("something is due").max(self.now);
            self.client.handle_timeout(self.now);
            self.server.handle_timeout(self.now);
            while let Some(flight) = self.flights.pop_front_if(|flight| flight.due <= self.now) {
                let (end, from) =
                    if flight.to_server { (&mut self.server, 1) } else { (&mut self.client, 2) };
                end.handle_datagram(self.now, address(from), flight.ecn, &flight.bytes);
                self.spare.push(flight.bytes);
            }
        }
    }

    fn application(&mut self) {
        while self.client.poll_event().is_some() {}
        while let Some((id, event)) = self.server.poll_event() {
            if matches!(event, Event::Incoming { .. }) {
                self.there = Some(id);
            }
        }
        if let Some(connection) = self.there.and_then(|id| self.server.connection_mut(id)) {
            while let Some(datagram) = connection.recv() {
                self.received += 1;
                connection.recycle(datagram.bytes);
            }
        }
        while self.client.connection(self.id).is_some_and(|connection| connection.queued() == 0)
            && self.client.send(self.now, self.id, &[7; SIZE]).is_ok()
        {
            self.sent += 1;
            self.transmit(true);
        }
    }

    fn transmit(&mut self, from_client: bool) {
        let mut bytes = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(2048));
        loop {
            let end = if from_client { &mut self.client } else { &mut self.server };
            let Some(transmission) = end.poll_transmit(self.now, &mut bytes) else { break };
            let lost =
                from_client && self.lose_every > 0 && self.sent % self.lose_every == self.lose_every - 1;
            if !lost {
                let next = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(2048));
                let bytes = std::mem::replace(&mut bytes, next);
                let due = self.now + DELAY;
                self.flights.push_back(Flight { due, to_server: from_client, ecn: transmission.ecn, bytes });
            }
        }
        self.spare.push(bytes);
    }
}

/// 20,000 datagrams, of which one in a hundred is lost, and their feedback.
#[test]
fn a_packet_allocates_nothing() {
    let mut network = Network::new(100);
    network.until(20_000);
    let reports = |network: &Network| {
        network.client.connection(network.id).map_or(0, |connection| connection.stats().received_feedback)
    };
    let (before, reported) = (network.received, reports(&network));
    let seen = measure(|| network.until(40_000));
    let (received, reported) = (network.received - before, reports(&network) - reported);
    assert!(
        received > 19_000 && (1_000..3_000).contains(&reported),
        "{received} datagrams, {reported} reports"
    );
    assert_eq!(seen.count_total, 0, "{} bytes for {reported} reports", seen.bytes_total);
}
