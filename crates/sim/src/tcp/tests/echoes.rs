//! ECN: RFC 3168 §6.1.

use super::*;

fn plain_ecn(variant: Variant) -> Settings {
    Settings { ecn: EcnMode::On, ..plain(variant) }
}

fn marked(settings: Settings, marks: &[u64], lost: &[u64], until: u64) -> Ladder {
    let mut ladder = Ladder::new(&settings, Transfer::Unlimited, lost);
    ladder.marked = marks.iter().copied().collect();
    ladder.run(until);
    ladder
}

#[test]
fn the_window_is_halved_once_for_a_window_of_marks() {
    // Segments 2, 3 and 6 are marked: one reduction, answered with the next new segment; echoes end
    // when that arrives.
    let mut ladder = marked(plain_ecn(Variant::Sack), &[3, 4, 7], &[], 300);
    assert_eq!(ladder.sender.stats().ecn_cuts, 1);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 > 12 13 | 12.00
        100: 3 ece > | 6.00
        100: 4 ece > | 6.00
        100: 5 ece > | 6.00
        100: 6 ece > | 6.00
        100: 7 ece > | 6.00
        100: 8 ece > | 6.00
        100: 9 ece > 14 cwr | 6.00
        100: 10 ece > 15 | 6.00
        200: 11 ece > 16 | 6.00
        200: 12 ece > 17 | 6.00
        200: 13 ece > 18 | 6.00
        200: 14 ece > 19 | 6.00
        200: 15 > 20 | 6.17
        200: 16 > 21 | 6.33
        300: 17 > 22 | 6.49
        300: 18 > 23 | 6.64
        300: 19 > 24 | 6.79
        300: 20 > 25 | 6.94
        300: 21 > 26 27 | 7.08
        300: 22 > 28 | 7.22
    ",
    );
}

#[test]
fn a_mark_in_the_next_window_counts_again() {
    let ladder = marked(plain_ecn(Variant::Sack), &[3, 20], &[], 500);
    assert_eq!(ladder.sender.stats().ecn_cuts, 2);
}

#[test]
fn a_loss_in_the_window_of_a_mark_is_repaired_without_another_reduction() {
    let mut ladder = marked(plain_ecn(Variant::Sack), &[2], &[5], 300);
    assert_eq!(ladder.sender.stats().window_cuts, 1);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 1 > 10 11 | 11.00
        100: 2 ece > | 5.50
        100: 3 ece > | 5.50
        100: 4 ece > | 5.50
        100: 4 [5-5] ece > | 5.50
        100: 4 [5-6] ece > | 5.50
        100: 4 [5-7] ece > 4 | 5.50
        100: 4 [5-8] ece > 12 cwr | 5.50
        100: 4 [5-9] ece > 13 | 5.50
        200: 4 [5-10] ece > 14 | 5.50
        200: 4 [5-11] ece > 15 | 5.50
        200: 12 ece > 16 | 5.50
        200: 13 > 17 | 5.68
        200: 14 > 18 | 5.86
        300: 15 > 19 20 | 6.03
        300: 16 > 21 | 6.19
        300: 17 > 22 | 6.36
        300: 18 > 23 | 6.51
        300: 19 > 24 | 6.67
    ",
    );
}

#[test]
fn at_a_window_of_one_the_timer_sends() {
    // §6.1.2: an echo at a window of one segment stops the sender until the retransmission timer
    // expires.
    let settings = plain_ecn(Variant::Sack).with(|c| c.initial_window = InitialWindow::Segments(1));
    let mut ladder = marked(settings, &[1], &[], 1300);
    assert_eq!(ladder.sender.stats().timeouts, 0);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 | 1.00
        100: 1 ece > | 1.00
        1100: timeout > 1 cwr | 1.00
        1200: 2 > 2 3 | 2.00
        1300: 3 > 4 | 2.50
        1300: 4 > 5 | 2.90
    ",
    );
}

#[test]
fn retransmissions_are_not_ecn_capable() {
    // §6.1.5. The retransmission is transmission 15: marking it has no effect.
    let ladder = marked(plain_ecn(Variant::Sack), &[15], &[3], 300);
    assert_eq!((ladder.sink.stats().marked_segments, ladder.sender.stats().ecn_cuts), (0, 0));
    assert_eq!(ladder.sender.stats().retransmitted_segments, 1);
}

#[test]
fn marks_mean_nothing_to_a_flow_without_ecn() {
    let ladder = marked(plain(Variant::Sack), &[3, 4, 7], &[], 300);
    assert_eq!((ladder.sink.stats().marked_segments, ladder.sender.stats().window_cuts), (0, 0));
}

#[test]
fn at_a_window_of_one_ns2_doubles_its_timer() {
    // Trace of ns-2.35's `backoff_` and `cwnd_` with every packet marked: the first echo at a
    // window of one leaves half a segment and the timer as it is, each further one doubles it. The
    // acknowledgement of a segment without a mark ends that.
    let settings = Settings { ecn: EcnMode::On, syn: SynMode::Off, ..Settings::ns2(Variant::Sack) };
    let mut ladder = marked(settings, &[1, 2, 3, 4, 5, 6, 7], &[], 8650);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 | 2.00
        100: 1 ece > | 1.00
        100: 2 ece > 2 cwr | 1.00
        200: 3 ece > | 0.50
        450: timeout > 3 cwr | 1.00
        550: 4 ece > | 0.50
        990: timeout > 4 cwr | 1.00
        1090: 5 ece > | 0.50
        1890: timeout > 5 cwr | 1.00
        1990: 6 ece > | 0.50
        3590: timeout > 6 cwr | 1.00
        3690: 7 ece > | 0.50
        8490: timeout > 7 cwr | 1.00
        8590: 8 > 8 9 | 2.00
    ",
    );
}
