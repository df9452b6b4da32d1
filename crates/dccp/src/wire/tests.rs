//! Byte vectors from captures of Linux 6.1 and from the RFCs, and round trips of everything that
//! can be built.

use core::net::Ipv4Addr;
use std::vec::Vec;
use std::{format, vec};

use proptest::collection::vec as bytes;
use proptest::prelude::*;
use tfrc_units::{SeqNo24, SeqNo48};

use super::*;

fn unhex(text: &str) -> Vec<u8> {
    let nibble = |c: u8| char::from(c).to_digit(16).and_then(|n| u8::try_from(n).ok()).expect("hex digit");
    let digits: Vec<u8> = text.bytes().filter(|c| !c.is_ascii_whitespace()).map(nibble).collect();
    digits.chunks(2).map(|pair| pair.iter().fold(0, |n, digit| (n << 4) | digit)).collect()
}

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 33, 0, 3);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 33, 0, 2);
const HOST: Ipv4Addr = Ipv4Addr::new(10, 33, 0, 1);

fn native(source: Ipv4Addr, destination: Ipv4Addr) -> Integrity {
    Integrity::Native(PseudoHeader::V4(source, destination))
}

fn parsed(bytes: &[u8], integrity: Integrity) -> Packet<'_> {
    let packet = Packet::parse(bytes, integrity).expect("a good packet");
    let mut again = Vec::new();
    packet.emit(&mut again, integrity).expect("what was parsed can be emitted");
    assert_eq!(again, bytes, "emitting gives the captured bytes, checksum included");
    packet
}

fn listed(packet: &Packet<'_>) -> Vec<std::string::String> {
    options(packet.header.kind(), packet.options)
        .map(|item| {
            let item = item.expect("no misplaced Mandatory");
            let weight = if item.mandatory { "!" } else { "" };
            match item.option.expect("understood") {
                Opt::Feature(f) => format!("{weight}{:?}({},{:?})", f.op, f.feature, f.values),
                other => format!("{weight}{other:?}"),
            }
        })
        .collect()
}

// linux-clean-50ms.pcap, packets 1, 2, 3, 6, 310 and 311.
const LINUX_REQUEST: &str =
    "9264138913003690010041373d957602545241432906000097c3200401032204010301200402000120040401
    20050500002204060020040600200407010122040701012204c001012004c001";
const LINUX_RESPONSE: &str = "138992641c0045ee03001bbc1ee90a6e000041373d957602545241430000002a08000097c300a529060009
    1684210501030323050103030120040200230502000001200404012305040101200505000023050500002204060020040600200407010122
    040701012204c001012004c001";
const LINUX_ACK: &str =
    "9264138914008f9c070041373d95760300001bbc1ee90a6e0000002a08000916840051230502000023050401012305
    05000023050600002105060000210507010123050701012305c001012105c00101";
const LINUX_FEEDBACK: &str = "138992640900799307001bbc1ee90a6f000041373d957604c20600000000c006ffffffff";
const LINUX_CLOSE: &str = "926413890600f77b0d0041373d9576fe00001bbc1ee90aa6";
const LINUX_RESET: &str = "138992640800ef150f001bbc1ee90aa7000041373d9576fe0100000000250338";

#[test]
fn a_linux_handshake_parses() {
    let bytes = unhex(LINUX_REQUEST);
    let request = parsed(&bytes, native(CLIENT, SERVER));
    assert_eq!((request.source_port, request.destination_port), (37476, 5001));
    let client = SeqNo48::new(0x4137_3D95_7602);
    assert_eq!(request.header, Header::Request { seq: client, service: ServiceCode::new(1_414_676_803) });
    assert_eq!(
        listed(&request),
        [
            "Timestamp(38851)",
            "ChangeL(1,[3])",
            "ChangeR(1,[3])",
            "!ChangeL(2,[0])",
            "!ChangeL(4,[1])",
            "ChangeL(5,[0, 0])",
            "ChangeR(6,[0])",
            "ChangeL(6,[0])",
            "ChangeL(7,[1])",
            "!ChangeR(7,[1])",
            "!ChangeR(192,[1])",
            "!ChangeL(192,[1])"
        ]
    );

    let bytes = unhex(LINUX_RESPONSE);
    let response = parsed(&bytes, native(SERVER, CLIENT));
    let server = SeqNo48::new(0x1BBC_1EE9_0A6E);
    let service = ServiceCode::new(1_414_676_803);
    assert_eq!(response.header, Header::Response { seq: server, ack: client, service });
    assert_eq!(
        listed(&response).get(..4).unwrap_or_default(),
        [
            "TimestampEcho { value: 38851, elapsed: Some(Elapsed(165)) }",
            "Timestamp(595588)",
            "ConfirmL(1,[3, 3])",
            "ConfirmR(1,[3, 3])"
        ]
    );

    let bytes = unhex(LINUX_ACK);
    let ack = parsed(&bytes, native(CLIENT, SERVER));
    let numbers = SeqAck::Long { seq: client.add(1), ack: server };
    assert_eq!(ack.header, Header::Ack { numbers });
    assert!(listed(&ack).iter().any(|option| option == "ConfirmL(192,[1, 1])"));
}

