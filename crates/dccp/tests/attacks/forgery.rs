//! Packets of strangers for a connection that lives: guessed numbers, old packets again, options
//! without end.

use tfrc_dccp::State;
use tfrc_dccp::wire::{Header, Opt, PacketType, Reset, ResetCode, SeqAck, Sequence};
use tfrc_testkit::{Fate, Pair, Random, Side, emit, ms, parse};
use tfrc_units::{Duration, Ecn, SeqNo48};

use super::packets::packet;
use crate::heap;

/// A pair in the middle of a transfer.
fn busy() -> Pair {
    let mut pair = Pair::new(|_| Fate::Deliver);
    pair.client.to_send = 2000;
    pair.run(Duration::from_secs(2));
    assert_eq!(pair.client.state(), Some(State::Open));
    pair
}

fn forged(random: &mut Random) -> Header {
    let (seq, ack) = (SeqNo48::new(random.bits() >> 16), SeqNo48::new(random.bits() >> 16));
    match random.below(8) {
        0 => Header::Reset { seq, ack, reset: Reset::new(ResetCode::Closed) },
        1 => Header::Close { seq, ack },
        2 => Header::CloseReq { seq, ack },
        3 => Header::Sync { seq, ack },
        4 => Header::SyncAck { seq, ack },
        5 => Header::Ack { numbers: SeqAck::Long { seq, ack } },
        6 => Header::DataAck { numbers: SeqAck::Long { seq, ack } },
        _ => Header::Data { seq: Sequence::Long(seq) },
    }
}

/// A hundred thousand packets of every type with guessed numbers, to both ends, in four seconds:
/// the transfer goes on as without them, and few Syncs answer them. A guess is right once in
/// 2^48/W; both numbers of a Reset are, once in 2^96/W^2.
#[test]
fn guessed_numbers_hit_nothing() {
    let outcome = |forge: bool| {
        let mut pair = busy();
        let mut random = Random::new(21);
        let syncs = |pair: &Pair| {
            pair.client.connection().stats().sent_syncs + pair.server.connection().stats().sent_syncs
        };
        let before = syncs(&pair);
        for _ in 0..4000 {
            pair.run(ms(1));
            for _ in 0..if forge { 25 } else { 0 } {
                let to = if random.bits().is_multiple_of(2) { Side::Client } else { Side::Server };
                let bytes = packet(pair.ports(to), forged(&mut random), &[], b"forged data");
                pair.hand(to, Ecn::NotEct, &bytes);
            }
        }
        let syncs = syncs(&pair) - before;
        pair.client.close_after = true;
        pair.run_to_end(Duration::from_secs(60));
        assert_eq!(pair.client.closed().map(|closed| closed.code), Some(ResetCode::Closed));
        assert_eq!(pair.server.received.len(), 2000);
        (pair.server.numbers(), syncs)
    };
    let (alone, few) = outcome(false);
    let (attacked, many) = outcome(true);
    assert_eq!(alone, attacked);
    assert_eq!(few, 0);
    // Eight at once and eight a second, at each end.
    assert!((16..=2 * (8 + 5 * 8)).contains(&many), "{many}");
}

/// Blind packets to one end or both take nothing from the answers to the peer's own Syncs: the
/// silence probes (15 s, given up after 60 s) keep an idle connection, and the path MTU is still
/// found out.
#[test]
fn blind_packets_end_no_idle_connection() {
    for (per_second, targets) in
        [(10, &[Side::Server][..]), (100, &[Side::Client]), (100, &[Side::Client, Side::Server])]
    {
        let mut pair = busy();
        pair.run_until_sent(Duration::from_secs(60));
        let mut random = Random::new(33);
        for _ in 0..120 * per_second {
            pair.run(Duration::from_secs(1) / per_second);
            for to in targets {
                let (seq, ack) = (SeqNo48::new(random.bits() >> 16), SeqNo48::new(random.bits() >> 16));
                let header = Header::Ack { numbers: SeqAck::Long { seq, ack } };
                let bytes = packet(pair.ports(*to), header, &[], &[]);
                pair.hand(*to, Ecn::NotEct, &bytes);
            }
        }
        for end in [&pair.client, &pair.server] {
            assert_eq!(
                end.state(),
                Some(State::Open),
                "{per_second} a second to {targets:?}: {:?}",
                end.closed()
            );
        }
        let syncs = pair.client.connection().stats().sent_syncs + pair.server.connection().stats().sent_syncs;
        assert!(syncs < 2 * (8 + 8 * 125), "{syncs} Syncs");
    }
}

/// Every packet of the connection again, five times: duplicates are only counted.
#[test]
fn replays_change_nothing() {
    let mut pair = busy();
    pair.run_until_sent(Duration::from_secs(60));
    pair.run(ms(500));
    let state = |pair: &Pair| {
        let stats = [pair.client.connection().stats(), pair.server.connection().stats()];
        let rate = pair.client.connection().rate().bytes_per_sec().to_bits();
        (stats.map(|stats| (stats.received_data_packets, stats.received_feedback)), rate)
    };
    let before = state(&pair);
    let captured = pair.captured.clone();
    for _ in 0..5 {
        for (to, bytes) in &captured {
            // The handshake's last words are old news to an open connection.
            pair.hand(*to, Ecn::NotEct, bytes);
        }
    }
    assert_eq!(state(&pair), before);
    pair.client.close_after = true;
    pair.run_to_end(Duration::from_secs(60));
    assert_eq!(pair.client.closed().map(|closed| closed.code), Some(ResetCode::Closed));
    assert_eq!(pair.server.numbers().len(), 2000);
}

