//! Tahoe, Reno, NewReno: RFC 5681 §3.2, RFC 6582 §3.2, RFC 3042.

use super::*;

#[test]
fn tahoe_goes_back_and_starts_slowly() {
    // FlightSize 12 at the third duplicate: ssthresh 6, window 1. Segment 14 is next once the hole
    // is filled.
    let mut ladder = Ladder::ran(plain(Variant::Tahoe), Transfer::Unlimited, &[3], 300);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 2 > | 12.00
        100: 2 > | 12.00
        100: 2 > 2 | 1.00
        100: 2 > | 1.00
        100: 2 > | 1.00
        100: 2 > | 1.00
        100: 2 > | 1.00
        200: 2 > | 1.00
        200: 2 > | 1.00
        200: 2 > | 1.00
        200: 2 > | 1.00
        200: 14 > 14 15 | 2.00
        300: 15 > 16 17 | 3.00
        300: 16 > 18 19 | 4.00
    ",
    );
}

#[test]
fn reno_repairs_one_loss_without_a_pause() {
    // Window 6 + 3, one more for each further duplicate; the first new acknowledgement ends it at
    // 6.
    let mut ladder = Ladder::ran(plain(Variant::Reno), Transfer::Unlimited, &[3], 300);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 2 > | 12.00
        100: 2 > | 12.00
        100: 2 > 2 | 9.00
        100: 2 > | 10.00
        100: 2 > | 11.00
        100: 2 > | 12.00
        100: 2 > 14 | 13.00
        200: 2 > 15 | 14.00
        200: 2 > 16 | 15.00
        200: 2 > 17 | 16.00
        200: 2 > 18 | 17.00
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
fn reno_leaves_a_second_loss_to_the_timer() {
    // The partial acknowledgement 5 ends recovery; its duplicates may not begin another, since 5
    // does not lie beyond what was outstanding. FlightSize is 13 at the timeout, the window 6: slow
    // start up to 3.
    let mut ladder = Ladder::ran(plain(Variant::Reno), Transfer::Unlimited, &[3, 6], 1500);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 2 > | 12.00
        100: 2 > | 12.00
        100: 2 > 2 | 9.00
        100: 2 > | 10.00
        100: 2 > | 11.00
        100: 2 > | 12.00
        200: 2 > 14 | 13.00
        200: 2 > 15 | 14.00
        200: 2 > 16 | 15.00
        200: 2 > 17 | 16.00
        200: 5 > | 6.00
        300: 5 > | 6.00
        300: 5 > | 6.00
        300: 5 > | 6.00
        300: 5 > | 6.00
        1200: timeout > 5 | 1.00
        1300: 18 > 18 19 | 2.00
        1400: 19 > 20 21 | 3.00
        1400: 20 > 22 | 3.33
        1500: 21 > 23 | 3.63
        1500: 22 > 24 | 3.91
        1500: 23 > 25 26 | 4.16
    ",
    );
}

#[test]
fn reno_of_the_early_1990s_halves_twice() {
    // FlightSize 12, then 13 with the window at 6: half of the smaller. Four duplicates of 5 are
    // enough.
    let settings = plain(Variant::Reno).with(|c| c.repeat = Repeat::Allowed);
    let mut ladder = Ladder::ran(settings, Transfer::Unlimited, &[3, 6], 400);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 2 > | 12.00
        100: 2 > | 12.00
        100: 2 > 2 | 9.00
        100: 2 > | 10.00
        100: 2 > | 11.00
        100: 2 > | 12.00
        200: 2 > 14 | 13.00
        200: 2 > 15 | 14.00
        200: 2 > 16 | 15.00
        200: 2 > 17 | 16.00
        200: 5 > | 6.00
        300: 5 > | 6.00
        300: 5 > | 6.00
        300: 5 > 5 | 6.00
        300: 5 > | 7.00
        400: 18 > 18 19 20 | 3.00
    ",
    );
}

#[test]
fn newreno_goes_on_at_a_partial_acknowledgement() {
    // At 5 the window loses the three acknowledged and gains one: 16 to 14. At 18, all is
    // acknowledged that was outstanding: min(6, 5 + 1).
    let mut ladder = Ladder::ran(plain(Variant::NewReno), Transfer::Unlimited, &[3, 6], 400);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 2 > | 12.00
        100: 2 > | 12.00
        100: 2 > 2 | 9.00
        100: 2 > | 10.00
        100: 2 > | 11.00
        100: 2 > | 12.00
        200: 2 > 14 | 13.00
        200: 2 > 15 | 14.00
        200: 2 > 16 | 15.00
        200: 2 > 17 | 16.00
        200: 5 > 5 18 | 14.00
        300: 5 > 19 | 15.00
        300: 5 > 20 | 16.00
        300: 5 > 21 | 17.00
        300: 5 > 22 | 18.00
        300: 18 > 23 | 6.00
        300: 19 > 24 | 6.17
        400: 20 > 25 | 6.33
        400: 21 > 26 | 6.49
        400: 22 > 27 | 6.64
        400: 23 > 28 | 6.79
        400: 24 > 29 | 6.94
        400: 25 > 30 31 | 7.08
    ",
    );
}

