//! The path MTU between two ends (RFC 4340 §14, RFC 8899).

use std::cell::Cell;
use std::rc::Rc;

use tfrc::config::PacketSize;
use tfrc_dccp::feature::{CcidPreference, Wishes};
use tfrc_dccp::{Boundaries, ConnectionConfig, SendError};
use tfrc_testkit::{Fate, Flight, Pair, Side, address, capped, ms};
use tfrc_units::Duration;

/// IPv4 and UDP.
const BELOW: usize = 28;

/// A path that carries IP packets up to a length in bytes, which may change; longer ones are lost
/// silently.
fn path(mtu: &Rc<Cell<usize>>) -> impl FnMut(&Flight) -> Fate + use<> {
    let mtu = Rc::clone(mtu);
    move |flight| Fate::drop_if(flight.length + BELOW > mtu.get())
}

fn config() -> ConnectionConfig {
    ConnectionConfig { tfrc: capped(125_000.0), ..ConnectionConfig::default() }
}

/// Sends datagrams as long as possible for `seconds`; returns the client's path MTU afterwards.
fn send(pair: &mut Pair, seconds: u64) -> usize {
    for _ in 0..seconds * 10 {
        pair.client.size = pair.client.connection().max_datagram();
        pair.client.to_send = u64::MAX;
        pair.run(ms(100));
    }
    pair.client.connection().max_packet() + BELOW
}

#[test]
fn the_path_may_change_in_the_middle() {
    let mtu = Rc::new(Cell::new(1500));
    let mut pair = Pair::with(config(), ConnectionConfig::default(), path(&mtu));
    pair.run(ms(200));
    for now in [1500, 1400, 1280, 1500, 1400] {
        mtu.set(now);
        // Twice the ten minutes after which more is tried.
        let found = send(&mut pair, 1200);
        assert!((now - 3..=now).contains(&found), "{found} of {now}");
        let before = pair.server.received.len();
        send(&mut pair, 5);
        assert!(pair.server.received.len() > before, "data arrive on {now}");
        pair.server.received.clear();
    }
    let stats = pair.client.connection().stats();
    assert!(stats.sent_path_probes < 400, "{stats:?}");
    assert_eq!(pair.server.connection().stats().sent_path_probes, 0);
}

#[test]
fn what_is_too_long_is_refused_with_the_limit() {
    let mut pair = Pair::with(config(), ConnectionConfig::default(), |_| Fate::Deliver);
    pair.run(ms(200));
    let now = pair.now;
    for lie in [0, 100, 547, 1472, 65_535] {
        pair.client.with(|connection| connection.path_reports(now, lie));
        assert_eq!(pair.client.connection().max_packet(), 1472, "{lie}");
    }
    pair.client.with(|connection| connection.path_reports(now, 1252));
    let limit = pair.client.connection().max_datagram();
    assert!(limit < 1252);
    let refused = pair.client.with(|connection| connection.send(now, &vec![0; limit + 1]));
    assert_eq!(refused, Err(SendError::TooLong { length: limit + 1, limit }));
    let sent = pair.client.with(|connection| connection.send(now, &vec![0; limit]));
    assert_eq!(sent, Ok(()));
    pair.run(ms(100));
    assert!(pair.log.iter().all(|(flight, _)| flight.length <= 1252));
    assert_eq!(pair.server.received.len(), 1);
}

#[test]
fn a_dead_path_is_not_a_narrow_one() {
    let mtu = Rc::new(Cell::new(1500));
    let mut pair = Pair::with(config(), ConnectionConfig::default(), path(&mtu));
    pair.run(ms(200));
    send(&mut pair, 10);
    mtu.set(0);
    assert_eq!(send(&mut pair, 20), 1500);
    mtu.set(1500);
    assert_eq!(send(&mut pair, 100), 1500);
}

/// RFC 4828 §3: the nominal segment of TFRC-SP is the MSS of the path.
#[test]
fn the_nominal_segment_follows() {
    let four = CcidPreference::Four;
    let wishes = Wishes { sending: four, receiving: four, ..Wishes::default() };
    let config = ConnectionConfig { wishes, ..config() };
    let mut pair = Pair::with(config.clone(), config, |_| Fate::Deliver);
    pair.run(ms(500));
    let nominal = |pair: &Pair| match pair.client.connection().rate_sender().config().settings().packet_size {
        PacketSize::TfrcSp(settings) => settings.nominal.bytes(),
        other => panic!("{other:?}"),
    };
    assert_eq!(nominal(&pair), 1460);
    let now = pair.now;
    pair.client.with(|connection| connection.path_reports(now, 1372));
    assert_eq!(nominal(&pair), 1360);
    pair.client.with(|connection| connection.path_refuses(now, 1372));
    assert_eq!(nominal(&pair), 1200 + 28 - 40);
    pair.run(Duration::from_secs(60));
    assert!((1354..1360).contains(&nominal(&pair)), "{}", nominal(&pair));
}

