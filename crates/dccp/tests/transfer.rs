//! Data from one end to the other: handshake, counts, close, under loss of every single packet in
//! turn.

use tfrc::study::Profile;
use tfrc_dccp::feature::{Feature, Location};
use tfrc_dccp::wire::{PacketType, ResetCode};
use tfrc_dccp::{ClosedBy, ConnectionConfig, Event, State};
use tfrc_testkit::{Fate, Flight, Pair, Random, Side, ms, parse};
use tfrc_units::Duration;

/// Checks what both ends must agree on once the connection is over, whatever was lost.
fn check(pair: &Pair, what: &str) {
    let client = pair.client.closed().unwrap_or_else(|| panic!("{what}: the client is not closed"));
    let server = pair.server.closed().unwrap_or_else(|| panic!("{what}: the server is not closed"));
    assert_eq!((client.by, client.code), (ClosedBy::Us, ResetCode::Closed), "{what}");
    assert_eq!((server.by, server.code), (ClosedBy::Peer, ResetCode::Closed), "{what}");
    let received = u64::try_from(pair.server.received.len()).expect("small");
    assert_eq!(received, pair.client.sent - pair.dropped_data(), "{what}: datagrams");
    assert_eq!(
        server.peer_sent_data_packets, pair.client.sent,
        "{what}: the server knows how many were sent"
    );
    assert_eq!(client.text, Some(format!("{received} received")), "{what}: and tells how many it has");
    assert_eq!(pair.client.connection().stats().sent_data_packets, pair.client.sent, "{what}");
    assert_eq!(pair.server.connection().stats().received_data_packets, received, "{what}");
    let mut numbers = pair.server.numbers();
    for received in &pair.server.received {
        let index = pair.server.connection().data_index(received.seq);
        let number = received.bytes.first_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes));
        assert_eq!(index, number, "{what}: its place among the datagrams sent");
    }
    numbers.dedup();
    assert_eq!(numbers.len(), pair.server.received.len(), "{what}: nothing twice");
}

#[test]
fn a_clean_transfer_wastes_nothing() {
    let mut pair = Pair::transfer(40, |_| Fate::Deliver);
    pair.run_to_end(Duration::from_secs(60));
    check(&pair, "clean");
    let sent = pair.kinds(Side::Client);
    let count = |kind| sent.iter().filter(|k| **k == kind).count();
    assert_eq!(sent.first(), Some(&PacketType::Request));
    assert_eq!(sent.get(1), Some(&PacketType::Ack), "PARTOPEN begins with a pure acknowledgement");
    assert_eq!(sent.last(), Some(&PacketType::Close));
    assert_eq!(count(PacketType::Data) + count(PacketType::DataAck), 40);
    assert_eq!(sent.len(), 43, "and nothing else: {sent:?}");
    assert!(count(PacketType::DataAck) < 10, "only while PARTOPEN: {sent:?}");
    let back = pair.kinds(Side::Server);
    assert!(!back.contains(&PacketType::Sync) && !back.contains(&PacketType::DataAck), "{back:?}");
    assert_eq!(pair.server.numbers(), (0..40).collect::<Vec<_>>());
    assert_eq!(pair.server.connection().stats().invalid_packets, 0);
}

#[test]
fn both_ends_agree_on_the_features() {
    let mut pair = Pair::transfer(5, |_| Fate::Deliver);
    pair.run_to_end(Duration::from_secs(60));
    for connection in [pair.client.connection(), pair.server.connection()] {
        for location in [Location::Local, Location::Remote] {
            let value = |feature| connection.feature(feature, location);
            assert_eq!(value(Feature::Ccid), 3);
            assert_eq!(value(Feature::SequenceWindow), 1000);
            assert_eq!(value(Feature::SendNdpCount), 1);
            assert_eq!(value(Feature::SendRttEstimate), 1);
            assert_eq!(value(Feature::SendLossEventRate), 1);
        }
    }
}

#[test]
fn the_handshake_gives_both_ends_the_round_trip_time() {
    let mut pair = Pair::opened();
    assert_eq!(pair.client.connection().rtt(), Some(ms(50)));
    assert_eq!(pair.server.connection().rtt(), Some(ms(50)));
    assert_eq!(pair.client.state(), Some(State::Open));
    assert_eq!(pair.server.state(), Some(State::Open));
    let before = pair.log.len();
    pair.run(Duration::from_secs(5));
    assert_eq!(pair.log.len(), before, "then it is quiet");
}

