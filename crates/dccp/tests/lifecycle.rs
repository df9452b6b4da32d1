//! How connections begin and end when things go wrong: refusals, Syncs, replays, silence,
//! stragglers.

use tfrc_dccp::connection::Silence;
use tfrc_dccp::endpoint::{ConnectConfig, Listen, Pressure};
use tfrc_dccp::wire::{Header, Opt, OptionList, PacketType, Reset, ResetCode, SeqAck, Sequence, ServiceCode};
use tfrc_dccp::{ClosedBy, ConnectionConfig, Endpoint, EndpointConfig, Event, State};
use tfrc_testkit::{Fate, PORT, Pair, Side, address, capped, emit, ms, parse};
use tfrc_units::{Duration, Ecn, Instant, SeqNo48};

fn service(text: &str) -> ConnectionConfig {
    ConnectionConfig { service: text.parse().expect("a service code"), ..ConnectionConfig::default() }
}

#[test]
fn another_service_is_refused() {
    let mut pair = Pair::with(service("SC:abcd"), service("SC:abce"), |_| Fate::Deliver);
    pair.run(ms(200));
    let closed = pair.client.closed().expect("refused at once");
    assert_eq!((closed.by, closed.code), (ClosedBy::PeerReset, ResetCode::BadServiceCode));
    assert_eq!(pair.server.endpoint.stats().refused, 1);
    let refusal = pair.server.endpoint.poll_refusal().expect("kept");
    assert_eq!((refusal.remote, refusal.code), (address(Side::Client), Some(ResetCode::BadServiceCode)));
    assert_eq!(pair.server.endpoint.poll_refusal(), None);
    let mut pair = Pair::with(service("SC:abcd"), service("SC:abcd"), |_| Fate::Deliver);
    pair.run(ms(200));
    let code = ServiceCode::new(0x6162_6364);
    assert!(pair.server.events.contains(&Event::Incoming { service: code }));
}

#[test]
fn who_does_not_listen_refuses() {
    for (listen, port, expected) in [
        (Listen::Refuse, PORT, ResetCode::ConnectionRefused),
        (Listen::One, PORT + 1, ResetCode::ConnectionRefused),
        (Listen::Many(0), PORT, ResetCode::TooBusy),
    ] {
        let mut pair = Pair::new(|_| Fate::Deliver);
        let config = EndpointConfig { listen, port, ..EndpointConfig::default() };
        pair.server.endpoint = Endpoint::new(config, [2; 32]);
        pair.run(ms(200));
        assert_eq!(pair.client.closed().map(|closed| closed.code), Some(expected), "{listen:?}");
    }
}

#[test]
fn one_at_a_time() {
    let mut pair = Pair::opened();
    let now = pair.now;
    let config = ConnectConfig { port: PORT, connection: ConnectionConfig::default() };
    let second = pair.client.endpoint.connect(now, address(Side::Server), config.clone()).expect("a port");
    let first = pair.client.id.replace(second);
    pair.run(ms(200));
    assert_eq!(pair.client.closed().map(|closed| closed.code), Some(ResetCode::TooBusy));
    pair.client.events.clear();
    let close = |pair: &mut Pair| {
        let now = pair.now;
        pair.client.events.clear();
        pair.client.with(|connection| connection.close(now));
        pair.run(ms(300));
        assert_eq!(pair.client.closed().map(|closed| closed.code), Some(ResetCode::Closed));
        pair.client.events.clear();
    };
    // Who comes on the heels of the first is not refused: its Request is repeated after a second,
    // and by then the application has released the place.
    pair.client.id = first;
    close(&mut pair);
    let next = pair.client.endpoint.connect(pair.now, address(Side::Server), config.clone());
    pair.client.id = next.ok();
    pair.run(ms(500));
    assert_eq!((pair.client.state(), pair.client.closed()), (Some(State::Request), None));
    let over = pair.server.id.take().expect("the first");
    pair.server.endpoint.release(pair.now, over);
    pair.run(ms(700));
    assert_eq!((pair.client.state(), pair.server.state()), (Some(State::Open), Some(State::Open)));
    // An application that keeps the place for seconds has others refused.
    close(&mut pair);
    pair.run(ms(4000));
    pair.client.id = pair.client.endpoint.connect(pair.now, address(Side::Server), config).ok();
    pair.run(ms(200));
    assert_eq!(pair.client.closed().map(|closed| closed.code), Some(ResetCode::TooBusy));
}

