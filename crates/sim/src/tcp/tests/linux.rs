//! Linux's sender and sink, step by step.

use super::*;

/// Without SYN, and each segment acknowledged.
fn linux(variant: Variant) -> Settings {
    Settings { acks: Acks::Each, syn: SynMode::Off, ..Settings::linux(variant) }
}

#[test]
fn one_loss() {
    // Two reports let new segments out; the third makes 2 lost (RFC 8985 §6.2). From 12 to 6 by
    // PRR: the retransmission, then one for every second segment that leaves (RFC 9937).
    let mut ladder = Ladder::ran(linux(Variant::Sack), Transfer::Unlimited, &[3], 320);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 2 [3-3] > 14 | 12.00
        100: 2 [3-4] > 15 | 12.00
        100: 2 [3-5] > 2 | 11.00
        100: 2 [3-6] > | 10.00
        100: 2 [3-7] > 16 | 10.00
        100: 2 [3-8] > | 9.00
        100: 2 [3-9] > 17 | 9.00
        200: 2 [3-10] > | 8.00
        200: 2 [3-11] > 18 | 8.00
        200: 2 [3-12] > | 7.00
        200: 2 [3-13] > | 6.00
        200: 2 [3-14] > 19 | 6.00
        200: 2 [3-15] > 20 | 6.00
        200: 16 > 21 | 6.00
        200: 17 > 22 | 6.00
        200: 18 > 23 | 6.00
        300: 19 > 24 | 6.00
        300: 20 > 25 | 6.00
        300: 21 > 26 27 | 7.00
        300: 22 > 28 | 7.00
        300: 23 > 29 | 7.00
        300: 24 > 30 | 7.00
    ",
    );
}

#[test]
fn a_lost_retransmission_is_found_without_a_timeout() {
    let mut ladder = Ladder::ran(linux(Variant::Sack), Transfer::Unlimited, &[3, 17], 420);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 2 [3-3] > 14 | 12.00
        100: 2 [3-4] > 15 | 12.00
        100: 2 [3-5] > 2 | 11.00
        100: 2 [3-6] > | 10.00
        100: 2 [3-7] > 16 | 10.00
        100: 2 [3-8] > | 9.00
        100: 2 [3-9] > 17 | 9.00
        200: 2 [3-10] > | 8.00
        200: 2 [3-11] > 18 | 8.00
        200: 2 [3-12] > | 7.00
        200: 2 [3-13] > | 6.00
        200: 2 [3-14] > 19 | 6.00
        200: 2 [3-15] > 20 | 6.00
        200: 2 [3-16] > 2 21 | 6.00
        200: 2 [3-17] > 22 | 6.00
        300: 2 [3-18] > 23 | 6.00
        300: 2 [3-19] > 24 | 6.00
        300: 2 [3-20] > 25 | 6.00
        300: 21 > 26 | 6.00
        300: 22 > 27 | 6.00
        300: 23 > 28 | 6.00
        400: 24 > 29 | 6.00
        400: 25 > 30 | 6.00
        400: 26 > 31 32 | 7.00
        400: 27 > 33 | 7.00
        400: 28 > 34 | 7.00
        400: 29 > 35 | 7.00
    ",
    );
}

#[test]
fn a_probe_repairs_the_loss_of_the_last_segments() {
    // RFC 8985 §7: two round trips and 2 ms after the last acknowledgement, but no later than the
    // timeout of the first, 300 ms. The report of 9 then shows that 8 is lost.
    let mut ladder = Ladder::ran(linux(Variant::Sack), Transfer::Segments(10), &[9, 10], 1000);
    assert!(ladder.sender.is_done());
    assert_eq!(ladder.sender.stats().timeouts, 0);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > | 11.00
        100: 2 > | 12.00
        100: 3 > | 13.00
        100: 4 > | 14.00
        100: 5 > | 15.00
        100: 6 > | 16.00
        100: 7 > | 17.00
        100: 8 > | 18.00
        300: timeout > 9 | 18.00
        400: 8 [9-9] > 8 | 1.00
        500: 10 > | 9.00
    ",
    );
}

