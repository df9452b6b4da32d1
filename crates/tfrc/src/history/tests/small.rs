//! Loss events by times of sending, the losses of each interval, and TFRC-SP's intervals against
//! RFC 4828 §3 written plainly.

use std::vec::Vec;

use proptest::prelude::*;
use tfrc_testkit::at;
use tfrc_units::{Duration, Ecn, f64_from_u64, saturating};

use super::{SEED, plain};
use crate::config::{PacketSize, Settings, TfrcSp};
use crate::history::{LossHistory, ReportedInterval, Seen, loss_event_rate_of};
use crate::study::{HistoryDiscounting, LossEventTiming, ShortIntervals, Stamp};

fn history(change: impl FnOnce(&mut Settings)) -> LossHistory {
    let mut settings = Settings::default();
    change(&mut settings);
    LossHistory::new(&settings)
}

/// Loss events when packets (sent at ms, arrived at ms, sequence number, round) come in.
fn events(timing: LossEventTiming, packets: &[(u64, u64, u64, u32)]) -> u64 {
    let mut history = history(|s| {
        s.algorithm.choices_mut().loss_event_timing = timing;
        s.algorithm.choices_mut().lost_after = 1;
    });
    for (sent, arrived, seq, round) in packets {
        // The sender's clock is an hour ahead.
        let sent_at = Some(at(*sent) + Duration::from_secs(3600));
        let stamp = Stamp { sent_at, round: *round, ..Stamp::NONE };
        let seen = Seen { stamp, ..plain(*seq) };
        history.on_packet(at(*arrived), &seen, |_| SEED);
    }
    history.loss_events()
}

/// Two losses 90 ms apart when sent, 110 ms when they would have arrived, and the other way round.
#[test]
fn the_time_of_sending_or_of_arrival() {
    let queue_grows = [(0, 50, 0, 0), (20, 70, 2, 0), (90, 160, 9, 0), (110, 180, 11, 0)];
    // Losses at sequence numbers 1 and 10 among those between.
    let fill = |packets: &[(u64, u64, u64, u32)]| {
        let mut all = Vec::new();
        for pair in packets.windows(2) {
            let [a, b] = pair else { continue };
            all.push(*a);
            if b.2 - a.2 > 2 {
                all.extend((a.2 + 1..b.2).map(|seq| (a.0 + seq - a.2, a.1 + seq - a.2, seq, 0)));
            }
        }
        all.extend(packets.last());
        all
    };
    let grows = fill(&queue_grows);
    assert_eq!(events(LossEventTiming::SenderTime, &grows), 1);
    assert_eq!(events(LossEventTiming::ArrivalTime, &grows), 2);
    let drains = fill(&[(0, 80, 0, 0), (20, 100, 2, 0), (110, 170, 9, 0), (130, 190, 11, 0)]);
    assert_eq!(events(LossEventTiming::SenderTime, &drains), 2);
    assert_eq!(events(LossEventTiming::ArrivalTime, &drains), 1);
}

/// Later than a round-trip time is not enough where the sender must have taken in a report.
#[test]
fn a_loss_event_needs_a_new_round() {
    let packets =
        |round| [(0, 50, 0, 0), (20, 70, 2, 3), (200, 250, 3, 3), (220, 270, 5, round), (430, 480, 7, 5)];
    assert_eq!(events(LossEventTiming::SenderTimeAndRound, &packets(3)), 2);
    assert_eq!(events(LossEventTiming::SenderTimeAndRound, &packets(4)), 3);
    assert_eq!(events(LossEventTiming::SenderTime, &packets(3)), 3);
    // A hole of ten round-trip times is found in one round.
    let hole = [(0, 50, 0, 0), (1000, 1050, 1000, 1), (1001, 1051, 1001, 1)];
    assert_eq!(events(LossEventTiming::SenderTimeAndRound, &hole), 1);
    assert_eq!(events(LossEventTiming::SenderTime, &hole), 10);
}

/// A packet without a timestamp is taken to have come as fast as the one before it.
#[test]
fn a_missing_timestamp_is_made_up_for() {
    let mut history = history(|s| s.algorithm.choices_mut().loss_event_timing = LossEventTiming::SenderTime);
    let stamp = Stamp::sent_at(at(1_000_000));
    history.on_packet(at(0), &Seen { stamp, ..plain(0) }, |_| SEED);
    for (ms, seq) in [(20, 2), (90, 9), (110, 11), (111, 12), (112, 13), (113, 14)] {
        history.on_packet(at(ms), &plain(seq), |_| SEED);
    }
    assert_eq!(history.loss_events(), 1, "1, 3 to 8 and 10 are lost within 90 ms");
    assert_eq!(history.highest(), Some((14, at(113))), "reports go by arrival");
}

