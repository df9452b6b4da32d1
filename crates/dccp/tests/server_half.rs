//! A server against packets written by hand, as any client or stranger may send them (RFC 4340 §5
//! to §8).

use std::net::SocketAddr;

use tfrc_dccp::endpoint::{ConnectConfig, Listen};
use tfrc_dccp::feature::{EcnReading, Feature, Location, Wishes};
use tfrc_dccp::wire::{Header, PacketType, Reset, ResetCode, SeqAck, Sequence, ServiceCode};
use tfrc_dccp::{ConnectionConfig, ConnectionId, Endpoint, EndpointConfig, Event, State};
use tfrc_testkit::{at, emit, parse};
use tfrc_units::{Ecn, SeqNo48};

const PORT: u16 = 5001;

struct Server {
    endpoint: Endpoint,
    id: Option<ConnectionId>,
    /// DCCP ports from the client to the server.
    ports: (u16, u16),
    /// The newest numbers of the client and of the server.
    seq: SeqNo48,
    ack: SeqNo48,
}

fn client_address() -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 40_000))
}

impl Server {
    fn listening() -> Self {
        let config = EndpointConfig { port: PORT, listen: Listen::Many(4), ..EndpointConfig::default() };
        let endpoint = Endpoint::new(config, [9; 32]);
        let (seq, ack) = (SeqNo48::new(100), SeqNo48::new(0));
        Self { endpoint, id: None, ports: (7, PORT), seq, ack }
    }

    /// In RESPOND: a Request without options was answered at 10 ms.
    fn responding() -> Self {
        let mut server = Self::listening();
        let request = Header::Request { seq: server.seq, service: ServiceCode::NONE };
        let answers = server.answers(10, request, &[]);
        let [Header::Response { seq, ack, .. }] = answers.as_slice() else { panic!("{answers:?}") };
        assert_eq!(*ack, server.seq);
        server.ack = *seq;
        server
    }

    /// In OPEN at 20 ms, by a handshake with a client of ours; nothing waits to be sent.
    fn open() -> Self {
        let mut server = Self::listening();
        let mut client = Endpoint::new(EndpointConfig::default(), [1; 32]);
        let far = SocketAddr::from(([203, 0, 113, 1], 6511));
        let config = ConnectConfig { port: PORT, connection: ConnectionConfig::default() };
        client.connect(at(10), far, config).expect("a port");
        let mut bytes = Vec::new();
        for ms in [10, 20] {
            while client.poll_transmit(at(ms), &mut bytes).is_some() {
                let packet = parse(&bytes);
                server.ports = (packet.source_port, packet.destination_port);
                if let Sequence::Long(seq) = packet.header.sequence() {
                    server.seq = seq;
                }
                server.endpoint.handle_datagram(at(ms), client_address(), Ecn::NotEct, &bytes);
            }
            while server.endpoint.poll_transmit(at(ms), &mut bytes).is_some() {
                if let Sequence::Long(seq) = parse(&bytes).header.sequence() {
                    server.ack = seq;
                }
                client.handle_datagram(at(ms), far, Ecn::NotEct, &bytes);
            }
        }
        let events = std::iter::from_fn(|| server.endpoint.poll_event());
        server.id = events.map(|(id, _)| id).next();
        assert_eq!(server.state(), State::Open);
        server
    }

    fn state(&self) -> State {
        self.id
            .and_then(|id| self.endpoint.connection(id))
            .map_or(State::Closed, tfrc_dccp::Connection::state)
    }

    fn next(&mut self) -> SeqNo48 {
        self.seq = self.seq.add(1);
        self.seq
    }

    /// An Ack of the client.
    fn say(&mut self) -> Header {
        Header::Ack { numbers: SeqAck::Long { seq: self.next(), ack: self.ack } }
    }

    fn hand(&mut self, ms: u64, from: SocketAddr, bytes: &[u8]) {
        self.endpoint.handle_datagram(at(ms), from, Ecn::NotEct, bytes);
    }