#[test]
fn requests_are_repeated_with_backoff_and_given_up() {
    // RFC 4340 §8.1.1
    let mut pair = Pair::new(|_| Fate::Drop);
    pair.run(Duration::from_secs(120));
    let times: Vec<u64> = pair
        .log
        .iter()
        .filter(|(flight, _)| flight.kind == PacketType::Request)
        .map(|(flight, _)| flight.at.as_nanos() / 1_000_000_000)
        .collect();
    assert_eq!(times, [0, 1, 3, 7, 15, 31]);
    assert_eq!(pair.kinds(Side::Client).last(), Some(&PacketType::Reset), "to clean up at the server");
    let closed = pair.client.closed().expect("given up");
    assert_eq!((closed.by, closed.code), (ClosedBy::OurReset, ResetCode::Aborted));
}

#[test]
fn a_server_can_ask_its_client_to_close() {
    for lost in 0..4 {
        let mut seen = 0;
        let mut pair = Pair::new(move |flight| {
            let of_close =
                matches!(flight.kind, PacketType::CloseReq | PacketType::Close | PacketType::Reset);
            seen += usize::from(of_close);
            Fate::drop_if(of_close && seen == lost)
        });
        pair.run(ms(200));
        let now = pair.now;
        pair.server.with(|connection| {
            connection.set_closing_text("done");
            connection.request_close(now);
        });
        pair.run_to_end(Duration::from_secs(20));
        let (client, server) = (pair.client.closed().expect("over"), pair.server.closed().expect("over"));
        assert_eq!((client.code, server.code), (ResetCode::Closed, ResetCode::Closed), "{lost} lost");
        assert_eq!(client.text.as_deref(), Some("done"), "{lost} lost");
        let kinds: Vec<_> =
            [Side::Server, Side::Client].into_iter().flat_map(|side| pair.kinds(side)).collect();
        for kind in [PacketType::CloseReq, PacketType::Close, PacketType::Reset] {
            assert!(kinds.contains(&kind), "{lost} lost: {kinds:?}");
        }
    }
}

#[test]
fn both_may_close_at_once() {
    let mut pair = Pair::opened();
    let now = pair.now;
    pair.client.with(|connection| connection.close(now));
    pair.server.with(|connection| connection.close(now));
    pair.run_to_end(Duration::from_secs(5));
    assert_eq!(pair.client.closed().map(|closed| closed.code), Some(ResetCode::Closed));
    assert_eq!(pair.server.closed().map(|closed| closed.code), Some(ResetCode::Closed));
}

#[test]
fn a_close_is_accepted_after_a_while_without_the_application() {
    let mut pair = Pair::opened();
    let now = pair.now;
    pair.server.id = None;
    pair.client.with(|connection| connection.close(now));
    pair.run(ms(400));
    let closed = pair.client.closed().expect("over");
    assert_eq!((closed.code, closed.text.as_deref()), (ResetCode::Closed, Some(tfrc_dccp::UNCONFIRMED)));
    assert!(pair.now.saturating_since(now) <= ms(400));
}

#[test]
fn a_lost_reset_is_said_again_by_what_is_left() {
    let mut resets = 0;
    let mut pair = Pair::transfer(3, move |flight| {
        resets += usize::from(flight.kind == PacketType::Reset);
        Fate::drop_if(flight.kind == PacketType::Reset && resets <= 3)
    });
    pair.run_to_end(Duration::from_secs(30));
    let closed = pair.client.closed().expect("over");
    assert_eq!((closed.code, closed.text.as_deref()), (ResetCode::Closed, Some("3 received")));
    assert!(pair.server.endpoint.stats().resets >= 3);
}