/// RFC 5622 §8.7.1: the Drop Counts of the example, 1, 4, 1 and 0 (RFC 4342 §8.6.2 has the
/// sequence).
#[test]
fn losses_of_the_example_of_rfc_5622() {
    let lost = [10, 19, 20, 21, 23, 32, 43];
    let mut history = history(|s| s.algorithm.choices_mut().lost_after = 3);
    for seq in (0..45).filter(|seq| !lost.contains(seq)) {
        // Six packets in each round-trip time.
        history.on_packet(at(seq * 16), &plain(seq), |_| SEED);
    }
    let intervals: Vec<_> = history.loss_intervals().collect();
    let counts: Vec<_> = intervals.iter().map(|i| (i.lossless_length, i.loss_length, i.lost)).collect();
    assert_eq!(counts, [(10, 1, 1), (8, 5, 4), (8, 1, 1), (10, 0, 0)]);
    assert_eq!(history.skip_length(), 2);
}

/// A hole of any length is split into intervals that are lost as a whole.
#[test]
fn losses_of_a_long_hole() {
    let mut history = history(|_| ());
    for (ms, seq) in [(0, 0), (1_000_000, 1_000_000), (1_000_001, 1_000_001), (1_000_002, 1_000_002)] {
        history.on_packet(at(ms), &plain(seq), |_| SEED);
    }
    let closed: Vec<_> = history.loss_intervals().skip(1).collect();
    assert_eq!(closed.len(), 8);
    assert!(closed.iter().all(|i| (i.loss_length, i.lost, i.lossless_length) == (101, 101, 0)), "{closed:?}");
    assert_eq!(history.loss_events(), 999_999u64.div_ceil(101));
}

/// A millisecond in units so small that comparing nominal arrival times does not suffer from
/// rounding.
const MS: u64 = 1_000_000_000;

/// Lengths, losses and durations from the definitions, newest first: `lost` are missing or marked
/// packets with their nominal arrival times, nothing comes late.
fn naive(lost: &[(u64, u64)], highest: (u64, u64)) -> Vec<ReportedInterval> {
    let mut starts: Vec<(u64, u64, u64)> = Vec::new();
    for (seq, time) in lost {
        match starts.last_mut() {
            Some((_, start, count)) if *start + 100 * MS >= *time => *count += 1,
            _ => starts.push((*seq, *time, 1)),
        }
    }
    let mut intervals = Vec::new();
    let (mut end, mut end_time) = (highest.0 + 1, highest.1);
    for (seq, time, lost) in starts.iter().rev() {
        let round_trips = f64_from_u64(end_time - time) / f64_from_u64(100 * MS);
        intervals.push(ReportedInterval { length: f64_from_u64(end - seq), lost: *lost, round_trips });
        (end, end_time) = (*seq, *time);
    }
    if !intervals.is_empty() {
        intervals.push(ReportedInterval { length: SEED, lost: 1, round_trips: f64::INFINITY });
    }
    intervals
}

proptest! {
    /// Both forms of TFRC-SP's loss intervals on random losses and marks: the incremental history
    /// against the plain one.
    #[test]
    fn tfrc_sp_agrees_with_the_definitions(
        steps in prop::collection::vec((0u8..100, 1u64..30, 0u8..100), 20..150),
        loss in 1u8..60,
        mark in 0u8..20,
        graded: bool,
    ) {
        let short_intervals = if graded { ShortIntervals::Graded } else { ShortIntervals::TwoRoundTrips };
        let packet_size = PacketSize::TfrcSp(TfrcSp { short_intervals, ..TfrcSp::default() });
        let settings = Settings {
            packet_size,
            ..Settings::of_study(|c| {
                c.lost_after = 1;
                c.discounting = HistoryDiscounting::Off;
            })
        };
        let config = settings.validate().map_err(|e| TestCaseError::fail(std::format!("{e}")))?;
        let mut history = LossHistory::new(&settings);
        let mut lost = Vec::new();
        let (mut now, mut before) = (0u64, (0u64, 0u64));
        for (i, (fate, pause, luck)) in steps.iter().enumerate() {
            let seq = saturating::<u64>(i);
            now += pause;
            if *fate < loss && i > 0 {
                continue;
            }
            let gap = seq - before.0;
            for k in 1..gap {
                lost.push((before.0 + k, before.1 * MS + (now - before.1) * MS * k / gap));
            }
            let marked = *luck < mark;
            if marked {
                lost.push((seq, now * MS));
            }
            before = (seq, now);
            let ecn = if marked { Ecn::Ce } else { Ecn::NotEct };
            history.on_packet(at(now), &Seen { ecn, ..plain(seq) }, |_| SEED);
            let expected = naive(&lost, (seq, now * MS));
            let (got, wanted) = (history.loss_event_rate().get(), loss_event_rate_of(&expected, &config).get());
            prop_assert!((got - wanted).abs() < 1e-9, "after {seq}: {got}, plainly {wanted}");
            let counts: Vec<_> = history.loss_intervals().map(|i| i.lost).take(expected.len().saturating_sub(1)).collect();
            let plainly: Vec<_> = expected.iter().map(|i| i.lost).take(counts.len().min(9)).collect();
            prop_assert_eq!(counts, plainly);
        }
    }
}