/// A host stands still for 2 s between a datagram and its departure. Where it reports that, this is
/// no round-trip time of the path.
#[test]
fn a_host_that_was_held_up_is_not_the_path() {
    let [unreported, reported] = [false, true].map(|reports| {
        let mut pair = Pair::opened();
        pair.run(Duration::from_secs(1));
        let late = Fate::Late(Duration::from_secs(2));
        pair.rule = Box::new(move |flight| if flight.kind.carries_datagram() { late } else { Fate::Deliver });
        pair.client.to_send = 1;
        pair.drain();
        if reports {
            pair.client.endpoint.handle_held_up(pair.now);
        }
        pair.rule = Box::new(|_| Fate::Deliver);
        pair.run(Duration::from_secs(3));
        assert_eq!(pair.server.received.len(), 1);
        pair.client.connection().rtt()
    });
    assert_eq!(reported, Some(ms(50)));
    assert!(unreported > Some(ms(200)), "{unreported:?}");
}

/// Every packet of a transfer is lost in turn, by either end.
#[test]
fn the_loss_of_any_packet_does_no_harm() {
    let mut clean = Pair::transfer(12, |_| Fate::Deliver);
    clean.run_to_end(Duration::from_secs(60));
    let packets = clean.log.len();
    assert!(packets > 16, "{packets}");
    for lost in 0..packets {
        let mut pair = Pair::transfer(12, move |flight| Fate::drop_if(flight.index == lost));
        pair.run_to_end(Duration::from_secs(120));
        let what = format!("without packet {lost}, a {:?}", clean.log.get(lost).map(|(f, _)| f.kind));
        check(&pair, &what);
    }
}

/// The first words in PARTOPEN are lost together: what the server never saw carried data all but
/// once.
#[test]
fn the_first_acknowledgement_is_known_to_carry_no_data() {
    let mut after_request = 0;
    let mut pair = Pair::transfer(12, move |flight| {
        after_request += usize::from(flight.from == Side::Client && flight.kind != PacketType::Request);
        let first_two = flight.from == Side::Client && (1..=2).contains(&after_request);
        Fate::drop_if(first_two)
    });
    pair.run_to_end(Duration::from_secs(60));
    let first: Vec<_> = pair.kinds(Side::Client).into_iter().take(3).collect();
    assert_eq!(first, [PacketType::Request, PacketType::Ack, PacketType::DataAck]);
    check(&pair, "without Ack and first DataAck");
}

/// A client in PARTOPEN that has nothing to send learns that the server knows, even if the first
/// notice is lost.
#[test]
fn nobody_stays_in_part_open() {
    let mut acks = 0;
    let mut pair = Pair::new(move |flight| {
        acks += usize::from(flight.from == Side::Server && flight.kind == PacketType::Ack);
        Fate::drop_if(flight.from == Side::Server && acks == 1)
    });
    pair.run(Duration::from_secs(1));
    assert_eq!(pair.client.state(), Some(State::Open));
}

/// Every packet in turn is held back so long that others overtake it.
#[test]
fn the_delay_of_any_packet_does_no_harm() {
    let mut clean = Pair::transfer(12, |_| Fate::Deliver);
    clean.run_to_end(Duration::from_secs(60));
    for late in 0..clean.log.len() {
        let rule = move |flight: &Flight| {
            if flight.index == late { Fate::Late(ms(40)) } else { Fate::Deliver }
        };
        let mut pair = Pair::transfer(12, rule);
        pair.run_to_end(Duration::from_secs(120));
        let closed = pair.client.closed().zip(pair.server.closed());
        let (client, server) = closed.unwrap_or_else(|| panic!("packet {late} late: not closed"));
        assert_eq!((client.code, server.code), (ResetCode::Closed, ResetCode::Closed), "packet {late} late");
        // A datagram that comes after the Close is past its time.
        let received = u64::try_from(pair.server.received.len()).expect("small");
        assert!((11..=12).contains(&received), "packet {late} late: {received}");
        assert_eq!(server.peer_sent_data_packets, 12, "packet {late} late");
    }
}