    fn sent(&mut self, ms: u64) -> Vec<Vec<u8>> {
        let (mut all, mut out) = (Vec::new(), Vec::new());
        self.endpoint.handle_timeout(at(ms));
        while self.endpoint.poll_transmit(at(ms), &mut out).is_some() {
            all.push(out.clone());
        }
        all
    }

    fn headers(&mut self, ms: u64) -> Vec<Header> {
        self.sent(ms).iter().map(|bytes| parse(bytes).header).collect()
    }

    fn answers(&mut self, ms: u64, header: Header, space: &[u8]) -> Vec<Header> {
        let bytes = emit(self.ports, header, space, &[]);
        self.hand(ms, client_address(), &bytes);
        self.headers(ms)
    }

    /// The feature options of what is sent within a round-trip time of an Ack with these options.
    fn negotiate(&mut self, ms: u64, space: &[u8]) -> Vec<Vec<u8>> {
        let ack = self.say();
        self.hand(ms, client_address(), &emit(self.ports, ack, space, &[]));
        let mut found = Vec::new();
        for wait in (0..=220).step_by(10) {
            for bytes in self.sent(ms + wait) {
                let packet = parse(&bytes);
                let raw = tfrc_dccp::wire::RawOptions::new(packet.options).flatten();
                let feature = raw.filter(|option| (32..=35).contains(&option.kind));
                found.extend(feature.map(|option| [&[option.kind][..], option.data].concat()));
            }
        }
        found
    }
}

/// RFC 4340 §5.1, §8.5 step 1: such packets get no answer at all.
#[test]
fn a_request_that_cannot_be_one_is_ignored() {
    let request = Header::Request { seq: SeqNo48::new(100), service: ServiceCode::NONE };
    let good = emit((7, PORT), request, &[0; 4], &[]);
    let changed = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        bytes
    };
    let mut bad: Vec<Vec<u8>> = vec![Vec::new(), good[..11].to_vec(), good[..19].to_vec()];
    // Short numbers; Data Offset within the header and past the end; reserved types.
    bad.extend([changed(8, 0), changed(4, 0), changed(4, 4), changed(4, 7), changed(4, 255)]);
    bad.extend((10..16).map(|kind| changed(8, kind << 1 | 1)));
    for bytes in bad {
        let mut server = Server::listening();
        server.hand(5, client_address(), &bytes);
        assert_eq!(server.headers(5), [], "{bytes:?}");
        assert_eq!(server.endpoint.stats().malformed, 1, "{bytes:?}");
    }
    let mut server = Server::listening();
    server.hand(5, client_address(), &good);
    assert_eq!(server.headers(5).first().map(Header::kind), Some(PacketType::Response));
}

/// RFC 4340 §8.1.2.
#[test]
fn the_invalid_service_code_is_refused_by_everybody() {
    for (ours, theirs) in [(0, 1), (0, u32::MAX), (u32::MAX, u32::MAX)] {
        let connection = ConnectionConfig { service: ServiceCode::new(ours), ..ConnectionConfig::default() };
        let config =
            EndpointConfig { port: PORT, listen: Listen::One, connection, ..EndpointConfig::default() };
        let mut server = Server { endpoint: Endpoint::new(config, [9; 32]), ..Server::listening() };
        let request = Header::Request { seq: SeqNo48::new(100), service: ServiceCode::new(theirs) };
        let reset = Reset::new(ResetCode::BadServiceCode);
        let expected = Header::Reset { seq: SeqNo48::new(0), ack: SeqNo48::new(100), reset };
        assert_eq!(server.answers(5, request, &[]), [expected], "{ours} {theirs}");
    }
}

