//! The incremental history against RFC 5348 §5.1–5.4 written down plainly over the whole list of
//! arrivals.

mod bernoulli;
mod small;

use std::vec::Vec;

use proptest::prelude::*;
use tfrc_testkit::at;
use tfrc_units::{Duration, Ecn, Instant, saturating};

use super::{Change, FirstLoss, LossHistory, Seen};
use crate::config::Settings;
use crate::history::loss_event_rate;
use crate::study::{HistoryDiscounting, LossEventTiming, Stamp};

const RTT: Duration = Duration::from_millis(100);
const SEED: f64 = 50.0;

#[derive(Debug, Clone, Copy)]
struct Packet {
    seq: u64,
    at: Instant,
    marked: bool,
}

fn settings() -> Settings {
    Settings::of_study(|c| c.discounting = HistoryDiscounting::Off)
}

fn history() -> LossHistory {
    LossHistory::new(&settings())
}

/// An ordinary data packet.
fn plain(seq: u64) -> Seen {
    Seen {
        seq,
        ecn: Ecn::NotEct,
        is_data: true,
        non_data_before: 0,
        window_counter: 0,
        size: 1000,
        stamp: Stamp::NONE,
        rtt: RTT,
    }
}

fn feed(history: &mut LossHistory, packet: Packet) -> Change {
    let ecn = if packet.marked { Ecn::Ce } else { Ecn::NotEct };
    let seen = Seen { ecn, ..plain(packet.seq) };
    history.on_packet(packet.at, &seen, |_| SEED)
}

fn feed_all(history: &mut LossHistory, packets: &[(u64, u64)]) -> Vec<Change> {
    packets.iter().map(|(ms, seq)| feed(history, Packet { seq: *seq, at: at(*ms), marked: false })).collect()
}

/// Start of every loss event and the interval lengths, from the definitions.
fn naive(packets: &[Packet]) -> (Vec<u64>, Vec<f64>) {
    let Some(highest) = packets.iter().map(|p| p.seq).max() else { return (Vec::new(), Vec::new()) };
    let origin = packets.first().map_or(0, |p| p.seq);
    let mut congestion: Vec<(u64, u128)> = Vec::new();
    for seq in origin..highest {
        if packets.iter().any(|p| p.seq == seq) {
            continue;
        }
        let above = packets.iter().filter(|p| p.seq > seq).count();
        let marked_above = packets.iter().any(|p| p.marked && p.seq > seq);
        if above < 3 && !marked_above {
            continue;
        }
        let Some(after) = packets.iter().position(|p| p.seq > seq) else { continue };
        let Some(before) = packets.iter().take(after).next_back() else { continue };
        let Some(after) = packets.get(after) else { continue };
        let span = u128::from(after.at.as_nanos() - before.at.as_nanos());
        // In units of a nanosecond times the number of steps, to compare without rounding.
        let nominal = u128::from(before.at.as_nanos()) * 1_000_000
            + span * 1_000_000 * u128::from(seq - before.seq) / u128::from(after.seq - before.seq);
        congestion.push((seq, nominal));
    }
    congestion.extend(
        packets.iter().filter(|p| p.marked).map(|p| (p.seq, u128::from(p.at.as_nanos()) * 1_000_000)),
    );
    congestion.sort_unstable();
    let mut starts: Vec<(u64, u128)> = Vec::new();
    for (seq, time) in congestion {
        let rtt = u128::from(RTT.as_nanos()) * 1_000_000;
        if starts.last().is_none_or(|(_, start)| start + rtt < time) {
            starts.push((seq, time));
        }
    }
    let starts: Vec<u64> = starts.into_iter().map(|(seq, _)| seq).collect();
    let mut lengths = Vec::new();
    if let Some(last) = starts.last() {
        lengths.push(tfrc_units::f64_from_u64(highest - last + 1));
        lengths.extend(starts.windows(2).rev().map(|w| match w {
            [a, b] => tfrc_units::f64_from_u64(b - a),
            _ => 0.0,
        }));
        lengths.push(SEED);
    }
    (starts, lengths)
}

