//! A receiver that lies in its reports: the sender accepts what its own record allows. Reports are
//! rewritten on their way.

use std::cell::Cell;
use std::rc::Rc;

use tfrc_dccp::ConnectionConfig;
use tfrc_dccp::connection::{SkippedNumbers, Verification};
use tfrc_dccp::wire::{Header, PacketType, ResetCode, SeqAck};
use tfrc_testkit::{Fate, Flight, PORT, Pair, Random, Side, capped, ms, parse};
use tfrc_units::{Duration, Ecn};

use super::packets::packet;

const ELAPSED_TIME: u8 = 43;
const LOSS_EVENT_RATE: u8 = 192;
const LOSS_INTERVALS: u8 = 193;
const RECEIVE_RATE: u8 = 194;

const RECORDS: Verification = Verification::Records;
const TRUSTING: Verification = Verification::Trusting;

fn with(verification: Verification) -> ConnectionConfig {
    ConnectionConfig { verification, ..ConnectionConfig::default() }
}

/// A pair whose server's reports pass through `lie`, which sees each option's type and data, while
/// the switch is on.
fn lying(
    config: ConnectionConfig,
    rule: impl FnMut(&Flight) -> Fate + 'static,
    lie: impl Fn(u8, &mut [u8]) + 'static,
) -> (Pair, Rc<Cell<bool>>) {
    let mut pair = Pair::with(config, ConnectionConfig::default(), rule);
    let switch = Rc::new(Cell::new(false));
    let on = switch.clone();
    pair.edit = Some(Box::new(move |bytes| {
        let from_server = bytes.get(..2) == Some(&PORT.to_be_bytes());
        let header = parse(bytes).header;
        let reports = matches!(header.kind(), PacketType::Ack | PacketType::DataAck);
        if on.get() && from_server && reports {
            let start = header.kind().fixed_length(true);
            let end = usize::from(*bytes.get(4).expect("a header")) * 4;
            let mut at = start;
            while at < end {
                let kind = *bytes.get(at).expect("in the packet");
                let length = if kind < 32 { 1 } else { usize::from(*bytes.get(at + 1).expect("a length")) };
                if kind >= 32 {
                    lie(kind, bytes.get_mut(at + 2..at + length).expect("in the packet"));
                }
                at += length;
            }
        }
    }));
    (pair, switch)
}

fn random_loss(one_in: u64) -> impl FnMut(&Flight) -> Fate {
    let mut random = Random::new(11);
    move |flight| {
        let data = flight.from == Side::Client && flight.kind.carries_datagram();
        Fate::drop_if(data && random.bits().is_multiple_of(one_in))
    }
}

fn rate(pair: &Pair) -> f64 {
    pair.client.connection().rate().bytes_per_sec()
}

/// Ten datagrams of 500 bytes in a round-trip time of 50 ms, while the receiver says that it gets a
/// gigabyte a second.
#[test]
fn an_inflated_receive_rate_is_cut_down_to_what_was_sent() {
    let outcome = |verification, lies: bool| {
        let (mut pair, switch) = lying(
            with(verification),
            |_| Fate::Deliver,
            |kind, data| {
                if kind == RECEIVE_RATE {
                    data.copy_from_slice(&1_000_000_000_u32.to_be_bytes());
                }
            },
        );
        pair.run(ms(200));
        switch.set(lies);
        for _ in 0..2000 {
            pair.client.to_send += 1;
            pair.run(ms(5));
        }
        (rate(&pair), pair.client.connection().stats().corrected_feedback)
    };
    const SENT: f64 = 100_000.0;
    let (honest, corrected) = outcome(RECORDS, false);
    assert!(corrected <= 4, "{corrected} of two hundred honest reports were corrected");
    let (trusted, _) = outcome(TRUSTING, true);
    assert!(trusted > 100.0 * SENT, "without the record the lie works: {trusted}");
    let (checked, corrected) = outcome(RECORDS, true);
    assert!(corrected > 100);
    // Twice what was sent, and four packets in a round-trip time: one that is allowed, and what the
    // record rounds up.
    assert!(checked <= 2.0 * (SENT + 4.0 * 10_000.0), "{checked}, honest {honest}");
}