/// RFC 4340 §5.3.
#[test]
fn a_response_has_the_service_code_of_its_request() {
    let service = ServiceCode::new(77);
    let connection = ConnectionConfig { service, ..ConnectionConfig::default() };
    let config = EndpointConfig { port: PORT, listen: Listen::One, connection, ..EndpointConfig::default() };
    let mut server = Server { endpoint: Endpoint::new(config, [9; 32]), ..Server::listening() };
    let answers = server.answers(5, Header::Request { seq: SeqNo48::new(100), service }, &[]);
    assert!(
        matches!(answers.as_slice(), [Header::Response { service: said, ack, .. }]
            if *said == service && *ack == SeqNo48::new(100)),
        "{answers:?}"
    );
}

/// RFC 4340 §8.1.3: only a Request brings a Response; after eight minutes the
/// application hears of the end.
#[test]
fn a_response_is_not_repeated_and_the_handshake_given_up() {
    let mut server = Server::responding();
    for ms in (1_000..480_000).step_by(1_000) {
        assert_eq!(server.headers(ms), [], "{ms}");
    }
    let last = server.headers(490_010);
    let reset = Reset::new(ResetCode::Aborted);
    assert_eq!(last, [Header::Reset { seq: server.ack.add(1), ack: SeqNo48::new(100), reset }]);
}

/// RFC 4340 §8.1.3, §8.5 step 16: data of a Request is never taken, so not twice either.
#[test]
fn the_data_of_requests_is_not_delivered() {
    let mut server = Server::listening();
    for ms in [10, 1010] {
        let request = Header::Request { seq: server.next(), service: ServiceCode::NONE };
        let bytes = emit(server.ports, request, &[], b"early");
        server.hand(ms, client_address(), &bytes);
        if let [Header::Response { seq, .. }] = server.headers(ms).as_slice() {
            server.ack = *seq;
        }
    }
    let ack = server.say();
    server.answers(1020, ack, &[]);
    let events: Vec<_> = std::iter::from_fn(|| server.endpoint.poll_event()).collect();
    let [(id, Event::Incoming { .. }), ..] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(server.endpoint.recv(*id), None);
    assert!(!events.iter().any(|(_, event)| *event == Event::Readable));
}

/// RFC 4340 §8.5 step 7.
#[test]
fn packets_that_do_not_fit_the_state_ask_for_a_sync() {
    let mut server = Server::responding();
    let data = Header::Data { seq: Sequence::Long(server.next()) };
    let answers = server.answers(20, data, &[]);
    assert_eq!(answers, [Header::Sync { seq: server.ack.add(1), ack: server.seq }]);
    let mut server = Server::open();
    for (i, ms) in (0..).zip([100, 110, 120]) {
        let seq = server.next();
        let header = match i {
            0 => Header::CloseReq { seq, ack: server.ack },
            1 => Header::Response { seq, ack: server.ack, service: ServiceCode::NONE },
            _ => Header::Request { seq, service: ServiceCode::NONE },
        };
        let answers = server.answers(ms, header, &[]);
        assert_eq!(answers, [Header::Sync { seq: server.ack.add(i + 1), ack: seq }], "{header:?}");
        assert_eq!(server.state(), State::Open);
    }
}

/// RFC 4340 §7.5.4: what is invalid is named by a Sync, at most eight in a second, and has no other
/// effect.
#[test]
fn invalid_packets_are_named_and_not_processed() {
    let mut server = Server::open();
    let (ack, gsr) = (server.ack, server.seq);
    let far = gsr.add(50_000);
    let data = Header::Data { seq: Sequence::Long(far) };
    assert_eq!(
        server.answers(100, data, &[41, 6, 0, 0, 0, 5, 0, 0]),
        [Header::Sync { seq: ack.add(1), ack: far }]
    );
    let unsent = Header::Ack { numbers: SeqAck::Long { seq: gsr.add(1), ack: ack.add(9) } };
    let answers = server.answers(110, unsent, &[41, 6, 0, 0, 0, 5, 0, 0]);
    assert_eq!(answers, [Header::Sync { seq: ack.add(2), ack: gsr.add(1) }]);
    let mut more = 0;
    for n in 0..200 {
        let data = Header::Data { seq: Sequence::Long(far.add(n)) };
        more += server.answers(120, data, &[]).len();
    }
    assert_eq!(more, 6);
    // Nothing of all this was heard: no echo, the next number is still new, and GSR stands.
    let sync = Header::Sync { seq: gsr.add(1), ack: ack.add(1) };
    server.hand(130, client_address(), &emit(server.ports, sync, &[], &[]));
    let answer = server.sent(130).concat();
    assert_eq!(parse(&answer).header, Header::SyncAck { seq: ack.add(9), ack: gsr.add(1) });
    assert!(!parse(&answer).options.contains(&42));
    assert_eq!(server.id.and_then(|id| server.endpoint.recv(id)), None);
}