proptest! {
    /// Random losses, reordering by a few places, marks, and pauses longer than a round-trip time.
    #[test]
    fn agrees_with_the_definitions(
        steps in prop::collection::vec((0u8..100, 0u64..40, 0u8..100), 1..120),
        loss in 0u8..40,
        late in 0u8..20,
        mark in 0u8..10,
    ) {
        let mut packets = Vec::new();
        let mut held: Vec<(usize, Packet)> = Vec::new();
        let mut now = 0;
        for (i, (fate, pause, luck)) in steps.iter().enumerate() {
            now += 1 + pause;
            let seq = 1000 + wide(i);
            let marked = *luck < mark;
            if *fate < loss && i > 0 {
                continue;
            }
            if *fate < loss + late && i > 0 {
                held.push((i + 1 + usize::from(*luck) % 6, Packet { seq, at: at(0), marked: false }));
            } else {
                packets.push(Packet { seq, at: at(now), marked });
            }
            for (due, mut packet) in held.split_off(0) {
                if due <= i {
                    now += 1;
                    packet.at = at(now);
                    packets.push(packet);
                } else {
                    held.push((due, packet));
                }
            }
        }
        let config = settings().validate().map_err(|e| TestCaseError::fail(std::format!("{e}")))?;
        let mut history = history();
        for n in 1..=packets.len() {
            let so_far = packets.get(..n).unwrap_or_default();
            let Some(packet) = so_far.last() else { continue };
            prop_assert_ne!(feed(&mut history, *packet), Change::Duplicate);
            let (starts, lengths) = naive(so_far);
            prop_assert_eq!(history.loss_events(), wide(starts.len()));
            let expected = loss_event_rate(&lengths, &config);
            let got = history.loss_event_rate();
            prop_assert!((got.get() - expected.get()).abs() < 1e-12, "after {} packets: {} against {}", n, got, expected);
            prop_assert_eq!(feed(&mut history, *packet), Change::Duplicate);
        }
    }
}

/// RFC 5348 §5.1: lost when three later ones have come, not two; late ones fill the hole.
#[test]
fn three_later_packets_make_a_loss() {
    let mut h = history();
    let changes = feed_all(&mut h, &[(0, 0), (10, 2), (20, 3), (30, 4), (40, 1), (50, 5)]);
    assert_eq!(
        changes,
        [
            Change::None,
            Change::None,
            Change::None,
            Change::NewLossEvent,
            Change::LossEventRemoved,
            Change::None
        ]
    );
    assert!(h.loss_event_rate().is_zero());
    let mut h = history();
    assert_eq!(feed_all(&mut h, &[(0, 0), (10, 2), (20, 3), (30, 1), (40, 4)]), [Change::None; 5]);
    // The late 1 lies below 3 and does not count for it: only 4, 5 and 6 do.
    let mut h = history();
    assert_eq!(feed_all(&mut h, &[(0, 0), (10, 2), (20, 4), (30, 1), (40, 5)]), [Change::None; 5]);
    assert_eq!(feed_all(&mut h, &[(50, 6)]), [Change::NewLossEvent]);
}

/// RFC 5348 §5.1: what is left of a hole on either side of a late packet is still lost.
#[test]
fn a_late_packet_splits_a_hole() {
    let open = |late: &[(u64, u64)]| {
        let mut h = history();
        feed_all(&mut h, &[(0, 0), (10, 4), (20, 5), (30, 6)]);
        feed_all(&mut h, late);
        (
            h.loss_events(),
            h.loss_intervals().next().map(|i| (i.lossless_length, i.loss_length, i.data_length)),
        )
    };
    assert_eq!(open(&[]), (1, Some((3, 3, 6.0))));
    assert_eq!(open(&[(40, 2)]), (1, Some((3, 3, 6.0))), "1 and 3 are missing");
    assert_eq!(open(&[(40, 2), (50, 1)]), (1, Some((3, 1, 4.0))), "3 is");
    assert_eq!(open(&[(40, 1)]), (1, Some((3, 2, 5.0))), "2 and 3 are");
    assert_eq!(open(&[(40, 3)]), (1, Some((4, 2, 6.0))), "1 and 2 are");
    assert_eq!(open(&[(40, 2), (50, 1), (60, 3)]).0, 0);
}

/// RFC 5348 §5.2: S_before is the last packet to arrive before any above the hole, here the late 11
/// at 100 ms and not 12 at 20 ms: so 13 would have come at 120 ms, more than a round-trip time
/// after the mark at 10 ms.
#[test]
fn the_packet_before_a_hole_may_be_a_late_one() {
    let mut h = history();
    feed_all(&mut h, &[(0, 9)]);
    feed(&mut h, Packet { seq: 10, at: at(10), marked: true });
    feed_all(&mut h, &[(20, 12), (100, 11), (130, 14), (131, 15), (132, 16)]);
    assert_eq!(h.loss_events(), 2);
}

