//! A client against packets written by hand, as any server may send them (RFC 4340 §5 to §8).

use std::collections::BTreeSet;
use std::net::SocketAddr;

use tfrc_dccp::endpoint::ConnectConfig;
use tfrc_dccp::wire::{Header, Opt, PacketType, Reset, ResetCode, SeqAck, Sequence, ServiceCode, options};
use tfrc_dccp::{Connection, ConnectionConfig, Endpoint, EndpointConfig, State};
use tfrc_testkit::{at, emit, parse};
use tfrc_units::{Ecn, SeqNo48};

/// The server's initial number.
const ISR: SeqNo48 = SeqNo48::new(7_000);
/// From the server to the client.
const PORTS: (u16, u16) = (5001, 40_000);
/// Answers to all questions of the default client; the peer knows no RTT Estimate.
const CONFIRMS: [u8; 52] = [
    35, 5, 1, 3, 3, 33, 5, 1, 3, 3, 35, 9, 3, 0, 0, 0, 0, 3, 232, 35, 6, 7, 1, 1, 0, 33, 6, 7, 1, 1, 0, 35,
    6, 192, 1, 1, 0, 33, 6, 192, 1, 1, 0, 35, 3, 128, 33, 3, 128, 0, 0, 0,
];

struct Client {
    connection: Connection,
    /// The number of its first Request.
    iss: SeqNo48,
    /// The number of the server's newest packet.
    peer: SeqNo48,
}

impl Client {
    /// In REQUEST; the first Request is sent.
    fn asking() -> Self {
        let connection = Connection::client(ConnectionConfig::default(), PORTS.1, PORTS.0, [3; 32], at(0));
        let mut client = Self { connection, iss: SeqNo48::new(0), peer: ISR };
        let requests = client.sent(0);
        let [request] = requests.as_slice() else { panic!("{requests:?}") };
        client.iss = seq_of(request);
        client
    }

    /// In PARTOPEN at 50 ms; its first Ack is not sent yet.
    fn part_open(extra: &[u8]) -> Self {
        let mut client = Self::asking();
        let mut space = CONFIRMS.to_vec();
        space.extend_from_slice(extra);
        client.hand(50, response_with(ISR, client.iss), &space, &[]);
        assert_eq!(client.connection.state(), State::PartOpen);
        client
    }

    /// In OPEN at 100 ms; nothing waits to be sent.
    fn open() -> Self {
        let mut client = Self::part_open(&[]);
        client.sent(50);
        let ack = client.ack(client.newest());
        client.hand(100, ack, &[], &[]);
        assert_eq!(client.connection.state(), State::Open);
        assert_eq!(client.headers(100), []);
        client
    }

    /// The number of its newest packet.
    fn newest(&self) -> SeqNo48 {
        let stats = self.connection.stats();
        self.iss.add(stats.sent_data_packets + stats.sent_non_data_packets + stats.skipped_numbers - 1)
    }

    fn next(&mut self) -> SeqNo48 {
        self.peer = self.peer.add(1);
        self.peer
    }

    /// An Ack of the server.
    fn ack(&mut self, ack: SeqNo48) -> Header {
        Header::Ack { numbers: SeqAck::Long { seq: self.next(), ack } }
    }

    fn hand(&mut self, ms: u64, header: Header, space: &[u8], payload: &[u8]) {
        self.connection.handle_datagram(at(ms), Ecn::NotEct, &emit(PORTS, header, space, payload));
    }

    fn sent(&mut self, ms: u64) -> Vec<Vec<u8>> {
        let (mut all, mut out) = (Vec::new(), Vec::new());
        self.connection.handle_timeout(at(ms));
        while self.connection.poll_transmit(at(ms), &mut out).is_some() {
            all.push(out.clone());
        }
        all
    }

    fn headers(&mut self, ms: u64) -> Vec<Header> {
        self.sent(ms).iter().map(|bytes| parse(bytes).header).collect()
    }

    /// The headers of what it answers at once.
    fn answers(&mut self, ms: u64, header: Header, space: &[u8]) -> Vec<Header> {
        self.hand(ms, header, space, &[]);
        self.headers(ms)
    }
}

