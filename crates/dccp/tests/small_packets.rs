//! CCID 4 between two ends (RFC 5622): what is on the wire, and how TFRC-SP counts losses.

use std::cell::RefCell;
use std::rc::Rc;

use tfrc_dccp::feature::{CcidPreference, RttReports, Wishes};
use tfrc_dccp::wire::{Integrity, Opt, Packet, PacketType, options};
use tfrc_dccp::{Ccid, ConnectionConfig};
use tfrc_testkit::{Fate, Flight, Pair, Random, Side, ms, parse};
use tfrc_units::{Duration, Instant};

/// A voice coder's datagram, and the times at which it has one.
const SIZE: usize = 14;

fn config(ccids: CcidPreference, rtt_reports: RttReports) -> ConnectionConfig {
    let wishes = Wishes { sending: ccids, receiving: ccids, rtt_reports, ..Wishes::default() };
    ConnectionConfig { wishes, ..ConnectionConfig::default() }
}

/// Loses the client's data independently with probability `p`.
fn bernoulli(p: f64, seed: u64) -> impl FnMut(&Flight) -> Fate {
    let mut random = Random::new(seed);
    move |flight| {
        let data = flight.kind.carries_datagram() && flight.from == Side::Client;
        Fate::drop_if(data && random.happens(p))
    }
}

/// A greedy client of small packets over 100 ms for `seconds`.
fn run(
    ccids: CcidPreference,
    rtt_reports: RttReports,
    seconds: u64,
    rule: impl FnMut(&Flight) -> Fate + 'static,
) -> Pair {
    let server = config(CcidPreference::ThreeThenFour, rtt_reports);
    let mut pair = Pair::with(config(ccids, rtt_reports), server, rule);
    pair.set_delay(ms(50));
    pair.client.size = SIZE;
    pair.client.to_send = u64::MAX;
    pair.run(Duration::from_secs(seconds));
    pair
}

#[test]
fn the_client_says_which_variant_it_is() {
    for (ccids, expected) in [(CcidPreference::Three, Ccid::Three), (CcidPreference::Four, Ccid::Four)] {
        let pair = run(ccids, RttReports::Wanted, 1, |_| Fate::Deliver);
        assert_eq!(pair.client.connection().sending_ccid(), Some(expected));
        assert_eq!(pair.server.connection().receiving_ccid(), Some(expected));
    }
}

/// RFC 5622 §8.7: every packet with Loss Intervals has as many Drop Counts, none above the Loss
/// Length.
#[test]
fn feedback_carries_a_drop_count_per_interval() {
    let pair = run(CcidPreference::Four, RttReports::Wanted, 60, bernoulli(0.15, 1));
    let (mut reports, mut several) = (0, 0);
    for (_, bytes) in pair.captured.iter().filter(|(to, _)| *to == Side::Client) {
        let packet = parse(bytes);
        let (mut intervals, mut counts) = (None, None);
        for item in options(packet.header.kind(), packet.options).flatten() {
            match item.option {
                Ok(Opt::LossIntervals(found)) => intervals = Some(found.iter().collect::<Vec<_>>()),
                Ok(Opt::DroppedPackets(found)) => counts = Some(found.iter().collect::<Vec<_>>()),
                _ => {}
            }
        }
        let Some(intervals) = intervals else {
            assert_eq!(counts, None);
            continue;
        };
        let counts = counts.expect("counts beside the intervals");
        assert_eq!(counts.len(), intervals.len());
        for (interval, count) in intervals.iter().zip(&counts) {
            assert!(*count <= interval.loss_length && (*count > 0) == (interval.loss_length > 0));
        }
        reports += 1;
        several += usize::from(counts.iter().any(|count| *count > 1));
    }
    assert!(reports > 100 && several > 50, "{reports} reports, {several} with several losses in an interval");
}

#[test]
fn plain_tfrc_says_nothing_of_drop_counts() {
    let pair = run(CcidPreference::Three, RttReports::Wanted, 20, bernoulli(0.1, 2));
    for (_, bytes) in &pair.captured {
        let packet = parse(bytes);
        let mut kinds = options(packet.header.kind(), packet.options).flatten().map(|item| item.raw.kind);
        assert!(kinds.all(|kind| kind != 195));
    }
}

/// The times at which the client sent data.
fn data_times(pair: &Pair) -> Vec<Instant> {
    let data = |flight: &Flight| flight.from == Side::Client && flight.kind.carries_datagram();
    pair.log.iter().filter(|(flight, _)| data(flight)).map(|(flight, _)| flight.at).collect()
}