#[test]
fn a_close_nobody_answers_is_given_up() {
    let mut pair = Pair::new(|flight| Fate::drop_if(flight.kind == PacketType::Close));
    pair.run(ms(200));
    let now = pair.now;
    pair.client.with(|connection| connection.close(now));
    pair.run_to_end(Duration::from_secs(60));
    let closed = pair.client.closed().expect("over");
    assert_eq!((closed.by, closed.code), (ClosedBy::OurReset, ResetCode::Aborted));
    let closes = pair.kinds(Side::Client).iter().filter(|kind| **kind == PacketType::Close).count();
    assert!((6..=9).contains(&closes), "{closes} Closes in 30 s, backing off");
    assert_eq!(pair.server.closed().map(|closed| closed.code), Some(ResetCode::Aborted));
}

#[test]
fn an_abort_reaches_the_other_end() {
    let mut pair = Pair::opened();
    let now = pair.now;
    pair.client.with(|connection| {
        connection.set_closing_text("enough");
        connection.abort(now, ResetCode::AggressionPenalty);
    });
    pair.run(ms(100));
    let closed = pair.server.closed().expect("over");
    assert_eq!((closed.by, closed.code), (ClosedBy::PeerReset, ResetCode::AggressionPenalty));
    assert_eq!(closed.text.as_deref(), Some("enough"));
    let last = pair.client.with(|connection| connection.next_send(now));
    assert_eq!(last, None);
}

#[test]
fn a_silent_peer_is_asked_and_then_given_up() {
    let mut pair = Pair::opened();
    pair.rule = Box::new(|flight| Fate::drop_if(flight.from == Side::Server));
    let start = pair.now;
    pair.run_to_end(Duration::from_secs(100));
    let closed = pair.client.closed().expect("over");
    assert_eq!((closed.by, closed.code), (ClosedBy::OurReset, ResetCode::Aborted));
    let syncs = pair.kinds(Side::Client).iter().filter(|kind| **kind == PacketType::Sync).count();
    assert_eq!(syncs, 15, "after 15 s, then every 3 s");
    let reset = pair.log.iter().find(|(flight, _)| flight.kind == PacketType::Reset).expect("sent");
    assert_eq!(reset.0.at.saturating_since(start).as_nanos() / 1_000_000_000, 59, "60 s after the last word");
}

/// Half a minute of silence, as `tfrc recv` has it.
#[test]
fn a_dead_peer_is_given_up_after_five_questions_and_a_cut_path_endured() {
    let silence = Silence::Probe { after: Duration::from_secs(15), give_up: Duration::from_secs(30) };
    let config = ConnectionConfig { silence, ..ConnectionConfig::default() };
    let mut pair = Pair::with(ConnectionConfig::default(), config, |_| Fate::Deliver);
    pair.client.to_send = 50;
    pair.run_until_sent(Duration::from_secs(10));
    // Nothing gets through for 28 s of silence, and then the answer to a question does.
    let cut = pair.now + Duration::from_secs(26);
    pair.rule = Box::new(move |flight| Fate::drop_if(flight.at < cut));
    pair.run(Duration::from_secs(40));
    assert_eq!((pair.client.state(), pair.server.state()), (Some(State::Open), Some(State::Open)));
    let (start, asked) = (pair.now, pair.kinds(Side::Server));
    let asked = asked.iter().filter(|kind| **kind == PacketType::Sync).count();
    pair.rule = Box::new(|flight| Fate::drop_if(flight.from == Side::Client));
    pair.run(Duration::from_secs(31));
    let closed = pair.server.closed().expect("over");
    assert_eq!((closed.by, closed.code), (ClosedBy::OurReset, ResetCode::Aborted));
    let resets = pair.log.iter().filter(|(flight, _)| flight.kind == PacketType::Reset);
    let given_up = resets.map(|(flight, _)| flight.at.saturating_since(start)).next().expect("told");
    assert!(given_up > Duration::from_secs(14) && given_up <= Duration::from_secs(30), "{given_up:?}");
    let all = pair.kinds(Side::Server).iter().filter(|kind| **kind == PacketType::Sync).count();
    assert_eq!(all - asked, 5);
}

