//! Slow start, congestion avoidance, the initial window, the receiver's window, delayed
//! acknowledgements.

use super::*;

#[test]
fn slow_start_one_for_each_acknowledgement() {
    let settings = plain(Variant::Reno).with(|c| c.initial_window = InitialWindow::Segments(1));
    let mut ladder = Ladder::ran(settings, Transfer::Unlimited, &[], 300);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 | 1.00
        100: 1 > 1 2 | 2.00
        200: 2 > 3 4 | 3.00
        200: 3 > 5 6 | 4.00
        300: 4 > 7 8 | 5.00
        300: 5 > 9 10 | 6.00
        300: 6 > 11 12 | 7.00
        300: 7 > 13 14 | 8.00
    ",
    );
}

#[test]
fn slow_start_with_delayed_acknowledgements() {
    // RFC 5681 §3.1 counts one for each acknowledgement, RFC 3465 with L = 2 the segments. An
    // acknowledgement covers two; the odd one waits 200 ms.
    let delayed = |increase| {
        let acks = Acks::Delayed(Duration::from_millis(200));
        let settings = Settings { acks, ..plain(Variant::Reno) }.with(|c| {
            c.increase = increase;
            c.initial_window = InitialWindow::Segments(3);
        });
        Ladder::ran(settings, Transfer::Unlimited, &[], 310)
    };
    assert_steps(
        &mut delayed(Increase::Counted(1)),
        "
        0: start > 0 1 2 | 3.00
        100: 2 > 3 4 5 | 4.00
        200: 4 > 6 7 8 | 5.00
        200: 6 > 9 10 11 | 6.00
        300: 8 > 12 13 14 | 7.00
        300: 10 > 15 16 17 | 8.00
        300: 12 > 18 19 20 | 9.00
    ",
    );
    assert_steps(
        &mut delayed(Increase::Counted(2)),
        "
        0: start > 0 1 2 | 3.00
        100: 2 > 3 4 5 6 | 5.00
        200: 4 > 7 8 9 10 | 7.00
        200: 6 > 11 12 13 14 | 9.00
        300: 8 > 15 16 17 18 | 11.00
        300: 10 > 19 20 21 22 | 13.00
        300: 12 > 23 24 25 26 | 15.00
        300: 14 > 27 28 29 30 | 17.00
    ",
    );
}

#[test]
fn congestion_avoidance_adds_one_in_a_round_trip() {
    // From a window of 8 at ssthresh 8: RFC 5681 (3) comes a little short of one, for the window
    // grows meanwhile.
    for (acks, increase, low, high) in [
        (Acks::Each, Increase::PerAck, 0.9, 1.0),
        (Acks::Each, Increase::Counted(1), 0.9, 1.0),
        (Acks::Delayed(Duration::from_millis(200)), Increase::PerAck, 0.45, 0.5),
        (Acks::Delayed(Duration::from_millis(200)), Increase::Counted(1), 0.9, 1.0),
    ] {
        let initial_window = InitialWindow::Segments(16);
        let settings = Settings { acks, ..plain(Variant::Sack) }.with(|c| {
            c.increase = increase;
            c.initial_window = initial_window;
        });
        let mut window = super::super::window::Window::new(&settings);
        window.cut(super::super::window::Cut::Loss, 16, &settings);
        assert!((window.cwnd - 8.0).abs() < 1e-12);
        let (each, times) = if acks == Acks::Each { (1, 8) } else { (2, 4) };
        for _ in 0..times {
            window.grow(Instant::ZERO, each, super::super::window::SlowStart::Normal, None, &settings);
        }
        let gain = window.cwnd - 8.0;
        assert!(low < gain && gain <= high, "{acks:?} {increase:?}: {gain}");
    }
}

