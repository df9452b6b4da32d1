//! RFC 5348 §6, step by step.

use std::vec::Vec;
use tfrc_units::saturating;

use super::*;
use crate::config::{PacketSize, TfrcSp};
use crate::equation::Equation;
use crate::study::{HistoryDiscounting, LossEventTiming};
use tfrc_testkit::at;

const RTT: Duration = Duration::from_millis(100);

pub(crate) fn packet(seq: u64) -> Arrival {
    Arrival {
        seq,
        size: 1000,
        ecn: Ecn::NotEct,
        rtt: Some(RTT),
        window_counter: 0,
        kind: PacketKind::Data,
        non_data_before: 0,
    }
}

/// Feeds packets (ms, seq), letting the timer run, and gives back when which report was due.
pub(crate) fn reports(
    receiver: &mut Receiver,
    packets: &[(u64, Arrival)],
    until: u64,
) -> Vec<(u64, FeedbackReason, f64)> {
    let mut reports = Vec::new();
    let mut packets = packets.iter().peekable();
    for ms in 0..=until {
        receiver.handle_timeout(at(ms));
        while let Some((_, arrival)) = packets.next_if(|(due, _)| *due == ms) {
            receiver.on_packet(at(ms), *arrival);
        }
        while let Some(report) = receiver.poll_feedback(at(ms)) {
            reports.push((ms, report.reason, report.receive_rate.bytes_per_sec()));
        }
    }
    reports
}

pub(crate) fn every_10_ms(from: u64, to: u64) -> Vec<(u64, Arrival)> {
    (from..to).map(|i| (10 * i, packet(i))).collect()
}

/// §6.3: the first packet is reported at once, with X_recv = 0; then once per round-trip time.
#[test]
fn first_report_then_one_per_round_trip() {
    let mut receiver = Receiver::new(&Config::default());
    assert_eq!(receiver.poll_timeout(), None);
    assert_eq!(receiver.poll_feedback(at(0)), None);
    let got = reports(&mut receiver, &every_10_ms(0, 40), 350);
    assert_eq!(
        got,
        [
            (0, FeedbackReason::First, 0.0),
            (100, FeedbackReason::Regular, 100_000.0),
            (200, FeedbackReason::Regular, 100_000.0),
            (300, FeedbackReason::Regular, 100_000.0),
        ]
    );
    assert_eq!(receiver.poll_timeout(), Some(Wake { at: at(400), reason: WakeReason::Feedback }));
}

/// §6.2: no data, no report, but the timer goes on; §6.1 step 2: the next packet is then reported
/// at once.
#[test]
fn after_a_pause_the_next_packet_is_reported_at_once() {
    let mut receiver = Receiver::new(&Config::default());
    let got =
        reports(&mut receiver, &[(0, packet(0)), (50, packet(1)), (330, packet(2)), (340, packet(3))], 500);
    let times: Vec<_> = got.iter().map(|(ms, reason, _)| (*ms, *reason)).collect();
    assert_eq!(
        times,
        [
            (0, FeedbackReason::First),
            (100, FeedbackReason::Regular),
            (330, FeedbackReason::Regular),
            (430, FeedbackReason::Regular),
        ]
    );
}

/// §6.2: a loss that packets without data reveal is reported with the next data, at once, however
/// late; the first packet after [`Receiver::expect`] too.
#[test]
fn without_data_no_loss_is_reported() {
    let mut receiver = Receiver::new(&Config::default());
    let empty = |seq| Arrival { kind: PacketKind::NonData, size: 0, ..packet(seq) };
    let mut packets = every_10_ms(0, 11);
    packets.extend([(5000, empty(12)), (5010, empty(13)), (5020, empty(14)), (9000, packet(15))]);
    let got = reports(&mut receiver, &packets, 9050);
    assert_eq!(receiver.loss_events(), 1);
    let late = got.iter().find(|(ms, ..)| *ms > 200);
    assert!(late.is_some_and(|(ms, _, receive_rate)| *ms == 9000 && *receive_rate > 0.0), "{late:?}");

    let mut receiver = Receiver::new(&Config::default());
    receiver.expect(at(0), 1);
    let got = reports(&mut receiver, &[(0, empty(2)), (10, empty(3)), (20, empty(4)), (70, packet(5))], 90);
    assert_eq!((receiver.loss_events(), got), (1, [(70, FeedbackReason::First, 0.0)].to_vec()));
}