/// RFC 4340 §6.6.1, §6.6.3, §6.6.4: every Change in order gets its Confirm, within a round-trip
/// time; one that was overtaken gets none.
#[test]
fn every_change_in_order_is_confirmed() {
    let mut server = Server::open();
    // Ack Ratio 5, at the client.
    let change = [32, 5, 5, 0, 5, 0, 0, 0];
    for ms in [1000, 2000, 3000] {
        assert_eq!(server.negotiate(ms, &change), [[35, 5, 0, 5]]);
    }
    // A number that was left out comes late.
    let late = server.next();
    assert_eq!(server.negotiate(4000, &change), [[35, 5, 0, 5]]);
    server.seq = late.sub(1);
    assert_eq!(server.negotiate(4500, &change), [[0; 0]; 0]);
    server.seq = late.add(1);
    // Two of one feature in a packet: one after the other.
    let twice = [32, 5, 5, 0, 6, 32, 5, 5, 0, 7, 0, 0];
    let found = server.negotiate(5000, &twice);
    assert_eq!(found.last().map(Vec::as_slice), Some(&[35, 5, 0, 7][..]), "{found:?}");
}

/// RFC 4340 §6.3.2, §6.6.7, §6.6.8, §7.5.2, §15: an empty Confirm, and nothing changes.
#[test]
fn values_that_cannot_be_get_an_empty_confirm() {
    let mut server = Server::open();
    let window = |server: &Server| {
        let id = server.id.expect("a connection");
        server.endpoint.connection(id).map(|c| c.feature(Feature::SequenceWindow, Location::Remote))
    };
    let before = window(&server);
    for (ms, change, confirm) in [
        (1000, &[32, 9, 3, 0, 0, 0, 0, 0, 31, 0, 0, 0][..], [35, 3]),
        (2000, &[32, 9, 3, 64, 0, 0, 0, 0, 0, 0, 0, 0], [35, 3]),
        (3000, &[32, 5, 3, 1, 0, 0, 0, 0], [35, 3]),
        // A non-negotiable feature is the affair of its location.
        (4000, &[34, 9, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0], [33, 3]),
        (5000, &[32, 4, 10, 0], [35, 10]),
        (6000, &[34, 4, 10, 0], [33, 10]),
        (7000, &[34, 4, 200, 9], [33, 200]),
        // Check Data Checksum, which is not done here (§9.3.1).
        (7500, &[34, 4, 9, 1], [33, 9]),
    ] {
        assert_eq!(server.negotiate(ms, change), [confirm], "{change:?}");
        assert_eq!((window(&server), server.state()), (before, State::Open));
    }
    let valid = [32, 9, 3, 0, 0, 0, 0, 0, 32, 0, 0, 0];
    assert_eq!(server.negotiate(8000, &valid), [[35, 3, 0, 0, 0, 0, 0, 32]]);
    assert_eq!(window(&server), Some(32));
}