/// After ten seconds with one packet in fifty lost, the receiver says that nothing ever was.
#[test]
fn losses_once_reported_do_not_vanish() {
    let outcome = |verification| {
        let (mut pair, switch) = lying(with(verification), random_loss(50), |kind, data| match kind {
            LOSS_EVENT_RATE => data.fill(0xFF),
            LOSS_INTERVALS => {
                // One interval after another without a loss, and long.
                for cell in data.get_mut(1..).expect("intervals").chunks_exact_mut(9) {
                    cell.copy_from_slice(&[0xFF, 0xFF, 0xFF, 0, 0, 0, 0xFF, 0xFF, 0xFF]);
                }
            }
            _ => {}
        });
        pair.client.to_send = u64::MAX;
        pair.run(Duration::from_secs(10));
        let (before, p) = (pair.client.connection().stats(), pair.client.connection().loss_event_rate());
        assert!(before.corrected_feedback * 20 < before.received_feedback, "{before:?}");
        switch.set(true);
        pair.run(ms(150));
        let after = pair.client.connection();
        let sent = after.stats().sent_data_packets - before.sent_data_packets;
        let inverse = |p: tfrc_units::Probability| 1.0 / p.get();
        (inverse(p), inverse(after.loss_event_rate()), f64::from(u32::try_from(sent).expect("few")))
    };
    let (before, after, _) = outcome(TRUSTING);
    assert!(after > 20.0 * before, "without the record the lie works: 1/p {before}, then {after}");
    let (before, after, sent) = outcome(RECORDS);
    assert!(after <= before + 1.5 * sent + 20.0, "1/p {before}, then {after} after {sent} packets");
}

/// The receiver says that it held each packet for most of the round-trip time.
#[test]
fn hold_times_do_not_shorten_the_round_trip() {
    let outcome = |verification| {
        let (mut pair, switch) = lying(with(verification), random_loss(50), |kind, data| {
            if kind == ELAPSED_TIME {
                // 48 ms in units of 10 µs; four bytes carry it as well as two.
                let (end, _) = data.split_at_mut(data.len());
                let at = end.len() - 2;
                end.get_mut(at..).expect("two bytes").copy_from_slice(&4800_u16.to_be_bytes());
            }
        });
        pair.client.to_send = u64::MAX;
        pair.run(Duration::from_secs(5));
        switch.set(true);
        pair.run(Duration::from_secs(5));
        pair.client.connection().rtt().expect("known")
    };
    let trusted = outcome(TRUSTING);
    assert!((ms(24)..ms(30)).contains(&trusted), "half of the least round trip is left: {trusted}");
    let checked = outcome(RECORDS);
    assert!(checked > trusted + ms(2), "the record leaves more: {checked}");
}

/// A receiver that acknowledges one packet more than it has: sooner or later that is one that was
/// never sent.
#[test]
fn an_optimistic_receiver_is_found_out() {
    let outcome = |skipped_numbers| {
        let config = ConnectionConfig { skipped_numbers, ..ConnectionConfig::default() };
        let mut pair = Pair::with(config, ConnectionConfig::default(), |_| Fate::Deliver);
        pair.edit = Some(Box::new(|bytes| {
            let from_server = bytes.get(..2) == Some(&PORT.to_be_bytes());
            if from_server && parse(bytes).header.kind() == PacketType::Ack {
                // The last byte of the Acknowledgement Number.
                if let Some(last) = bytes.get_mut(23) {
                    *last = last.wrapping_add(1);
                }
            }
        }));
        pair.client.to_send = 20_000;
        pair.run(Duration::from_secs(30));
        pair.client.closed().map(|closed| closed.code)
    };
    assert_eq!(outcome(SkippedNumbers::Never), None);
    assert_eq!(outcome(SkippedNumbers::Every { datagrams: 8 }), Some(ResetCode::AggressionPenalty));
}

/// An honest receiver loses nothing by it: no loss is counted, and both ends count the same
/// datagrams.
#[test]
fn skipped_numbers_cost_an_honest_receiver_nothing() {
    let config = ConnectionConfig { skipped_numbers: SkippedNumbers::Usual, ..ConnectionConfig::default() };
    let mut pair = Pair::with(config, ConnectionConfig::default(), |_| Fate::Deliver);
    pair.client.to_send = 5000;
    pair.client.close_after = true;
    pair.run_to_end(Duration::from_secs(60));
    let skipped = pair.client.connection().stats().skipped_numbers;
    assert!((10..40).contains(&skipped), "{skipped}");
    assert!(pair.client.connection().loss_event_rate().is_zero());
    assert_eq!(pair.server.received.len(), 5000);
    assert_eq!(pair.server.closed().map(|closed| closed.peer_sent_data_packets), Some(5000));
}