#[test]
fn duplicates_are_delivered_once() {
    let mut pair = Pair::transfer(30, |_| Fate::Twice(ms(7)));
    pair.run_to_end(Duration::from_secs(60));
    check(&pair, "everything twice");
    assert!(pair.server.connection().stats().duplicate_packets > 20);
}

/// Loss, reordering and duplication of everything, both ways, on many seeds.
#[test]
fn chaos_ends_in_order() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut pair = Pair::transfer(150, move |_| match random.uniform() {
            x if x < 0.05 => Fate::Drop,
            x if x < 0.10 => Fate::Late(ms(30)),
            x if x < 0.15 => Fate::Twice(ms(20)),
            _ => Fate::Deliver,
        });
        pair.run_to_end(Duration::from_secs(600));
        let what = format!("seed {seed}");
        let closed = pair.client.closed().zip(pair.server.closed());
        let (client, server) = closed.unwrap_or_else(|| panic!("{what}: not closed at {:?}", pair.now));
        assert_eq!((client.code, server.code), (ResetCode::Closed, ResetCode::Closed), "{what}");
        let received = u64::try_from(pair.server.received.len()).expect("small");
        assert!(received <= 150 - pair.dropped_data(), "{what}");
        // What is late when the Close comes is lost, too.
        assert!(received + 3 >= 150 - pair.dropped_data(), "{what}: {received}");
        // Without NDP Count a lost Ack among lost datagrams may be taken for one.
        let known = server.peer_sent_data_packets;
        assert!((150..=152).contains(&known), "{what}: {known}");
        let mut numbers = pair.server.numbers();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), pair.server.received.len(), "{what}: nothing twice");
    }
}

#[test]
fn data_flows_both_ways() {
    let mut pair = Pair::transfer(100, |_| Fate::Deliver);
    pair.client.close_after = false;
    pair.server.to_send = 80;
    pair.run(Duration::from_secs(20));
    assert_eq!(pair.server.numbers(), (0..100).collect::<Vec<_>>());
    assert_eq!(pair.client.numbers(), (0..80).collect::<Vec<_>>());
    let (client, server) = (pair.client.connection(), pair.server.connection());
    assert_eq!((client.peer_sent_data_packets(), server.peer_sent_data_packets()), (80, 100));
    assert!(pair.kinds(Side::Server).contains(&PacketType::DataAck), "feedback rides on data");
    assert!(client.stats().received_feedback > 3 && server.stats().received_feedback > 3);
}

#[test]
fn loss_reaches_the_sender_as_a_rate() {
    let mut random = Random::new(9);
    let mut pair = Pair::transfer(3000, move |flight| {
        let data = flight.from == Side::Client && flight.kind == PacketType::Data;
        Fate::drop_if(data && random.happens(0.02))
    });
    pair.client.close_after = false;
    pair.run_until_sent(Duration::from_secs(120));
    let client = pair.client.connection();
    let p = client.loss_event_rate().get();
    assert!((0.01..0.035).contains(&p), "p = {p} at 2 % loss");
    let receiver = pair.server.connection().rate_receiver().expect("data came").loss_event_rate().get();
    assert!((p / receiver - 1.0).abs() < 0.35, "sender {p}, receiver {receiver}");
    let rtt = client.rtt().map_or(0.0, Duration::as_secs_f64);
    assert!((rtt - 0.05).abs() < 0.001, "{rtt}");
    // 500 bytes, 50 ms, p: the equation.
    let expected =
        tfrc::equation::Equation::default().rate(500.0, ms(50), client.loss_event_rate()).bytes_per_sec();
    let rate = client.rate().bytes_per_sec();
    assert!((rate / expected - 1.0).abs() < 0.25, "{rate} B/s, equation {expected}");
}