/// §6.3: without a round-trip time every packet is reported, until one carries it.
#[test]
fn every_packet_until_there_is_a_round_trip_time() {
    let mut receiver = Receiver::new(&Config::default());
    let silent = |seq| Arrival { rtt: None, ..packet(seq) };
    let packets = [(0, silent(0)), (10, silent(1)), (20, silent(2)), (30, packet(3)), (40, packet(4))];
    let times: Vec<_> = reports(&mut receiver, &packets, 150).iter().map(|(ms, ..)| *ms).collect();
    assert_eq!(times, [0, 10, 20, 30, 130]);
}

/// §6.1 step 4: a new loss event is reported early, and §6.2 step 2: X_recv is still measured over
/// a round-trip time.
#[test]
fn a_new_loss_event_is_reported_early() {
    let mut packets = every_10_ms(0, 60);
    packets.retain(|(_, p)| p.seq != 42);
    let mut receiver = Receiver::new(&Config::default());
    let got = reports(&mut receiver, &packets, 460);
    let early = got.iter().find(|(_, reason, _)| *reason == FeedbackReason::NewLossEvent);
    // 42 is lost when 45 has come; one of the ten packets of that round-trip time is missing.
    assert_eq!(early, Some(&(450, FeedbackReason::NewLossEvent, 90_000.0)));
    assert_eq!(receiver.loss_events(), 1);
}

/// §6.2 step 4: early feedback too starts the timer again.
#[test]
fn early_feedback_restarts_the_timer() {
    let mut packets = every_10_ms(0, 60);
    packets.retain(|(_, p)| p.seq != 42);
    let mut receiver = Receiver::new(&Config::default());
    let times: Vec<_> = reports(&mut receiver, &packets, 560).iter().map(|(ms, ..)| *ms).collect();
    assert_eq!(times, [0, 100, 200, 300, 400, 450, 550]);
}

/// §5.2, §6.2 step 4: R is the value in the newest packet; a timer that runs is left as it is.
#[test]
fn the_round_trip_time_is_the_senders() {
    let mut packets = every_10_ms(0, 80);
    for (ms, packet) in &mut packets {
        packet.rtt = Some(if *ms < 250 { RTT } else { RTT * 2 });
    }
    let mut receiver = Receiver::new(&Config::default());
    let times: Vec<_> = reports(&mut receiver, &packets, 750).iter().map(|(ms, ..)| *ms).collect();
    assert_eq!(times, [0, 100, 200, 300, 500, 700]);
    assert_eq!(receiver.rtt(), RTT * 2);
}

/// §6.2: R is that of the packet with the highest number, not of the one that comes last.
#[test]
fn late_packets_do_not_tell_the_round_trip_time() {
    let mut receiver = Receiver::new(&Config::default());
    for (ms, seq, rtt) in [(0, 0, 100), (10, 2, 200), (20, 1, 100), (30, 2, 300)] {
        receiver.on_packet(at(ms), Arrival { rtt: Some(Duration::from_millis(rtt)), ..packet(seq) });
    }
    assert_eq!(receiver.rtt(), RTT * 2);
}

