//! The retransmission timer (RFC 6298), the SYN, timestamps.

use super::*;

#[test]
fn backoff_doubles_until_data_sent_once_is_acknowledged() {
    // RFC 6298 §5 (5.5) and Karn: 0 goes at 0, 1, 3 and 7 s. Its acknowledgement is not a sample,
    // so the timeout of 1 is 8 s still: sent at 7.1, it goes again at 15.1 s.
    let settings = plain(Variant::Sack).with(|c| c.initial_window = InitialWindow::Segments(1));
    let mut ladder = Ladder::ran(settings, Transfer::Segments(8), &[1, 2, 3, 5], 17_000);
    assert_steps(
        &mut ladder,
        "
        0: start > 0 | 1.00
        1000: timeout > 0 | 1.00
        3000: timeout > 0 | 1.00
        7000: timeout > 0 | 1.00
        7100: 1 > 1 2 | 2.00
        7200: 1 [2-2] > | 2.00
        15100: timeout > 1 | 1.00
        15200: 3 > 3 4 | 2.00
        15300: 4 > 5 | 2.50
        15300: 5 > 6 | 2.90
        15400: 6 > 7 | 3.24
        15400: 7 > | 3.55
        15500: 8 > | 3.83
    ",
    );
}

#[test]
fn ssthresh_is_halved_at_the_first_timeout_of_a_segment_only() {
    // RFC 5681 §3.1: FlightSize 10, then 1; ns-2 halves its window of one again, to the least, 2.
    let all: Vec<u64> = (1..=11).collect();
    let ladder = Ladder::ran(plain(Variant::Reno), Transfer::Unlimited, &all, 3500);
    assert_eq!((ladder.sender.stats().timeouts, ladder.sender.ssthresh()), (2, 5.0));
    let settings = plain(Variant::Reno).with(|c| c.shrink = Shrink::Window);
    let ladder = Ladder::ran(settings, Transfer::Unlimited, &all, 3500);
    assert_eq!((ladder.sender.stats().timeouts, ladder.sender.ssthresh()), (2, 2.0));
}

#[test]
fn a_timeout_in_a_long_recovery_takes_from_the_window_in_use() {
    // Segment 2 is lost, and lost again when it is sent anew: for a second the pipe of RFC 6675 is
    // full of new segments. FlightSize is then 63, the window 6: half of the former would be a
    // rise.
    let run = |shrink, receive_buffer| {
        let settings = plain(Variant::Sack).with(|c| {
            c.shrink = shrink;
            c.receive_buffer = receive_buffer;
        });
        let ladder = Ladder::ran(settings, Transfer::Unlimited, &[3, 15], 1150);
        assert_eq!(ladder.sender.stats().timeouts, 1);
        (ladder.sender.ssthresh(), ladder.transmissions)
    };
    assert_eq!(run(Shrink::Flight, ReceiveBuffer::Fixed), (31.5, 67));
    assert_eq!(run(Shrink::InUse, ReceiveBuffer::Fixed), (3.0, 67));
    // Twice the 12 that were outstanding before, and the two retransmissions of segment 2.
    assert_eq!(run(Shrink::InUse, ReceiveBuffer::Tuned), (3.0, 28));
}

#[test]
fn cubic_keeps_seven_tenths() {
    // RFC 9438 §4.6, §4.8: a timeout at FlightSize 40 leaves ssthresh 28.
    let all: Vec<u64> = (1..=40).collect();
    let settings = plain(Variant::Cubic).with(|c| c.initial_window = InitialWindow::Segments(40));
    let ladder = Ladder::ran(settings, Transfer::Unlimited, &all, 1000);
    assert!((ladder.sender.ssthresh() - 28.0).abs() < 1e-9);
    let ladder = Ladder::ran(plain(Variant::Cubic), Transfer::Unlimited, &[3], 100);
    assert!((ladder.sender.ssthresh() - 8.4).abs() < 1e-9 && (ladder.sender.cwnd() - 8.4).abs() < 1e-9);
}

#[test]
fn an_opening() {
    // Its round-trip time is a sample: 0.1 s, so a loss of all is repaired after 1 s, the minimum.
    let settings = Settings { syn: SynMode::On, ..plain(Variant::Sack) };
    let mut ladder = Ladder::ran(settings, Transfer::Segments(2), &[2, 3], 1300);
    assert_steps(
        &mut ladder,
        "
        0: start > syn | 10.00
        100: syn > 0 1 | 10.00
        1100: timeout > 0 | 1.00
        1200: 1 > 1 | 2.00
        1300: 2 > | 2.50
    ",
    );
}

#[test]
fn a_lost_opening() {
    // One segment (RFC 5681 §3.1), a timeout of 3 s until there is a sample (RFC 6298 §5 (5.7)).
    let settings = Settings { syn: SynMode::On, ..plain(Variant::Sack) };
    let mut ladder = Ladder::ran(settings, Transfer::Segments(4), &[1, 3], 5000);
    assert_steps(
        &mut ladder,
        "
        0: start > syn | 10.00
        1000: timeout > syn | 10.00
        1100: syn > 0 | 1.00
        4100: timeout > 0 | 1.00
        4200: 1 > 1 2 | 2.00
        4300: 2 > 3 | 2.50
        4300: 3 > | 2.90
        4400: 4 > | 3.24
    ",
    );
}

