//! The receive rate X_recv (RFC 5348 §6.2 step 2).

use tfrc_units::{Duration, Instant, Rate, f64_from_u64, saturating};

use crate::ring::Ring;
use crate::study::ReceiveRateWindow;

/// A time, and what was received by then.
#[derive(Debug, Clone, Copy)]
struct ReceivedBy {
    at: Instant,
    bytes: u64,
}

/// Arrivals close to each other.
#[derive(Debug, Clone, Copy)]
struct ArrivalGroup {
    first: Instant,
    /// Bytes that came before the first one.
    before: u64,
    /// Nanoseconds from the first to the last one.
    lasted: u32,
    /// None while there has been no arrival at all.
    packets: u32,
}

/// Arrivals within the measured time from which on one packet more or less makes no more than a
/// twentieth.
const MANY: u64 = 20;

/// Bytes received in a time that ends now.
#[derive(Debug, Clone, Copy)]
enum ReceivedAmount {
    Exactly(f64),
    /// A group began before that time and ended in it. Its packets are taken to have come evenly:
    /// one more or less may have come in that time.
    OfMany(f64),
    /// As above, with few enough packets that one makes a difference.
    OfFew(f64),
}

/// A report is a little late while it is so by no more than this part of a round-trip time.
const LATE: u64 = 4;

/// A group lasts for less than this part of a round-trip time.
const RESOLUTION: u64 = 14;

/// Measures over the last round-trip time, as far as that is known. Otherwise, and where a regular
/// report is a little late, measures since the newest expiration of the feedback timer that is at
/// least a round-trip time ago, as RFC 5348 §6.2 allows.
// In the order of use.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct ReceiveRate {
    bytes: u64,
    packets: u64,
    /// The group that the next arrival joins, before `closes`.
    newest: ArrivalGroup,
    closes: Instant,
    /// The groups before it, oldest first.
    groups: Ring<ArrivalGroup, 15>,
    expirations: Ring<ReceivedBy, 8>,
    maximum: Rate,
    window: ReceiveRateWindow,
    reported: Option<ReceivedBy>,
}

impl ReceiveRate {
    pub(crate) const fn new(window: ReceiveRateWindow) -> Self {
        Self {
            bytes: 0,
            packets: 0,
            newest: ArrivalGroup { first: Instant::ZERO, before: 0, lasted: 0, packets: 0 },
            closes: Instant::ZERO,
            groups: Ring::new(),
            expirations: Ring::new(),
            maximum: Rate::ZERO,
            window,
            reported: None,
        }
    }

    /// Reads from each cache line or so.
    #[inline(always)]
    pub(crate) fn touch(&self) -> u64 {
        self.bytes ^ self.newest.before ^ self.closes.as_nanos() ^ saturating::<u64>(self.groups.len())
    }

    /// Reads where the next arrival will be kept.
    #[inline(always)]
    pub(crate) fn touch_below(&self) -> u64 {
        self.groups.get(self.groups.len().saturating_sub(1)).map_or(0, |group| group.before)
    }

    /// `size` bytes of data have come while the round-trip time was `rtt`.
    #[inline]
    pub(crate) fn on_data(&mut self, now: Instant, size: u32, rtt: Duration) {
        if now < self.closes {
            let lasted = now.saturating_since(self.newest.first).as_nanos();
            self.newest.lasted = saturating::<u32>(lasted);
            self.newest.packets = self.newest.packets.saturating_add(1);
        } else {
            self.begin_group(now, rtt);
        }
        self.bytes += u64::from(size);
        self.packets += 1;
    }

    fn begin_group(&mut self, now: Instant, rtt: Duration) {
        if self.newest.packets > 0 {
            self.groups.push(self.newest);
        }
        self.newest = ArrivalGroup { first: now, before: self.bytes, lasted: 0, packets: 1 };
        self.closes = now + rtt / RESOLUTION;
    }

    const fn tally(&self, now: Instant) -> ReceivedBy {
        ReceivedBy { at: now, bytes: self.bytes }
    }

    /// The feedback timer expired, for its time or early.
    pub(crate) fn on_expiration(&mut self, now: Instant) {
        self.expirations.push(self.tally(now));
    }