/// A Response with this number to a Request with that one.
const fn response_with(seq: SeqNo48, ack: SeqNo48) -> Header {
    Header::Response { seq, ack, service: ServiceCode::NONE }
}

fn seq_of(bytes: &[u8]) -> SeqNo48 {
    match parse(bytes).header.sequence() {
        Sequence::Long(seq) => seq,
        Sequence::Short(_) => panic!("short numbers"),
    }
}

fn cookies_of(bytes: &[u8]) -> Vec<Vec<u8>> {
    let packet = parse(bytes);
    let options = options(packet.header.kind(), packet.options).flatten();
    options
        .filter_map(|item| match item.option {
            Ok(Opt::InitCookie(cookie)) => Some(cookie.to_vec()),
            _ => None,
        })
        .collect()
}

/// RFC 4340 §8.1.1: one number further each time, and nothing else changes.
#[test]
fn repeated_requests_differ_in_their_numbers_alone() {
    let config = ConnectionConfig { service: ServiceCode::new(77), ..ConnectionConfig::default() };
    let connection = Connection::client(config, PORTS.1, PORTS.0, [3; 32], at(0));
    let mut client = Client { connection, iss: SeqNo48::new(0), peer: ISR };
    let first = client.sent(0).concat();
    client.iss = seq_of(&first);
    for (repeats, ms) in [(1, 1000), (2, 3000), (3, 7000)] {
        assert_eq!(client.sent(ms - 1), [] as [Vec<u8>; 0]);
        let again = client.sent(ms).concat();
        let (packet, original) = (parse(&again), parse(&first));
        let expected = Header::Request { seq: client.iss.add(repeats), service: ServiceCode::new(77) };
        assert_eq!(packet.header, expected);
        assert_eq!((packet.options, packet.payload), (original.options, original.payload));
    }
}

/// RFC 4340 §8.1.1: a client that has heard nothing has nothing to acknowledge.
#[test]
fn who_gives_up_asking_acknowledges_nothing() {
    let mut client = Client::asking();
    let mut last = None;
    for ms in (0..=60_000).step_by(500) {
        last = client.headers(ms).pop().or(last);
    }
    assert_eq!(client.connection.state(), State::Closed);
    let Some(Header::Reset { ack, reset, .. }) = last else { panic!("{last:?}") };
    assert_eq!((ack, reset), (SeqNo48::new(0), Reset::new(ResetCode::Aborted)));
}

/// RFC 4340 §8.5 step 4.
#[test]
fn a_response_must_answer_a_request_of_ours() {
    let mut client = Client::asking();
    for (ms, ack) in [(1, client.iss.sub(1)), (2, client.iss.add(9))] {
        let header = response_with(ISR, ack);
        let answers = client.answers(ms, header, &CONFIRMS);
        let [Header::Reset { ack, reset, .. }] = answers.as_slice() else { panic!("{answers:?}") };
        assert_eq!((*ack, *reset), (ISR, Reset::packet_error(PacketType::Response)));
        assert_eq!(client.connection.state(), State::Request);
    }
}

/// RFC 4340 §8.5 steps 4 and 9.
#[test]
fn a_reset_must_answer_a_request_of_ours() {
    let mut client = Client::asking();
    let reset = Reset::new(ResetCode::ConnectionRefused);
    let wrong = Header::Reset { seq: SeqNo48::new(0), ack: client.iss.sub(1), reset };
    assert_eq!(client.answers(1, wrong, &[]), []);
    assert_eq!(client.connection.state(), State::Request);
    let right = Header::Reset { seq: SeqNo48::new(0), ack: client.iss, reset };
    assert_eq!(client.answers(2, right, &[]), []);
    assert_eq!(client.connection.state(), State::Closed);
}

/// RFC 4340 §7.5.4: anybody may send packets to a client that asks, so few are answered.
#[test]
fn answers_while_asking_are_limited() {
    let mut client = Client::asking();
    let mut answers = 0;
    for n in 0..200 {
        let sync = Header::Sync { seq: ISR.add(n), ack: client.iss };
        answers += client.answers(5, sync, &[]).len();
    }
    assert_eq!((answers, client.connection.state()), (8, State::Request));
}

