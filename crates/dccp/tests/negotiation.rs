//! Features that peers ask for and do not get, features that a Linux peer needs, and ECN on paths
//! that spoil its marks.

use std::net::SocketAddr;

use tfrc_dccp::connection::EcnFault;
use tfrc_dccp::endpoint::{Listen, Pressure};
use tfrc_dccp::feature::{CcidPreference, EcnReading, Feature, Location, Wishes};
use tfrc_dccp::wire::{
    FeatureOp, FeatureOption, Header, Opt, OptionList, PacketType, ResetCode, ServiceCode, options,
};
use tfrc_dccp::{Ccid, ConnectionConfig, Endpoint, EndpointConfig};
use tfrc_testkit::{Fate, Flight, Pair, Side, emit, ms, parse};
use tfrc_units::{Duration, Ecn, Instant, SeqNo48};

const PORT: u16 = 5001;
const ACK_VECTOR: u8 = 6;
const CHECKSUM_COVERAGE: u8 = 8;

/// The answers of a server to Requests with these options.
fn answers(pressure: Pressure, half_open: usize, requests: &[&OptionList]) -> (Endpoint, Vec<Vec<u8>>) {
    let config = EndpointConfig {
        port: PORT,
        listen: Listen::Many(10),
        half_open,
        under_pressure: pressure,
        ..EndpointConfig::default()
    };
    let mut server = Endpoint::new(config, [9; 32]);
    let from: SocketAddr = SocketAddr::from(([192, 0, 2, 1], 40_000));
    let (mut all, mut bytes) = (Vec::new(), Vec::new());
    for (n, list) in (1..).zip(requests) {
        let header = Header::Request { seq: SeqNo48::new(n), service: ServiceCode::NONE };
        let request = emit((7, PORT), header, (*list).clone().padded(), &[]);
        let now = Instant::ZERO + Duration::from_secs(n);
        server.handle_timeout(now);
        server.handle_datagram(now, from, Ecn::NotEct, &request);
        while server.poll_transmit(now, &mut bytes).is_some() {
            all.push(bytes.clone());
        }
    }
    (server, all)
}