/// RFC 4340 §5.8, §6, §5.8.2, §11.4: what could hurt on a Data packet is not looked at.
#[test]
fn data_packets_negotiate_nothing() {
    for space in [
        &[32, 5, 5, 0, 9, 0, 0, 0][..],
        &[33, 4, 7, 0],
        &[1, 99, 2, 0],
        &[0, 0, 0, 1],
        &[1, 1, 0, 0],
        &[38, 3, 5, 0],
        &[40, 3, 0xA0, 0],
    ] {
        let mut server = Server::open();
        let data = Header::Data { seq: Sequence::Long(server.next()) };
        server.hand(100, client_address(), &emit(server.ports, data, space, b"data"));
        let kinds: Vec<_> = (0..40).flat_map(|n| server.sent(100 + 10 * n)).collect();
        for bytes in &kinds {
            let packet = parse(bytes);
            assert_eq!(packet.header.kind(), PacketType::Ack, "{space:?}");
            let raw = tfrc_dccp::wire::RawOptions::new(packet.options).flatten();
            assert_eq!(raw.filter(|option| option.kind == 35).count(), 0, "{space:?}");
        }
        let received = server.id.and_then(|id| server.endpoint.recv(id)).map(|received| received.bytes);
        assert_eq!(received, Some(b"data".to_vec()), "{space:?}");
    }
}

/// RFC 6773 §3.8: a connection is its DCCP ports, both addresses and both UDP ports.
#[test]
fn the_same_dccp_ports_on_other_udp_ports_are_another_connection() {
    let mut server = Server::open();
    let other = SocketAddr::from(([192, 0, 2, 1], 40_001));
    let data = Header::Data { seq: Sequence::Long(server.next()) };
    let bytes = emit(server.ports, data, &[], b"data");
    server.hand(100, other, &bytes);
    let reset = Reset::new(ResetCode::NoConnection);
    assert_eq!(server.headers(100), [Header::Reset { seq: SeqNo48::new(0), ack: server.seq, reset }]);
    let request = Header::Request { seq: SeqNo48::new(5), service: ServiceCode::NONE };
    server.hand(110, other, &emit(server.ports, request, &[], &[]));
    assert_eq!(server.headers(110).first().map(Header::kind), Some(PacketType::Response));
    server.hand(120, client_address(), &bytes);
    assert!(server.id.and_then(|id| server.endpoint.recv(id)).is_some());
}

/// RFC 4340 §8.3, and decision 0004: the end that has answered a Close answers it again; the end
/// that got a Reset knows of no connection.
#[test]
fn stragglers_hear_how_it_ended() {
    let mut server = Server::open();
    let close = Header::Close { seq: server.next(), ack: server.ack };
    assert_eq!(server.answers(100, close, &[]), []);
    let id = server.id.expect("a connection");
    server.endpoint.connection_mut(id).expect("open").accept_close(at(110));
    let closed = Reset::new(ResetCode::Closed);
    let first = Header::Reset { seq: server.ack.add(1), ack: server.seq, reset: closed };
    assert_eq!(server.headers(110), [first]);
    let again = Header::Close { seq: server.next(), ack: server.ack };
    let second = Header::Reset { seq: server.ack.add(2), ack: server.seq, reset: closed };
    assert_eq!(server.answers(120, again, &[]), [second]);
    let mut server = Server::open();
    let reset = Header::Reset { seq: server.next(), ack: server.ack, reset: closed };
    assert_eq!(server.answers(100, reset, &[]), []);
    assert_eq!(server.state(), State::Closed);
    let ack = server.say();
    let unknown = Reset::new(ResetCode::NoConnection);
    assert_eq!(
        server.answers(110, ack, &[]),
        [Header::Reset { seq: server.ack.add(1), ack: server.seq, reset: unknown }]
    );
    let reset = Header::Reset { seq: server.next(), ack: server.ack, reset: closed };
    assert_eq!(server.answers(120, reset, &[]), []);
}

/// RFC 4340 §6.6.1: a packet only to negotiate goes once in a round-trip time at most.
#[test]
fn a_confirm_waits_for_company_about_a_round_trip() {
    let mut server = Server::open();
    let ack = server.say();
    assert_eq!(server.answers(1000, ack, &[32, 5, 5, 0, 5, 0, 0, 0]), []);
    let again = server.say();
    assert_eq!(server.answers(1002, again, &[32, 5, 5, 0, 6, 0, 0, 0]), []);
    let mut packets = Vec::new();
    for ms in 1003..1100 {
        packets.extend(server.headers(ms).iter().map(|header| (ms, header.kind())));
    }
    assert_eq!(packets.len(), 1, "{packets:?}");
    let (ms, kind) = packets[0];
    assert!(ms <= 1012 && kind == PacketType::Ack, "{packets:?}");
}

