//! Connections wired to each other or to packets written by hand, where an endpoint would choose
//! the numbers.

use std::vec;
use std::vec::Vec;

use tfrc_testkit::at;
use tfrc_units::{Duration, Ecn, Instant, Probability, SeqNo24, SeqNo48};

use super::*;
use crate::feature::{RttReports, Wishes};
use crate::wire::{
    Elapsed, FeatureOp, FeatureOption, Header, LossInterval, LossIntervals, Opt, OptionList, Packet,
    PacketType, SeqAck, Sequence, ServiceCode,
};

const PORTS: Ports = Ports { local: 40_000, remote: 5001 };
const ISR: SeqNo48 = SeqNo48::new(7_000);
const RTT: Duration = Duration::from_millis(50);

/// A packet of the peer, as bytes.
fn bytes(header: Header, options: &[Opt<'_>], ccval: u8, payload: &[u8]) -> Vec<u8> {
    let mut list = OptionList::new(OptionList::MAX);
    for option in options {
        list.push(option).expect("room");
    }
    let mut out = Vec::new();
    let packet = Packet {
        source_port: PORTS.remote,
        destination_port: PORTS.local,
        ccval,
        coverage: 0,
        header,
        options: list.padded(),
        payload,
    };
    packet.emit(&mut out, Integrity::Udp).expect("legal");
    out
}

fn sent(connection: &mut Connection, now: Instant) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut out = Vec::new();
    connection.handle_timeout(now);
    while connection.poll_transmit(now, &mut out).is_some() {
        all.push(out.clone());
    }
    all
}

fn parse(bytes: &[u8]) -> Packet<'_> {
    Packet::parse(bytes, Integrity::Udp).expect("what is sent parses")
}

fn options_of<'a>(packet: &Packet<'a>) -> Vec<Opt<'a>> {
    crate::wire::options(packet.header.kind(), packet.options)
        .filter_map(|item| item.expect("placed").option.ok())
        .collect()
}

fn seq_of(packet: &Packet<'_>) -> SeqNo48 {
    match packet.header.sequence() {
        Sequence::Long(seq) => seq,
        Sequence::Short(_) => panic!("short"),
    }
}

fn confirm(op: FeatureOp, feature: u8) -> Opt<'static> {
    Opt::Feature(FeatureOption { op, feature, values: if feature == 1 { &[3, 3] } else { &[1, 1, 0] } })
}

/// Takes reports that nothing was sent for.
fn trusting() -> ConnectionConfig {
    ConnectionConfig {
        verification: crate::connection::Verification::Trusting,
        ..ConnectionConfig::default()
    }
}