/// §6.2 step 2: measured over R_(m-1), 100 ms, although the newest packets say 50 ms. Ten
/// packets come in the first half of the window and five in the second.
#[test]
fn the_receive_rate_goes_by_the_round_trip_time_before() {
    let mut packets = every_10_ms(0, 20);
    packets.extend((0..10).map(|i| (200 + 5 * i, packet(20 + i))));
    packets.extend((0..6).map(|i| (250 + 10 * i, Arrival { rtt: Some(RTT / 2), ..packet(30 + i) })));
    let mut receiver = Receiver::new(&Config::default());
    let got = reports(&mut receiver, &packets, 300);
    assert_eq!(got.last(), Some(&(300, FeedbackReason::Regular, 150_000.0)));
}

/// §6.2: without data the timer goes on.
#[test]
fn the_timer_goes_on_without_data() {
    let mut receiver = Receiver::new(&Config::default());
    reports(&mut receiver, &[(0, packet(0))], 0);
    for ms in [100, 200, 300] {
        assert_eq!(receiver.poll_timeout().map(|wake| wake.at), Some(at(ms)));
        receiver.handle_timeout(at(ms));
        assert_eq!(receiver.poll_feedback(at(ms)), None);
    }
}

/// §6.2 steps 1 and 3: p, the newest packet, and how long ago it came.
#[test]
fn a_report_says_what_was_received() {
    let mut packets = every_10_ms(0, 8);
    packets.retain(|(_, p)| p.seq != 3);
    let mut receiver = Receiver::new(&Config::default());
    let early = reports(&mut receiver, &packets, 159);
    assert_eq!(early.last().map(|(ms, ..)| *ms), Some(60));
    receiver.handle_timeout(at(160));
    let Some(report) = receiver.poll_feedback(at(160)) else { panic!("a packet came since the last report") };
    assert_eq!((report.newest_seq, report.elapsed), (7, Duration::from_millis(90)));
    assert_eq!((report.loss_events, report.loss_event_rate), (1, receiver.loss_event_rate()));
    assert!(!report.loss_event_rate.is_zero());
}

/// §6.3: X_recv = 0 in the first report, also when the host is late in asking for it.
#[test]
fn the_first_report_says_zero_however_late() {
    let mut receiver = Receiver::new(&Config::default());
    receiver.on_packet(at(0), packet(0));
    receiver.on_packet(at(600), packet(1));
    assert_eq!(receiver.poll_feedback(at(600)).map(|report| report.receive_rate), Some(Rate::ZERO));
}

/// §6.1 step 3: p_prev is the p worked out last, in a report or not.
#[test]
fn the_previous_p_need_not_have_been_sent() {
    let settings = Settings::of_study(|c| c.discounting = HistoryDiscounting::Off);
    let Ok(config) = settings.validate() else { panic!("sound settings") };

    // The p of a report: an interval of 305 packets lets p fall below 1/300, and with the seed of
    // 82 packets also in the mean p then rises, though it stays below that of the first loss event.
    let mut receiver = Receiver::new(&config);
    let mut packets = every_10_ms(0, 400);
    packets.retain(|(_, p)| ![50, 355].contains(&p.seq));
    let got = reports(&mut receiver, &packets, 3600);
    let early: Vec<_> =
        got.iter().filter(|r| r.1 == FeedbackReason::NewLossEvent).map(|(ms, ..)| *ms).collect();
    assert_eq!(early, [530, 3580]);

    // The p of a loss event that was not reported. Intervals of 100 in a round-trip time of 1 s;
    // then, while that timer still runs, the sender says 2 ms and an interval of 1000 packets (p
    // falls, no report) is followed by one of 50 (p rises).
    let mut receiver = Receiver::new(&config);
    let mut packets: Vec<_> =
        (0..1000).map(|i| (11 * i, Arrival { rtt: Some(Duration::from_secs(1)), ..packet(i) })).collect();
    packets.extend(
        (1000..2100).map(|i| {
            (11_000 + (i - 1000) / 10, Arrival { rtt: Some(Duration::from_millis(2)), ..packet(i) })
        }),
    );
    let lost = |seq: u64| (seq < 1000 && seq % 100 == 50) || seq == 1950 || seq == 2000;
    packets.retain(|(_, p)| !lost(p.seq));
    let got = reports(&mut receiver, &packets, 11_105);
    let late: Vec<_> = got.iter().filter(|r| r.0 >= 11_000).map(|(ms, reason, _)| (*ms, *reason)).collect();
    assert_eq!(late.first(), Some(&(11_100, FeedbackReason::NewLossEvent)));
    assert_eq!(receiver.loss_events(), 12);
}