/// RFC 4340 §7.5.5, §7.6.1, §11.5: a peer's wish for either is answered with 0.
#[test]
fn short_numbers_and_ack_vectors_are_not_agreed() {
    let mut server = Server::open();
    for (ms, change, confirm) in [
        (1000, [32, 4, 2, 1], [35, 2, 0, 0]),
        (2000, [34, 4, 2, 1], [33, 2, 0, 0]),
        (3000, [34, 4, 6, 1], [33, 6, 0, 0]),
    ] {
        assert_eq!(server.negotiate(ms, &change), [confirm]);
    }
    for feature in [Feature::AllowShortSeqnos, Feature::SendAckVector] {
        for location in [Location::Local, Location::Remote] {
            let id = server.id.expect("a connection");
            let value = server.endpoint.connection(id).map(|c| c.feature(feature, location));
            assert_eq!(value, Some(0), "{feature:?} {location:?}");
        }
    }
}

/// RFC 4340 §10, §10.3: CCID 2, which nobody has agreed to leave, is not spoken here.
#[test]
fn a_response_insists_on_its_ccid() {
    let mut server = Server::listening();
    let request = Header::Request { seq: server.seq, service: ServiceCode::NONE };
    // Without Mandatory an option that only a CCID could know means nothing.
    server.hand(
        10,
        client_address(),
        &emit(server.ports, request, &[130, 3, 7, 192, 6, 0, 0, 0, 1, 0, 0, 0], &[]),
    );
    let response = server.sent(10).concat();
    let packet = parse(&response);
    assert_eq!(packet.header.kind(), PacketType::Response);
    for insists in [[1, 32, 4, 1, 3], [1, 34, 4, 1, 3]] {
        assert!(packet.options.windows(5).any(|bytes| bytes == insists), "{:?}", packet.options);
    }
    for space in [[1, 130, 3, 7], [1, 192, 3, 7]] {
        let mut server = Server::listening();
        let answers = server.answers(10, request, &space);
        let [Header::Reset { reset, .. }] = answers.as_slice() else { panic!("{answers:?}") };
        assert_eq!(reset.code, ResetCode::MandatoryError);
    }
}

/// RFC 4340 §12.1: before the peer knows that marks cannot be read its data is not accepted, and it
/// hears of that.
#[test]
fn data_waits_until_the_peer_knows_of_no_ecn() {
    let wishes = Wishes { ecn: EcnReading::Incapable, ..Wishes::default() };
    let connection = ConnectionConfig { wishes, ..ConnectionConfig::default() };
    let config = EndpointConfig { port: PORT, listen: Listen::One, connection, ..EndpointConfig::default() };
    let mut server = Server { endpoint: Endpoint::new(config, [9; 32]), ..Server::listening() };
    let request = Header::Request { seq: server.seq, service: ServiceCode::NONE };
    server.hand(10, client_address(), &emit(server.ports, request, &[], &[]));
    let response = server.sent(10).concat();
    let Header::Response { seq, .. } = parse(&response).header else { panic!("{response:?}") };
    server.ack = seq;
    let asks = |bytes: &[u8]| parse(bytes).options.windows(5).any(|bytes| bytes == [1, 32, 4, 4, 1]);
    assert!(asks(&response), "Mandatory Change L(ECN Incapable, 1)");
    // The CCID is confirmed, and ECN Incapable is not.
    let space = [35, 5, 1, 3, 3, 33, 5, 1, 3, 3, 0, 0];
    let numbers = SeqAck::Long { seq: server.next(), ack: server.ack };
    server.hand(20, client_address(), &emit(server.ports, Header::Ack { numbers }, &space, &[]));
    let id = std::iter::from_fn(|| server.endpoint.poll_event()).map(|(id, _)| id).next();
    let id = id.expect("a connection");
    let numbers = SeqAck::Long { seq: server.next(), ack: server.ack };
    server.hand(30, client_address(), &emit(server.ports, Header::DataAck { numbers }, &[], b"early"));
    assert_eq!(server.endpoint.recv(id), None);
    // The report has Data Dropped: one packet, Drop Code 0; the question goes again.
    let mut sent = Vec::new();
    for ms in (30..2000).step_by(10) {
        sent.extend(server.sent(ms));
    }
    let reports = |bytes: &Vec<u8>| parse(bytes).options.windows(3).any(|bytes| bytes == [40, 3, 0x80]);
    assert!(sent.iter().any(reports), "{sent:?}");
    assert!(sent.iter().any(|bytes| asks(bytes)));
    let numbers = SeqAck::Long { seq: server.next(), ack: server.ack };
    server.hand(2000, client_address(), &emit(server.ports, Header::Ack { numbers }, &[35, 4, 4, 1], &[]));
    let numbers = SeqAck::Long { seq: server.next(), ack: server.ack };
    server.hand(2010, client_address(), &emit(server.ports, Header::DataAck { numbers }, &[], b"now"));
    assert_eq!(server.endpoint.recv(id).map(|received| received.bytes), Some(b"now".to_vec()));
}

