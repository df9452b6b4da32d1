//! The fraction of packets lost, as RFC 8083 §4.3 and RFC 3714 §5 take it: of packets, not of loss
//! events.
//!
//! A sender that ignores congestion has about one loss event in each round-trip time whatever it
//! loses, so TFRC's loss event rate does not show it. The fraction comes from the report's
//! [`PacketCount`]. It is compared with the sender's own record: bytes sent between the newest
//! packets of two reports, and X_recv times the time between those reports. Where a report in
//! between has been lost, X_recv covers only the last round-trip time, and the rest counts as
//! received.

use tfrc_units::{Duration, Instant, f64_from_u64};

use crate::count::{Counted, PacketCount};
use crate::guard::Heard;
use crate::ring::Ring;

/// The record counts only beyond this loss: X_recv is measured over other
/// packets than those sent between two reports, and a burst at either end makes a difference.
const SLACK: f64 = 0.1;
/// Tallies kept: four round-trip times of them.
const TALLIES: usize = 32;
const TALLIES_PER_RTT: u64 = 8;

/// Sums over the reports of a stretch of time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums {
    /// Packets that the counts cover, and the bounds of those lost.
    packets: f64,
    least: f64,
    most: f64,
    /// Bytes sent, and bytes received by X_recv.
    sent: f64,
    received: f64,
    /// p times the seconds it stood for.
    weighted_p: f64,
    seconds: f64,
}

impl Sums {
    pub(crate) fn add(&mut self, more: Self) {
        self.packets += more.packets;
        self.least += more.least;
        self.most += more.most;
        self.sent += more.sent;
        self.received += more.received;
        self.weighted_p += more.weighted_p;
        self.seconds += more.seconds;
    }

    /// The fraction lost, from 0 to 1. Without counts the loss event rate stands for it, which is
    /// no larger. A report that denies losses does not hide them while X_recv shows them: more than
    /// a tenth below the record, the record counts.
    pub(crate) fn fraction(self) -> f64 {
        let missing = if self.sent > 0.0 { 1.0 - self.received / self.sent } else { 0.0 };
        let told = if self.packets > 0.0 {
            (missing * self.packets).min(self.most).max(self.least) / self.packets
        } else if self.seconds > 0.0 {
            self.weighted_p / self.seconds
        } else {
            0.0
        };
        told.max(missing - SLACK).clamp(0.0, 1.0)
    }
}

/// The record of the sender, and what the last report said.
#[derive(Debug, Clone)]
pub(crate) struct SenderRecord {
    bytes: u64,
    /// Oldest first.
    tallies: Ring<Tally, TALLIES>,
    spacing: Duration,
    first_sent: Option<Instant>,
    last_heard: Option<Instant>,
    /// The tally of the newest packet of the last report; `None` if the tallies do not reach back
    /// to it.
    covered: Option<Tally>,
    /// The counts up to the last report; `None` if that came from a slow receiver.
    counted: Option<Counted>,
}

/// Bytes that had been sent by a time.
#[derive(Debug, Clone, Copy)]
struct Tally {
    at: Instant,
    bytes: u64,
}