/// §6.1 step 4: a loss event that does not raise p is not reported early. With a full history an
/// interval of three times the mean has already counted as much while it was open.
#[test]
fn p_must_have_risen_for_an_early_report() {
    let mut receiver = Receiver::new(&Config::default());
    let lost = [50u64, 150, 250, 350, 450, 550, 650, 750, 850, 1155, 1460];
    let mut packets = every_10_ms(0, 1500);
    packets.retain(|(_, p)| !lost.contains(&p.seq));
    let got = reports(&mut receiver, &packets, 14_900);
    let early = |from, to| {
        got.iter().filter(|r| r.1 == FeedbackReason::NewLossEvent && (from..to).contains(&r.0)).count()
    };
    assert_eq!((early(0, 530), early(530, 540), early(9000, 15_000)), (0, 1, 0));
    assert_eq!(receiver.loss_events(), 11);
}

/// §6: a late packet that takes a loss event back is reported at once.
#[test]
fn a_repaired_loss_event_is_reported() {
    let mut packets = every_10_ms(0, 12);
    packets.retain(|(_, p)| p.seq != 5);
    packets.push((115, packet(5)));
    let mut receiver = Receiver::new(&Config::default());
    let got = reports(&mut receiver, &packets, 120);
    assert_eq!(
        got.iter().map(|(ms, reason, _)| (*ms, *reason)).collect::<Vec<_>>(),
        [
            (0, FeedbackReason::First),
            (80, FeedbackReason::NewLossEvent),
            (115, FeedbackReason::LossEventRemoved)
        ]
    );
    assert!(receiver.loss_event_rate().is_zero());
}

/// §5.1: a mark counts at once.
#[test]
fn a_mark_is_reported_at_once() {
    let mut receiver = Receiver::new(&Config::default());
    let mut packets = every_10_ms(0, 5);
    if let Some((_, p)) = packets.get_mut(4) {
        p.ecn = Ecn::Ce;
    }
    let got = reports(&mut receiver, &packets, 60);
    assert_eq!(got.last().map(|(ms, reason, _)| (*ms, *reason)), Some((40, FeedbackReason::NewLossEvent)));
}

/// §6.3.1: the first interval is where the equation gives the highest X_recv so far.
#[test]
fn the_first_interval_inverts_the_equation() {
    let mut packets = every_10_ms(0, 100);
    packets.retain(|(_, p)| p.seq != 90);
    let mut receiver = Receiver::new(&Config::default());
    reports(&mut receiver, &packets, 940);
    // Ten packets per round-trip time.
    let p = Equation::default().loss_event_rate(1000.0, RTT, Rate::of(10_000.0, RTT)).map(Probability::get);
    let seeded = receiver.loss_intervals().nth(1).map(|i| i.data_length);
    assert!(p.is_ok_and(|p| seeded.is_some_and(|i| (i * p - 1.0).abs() < 1e-9)));
}