/// RFC 5348 §5.2: an event takes in what is lost or marked up to R after its first loss, that time
/// included. Packet i comes at 10·i ms, or would.
#[test]
fn a_loss_event_lasts_one_round_trip_from_its_first_loss() {
    for (hit, events) in
        [(&[10, 16, 20][..], 1), (&[10, 16, 21], 2), (&[10, 16, 21, 31], 2), (&[10, 21, 32], 3)]
    {
        let (mut lost, mut marked) = (history(), history());
        for seq in 0..50 {
            let is_hit = hit.contains(&seq);
            if !is_hit {
                feed(&mut lost, Packet { seq, at: at(10 * seq), marked: false });
            }
            feed(&mut marked, Packet { seq, at: at(10 * seq), marked: is_hit });
        }
        assert_eq!((lost.loss_events(), marked.loss_events()), (events, events), "{hit:?}");
    }
}

/// One packet each 10 ms up to `last` but for those in `lost`, with history discounting; then p.
fn discounted(last: u64, lost: impl Fn(u64) -> bool) -> f64 {
    let mut h = LossHistory::new(&Settings::default());
    for seq in (0..=last).filter(|seq| !lost(*seq)) {
        feed(&mut h, Packet { seq, at: at(10 * seq), marked: false });
    }
    h.loss_event_rate().get()
}

/// RFC 5348 §5.5 with every packet, before the loss is worked out (§6.1): eight intervals of 20,
/// then one of 60. When its end is found it has grown to 64, so DF = 40/64.
#[test]
fn discounting_goes_by_every_arrival() {
    let p = discounted(243, |seq| seq == 240 || (seq % 20 == 0 && (20..=180).contains(&seq)));
    let df = 40.0 / 64.0;
    assert!((p - (1.0 + 5.0 * df) / (60.0 + 100.0 * df)).abs() < 1e-15, "{p}");
}

/// Fifty packets lost in 500 ms, after eight intervals of 20: five events, found with one packet.
/// DF = 40/73 at the first; between the others nothing arrives, so it is back at 1.
#[test]
fn events_found_together_discount_once() {
    let p = discounted(252, |seq| (200..250).contains(&seq) || (seq % 20 == 0 && (20..=180).contains(&seq)));
    let df = 40.0 / 73.0;
    let (total, weight) = (4.0 * 11.0 + 0.8 * 20.0 + df * 1.2 * 20.0, 4.8 + df * 1.2);
    assert!((p - weight / total).abs() < 1e-15, "{p}");
}

/// RFC 5348 §5.4: n closed intervals and the open one.
#[test]
fn nine_intervals_are_kept() {
    let mut h = history();
    for seq in (0..1000).filter(|seq| seq % 20 != 10) {
        feed(&mut h, Packet { seq, at: at(10 * seq), marked: false });
    }
    assert_eq!((h.loss_events(), h.loss_intervals().count()), (50, 9));
}

/// subtle-points, §5.1: n−1, n+1, then n+2 marked: the event begins at the missing n when the mark
/// comes.
#[test]
fn a_mark_makes_holes_before_it_count_at_once() {
    let mut h = history();
    feed_all(&mut h, &[(0, 10), (20, 12)]);
    assert_eq!(feed(&mut h, Packet { seq: 13, at: at(30), marked: true }), Change::NewLossEvent);
    assert_eq!(h.loss_events(), 1, "the mark lies within a round-trip time of the missing packet");
    let intervals: Vec<_> = h.loss_intervals().collect();
    assert_eq!(
        intervals.first().map(|i| (i.lossless_length, i.loss_length, i.data_length)),
        Some((0, 3, 3.0))
    );

    let mut h = history();
    feed_all(&mut h, &[(0, 10), (20, 12)]);
    feed(&mut h, Packet { seq: 13, at: at(120), marked: true });
    assert_eq!(h.loss_events(), 2, "more than a round-trip time after the missing packet's nominal arrival");
}

/// RFC 5348 §5.3: a single marked packet is an interval of one.
#[test]
fn a_single_mark_is_an_interval_of_one() {
    let mut h = history();
    feed_all(&mut h, &[(0, 0), (10, 1)]);
    feed(&mut h, Packet { seq: 2, at: at(20), marked: true });
    assert_eq!(h.loss_intervals().next().map(|i| i.data_length), Some(1.0));
}

