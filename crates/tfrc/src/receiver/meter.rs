//! The receive rate X_recv (RFC 5348 §6.2 step 2).

use tfrc_units::{Duration, Instant, Rate, f64_from_u64};

use crate::config::ReceiveRateWindow;
use crate::ring::Ring;

/// A time, and what was received by then.
#[derive(Debug, Clone, Copy)]
struct Tally {
    at: Instant,
    bytes: u64,
    packets: u64,
}

/// Arrivals closer to each other than this part of a round-trip time are not all remembered.
const RESOLUTION: u64 = 14;

/// Measures over exactly the last round-trip time while that holds few packets, over up to a fourteenth more while it holds many. Back
/// to the latest expiration of the feedback timer that is at least a round-trip time ago, which §6.2 allows, while less is known.
#[derive(Debug, Clone)]
pub(crate) struct ReceiveRate {
    bytes: u64,
    packets: u64,
    arrivals: Ring<Tally, 16>,
    /// An arrival before this is not remembered.
    remember_from: Instant,
    expirations: Ring<Tally, 8>,
    maximum: Rate,
    window: ReceiveRateWindow,
    reported: Option<Tally>,
}

impl ReceiveRate {
    pub(crate) const fn new(window: ReceiveRateWindow) -> Self {
        Self {
            bytes: 0,
            packets: 0,
            arrivals: Ring::new(),
            remember_from: Instant::ZERO,
            expirations: Ring::new(),
            maximum: Rate::ZERO,
            window,
            reported: None,
        }
    }

    /// `size` bytes of data have come while the round-trip time was `rtt`.
    pub(crate) fn on_data(&mut self, now: Instant, size: u32, rtt: Duration) {
        self.bytes += u64::from(size);
        self.packets += 1;
        if now >= self.remember_from {
            self.arrivals.push(self.tally(now));
            self.remember_from = now + rtt / RESOLUTION;
        }
    }

    const fn tally(&self, now: Instant) -> Tally {
        Tally { at: now, bytes: self.bytes, packets: self.packets }
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
        let rate = match (self.window, self.reported) {
            (ReceiveRateWindow::SinceReport, Some(report)) if now.saturating_since(report.at) >= rtt => {
                Rate::of(f64_from_u64(self.bytes - report.bytes), now.saturating_since(report.at))
            }
            _ => self.current(now, rtt),
        };
        self.maximum = self.maximum.max(rate);
        rate
    }

    /// The highest rate measured so far, the present one included: X_target of §6.3.1 before its lower bound.
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

    /// The same without remembering it.
    pub(crate) fn current(&self, now: Instant, rtt: Duration) -> Rate {
        let long_ago = |tally: &Tally| now.saturating_since(tally.at) >= rtt;
        let remembered = (0u64..).zip(self.arrivals.iter().rev()).find(|(_, tally)| long_ago(tally));
        if let Some((later, before)) = remembered.filter(|_| !rtt.is_zero()) {
            let received = f64_from_u64(self.bytes - before.bytes);
            let age = now.saturating_since(before.at);
            if later > 0 && self.packets - before.packets == later {
                return Rate::of(received, rtt);
            }
            // Not all since then are remembered: which of them came within a round-trip time is not known.
            if later > 0 && age <= rtt + rtt / (RESOLUTION / 2) {
                return Rate::of(received, age);
            }
            // The host is later with its report than a round-trip time: what came since the last one counts all the same.
            if let Some(last) = self.expirations.iter().next_back() {
                let elapsed = now.saturating_since(last.at).max(rtt);
                return Rate::of(f64_from_u64(self.bytes - last.bytes), elapsed);
            }
        }
        let since = self.expirations.iter().rev().find(long_ago).or_else(|| self.expirations.get(0));
        match since {
            Some(tally) => {
                let time = now.saturating_since(tally.at).max(rtt);
                Rate::of(f64_from_u64(self.bytes - tally.bytes), time)
            }
            None => Rate::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

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

    /// A rate that doubles within the last round-trip time is seen as it is, however many packets that holds.
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

    /// After the round-trip time has grown fourfold the arrivals remembered are of a part of it: the expirations reach further.
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

    /// Many packets a round-trip time, then none; the timer that was due at 100 ms is served at 250 ms.
    #[test]
    fn a_late_report_counts_all_since_the_last_one() {
        let mut meter = ReceiveRate::new(ReceiveRateWindow::RoundTrip);
        meter.on_expiration(at(0));
        for ms in 1..=100 {
            meter.on_data(at(ms), 1000, RTT);
        }
        assert_eq!(meter.measure(at(250), RTT).bytes_per_sec(), 400_000.0);
    }

    /// Two packets in the 250 ms since a report: the pause counts, but not within a round-trip time of the report.
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