/// An attacker on the path knows the numbers: valid packets full of options cost bounded memory,
/// and bounded answers.
#[test]
fn option_floods_are_bounded() {
    let floods: [(&str, Vec<u8>); 6] = [
        ("padding", vec![0; 900]),
        ("unknown options", [99, 3, 7].repeat(300)),
        ("Change L of an unknown feature", [32, 4, 77, 1].repeat(225)),
        ("Change R of a known feature", [34, 6, 3, 0, 0, 200].repeat(150)),
        ("Timestamps", [41, 6, 1, 2, 3, 4].repeat(150)),
        ("Init Cookies", [36, 10, 1, 2, 3, 4, 5, 6, 7, 8].repeat(90)),
    ];
    for (name, flood) in floods {
        let mut pair = busy();
        pair.run_until_sent(Duration::from_secs(60));
        pair.run(ms(500));
        let mut seq = pair.newest(Side::Server);
        let ack = pair.newest(Side::Client);
        let ports = pair.ports(Side::Server);
        let flood_once = |pair: &mut Pair, seq: SeqNo48| {
            let header = Header::Ack { numbers: SeqAck::Long { seq, ack } };
            let bytes = emit(ports, header, flood.get(..flood.len() / 4 * 4).expect("whole words"), &[]);
            pair.hand(Side::Server, Ecn::NotEct, &bytes);
            let now = pair.now;
            let mut out = Vec::new();
            let mut sent = 0;
            while pair.server.endpoint.poll_transmit(now, &mut out).is_some() {
                sent += out.len();
            }
            (bytes.len(), sent)
        };
        seq = seq.add(1);
        flood_once(&mut pair, seq);
        let before = heap::held();
        let (mut given, mut taken) = (0, 0);
        for _ in 0..1000 {
            seq = seq.add(1);
            let (bytes, sent) = flood_once(&mut pair, seq);
            given += bytes;
            taken += sent;
        }
        let grown = heap::held() - before;
        assert!(grown < 4096, "{name}: {grown} bytes more");
        assert!(taken <= given, "{name}: {taken} bytes out for {given}");
        assert_eq!(pair.server.state(), Some(State::Open), "{name}");
    }
}

/// A Reset with the right numbers ends a connection: who sees the packets can do that. Its numbers
/// must be right, though: one off the end of a window does nothing but ask for a Sync.
#[test]
fn a_reset_needs_both_numbers() {
    let pair = busy();
    let (seq, ack) = (pair.newest(Side::Client), pair.newest(Side::Server));
    let attempt = |seq, ack| {
        let mut pair = busy();
        let header = Header::Reset { seq, ack, reset: Reset::new(ResetCode::Aborted) };
        let bytes = packet(pair.ports(Side::Client), header, &[], &[]);
        pair.hand(Side::Client, Ecn::NotEct, &bytes);
        pair.client.state()
    };
    assert_eq!(attempt(seq.add(10), ack), Some(State::Closed), "the eavesdropper");
    assert_eq!(attempt(seq.add(2000), ack), Some(State::Open));
    assert_eq!(attempt(seq, ack), Some(State::Open), "not even the newest number again");
    assert_eq!(attempt(seq.add(10), ack.add(1000)), Some(State::Open));
    assert_eq!(attempt(seq.add(10), ack.sub(1000)), Some(State::Open));
}

/// A connection that is over repeats its closing text a few times for a peer that has not received
/// it, not indefinitely for a forger.
#[test]
fn the_last_word_is_no_amplifier() {
    let mut pair = busy();
    pair.run_until_sent(Duration::from_secs(60));
    pair.client.close_after = true;
    pair.run_to_end(Duration::from_secs(60));
    let ports = pair.client.connection().ports();
    let (mut with_text, mut resets) = (0, 0);
    for n in 0..100 {
        let header = Header::Data { seq: Sequence::Long(SeqNo48::new(n)) };
        pair.hand(Side::Server, Ecn::NotEct, &packet(ports, header, &[], &[]));
        let (now, mut bytes) = (pair.now, Vec::new());
        while pair.server.endpoint.poll_transmit(now, &mut bytes).is_some() {
            resets += 1;
            with_text += usize::from(!parse(&bytes).payload.is_empty());
        }
    }
    assert_eq!((resets, with_text), (100, 8));
}

/// Before a connection lives, a forged Response needs the number of a Request that nobody else has
/// seen.
#[test]
fn a_forged_response_finds_no_client() {
    let mut pair = Pair::new(|flight| Fate::drop_if(flight.from == Side::Client));
    pair.run(ms(100));
    let mut random = Random::new(4);
    for _ in 0..10_000 {
        let header = Header::Response {
            seq: SeqNo48::new(random.bits() >> 16),
            ack: SeqNo48::new(random.bits() >> 16),
            service: tfrc_dccp::wire::ServiceCode::NONE,
        };
        let bytes = packet(pair.ports(Side::Client), header, &[Opt::Timestamp(1)], &[]);
        pair.hand(Side::Client, Ecn::NotEct, &bytes);
    }
    pair.drain();
    assert_eq!(pair.client.state(), Some(State::Request));
    let resets = pair.kinds(Side::Client).iter().filter(|kind| **kind == PacketType::Reset).count();
    assert!(resets <= 8, "{resets} Resets in answer");
}
