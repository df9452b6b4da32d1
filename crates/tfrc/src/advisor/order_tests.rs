//! Reports that overtake each other: the loss history is the one of the same reports in order.

use super::*;
use crate::history::LossInterval;
use proptest::prelude::*;
use std::vec::Vec;
use tfrc_testkit::at;

const R: Duration = Duration::from_millis(50);
const SIZE: u32 = 1000;

/// A report on the packets `first..end`, of which some have come.
#[derive(Debug, Clone)]
struct PacketReport {
    first: u64,
    end: u64,
    came: Vec<u64>,
}

/// Packets 1, 2, 3…, one every 10 ms, 40 ms on their way, in reports on `sizes` packets each; a
/// packet of `lost` has not come.
fn reports(sizes: &[u64], lost: &[bool]) -> Vec<PacketReport> {
    let mut first = 1;
    let lost = |id: u64| lost.iter().cycle().nth(usize::try_from(id).expect("few")) == Some(&true);
    let report = |size: &u64| {
        let end = first + size;
        let came = (first..end).filter(|id| !lost(*id)).collect();
        let report = PacketReport { first, end, came };
        first = end;
        report
    };
    sizes.iter().map(report).collect()
}

/// An advisor that gets these reports in this order, one each `gap` ms, with the calls that an
/// adapter makes: what lies between the end of all before and a report is unreported.
fn told<const N: usize>(reports: &[PacketReport]) -> Advisor<N> {
    let mut advisor = Advisor::<N>::with_capacity(&Config::default(), Duration::ZERO);
    let last = reports.iter().map(|report| report.end).max().unwrap_or(1);
    let mut sent = 1;
    let (mut now, mut expected) = (Instant::ZERO, 1);
    for report in reports {
        // All of the report's packets have left 90 ms before.
        now = now.max(at(10 * report.end + 90));
        while sent < last && at(10 * sent) <= now {
            advisor.on_sent(at(10 * sent), sent, SIZE);
            sent += 1;
        }
        if expected < report.first {
            advisor.on_unreported(expected, report.first - 1);
        }
        advisor.on_covered(report.first, report.end - 1);
        expected = expected.max(report.end);
        for id in &report.came {
            let ack = Ack { id: *id, arrived_at: Some(at(10 * id + 40)), ecn: Ecn::NotEct };
            assert_eq!(advisor.on_acked(ack), Taken::New);
        }
        advisor.on_report(now, Hold::RoundTrip(R));
        now += Duration::from_millis(1);
    }
    advisor
}

fn intervals<const N: usize>(advisor: &Advisor<N>) -> Vec<LossInterval> {
    advisor.receiver.loss_intervals().collect()
}

/// True if both have the same loss events and intervals; the length of the first interval, which is
/// that of the receive rate when the first loss was found, aside.
fn alike<const N: usize>(a: &Advisor<N>, b: &Advisor<N>) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.loss_events(), b.loss_events());
    let (mut a, mut b) = (intervals(a), intervals(b));
    for intervals in [&mut a, &mut b] {
        if let Some(first) = intervals.last_mut() {
            first.data_length = 0.0;
        }
    }
    prop_assert_eq!(a, b);
    Ok(())
}

/// The order of the reports: each goes up to four places further back than it was.
fn disorder(reports: &[PacketReport], delays: &[usize]) -> Vec<PacketReport> {
    let mut places: Vec<_> = reports.iter().zip(delays.iter().cycle()).enumerate().collect();
    places.sort_by_key(|(place, (_, delay))| place + **delay);
    let mut all: Vec<_> = places.into_iter().map(|(_, (report, _))| report.clone()).collect();
    // The last one in order ends all, and three packets of it show each loss.
    let newest = reports.iter().map(|report| report.end).max().unwrap_or(1);
    all.push(PacketReport { first: newest, end: newest + 5, came: (newest..newest + 5).collect() });
    all
}

proptest! {
    #[test]
    fn overtaken_reports_give_the_losses_of_reports_in_order(
        sizes in prop::collection::vec(1u64..9, 1..60),
        lost in prop::collection::vec(prop::bool::weighted(0.15), 40..300),
        delays in prop::collection::vec(0usize..5, 1..20),
    ) {
        let reports = reports(&sizes, &lost);
        let in_order = told::<1024>(&disorder(&reports, &[0]));
        let overtaken = told::<1024>(&disorder(&reports, &delays));
        alike(&in_order, &overtaken)?;
        prop_assert!(overtaken.checkpoint.is_none(), "nothing is unreported");
    }

    /// Some reports are lost: their packets are in no interval, and the others' order is no matter.
    #[test]
    fn lost_reports_among_overtaken_ones(
        sizes in prop::collection::vec(1u64..9, 1..60),
        lost in prop::collection::vec(prop::bool::weighted(0.15), 40..300),
        missing in prop::collection::vec(prop::bool::weighted(0.2), 1..30),
        delays in prop::collection::vec(0usize..5, 1..20),
    ) {
        let mut missing = missing.into_iter().cycle();
        let reports: Vec<_> =
            reports(&sizes, &lost).into_iter().filter(|_| missing.next() == Some(false)).collect();
        let in_order = told::<1024>(&disorder(&reports, &[0]));
        let overtaken = told::<1024>(&disorder(&reports, &delays));
        alike(&in_order, &overtaken)?;
    }

    /// A record so small that packets are forgotten while reports on them are late.
    #[test]
    fn a_small_record_does_no_harm(
        sizes in prop::collection::vec(1u64..9, 1..60),
        lost in prop::collection::vec(prop::bool::weighted(0.15), 40..300),
        delays in prop::collection::vec(0usize..5, 1..20),
    ) {
        let reports = disorder(&reports(&sizes, &lost), &delays);
        let mut advisor = Advisor::<16>::with_capacity(&Config::default(), Duration::ZERO);
        let mut sent = 1;
        for (report, n) in reports.iter().zip(1u64..) {
            let now = at(10 * report.end + 90 + n);
            while sent < report.end {
                advisor.on_sent(at(10 * sent), sent, SIZE);
                sent += 1;
            }
            advisor.on_unreported(1, report.first.saturating_sub(1));
            advisor.on_covered(report.first, report.end - 1);
            for id in &report.came {
                advisor.on_acked(Ack { id: *id, arrived_at: Some(at(10 * id + 40)), ecn: Ecn::NotEct });
            }
            advisor.on_report(now, Hold::RoundTrip(R));
            prop_assert!(advisor.loss_event_rate().get() <= 1.0);
        }
    }
}

/// Every 20th packet is lost, and of each two reports the second comes first: p is 1/20 after each
/// pair, and never off by more than the packets of a report.
#[test]
fn swapped_pairs_have_the_loss_event_rate_of_order() {
    let lost: Vec<bool> = (0..20).map(|n| n == 7).collect();
    let mut reports = reports(&[10; 100], &lost);
    for pair in reports.chunks_mut(2) {
        pair.reverse();
    }
    let (even, odd) = (told::<1024>(&reports), told::<1024>(reports.get(..99).expect("a hundred")));
    for (advisor, low, high) in [(even, 0.05, 0.05), (odd, 0.045, 0.055)] {
        let p = advisor.loss_event_rate().get();
        assert!((low - 1e-9..=high + 1e-9).contains(&p), "{p}");
    }
}
