//! Two ends that exchange option lists, and the cases of RFC 4340 §6 one by one.

use std::vec::Vec;

use super::*;
use crate::wire::{FeatureOp, FeatureOption, Opt, OptionList, PacketType, options};
use tfrc_units::{Duration, Instant, SeqNo48};

const RTT: Duration = Duration::from_millis(50);
const START: Instant = Instant::ZERO;

fn seq(n: u64) -> SeqNo48 {
    SeqNo48::new(n)
}

/// A negotiation whose sent numbers start at 1000.
fn end(role: Role) -> Negotiation {
    Negotiation::new(role, Wishes::default(), seq(1000))
}

fn send(end: &mut Negotiation, now: Instant, number: u64, packet: PacketType) -> Vec<u8> {
    let mut list = OptionList::new(OptionList::MAX);
    let repeat = match packet {
        PacketType::Request | PacketType::Response => Repeat::Handshake,
        _ => Repeat::Due,
    };
    end.emit(now, RTT, seq(number), packet, repeat, &mut list);
    list.padded().to_vec()
}

fn receive(
    end: &mut Negotiation,
    number: u64,
    ack: Option<u64>,
    packet: PacketType,
    space: &[u8],
) -> Result<(), Failure> {
    let order = end.order(seq(number), ack.map(seq));
    for item in options(packet, space).flatten() {
        if let Ok(Opt::Feature(option)) = item.option {
            end.on_option(order, &option, item.mandatory)?;
        }
    }
    end.after_packet(seq(number));
    Ok(())
}

/// One option in, the resulting options out.
fn ask(end: &mut Negotiation, number: u64, option: &[u8]) -> Result<Vec<u8>, Failure> {
    receive(end, number, Some(1000), PacketType::Ack, option)?;
    Ok(send(end, START, 1001, PacketType::Ack))
}

fn first_option(space: &[u8]) -> Option<FeatureOption<'_>> {
    options(PacketType::Ack, space).flatten().find_map(|item| match item.option {
        Ok(Opt::Feature(option)) => Some(option),
        _ => None,
    })
}

#[test]
fn a_handshake_settles_every_wish() {
    let (mut client, mut server) = (end(Role::Client), end(Role::Server));
    client.ask_for_wishes();
    let request = send(&mut client, START, 1000, PacketType::Request);
    receive(&mut server, 1000, None, PacketType::Request, &request).expect("no failure");
    server.ask_for_wishes();
    let response = send(&mut server, START, 1000, PacketType::Response);
    receive(&mut client, 1000, Some(1000), PacketType::Response, &response).expect("no failure");
    let ack = send(&mut client, START, 1001, PacketType::Ack);
    receive(&mut server, 1001, Some(1000), PacketType::Ack, &ack).expect("no failure");

    assert!(client.is_settled() && server.is_settled());
    assert_eq!((client.poll_timeout(), server.poll_timeout()), (None, None));
    for (feature, value) in [
        (Feature::Ccid, 3),
        (Feature::AllowShortSeqnos, 0),
        (Feature::SequenceWindow, 1000),
        (Feature::EcnIncapable, 0),
        (Feature::SendAckVector, 0),
        (Feature::SendNdpCount, 1),
        (Feature::SendRttEstimate, 1),
        (Feature::SendLossEventRate, 1),
    ] {
        for location in [Location::Local, Location::Remote] {
            assert_eq!(client.value(feature, location), value, "{feature:?} {location:?} at the client");
            assert_eq!(server.value(feature, location), value, "{feature:?} {location:?} at the server");
        }
    }
}

#[test]
fn a_linux_request_is_answered_as_linux_needs() {
    // The options of the captured Request less its Timestamp (linux-clean-50ms.pcap).
    let request = [
        32, 4, 1, 3, 34, 4, 1, 3, 1, 32, 4, 2, 0, 1, 32, 4, 4, 1, 32, 5, 5, 0, 0, 34, 4, 6, 0, 32, 4, 6, 0,
        32, 4, 7, 1, 1, 34, 4, 7, 1, 1, 34, 4, 192, 1, 1, 32, 4, 192, 1,
    ];
    let mut server = end(Role::Server);
    receive(&mut server, 7, None, PacketType::Request, &request).expect("acceptable");
    server.ask_for_wishes();
    let response = send(&mut server, START, 1000, PacketType::Response);
    let told: Vec<_> = options(PacketType::Response, &response)
        .flatten()
        .filter_map(|item| match item.option {
            Ok(Opt::Feature(f)) => Some((f.op, f.feature, f.values.first().copied())),
            _ => None,
        })
        .collect();
    for confirm in [
        (FeatureOp::ConfirmR, 1, Some(3)),
        (FeatureOp::ConfirmL, 1, Some(3)),
        (FeatureOp::ConfirmR, 2, Some(0)),
        (FeatureOp::ConfirmR, 4, Some(1)),
        (FeatureOp::ConfirmR, 5, Some(0)),
        (FeatureOp::ConfirmL, 6, Some(0)),
        (FeatureOp::ConfirmR, 6, Some(0)),
        (FeatureOp::ConfirmR, 7, Some(1)),
        (FeatureOp::ConfirmL, 7, Some(1)),
        (FeatureOp::ConfirmL, 192, Some(1)),
        (FeatureOp::ConfirmR, 192, Some(1)),
    ] {
        assert!(told.contains(&confirm), "{confirm:?} in {told:?}");
    }
    assert!(server.is_on(Feature::EcnIncapable, Location::Remote), "it cannot read ECN");
    assert!(told.contains(&(FeatureOp::ChangeL, 3, Some(0))), "our own questions ride along");
}