#[test]
fn linux_feedback_close_and_reset_parse() {
    let bytes = unhex(LINUX_FEEDBACK);
    let feedback = parsed(&bytes, native(SERVER, CLIENT));
    assert_eq!(listed(&feedback), ["ReceiveRate(0)", "LossEventRate(4294967295)"]);

    let bytes = unhex(LINUX_CLOSE);
    let close = parsed(&bytes, native(CLIENT, SERVER));
    assert_eq!(close.header.kind(), PacketType::Close);
    assert_eq!(close.header.acknowledgement(), Some(Sequence::Long(SeqNo48::new(0x1BBC_1EE9_0AA6))));

    let bytes = unhex(LINUX_RESET);
    let reset = parsed(&bytes, native(SERVER, CLIENT));
    assert!(matches!(reset.header, Header::Reset { reset, .. } if reset == Reset::new(ResetCode::Closed)));
    assert_eq!(listed(&reset), ["NdpCount(56)"]);
}

#[test]
fn linux_resets_that_refuse_parse() {
    // raw-client-to-linux.pcap, packet 82: Mandatory Change L for unknown feature 99 was refused.
    let bytes = unhex("138997220700299b0f0000000000000000004516ea1e68e006206301");
    let reset = parsed(&bytes, native(SERVER, HOST));
    let why = Reset { code: ResetCode::MandatoryError, data: [32, 99, 1] };
    let expected = Header::Reset { seq: SeqNo48::new(0), ack: SeqNo48::new(0x4516_EA1E_68E0), reset: why };
    assert_eq!(reset.header, expected);
}

#[test]
fn a_ccid2_ack_vector_parses() {
    // linux-ccid2-default.pcap, packet 7.
    let bytes = unhex("1389b0be070083f40700aad691df667900003479ce01ec6d00260301");
    let ack = parsed(&bytes, native(SERVER, CLIENT));
    assert_eq!(listed(&ack), ["AckVector(AckVector { nonce: Zero, cells: [1] })"]);
}

#[test]
fn a_captured_bad_checksum_is_refused_natively_and_ignored_over_udp() {
    // raw-client-to-linux.pcap, packet 105.
    let bytes = unhex("9753138907002bbe0100073b45559381545241432004010322040103");
    assert_eq!(Packet::parse(&bytes, native(HOST, SERVER)), Err(ParseError::Checksum));
    assert!(Packet::parse(&bytes, Integrity::Udp).is_ok());
}