#[test]
fn an_idle_connection_is_kept() {
    let mut pair = Pair::opened();
    pair.run(Duration::from_secs(600));
    assert_eq!((pair.client.state(), pair.server.state()), (Some(State::Open), Some(State::Open)));
    assert!(
        pair.kinds(Side::Client).contains(&PacketType::SyncAck)
            || pair.kinds(Side::Server).contains(&PacketType::SyncAck)
    );
    // And it still carries data.
    pair.client.to_send = 5;
    pair.run(Duration::from_secs(5));
    assert_eq!(pair.server.numbers(), [0, 1, 2, 3, 4]);
}

#[test]
fn without_probes_silence_is_endured() {
    let config = ConnectionConfig { silence: Silence::Endure, ..ConnectionConfig::default() };
    let mut pair = Pair::with(config.clone(), config, |_| Fate::Deliver);
    pair.run(ms(200));
    let before = pair.log.len();
    pair.run(Duration::from_secs(1000));
    assert_eq!(pair.log.len(), before);
}

/// RFC 4340 §7.5.6, first example: so much is lost that the next packet lies beyond the window.
#[test]
fn a_sync_brings_the_ends_back_in_step() {
    let config = ConnectionConfig { tfrc: capped(1e6), ..ConnectionConfig::default() };
    let mut pair = Pair::with(config, ConnectionConfig::default(), |_| Fate::Deliver);
    pair.client.to_send = 5000;
    pair.run_until_sent(Duration::from_secs(60));
    pair.client.to_send = 2000;
    // The window is 1000 wide: three quarters of it lie ahead of the newest number received.
    let mut lost = 0;
    pair.rule = Box::new(move |flight| {
        lost += usize::from(flight.from == Side::Client && flight.kind.carries_datagram());
        Fate::drop_if((1..=760).contains(&lost))
    });
    pair.run_until_sent(Duration::from_secs(100));
    pair.run(Duration::from_secs(1));
    assert!(pair.kinds(Side::Server).contains(&PacketType::Sync));
    assert!(pair.kinds(Side::Client).contains(&PacketType::SyncAck));
    assert_eq!(pair.server.numbers().last(), Some(&6999), "and then data flows again");
    assert_eq!(pair.server.connection().peer_sent_data_packets(), 7000);
    assert_eq!(pair.client.state(), Some(State::Open));
    let stats = pair.server.connection().stats();
    assert!((1..150).contains(&stats.invalid_packets), "about a round-trip time of them: {stats:?}");
}

/// Everything that was ever sent comes again later: nothing changes.
#[test]
fn replays_do_no_harm() {
    let mut pair = Pair::transfer(50, |_| Fate::Deliver);
    pair.client.close_after = false;
    pair.run(Duration::from_secs(5));
    let old = std::mem::take(&mut pair.captured);
    let now = pair.now;
    for (i, (to, bytes)) in (0u64..).zip(&old) {
        pair.forge(now + ms(i), *to, Ecn::Ce, bytes);
    }
    let rate = pair.client.connection().rate();
    pair.run(Duration::from_secs(1));
    assert_eq!(pair.server.received.len(), 50);
    assert_eq!((pair.client.state(), pair.server.state()), (Some(State::Open), Some(State::Open)));
    assert!(pair.client.connection().loss_event_rate().is_zero());
    assert!(pair.client.connection().rate() <= rate, "an old report makes nobody faster");
    pair.client.to_send = 10;
    pair.client.close_after = true;
    pair.run_to_end(Duration::from_secs(20));
    assert_eq!(pair.server.received.len(), 60);
    // After the end, too: the stragglers are answered at most with Resets.
    let before = pair.log.len();
    let now = pair.now;
    for (i, (to, bytes)) in (0u64..).zip(&old) {
        pair.forge(now + ms(i), *to, Ecn::NotEct, bytes);
    }
    pair.run(Duration::from_secs(1));
    assert!(
        pair.log
            .iter()
            .skip(before)
            .all(|(flight, _)| { matches!(flight.kind, PacketType::Reset | PacketType::Response) })
    );
    assert_eq!(pair.server.received.len(), 60);
}