/// The first interval by the receive rate at the loss, one of its ten packets missing, and
/// by half of it (SIGCOMM 2000). With TFRC-SP the equation is inverted for 1460 bytes, and for 40
/// bytes of headers besides the 1000 of data.
#[test]
fn other_first_intervals() {
    let seeded = |first_interval, packet_size| {
        let settings = Settings { packet_size, ..Settings::of_study(|c| c.first_interval = first_interval) };
        let Ok(config) = settings.validate() else { panic!("sound settings") };
        let mut receiver = Receiver::new(&config);
        let mut packets = every_10_ms(0, 100);
        packets.retain(|(_, p)| p.seq != 90);
        reports(&mut receiver, &packets, 940);
        receiver.loss_intervals().nth(1).map_or(0.0, |i| i.data_length)
    };
    let wanted = |segment, bytes| {
        let p = Equation::default().loss_event_rate(segment, RTT, Rate::of(bytes, RTT));
        p.map_or(0.0, |p| 1.0 / p.get())
    };
    let sp = PacketSize::TfrcSp(TfrcSp::default());
    for (got, wanted) in [
        (seeded(FirstInterval::AtReceiveRate, PacketSize::Own), wanted(1000.0, 9000.0)),
        (seeded(FirstInterval::AtHalfReceiveRate, PacketSize::Own), wanted(1000.0, 4500.0)),
        (seeded(FirstInterval::AtReceiveRate, sp), wanted(1460.0, 9000.0 * 1.04)),
        (seeded(FirstInterval::AtMaximumReceiveRate, sp), wanted(1460.0, 10_000.0 * 1.04)),
    ] {
        assert!(wanted > 1.0 && (got / wanted - 1.0).abs() < 1e-9, "{got}, not {wanted}");
    }
}

/// A dynamic history window at ten packets in each round-trip time: the equation expects a loss
/// event every 80.8 of them, so the window of four events is 323 packets. Every 50th packet lost
/// puts six or seven events into it.
#[test]
fn a_history_window_by_the_receive_rate() {
    let settings = Settings::of_study(|c| {
        c.estimator = Estimator::DynamicHistoryWindow { events: 4, window: HistoryWindow::ByRate };
    });
    let Ok(config) = settings.validate() else { panic!("sound settings") };
    let mut receiver = Receiver::new(&config);
    let mut packets = every_10_ms(0, 1000);
    packets.retain(|(_, p)| p.seq % 50 != 49);
    reports(&mut receiver, &packets, 10_000);
    let p = receiver.loss_event_rate().get();
    let seen = Equation::default().loss_event_rate(1000.0, RTT, Rate::of(10_000.0, RTT));
    let window = seen.map_or(0.0, |p| 4.0 / p.get());
    assert!((p * window - 6.0).abs() < 1e-9 || (p * window - 7.0).abs() < 1e-9, "{} events", p * window);
}

/// §6.3.1: the highest rate so far, ten packets per round-trip time, although only five came before
/// the loss.
#[test]
fn the_first_interval_goes_by_the_highest_rate() {
    let mut packets = every_10_ms(0, 100);
    packets.extend((0..100).map(|i| (1000 + 20 * i, packet(100 + i))));
    packets.retain(|(_, p)| p.seq != 160);
    let mut receiver = Receiver::new(&Config::default());
    reports(&mut receiver, &packets, 2400);
    let p = Equation::default().loss_event_rate(1000.0, RTT, Rate::of(10_000.0, RTT)).map(Probability::get);
    let seeded = receiver.loss_intervals().nth(1).map(|i| i.data_length);
    assert!(p.is_ok_and(|p| seeded.is_some_and(|i| (i * p - 1.0).abs() < 1e-9)));
}

/// RFC 4828 §3, RFC 5348 §6.3.1: 200 bytes each 10 ms, a loss, and the sender may go on at that
/// rate, headers or not.
#[test]
fn the_first_interval_allows_for_headers() {
    assert_share_after_first_loss(TfrcSp::default(), 1.0);
}