/// One packet of each type as it goes into UDP: ports 5000 and 6511, sequence number 1,
/// acknowledgement number 2.
#[test]
fn each_type_has_its_bytes() {
    let (seq, ack) = (SeqNo48::new(1), SeqNo48::new(2));
    let service = ServiceCode::new(0x5452_4143);
    let long = SeqAck::Long { seq, ack };
    let short = SeqAck::Short { seq: SeqNo24::new(1), ack: SeqNo24::new(2) };
    let closed = Reset::new(ResetCode::Closed);
    for (header, expected) in [
        (Header::Request { seq, service }, "1388196f 05000000 0100000000000001 54524143"),
        (
            Header::Response { seq, ack, service },
            "1388196f 07000000 0300000000000001 0000000000000002 54524143",
        ),
        (Header::Data { seq: Sequence::Long(seq) }, "1388196f 04000000 0500000000000001"),
        (Header::Data { seq: Sequence::Short(SeqNo24::new(1)) }, "1388196f 03000000 04000001"),
        (Header::Ack { numbers: long }, "1388196f 06000000 0700000000000001 0000000000000002"),
        (Header::Ack { numbers: short }, "1388196f 04000000 06000001 00000002"),
        (Header::DataAck { numbers: long }, "1388196f 06000000 0900000000000001 0000000000000002"),
        (Header::DataAck { numbers: short }, "1388196f 04000000 08000001 00000002"),
        (Header::CloseReq { seq, ack }, "1388196f 06000000 0b00000000000001 0000000000000002"),
        (Header::Close { seq, ack }, "1388196f 06000000 0d00000000000001 0000000000000002"),
        (
            Header::Reset { seq, ack, reset: closed },
            "1388196f 07000000 0f00000000000001 0000000000000002 01000000",
        ),
        (Header::Sync { seq, ack }, "1388196f 06000000 1100000000000001 0000000000000002"),
        (Header::SyncAck { seq, ack }, "1388196f 06000000 1300000000000001 0000000000000002"),
    ] {
        let packet = Packet {
            source_port: 5000,
            destination_port: 6511,
            ccval: 0,
            coverage: 0,
            header,
            options: &[],
            payload: &[],
        };
        let mut bytes = Vec::new();
        packet.emit(&mut bytes, Integrity::Udp).expect("legal");
        assert_eq!(bytes, unhex(expected), "{header:?}");
        assert_eq!(Packet::parse(&bytes, Integrity::Udp), Ok(packet));
    }
}

#[test]
fn malformed_packets_say_what_is_wrong() {
    let good = unhex("1388196f 06000000 0700000000000001 0000000000000002");
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        *bytes.get_mut(at).expect("in range") = value;
        Packet::parse(&bytes, Integrity::Udp).map(|packet| packet.header)
    };
    assert_eq!(
        Packet::parse(good.get(..11).unwrap_or_default(), Integrity::Udp),
        Err(ParseError::TooShort { length: 11 })
    );
    assert_eq!(with(8, 0x15), Err(ParseError::ReservedType { number: 10 }));
    assert_eq!(with(8, 0x10), Err(ParseError::ShortNumbers { kind: PacketType::Sync }));
    assert_eq!(with(4, 5), Err(ParseError::DataOffset { offset: 20, minimum: 24, length: 24 }));
    assert_eq!(with(4, 7), Err(ParseError::DataOffset { offset: 28, minimum: 24, length: 24 }));
    assert_eq!(with(5, 2), Err(ParseError::Coverage { coverage: 2, payload: 0 }));
    // Reserved bits are ignored (§5.1).
    assert_eq!(with(8, 0xE7), with(8, 0x07));
    assert_eq!(with(9, 0xFF), with(9, 0));
}

#[test]
fn the_checksum_covers_what_cscov_says() {
    let packet = Packet {
        source_port: 1,
        destination_port: 2,
        ccval: 3,
        coverage: 2,
        header: Header::Data { seq: Sequence::Long(SeqNo48::new(9)) },
        options: &[],
        payload: b"covered or not",
    };
    let integrity = native(CLIENT, SERVER);
    let mut bytes = Vec::new();
    packet.emit(&mut bytes, integrity).expect("legal");
    let flipped = |at: usize| {
        let mut bytes = bytes.clone();
        *bytes.get_mut(at).expect("in range") ^= 1;
        Packet::parse(&bytes, integrity).is_ok()
    };
    assert!(!flipped(10), "the header is covered");
    assert!(!flipped(19), "four bytes of data are covered");
    assert!(flipped(20), "the rest is not");
    assert!(Packet::parse(&bytes, native(CLIENT, HOST)).is_err(), "the addresses are covered");
}