/// RFC 5348 §5.2: a run of losses that lasts longer than a round-trip time is several events. 1000
/// packets in 1 s: nominal times 1 ms apart, so an event every 101 packets.
#[test]
fn a_long_outage_is_several_events() {
    let mut h = history();
    feed_all(&mut h, &[(0, 0), (1000, 1000), (1001, 1001), (1002, 1002)]);
    assert_eq!(h.loss_events(), 10);
    assert_eq!(h.loss_intervals().nth(1).map(|i| (i.data_length, i.loss_length)), Some((101.0, 101)));
}

/// An outage so long that only the intervals kept are worked through: the work is bounded, the
/// count is right.
#[test]
fn a_huge_outage_takes_bounded_work() {
    let mut h = history();
    let far = 10_000_000_000;
    feed_all(&mut h, &[(0, 0), (far / 1000, far), (far / 1000 + 1, far + 1), (far / 1000 + 2, far + 2)]);
    // A packet a microsecond: an event every 100,001 packets.
    assert_eq!(h.loss_events(), (far - 2) / 100_001 + 1);
    assert_eq!(h.loss_intervals().nth(1).map(|i| i.data_length), Some(100_001.0));
    assert_eq!(h.loss_intervals().nth(8).map(|i| i.data_length), Some(100_001.0));
}

/// RFC 4342 §10.2: by the window counter, losses are one event until the counter has gone on by
/// more than four.
#[test]
fn loss_events_by_the_window_counter() {
    let events = |counters: &[u8]| {
        let settings = Settings::of_study(|c| c.loss_event_timing = LossEventTiming::WindowCounter);
        let mut h = LossHistory::new(&settings);
        for (i, counter) in counters.iter().enumerate() {
            // Every second packet is lost.
            let seen = Seen { window_counter: *counter, ..plain(2 * wide(i)) };
            h.on_packet(at(0), &seen, |_| SEED);
        }
        h.loss_events()
    };
    assert_eq!(events(&[0, 1, 2, 3, 4, 4, 4, 4]), 1);
    assert_eq!(events(&[0, 1, 2, 3, 4, 5, 5, 5, 5]), 2);
    assert_eq!(events(&[14, 15, 0, 1, 2, 3, 3, 3, 3]), 2, "circular");
}

/// RFC 4342 §6.1.1: packets without data do not count, neither received nor known to be missing.
#[test]
fn packets_without_data_do_not_count() {
    let mut h = history();
    let mut feed = |ms, seq, is_data, non_data_before| {
        let seen = Seen { is_data, non_data_before, ..plain(seq) };
        h.on_packet(at(ms), &seen, |_| SEED)
    };
    feed(0, 0, true, 0);
    // 1 and 2 are missing, but both are known to carry no data.
    assert_eq!(feed(10, 3, true, 2), Change::None);
    // 4 (data) and 5 (no data) are missing.
    feed(20, 6, true, 1);
    feed(30, 7, false, 0);
    assert_eq!(feed(40, 8, true, 1), Change::NewLossEvent);
    let open = h.loss_intervals().next();
    assert_eq!(open.map(|i| (i.lossless_length, i.loss_length, i.data_length)), Some((4, 1, 3.0)));
    assert_eq!(h.loss_intervals().nth(1).map(|i| (i.lossless_length, i.data_length)), Some((4, SEED)));
}

/// RFC 5348 §6.3.1: the loss of the very first packet is recognised.
#[test]
fn the_first_packet_may_be_the_lost_one() {
    let mut h = history();
    h.expect(at(0), 5);
    let mut asked = Vec::new();
    for seq in 6..10 {
        h.on_packet(at(seq), &plain(seq), |first| {
            asked.push(first);
            4.84
        });
    }
    assert_eq!(asked, [FirstLoss::FirstPacket]);
    assert_eq!(h.loss_intervals().nth(1).map(|i| i.lossless_length), Some(0));
}

/// Holes that never fill do not pile up: the oldest are decided for good.
#[test]
fn memory_is_bounded() {
    let mut h = history();
    for i in 0..100_000 {
        feed(&mut h, Packet { seq: 2 * i, at: at(200 * i), marked: false });
    }
    assert_eq!(h.loss_events(), 100_000 - 3);
    assert_eq!(feed(&mut h, Packet { seq: 1, at: at(20_000_001), marked: false }), Change::Duplicate);
    // Every other packet lost, and six since the last loss that is certain: I_tot0 = 6 + 2·5 over
    // 6.
    assert_eq!(h.loss_event_rate().get(), 6.0 / 16.0);
}

fn wide(x: usize) -> u64 {
    saturating::<u64>(x)
}