fn answers(endpoint: &mut Endpoint, now: Instant) -> Vec<Header> {
    let mut bytes = Vec::new();
    let mut headers = Vec::new();
    while endpoint.poll_transmit(now, &mut bytes).is_some() {
        headers.push(parse(&bytes).header);
    }
    headers
}

#[test]
fn packets_without_a_connection_get_resets() {
    // RFC 4340 §8.3.1
    let mut endpoint = Endpoint::new(EndpointConfig::default(), [0; 32]);
    let now = Instant::ZERO + ms(5);
    let (seq, ack) = (SeqNo48::new(77), SeqNo48::new(500));
    let no_connection = Reset::new(ResetCode::NoConnection);
    for (header, expected) in [
        (Header::Ack { numbers: SeqAck::Long { seq, ack } }, Some((ack.add(1), seq, no_connection))),
        (Header::Data { seq: Sequence::Long(seq) }, Some((SeqNo48::new(0), seq, no_connection))),
        (Header::Sync { seq, ack }, Some((ack.add(1), seq, no_connection))),
        (
            Header::Request { seq, service: ServiceCode::NONE },
            Some((SeqNo48::new(0), seq, Reset::new(ResetCode::ConnectionRefused))),
        ),
        (Header::Reset { seq, ack, reset: no_connection }, None),
    ] {
        endpoint.handle_datagram(now, address(Side::Client), Ecn::NotEct, &emit((9, 8), header, &[], &[]));
        let expected: Vec<_> =
            expected.into_iter().map(|(seq, ack, reset)| Header::Reset { seq, ack, reset }).collect();
        assert_eq!(answers(&mut endpoint, now), expected, "{header:?}");
    }
    endpoint.handle_datagram(now, address(Side::Client), Ecn::NotEct, b"not DCCP at all");
    assert_eq!(endpoint.stats().malformed, 1);
}

#[test]
fn resets_are_limited() {
    let config = EndpointConfig { resets_per_second: 10, ..EndpointConfig::default() };
    let mut endpoint = Endpoint::new(config, [0; 32]);
    let now = Instant::ZERO + ms(5);
    let data = emit((9, 8), Header::Data { seq: Sequence::Long(SeqNo48::new(1)) }, &[], &[]);
    for _ in 0..100 {
        endpoint.handle_datagram(now, address(Side::Client), Ecn::NotEct, &data);
    }
    assert_eq!(answers(&mut endpoint, now).len(), 10);
}

/// RFC 4340 §7.5.6, second example: a blind attacker changes nothing, and Syncs are limited.
#[test]
fn blind_attacks_fail() {
    let mut pair = Pair::transfer(20, |_| Fate::Deliver);
    pair.client.close_after = false;
    pair.run(Duration::from_secs(3));
    let (local, remote) = pair.server.connection().ports();
    let now = pair.now;
    let syncs = pair.server.connection().stats().sent_syncs;
    for i in 0..1000u64 {
        let seq = SeqNo48::new((i << 38) + 12_345);
        let header = match i % 4 {
            0 => Header::Data { seq: Sequence::Long(seq) },
            1 => Header::Reset { seq, ack: seq, reset: Reset::new(ResetCode::Closed) },
            2 => Header::Sync { seq, ack: seq },
            _ => Header::Close { seq, ack: seq },
        };
        let bytes = emit((remote, local), header, &[], b"evil");
        pair.forge(now + ms(i), Side::Server, Ecn::NotEct, &bytes);
    }
    pair.run(Duration::from_secs(2));
    assert_eq!(pair.server.received.len(), 20);
    assert_eq!((pair.client.state(), pair.server.state()), (Some(State::Open), Some(State::Open)));
    let syncs = pair.server.connection().stats().sent_syncs - syncs;
    assert!((8..=17).contains(&syncs), "{syncs} Syncs in a second of attack");
}