#[test]
fn an_rtt_report_may_be_unknown_to_the_peer() {
    let mut client = end(Role::Client);
    client.ask_for_wishes();
    let _ = send(&mut client, START, 1000, PacketType::Request);
    let refusal = [33, 3, 128, 35, 3, 128];
    receive(&mut client, 5, Some(1000), PacketType::Response, &refusal).expect("it is optional");
    assert_eq!(client.value(Feature::SendRttEstimate, Location::Remote), 0);
    assert_eq!(client.value(Feature::SendRttEstimate, Location::Local), 0);
    // §6.6.7: the question is closed, and only the others are asked again.
    let again = send(&mut client, START, 1000, PacketType::Request);
    let asked = options(PacketType::Request, &again).flatten().filter_map(|item| match item.option {
        Ok(Opt::Feature(option)) => Some(option.feature),
        _ => None,
    });
    let asked: Vec<u8> = asked.collect();
    assert!(asked.contains(&1) && !asked.contains(&128), "{asked:?}");
}

#[test]
fn ccid_3_is_not_optional() {
    let mut client = end(Role::Client);
    client.ask_for_wishes();
    let _ = send(&mut client, START, 1000, PacketType::Request);
    let mut other = client.clone();
    assert_eq!(receive(&mut client, 5, Some(1000), PacketType::Response, &[33, 3, 1]), Err(Failure::Option));
    assert_eq!(
        receive(&mut other, 5, Some(1000), PacketType::Response, &[33, 5, 1, 2, 2]),
        Err(Failure::Option)
    );
    // A client that insists on another CCID cannot be served.
    let mut server = end(Role::Server);
    assert_eq!(ask(&mut server, 5, &[1, 32, 4, 1, 2]), Err(Failure::Mandatory));
    // One that merely prefers another keeps the old value for now (§6.3.1).
    assert_eq!(ask(&mut server, 6, &[32, 4, 1, 2]), Ok([35, 5, 1, 2, 3, 0, 0, 0].to_vec()));
}

#[test]
fn unknown_features_get_empty_confirms_unless_mandatory() {
    // §6.6.7
    let mut server = end(Role::Server);
    assert_eq!(ask(&mut server, 5, &[32, 4, 126, 1]), Ok([35, 3, 126, 0].to_vec()));
    assert_eq!(ask(&mut server, 6, &[34, 4, 126, 1]), Ok([33, 3, 126, 0].to_vec()));
    assert_eq!(ask(&mut server, 7, &[33, 4, 126, 1]), Ok([].to_vec()), "a Confirm is ignored");
    assert_eq!(ask(&mut server, 8, &[1, 32, 4, 126, 1]), Err(Failure::Mandatory));
}

#[test]
fn invalid_values_get_empty_confirms_unless_mandatory() {
    // §6.6.8 with erratum 1049: the Sequence Window has six bytes and a minimum of 32.
    let mut server = end(Role::Server);
    let empty = Ok([35, 3, 3, 0].to_vec());
    assert_eq!(ask(&mut server, 1, &[32, 9, 3, 0, 0, 0, 0, 0, 31]), empty);
    assert_eq!(ask(&mut server, 2, &[32, 9, 3, 0x40, 0, 0, 0, 0, 0]), empty, "2^46 is too large");
    assert_eq!(ask(&mut server, 3, &[32, 5, 3, 1, 0]), empty, "too short");
    assert_eq!(
        ask(&mut server, 4, &[34, 9, 3, 0, 0, 0, 0, 4, 0]),
        Ok([33, 3, 3, 0].to_vec()),
        "not ours to ask"
    );
    assert_eq!(ask(&mut server, 5, &[1, 32, 9, 3, 0, 0, 0, 0, 0, 31]), Err(Failure::Mandatory));
    assert_eq!(server.value(Feature::SequenceWindow, Location::Remote), 100);
    let accepted = ask(&mut server, 6, &[32, 9, 3, 0, 0, 0, 0, 4, 0]);
    assert_eq!(accepted, Ok([35, 9, 3, 0, 0, 0, 0, 4, 0, 0, 0, 0].to_vec()));
    assert_eq!(server.value(Feature::SequenceWindow, Location::Remote), 1024);
}