    /// A report has been made.
    pub(crate) const fn on_report(&mut self, now: Instant) {
        self.reported = Some(self.tally(now));
    }

    /// X_recv over the last `rtt`, or since the last report.
    pub(crate) fn measure(&mut self, now: Instant, rtt: Duration) -> Rate {
        let rate = match self.reported {
            Some(report) if self.window.reaches_back_to(report.at, now, rtt) => {
                Rate::of(f64_from_u64(self.bytes - report.bytes), now.saturating_since(report.at))
            }
            _ => self.current(now, rtt),
        };
        self.maximum = self.maximum.max(rate);
        rate
    }

    /// The highest rate measured so far, the present one included: X_target of §6.3.1 before its
    /// lower bound.
    pub(crate) fn maximum(&self, now: Instant, rtt: Duration) -> Rate {
        self.maximum.max(self.current(now, rtt))
    }

    /// Data packets received.
    pub(crate) const fn packets(&self) -> u64 {
        self.packets
    }

    /// Mean size of the data packets, at least 1 byte.
    pub(crate) fn mean_size(&self) -> f64 {
        f64_from_u64(self.bytes.checked_div(self.packets).unwrap_or(0).max(1))
    }

    /// The receive rate measured now, without remembering it.
    pub(crate) fn current(&self, now: Instant, rtt: Duration) -> Rate {
        let long_ago = |tally: &ReceivedBy| now.saturating_since(tally.at) >= rtt;
        let since = |tally: ReceivedBy| {
            let time = now.saturating_since(tally.at).max(rtt);
            Rate::of(f64_from_u64(self.bytes - tally.bytes), time)
        };
        // The regular report, served at once or a little late: what came since the one before.
        if let Some(last) = self.expirations.last().filter(long_ago)
            && now.saturating_since(last.at) <= rtt + rtt / LATE
        {
            return since(last);
        }
        let newest = || self.expirations.iter().rev().find(long_ago);
        // §6.2 step 2: early reports look back as far as regular ones. Nothing at all may have come
        // in that time only if the host serves its timer late.
        match self.received_within(now, rtt) {
            Some(ReceivedAmount::Exactly(received)) if received > 0.0 => Rate::of(received, rtt),
            Some(ReceivedAmount::OfMany(received)) => Rate::of(received, rtt),
            Some(ReceivedAmount::OfFew(received)) if newest().is_none() => Rate::of(received, rtt),
            Some(ReceivedAmount::Exactly(_) | ReceivedAmount::OfFew(_)) | None => {
                newest().or_else(|| self.expirations.get(0)).map_or(Rate::ZERO, since)
            }
        }
    }