/// Asserts the `share` of its rate that a TFRC-SP sender of 200 bytes each 10 ms keeps at its first
/// loss.
pub(crate) fn assert_share_after_first_loss(sp: TfrcSp, share: f64) {
    let settings = Settings { packet_size: PacketSize::TfrcSp(sp), ..Settings::default() };
    let Ok(config) = settings.validate() else { panic!("sound settings") };
    let mut receiver = Receiver::new(&config);
    let mut packets = every_10_ms(0, 100);
    packets.retain(|(_, p)| p.seq != 90);
    for (_, packet) in &mut packets {
        packet.size = 200;
    }
    reports(&mut receiver, &packets, 940);
    let seeded = receiver.loss_intervals().nth(1).map_or(0.0, |i| i.data_length);
    let p = Probability::saturating(1.0 / seeded);
    let x = settings.packet_size.rate(&Equation::default(), 200.0, RTT, p);
    assert!((x.bytes_per_sec() / 20_000.0 - share).abs() < 1e-6, "{x}, not {share}");
}

/// §6.3.1: the target is at least half a packet per round-trip time; nothing is measured yet when
/// the second packet is marked.
#[test]
fn the_least_target_of_the_first_interval() {
    let mut receiver = Receiver::new(&Config::default());
    reports(&mut receiver, &[(0, packet(0)), (5, Arrival { ecn: Ecn::Ce, ..packet(1) })], 5);
    let seeded = receiver.loss_intervals().nth(1).map_or(0.0, |i| i.data_length);
    assert!((seeded - 4.844).abs() < 0.001, "{seeded}");
}

/// §6.3.1: a mark on the very first packet is like its loss.
#[test]
fn a_mark_on_the_first_packet() {
    let mut receiver = Receiver::new(&Config::default());
    reports(&mut receiver, &[(0, Arrival { ecn: Ecn::Ce, ..packet(0) })], 0);
    let seeded = receiver.loss_intervals().nth(1).map_or(0.0, |i| i.data_length);
    assert!((seeded - 4.844).abs() < 0.001, "{seeded}");
}

/// §6.3.1: the very first packet lost: half a packet per round-trip time, an interval of 4.844
/// packets.
#[test]
fn the_first_interval_when_the_first_packet_is_lost() {
    let mut receiver = Receiver::new(&Config::default());
    receiver.expect(at(0), 1);
    reports(&mut receiver, &every_10_ms(2, 8), 80);
    let seeded = receiver.loss_intervals().nth(1).map_or(0.0, |i| i.data_length);
    assert!((seeded - 4.844).abs() < 0.001, "{seeded}");
}

/// Duplicates change nothing, packets without data bring no report of their own.
#[test]
fn duplicates_and_non_data() {
    let mut receiver = Receiver::new(&Config::default());
    let silent = Arrival { kind: PacketKind::NonData, size: 0, ..packet(0) };
    let packets = [(0, silent), (10, packet(1)), (20, packet(1)), (30, packet(1))];
    let got = reports(&mut receiver, &packets, 250);
    assert_eq!(got, [(10, FeedbackReason::First, 0.0)]);
}

/// RFC 4342 §10.3 and §8.1: feedback when the counter has gone on by four; the round-trip time is
/// read off it. Packets 10 ms apart step each 30 ms where a quarter is 25 ms.
#[test]
fn feedback_by_the_window_counter() {
    let settings = Settings::of_study(|c| {
        c.feedback = FeedbackTrigger::WindowCounter;
        c.loss_event_timing = LossEventTiming::WindowCounter;
    });
    let Ok(config) = settings.validate() else { panic!("sound settings") };
    let mut receiver = Receiver::new(&config);
    let packets: Vec<_> = (0u8..40)
        .map(|i| {
            let seq = u64::from(i);
            (
                10 * seq,
                Arrival { rtt: None, window_counter: saturating::<u8>(10 * seq / 30 % 16), ..packet(seq) },
            )
        })
        .collect();
    let got = reports(&mut receiver, &packets, 400);
    let times: Vec<_> = got.iter().map(|(ms, ..)| *ms).collect();
    assert_eq!(times, [0, 120, 240, 360]);
    assert_eq!(receiver.poll_timeout(), None);
    let rtt = receiver.rtt().as_secs_f64();
    assert!((0.09..0.11).contains(&rtt), "{rtt}");
}