#[test]
fn an_invalid_confirm_resets() {
    // §6.6.8: a value that was not proposed, and one that is not the server's first shared choice.
    for confirm in [&[35, 9, 3, 0, 0, 0, 0, 4, 0][..], &[33, 6, 7, 0, 1, 0]] {
        let mut client = end(Role::Client);
        client.ask_for_wishes();
        let _ = send(&mut client, START, 1000, PacketType::Request);
        assert_eq!(
            receive(&mut client, 5, Some(1000), PacketType::Response, confirm),
            Err(Failure::Option),
            "{confirm:?}"
        );
    }
}

#[test]
fn overtaken_options_are_ignored() {
    // §6.6.4, rules 1 and 2.
    let mut server = end(Role::Server);
    assert!(ask(&mut server, 10, &[32, 9, 3, 0, 0, 0, 0, 4, 0]).is_ok());
    assert_eq!(ask(&mut server, 9, &[32, 9, 3, 0, 0, 0, 0, 2, 0]), Ok([].to_vec()));
    assert_eq!(ask(&mut server, 10, &[32, 9, 3, 0, 0, 0, 0, 2, 0]), Ok([].to_vec()));
    assert_eq!(server.value(Feature::SequenceWindow, Location::Remote), 1024);

    let mut client = end(Role::Client);
    client.ask_for_wishes();
    let _ = send(&mut client, START, 1000, PacketType::Request);
    client.change_sequence_window(5000);
    let space = send(&mut client, START, 1001, PacketType::Ack);
    assert_eq!(first_option(&space).map(|o| (o.op, o.feature)), Some((FeatureOp::ChangeL, 3)));
    let old = [35, 9, 3, 0, 0, 0, 0, 3, 232];
    receive(&mut client, 5, Some(1000), PacketType::Ack, &old)
        .expect("answers an older question, so ignored");
    assert_eq!(client.value(Feature::SequenceWindow, Location::Local), 100);
    let new = [35, 9, 3, 0, 0, 0, 0, 0x13, 0x88];
    receive(&mut client, 6, Some(1001), PacketType::Ack, &new).expect("valid");
    assert_eq!(client.value(Feature::SequenceWindow, Location::Local), 5000);

    // The right answer, in a packet that another with feature options has overtaken.
    client.change_sequence_window(6000);
    let _ = send(&mut client, START, 1002, PacketType::Ack);
    let answer = [35, 9, 3, 0, 0, 0, 0, 0x17, 0x70];
    receive(&mut client, 6, Some(1002), PacketType::Ack, &answer).expect("overtaken, so ignored");
    assert_eq!(client.value(Feature::SequenceWindow, Location::Local), 5000);
    receive(&mut client, 7, Some(1002), PacketType::Ack, &answer).expect("valid");
    assert_eq!(client.value(Feature::SequenceWindow, Location::Local), 6000);
}

#[test]
fn an_unstable_feature_ignores_answers_to_the_old_question() {
    // §6.6.5
    let mut client = end(Role::Client);
    client.change_sequence_window(2000);
    let _ = send(&mut client, START, 1001, PacketType::Ack);
    client.change_sequence_window(3000);
    receive(&mut client, 5, Some(1001), PacketType::Ack, &[35, 9, 3, 0, 0, 0, 0, 7, 208]).expect("ignored");
    assert_eq!(client.value(Feature::SequenceWindow, Location::Local), 100);
    assert!(client.owes_question());
    // §6.6.2: a Change in this state is ignored too; in the others this one, of a value that is not
    // the peer's to change, gets an empty Confirm.
    receive(&mut client, 6, Some(1001), PacketType::Ack, &[34, 9, 3, 0, 0, 0, 0, 7, 208]).expect("ignored");
    assert!(!client.owes_answer());
    let _ = send(&mut client, START, 1002, PacketType::Ack);
    receive(&mut client, 7, Some(1002), PacketType::Ack, &[34, 9, 3, 0, 0, 0, 0, 7, 208]).expect("valid");
    assert!(client.owes_answer());
}