/// RFC 4340 §8.1.5.
#[test]
fn a_response_is_acknowledged_at_once() {
    let mut client = Client::part_open(&[]);
    let numbers = SeqAck::Long { seq: client.iss.add(1), ack: ISR };
    assert_eq!(client.headers(50), [Header::Ack { numbers }]);
}

/// RFC 4340 §4.3, §8.1.5: until the server is known to know, each packet says what was heard.
#[test]
fn datagrams_in_part_open_acknowledge() {
    let mut client = Client::part_open(&[]);
    client.sent(50);
    client.connection.send(at(60), b"one").expect("room");
    let numbers = SeqAck::Long { seq: client.iss.add(2), ack: ISR };
    assert_eq!(client.headers(60), [Header::DataAck { numbers }]);
}

/// RFC 4340 §8.1.4: the cookies of the Response that is acknowledged, of no other.
#[test]
fn a_second_response_brings_its_own_cookies() {
    let mut client = Client::part_open(&[36, 3, 1, 36, 3, 2, 0, 0]);
    assert_eq!(cookies_of(&client.sent(50).concat()), [[1], [2]]);
    let second = client.next();
    let response = response_with(second, client.iss);
    let mut space = CONFIRMS.to_vec();
    space.extend_from_slice(&[36, 3, 3, 0]);
    client.hand(60, response, &space, &[]);
    let ack = client.sent(60).concat();
    let numbers = SeqAck::Long { seq: client.iss.add(2), ack: second };
    assert_eq!(parse(&ack).header, Header::Ack { numbers });
    assert_eq!(cookies_of(&ack), [[3]]);
    // An older one that comes late changes nothing: it is not what is acknowledged.
    let late = response_with(ISR, client.iss);
    client.hand(70, late, &space[..52], &[]);
    assert_eq!(cookies_of(&client.sent(70).concat()), [[3]]);
}

/// RFC 4340 §8.1.4: each packet has them, so one without room for them waits.
#[test]
fn a_datagram_waits_until_cookies_leave_room() {
    let mut cookie = vec![36, 252];
    cookie.resize(252, 9);
    let mut client = Client::part_open(&cookie);
    client.sent(50);
    let longest = client.connection.max_datagram();
    client.connection.send(at(60), &vec![0; longest]).expect("room");
    assert_eq!(client.headers(60), []);
    let ack = client.ack(client.newest());
    client.hand(100, ack, &[], &[]);
    let sent = client.sent(100);
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!((parse(&sent[0]).payload.len(), cookies_of(&sent[0]).len()), (longest, 0));
}

/// RFC 4340 §8.5 step 7.
#[test]
fn packets_of_a_handshake_that_is_over_ask_for_a_sync() {
    let mut client = Client::open();
    for ms in [200, 210] {
        let seq = client.next();
        let header = match ms {
            200 => response_with(seq, client.iss),
            _ => Header::Request { seq, service: ServiceCode::NONE },
        };
        let answers = client.answers(ms, header, &[]);
        let [Header::Sync { seq: sync, ack }] = answers.as_slice() else { panic!("{answers:?}") };
        assert_eq!((*ack, *sync), (seq, client.newest()));
        assert_eq!(client.connection.state(), State::Open);
    }
}

/// RFC 4340 §8.3.
#[test]
fn close_req_is_answered_with_close() {
    for mut client in [Client::part_open(&[]), Client::open()] {
        client.sent(100);
        for ms in [110, 120] {
            let seq = client.next();
            let header = Header::CloseReq { seq, ack: client.newest() };
            let answers = client.answers(ms, header, &[]);
            assert_eq!(answers, [Header::Close { seq: client.newest(), ack: seq }]);
            assert_eq!(client.connection.state(), State::Closing);
        }
    }
}