#[test]
fn header_limits_are_kept() {
    let packet = |options| Packet {
        source_port: 1,
        destination_port: 2,
        ccval: 0,
        coverage: 0,
        header: Header::Data { seq: Sequence::Long(SeqNo48::new(1)) },
        options,
        payload: &[],
    };
    let mut out = Vec::new();
    assert!(packet(&[0; 1004]).emit(&mut out, Integrity::Udp).is_ok());
    out.clear();
    assert_eq!(
        packet(&[0; 1008]).emit(&mut out, Integrity::Udp),
        Err(EmitError::HeaderLength { length: 1024 })
    );
    assert_eq!(packet(&[0; 3]).emit(&mut out, Integrity::Udp), Err(EmitError::HeaderLength { length: 19 }));
    let wide = Packet { ccval: 16, ..packet(&[]) };
    assert!(matches!(wide.emit(&mut out, Integrity::Udp), Err(EmitError::Nibble { .. })));
    assert!(out.is_empty());
}

#[test]
fn options_of_rfc4340_have_their_bytes() {
    let feature = |op, feature, values| Opt::Feature(FeatureOption { op, feature, values });
    for (option, expected) in [
        // §6.5
        (feature(FeatureOp::ChangeL, 1, &[2, 3]), &[32, 5, 1, 2, 3][..]),
        (feature(FeatureOp::ChangeL, 3, &[0, 0, 0, 0, 4, 0]), &[32, 9, 3, 0, 0, 0, 0, 4, 0]),
        (feature(FeatureOp::ConfirmL, 1, &[2, 2, 3]), &[33, 6, 1, 2, 2, 3]),
        (feature(FeatureOp::ConfirmL, 126, &[]), &[33, 3, 126]),
        (feature(FeatureOp::ChangeR, 1, &[3, 2]), &[34, 5, 1, 3, 2]),
        (feature(FeatureOp::ConfirmR, 1, &[2, 3, 2]), &[35, 6, 1, 2, 3, 2]),
        // §7.7: the smallest form that holds the count.
        (Opt::NdpCount(1), &[37, 3, 1]),
        (Opt::NdpCount(256), &[37, 4, 1, 0]),
        // §13
        (Opt::Timestamp(38851), &[41, 6, 0, 0, 0x97, 0xC3]),
        (Opt::ElapsedTime(Elapsed::from_units(81)), &[43, 4, 0, 81]),
        (Opt::ElapsedTime(Elapsed::from_units(65_536)), &[43, 6, 0, 1, 0, 0]),
        (Opt::TimestampEcho { value: 1, elapsed: None }, &[42, 6, 0, 0, 0, 1]),
        // RFC 6323 §3.2.1
        (Opt::RttEstimate(RttEstimate::Unknown), &[128, 3, 0]),
        (Opt::RttEstimate(RttEstimate::Micros(50_000)), &[128, 4, 0xC3, 0x50]),
        (Opt::RttEstimate(RttEstimate::TooLong), &[128, 5, 0xFF, 0xFF, 0xFF]),
        // RFC 4342 §8.3, 8.5
        (Opt::ReceiveRate(16691), &[194, 6, 0, 0, 0x41, 0x33]),
        (Opt::LossEventRate(u32::MAX), &[192, 6, 255, 255, 255, 255]),
        (Opt::SlowReceiver, &[2]),
    ] {
        let mut list = OptionList::new(OptionList::MAX);
        list.push(&option).expect("room");
        let padded = list.padded();
        assert_eq!(padded.get(..expected.len()), Some(expected), "{option:?}");
        assert!(padded.len().is_multiple_of(4) && padded.iter().skip(expected.len()).all(|byte| *byte == 0));
        let found: Vec<_> = options(PacketType::Ack, padded).map(|item| item.expect("fine").option).collect();
        assert_eq!(found, [Ok(option)]);
    }
}