impl SenderRecord {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: 0,
            tallies: Ring::new(),
            spacing: Duration::ZERO,
            first_sent: None,
            last_heard: None,
            covered: None,
            counted: Some(Counted { packets: 0.0, least: 0.0, most: 0.0 }),
        }
    }

    pub(crate) fn on_sent(&mut self, now: Instant, size: u32) {
        self.first_sent.get_or_insert(now);
        self.bytes = self.bytes.saturating_add(u64::from(size));
        if self.tallies.last().is_none_or(|last| now.saturating_since(last.at) >= self.spacing) {
            self.tallies.push(Tally { at: now, bytes: self.bytes });
        }
    }

    /// The part of the sums that this report adds: nothing if it is that of a slow receiver.
    pub(crate) fn on_feedback(&mut self, now: Instant, heard: &Heard) -> Sums {
        let since = self.last_heard.or(self.first_sent).unwrap_or(now);
        let passed = now.saturating_since(since);
        let seconds = passed.as_secs_f64();
        let mut sums = Sums { weighted_p: heard.p.get() * seconds, seconds, ..Sums::default() };
        let covered = self.by(heard.newest_sent_at);
        if let Some((sent, received)) = self.sent_and_received(passed, covered, heard) {
            (sums.sent, sums.received) = (sent, received);
        }
        let counted = heard.count.counted();
        if let (Some(before), Some(after)) = (self.counted, counted)
            && after.packets >= before.packets
        {
            sums.packets = after.packets - before.packets;
            sums.least = after.least - before.least;
            sums.most = after.most - before.most;
        }
        self.last_heard = Some(now);
        self.spacing = heard.rtt / TALLIES_PER_RTT;
        self.covered = covered;
        if heard.count == PacketCount::SlowReceiver {
            self.counted = None;
            return Sums::default();
        }
        self.counted = counted.or(self.counted);
        sums
    }

    /// Bytes sent between the newest packets of two reports, and how many of them arrived, as
    /// X_recv shows. With a report in each round-trip time X_recv covers the time between both.
    /// After a longer silence reports have been lost, or little was sent: X_recv then covers the
    /// last round-trip time, and what was sent before that counts as received.
    fn sent_and_received(
        &self,
        passed: Duration,
        covered: Option<Tally>,
        heard: &Heard,
    ) -> Option<(f64, f64)> {
        let (before, covered) = (self.covered?, covered?);
        let sent = f64_from_u64(covered.bytes.saturating_sub(before.bytes));
        let received = |time: Duration| heard.receive_rate.bytes_per_sec() * time.as_secs_f64();
        if passed <= heard.rtt + heard.rtt / 2 {
            return Some((sent, received(passed)));
        }
        let start = Instant::from_nanos(covered.at.as_nanos().saturating_sub(heard.rtt.as_nanos()));
        let start = self.by(start)?;
        let over = covered.at.saturating_since(start.at).as_secs_f64();
        if over <= 0.0 {
            return None;
        }
        let bytes = f64_from_u64(covered.bytes.saturating_sub(start.bytes));
        let missing = bytes * heard.rtt.as_secs_f64() / over - received(heard.rtt);
        Some((sent, sent - missing))
    }

    /// The newest tally not after `at`.
    fn by(&self, at: Instant) -> Option<Tally> {
        self.tallies.iter().rev().find(|tally| tally.at <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::PacketCount;
    use tfrc_testkit::at;
    use tfrc_units::{Probability, Rate};

    const RTT: Duration = Duration::from_millis(100);

    /// Ten packets of 1000 bytes in each of fifty round-trip times, of which the report says
    /// `count`.
    fn fraction(received: f64, p: f64, count: impl Fn(u64) -> PacketCount) -> f64 {
        let (mut record, mut sums) = (SenderRecord::new(), Sums::default());
        for round in 0..50 {
            for packet in 0..10 {
                record.on_sent(at(round * 100 + packet * 10), 1000);
            }
            let heard = Heard {
                newest_sent_at: at(round * 100 + 90),
                p: Probability::saturating(p),
                receive_rate: Rate::of(received * 10_000.0, RTT),
                count: count((round + 1) * 10),
                rtt: RTT,
                segment: 1000.0,
            };
            sums.add(record.on_feedback(at(round * 100 + 99), &heard));
        }
        sums.fraction()
    }

    /// Three of ten packets are lost, in one loss event for each ten.
    #[test]
    fn counts_are_of_packets() {
        let exact = |packets| PacketCount::Exact { packets, lost: packets * 3 / 10 };
        assert!((fraction(0.7, 0.1, exact) - 0.3).abs() < 1e-9);
        // Two to six of ten: the record says which.
        let within =
            |packets: u64| PacketCount::Within { packets, least: packets / 5, most: packets * 3 / 5 };
        assert!((fraction(0.7, 0.1, within) - 0.3).abs() < 1e-9);
        assert!((fraction(1.5, 0.1, within) - 0.2).abs() < 1e-9);
        assert!((fraction(0.35, 0.1, within) - 0.6).abs() < 1e-9);
    }

    #[test]
    fn the_record_counts_beyond_a_tenth() {
        let none = |packets| PacketCount::Exact { packets, lost: 0 };
        assert_eq!(fraction(0.91, 0.0, none), 0.0);
        assert!((fraction(0.5, 0.0, none) - 0.4).abs() < 1e-9);
        assert!((fraction(0.5, 0.02, |_| PacketCount::Unknown) - 0.4).abs() < 1e-9);
        assert!((fraction(1.0, 0.02, |_| PacketCount::Unknown) - 0.02).abs() < 1e-9);
        assert_eq!(fraction(2.0, 0.0, |_| PacketCount::Unknown), 0.0, "more than was sent");
    }

    /// Only reports are lost: in a round-trip time two packets are sent or twenty, in turns of
    /// three, and X_recv is that of the last one. With half of the packets lost too, reports show
    /// it, less a tenth, for the round-trip times that they cover.
    #[test]
    fn reports_may_be_lost() {
        let fraction = |arriving: f64, kept: &dyn Fn(u64) -> bool| {
            let (mut record, mut sums) = (SenderRecord::new(), Sums::default());
            for round in 0..600 {
                let packets = if round / 3 % 2 == 0 { 2 } else { 20 };
                for packet in 0..packets {
                    record.on_sent(at(round * 100 + packet * 100 / packets), 1000);
                }
                if !kept(round) {
                    continue;
                }
                let heard = Heard {
                    newest_sent_at: at(round * 100 + 99),
                    p: Probability::ZERO,
                    receive_rate: Rate::of(arriving * f64_from_u64(packets) * 1000.0, RTT),
                    count: PacketCount::Unknown,
                    rtt: RTT,
                    segment: 1000.0,
                };
                sums.add(record.on_feedback(at(round * 100 + 149), &heard));
            }
            sums.fraction()
        };
        // The last one keeps reports at the low rate only.
        let kept: [&dyn Fn(u64) -> bool; 3] = [&|_| true, &|n| n % 3 == 0, &|n| n % 6 == 1];
        let lost: [f64; 3] = kept.map(|kept| fraction(1.0, kept));
        assert_eq!(lost, [0.0; 3]);
        let [all, third, _] = kept.map(|kept| fraction(0.5, kept));
        assert!((0.38..0.42).contains(&all) && (0.05..0.2).contains(&third), "{all} {third}");
    }

    /// Counts that go back, lost packets that outnumber those sent, packets found again: never
    /// below 0 nor above 1.
    #[test]
    fn nonsense_stays_a_fraction() {
        for count in [
            |packets| PacketCount::Exact { packets, lost: u64::MAX },
            |packets| PacketCount::Exact { packets: 1000 - packets, lost: packets },
            |packets| PacketCount::Exact { packets, lost: (1000 - packets) / 3 },
            |packets| PacketCount::Within { packets, least: packets * 2, most: packets % 7 },
        ] {
            let fraction = fraction(0.7, 1.0, count);
            assert!((0.0..=1.0).contains(&fraction), "{fraction}");
        }
    }
}