#[test]
fn newreno_of_ns2_drops_the_inflation_at_a_partial_acknowledgement() {
    let settings = plain(Variant::NewReno).with(|c| c.partial_ack = PartialAck::Collapse);
    let mut ladder = Ladder::ran(settings, Transfer::Unlimited, &[3, 6], 300);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 2 > | 12.00
        100: 2 > | 12.00
        100: 2 > 2 | 9.00
        100: 2 > | 10.00
        100: 2 > | 11.00
        100: 2 > | 12.00
        200: 2 > 14 | 13.00
        200: 2 > 15 | 14.00
        200: 2 > 16 | 15.00
        200: 2 > 17 | 16.00
        200: 5 > 5 | 6.00
        300: 5 > | 7.00
        300: 5 > | 8.00
        300: 5 > | 9.00
        300: 5 > | 10.00
        300: 18 > 18 19 | 2.00
    ",
    );
}

#[test]
fn newreno_ends_at_what_is_in_flight_or_at_the_threshold() {
    // The acknowledgements of the end are lost: little is in flight when the last hole is filled.
    let ended = |recovery_exit| {
        let settings = plain(Variant::NewReno).with(|c| c.recovery_exit = recovery_exit);
        let mut ladder = Ladder::new(&settings, Transfer::Segments(14), &[3]);
        ladder.run(250);
        (ladder.sender.cwnd(), ladder.sender.ssthresh())
    };
    // FlightSize 12 at the loss, 0 at the end: max(0, 1) + 1.
    assert_eq!(ended(RecoveryExit::Outstanding), (2.0, 6.0));
    assert_eq!(ended(RecoveryExit::Threshold), (6.0, 6.0));
}

#[test]
fn limited_transmit_sends_two_new_segments() {
    // RFC 3042: 14 and 15 at the first two duplicates, not counted in FlightSize: ssthresh is 6,
    // not 7.
    let settings = plain(Variant::NewReno).with(|c| c.limited_transmit = LimitedTransmit::On);
    let mut ladder = Ladder::ran(settings, Transfer::Unlimited, &[3], 300);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 2 > 14 | 12.00
        100: 2 > 15 | 12.00
        100: 2 > 2 | 9.00
        100: 2 > | 10.00
        100: 2 > | 11.00
        100: 2 > | 12.00
        100: 2 > | 13.00
        200: 2 > | 14.00
        200: 2 > 16 | 15.00
        200: 2 > 17 | 16.00
        200: 2 > 18 | 17.00
        200: 2 > 19 | 18.00
        200: 2 > 20 | 19.00
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
fn limited_transmit_makes_fast_recovery_of_a_window_of_three() {
    // Without it the timer has to repair this: two duplicates are all there can be.
    let base = plain(Variant::Reno).with(|c| c.initial_window = InitialWindow::Segments(3));
    let mut without = Ladder::ran(base, Transfer::Unlimited, &[1], 1200);
    assert_eq!(without.sender.stats().timeouts, 1);
    let with = base.with(|c| c.limited_transmit = LimitedTransmit::On);
    let mut with = Ladder::ran(with, Transfer::Unlimited, &[1], 1200);
    assert_eq!(with.sender.stats().timeouts, 0);
    assert_ne!(without.steps(), with.steps());
}

#[test]
fn no_recovery_from_duplicates_of_what_a_timeout_sent_again() {
    // RFC 6582 §3.2 steps 4 and 2. A fast retransmit and a timeout; after that 7 to 11 go again
    // though they have arrived: five duplicates of 12.
    let cuts = |repeat| {
        let lost = [1, 2, 3, 4, 5, 6, 7, 13];
        let settings = plain(Variant::Reno).with(|c| {
            c.repeat = repeat;
            c.initial_window = InitialWindow::Segments(20);
        });
        let mut ladder = Ladder::ran(settings, Transfer::Segments(20), &lost, 4000);
        assert!(ladder.sender.is_done());
        (ladder.sender.stats().timeouts, ladder.sender.stats().window_cuts, ladder.steps())
    };
    let (timeouts, window_cuts, steps) = cuts(Repeat::Avoided);
    assert_eq!((timeouts, window_cuts), (1, 2), "{steps}");
    let (timeouts, window_cuts, steps) = cuts(Repeat::Allowed);
    assert_eq!((timeouts, window_cuts), (1, 3), "{steps}");
}