/// RFC 4340 §7.5.6, third example: a client that has forgotten everything calls again from the same
/// port.
#[test]
fn a_half_open_connection_is_cleaned_up() {
    let mut pair = Pair::opened();
    let (server_port, client_port) = pair.server.connection().ports();
    let seq = SeqNo48::new(0x1234_5678_9ABC);
    let request =
        emit((client_port, server_port), Header::Request { seq, service: ServiceCode::NONE }, &[], &[]);
    let now = pair.now;
    pair.hand(Side::Server, Ecn::NotEct, &request);
    let sync = answers(&mut pair.server.endpoint, now);
    let [Header::Sync { seq: sync_seq, ack }] = sync.as_slice() else { panic!("{sync:?}") };
    assert_eq!(*ack, seq);
    let header =
        Header::Reset { seq: seq.add(1), ack: *sync_seq, reset: Reset::packet_error(PacketType::Sync) };
    // The Reset's number is far away, so it is challenged too (§7.5.4), and the answer to the
    // challenge fits.
    let reset = emit((client_port, server_port), header, &[], &[]);
    pair.hand(Side::Server, Ecn::NotEct, &reset);
    let challenge = answers(&mut pair.server.endpoint, now);
    let [Header::Sync { seq: challenge, ack: gsr }] = challenge.as_slice() else { panic!("{challenge:?}") };
    let header =
        Header::Reset { seq: gsr.add(1), ack: *challenge, reset: Reset::new(ResetCode::NoConnection) };
    let reset = emit((client_port, server_port), header, &[], &[]);
    pair.hand(Side::Server, Ecn::NotEct, &reset);
    assert_eq!(pair.server.state(), Some(State::Closed));
}

#[test]
fn mandatory_options_that_are_not_understood_reset() {
    // RFC 4340 §5.8.2, and §15: without Mandatory nothing happens.
    for (options, expected) in [
        (&[100, 3, 7, 0][..], None),
        (&[1, 100, 3, 7], Some(Reset { code: ResetCode::MandatoryError, data: [100, 7, 0] })),
        (&[0, 0, 0, 1], Some(Reset { code: ResetCode::OptionError, data: [1, 0, 0] })),
        (&[1, 44, 6, 1, 2, 3, 4, 0], Some(Reset { code: ResetCode::MandatoryError, data: [44, 1, 2] })),
        (&[44, 6, 1, 2, 3, 4, 0, 0], None),
        // RFC 6323 §3.3: an RTT Estimate of four bytes.
        (&[128, 6, 1, 2, 3, 4, 0, 0], Some(Reset { code: ResetCode::OptionError, data: [128, 6, 1] })),
        (&[1, 32, 4, 99, 1, 0, 0, 0], Some(Reset { code: ResetCode::MandatoryError, data: [32, 99, 1] })),
    ] {
        let mut pair = Pair::opened();
        let (server_port, client_port) = pair.server.connection().ports();
        let now = pair.now;
        pair.client.to_send = 1;
        pair.drain();
        let (seq, ack) = (pair.newest(Side::Server), pair.newest(Side::Client));
        let header = Header::Ack { numbers: SeqAck::Long { seq: seq.add(1), ack } };
        let bytes = emit((client_port, server_port), header, options, &[]);
        pair.hand(Side::Server, Ecn::NotEct, &bytes);
        let told = answers(&mut pair.server.endpoint, now).into_iter().find_map(|header| match header {
            Header::Reset { reset, .. } => Some(reset),
            _ => None,
        });
        assert_eq!(told, expected, "{options:?}");
    }
}

