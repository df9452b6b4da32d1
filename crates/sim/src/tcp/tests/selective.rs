//! SACK recovery, RFC 6675.

use super::*;

#[test]
fn one_loss() {
    // §5 (4.2): 6 of FlightSize 12. In the pipe at once: the retransmission and 6 to 13. Nothing
    // goes until it is below 6.
    let mut ladder = Ladder::ran(plain(Variant::Sack), Transfer::Unlimited, &[3], 300);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 2 [3-3] > | 12.00
        100: 2 [3-4] > | 12.00
        100: 2 [3-5] > 2 | 6.00
        100: 2 [3-6] > | 6.00
        100: 2 [3-7] > | 6.00
        100: 2 [3-8] > | 6.00
        100: 2 [3-9] > 14 | 6.00
        200: 2 [3-10] > 15 | 6.00
        200: 2 [3-11] > 16 | 6.00
        200: 2 [3-12] > 17 | 6.00
        200: 2 [3-13] > 18 | 6.00
        200: 14 > 19 | 6.00
        200: 15 > 20 | 6.17
        300: 16 > 21 | 6.33
        300: 17 > 22 | 6.49
        300: 18 > 23 | 6.64
        300: 19 > 24 | 6.79
        300: 20 > 25 | 6.94
        300: 21 > 26 27 | 7.08
    ",
    );
}

#[test]
fn lost_holes_before_new_data() {
    // NextSeg (1): 2, then 4 as soon as three segments above it have arrived; then (2): 12 and on.
    let mut ladder = Ladder::ran(plain(Variant::Sack), Transfer::Unlimited, &[2, 3, 5], 300);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 1 [3-3] > | 11.00
        100: 1 [5-5] [3-3] > | 11.00
        100: 1 [5-6] [3-3] > 1 | 5.50
        100: 1 [5-7] [3-3] > | 5.50
        100: 1 [5-8] [3-3] > 2 | 5.50
        100: 1 [5-9] [3-3] > 4 | 5.50
        200: 1 [5-10] [3-3] > 12 | 5.50
        200: 1 [5-11] [3-3] > 13 | 5.50
        200: 2 [5-11] [3-3] > 14 | 5.50
        200: 4 [5-11] > 15 | 5.50
        200: 12 > 16 | 5.50
        300: 13 > 17 | 5.68
        300: 14 > 18 | 5.86
        300: 15 > 19 20 | 6.03
        300: 16 > 21 | 6.19
        300: 17 > 22 | 6.36
    ",
    );
}

#[test]
fn new_data_before_holes_that_may_not_be_lost() {
    // At the report of 11, hole 10 is not lost: new data, NextSeg (2). At that of 13 it is: (1).
    let mut ladder = Ladder::ran(plain(Variant::Sack), Transfer::Unlimited, &[3, 7, 11], 300);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 2 [3-3] > | 12.00
        100: 2 [3-4] > | 12.00
        100: 2 [3-5] > 2 | 6.00
        100: 2 [7-7] [3-5] > | 6.00
        100: 2 [7-8] [3-5] > | 6.00
        100: 2 [7-9] [3-5] > 6 | 6.00
        200: 2 [11-11] [7-9] [3-5] > 14 | 6.00
        200: 2 [11-12] [7-9] [3-5] > 15 | 6.00
        200: 2 [11-13] [7-9] [3-5] > 10 16 | 6.00
        200: 6 [11-13] [7-9] > 17 | 6.00
        200: 10 [11-13] > 18 | 6.00
        300: 10 [11-14] > 19 | 6.00
        300: 10 [11-15] > 20 | 6.00
        300: 16 > 21 | 6.00
        300: 17 > 22 | 6.17
        300: 18 > 23 | 6.33
        300: 19 > 24 | 6.49
    ",
    );
}

