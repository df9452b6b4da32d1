//! Assertions of other projects' suites, in our own words: Google's packetdrill (the same scripts
//! pass on Linux 6.18) and ns-3. docs/peers.md lists them.

use super::*;

fn linux(acks: Acks) -> Settings {
    Settings { acks, syn: SynMode::Off, ..Settings::linux(Variant::Cubic) }
}

/// The segments that each step sends, with its time in milliseconds.
fn sent(ladder: &mut Ladder) -> Vec<(u64, Vec<u32>)> {
    let numbers = |text: &str| text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let step = |line: &str| {
        let (at, rest) = line.split_once(':').expect("a time");
        let (_, rest) = rest.split_once('>').expect("segments");
        let (segments, _) = rest.split_once('|').expect("a window");
        (at.parse().expect("a time"), numbers(segments))
    };
    ladder.steps().lines().map(step).collect()
}

/// All segments in the order in which they were sent.
fn order(ladder: &mut Ladder) -> Vec<u32> {
    sent(ladder).into_iter().flat_map(|(_, segments)| segments).collect()
}

#[test]
fn packetdrill_slow_start_sends_two_for_each_segment_acknowledged() {
    // slow_start/slow-start-ack-per-1pkt, -ack-per-2pkt.
    for (acks, answers, each) in [(Acks::Each, 10, 2), (Acks::Delayed(Duration::from_millis(200)), 5, 4)] {
        let mut ladder = Ladder::ran(linux(acks), Transfer::Unlimited, &[], 100);
        let counts: Vec<usize> = sent(&mut ladder).iter().map(|(_, segments)| segments.len()).collect();
        assert_eq!(counts, [vec![10], vec![each; answers]].concat());
        assert_eq!(ladder.sender.cwnd(), 20.0);
    }
}

#[test]
fn packetdrill_four_segments_and_the_first_lost_is_sent_again_at_the_third_report() {
    // fast_recovery/fr-4pkt-sack.
    let mut ladder = Ladder::ran(linux(Acks::Each), Transfer::Segments(4), &[1], 110);
    assert_eq!(sent(&mut ladder), [(0, vec![0, 1, 2, 3]), (100, vec![]), (100, vec![]), (100, vec![0])]);
}

#[test]
fn packetdrill_three_of_four_lost_wait_for_the_window_of_reordering() {
    // fast_recovery/fr-4pkt-fack-last-mss: no fast retransmit; a quarter of the round trip and 2
    // ms.
    let mut ladder = Ladder::ran(linux(Acks::Each), Transfer::Segments(4), &[1, 2, 3], 140);
    let seen = sent(&mut ladder);
    assert_eq!(seen.get(1), Some(&(100, vec![])));
    assert_eq!(seen.get(2).map(|(at, segments)| (*at, segments.first())), Some((127, Some(&0))));
}

#[test]
fn packetdrill_proportional_rate_reduction_sends_in_its_order() {
    // prr/prr-ss-30pkt-lost-1_4-11_16: the first four are lost, and the second's repair.
    let mut ladder = Ladder::ran(linux(Acks::Each), Transfer::Segments(20), &[1, 2, 3, 4, 14], 1000);
    assert!(ladder.sender.is_done());
    let seen = order(&mut ladder);
    let first: Vec<u32> = (0..10).chain([10, 11, 0, 1, 2, 3, 12, 13, 14, 15, 1]).collect();
    assert!(seen.starts_with(&first), "{seen:?}");
    assert_eq!(ladder.sender.stats().timeouts, 0);
}

#[test]
fn packetdrill_a_lone_segment_is_probed_then_timed_out() {
    // cubic/cubic-rto-ss-ca: 300 ms, 300 ms, 600 ms, 1200 ms after the opening of 100 ms.
    let settings = Settings { syn: SynMode::On, ..linux(Acks::Each) };
    let mut ladder = Ladder::ran(settings, Transfer::Segments(1), &[2, 3, 4, 5], 3000);
    let times: Vec<u64> =
        sent(&mut ladder).iter().filter(|(_, segments)| !segments.is_empty()).map(|(at, _)| *at).collect();
    assert_eq!(times, [100, 400, 700, 1300, 2500]);
}

#[test]
fn ns_3_one_loss_is_one_retransmission() {
    // tcp-fast-retr, NewReno: by duplicates, without a timeout.
    for lost in [5, 20, 41] {
        let ladder = Ladder::ran(plain(Variant::NewReno), Transfer::Segments(60), &[lost], 3000);
        let seen = ladder.sender.stats();
        assert!(ladder.sender.is_done());
        assert_eq!((seen.retransmitted_segments, seen.timeouts), (1, 0), "{lost}");
    }
}
