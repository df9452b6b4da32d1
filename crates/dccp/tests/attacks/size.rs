//! What a connection costs at either end with a hundred packets in flight.

use std::collections::VecDeque;

use tfrc_dccp::{ConnectConfig, ConnectionConfig, Endpoint, EndpointConfig, Event, Listen};
use tfrc_testkit::{Random, Side, address, capped};
use tfrc_units::{Duration, Ecn, Instant};

use super::heap;

const PORT: u16 = 5001;

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
fn a_connection_with_a_hundred_packets_in_flight_fits_into_8_kib() {
    const CONNECTIONS: usize = 20;
    const DELAY: Duration = Duration::from_millis(50);
    let config = ConnectionConfig { tfrc: capped(500_000.0), ..ConnectionConfig::default() };
    let listen = Listen::Many { limit: CONNECTIONS };
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
    let mut on_the_way: VecDeque<(Instant, Side, Vec<u8>)> = VecDeque::new();
    let (mut received, mut lost) = (0, 0);
    let payload = [0; 500];
    while now < Instant::ZERO + Duration::from_secs(30) {
        now += Duration::from_micros(500);
        while let Some((_, to, bytes)) = on_the_way.pop_front_if(|(at, _, _)| *at <= now) {
            match to {
                Side::Client => client.with(|endpoint| {
                    endpoint.handle_datagram(now, address(Side::Server), Ecn::NotEct, &bytes);
                }),
                Side::Server => server.with(|endpoint| {
                    endpoint.handle_datagram(now, address(Side::Client), Ecn::NotEct, &bytes);
                }),
            }
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
        for (end, to) in [(&mut client, Side::Server), (&mut server, Side::Client)] {
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
                if to == Side::Server && bytes.len() > 500 && random.bits().is_multiple_of(8000) {
                    lost += 1;
                } else {
                    on_the_way.push_back((now + DELAY, to, bytes.clone()));
                }
            }
            end.with(|endpoint| endpoint.poll_timeout());
        }
    }
    let in_flight = on_the_way.iter().filter(|(_, to, _)| *to == Side::Server).count() * 2 / CONNECTIONS;
    assert!((80..=120).contains(&in_flight), "{in_flight} packets in flight");
    assert!(received > 100_000 && lost > 50, "{received} received, {lost} lost");
    let each = |end: &End| end.heap / i64::try_from(CONNECTIONS).expect("few");
    assert!(each(&client) <= 8192, "the sender has {} bytes", each(&client));
    assert!(each(&server) <= 8192, "the receiver has {} bytes", each(&server));
}