/// A client in PARTOPEN whose server knows no RTT Estimate, as Linux, and has said `extra` in its
/// Response.
fn client(config: ConnectionConfig, iss: SeqNo48, extra: &[Opt<'_>]) -> Connection {
    client_that(|_| (), config, iss, extra)
}

/// A [`client`] that does something before the Response is read.
fn client_that(
    before: impl FnOnce(&mut Connection),
    config: ConnectionConfig,
    iss: SeqNo48,
    extra: &[Opt<'_>],
) -> Connection {
    let mut client = Connection::client_at(config, PORTS, iss, at(0));
    let request = sent(&mut client, at(0));
    assert_eq!(request.len(), 1);
    before(&mut client);
    let empty = |op| Opt::Feature(FeatureOption { op, feature: 128, values: &[] });
    let window = [0, 0, 0, 0, 3, 232];
    let mut options = vec![
        confirm(FeatureOp::ConfirmR, 1),
        confirm(FeatureOp::ConfirmL, 1),
        Opt::Feature(FeatureOption { op: FeatureOp::ConfirmR, feature: 3, values: &window }),
        confirm(FeatureOp::ConfirmR, 7),
        confirm(FeatureOp::ConfirmL, 7),
        confirm(FeatureOp::ConfirmR, 192),
        confirm(FeatureOp::ConfirmL, 192),
        empty(FeatureOp::ConfirmR),
        empty(FeatureOp::ConfirmL),
    ];
    options.extend_from_slice(extra);
    let response =
        bytes(Header::Response { seq: ISR, ack: iss, service: ServiceCode::NONE }, &options, 0, &[]);
    client.handle_datagram(at(50), Ecn::NotEct, &response);
    assert_eq!(client.state(), State::PartOpen);
    client
}

/// Sends a datagram when it is allowed to; gives the packet.
fn send(client: &mut Connection, now: Instant) -> Vec<u8> {
    client.send(now, &[0; 500]).expect("it is time");
    let packets = sent(client, now);
    packets.into_iter().find(|bytes| parse(bytes).header.kind().carries_datagram()).expect("a datagram")
}

#[test]
fn cookies_are_echoed_in_part_open_and_only_there() {
    // RFC 4340 §8.1.4
    let mut client = client(
        ConnectionConfig::default(),
        SeqNo48::new(1),
        &[Opt::InitCookie(b"first"), Opt::InitCookie(b"second")],
    );
    let has_cookies = |bytes: &[u8]| {
        let options = options_of(&parse(bytes));
        let cookies: Vec<_> = options.iter().filter(|option| matches!(option, Opt::InitCookie(_))).collect();
        cookies == [&Opt::InitCookie(b"first"), &Opt::InitCookie(b"second")]
    };
    let ack = sent(&mut client, at(50));
    assert!(ack.iter().all(|bytes| has_cookies(bytes)));
    let data = send(&mut client, at(50));
    assert_eq!(parse(&data).header.kind(), PacketType::DataAck, "no Data in PARTOPEN");
    assert!(has_cookies(&data));
    let numbers = SeqAck::Long { seq: ISR.add(1), ack: SeqNo48::new(2) };
    client.handle_datagram(at(100), Ecn::NotEct, &bytes(Header::Ack { numbers }, &[], 0, &[]));
    assert_eq!(client.state(), State::Open);
    client.handle_timeout(at(1100));
    let data = send(&mut client, at(1100));
    assert_eq!(parse(&data).header.kind(), PacketType::Data);
    assert!(!has_cookies(&data));
    client.close(at(1200));
    let close = sent(&mut client, at(1200));
    assert!(close.iter().any(|bytes| parse(bytes).header.kind() == PacketType::Close));
    assert!(close.iter().all(|bytes| !has_cookies(bytes)), "they are forgotten, not only withheld");
}

/// RFC 4340 §11.7: a refusal is in eight reports, and none is made where there is nothing to say.
#[test]
fn what_was_told_often_enough_is_told_no_more() {
    let mut client = client(ConnectionConfig::default(), SeqNo48::new(1), &[]);
    let newest = client.seq.extend(ISR);
    client.refused.get_or_insert_default().record(at(60), newest, super::refused::RECEIVE_BUFFER);
    let reports: Vec<usize> = (0..10)
        .map(|_| {
            let mut list = OptionList::new(OptionList::MAX);
            client.push_refused(&mut list);
            list.padded().len()
        })
        .collect();
    assert_eq!(reports, [4, 4, 4, 4, 4, 4, 4, 4, 0, 0]);
}

#[test]
fn part_open_repeats_its_acknowledgement() {
    // RFC 4340 §8.1.5: 200 ms, then backing off; for 8 minutes.
    let mut client =
        client(ConnectionConfig { silence: Silence::Endure, ..ConnectionConfig::default() }, ISR, &[]);
    let mut times = Vec::new();
    assert_eq!(sent(&mut client, at(50)).len(), 1);
    while client.state() == State::PartOpen {
        let wake = client.poll_timeout().expect("a timer");
        client.handle_timeout(wake.at);
        for bytes in sent(&mut client, wake.at) {
            times.push((wake.at.as_nanos() / 1_000_000, parse(&bytes).header.kind()));
        }
    }
    assert_eq!(times.first(), Some(&(250, PacketType::Ack)));
    assert_eq!(times.get(1), Some(&(650, PacketType::Ack)));
    assert_eq!(times.last(), Some(&(480_050, PacketType::Reset)));
}

#[test]
fn unneeded_confirms_stop_when_the_handshake_is_done() {
    let asks = Opt::Feature(FeatureOption { op: FeatureOp::ChangeL, feature: 7, values: &[1] });
    let mut client = client(ConnectionConfig::default(), SeqNo48::new(1), &[asks]);
    let confirms = |bytes: &[u8]| {
        options_of(&parse(bytes))
            .iter()
            .any(|option| matches!(option, Opt::Feature(f) if f.op == FeatureOp::ConfirmR && f.feature == 7))
    };
    assert!(sent(&mut client, at(50)).iter().all(|bytes| confirms(bytes)));
    // Should the first Ack be lost, a server like Linux needs them on what follows.
    assert!(confirms(&send(&mut client, at(50))));
    let numbers = SeqAck::Long { seq: ISR.add(1), ack: SeqNo48::new(2) };
    client.handle_datagram(at(100), Ecn::NotEct, &bytes(Header::Ack { numbers }, &[], 0, &[]));
    assert!(!confirms(&send(&mut client, at(1100))));
}

/// A peer's feedback: an Ack with these options.
fn feedback(seq: u64, ack: SeqNo48, options: &[Opt<'_>]) -> Vec<u8> {
    bytes(Header::Ack { numbers: SeqAck::Long { seq: ISR.add(seq), ack } }, options, 0, &[])
}

#[test]
fn a_linux_receiver_is_understood() {
    // README of the captures, 3: only Receive Rate and Loss Event Rate.
    let linux = [Opt::ReceiveRate(20_000), Opt::LossEventRate(u32::MAX)];
    let mut lenient = client(ConnectionConfig::default(), SeqNo48::new(1), &[]);
    let strict = ConnectionConfig { feedback: FeedbackProfile::Strict, ..ConnectionConfig::default() };
    let mut strict = client(strict, SeqNo48::new(1), &[]);
    for (connection, taken) in [(&mut lenient, 1), (&mut strict, 0)] {
        assert_eq!(connection.rtt(), Some(RTT));
        sent(connection, at(50));
        let data = send(connection, at(50));
        connection.handle_datagram(at(190), Ecn::NotEct, &feedback(1, seq_of(&parse(&data)), &linux));
        assert_eq!(connection.stats().received_feedback, taken);
        // It was held for an unknown time: the 140 ms are not a round-trip time.
        assert_eq!(connection.rtt(), Some(RTT));
    }
    // From now on a Timestamp goes out, and its echo gives the hold time.
    let data = send(&mut lenient, at(400));
    let options = options_of(&parse(&data));
    let Some(Opt::Timestamp(stamp)) = options.iter().find(|option| matches!(option, Opt::Timestamp(_)))
    else {
        panic!("{options:?}")
    };
    let held = Some(Elapsed::from_duration(Duration::from_millis(40)));
    let echo = Opt::TimestampEcho { value: *stamp, elapsed: held };
    let report = [echo, Opt::ReceiveRate(20_000), Opt::LossEventRate(100)];
    lenient.handle_datagram(at(500), Ecn::NotEct, &feedback(2, seq_of(&parse(&data)), &report));
    let rtt = lenient.rtt().map_or(0.0, Duration::as_secs_f64);
    assert!((rtt - 0.06).abs() < 1e-4, "100 ms less 40, the first sample: {rtt}");
    assert_eq!(lenient.loss_event_rate(), Probability::saturating(0.01));
}

/// The options of a report that was held for 5 ms and has no loss.
fn lossless(space: &mut Vec<u8>) -> [Opt<'_>; 3] {
    let none = [LossInterval { lossless_length: 3, ..LossInterval::default() }];
    [
        Opt::ElapsedTime(Elapsed::from_duration(Duration::from_millis(5))),
        Opt::ReceiveRate(0),
        Opt::LossIntervals(LossIntervals::encode(0, &none, space)),
    ]
}

/// A client that has sent a datagram after 50 ms, and the datagram's number.
fn client_with_datagram() -> (Connection, SeqNo48) {
    let mut client = client(ConnectionConfig::default(), SeqNo48::new(1), &[]);
    sent(&mut client, at(50));
    let first = seq_of(&parse(&send(&mut client, at(50))));
    (client, first)
}

/// The process stands still for a second. A report has come meanwhile, but the application hands
/// over a datagram before the host has read it.
#[test]
fn a_report_that_waited_here_measures_the_path() {
    let (mut client, first) = client_with_datagram();
    let mut space = Vec::new();
    let report = lossless(&mut space);
    client.send(at(1100), &[0; 500]).expect("there is room");
    client.handle_datagram(at(105), Ecn::NotEct, &feedback(1, first, &report));
    assert_eq!((client.stats().received_feedback, client.rtt()), (1, Some(RTT)), "105 − 50 − 5 ms");
}

#[test]
fn a_response_that_waited_here_measures_the_path() {
    let hand_over = |client: &mut Connection| client.send(at(900), &[0; 500]).expect("there is room");
    let client = client_that(hand_over, ConnectionConfig::default(), SeqNo48::new(1), &[]);
    assert_eq!(client.rtt(), Some(RTT));
}

#[test]
fn feedback_is_checked_against_what_was_sent() {
    let (mut client, first) = client_with_datagram();
    let mut space = Vec::new();
    let report = lossless(&mut space);
    // Nothing with this number has been sent: sequence-invalid, so a Sync asks.
    client.handle_datagram(at(105), Ecn::NotEct, &feedback(1, first.add(1), &report));
    assert_eq!((client.stats().received_feedback, client.stats().invalid_packets), (0, 1));
    client.handle_datagram(at(105), Ecn::NotEct, &feedback(2, first, &report));
    assert_eq!(client.stats().received_feedback, 1);
    assert_eq!(client.rtt(), Some(RTT), "105 − 50 − 5 ms");
    // What a later report has overtaken says nothing new.
    let mut times = (200..).step_by(100).map(at);
    let (second, third) = (times.next().expect("endless"), times.next().expect("endless"));
    let second = seq_of(&parse(&send(&mut client, second)));
    let now = third;
    let third = seq_of(&parse(&send(&mut client, now)));
    client.handle_datagram(now + RTT, Ecn::NotEct, &feedback(4, third, &report));
    client.handle_datagram(now + RTT, Ecn::NotEct, &feedback(3, second, &report));
    assert_eq!((client.stats().received_feedback, client.stats().refused_feedback), (2, 1));
}

#[test]
fn loss_intervals_make_the_rate() {
    let mut client = client(trusting(), SeqNo48::new(1), &[]);
    sent(&mut client, at(50));
    let data = seq_of(&parse(&send(&mut client, at(50))));
    let mut space = Vec::new();
    let interval = |lossless_length, loss_length, data_length| LossInterval {
        lossless_length,
        loss_length,
        data_length,
        ..LossInterval::default()
    };
    let intervals = [interval(5, 1, 6), interval(1, 1, 3), interval(9, 0, 4)];
    // RFC 4342 §8.6.1: a second option with a Skip Length is ignored.
    let mut other = Vec::new();
    let ignored = LossIntervals::encode(2, &[interval(1, 1, 1); 9], &mut other);
    let report = [
        Opt::ElapsedTime(Elapsed::ZERO),
        Opt::ReceiveRate(10_000),
        Opt::LossEventRate(5),
        Opt::LossIntervals(LossIntervals::encode(0, &intervals, &mut space)),
        Opt::LossIntervals(ignored),
    ];
    client.handle_datagram(at(100), Ecn::NotEct, &feedback(1, data, &report));
    // (6 + 3)/2 packets with the open interval, (3 + 4)/2 without: 4.5, which the rate option could
    // not say.
    assert_eq!(client.loss_event_rate(), Probability::saturating(1.0 / 4.5));
}

#[test]
fn slow_receiver_and_data_dropped_hold_the_rate_down() {
    // RFC 4342 §5.2
    let rate_after = |extra: Option<Opt<'static>>| {
        let mut client = client(trusting(), SeqNo48::new(1), &[]);
        sent(&mut client, at(50));
        send(&mut client, at(50));
        let mut now = at(50);
        for round in 1..8 {
            now += RTT;
            while let Some(tfrc::SendDecision::At(due)) = client.next_send(now) {
                now = due;
                client.handle_timeout(now);
            }
            let data = send(&mut client, now);
            let mut space = Vec::new();
            let none = [LossInterval { lossless_length: 3, ..LossInterval::default() }];
            let mut report = vec![
                Opt::ElapsedTime(Elapsed::ZERO),
                Opt::ReceiveRate(100_000),
                Opt::LossIntervals(LossIntervals::encode(0, &none, &mut space)),
            ];
            report.extend(extra);
            now += RTT;
            let ack = seq_of(&parse(&data));
            client.handle_datagram(now, Ecn::NotEct, &feedback(round, ack, &report));
        }
        (client.rate().bytes_per_sec(), client.loss_event_rate().get())
    };
    let (free, _) = rate_after(None);
    let (slow, _) = rate_after(Some(Opt::SlowReceiver));
    assert!(slow <= 100_000.0 * 1.001 && free > 1.5 * slow, "free {free}, slow {slow}");
    // Two packets dropped in the receive buffer, per report.
    let dropped =
        |block: &'static [u8]| rate_after(Some(Opt::DataDropped(crate::wire::DataDropped { blocks: block })));
    for code in [0x80, 0x90, 0xA0] {
        let block: &'static [u8] = match code {
            0x80 => &[0x81],
            0x90 => &[0x91],
            _ => &[0xA1],
        };
        let (rate, p) = dropped(block);
        assert!((60_000.0..=100_000.0).contains(&rate) && p == 0.0, "{code:x}: {rate}, p = {p}");
    }
    // RFC 4340 §11.7.2: all other codes are congestion, each once: a packet in each round trip.
    for block in [&[0xB0], &[0xC0], &[0xD0], &[0xE0], &[0xF0]] {
        let (rate, p) = dropped(block);
        assert!(rate < slow / 2.0 && p > 0.2, "{block:x?}: {rate}, p = {p}");
    }
}

#[test]
fn short_numbers_are_ignored_while_not_agreed() {
    // RFC 4340 §7.6.1
    let mut client = client(ConnectionConfig::default(), SeqNo48::new(1), &[]);
    let short = Header::Data { seq: Sequence::Short(SeqNo24::new(7001)) };
    client.handle_datagram(at(60), Ecn::NotEct, &bytes(short, &[], 0, b"no"));
    assert_eq!((client.stats().invalid_packets, client.recv()), (1, None));
}

#[test]
fn other_packets_in_request_are_answered_with_packet_error() {
    // RFC 4340 §8.5 step 4 and §7.5.6, third example.
    let mut client = Connection::client_at(ConnectionConfig::default(), PORTS, SeqNo48::new(400), at(0));
    sent(&mut client, at(0));
    let sync = Header::Sync { seq: SeqNo48::new(11), ack: SeqNo48::new(400) };
    client.handle_datagram(at(20), Ecn::NotEct, &bytes(sync, &[], 0, &[]));
    let answer = sent(&mut client, at(20));
    let [reset] = answer.as_slice() else { panic!("{answer:?}") };
    assert_eq!(
        parse(reset).header,
        Header::Reset {
            seq: SeqNo48::new(401),
            ack: SeqNo48::new(11),
            reset: Reset::packet_error(PacketType::Sync)
        }
    );
    assert_eq!(client.state(), State::Request);
    let wake = client.poll_timeout().expect("the next Request");
    client.handle_timeout(wake.at);
    let again = sent(&mut client, wake.at);
    assert_eq!(again.first().map(|bytes| seq_of(&parse(bytes))), Some(SeqNo48::new(402)));
    // A Response to a Request never sent is no better.
    let stray = Header::Response { seq: ISR, ack: SeqNo48::new(399), service: ServiceCode::NONE };
    client.handle_datagram(wake.at, Ecn::NotEct, &bytes(stray, &[], 0, &[]));
    assert_eq!(client.state(), State::Request);
}

/// Two connections with numbers of choice, half a round-trip time apart, that exchange `count`
/// datagrams.
fn exchange(
    iss: SeqNo48,
    isr: SeqNo48,
    wishes: Wishes,
    count: u64,
    lost: impl Fn(u64) -> bool,
) -> (Connection, Connection) {
    let config = ConnectionConfig { wishes, ..ConnectionConfig::default() };
    let mut client = Connection::client_at(config.clone(), PORTS, iss, at(0));
    let ports = Ports { local: PORTS.remote, remote: PORTS.local };
    let mut server = Connection::server_at(config, ports, isr, iss, at(0));
    let mut network: Vec<(Instant, bool, Vec<u8>)> = Vec::new();
    let (mut now, mut handed, mut packets) = (at(0), 0, 0);
    while server.received_data_packets() + server.peer_sent_data_packets() < 2 * count && now < at(600_000) {
        if handed < count && client.send(now, &[7; 300]).is_ok() {
            handed += 1;
        }
        for bytes in sent(&mut client, now) {
            packets += 1;
            if !lost(packets) {
                network.push((now + RTT / 2, true, bytes));
            }
        }
        for bytes in sent(&mut server, now) {
            network.push((now + RTT / 2, false, bytes));
        }
        let pending: Vec<_> = network.extract_if(.., |(arrival, ..)| *arrival <= now).collect();
        for (_, to_server, bytes) in pending {
            let end = if to_server { &mut server } else { &mut client };
            end.handle_datagram(now, Ecn::NotEct, &bytes);
        }
        client.handle_timeout(now);
        server.handle_timeout(now);
        while client.poll_event().is_some() {}
        while server.poll_event().is_some() {}
        while server.recv().is_some() {}
        now += Duration::from_millis(1);
        if handed == count && network.is_empty() && now > at(100_000) {
            break;
        }
    }
    (client, server)
}

#[test]
fn numbers_may_wrap_in_the_middle() {
    for before in [0, 1, 2, 3, 50, 150] {
        let iss = SeqNo48::MAX.sub(before);
        let (client, server) = exchange(iss, iss.add(1), Wishes::default(), 400, |_| false);
        assert_eq!(server.received_data_packets(), 400, "{before} numbers before the wrap");
        assert_eq!(server.peer_sent_data_packets(), 400);
        assert_eq!((client.stats().invalid_packets, server.stats().invalid_packets), (0, 0));
        assert!(client.stats().received_feedback > 5);
        assert!(client.loss_event_rate().is_zero());
        assert_eq!(client.feature(Feature::SequenceWindow, Location::Local), 1000);
    }
}

#[test]
fn without_rtt_reports_the_window_counter_does() {
    // RFC 4342 §10.2, 10.3
    let wishes = Wishes { rtt_reports: RttReports::Refused, ..Wishes::default() };
    let lost = |n: u64| n > 100 && n.is_multiple_of(60);
    let (client, server) = exchange(SeqNo48::new(1), ISR, wishes, 3000, lost);
    assert_eq!(client.feature(Feature::SendRttEstimate, Location::Local), 0);
    assert_eq!(server.peer_sent_data_packets(), 3000);
    let p = client.loss_event_rate().get();
    assert!((0.008..0.025).contains(&p), "one in 60: {p}");
    assert!(client.stats().received_feedback > 20, "{:?}", client.stats());
    let reports = Wishes::default();
    let (client, _) = exchange(SeqNo48::new(1), ISR, reports, 3000, lost);
    let by_time = client.loss_event_rate().get();
    assert!((p / by_time - 1.0).abs() < 0.3, "by counter {p}, by time {by_time}");
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let run = || {
        let mut client = Connection::client(ConnectionConfig::default(), 40_000, 5001, [3; 32], at(5));
        sent(&mut client, at(5))
    };
    assert_eq!(run(), run());
    let mut other = Connection::client(ConnectionConfig::default(), 40_000, 5001, [4; 32], at(5));
    assert_ne!(run(), sent(&mut other, at(5)), "another seed, another number");
}

/// RFC 4340 §11.7: what is said of packets that were not sent, had no data, or were reported before
/// counts nothing.
#[test]
fn data_dropped_counts_each_datagram_once() {
    let mut client = client(trusting(), SeqNo48::new(1), &[]);
    sent(&mut client, at(50));
    let mut now = at(50);
    let mut last = SeqNo48::new(0);
    for _ in 0..3 {
        now += RTT;
        last = seq_of(&parse(&send(&mut client, now)));
    }
    let blocks = [0xAF; 253];
    for round in 1..4 {
        now += RTT;
        let mut space = Vec::new();
        let none = [LossInterval { lossless_length: 3, ..LossInterval::default() }];
        let dropped = Opt::DataDropped(crate::wire::DataDropped { blocks: &blocks });
        let report = [
            Opt::ElapsedTime(Elapsed::ZERO),
            Opt::ReceiveRate(100_000),
            Opt::LossIntervals(LossIntervals::encode(0, &none, &mut space)),
            dropped,
            dropped,
            dropped,
        ];
        client.handle_datagram(now, Ecn::NotEct, &feedback(round, last, &report));
        assert_eq!(client.stats().peer_dropped_packets, 3, "all three, whatever is claimed");
    }
    assert_eq!(client.stats().sent_data_packets, 3);
}

/// A peer whose numbers leap as far as a Sync may, again and again: nothing overflows, and its
/// counts stay within its numbers.
#[test]
fn numbers_that_leap_for_ever_overflow_nothing() {
    let mut client = client(trusting(), SeqNo48::new(1), &[]);
    sent(&mut client, at(50));
    let mut now = at(50);
    let acknowledged = client.seq.gss();
    let mut seq = client.seq.gsr().expect("a Response came");
    for _ in 0..280_000 {
        now += Duration::from_secs(1);
        seq = seq.add(1 << 46);
        let sync = bytes(Header::Sync { seq, ack: acknowledged }, &[Opt::NdpCount((1 << 48) - 1)], 0, &[]);
        client.handle_datagram(now, Ecn::NotEct, &sync);
        seq = seq.add(1);
        let numbers = SeqAck::Long { seq, ack: acknowledged };
        let data = bytes(Header::DataAck { numbers }, &[Opt::NdpCount((1 << 48) - 1)], 0, b"x");
        client.handle_datagram(now, Ecn::NotEct, &data);
        while client.recv().is_some() {}
        while client.poll_event().is_some() {}
    }
    assert!(client.received_data_packets() > 10_000, "{:?}", client.stats());
    assert!(client.peer_sent_data_packets() < super::receive::LAST_NUMBER);
    assert!(client.received_data_packets() <= client.peer_sent_data_packets());
}