#[test]
fn timestamps_are_echoed_with_the_time_they_were_held() {
    // RFC 4340 §13.1, 13.3
    let mut endpoint =
        Endpoint::new(EndpointConfig { listen: Listen::One, port: 8, ..EndpointConfig::default() }, [0; 32]);
    let mut list = OptionList::new(100);
    list.push(&Opt::Timestamp(38851)).expect("room");
    let header = Header::Request { seq: SeqNo48::new(1), service: ServiceCode::NONE };
    let request = emit((9, 8), header, list.padded(), &[]);
    endpoint.handle_datagram(Instant::ZERO, address(Side::Client), Ecn::NotEct, &request);
    let mut bytes = Vec::new();
    endpoint.poll_transmit(Instant::ZERO + ms(2), &mut bytes).expect("a Response");
    let response = parse(&bytes);
    let echo =
        tfrc_dccp::wire::options(PacketType::Response, response.options).flatten().find_map(
            |item| match item.option {
                Ok(Opt::TimestampEcho { value, elapsed }) => {
                    Some((value, elapsed.map(tfrc_dccp::wire::Elapsed::units)))
                }
                _ => None,
            },
        );
    assert_eq!(echo, Some((38851, Some(200))));
}

#[test]
fn a_flood_of_requests_holds_no_more_than_the_table() {
    let config = EndpointConfig {
        listen: Listen::Many(1000),
        port: PORT,
        half_open: 128,
        under_pressure: Pressure::Refuse,
        ..EndpointConfig::default()
    };
    let mut endpoint = Endpoint::new(config, [0; 32]);
    let flood = |endpoint: &mut Endpoint, at: Instant, from: u16| {
        for port in from..from + 500 {
            let header = Header::Request { seq: SeqNo48::new(1), service: ServiceCode::NONE };
            let bytes = emit((port, PORT), header, &[], &[]);
            endpoint.handle_datagram(at, address(Side::Client), Ecn::NotEct, &bytes);
        }
        let headers = answers(endpoint, at);
        headers.iter().filter(|header| matches!(header, Header::Response { .. })).count()
    };
    assert_eq!(flood(&mut endpoint, Instant::ZERO, 1000), 128);
    assert_eq!(flood(&mut endpoint, Instant::ZERO + ms(100), 2000), 0);
    // A client that does not continue for seconds gives way.
    assert_eq!(flood(&mut endpoint, Instant::ZERO + ms(4000), 3000), 128);
    assert_eq!(endpoint.poll_event(), None, "the application hears of none of them");
    assert_eq!(endpoint.connections().count(), 0);
    let stats = endpoint.stats();
    assert_eq!(stats.refused, 1500 - 256);
    let kept = core::iter::from_fn(|| endpoint.poll_refusal()).count();
    assert_eq!(kept, 64, "a flood fills no memory");
}

/// A thousand connections over one pair of endpoints.
#[test]
fn many_connections_share_an_endpoint() {
    let config = EndpointConfig {
        listen: Listen::Many(2000),
        port: PORT,
        half_open: 2000,
        ..EndpointConfig::default()
    };
    let mut server = Endpoint::new(config, [1; 32]);
    let mut client = Endpoint::new(EndpointConfig::default(), [2; 32]);
    let mut now = Instant::ZERO + ms(1);
    let mut ids = Vec::new();
    for _ in 0..1000 {
        let config = ConnectConfig { port: PORT, connection: ConnectionConfig::default() };
        ids.push(client.connect(now, address(Side::Server), config).expect("a port"));
    }
    let ports: std::collections::BTreeSet<u16> =
        client.connections().map(|(_, connection)| connection.ports().0).collect();
    assert_eq!(ports.len(), 1000);
    let mut bytes = Vec::new();
    let (mut incoming, mut received, mut sent) = (0, 0, 0);
    for _ in 0..400 {
        now += ms(5);
        client.handle_timeout(now);
        server.handle_timeout(now);
        while let Some((id, event)) = server.poll_event() {
            incoming += usize::from(matches!(event, Event::Incoming { .. }));
            if let Some(connection) = server.connection_mut(id) {
                received += std::iter::from_fn(|| connection.recv()).count();
            }
        }
        for id in &ids {
            if let Some(connection) = client.connection_mut(*id)
                && connection.stats().sent_data_packets < 3
                && connection.queued() == 0
                && connection.send(now, b"datagram").is_ok()
            {
                sent += 1;
            }
        }
        // A millisecond each way.
        let mut to_server = Vec::new();
        while client.poll_transmit(now, &mut bytes).is_some() {
            to_server.push(bytes.clone());
        }
        let mut to_client = Vec::new();
        while server.poll_transmit(now, &mut bytes).is_some() {
            to_client.push(bytes.clone());
        }
        now += ms(1);
        for bytes in &to_server {
            server.handle_datagram(now, address(Side::Client), Ecn::NotEct, bytes);
        }
        for bytes in &to_client {
            client.handle_datagram(now, address(Side::Server), Ecn::NotEct, bytes);
        }
    }
    assert_eq!((incoming, sent), (1000, 3000));
    assert_eq!(received, 3000);
    for id in ids {
        client.release(now, id);
    }
    while client.poll_transmit(now, &mut bytes).is_some() {
        server.handle_datagram(now, address(Side::Client), Ecn::NotEct, &bytes);
    }
    assert_eq!(client.connections().count(), 0);
    let closed = std::iter::from_fn(|| server.poll_event())
        .filter(|(_, event)| matches!(event, Event::Closed(_)))
        .count();
    assert_eq!(closed, 1000);
}