fn options_of(bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let raw = tfrc_dccp::wire::RawOptions::new(parse(bytes).options).flatten();
    raw.map(|option| (option.kind, option.data.to_vec())).collect()
}

impl Server {
    /// Data packets of the client, one each millisecond, with these options on the first.
    fn datagrams(&mut self, ms: u64, count: u64, space: &[u8]) {
        for n in 0..count {
            let data = Header::Data { seq: Sequence::Long(self.next()) };
            let space = if n == 0 { space } else { &[] };
            let bytes = emit(self.ports, data, space, b"data");
            self.hand(ms + n, client_address(), &bytes);
        }
    }
}

/// RFC 4342 §8.2 to §8.6: Elapsed Time, both rates and the loss intervals, on packets that
/// acknowledge; nothing of that on Data packets.
#[test]
fn a_report_has_its_options() {
    let mut server = Server::open();
    server.datagrams(100, 1, &[]);
    let sent = server.sent(100);
    let [report] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!(parse(report).header.kind(), PacketType::Ack);
    let options = options_of(report);
    let of = |kind: u8| options.iter().find(|(found, _)| *found == kind).map(|(_, data)| data.clone());
    assert_eq!(of(43), Some(vec![0, 0]));
    assert_eq!(of(192), Some(vec![0xFF; 4]), "no loss yet");
    assert!(of(194).is_some_and(|rate| rate.len() == 4), "{options:?}");
    let intervals = of(193).expect("the loss intervals");
    assert_eq!(intervals.len(), 10, "one interval: {intervals:?}");
    assert_eq!(intervals[4] & 0x80, 0, "no nonce");
    // Data Dropped only where data was dropped (RFC 4340 §11.7).
    assert_eq!(of(40), None);
    let id = server.id.expect("a connection");
    server.endpoint.send(at(101), id, b"ours").expect("room");
    let sent = server.sent(101);
    let [data] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!(parse(data).header.kind(), PacketType::Data);
    let feedback = options_of(data).into_iter().filter(|(kind, _)| matches!(kind, 40 | 43 | 192..=195));
    assert_eq!(feedback.count(), 0);
}

/// RFC 4340 §11.2.
#[test]
fn a_report_that_does_not_fit_goes_first() {
    let mut server = Server::open();
    server.datagrams(100, 1, &[]);
    let id = server.id.expect("a connection");
    let longest = server.endpoint.connection(id).map_or(0, tfrc_dccp::Connection::max_datagram);
    server.endpoint.send(at(100), id, &vec![0; longest]).expect("room");
    let sent = server.sent(100);
    let kinds: Vec<_> = sent.iter().map(|bytes| parse(bytes).header.kind()).collect();
    assert_eq!(kinds, [PacketType::Ack, PacketType::Data]);
    assert!(options_of(&sent[0]).iter().any(|(kind, _)| *kind == 194));
}