#[test]
fn loss_intervals_are_those_of_the_example() {
    // RFC 4342 §8.6.2.
    let wire: [u8; 39] = [
        193, 39, 2, 0, 0, 10, 128, 0, 1, 0, 0, 10, 0, 0, 8, 0, 0, 5, 0, 0, 10, 0, 0, 8, 0, 0, 1, 0, 0, 8, 0,
        0, 10, 128, 0, 0, 0, 0, 15,
    ];
    let interval = |lossless_length, nonce, loss_length, data_length| LossInterval {
        lossless_length,
        nonce,
        loss_length,
        data_length,
    };
    let expected = [
        interval(10, Nonce::One, 1, 10),
        interval(8, Nonce::Zero, 5, 10),
        interval(8, Nonce::Zero, 1, 8),
        interval(10, Nonce::One, 0, 15),
    ];
    let item = options(PacketType::Ack, &wire).next().expect("one").expect("fine");
    let Ok(Opt::LossIntervals(found)) = item.option else { panic!("{item:?}") };
    assert_eq!(found.skip_length, 2);
    assert_eq!(found.iter().collect::<Vec<_>>(), expected);

    let mut space = Vec::new();
    let mut list = OptionList::new(OptionList::MAX);
    list.push(&Opt::LossIntervals(LossIntervals::encode(2, &expected, &mut space))).expect("room");
    assert_eq!(list.padded().get(..39), Some(&wire[..]));
}

#[test]
fn loss_intervals_saturate_and_need_whole_cells() {
    let huge = LossInterval {
        lossless_length: u32::MAX,
        nonce: Nonce::Zero,
        loss_length: u32::MAX,
        data_length: u32::MAX,
    };
    let mut space = Vec::new();
    let found: Vec<_> = LossIntervals::encode(0, &[huge; 30], &mut space).iter().collect();
    assert_eq!(found.len(), LossIntervals::MAX_INTERVALS);
    let largest = LossInterval {
        lossless_length: 0xFF_FFFF,
        nonce: Nonce::Zero,
        loss_length: 0x7F_FFFF,
        data_length: 0xFF_FFFF,
    };
    assert!(found.iter().all(|interval| *interval == largest));
    for data in [&[193, 3, 0][..], &[193, 4, 0, 1], &[193, 13, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 9]] {
        let item = options(PacketType::Ack, data).next().expect("one").expect("fine");
        assert_eq!(item.option, Err(Refusal::Invalid), "{data:?}");
    }
}

/// Type, weight and refusal of an option, or where a Mandatory is misplaced.
type Walked = Result<(u8, bool, Option<Refusal>), usize>;

fn walked(packet: PacketType, space: &[u8]) -> Vec<Walked> {
    options(packet, space)
        .map(|item| {
            item.map(|item| (item.raw.kind, item.mandatory, item.option.err())).map_err(|error| error.offset)
        })
        .collect()
}

#[test]
fn mandatory_marks_exactly_the_next_option() {
    // §5.8.2
    assert_eq!(
        walked(PacketType::Ack, &[1, 37, 3, 1, 37, 3, 2]),
        [Ok((37, true, None)), Ok((37, false, None))]
    );
    assert_eq!(
        walked(PacketType::Ack, &[1, 0, 37, 3, 1]),
        [Ok((37, false, None))],
        "Mandatory Padding is padding"
    );
    assert_eq!(walked(PacketType::Ack, &[0, 1]), [Err(1)], "nothing after it");
    assert_eq!(walked(PacketType::Ack, &[0, 1, 1, 37, 3, 1]), [Err(1), Ok((37, false, None))], "two of them");
    assert_eq!(walked(PacketType::Ack, &[1, 37, 9]), [Err(0)], "nothing sensible after it");
    assert_eq!(walked(PacketType::Ack, &[1, 100, 2]), [Ok((100, true, Some(Refusal::Unknown)))]);
    assert_eq!(walked(PacketType::Ack, &[1, 41, 3, 0]), [Ok((41, true, Some(Refusal::Invalid)))]);
}

#[test]
fn data_packets_ignore_what_could_hurt() {
    // §5.8 table 3, §7.5.5; RFC 4342 table 1; RFC 6323 table 1.
    let space = [
        1, 100, 2, 32, 4, 1, 3, 33, 4, 1, 3, 34, 4, 1, 3, 35, 4, 1, 3, 36, 2, 38, 3, 0, 40, 3, 0, 43, 4, 0,
        1, 193, 12, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 194, 6, 0, 0, 0, 1, 192, 6, 0, 0, 0, 1, 128, 3, 9, 37, 3,
        1, 2, 41, 6, 0, 0, 0, 1,
    ];
    assert_eq!(
        walked(PacketType::Data, &space),
        [Ok((128, false, None)), Ok((37, false, None)), Ok((2, false, None)), Ok((41, false, None))]
    );
    assert_eq!(walked(PacketType::Data, &[1]), []);
    assert_eq!(walked(PacketType::Data, &[1, 1, 1, 2]), [Ok((2, false, None))]);
}