#[test]
fn an_acknowledgement_of_many_windows_counts_as_one() {
    // A retransmission closes a hole below 8000 segments. RFC 5681 §3.1: no more than a segment for
    // a round trip; RFC 9438 §4.4: no more than half of the window. Counted in full it was 1000
    // segments and more.
    for variant in [Variant::Reno, Variant::Sack, Variant::Cubic] {
        let settings = plain(variant).with(|c| c.initial_window = InitialWindow::Segments(16));
        let mut window = super::super::window::Window::new(&settings);
        window.cut(super::super::window::Cut::Loss, 16, &settings);
        let before = window.cwnd;
        let rtt = Some(Duration::from_millis(100));
        for second in 0..60 {
            let now = Instant::ZERO + Duration::from_secs(second);
            let last = window.cwnd;
            window.grow(now, 8000, super::super::window::SlowStart::Normal, rtt, &settings);
            let most = if variant == Variant::Cubic { 0.5 * last } else { 1.0 };
            assert!(window.cwnd <= last + most + 1e-9, "{variant:?}: {} from {last}", window.cwnd);
        }
        assert!(window.cwnd > before + 10.0, "{variant:?}: {}", window.cwnd);
    }
}

#[test]
fn initial_windows() {
    // RFC 3390 (1): 4380 bytes, from two to four segments.
    let segments = |bytes| InitialWindow::Rfc3390.segments(bytes);
    assert_eq!([536, 1095, 1096, 1460, 2190, 2191, 8000].map(segments), [4, 4, 3, 3, 3, 2, 2]);
    assert_eq!(InitialWindow::Segments(10).segments(1460), 10);
    assert_eq!(InitialWindow::Segments(0).segments(1460), 1);
}

#[test]
fn the_receivers_window() {
    let settings = Settings { window: 4, ..plain(Variant::Sack) };
    let mut ladder = Ladder::ran(settings, Transfer::Unlimited, &[3], 300);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 | 10.00
        100: 1 > 4 | 10.00
        100: 2 > 5 | 10.00
        100: 2 [3-3] > | 10.00
        200: 2 [3-4] > | 10.00
        200: 2 [3-5] > 2 | 2.00
        300: 6 > 6 7 | 2.00
    ",
    );
}

#[test]
fn out_of_order_and_filling_segments_are_acknowledged_at_once() {
    // RFC 5681 §4.2. Segment 4 is lost; 0-1 and 2-3 in pairs, 5 to 9 one by one, and the
    // retransmission at once.
    let settings = Settings { acks: Acks::Delayed(Duration::from_millis(200)), ..plain(Variant::Sack) };
    let mut ladder = Ladder::ran(settings, Transfer::Segments(10), &[5], 400);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 4 5 6 7 8 9 | 10.00
        100: 2 > | 11.00
        100: 4 > | 12.00
        100: 4 [5-5] > | 12.00
        100: 4 [5-6] > | 12.00
        100: 4 [5-7] > 4 | 3.00
        100: 4 [5-8] > | 3.00
        100: 4 [5-9] > | 3.00
        200: 10 > | 3.00
    ",
    );
}

#[test]
fn a_burst_limit() {
    let settings = plain(Variant::Sack).with(|c| c.max_burst = Some(3));
    let mut ladder = Ladder::ran(settings, Transfer::Unlimited, &[], 100);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 | 10.00
        100: 1 > 3 4 5 | 11.00
        100: 2 > 6 7 8 | 12.00
        100: 3 > 9 10 11 | 13.00
    ",
    );
}

#[test]
fn a_transfer_of_bytes() {
    let mut ladder = Ladder::ran(plain(Variant::Sack), Transfer::Bytes(1460 * 3 + 1), &[], 1000);
    assert_eq!(ladder.sink.stats().delivered_bytes, 4381);
    assert_eq!(ladder.sink.in_order(), 4);
    assert!(ladder.sender.is_done() && ladder.sink.is_complete());
    assert_steps(
        &mut ladder,
        "
        0: start > 0 1 2 3 | 10.00
        100: 1 > | 11.00
        100: 2 > | 12.00
        100: 3 > | 13.00
        100: 4 > | 14.00
    ",
    );
    let nothing = Ladder::ran(plain(Variant::Sack), Transfer::Bytes(0), &[], 1000);
    assert!(nothing.sender.is_done());
}