#[test]
fn both_ends_asking_at_once_agree() {
    // §6.6.6
    let (mut client, mut server) = (end(Role::Client), end(Role::Server));
    client.ask_for_wishes();
    server.ask_for_wishes();
    let from_client = send(&mut client, START, 1001, PacketType::Ack);
    let from_server = send(&mut server, START, 1001, PacketType::Ack);
    receive(&mut server, 1001, Some(1000), PacketType::Ack, &from_client).expect("valid");
    receive(&mut client, 1001, Some(1000), PacketType::Ack, &from_server).expect("valid");
    let from_client = send(&mut client, START, 1002, PacketType::Ack);
    let from_server = send(&mut server, START, 1002, PacketType::Ack);
    receive(&mut server, 1002, Some(1001), PacketType::Ack, &from_client).expect("valid");
    receive(&mut client, 1002, Some(1001), PacketType::Ack, &from_server).expect("valid");
    assert!(client.is_settled() && server.is_settled());
    assert_eq!(client.value(Feature::Ccid, Location::Local), 3);
    assert_eq!(server.value(Feature::SequenceWindow, Location::Remote), 1000);
}

#[test]
fn questions_are_repeated_with_backoff_until_answered() {
    // §6.6.3
    let mut client = end(Role::Client);
    client.change_sequence_window(2000);
    let first = send(&mut client, START, 1001, PacketType::Ack);
    assert!(!client.owes_question());
    let mut gaps = Vec::new();
    let mut now = START;
    for number in 1002..1014 {
        let at = client.poll_timeout().expect("a repetition is planned");
        gaps.push(at.saturating_since(now).as_nanos() / 1_000_000);
        now = at;
        client.handle_timeout(now);
        assert_eq!(send(&mut client, now, number, PacketType::Ack), first, "with the same content");
    }
    assert_eq!(gaps.first().zip(gaps.get(1)), Some((&200, &400)));
    assert_eq!(gaps.last(), Some(&64_000));
    receive(&mut client, 5, Some(1013), PacketType::Ack, &[35, 9, 3, 0, 0, 0, 0, 7, 208]).expect("valid");
    assert_eq!(client.poll_timeout(), None);
}

#[test]
fn reference_numbers_follow_round_the_circle() {
    // Erratum 974.
    let mut server = end(Role::Server);
    assert!(ask(&mut server, 10, &[32, 9, 3, 0, 0, 0, 0, 4, 0]).is_ok());
    let far = 10 + (1 << 47) + 5;
    assert!(!server.order(seq(far), None).changes, "half round the circle looks like the past");
    server.follow(seq(far), seq(1000));
    assert!(server.order(seq(far + 1), None).changes);

    // FGSS, the other of the pair: what was sent half round the circle ago.
    let gone = 1000 + (1 << 47) + 5;
    assert!(!server.order(seq(far + 1), Some(seq(gone))).confirms);
    server.follow(seq(far), seq(gone));
    assert!(server.order(seq(far + 1), Some(seq(gone))).confirms);
}

#[test]
fn data_packets_carry_no_negotiation() {
    let mut client = end(Role::Client);
    client.ask_for_wishes();
    assert!(send(&mut client, START, 1001, PacketType::Data).is_empty());
    assert!(client.owes_question());
}

#[test]
fn what_does_not_fit_waits() {
    let mut client = end(Role::Client);
    client.ask_for_wishes();
    let mut list = OptionList::new(12);
    client.emit(START, RTT, seq(1001), PacketType::Ack, Repeat::Due, &mut list);
    assert_eq!(options(PacketType::Ack, list.padded()).count(), 2, "Mandatory Change of CCID, both ways");
    assert!(client.owes_question());
    let rest = send(&mut client, START, 1002, PacketType::Ack);
    assert_eq!(first_option(&rest).map(|o| o.feature), Some(3));
    assert!(!client.owes_question());
}

/// Runs the handshake's three packets between a client and a server that prefer these CCIDs, both
/// ways; what the client and the server take the CCIDs to be, for the client's data and for the
/// server's.
fn settle(client: CcidPreference, server: CcidPreference) -> Result<[u64; 4], Failure> {
    let wishes = |ccids| Wishes { sending: ccids, receiving: ccids, ..Wishes::default() };
    let mut client = Negotiation::new(Role::Client, wishes(client), seq(1000));
    let mut server = Negotiation::new(Role::Server, wishes(server), seq(1000));
    client.ask_for_wishes();
    let request = send(&mut client, START, 1000, PacketType::Request);
    receive(&mut server, 1000, None, PacketType::Request, &request)?;
    server.ask_for_wishes();
    let response = send(&mut server, START, 1000, PacketType::Response);
    receive(&mut client, 1000, Some(1000), PacketType::Response, &response)?;
    let ack = send(&mut client, START, 1001, PacketType::Ack);
    receive(&mut server, 1001, Some(1000), PacketType::Ack, &ack)?;
    assert!(client.is_settled() && server.is_settled());
    Ok([
        client.value(Feature::Ccid, Location::Local),
        client.value(Feature::Ccid, Location::Remote),
        server.value(Feature::Ccid, Location::Remote),
        server.value(Feature::Ccid, Location::Local),
    ])
}