#[test]
fn requests_cannot_acknowledge() {
    for space in [
        &[33, 4, 1, 3][..],
        &[36, 2],
        &[38, 3, 0],
        &[40, 3, 0],
        &[43, 4, 0, 1],
        &[193, 12, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1],
    ] {
        let kind = space.first().copied().expect("not empty");
        assert_eq!(walked(PacketType::Request, space), [Ok((kind, false, Some(Refusal::Misplaced)))]);
    }
}

#[test]
fn a_nonsensical_length_ends_the_options_and_is_told() {
    let mut walk = options(PacketType::Ack, &[37, 3, 1, 37, 200, 1]);
    assert!(walk.next().is_some_and(|item| item.is_ok()));
    assert_eq!(walk.next(), None);
    let kind = OptionErrorKind::TooLarge { length: 200, available: 3 };
    assert_eq!(walk.error(), Some(OptionError { offset: 3, option: 37, kind }));
}

#[test]
fn a_full_list_refuses_and_stays_as_it_was() {
    let mut list = OptionList::new(7);
    list.push(&Opt::NdpCount(1)).expect("three bytes of four");
    assert_eq!(list.push(&Opt::NdpCount(1)), Err(OptionsFull { kind: 37, left: 1 }));
    list.push(&Opt::SlowReceiver).expect("one byte");
    assert_eq!(list.padded(), [37, 3, 1, 2]);
    let mut list = OptionList::new(OptionList::MAX);
    assert!(list.push(&Opt::InitCookie(&[7; 253])).is_ok());
    assert!(list.push(&Opt::InitCookie(&[7; 254])).is_err());
}

fn any_seq() -> impl Strategy<Value = SeqNo48> + Clone {
    any::<u64>().prop_map(SeqNo48::new)
}

fn any_header() -> impl Strategy<Value = Header> {
    let low = any::<u32>().prop_map(SeqNo24::new);
    let sequence = prop_oneof![any_seq().prop_map(Sequence::Long), low.clone().prop_map(Sequence::Short)];
    let numbers = prop_oneof![
        (any_seq(), any_seq()).prop_map(|(seq, ack)| SeqAck::Long { seq, ack }),
        (low.clone(), low).prop_map(|(seq, ack)| SeqAck::Short { seq, ack }),
    ];
    let pair = (any_seq(), any_seq());
    let service = any::<u32>().prop_map(ServiceCode::new);
    let code = any::<u8>().prop_map(ResetCode::from_wire);
    prop_oneof![
        (any_seq(), service.clone()).prop_map(|(seq, service)| Header::Request { seq, service }),
        (pair.clone(), service).prop_map(|((seq, ack), service)| Header::Response { seq, ack, service }),
        sequence.prop_map(|seq| Header::Data { seq }),
        numbers.clone().prop_map(|numbers| Header::Ack { numbers }),
        numbers.prop_map(|numbers| Header::DataAck { numbers }),
        pair.clone().prop_map(|(seq, ack)| Header::CloseReq { seq, ack }),
        pair.clone().prop_map(|(seq, ack)| Header::Close { seq, ack }),
        (pair.clone(), code, any::<[u8; 3]>()).prop_map(|((seq, ack), code, data)| Header::Reset {
            seq,
            ack,
            reset: Reset { code, data }
        }),
        pair.clone().prop_map(|(seq, ack)| Header::Sync { seq, ack }),
        pair.prop_map(|(seq, ack)| Header::SyncAck { seq, ack }),
    ]
}

fn any_integrity() -> impl Strategy<Value = Integrity> {
    prop_oneof![
        Just(Integrity::Udp),
        any::<(u32, u32)>().prop_map(|(s, d)| native(s.into(), d.into())),
        any::<(u128, u128)>().prop_map(|(s, d)| Integrity::Native(PseudoHeader::V6(s.into(), d.into()))),
    ]
}