fn change(op: FeatureOp, feature: u8, values: &'static [u8]) -> Opt<'static> {
    Opt::Feature(FeatureOption { op, feature, values })
}

/// RFC 4340 §5.8.2: a Linux client with CCID 2 alone asks for what nobody here grants. It is
/// refused at once, the refusal is on record, and no place is held.
#[test]
fn a_mandatory_feature_that_is_not_granted_is_refused() {
    let asks = [
        change(FeatureOp::ChangeR, ACK_VECTOR, &[1]),
        change(FeatureOp::ChangeL, 1, &[2]),
        change(FeatureOp::ChangeR, 99, &[1]),
    ];
    for (ask, half_open) in asks.iter().flat_map(|ask| [(ask, 128), (ask, 0)]) {
        let Opt::Feature(feature) = ask else { unreachable!() };
        let mut list = OptionList::new(OptionList::MAX);
        list.push_mandatory(ask).expect("room");
        // The same again: the first Reset may be lost.
        let (mut server, sent) = answers(Pressure::Cookies, half_open, &[&list, &list]);
        assert_eq!(sent.len(), 2, "{ask:?} with {half_open} places");
        for bytes in &sent {
            let Header::Reset { reset, ack, .. } = parse(bytes).header else { panic!("{ask:?}") };
            assert_eq!(reset.code, ResetCode::MandatoryError);
            assert_eq!(reset.data, [ask.kind(), feature.feature, feature.values[0]]);
            assert!((1..=2).contains(&ack.get()));
        }
        let refusals: Vec<_> =
            std::iter::from_fn(|| server.poll_refusal()).map(|one| (one.code, one.ccid)).collect();
        let ccid = (feature.feature != 99).then_some(2);
        assert_eq!(refusals, [(Some(ResetCode::MandatoryError), ccid); 2]);
        assert_eq!((server.stats().refused, server.stats().resets), (2, 2));
        assert_eq!(server.poll_timeout(), None, "nothing is left of it");
        // Without Mandatory it is only not granted.
        let mut list = OptionList::new(OptionList::MAX);
        list.push(ask).expect("room");
        let (_, sent) = answers(Pressure::Cookies, half_open, &[&list]);
        assert_eq!(
            sent.iter().map(|bytes| parse(bytes).header.kind()).collect::<Vec<_>>(),
            [PacketType::Response]
        );
    }
}

/// RFC 4340 §9.2.1: Linux offers 1 to 15 to who is to take partial checksums, and breaks off when
/// it is confirmed otherwise.
#[test]
fn partial_checksums_are_granted_where_they_are_asked_for() {
    const FROM_ONE: &[u8] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    for (op, confirm) in
        [(FeatureOp::ChangeR, FeatureOp::ConfirmL), (FeatureOp::ChangeL, FeatureOp::ConfirmR)]
    {
        let mut list = OptionList::new(OptionList::MAX);
        list.push_mandatory(&change(op, CHECKSUM_COVERAGE, FROM_ONE)).expect("room");
        let (_, sent) = answers(Pressure::Refuse, 128, &[&list]);
        let [response] = sent.as_slice() else { panic!("{} answers", sent.len()) };
        let packet = parse(response);
        let answer =
            options(packet.header.kind(), packet.options).flatten().find_map(|item| match item.option {
                Ok(Opt::Feature(feature)) if feature.feature == CHECKSUM_COVERAGE => Some(feature),
                _ => None,
            });
        let answer = answer.expect("a Confirm");
        assert_eq!((answer.op, answer.values.first()), (confirm, Some(&1)));
        assert_eq!(answer.values.len(), 17, "with the whole list, so that it can be checked");
    }
}

fn preferring(ccids: CcidPreference) -> ConnectionConfig {
    let wishes = Wishes { sending: ccids, receiving: ccids, ..Wishes::default() };
    ConnectionConfig { wishes, ..ConnectionConfig::default() }
}

/// Linux has CCID 3 alone: who prefers CCID 4 takes that, in both directions.
#[test]
fn ccid_4_falls_back_to_3() {
    for (client, server, expected) in [
        (CcidPreference::FourThenThree, CcidPreference::Three, Ccid::Three),
        (CcidPreference::Three, CcidPreference::FourThenThree, Ccid::Three),
        (CcidPreference::FourThenThree, CcidPreference::FourThenThree, Ccid::Four),
        (CcidPreference::Four, CcidPreference::FourThenThree, Ccid::Four),
    ] {
        let mut pair = Pair::with(preferring(client), preferring(server), |_| Fate::Deliver);
        pair.client.to_send = 200;
        pair.run_until_sent(Duration::from_secs(20));
        pair.run(ms(200));
        for connection in [pair.client.connection(), pair.server.connection()] {
            assert_eq!(connection.sending_ccid(), Some(expected));
            assert_eq!(connection.receiving_ccid(), Some(expected));
        }
        assert_eq!(pair.server.received.len(), 200);
    }
}

/// Datagrams that arrive within a minute, and the two connections' ends of it.
fn minute(rule: impl FnMut(&Flight) -> Fate + 'static, clear: bool) -> Pair {
    let config = ConnectionConfig { tfrc: tfrc_testkit::capped(60_000.0), ..ConnectionConfig::default() };
    let mut pair = Pair::with(config, ConnectionConfig::default(), rule);
    pair.clear_ecn = clear;
    pair.client.to_send = u64::MAX;
    pair.client.size = 1000;
    pair.run(Duration::from_secs(60));
    pair
}

fn data(flight: &Flight) -> bool {
    flight.from == Side::Client && flight.kind.carries_datagram()
}

/// RFC 9000 §13.4.2: where every packet is marked, marks say nothing; ECN is given up, and what
/// they said forgotten.
#[test]
fn a_path_that_marks_everything_is_found_out() {
    let free = minute(|_| Fate::Deliver, false).server.received.len();
    let pair = minute(|flight| if data(flight) { Fate::Mark } else { Fate::Deliver }, false);
    let server = pair.server.connection();
    assert_eq!(server.ecn_fault(), Some(EcnFault::AllMarked));
    assert_eq!(server.feature(Feature::EcnIncapable, Location::Local), 1);
    assert_eq!(pair.client.connection().feature(Feature::EcnIncapable, Location::Remote), 1);
    let late = pair.log.iter().rev().find(|(flight, _)| data(flight)).map(|(flight, _)| flight.ecn);
    assert_eq!(late, Some(Ecn::NotEct));
    assert!(server.stats().marked_packets < 30, "{:?}", server.stats());
    let received = pair.server.received.len();
    assert!(10 * received >= 8 * free, "{received} of {free}");
}

/// Codepoints that the path clears: marks would be cleared too.
#[test]
fn a_path_that_clears_codepoints_is_found_out() {
    let pair = minute(|_| Fate::Deliver, true);
    assert_eq!(pair.server.connection().ecn_fault(), Some(EcnFault::Cleared));
    let late = pair.log.iter().rev().find(|(flight, _)| data(flight)).map(|(flight, _)| flight.ecn);
    assert_eq!(late, Some(Ecn::NotEct));
}

/// A path that drops what has a codepoint, there, back or both ways: the handshake shows it, and
/// data goes without.
#[test]
fn a_path_that_drops_codepoints_is_found_out() {
    let free = minute(|_| Fate::Deliver, false);
    assert_eq!(free.client.connection().sending_ecn_fault(), None);
    for (there, back) in [(true, false), (false, true), (true, true)] {
        let drops = move |from| if from == Side::Client { there } else { back };
        let pair = minute(move |f| Fate::drop_if(f.ecn != Ecn::NotEct && drops(f.from)), false);
        // A client without an answer cannot know on which way it was lost.
        let faults = [&pair.client, &pair.server].map(|end| end.connection().sending_ecn_fault());
        assert!(!there || faults[0] == Some(EcnFault::Dropped), "{there} {back}: {faults:?}");
        assert_eq!(faults[1], back.then_some(EcnFault::Dropped), "{there} {back}");
        let (received, of) = (pair.server.received.len(), free.server.received.len());
        assert!(10 * received >= 9 * of, "{received} of {of}: {there} {back}");
    }
}

/// Marks in the measure of congestion are what ECN is for.
#[test]
fn congestion_gives_no_ecn_up() {
    let mut count = 0;
    let rule = move |flight: &Flight| {
        count += u32::from(data(flight));
        if data(flight) && count % 3 == 1 { Fate::Mark } else { Fate::Deliver }
    };
    let pair = minute(rule, false);
    assert_eq!(pair.server.connection().ecn_fault(), None);
    assert!(pair.server.connection().stats().marked_packets > 30);
}

/// RFC 4340 §12.1: a host that cannot read marks says so in the handshake, gets data without ECN,
/// and accepts none before that is confirmed.
#[test]
fn a_host_that_cannot_read_marks_gets_no_ecn() {
    let wishes = Wishes { ecn: EcnReading::Incapable, ..Wishes::default() };
    let blind = ConnectionConfig { wishes, ..ConnectionConfig::default() };
    for (client, server) in
        [(ConnectionConfig::default(), blind.clone()), (blind, ConnectionConfig::default())]
    {
        let server_is_blind = server.wishes.ecn == EcnReading::Incapable;
        let mut pair = Pair::with(client, server, |_| Fate::Deliver);
        (pair.client.to_send, pair.server.to_send) = (50, 50);
        pair.run(Duration::from_secs(10));
        let from = if server_is_blind { Side::Client } else { Side::Server };
        let ecn = |flight: &Flight| flight.from == from && flight.kind.carries_datagram();
        assert!(
            pair.log.iter().filter(|(flight, _)| ecn(flight)).all(|(flight, _)| flight.ecn == Ecn::NotEct)
        );
        assert_eq!((pair.client.received.len(), pair.server.received.len()), (50, 50));
    }
}