#[test]
fn a_probe_of_new_data_comes_first() {
    // Before the first sample it waits for a second; 10 is beyond the window.
    let lost: Vec<u64> = (1..=10).collect();
    let mut ladder = Ladder::ran(linux(Variant::Sack), Transfer::Unlimited, &lost, 1100);
    assert_eq!(ladder.sender.stats().timeouts, 0);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        1000: timeout > 10 | 10.00
        1100: 0 [10-10] > 0 | 1.00
    ",
    );
}

#[test]
fn a_timeout_repairs_the_loss_of_all() {
    let lost: Vec<u64> = (1..=11).collect();
    let mut ladder = Ladder::ran(linux(Variant::Sack), Transfer::Segments(10), &lost, 2500);
    assert!(ladder.sender.is_done());
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        1000: timeout > 9 | 10.00
        2000: timeout > 0 | 1.00
        2100: 1 > 1 2 | 2.00
        2200: 2 > 3 4 | 3.00
        2200: 3 > 5 6 | 4.00
        2300: 4 > 7 8 | 5.00
        2300: 5 > 9 | 5.00
        2300: 6 > | 5.00
        2300: 7 > | 5.00
        2400: 8 > | 5.00
        2400: 9 > | 6.00
        2400: 10 > | 6.00
    ",
    );
}

#[test]
fn marks_of_a_window_reduce_once() {
    let settings = Settings { ecn: EcnMode::On, ..linux(Variant::Sack) };
    let mut ladder = Ladder::new(&settings, Transfer::Unlimited, &[]);
    ladder.marked = [3, 4, 5].into();
    ladder.run(320);
    assert_eq!(ladder.sender.stats().window_cuts, 1);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 3 ece > 14 cwr | 12.00
        100: 4 ece > | 11.00
        100: 5 ece > 15 | 11.00
        100: 6 ece > | 10.00
        100: 7 ece > 16 | 10.00
        100: 8 ece > | 9.00
        100: 9 ece > 17 | 9.00
        100: 10 ece > | 8.00
        200: 11 ece > 18 | 8.00
        200: 12 ece > | 7.00
        200: 13 ece > | 6.00
        200: 14 ece > 19 | 6.00
        200: 15 > 20 | 6.00
        200: 16 > 21 | 6.00
        200: 17 > 22 | 6.00
        200: 18 > 23 | 6.00
        300: 19 > 24 | 6.00
        300: 20 > 25 26 | 7.00
        300: 21 > 27 | 7.00
        300: 22 > 28 | 7.00
        300: 23 > 29 | 7.00
        300: 24 > 30 | 7.00
    ",
    );
}

#[test]
fn the_first_segments_are_acknowledged_at_once() {
    let settings = Settings { acks: Acks::Linux, ..linux(Variant::Sack) };
    let ladder = Ladder::ran(settings, Transfer::Segments(60), &[], 2000);
    assert!(ladder.sender.is_done());
    // Six while the window of the start grows and 16 more one by one, four pairs; a pair, 24 while
    // the window grows with what was read, two pairs: as a kernel 6.18 over 200 ms.
    assert_eq!(ladder.sink.stats().acks, 22 + 4 + 1 + 24 + 2);
}

#[test]
fn a_lost_syn_costs_a_second() {
    let settings = Settings { syn: SynMode::On, ..linux(Variant::Cubic) };
    let mut ladder = Ladder::ran(settings, Transfer::Segments(2), &[1], 2000);
    assert_steps(
        &mut ladder,
        "
        0: start > syn | 10.00
        1000: timeout > syn | 10.00
        1100: syn > 0 1 | 10.00
        1200: 1 > | 10.00
        1200: 2 > | 10.00
    ",
    );
}