/// Every option without borrowed data.
fn any_plain_option() -> impl Strategy<Value = Opt<'static>> {
    let elapsed = any::<u32>().prop_map(Elapsed::from_units);
    prop_oneof![
        Just(Opt::SlowReceiver),
        (0..1u64 << 48).prop_map(Opt::NdpCount),
        any::<u32>().prop_map(Opt::Timestamp),
        (any::<u32>(), proptest::option::of(elapsed.clone()))
            .prop_map(|(value, elapsed)| Opt::TimestampEcho { value, elapsed }),
        elapsed.prop_map(Opt::ElapsedTime),
        any::<u32>().prop_map(Opt::DataChecksum),
        Just(Opt::Note(b"sends")),
        (1..0xFF_FFFFu32).prop_map(|us| Opt::RttEstimate(RttEstimate::Micros(us))),
        any::<u32>().prop_map(Opt::LossEventRate),
        any::<u32>().prop_map(Opt::ReceiveRate),
    ]
}

proptest! {
    #[test]
    fn packets_round_trip(
        header in any_header(),
        integrity in any_integrity(),
        (source_port, destination_port) in any::<(u16, u16)>(),
        ccval in 0..16u8,
        words in bytes(any::<u32>(), 0..20),
        payload in bytes(any::<u8>(), 0..100),
        coverage in 0..16u8,
    ) {
        let space: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let packet =
            Packet { source_port, destination_port, ccval, coverage, header, options: &space, payload: &payload };
        let mut out = vec![0xEE];
        let covers_too_much = coverage > 0 && usize::from(coverage - 1) * 4 > payload.len();
        let emitted = packet.emit(&mut out, integrity);
        prop_assert_eq!(emitted.is_err(), covers_too_much);
        if emitted.is_ok() {
            prop_assert_eq!(Packet::parse(out.get(1..).unwrap_or_default(), integrity), Ok(packet));
        }
    }

    #[test]
    fn options_round_trip_together(
        plain in bytes((any_plain_option(), any::<bool>()), 0..12),
        cookie in bytes(any::<u8>(), 0..=253),
        (feature, values) in (any::<u8>(), bytes(any::<u8>(), 1..20)),
        (lossless, loss) in (0..1u32 << 24, 0..1u32 << 23),
        counts in bytes(0..1u32 << 24, 1..=84),
    ) {
        let mut list = OptionList::new(OptionList::MAX);
        let (mut space, mut count_space) = (Vec::new(), Vec::new());
        let interval =
            LossInterval { lossless_length: lossless, nonce: Nonce::One, loss_length: loss, data_length: lossless };
        let mut all = plain;
        all.push((Opt::InitCookie(&cookie), false));
        all.push((Opt::Feature(FeatureOption { op: FeatureOp::ChangeR, feature, values: &values }), true));
        all.push((Opt::LossIntervals(LossIntervals::encode(3, &[interval; 2], &mut space)), false));
        all.push((Opt::DroppedPackets(DroppedPackets::encode(&counts, &mut count_space)), false));
        for (option, mandatory) in &all {
            let pushed = if *mandatory { list.push_mandatory(option) } else { list.push(option) };
            pushed.expect("room");
        }
        let found: Vec<_> = options(PacketType::Ack, list.padded())
            .map(|item| item.map(|item| (item.option.expect("understood"), item.mandatory)).expect("placed"))
            .collect();
        prop_assert_eq!(found, all);
    }

    #[test]
    fn no_bytes_panic(junk in bytes(any::<u8>(), 0..80), number in 0..10u8) {
        if let Ok(packet) = Packet::parse(&junk, Integrity::Udp) {
            let mut again = Vec::new();
            prop_assert!(packet.emit(&mut again, Integrity::Udp).is_ok());
        }
        let kind = PacketType::from_wire(number).expect("ten types");
        for item in options(kind, &junk).flatten() {
            match item.option {
                Ok(Opt::AckVector(vector)) => prop_assert!(vector.iter().all(|cell| cell.packets > 0)),
                Ok(Opt::DataDropped(dropped)) => prop_assert!(dropped.iter().all(|block| block.packets > 0)),
                Ok(Opt::LossIntervals(intervals)) => prop_assert!(intervals.iter().count() > 0),
                Ok(Opt::DroppedPackets(dropped)) => prop_assert!(dropped.iter().count() > 0),
                _ => {}
            }
        }
    }
}