/// RFC 4340 §7.5.3: the ends of a connection must be newer than all that was heard.
#[test]
fn an_end_that_is_not_new_is_asked_about() {
    let mut client = Client::open();
    let (old, new) = (client.peer, client.peer.add(1));
    let (newest, beyond) = (client.newest(), client.newest().add(1));
    let reset = Reset::new(ResetCode::Closed);
    // The Sync of a Reset acknowledges GSR, of the others what came (§7.5.4).
    for (ms, header, asked) in [
        (200, Header::CloseReq { seq: old, ack: newest }, old),
        (210, Header::Close { seq: old, ack: newest }, old),
        (220, Header::Reset { seq: old, ack: newest, reset }, old),
        (230, Header::Close { seq: new, ack: beyond.add(3) }, new),
        (240, Header::Reset { seq: new, ack: beyond.add(4), reset }, old),
        (250, Header::Reset { seq: new, ack: client.iss, reset }, old),
        (260, Header::CloseReq { seq: new, ack: client.iss }, new),
    ] {
        let answers = client.answers(ms, header, &[]);
        assert_eq!(answers, [Header::Sync { seq: client.newest(), ack: asked }], "{header:?}");
        assert_eq!(client.connection.state(), State::Open);
    }
    // No Sync has moved GSR.
    let next = Header::Reset { seq: new, ack: client.newest(), reset };
    assert_eq!(client.answers(270, next, &[]), []);
    assert_eq!(client.connection.state(), State::Closed);
}

/// RFC 4340 §8.3.
#[test]
fn a_close_is_answered_with_reset_1() {
    let mut client = Client::open();
    let seq = client.next();
    let close = Header::Close { seq, ack: client.newest() };
    assert_eq!(client.answers(200, close, &[]), []);
    client.connection.accept_close(at(210));
    let sent = client.sent(210).concat();
    let reset = Reset { code: ResetCode::Closed, data: [0; 3] };
    assert_eq!(parse(&sent).header, Header::Reset { seq: client.newest(), ack: seq, reset });
    assert_eq!(sent[24..28], [1, 0, 0, 0], "the code, and no data (§5.6)");
    assert_eq!(client.connection.state(), State::Closed);
}

/// RFC 4340 §7.5.4, §5.7: at once, about the Sync itself, and GSR follows.
#[test]
fn a_sync_is_answered_at_once() {
    let mut client = Client::open();
    let (first, ahead) = (client.peer.add(1), client.peer.add(3));
    let newest = client.newest();
    let answers = client.answers(200, Header::Sync { seq: ahead, ack: newest }, &[]);
    assert_eq!(answers, [Header::SyncAck { seq: client.newest(), ack: ahead }]);
    // One that was overtaken: the answer is about it, and GSR stays.
    let answers = client.answers(210, Header::Sync { seq: first, ack: newest }, &[]);
    assert_eq!(answers, [Header::SyncAck { seq: client.newest(), ack: first }]);
    client.connection.close(at(220));
    assert_eq!(client.headers(220), [Header::Close { seq: client.newest(), ack: ahead }]);
}

/// RFC 4340 §7.5.4.
#[test]
fn an_invalid_sync_is_ignored() {
    let mut client = Client::open();
    let (next, newest) = (client.peer.add(1), client.newest());
    for (ms, seq, ack) in [
        (200, next, newest.add(1)),
        (210, next, client.iss.sub(1)),
        (220, client.peer.sub(500), newest),
        // Far ahead on a connection that was heard from within three round-trip times (§7.5.3).
        (230, client.peer.add(900), newest),
    ] {
        assert_eq!(client.answers(ms, Header::Sync { seq, ack }, &[]), [], "{seq:?} {ack:?}");
        assert_eq!(client.answers(ms, Header::SyncAck { seq, ack }, &[]), [], "{seq:?} {ack:?}");
    }
    // When it is quiet it is taken.
    let far = client.peer.add(900);
    let answers = client.answers(2000, Header::Sync { seq: far, ack: newest }, &[]);
    assert_eq!(answers, [Header::SyncAck { seq: client.newest(), ack: far }]);
}