#[test]
fn holes_that_may_not_be_lost_before_nothing() {
    // NextSeg (3): no new data, so 7 goes though only 8 and 9 above it have arrived. (4): then
    // again as rescue, once.
    let mut ladder = Ladder::ran(plain(Variant::Sack), Transfer::Segments(10), &[3, 6, 8], 400);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > | 11.00
        100: 2 > | 12.00
        100: 2 [3-3] > | 12.00
        100: 2 [3-4] > | 12.00
        100: 2 [6-6] [3-4] > 2 | 4.00
        100: 2 [8-8] [6-6] [3-4] > | 4.00
        100: 2 [8-9] [6-6] [3-4] > 5 7 | 4.00
        200: 5 [8-9] [6-6] > 7 | 4.00
        200: 7 [8-9] > | 4.00
        200: 10 > | 4.00
        300: 10 > | 4.00
    ",
    );
}

#[test]
fn a_rescue_repairs_the_loss_of_the_last_segment() {
    // NextSeg (4): nothing above 9 can be reported; without it the timer would have to expire.
    let mut ladder = Ladder::ran(plain(Variant::Sack), Transfer::Segments(10), &[3, 10], 400);
    assert!(ladder.sender.is_done());
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > | 11.00
        100: 2 > | 12.00
        100: 2 [3-3] > | 12.00
        100: 2 [3-4] > | 12.00
        100: 2 [3-5] > 2 | 4.00
        100: 2 [3-6] > | 4.00
        100: 2 [3-7] > | 4.00
        100: 2 [3-8] > | 4.00
        200: 9 > 9 | 4.00
        300: 10 > | 4.00
    ",
    );
}

#[test]
fn limited_transmit_by_the_pipe() {
    // §5 (3): each report takes one out of the pipe. The two are not counted in FlightSize.
    let settings = plain(Variant::Sack).with(|c| c.limited_transmit = LimitedTransmit::On);
    let mut ladder = Ladder::ran(settings, Transfer::Unlimited, &[3], 300);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 2 [3-3] > 14 | 12.00
        100: 2 [3-4] > 15 | 12.00
        100: 2 [3-5] > 2 | 6.00
        100: 2 [3-6] > | 6.00
        100: 2 [3-7] > | 6.00
        100: 2 [3-8] > | 6.00
        100: 2 [3-9] > | 6.00
        200: 2 [3-10] > | 6.00
        200: 2 [3-11] > 16 | 6.00
        200: 2 [3-12] > 17 | 6.00
        200: 2 [3-13] > 18 | 6.00
        200: 2 [3-14] > 19 | 6.00
        200: 2 [3-15] > 20 | 6.00
        200: 16 > 21 | 6.00
        300: 17 > 22 | 6.17
        300: 18 > 23 | 6.33
        300: 19 > 24 | 6.49
        300: 20 > 25 | 6.64
        300: 21 > 26 | 6.79
        300: 22 > 27 | 6.94
    ",
    );
}

#[test]
fn recovery_begins_at_a_report_of_three_segments_at_once() {
    // §5 (2): acknowledgements 3 and 4 of the ladder above are lost; the fifth reports 3 to 5.
    let mut ladder = Ladder::new(&plain(Variant::Sack), Transfer::Unlimited, &[3]);
    ladder.lost_acks = [3, 4].into();
    ladder.run(100);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 2 [3-5] > 2 | 6.00
        100: 2 [3-6] > | 6.00
        100: 2 [3-7] > | 6.00
        100: 2 [3-8] > | 6.00
        100: 2 [3-9] > 14 | 6.00
    ",
    );
}

#[test]
fn lost_retransmissions_wait_for_the_timer_which_fills_the_holes() {
    // The retransmissions of 2 and 5 (transmissions 15 and 16) are lost. §5.1: after the timeout no
    // new recovery; what comes back reports 6 to 15 again, and they are not sent.
    let mut ladder = Ladder::ran(plain(Variant::Sack), Transfer::Segments(16), &[3, 6, 15, 16], 1600);
    assert_eq!(ladder.sender.stats().window_cuts, 2);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 2 [3-3] > | 12.00
        100: 2 [3-4] > | 12.00
        100: 2 [6-6] [3-4] > 2 | 6.00
        100: 2 [6-7] [3-4] > | 6.00
        100: 2 [6-8] [3-4] > | 6.00
        100: 2 [6-9] [3-4] > 5 | 6.00
        200: 2 [6-10] [3-4] > 14 | 6.00
        200: 2 [6-11] [3-4] > 15 | 6.00
        200: 2 [6-12] [3-4] > | 6.00
        200: 2 [6-13] [3-4] > | 6.00
        300: 2 [6-14] [3-4] > | 6.00
        300: 2 [6-15] [3-4] > | 6.00
        1100: timeout > 2 | 1.00
        1200: 5 [6-15] > 5 | 2.00
        1300: 16 > | 3.00
    ",
    );
}