/// While the application takes its time over a Close, no timer comes again and again.
#[test]
fn a_close_that_waits_wakes_nobody() {
    let config =
        ConnectionConfig { accept_close_within: Duration::from_secs(5), ..ConnectionConfig::default() };
    let mut pair = Pair::with(ConnectionConfig::default(), config, |_| Fate::Deliver);
    pair.client.to_send = 50;
    pair.run_until_sent(Duration::from_secs(10));
    pair.server.id = None;
    let now = pair.now;
    pair.client.with(|connection| connection.close(now));
    let mut steps = 0;
    while pair.step(now + Duration::from_secs(20)).is_some() {
        steps += 1;
    }
    let reset = pair.log.iter().find(|(flight, _)| flight.kind == PacketType::Reset).expect("it ends");
    let waited = reset.0.at.saturating_since(now);
    assert!((Duration::from_secs(5)..Duration::from_millis(5100)).contains(&waited), "{waited}");
    // Nobody has said that the data are where they belong.
    let closed = pair.client.closed().expect("answered");
    assert_eq!((closed.by, closed.text.as_deref()), (ClosedBy::Us, Some(tfrc_dccp::UNCONFIRMED)));
    assert!(steps < 60, "{steps} wake-ups");
}

/// Texts of applications cross in the first packets, with a cookie too, and in a Close; a text set
/// after the Close has gone goes in another.
#[test]
fn applications_have_words_for_each_other() {
    for half_open in [128, 0] {
        let with = |greeting: &str| ConnectionConfig {
            greeting: greeting.to_owned(),
            ..ConnectionConfig::default()
        };
        let serving = EndpointConfig {
            half_open,
            listen: Listen::One,
            port: PORT,
            connection: with("receives"),
            ..EndpointConfig::default()
        };
        let mut pair = Pair::serving(with("sends"), serving, |_| Fate::Deliver);
        pair.run(ms(200));
        assert_eq!(pair.client.connection().peer_greeting(), Some("receives"));
        assert_eq!(pair.server.connection().peer_greeting(), Some("sends"), "half open: {half_open}");
        assert_eq!(pair.server.connection().peer_closing_text(), None);
        let now = pair.now;
        // The application of the server takes its time.
        let server = pair.server.id.take();
        pair.client.with(|connection| connection.close(now));
        pair.run(ms(40));
        let now = pair.now;
        pair.client.with(|connection| connection.set_closing_text("unfinished\n"));
        pair.run(ms(40));
        pair.server.id = server;
        assert_eq!(pair.server.connection().peer_closing_text(), Some("unfinished\\u{a}"));
        assert!(now < pair.now);
        pair.run_to_end(Duration::from_secs(5));
        let closed = pair.server.closed().expect("over");
        assert_eq!((closed.by, closed.text.as_deref()), (ClosedBy::Peer, Some("unfinished\\u{a}")));
    }
    let silent = Pair::opened();
    assert_eq!(
        (silent.client.connection().peer_greeting(), silent.server.connection().peer_greeting()),
        (None, None)
    );
}