/// RFC 4340 §5.4, §5.5, §5.7: only Data and DataAck bring datagrams.
#[test]
fn the_data_area_of_other_packets_is_ignored() {
    let mut client = Client::open();
    let newest = client.newest();
    let ack = client.ack(newest);
    client.hand(200, ack, &[], b"no");
    let sync = Header::Sync { seq: client.next(), ack: newest };
    client.hand(210, sync, &[], b"no");
    client.sent(210);
    let sync_ack = Header::SyncAck { seq: client.next(), ack: newest };
    client.hand(220, sync_ack, &[], b"no");
    assert_eq!(client.connection.recv(), None);
    let data = Header::Data { seq: Sequence::Long(client.next()) };
    client.hand(230, data, &[], b"yes");
    let close = Header::Close { seq: client.next(), ack: newest };
    client.hand(240, close, &[], b"no");
    assert_eq!(client.connection.recv().map(|received| received.bytes), Some(b"yes".to_vec()));
    assert_eq!(client.connection.recv(), None);
}

/// RFC 4340 §3.1, §5.1: the eleven reserved bits of a header with 48-bit numbers.
#[test]
fn reserved_bits_mean_nothing_and_are_zero() {
    let mut client = Client::open();
    for (at_byte, bits) in [(8, 0xE0), (9, 0xFF)] {
        let header = Header::Data { seq: Sequence::Long(client.next()) };
        let mut bytes = emit(PORTS, header, &[], b"yes");
        bytes[at_byte] |= bits;
        client.connection.handle_datagram(at(200), Ecn::NotEct, &bytes);
        assert_eq!(client.connection.recv().map(|received| received.bytes), Some(b"yes".to_vec()));
    }
    // Those before an Acknowledgement Number.
    let header = client.ack(client.newest());
    let mut bytes = emit(PORTS, header, &[], &[]);
    bytes[16..18].copy_from_slice(&[0xFF, 0xFF]);
    client.connection.handle_datagram(at(210), Ecn::NotEct, &bytes);
    assert_eq!(client.connection.stats().invalid_packets, 0);
    assert_eq!(client.connection.state(), State::Open);
    client.connection.close(at(220));
    let close = client.sent(220).concat();
    assert_eq!((close[8] & 0xE0, close[9], &close[16..18]), (0, 0, &[0, 0][..]));
}

/// RFC 4340 §5.8.2.
#[test]
fn a_mandatory_option_is_understood_or_the_end() {
    for (space, code, data) in [
        (&[1, 99, 3, 7][..], ResetCode::MandatoryError, [99, 7, 0]),
        (&[1, 46, 4, 1, 2, 0, 0, 0], ResetCode::MandatoryError, [46, 1, 2]),
        // A known one with a length that it cannot have.
        (&[1, 41, 3, 7], ResetCode::MandatoryError, [41, 7, 0]),
        (&[1, 37, 9, 1, 2, 3, 4, 5, 6, 7, 0, 0], ResetCode::MandatoryError, [37, 1, 2]),
        (&[1, 34, 4, 77, 0, 0, 0, 0], ResetCode::MandatoryError, [34, 77, 0]),
        (&[0, 0, 0, 1], ResetCode::OptionError, [1, 0, 0]),
        (&[1, 1, 0, 0], ResetCode::OptionError, [1, 0, 0]),
    ] {
        let mut client = Client::open();
        let ack = client.ack(client.newest());
        let answers = client.answers(200, ack, space);
        let [Header::Reset { reset, .. }] = answers.as_slice() else { panic!("{space:?}: {answers:?}") };
        assert_eq!(*reset, Reset { code, data }, "{space:?}");
    }
    for harmless in [
        &[1, 0, 0, 0][..],
        &[99, 3, 7, 0],
        &[46, 4, 1, 2],
        &[41, 3, 7, 0],
        &[41, 200, 1, 2],
        // A Confirm of a feature that does not exist (§6.6.7).
        &[33, 5, 77, 1, 1, 0, 0, 0],
    ] {
        let mut client = Client::open();
        let ack = client.ack(client.newest());
        assert_eq!(client.answers(200, ack, harmless), [], "{harmless:?}");
        assert_eq!(client.connection.state(), State::Open);
    }
}