/// A profile is the sender's alone: the receiver reports a first loss interval by RFC 5348's
/// equation whatever its own profile is, and the sender converts it to its own.
#[test]
fn a_sender_converts_the_first_interval_to_its_profile() {
    let with = |sending: Profile, receiving: Profile| {
        let settings = |profile: Profile| {
            let mut settings = tfrc::Settings::default();
            let choices = settings.algorithm.choices_mut();
            profile.choose(choices);
            // All send at the same times until the loss.
            choices.pairs = tfrc::study::Choices::default().pairs;
            ConnectionConfig { tfrc: settings.validate().expect("valid"), ..ConnectionConfig::default() }
        };
        let lost = |flight: &Flight| flight.from == Side::Client && flight.index == 300;
        let mut pair = Pair::with(settings(sending), settings(receiving), move |f| Fate::drop_if(lost(f)));
        pair.set_delay(ms(100));
        pair.client.to_send = 600;
        pair.client.close_after = false;
        while pair.client.connection().loss_event_rate().is_zero() {
            pair.run(ms(10));
        }
        pair
    };
    let [rfc, alone, both] = [
        (Profile::Rfc5348, Profile::Rfc5348),
        (Profile::Balanced, Profile::Rfc5348),
        (Profile::Balanced, Profile::Balanced),
    ]
    .map(|(sending, receiving)| with(sending, receiving));
    assert!(alone.captured == both.captured, "the receiver's profile changes no byte");
    let inverse = |pair: &Pair| 1.0 / pair.client.connection().loss_event_rate().get();
    assert!(inverse(&alone) < 0.8 * inverse(&rfc), "{}, {}", inverse(&alone), inverse(&rfc));
    let [reno, cubic] = [(&rfc, Profile::Rfc5348), (&alone, Profile::Balanced)].map(|(pair, profile)| {
        let mut choices = tfrc::study::Choices::default();
        profile.choose(&mut choices);
        choices.equation.rate(500.0, ms(200), pair.client.connection().loss_event_rate()).bytes_per_sec()
    });
    assert!((0.97..1.03).contains(&(cubic / reno)), "one loss, one rate: {cubic}, {reno}");
}

/// RFC 4342 §6 and §8.4, and RFC 6323 §3.3.
#[test]
fn reports_carry_what_the_profile_asks_for() {
    let mut pair = Pair::transfer(200, |flight| Fate::drop_if(flight.index % 50 == 49));
    pair.run_to_end(Duration::from_secs(60));
    let mut reports = 0;
    for (to, bytes) in &pair.captured {
        let packet = parse(bytes);
        let kind = packet.header.kind();
        let kinds: Vec<u8> =
            tfrc_dccp::wire::options(kind, packet.options).flatten().map(|item| item.raw.kind).collect();
        if *to == Side::Server && kind.carries_datagram() {
            assert!(kinds.contains(&128), "RTT Estimate on all data: {kinds:?}");
        }
        if *to == Side::Client && kinds.contains(&194) {
            reports += 1;
            let feedback = [43, 194, 192, 193];
            assert!(feedback.iter().all(|wanted| kinds.contains(wanted)), "{kinds:?}");
        }
    }
    assert!(reports > 5, "{reports}");
}

#[test]
fn congestion_marks_count_as_loss_events() {
    let mut n = 0;
    let mut pair = Pair::transfer(1500, move |flight| {
        if flight.from == Side::Client && flight.kind == PacketType::Data {
            n += 1;
        }
        if n % 100 == 99 { Fate::Mark } else { Fate::Deliver }
    });
    pair.client.close_after = false;
    pair.run(Duration::from_secs(60));
    let p = pair.client.connection().loss_event_rate().get();
    assert!((0.006..0.02).contains(&p), "p = {p} at one mark in 100");
    assert!(pair.server.connection().stats().marked_packets >= 10);
    assert_eq!(pair.server.received.len(), 1500, "nothing is lost");
}

#[test]
fn the_sequence_window_grows_with_the_rate() {
    let mut pair = Pair::transfer(30_000, |_| Fate::Deliver);
    pair.set_delay(ms(100));
    pair.client.size = 1000;
    // Open at the end, so that no change of the window is left half done.
    pair.client.close_after = false;
    pair.run(Duration::from_secs(60));
    assert_eq!(pair.server.received.len(), 30_000);
    let window = pair.client.connection().feature(Feature::SequenceWindow, Location::Local);
    assert!(window > 1000, "{window}");
    assert_eq!(window, pair.server.connection().feature(Feature::SequenceWindow, Location::Remote));
    let stats = pair.server.connection().stats();
    assert_eq!(stats.invalid_packets, 0, "and nothing fell out of it");
}