    /// Packets and bytes of the last `time`; `None` if the groups do not reach back so far.
    fn received_within(&self, now: Instant, time: Duration) -> Option<ReceivedAmount> {
        let start = now.as_nanos().checked_sub(time.as_nanos()).map(Instant::from_nanos)?;
        let (mut after, mut packets) = (self.bytes, 0);
        let newest = (self.newest.packets > 0).then_some(self.newest);
        for group in newest.into_iter().chain(self.groups.iter().rev()) {
            if group.first <= start {
                let later = f64_from_u64(self.bytes - after);
                let (lasted, before) =
                    (u64::from(group.lasted), start.saturating_since(group.first).as_nanos());
                if lasted <= before {
                    return Some(ReceivedAmount::Exactly(later));
                }
                let share = f64_from_u64(lasted - before) / f64_from_u64(lasted);
                let within = libm::ceil(f64::from(group.packets.saturating_sub(1)) * share - 1e-9);
                let received = later + f64_from_u64(after - group.before) * within / f64::from(group.packets);
                return Some(if packets < MANY {
                    ReceivedAmount::OfFew(received)
                } else {
                    ReceivedAmount::OfMany(received)
                });
            }
            packets += u64::from(group.packets);
            after = group.before;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_testkit::at;

    const RTT: Duration = Duration::from_millis(100);

    /// 1000 bytes every `spacing` ms, the feedback timer every 100 ms, X_recv at `end`.
    fn steady(spacing: u64, end: u64) -> f64 {
        let mut meter = ReceiveRate::new(ReceiveRateWindow::RoundTrip);
        meter.on_data(at(0), 1000, RTT);
        meter.on_expiration(at(0));
        for ms in 1..=end {
            if ms % spacing == 0 {
                meter.on_data(at(ms), 1000, RTT);
            }
            if ms % 100 == 0 && ms < end {
                meter.on_expiration(at(ms));
            }
        }
        meter.measure(at(end), RTT).bytes_per_sec()
    }

    #[test]
    fn many_and_few_packets_a_round_trip() {
        assert_eq!(steady(1, 1000), 1_000_000.0);
        assert_eq!(steady(50, 1000), 20_000.0);
    }

    /// RFC 5348 §6.2: at least one packet per round-trip time even when packets come less often.
    #[test]
    fn one_packet_is_one_packet_per_round_trip() {
        assert_eq!(steady(700, 1400), 10_000.0);
    }

    /// A rate that doubles within the last round-trip time is seen as it is, however many packets
    /// that holds.
    #[test]
    fn a_rising_rate() {
        let mut meter = ReceiveRate::new(ReceiveRateWindow::RoundTrip);
        meter.on_expiration(at(0));
        for ms in 1..=200 {
            meter.on_data(at(ms), if ms <= 100 { 1000 } else { 2000 }, RTT);
        }
        let rate = meter.measure(at(200), RTT).bytes_per_sec();
        assert!(rate > 1_900_000.0 && rate <= 2_000_000.0, "{rate}");
    }

    /// After the round-trip time has grown fourfold the arrivals remembered are of a part of it:
    /// the expirations reach further.
    #[test]
    fn a_grown_round_trip() {
        let mut meter = ReceiveRate::new(ReceiveRateWindow::RoundTrip);
        for ms in 0..=1030 {
            meter.on_data(at(ms), 1000, RTT / 2);
            if ms % 50 == 0 {
                meter.on_expiration(at(ms));
            }
        }
        assert_eq!(meter.measure(at(1030), RTT * 2).bytes_per_sec(), 1_000_000.0);
    }

    /// Early feedback, 30 ms after the last expiration, must not see a window of 30 ms only.
    #[test]
    fn early_feedback_does_not_change_the_rate() {
        assert!((steady(1, 1030) / 1e6 - 1.0).abs() < 1e-12);
    }

    /// Many packets a round-trip time, then none; the timer that was due at 100 ms is served at 250
    /// ms.
    #[test]
    fn a_late_report_counts_all_since_the_last_one() {
        let mut meter = ReceiveRate::new(ReceiveRateWindow::RoundTrip);
        meter.on_expiration(at(0));
        for ms in 1..=100 {
            meter.on_data(at(ms), 1000, RTT);
        }
        assert_eq!(meter.measure(at(250), RTT).bytes_per_sec(), 400_000.0);
    }

    /// Two packets in the 250 ms since a report: the pause counts, but not within a round-trip time
    /// of the report.
    #[test]
    fn since_the_last_report() {
        let rates = [ReceiveRateWindow::RoundTrip, ReceiveRateWindow::SinceReport].map(|window| {
            let mut meter = ReceiveRate::new(window);
            for ms in [0, 10, 20, 30, 240, 250] {
                meter.on_data(at(ms), 1000, RTT);
                if ms == 30 {
                    meter.on_expiration(at(ms));
                    meter.on_report(at(ms));
                }
            }
            let late = meter.measure(at(280), RTT).bytes_per_sec();
            meter.on_report(at(280));
            (late, meter.measure(at(290), RTT).bytes_per_sec())
        });
        assert_eq!(rates, [(20_000.0, 20_000.0), (8_000.0, 20_000.0)]);
    }

    #[test]
    fn nothing_received_yet() {
        let mut meter = ReceiveRate::new(ReceiveRateWindow::SinceReport);
        assert_eq!(meter.measure(at(5), RTT), Rate::ZERO);
        meter.on_data(at(5), 1000, RTT);
        meter.on_expiration(at(5));
        assert_eq!(meter.measure(at(5), RTT), Rate::ZERO);
        assert_eq!(meter.mean_size(), 1000.0);
    }
}