/// RFC 4340 §5.8: what follows a length without sense is ignored, what comes before is not.
#[test]
fn options_after_a_nonsensical_length_are_ignored() {
    for (space, echoes) in [
        (&[41, 6, 0, 0, 0, 5, 40, 1][..], 1),
        (&[40, 1, 41, 6, 0, 0, 0, 5], 0),
        (&[40, 99, 41, 6, 0, 0, 0, 5], 0),
    ] {
        let mut client = Client::open();
        let ack = client.ack(client.newest());
        assert_eq!(client.answers(200, ack, space), []);
        client.connection.close(at(210));
        let close = client.sent(210).concat();
        let packet = parse(&close);
        let found = options(packet.header.kind(), packet.options).flatten();
        let found = found.filter(|item| matches!(item.option, Ok(Opt::TimestampEcho { value: 5, .. })));
        assert_eq!(found.count(), echoes, "{space:?}");
    }
}

/// RFC 4340 §13.1: with the next packet, and of two the latest.
#[test]
fn a_timestamp_is_echoed_with_the_next_packet() {
    let mut client = Client::open();
    for (ms, stamp) in [(200, 5), (230, 9)] {
        let ack = client.ack(client.newest());
        client.hand(ms, ack, &[41, 6, 0, 0, 0, stamp, 0, 0], &[]);
    }
    let sync = Header::Sync { seq: client.next(), ack: client.newest() };
    client.hand(250, sync, &[], &[]);
    let answer = client.sent(250).concat();
    let packet = parse(&answer);
    assert_eq!(packet.header.kind(), PacketType::SyncAck);
    // 20 ms in units of 10 µs, in the two bytes that hold them (§13.3).
    assert!(
        packet.options.windows(8).any(|bytes| bytes == [42, 8, 0, 0, 0, 9, 7, 208]),
        "{:?}",
        packet.options
    );
    client.connection.close(at(260));
    let close = client.sent(260).concat();
    assert!(!parse(&close).options.contains(&42), "once");
}

/// RFC 4340 §6.6.7, §6.6.8: an answer to our questions that cannot be ends the connection.
#[test]
fn an_impossible_confirm_ends_the_connection() {
    for (at_byte, bytes) in [
        // CCID: empty; a value that we did not offer. Sequence Window: another than proposed.
        (0, &[35, 3, 1, 0, 0][..]),
        (0, &[35, 5, 1, 2, 2]),
        (10, &[35, 9, 3, 0, 0, 0, 0, 3, 231]),
        (10, &[35, 3, 3, 0, 0, 0, 0, 0, 0]),
    ] {
        let mut client = Client::asking();
        let mut space = CONFIRMS;
        space[at_byte..at_byte + bytes.len()].copy_from_slice(bytes);
        let response = response_with(ISR, client.iss);
        let answers = client.answers(50, response, &space);
        let [Header::Reset { reset, .. }] = answers.as_slice() else { panic!("{bytes:?}: {answers:?}") };
        assert_eq!(reset.code, ResetCode::OptionError, "{bytes:?}");
    }
}

/// RFC 4340 §6.6.3: a question that the Response leaves open is asked again, the same each time.
#[test]
fn an_open_question_is_asked_until_it_is_answered() {
    let mut client = Client::asking();
    // No word of Send NDP Count at the client.
    let mut space = CONFIRMS.to_vec();
    space.drain(19..25);
    space.extend_from_slice(&[0, 0]);
    let response = response_with(ISR, client.iss);
    client.hand(50, response, &space, &[]);
    let asks = |bytes: &[u8]| parse(bytes).options.windows(5).any(|w| w == [32, 5, 7, 1, 0]);
    assert!(asks(&client.sent(50).concat()));
    let ack = client.ack(client.newest());
    client.hand(100, ack, &[], &[]);
    let mut asked = Vec::new();
    for ms in (101..20_000).step_by(20) {
        asked.extend(client.sent(ms).iter().filter(|bytes| asks(bytes)).map(|_| ms));
    }
    let gaps: Vec<_> = asked.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(gaps.len() >= 3 && gaps.windows(2).all(|two| two[1] * 2 > two[0] * 3), "backing off: {asked:?}");
    let newest = client.newest();
    let ack = client.ack(newest);
    client.hand(20_001, ack, &[35, 6, 7, 1, 1, 0, 0, 0], &[]);
    let mut later = (20_002..90_000).step_by(50);
    assert!(later.all(|ms| client.sent(ms).iter().all(|bytes| !asks(bytes))));
}