/// An acknowledgement of what was not sent yet is not a packet of this connection: it is answered
/// with a Sync at most.
#[test]
fn what_was_not_sent_cannot_be_acknowledged() {
    let mut pair = Pair::new(|_| Fate::Deliver);
    pair.client.to_send = 100;
    pair.run(Duration::from_secs(5));
    let before = (pair.client.connection().stats(), rate(&pair));
    let (client_port, server_port) = pair.client.connection().ports();
    let (newest, from) = (pair.newest(Side::Server), pair.newest(Side::Client));
    for ahead in 1..500 {
        let numbers = SeqAck::Long { seq: from.add(ahead), ack: newest.add(ahead) };
        let bytes = packet((server_port, client_port), Header::Ack { numbers }, &[], &[]);
        pair.hand(Side::Client, Ecn::NotEct, &bytes);
        pair.drain();
    }
    let after = pair.client.connection().stats();
    assert_eq!(after.invalid_packets - before.0.invalid_packets, 499);
    assert_eq!(after.received_feedback, before.0.received_feedback);
    assert!(after.sent_syncs - before.0.sent_syncs <= 8);
    assert_eq!(rate(&pair).to_bits(), before.1.to_bits());
}

/// A data sender that writes what it likes into CCVal: the receiver goes on, and reports no rate
/// above what it measured.
#[test]
fn counters_without_sense_do_no_harm() {
    for reports in [true, false] {
        let mut server = ConnectionConfig::default();
        if !reports {
            server.wishes.rtt_reports = tfrc_dccp::feature::RttReports::Refused;
        }
        let mut pair = Pair::with(ConnectionConfig::default(), server, random_loss(50));
        let mut random = Random::new(3);
        pair.edit = Some(Box::new(move |bytes| {
            let from_client = bytes.get(2..4) == Some(&PORT.to_be_bytes());
            if from_client && parse(bytes).header.kind().carries_datagram() {
                let counter = u8::try_from(random.below(16)).expect("small");
                let byte = bytes.get_mut(5).expect("a header");
                *byte = *byte & 0x0F | counter << 4;
            }
        }));
        pair.client.to_send = 3000;
        pair.client.close_after = true;
        pair.run_to_end(Duration::from_secs(120));
        let received = u64::try_from(pair.server.received.len()).expect("small");
        assert_eq!(received, 3000 - pair.dropped_data());
        assert!(pair.client.connection().loss_event_rate().get() > 0.005, "the losses are told");
    }
}

/// Every honest path leaves the record nothing to correct, or next to nothing: jitter, reordering,
/// doubles, marks, slow paths.
#[test]
fn honest_reports_pass() {
    type Rule = fn(u64, &Flight) -> Fate;
    let paths: [(&str, Rule); 6] = [
        ("clean", |_, _| Fate::Deliver),
        ("loss", |n, _| Fate::drop_if(n.is_multiple_of(50))),
        ("heavy loss", |n, _| Fate::drop_if(n.is_multiple_of(7))),
        ("jitter", |n, _| Fate::Late(Duration::from_micros(n % 5000))),
        ("reordering", |n, _| if n.is_multiple_of(20) { Fate::Late(ms(8)) } else { Fate::Deliver }),
        ("doubles and marks", |n, _| match n % 40 {
            0 => Fate::Twice(ms(3)),
            1 => Fate::Mark,
            _ => Fate::Deliver,
        }),
    ];
    for (name, rule) in paths {
        let outcome = |verification| {
            let mut random = Random::new(77);
            // Clean paths have an end, too.
            let config = ConnectionConfig { tfrc: capped(500_000.0), ..with(verification) };
            let mut pair = Pair::with(config, ConnectionConfig::default(), move |flight| {
                let n = random.bits() >> 8;
                if flight.kind.carries_datagram() { rule(n, flight) } else { Fate::Deliver }
            });
            pair.client.to_send = u64::MAX;
            pair.run(Duration::from_secs(30));
            pair.client.connection().stats()
        };
        let (trusting, records) = (outcome(TRUSTING), outcome(RECORDS));
        let sent =
            |stats: tfrc_dccp::Stats| f64::from(u32::try_from(stats.sent_data_packets).expect("not so many"));
        let ratio = sent(records) / sent(trusting);
        assert!((0.99..=1.01).contains(&ratio), "{name}: {ratio} of the packets");
        assert!(
            records.corrected_feedback * 100 <= records.received_feedback,
            "{name}: {} of {} reports corrected",
            records.corrected_feedback,
            records.received_feedback
        );
    }
}