/// Segments that are late by this many milliseconds, and the counters after half a second.
fn late(settings: Settings, late: &[(u64, u64)]) -> SenderStats {
    let mut ladder = Ladder::new(&settings, Transfer::Unlimited, &[]);
    ladder.late = late.iter().copied().collect();
    ladder.run(600);
    *ladder.sender.stats()
}

#[test]
fn a_reduction_for_a_late_segment_is_taken_back() {
    // Beyond the duplicate threshold, and before the retransmission: by the echo of its time.
    let seen = late(linux(Variant::Sack), &[(2, 60)]);
    assert_eq!((seen.window_cuts, seen.window_restores, seen.retransmitted_segments), (1, 1, 1));
    // Without timestamps: by the report of the second copy.
    let plain = Settings { timestamps: Timestamps::Off, ..linux(Variant::Cubic) };
    let seen = late(plain, &[(2, 60)]);
    assert_eq!((seen.window_cuts, seen.window_restores, seen.retransmitted_segments), (1, 1, 1));
    // Nothing is taken back for a loss.
    let mut ladder = Ladder::ran(linux(Variant::Sack), Transfer::Unlimited, &[2], 600);
    let seen = *ladder.sender.stats();
    assert_eq!((seen.window_cuts, seen.window_restores, seen.retransmitted_segments), (1, 0, 1));
    assert!(!ladder.steps().is_empty());
}

#[test]
fn the_window_of_reordering_grows_with_duplicates() {
    // 100 ms: a quarter is not enough for the second, half of it is.
    let seen = late(linux(Variant::Sack), &[(2, 60), (40, 40)]);
    assert_eq!((seen.window_cuts, seen.window_restores, seen.retransmitted_segments), (1, 1, 1));
    let seen = late(linux(Variant::Sack), &[(2, 60), (40, 90)]);
    assert_eq!((seen.window_restores, seen.retransmitted_segments), (2, 2));
}

#[test]
fn a_timeout_of_late_segments_is_taken_back() {
    // All that is left is late by more than the timeout of 300 ms, and so is all sent again.
    let all: Vec<(u64, u64)> = (11..=80).map(|n| (n, 700)).collect();
    let mut ladder = Ladder::new(&linux(Variant::Cubic), Transfer::Segments(30), &[]);
    ladder.late = all.into_iter().collect();
    ladder.run(1500);
    let seen = ladder.sender.stats();
    assert!(seen.timeouts > 0 && seen.window_restores > 0, "{seen:?}");
    assert!(ladder.sender.cwnd() >= 20.0, "{}", ladder.sender.cwnd());
}

#[test]
fn a_segment_that_arrives_twice_is_reported_first() {
    let mut sink = Sink::new(&linux(Variant::Sack), ConnectionId::default());
    let mut blocks = |seq| {
        let (connection, kind) = (ConnectionId::default(), DataKind::Data);
        let (reduced, fin) = (Reduced::No, Fin::More);
        let data = Data { connection, kind, seq, len: 1448, stamp: None, reduced, fin, ask: 0 };
        let ack = sink.on_data(Instant::ZERO, &data, Ecn::NotEct).expect("at once");
        ack.sack.map(|block| (block.start, block.end))
    };
    // RFC 2883 §4.1 and §4.2: below the acknowledgement, then in a block beyond it.
    assert_eq!(blocks(0), [(0, 0); 3]);
    assert_eq!(blocks(0), [(0, 1), (0, 0), (0, 0)]);
    assert_eq!(blocks(5), [(5, 6), (0, 0), (0, 0)]);
    assert_eq!(blocks(3), [(3, 4), (5, 6), (0, 0)]);
    assert_eq!(blocks(5), [(5, 6), (5, 6), (3, 4)]);
    assert_eq!(blocks(1), [(5, 6), (3, 4), (0, 0)]);
}