/// RFC 4342 §6.1, §6.1.1: two numbers are missing; where NDP Count says that they held no data
/// nothing was lost.
#[test]
fn a_report_counts_data_alone() {
    for (space, lost) in [(&[][..], true), (&[37, 3, 2, 0], false)] {
        let mut server = Server::open();
        server.datagrams(100, 3, &[]);
        server.seq = server.seq.add(2);
        server.datagrams(103, 5, space);
        let mut rates = Vec::new();
        for ms in (110..400).step_by(10) {
            let sent = server.sent(ms);
            let options = sent.iter().flat_map(|bytes| options_of(bytes));
            rates.extend(options.filter(|(kind, _)| *kind == 192).map(|(_, data)| data));
        }
        let none = rates.iter().all(|rate| *rate == [0xFF; 4]);
        assert_eq!((rates.is_empty(), none), (false, !lost), "{rates:?}");
    }
}

/// RFC 6323 §3.3: what was agreed; CCVal is counted all the same.
#[test]
fn the_round_trip_time_is_on_data_and_syncs() {
    let mut server = Server::open();
    let id = server.id.expect("a connection");
    server.endpoint.send(at(100), id, b"ours").expect("room");
    let data = server.sent(100).concat();
    assert_eq!(parse(&data).header.kind(), PacketType::Data);
    let rtt = |bytes: &[u8]| options_of(bytes).into_iter().find(|(kind, _)| *kind == 128);
    assert_eq!(parse(&data).ccval, 0);
    // 5 ms, as the acknowledgement came after ten and says that it was held; in the fewest bytes.
    assert_eq!(rtt(&data), Some((128, 5_000u16.to_be_bytes().to_vec())));
    let sync = Header::Sync { seq: server.next(), ack: server.ack.add(1) };
    server.hand(110, client_address(), &emit(server.ports, sync, &[], &[]));
    let answer = server.sent(110).concat();
    assert_eq!(parse(&answer).header.kind(), PacketType::SyncAck);
    assert!(rtt(&answer).is_some());
    server.sent(3000);
    server.endpoint.send(at(3000), id, b"ours").expect("room");
    let data = server.sent(3000).pop().expect("a datagram");
    assert_ne!(parse(&data).ccval, 0);
}

/// RFC 6323 §3.3: the Reset names the option's first three bytes.
#[test]
fn an_invalid_round_trip_time_ends_the_connection() {
    let mut server = Server::open();
    let data = Header::Data { seq: Sequence::Long(server.next()) };
    let answers = server.answers(100, data, &[128, 6, 7, 0, 0, 0, 0, 0]);
    let [Header::Reset { reset, .. }] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!(*reset, Reset { code: ResetCode::OptionError, data: [128, 6, 7] });
}

/// RFC 4340 §6.3.1: nothing is shared, so the old value is confirmed, with our list; and then we
/// insist on ours (§10).
#[test]
fn a_ccid_that_is_not_shared_changes_nothing() {
    let mut server = Server::listening();
    let request = Header::Request { seq: server.seq, service: ServiceCode::NONE };
    let asks = [32, 5, 1, 7, 9, 34, 4, 1, 7, 0, 0, 0];
    server.hand(10, client_address(), &emit(server.ports, request, &asks, &[]));
    let response = server.sent(10).concat();
    let packet = parse(&response);
    assert_eq!(packet.header.kind(), PacketType::Response);
    for says in [&[35, 5, 1, 2, 3][..], &[33, 5, 1, 2, 3], &[1, 32, 4, 1, 3], &[1, 34, 4, 1, 3]] {
        assert!(packet.options.windows(says.len()).any(|bytes| bytes == says), "{:?}", packet.options);
    }
}