/// A connected pair whose client sends a stream of bytes, or datagrams that must stay as they are.
fn pair_of(boundaries: Boundaries) -> Pair {
    let mut pair = Pair::with(ConnectionConfig { boundaries, ..config() }, config(), |_| Fate::Deliver);
    pair.run(ms(200));
    pair
}

/// Hands over datagrams of 1400 bytes, of which no two are alike; all of them.
fn hand_over(pair: &mut Pair, datagrams: u8) -> Vec<u8> {
    let now = pair.now;
    let all: Vec<Vec<u8>> = (0..datagrams).map(|n| vec![n; 1400]).collect();
    for datagram in &all {
        pair.client.with(|connection| connection.send(now, datagram)).expect("room");
    }
    all.concat()
}

fn count(length: usize) -> u64 {
    tfrc_units::saturating(length)
}

fn arrived(pair: &Pair) -> Vec<u8> {
    pair.server.received.iter().flat_map(|received| received.bytes.iter().copied()).collect()
}

/// A stream that waits is cut anew to what the route takes; a datagram with boundaries is dropped,
/// and counted. From 1200 bytes on, and below 548, the system is believed.
#[test]
fn a_stream_fits_into_a_route_that_became_narrow() {
    for route in [1472, 1322, 1200, 472, 256] {
        let mut pair = pair_of(Boundaries::Free);
        let sent = hand_over(&mut pair, 40);
        let (now, to) = (pair.now, address(Side::Server));
        pair.client.endpoint.handle_route(now, to, route);
        pair.run(Duration::from_secs(3));
        assert_eq!(arrived(&pair), sent, "{route}");
        let longest = pair.log.iter().map(|(flight, _)| flight.length).max();
        assert!(
            longest.is_some_and(|longest| longest <= route && longest + 40 >= route.min(1440)),
            "{longest:?}"
        );
        assert_eq!(pair.client.connection().stats().unsent_packets, 0);
    }
    let mut pair = pair_of(Boundaries::Kept);
    hand_over(&mut pair, 40);
    let (now, to) = (pair.now, address(Side::Server));
    pair.client.endpoint.handle_route(now, to, 1322);
    pair.run(Duration::from_secs(3));
    let stats = pair.client.connection().stats();
    assert_eq!((stats.unsent_packets, stats.unsent_bytes), (40, 40 * 1400));
}

/// The system refuses packets that were built already. The newest of them go again, in order; one
/// with another behind it is dropped, and counted.
#[test]
fn what_the_system_refuses_goes_again() {
    for (middle, lost) in [(false, 0), (true, 1)] {
        let mut pair = pair_of(Boundaries::Free);
        let sent = hand_over(&mut pair, 40);
        let to = address(Side::Server);
        let (mut built, mut bytes) = (Vec::new(), Vec::new());
        while built.len() < 3 {
            pair.now += ms(20);
            let now = pair.now;
            pair.client.endpoint.handle_timeout(now);
            while pair.client.endpoint.poll_transmit(now, &mut bytes).is_some() {
                built.push(bytes.clone());
            }
        }
        let now = pair.now;
        if middle {
            // The second is not refused, and arrives first.
            let passed = built.remove(built.len() - 2);
            pair.hand(Side::Server, tfrc_units::Ecn::Ect0, &passed);
        }
        for packet in built.iter().rev() {
            pair.client.endpoint.handle_refused(now, to, packet);
        }
        pair.run(Duration::from_secs(5));
        let stats = pair.client.connection().stats();
        if middle {
            // Those before the one that passed.
            assert_eq!(stats.unsent_packets, count(built.len()) - lost, "{stats:?}");
            assert_eq!(count(arrived(&pair).len()), count(sent.len()) - stats.unsent_bytes);
        } else {
            assert_eq!(stats.unsent_packets, 0, "{stats:?}");
            assert_eq!(arrived(&pair), sent);
        }
        assert!(pair.client.connection().max_packet() < built[0].len());
    }
}