#[test]
fn a_scoreboard_kept_over_a_timeout_saves_retransmissions() {
    // Five holes and five blocks, of which an acknowledgement reports three; all retransmissions
    // are lost once.
    let lost: Vec<u64> = [3, 5, 7, 9, 11].into_iter().chain(15..=20).collect();
    let again = |sack_at_timeout| {
        let settings = plain(Variant::Sack).with(|c| c.sack_at_timeout = sack_at_timeout);
        let ladder = Ladder::ran(settings, Transfer::Segments(14), &lost, 9000);
        assert!(ladder.sender.is_done());
        ladder.sender.stats().retransmitted_segments
    };
    assert!(again(SackAtTimeout::Keep) < again(SackAtTimeout::Expunge));
}

#[test]
fn the_counter_of_fall_and_floyd() {
    // 12 − 3 in the pipe; one less for each duplicate, two for the partial acknowledgement 5; hole
    // 5 goes though it may not be lost.
    let settings = plain(Variant::Sack).with(|c| c.pipe = Pipe::Counter);
    let mut ladder = Ladder::ran(settings, Transfer::Unlimited, &[3, 6], 300);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 2 [3-3] > | 12.00
        100: 2 [3-4] > | 12.00
        100: 2 [6-6] [3-4] > 2 | 6.00
        100: 2 [6-7] [3-4] > | 6.00
        100: 2 [6-8] [3-4] > | 6.00
        100: 2 [6-9] [3-4] > | 6.00
        200: 2 [6-10] [3-4] > 5 | 6.00
        200: 2 [6-11] [3-4] > 14 | 6.00
        200: 2 [6-12] [3-4] > 15 | 6.00
        200: 2 [6-13] [3-4] > 16 | 6.00
        200: 5 [6-13] > 17 18 | 6.00
        300: 14 > 19 | 6.00
        300: 15 > 20 | 6.17
        300: 16 > 21 | 6.33
        300: 17 > 22 | 6.49
        300: 18 > 23 | 6.64
        300: 19 > 24 | 6.79
    ",
    );
}

#[test]
fn a_duplicate_that_reports_nothing_new_does_not_count_in_ns2() {
    // ns-2.35's Sack1 asks its scoreboard whether an acknowledgement has changed it. Four that
    // report segment 3 are one duplicate, not a loss; reports of 4, 5 and 6 are.
    let cuts = |duplicates| {
        let settings = plain(Variant::Sack).with(|c| {
            c.pipe = Pipe::Counter;
            c.duplicates = duplicates;
        });
        let mut sender = Sender::new(&settings, ConnectionId::default(), Transfer::Unlimited);
        sender.start(Instant::ZERO);
        while sender.poll_transmit(Instant::ZERO).is_some() {}
        let ack = |next, end| Ack {
            connection: ConnectionId::default(),
            kind: AckKind::Ack,
            next,
            sack: [SackBlock { start: next + 1, end }, SackBlock::default(), SackBlock::default()],
            echo: None,
            ecn: EcnEcho::None,
        };
        let now = Instant::ZERO + Duration::from_millis(100);
        for end in [4, 4, 4, 4] {
            sender.on_ack(now, &ack(2, end));
        }
        let same = sender.stats().window_cuts;
        for end in [5, 6, 7] {
            sender.on_ack(now, &ack(2, end));
        }
        (same, sender.stats().window_cuts)
    };
    assert_eq!(cuts(Duplicates::All), (1, 1));
    assert_eq!(cuts(Duplicates::NewlyReporting), (0, 1));
}
