//! RFC 5348 §6, step by step.

use std::vec::Vec;

use super::*;
use crate::config::{LossEventTiming, PacketSize, TfrcSp};
use crate::equation::Equation;

const RTT: Duration = Duration::from_millis(100);

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn packet(seq: u64) -> Arrival {
    Arrival {
        seq,
        size: 1000,
        ecn: Ecn::NotEct,
        rtt: Some(RTT),
        window_counter: 0,
        sent_at: None,
        round: 0,
        kind: PacketKind::Data,
        non_data_before: 0,
    }
}

/// Feeds packets (ms, seq), letting the timer run, and gives back when which report was due.
fn reports(
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

fn every_10_ms(from: u64, to: u64) -> Vec<(u64, Arrival)> {
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

/// §6.2: no data, no report, but the timer goes on; §6.1 step 2: the next packet is then reported at once.
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

/// §6.3: without a round-trip time every packet is reported, until one carries it.
#[test]
fn every_packet_until_there_is_a_round_trip_time() {
    let mut receiver = Receiver::new(&Config::default());
    let silent = |seq| Arrival { rtt: None, ..packet(seq) };
    let packets = [(0, silent(0)), (10, silent(1)), (20, silent(2)), (30, packet(3)), (40, packet(4))];
    let times: Vec<_> = reports(&mut receiver, &packets, 150).iter().map(|(ms, ..)| *ms).collect();
    assert_eq!(times, [0, 10, 20, 30, 130]);
}

/// §6.1 step 4: a new loss event is reported early, and §6.2 step 2: X_recv is still measured over a round-trip time.
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

/// §6.1 step 4: a loss event that does not raise p is not reported early. With a full history an interval of three times
/// the mean has already counted as much while it was open.
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

/// ns-2: a report with the first packet a round-trip time after the last, or 1.5 of them after it; a loss event that does not raise p is
/// reported too.
#[test]
fn feedback_by_arrivals() {
    let settings = Settings { feedback: FeedbackTrigger::Arrival, ..Settings::default() };
    let Ok(config) = settings.validate() else { panic!("sound settings") };
    let times = |packets: &[(u64, Arrival)], until| -> Vec<u64> {
        reports(&mut Receiver::new(&config), packets, until).iter().map(|(ms, ..)| *ms).collect()
    };
    assert_eq!(times(&every_10_ms(0, 30), 260), [0, 100, 200]);
    let apart: Vec<_> = (0..6).map(|i| (70 * i, packet(i))).collect();
    assert_eq!(times(&apart, 400), [0, 140, 280]);
    assert_eq!(times(&[(0, packet(0)), (50, packet(1)), (500, packet(2))], 600), [0, 150, 500]);

    let lost = [50u64, 150, 250, 350, 450, 550, 650, 750, 850, 1155, 1460];
    let mut packets = every_10_ms(0, 1500);
    packets.retain(|(_, p)| !lost.contains(&p.seq));
    let got = reports(&mut Receiver::new(&config), &packets, 14_900);
    assert_eq!(got.iter().filter(|r| r.1 == FeedbackReason::NewLossEvent).count(), 11);
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

/// The first interval by the receive rate at the loss, one of its ten packets missing (ns-2), and by half of it (SIGCOMM 2000).
/// With TFRC-SP the equation is inverted for 1460 bytes.
#[test]
fn other_first_intervals() {
    let seeded = |first_interval, packet_size| {
        let settings = Settings { first_interval, packet_size, ..Settings::default() };
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
        (seeded(FirstInterval::AtReceiveRate, sp), wanted(1460.0, 9000.0)),
        (seeded(FirstInterval::AtMaximumReceiveRate, sp), wanted(1460.0, 10_000.0)),
    ] {
        assert!(wanted > 1.0 && (got / wanted - 1.0).abs() < 1e-9, "{got}, not {wanted}");
    }
}

/// A dynamic history window at ten packets in each round-trip time: the equation expects a loss event every 80.8 of them, so the window
/// of four events is 323 packets. Every 50th packet lost puts six or seven events into it.
#[test]
fn a_history_window_by_the_receive_rate() {
    let settings = Settings {
        estimator: Estimator::DynamicHistoryWindow { events: 4, window: HistoryWindow::ByRate },
        ..Settings::default()
    };
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

/// §6.3.1: the very first packet lost: half a packet per round-trip time, an interval of 4.844 packets.
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

/// RFC 4342 §10.3 and §8.1: feedback when the counter has gone on by four; the round-trip time is read off it.
#[test]
fn feedback_by_the_window_counter() {
    let settings = Settings {
        feedback: FeedbackTrigger::WindowCounter,
        loss_event_timing: LossEventTiming::WindowCounter,
        ..Settings::default()
    };
    let Ok(config) = settings.validate() else { panic!("sound settings") };
    let mut receiver = Receiver::new(&config);
    let packets: Vec<_> = (0u8..40)
        .map(|i| {
            let seq = u64::from(i);
            (
                10 * seq,
                Arrival {
                    rtt: None,
                    window_counter: u8::try_from(10 * seq / 25 % 16).unwrap_or(0),
                    ..packet(seq)
                },
            )
        })
        .collect();
    let got = reports(&mut receiver, &packets, 400);
    let times: Vec<_> = got.iter().map(|(ms, ..)| *ms).collect();
    assert_eq!(times, [0, 100, 200, 300]);
    assert_eq!(receiver.poll_timeout(), None);
    let rtt = receiver.rtt().as_secs_f64();
    assert!((0.09..0.11).contains(&rtt), "{rtt}");
}