#[test]
fn the_servers_choice_among_shared_ccids_prevails() {
    use CcidPreference::{Four, FourThenThree, Three, ThreeThenFour};
    for (client, server, settled) in [
        (Three, Three, Some(3)),
        (Three, ThreeThenFour, Some(3)),
        (Three, FourThenThree, Some(3)),
        (Four, ThreeThenFour, Some(4)),
        (FourThenThree, ThreeThenFour, Some(3)),
        (ThreeThenFour, FourThenThree, Some(4)),
        (FourThenThree, Three, Some(3)),
        (Four, Four, Some(4)),
        (Four, Three, None),
        (Three, Four, None),
    ] {
        let found = settle(client, server);
        match settled {
            Some(ccid) => assert_eq!(found, Ok([ccid; 4]), "{client:?}, {server:?}"),
            None => assert_eq!(found, Err(Failure::Mandatory), "{client:?}, {server:?}"),
        }
    }
}

#[test]
fn the_halves_may_have_different_ccids() {
    let asymmetric =
        Wishes { sending: CcidPreference::Four, receiving: CcidPreference::Three, ..Wishes::default() };
    let either = CcidPreference::ThreeThenFour;
    let mut client = Negotiation::new(Role::Client, asymmetric, seq(1000));
    let mut server = Negotiation::new(
        Role::Server,
        Wishes { sending: either, receiving: either, ..Wishes::default() },
        seq(1000),
    );
    client.ask_for_wishes();
    let request = send(&mut client, START, 1000, PacketType::Request);
    // Mandatory Change L(CCID, 4), Mandatory Change R(CCID, 3).
    assert!(request.starts_with(&[1, 32, 4, 1, 4, 1, 34, 4, 1, 3]), "{request:?}");
    receive(&mut server, 1000, None, PacketType::Request, &request).expect("both are known");
    assert_eq!(server.value(Feature::Ccid, Location::Remote), 4);
    assert_eq!(server.value(Feature::Ccid, Location::Local), 3);
    server.ask_for_wishes();
    assert!(!send(&mut server, START, 1000, PacketType::Response).windows(3).any(|w| w == [32, 4, 1]));
}

#[test]
fn a_ccid_agreed_on_stays_once_data_may_flow() {
    let either = CcidPreference::ThreeThenFour;
    let wishes = Wishes { sending: either, receiving: either, ..Wishes::default() };
    let mut server = Negotiation::new(Role::Server, wishes, seq(1000));
    assert!(ask(&mut server, 5, &[32, 4, 1, 4]).is_ok());
    assert!(ask(&mut server, 6, &[32, 4, 1, 3]).is_ok());
    assert_eq!(server.value(Feature::Ccid, Location::Remote), 3, "still in the handshake");
    server.handshake_done();
    // The preference list that goes with the answer must let the peer reach the same value.
    assert_eq!(ask(&mut server, 7, &[32, 4, 1, 4]), Ok([35, 5, 1, 3, 3, 0, 0, 0].to_vec()));
    assert_eq!(ask(&mut server, 8, &[1, 32, 4, 1, 4]), Err(Failure::Mandatory));
}

/// RFC 4340 §6.6.6: the peer's Change answers ours; it is confirmed, and ours not asked again.
#[test]
fn a_change_that_meets_our_question_settles_it() {
    let mut client = end(Role::Client);
    client.ask_for_wishes();
    let asks = |space: &[u8]| space.windows(5).any(|bytes| bytes == [34, 5, 7, 1, 0]);
    assert!(asks(&send(&mut client, START, 1000, PacketType::Request)));
    receive(&mut client, 1000, Some(1000), PacketType::Response, &[32, 4, 7, 1]).expect("no failure");
    let next = send(&mut client, START, 1001, PacketType::Response);
    assert!(!asks(&next) && next.windows(6).any(|bytes| bytes == [35, 6, 7, 1, 1, 0]), "{next:?}");
    assert_eq!(client.value(Feature::SendNdpCount, Location::Remote), 1);
}