/// RFC 4828 §4.3: never less than 10 ms between two packets, whatever the allowed rate.
#[test]
fn packets_are_ten_milliseconds_apart() {
    let pair = run(CcidPreference::Four, RttReports::Wanted, 20, |_| Fate::Deliver);
    let times = data_times(&pair);
    let gaps = times.windows(2).filter_map(|w| Some(w.last()?.saturating_since(*w.first()?)));
    assert!(gaps.clone().all(|gap| gap >= ms(10)), "{:?}", gaps.min());
    // 20 s less the handshake and slow start.
    assert!((1900..=2000).contains(&times.len()), "{}", times.len());
    // Nothing was lost, so TFRC may send far more: 4380 bytes a round-trip time are 300 packets of
    // this size already.
    let plain = run(CcidPreference::Three, RttReports::Wanted, 2, |_| Fate::Deliver);
    assert!(data_times(&plain).len() > 500, "{}", data_times(&plain).len());
}

/// Sender and receiver compute the same loss event rate, by time and by window counter; it counts
/// every loss of short intervals. Both are means over four minutes: an estimate of one moment may
/// be half of the next.
#[test]
fn both_ends_count_the_same_losses() {
    for rtt_reports in [RttReports::Wanted, RttReports::Refused] {
        let mut pair = run(CcidPreference::Four, rtt_reports, 60, bernoulli(0.3, 3));
        let (mut sender, mut receiver) = (0.0, 0.0);
        for _ in 0..240 {
            pair.run(ms(1000));
            let at_receiver = pair.server.connection().rate_receiver().expect("data came");
            sender += pair.client.connection().loss_event_rate().get() / 240.0;
            receiver += at_receiver.loss_event_rate().get() / 240.0;
        }
        assert!(
            (sender / receiver - 1.0).abs() < 0.2,
            "{rtt_reports:?}: sender {sender}, receiver {receiver}"
        );
        assert!((0.15..0.45).contains(&sender), "{rtt_reports:?}: p = {sender} at 30 % loss");
        let stats = pair.client.connection().stats();
        assert_eq!(stats.refused_feedback, 0, "{stats:?}");
    }
}

/// RFC 4828 §4.1 and table 2: at 10 % loss and 100 ms a flow of tiny packets is not slowed down at
/// all, where TFRC gives it about a packet for each hundred that TCP has.
#[test]
fn small_packets_pay_for_their_bytes_only() {
    let packets = |ccids| data_times(&run(ccids, RttReports::Wanted, 100, bernoulli(0.1, 4))).len();
    let (small, plain) = (packets(CcidPreference::Four), packets(CcidPreference::Three));
    assert!((8500..=10_000).contains(&small), "TFRC-SP: {small} packets in 100 s, at most 10000");
    assert!((1000..4000).contains(&plain), "TFRC: {plain} packets in 100 s");
}

/// RFC 5622 §8.7: without Dropped Packets the whole lossy part counts as lost, so p is no smaller.
#[test]
fn missing_drop_counts_do_not_help() {
    let strip = Rc::new(RefCell::new(0));
    let seen = Rc::clone(&strip);
    let with_counts = run(CcidPreference::Four, RttReports::Wanted, 100, bernoulli(0.2, 5));
    let server = config(CcidPreference::ThreeThenFour, RttReports::Wanted);
    let mut pair = Pair::with(config(CcidPreference::Four, RttReports::Wanted), server, bernoulli(0.2, 5));
    pair.set_delay(ms(50));
    pair.client.size = SIZE;
    pair.client.to_send = u64::MAX;
    pair.edit = Some(Box::new(move |bytes| {
        *seen.borrow_mut() += usize::from(without_drop_counts(bytes));
    }));
    pair.run(Duration::from_secs(100));
    let (with, without) = (
        with_counts.client.connection().loss_event_rate().get(),
        pair.client.connection().loss_event_rate().get(),
    );
    assert!(*strip.borrow() > 100);
    assert!(without > with * 0.9, "with {with}, without {without}");
    assert!(data_times(&pair).len() <= data_times(&with_counts).len());
}

/// Turns the Dropped Packets option of a packet into padding.
fn without_drop_counts(bytes: &mut [u8]) -> bool {
    let Ok(packet) = Packet::parse(bytes, Integrity::Udp) else { return false };
    if !matches!(packet.header.kind(), PacketType::Ack | PacketType::DataAck) {
        return false;
    }
    let start = packet.header.kind().fixed_length(true);
    let found = options(packet.header.kind(), packet.options).flatten().find(|item| item.raw.kind == 195);
    let Some((at, length)) = found.map(|item| (start + item.raw.offset, item.raw.data.len() + 2)) else {
        return false;
    };
    bytes.get_mut(at..at + length).expect("the option is there").fill(0);
    true
}