#[test]
fn timestamps_make_every_new_acknowledgement_a_sample() {
    let settings = Settings { timestamps: Timestamps::On, ..plain(Variant::Sack) };
    let with = Ladder::ran(settings, Transfer::Segments(30), &[3], 2000);
    // One for each advance: 30 segments less the 11 acknowledged together with 2, which count once.
    assert_eq!(with.sender.stats().rtt_samples, 19);
    // The echo of the retransmission is that of its own sending: no sample is longer than a round
    // trip.
    assert_eq!(with.sender.stats().mean_rtt(), Some(Duration::from_millis(100)));
    let without = Ladder::ran(plain(Variant::Sack), Transfer::Segments(30), &[3], 2000);
    assert!(without.sender.stats().rtt_samples < 5);
}

#[test]
fn a_delayed_acknowledgement_echoes_the_first_of_its_segments() {
    // RFC 7323 §4.3: the sample includes the delay.
    let settings = Settings {
        timestamps: Timestamps::On,
        acks: Acks::Delayed(Duration::from_millis(200)),
        ..plain(Variant::Sack)
    };
    let ladder = Ladder::ran(settings, Transfer::Segments(1), &[], 1000);
    assert_eq!(ladder.sender.stats().mean_rtt(), Some(Duration::from_millis(300)));
}

#[test]
fn sizes_on_the_wire() {
    let settings = Settings { timestamps: Timestamps::On, ..Settings::rfc(Variant::Sack) };
    let mut ack = Ack {
        connection: ConnectionId::default(),
        kind: AckKind::Ack,
        next: 1,
        sack: [SackBlock::default(); 3],
        echo: None,
        ecn: EcnEcho::None,
    };
    assert_eq!((settings.data_size(1460), settings.ack_size(&ack)), (1512, 52));
    ack.sack = [SackBlock::one(3), SackBlock::one(5), SackBlock::default()];
    assert_eq!(settings.ack_size(&ack), 72);
    let settings = settings.with(|c| c.option_bytes = OptionBytes::Ignored);
    assert_eq!((settings.data_size(1460), settings.ack_size(&ack)), (1500, 40));
}

#[test]
fn a_lost_syn_counts_as_a_segment_in_ns2() {
    // Trace of ns-2.35's `backoff_`, `cwnd_` and `t_seqno_` (10 Mbit/s, 50 ms; packets 0, 2 and 3
    // lost): the SYN goes again at 3 s; the first segment, sent at 3.1 s, again 6 s later and 12 s
    // after that; then the window grows from one as beyond an ssthresh of 2.
    let mut ladder = Ladder::ran(Settings::ns2(Variant::Sack), Transfer::Segments(6), &[1, 3, 4], 22_000);
    assert_steps(
        &mut ladder,
        "
        0: start > syn | 2.00
        3000: timeout > syn | 2.00
        3100: syn > 0 | 1.00
        9100: timeout > 0 | 1.00
        21100: timeout > 0 | 1.00
        21200: 1 > 1 2 | 2.00
        21300: 2 > 3 | 2.50
        21300: 3 > 4 | 2.90
        21400: 4 > 5 | 3.24
        21400: 5 > | 3.55
        21500: 6 > | 3.83
    ",
    );
}

#[test]
fn with_timestamps_ns2_keeps_its_timer_doubled_until_new_data_is_acknowledged() {
    // Trace of ns-2.35's `backoff_` with `timestamps_` (10 Mbit/s, 50 ms): after two timeouts it is
    // 4, also when what was sent before them is acknowledged, and 1 when the first segment sent
    // after them is. Here segments 1 and 2 are lost, 1 again after the first timeout, and what
    // follows its arrival at 1.1 s, whose timer shows the doubling.
    for (timestamp_backoff, doubled) in
        [(TimestampBackoff::NewData, true), (TimestampBackoff::AnySample, false)]
    {
        let settings =
            Settings { syn: SynMode::Off, timestamps: Timestamps::On, ..Settings::ns2(Variant::Sack) }.with(
                |c| {
                    c.initial_window = InitialWindow::Segments(1);
                    c.timestamp_backoff = timestamp_backoff;
                },
            );
        let mut ladder = Ladder::ran(settings, Transfer::Segments(40), &[2, 3, 4, 6, 7], 4000);
        let times: Vec<u64> = ladder
            .steps()
            .lines()
            .filter(|step| step.contains("timeout"))
            .filter_map(|step| step.split(':').next()?.parse().ok())
            .collect();
        assert_eq!(times.get(..2), Some(&[400, 1000][..]), "{timestamp_backoff:?}");
        let third = times.get(2).copied().unwrap_or_default();
        let expected = if doubled { 1900..=2400 } else { 1300..=1500 };
        assert!(expected.contains(&third), "{timestamp_backoff:?} {times:?}");
    }
}
