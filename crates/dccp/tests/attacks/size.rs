//! Heap that a connection takes at either end with a hundred packets in flight.

use tfrc_dccp::endpoint::{ConnectConfig, Listen};
use tfrc_dccp::{ConnectionConfig, Endpoint, EndpointConfig, Event};
use tfrc_testkit::{Fate, PORT, Parcel, Random, Side, Wire, address, capped};
use tfrc_units::{Duration, Ecn, Instant};

use crate::heap;

/// Bytes of a connection on the heap. They were 8 KiB at most until the sender had a bound on the
/// queueing delay and a trial of ECN: a sender of 8,226 bytes moved the bar.
const MOST: i64 = 8192 + 512;

/// An endpoint and what it has on the heap.
struct End {
    endpoint: Endpoint,
    heap: i64,
}

impl End {
    /// Does something with the endpoint and counts what that leaves on the heap.
    fn with<T>(&mut self, use_it: impl FnOnce(&mut Endpoint) -> T) -> T {
        let before = heap::held();
        let result = use_it(&mut self.endpoint);
        self.heap += heap::held() - before;
        result
    }
}

#[test]
fn a_connection_with_a_hundred_packets_in_flight_is_small() {
    const CONNECTIONS: usize = 20;
    const DELAY: Duration = Duration::from_millis(50);
    let config = ConnectionConfig { tfrc: capped(500_000.0), ..ConnectionConfig::default() };
    let listen = Listen::Many(CONNECTIONS);
    let serving =
        EndpointConfig { listen, port: PORT, connection: config.clone(), ..EndpointConfig::default() };
    let mut client = End { endpoint: Endpoint::new(EndpointConfig::default(), [1; 32]), heap: 0 };
    let mut server = End { endpoint: Endpoint::new(serving, [2; 32]), heap: 0 };
    let mut now = Instant::ZERO;
    let ids: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let config = ConnectConfig { port: PORT, connection: config.clone() };
            client.with(|endpoint| endpoint.connect(now, address(Side::Server), config)).expect("a port")
        })
        .collect();
    let mut random = Random::new(1);
    let mut wire: Wire<Vec<u8>> = Wire::new(DELAY);
    let (mut received, mut lost) = (0, 0);
    let payload = [0; 500];
    while now < Instant::ZERO + Duration::from_secs(30) {
        now += Duration::from_micros(500);
        while let Some(packet) = wire.receive(now) {
            let end = if packet.to == Side::Client { &mut client } else { &mut server };
            let from = address(packet.to.other());
            end.with(|endpoint| endpoint.handle_datagram(now, from, Ecn::NotEct, &packet.payload));
        }
        for id in &ids {
            client.with(|endpoint| {
                // Nothing waits in the queue: it would count.
                let next = endpoint.connection(*id).and_then(|connection| connection.next_send(now));
                if next == Some(tfrc::SendDecision::Now) {
                    endpoint.send(now, *id, &payload).expect("there is room");
                }
            });
        }
        let mut bytes = Vec::with_capacity(2000);
        for (end, from) in [(&mut client, Side::Client), (&mut server, Side::Server)] {
            end.with(|endpoint| {
                endpoint.handle_timeout(now);
                while let Some((id, event)) = endpoint.poll_event() {
                    if event == Event::Readable
                        && let Some(connection) = endpoint.connection_mut(id)
                    {
                        while connection.recv().is_some() {
                            received += 1;
                        }
                    }
                }
            });
            while end.with(|endpoint| endpoint.poll_transmit(now, &mut bytes)).is_some() {
                // So few are lost that the rate stays at its cap.
                let drop = from == Side::Client && bytes.len() > 500 && random.below(8000) == 0;
                lost += u32::from(drop);
                let packet = Parcel { size: 0, ecn: Ecn::NotEct, payload: bytes.clone() };
                wire.send(now, from, packet, Fate::drop_if(drop));
            }
            end.with(tfrc_dccp::Endpoint::poll_timeout);
        }
    }
    let left = std::iter::from_fn(|| wire.receive(now + DELAY));
    let in_flight = left.filter(|packet| packet.to == Side::Server).count() * 2 / CONNECTIONS;
    assert!((80..=120).contains(&in_flight), "{in_flight} packets in flight");
    assert!(received > 100_000 && lost > 50, "{received} received, {lost} lost");
    let each = |end: &End| end.heap / i64::try_from(CONNECTIONS).expect("few");
    assert!(each(&client) <= MOST, "the sender has {} bytes", each(&client));
    assert!(each(&server) <= MOST, "the receiver has {} bytes", each(&server));
}