#[test]
fn long_datagrams_are_refused_with_the_limit() {
    let mut pair = Pair::opened();
    let now = pair.now;
    let limit = pair.client.connection().max_datagram();
    let too_long = vec![0; limit + 1];
    let refused = pair.client.with(|connection| connection.send(now, &too_long));
    assert_eq!(refused, Err(tfrc_dccp::SendError::TooLong { length: limit + 1, limit }));
    let fits = vec![0; limit];
    assert_eq!(pair.client.with(|connection| connection.send(now, &fits)), Ok(()));
    pair.run(ms(100));
    assert_eq!(pair.server.received.first().map(|received| received.bytes.len()), Some(limit));
}

#[test]
fn empty_datagrams_arrive() {
    // RFC 4340 §5.4: a Data packet without data is an empty datagram.
    let mut pair = Pair::opened();
    let now = pair.now;
    pair.client.with(|connection| connection.send(now, &[])).expect("it may");
    pair.run(ms(100));
    assert_eq!(pair.server.received.iter().map(|received| received.bytes.len()).collect::<Vec<_>>(), [0]);
}

#[test]
fn a_full_receive_queue_refuses_the_newest() {
    let server = ConnectionConfig { receive_queue: 4, ..ConnectionConfig::default() };
    let mut pair = Pair::with(ConnectionConfig::default(), server, |_| Fate::Deliver);
    pair.run(ms(200));
    pair.client.to_send = 10;
    let id = pair.server.id.take();
    pair.run(Duration::from_secs(5));
    pair.server.id = id;
    pair.run(ms(1));
    assert_eq!(pair.server.numbers(), [0, 1, 2, 3]);
    assert_eq!(pair.server.connection().stats().queue_dropped_packets, 6);
}

#[test]
fn rate_changes_are_told() {
    let mut pair = Pair::transfer(200, |_| Fate::Deliver);
    pair.run_to_end(Duration::from_secs(60));
    let told = pair.client.events.iter().filter(|event| matches!(event, Event::RateChanged(_))).count();
    assert!(told >= 3, "{told}");
    assert_eq!(pair.client.events.iter().filter(|event| **event == Event::Connected).count(), 1);
    assert!(matches!(pair.client.events.last(), Some(Event::Closed(_))), "the end comes last");
    assert!(matches!(pair.server.events.first(), Some(Event::RateChanged(_) | Event::Incoming { .. })));
}

/// The last datagram before a pause is lost, and packets without data reveal that during the pause:
/// nothing is reported without data (RFC 5348 §6.2), and what follows the pause is not late.
#[test]
fn a_lost_datagram_before_a_pause_delays_nothing_after_it() {
    let mut pair = Pair::opened();
    pair.client.to_send = 299;
    pair.run_until_sent(Duration::from_secs(30));
    pair.run(ms(200));
    pair.rule = Box::new(|flight| Fate::drop_if(flight.kind.carries_datagram()));
    pair.client.to_send = 1;
    pair.run(Duration::from_secs(50));
    pair.rule = Box::new(|_| Fate::Deliver);
    pair.client.to_send = 20;
    let again = pair.now;
    pair.run(Duration::from_secs(100));
    let late: Vec<_> =
        pair.server.received[299..].iter().map(|received| received.at.saturating_since(again)).collect();
    // One way, and 20 packets at W_init = 4380 bytes in a round-trip time: 114 ms.
    assert_eq!((late.len(), late.first()), (20, Some(&ms(25))));
    assert!(late.last().is_some_and(|last| (ms(40)..ms(150)).contains(last)), "{late:?}");
}

/// Each end talks for a moment once a second, in turn, over a path that loses 5 %: acknowledgements
/// of one direction reveal what the other one lost at the end of a spurt.
#[test]
fn talk_in_both_directions_goes_on() {
    for (seed, delay) in [(1, 25), (2, 5), (3, 100)] {
        let mut random = Random::new(seed);
        let mut pair = Pair::opened();
        pair.set_delay(ms(delay));
        pair.rule = Box::new(move |_| Fate::drop_if(random.happens(0.05)));
        for _ in 0..60 {
            pair.client.to_send += 10;
            pair.run(ms(500));
            pair.server.to_send += 10;
            pair.run(ms(500));
        }
        let arrived = [&pair.server, &pair.client].map(|end| end.received.len());
        assert!(arrived.iter().all(|n| (550..=590).contains(n)), "seed {seed}, {delay} ms: {arrived:?}");
    }
}