/// RFC 4340 §6.6.1: who asks waits for the answer.
#[test]
fn a_value_changes_with_its_confirm() {
    use tfrc_dccp::feature::{Feature, Location};
    let mut client = Client::asking();
    let window = |client: &Client| client.connection.feature(Feature::SequenceWindow, Location::Local);
    assert_eq!(window(&client), 100);
    let response = response_with(ISR, client.iss);
    client.hand(50, response, &CONFIRMS, &[]);
    assert_eq!(window(&client), 1000);
}

/// RFC 4340 §5.1: CCVal belongs to the packets of the half-connection's data; their numbers have 48
/// bits (§7.6.2).
#[test]
fn only_data_packets_count_time() {
    let mut client = Client::open();
    let mut data = Vec::new();
    for ms in [1200, 2400] {
        client.sent(ms);
        client.connection.send(at(ms), b"data").expect("room");
        data = client.sent(ms).concat();
    }
    assert!(matches!(parse(&data).header, Header::Data { seq: Sequence::Long(_) }), "{data:?}");
    assert_ne!(parse(&data).ccval, 0);
    client.connection.close(at(2500));
    let close = client.sent(2500).concat();
    assert_eq!((parse(&close).header.kind(), parse(&close).ccval), (PacketType::Close, 0));
}

/// RFC 4340 §5.1.
#[test]
fn ports_are_hard_to_guess() {
    let port = |seed: u8| {
        let mut endpoint = Endpoint::new(EndpointConfig::default(), [seed; 32]);
        let config = ConnectConfig { port: 5001, connection: ConnectionConfig::default() };
        endpoint.connect(at(0), SocketAddr::from(([192, 0, 2, 2], 6511)), config).expect("a port");
        let mut bytes = Vec::new();
        endpoint.poll_transmit(at(0), &mut bytes).expect("a Request");
        parse(&bytes).source_port
    };
    let ports: BTreeSet<u16> = (0..50).map(port).collect();
    assert!(ports.len() >= 48, "{ports:?}");
    assert_eq!(port(7), port(7));
}

/// RFC 4340 §6.6.7, RFC 4342 §8: Send Loss Event Rate at either end.
#[test]
fn an_optional_feature_may_be_unknown() {
    for at_byte in [31, 37] {
        let mut client = Client::asking();
        let mut space = CONFIRMS;
        space[at_byte + 1..at_byte + 6].copy_from_slice(&[3, 192, 0, 0, 0]);
        let response = response_with(ISR, client.iss);
        let answers = client.answers(50, response, &space);
        assert_eq!(answers.iter().map(Header::kind).collect::<Vec<_>>(), [PacketType::Ack]);
        assert_eq!(client.connection.state(), State::PartOpen);
    }
}

/// RFC 4340 §6.6.2: a Confirm in STABLE answers nothing.
#[test]
fn a_confirm_without_a_question_is_ignored() {
    use tfrc_dccp::feature::{Feature, Location};
    for confirm in [[35, 5, 7, 0, 0, 0, 0, 0], [35, 9, 3, 0, 0, 0, 0, 1], [35, 3, 1, 0, 0, 0, 0, 0]] {
        let mut client = Client::open();
        let mut space = confirm.to_vec();
        space.resize(12, 0);
        let ack = client.ack(client.newest());
        assert_eq!(client.answers(200, ack, &space), [], "{confirm:?}");
        let value = |feature| client.connection.feature(feature, Location::Local);
        let values = [Feature::SendNdpCount, Feature::SequenceWindow, Feature::Ccid].map(value);
        assert_eq!((values, client.connection.state()), ([1, 1000, 3], State::Open));
    }
}
