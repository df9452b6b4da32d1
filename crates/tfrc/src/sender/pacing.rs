//! When the next packet may go (RFC 5348 §4.6 and §8.3).

use tfrc_units::{Duration, Instant, Rate};

use crate::config::{BurstCredit, Reschedule};

/// The nominal send time of the packet sent last, from which that of the next one follows at the rate in force then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pacing {
    credit: BurstCredit,
    granularity: Duration,
    reschedule: Reschedule,
    last: Option<Sent>,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    /// t_i.
    nominal: Instant,
    size: f64,
    /// The gap to the next packet, where it does not follow the rate.
    fixed_gap: Option<Duration>,
}

impl Sent {
    /// t_ipi.
    fn gap(self, rate: Rate) -> Duration {
        self.fixed_gap.unwrap_or_else(|| rate.time_for(self.size))
    }
}

impl Pacing {
    pub(crate) const fn new(credit: BurstCredit, granularity: Duration, reschedule: Reschedule) -> Self {
        Self { credit, granularity, reschedule, last: None }
    }

    /// The earliest time for the next packet: its nominal send time t_i less t_delta = min(t_ipi, t_gran, rtt)/2 (§8.3).
    pub(crate) fn next_send(&self, rate: Rate, rtt: Option<Duration>) -> Instant {
        let Some(last) = self.last else { return Instant::ZERO };
        let t_ipi = last.gap(rate);
        let t_delta = t_ipi.min(self.granularity).min(rtt.unwrap_or(Duration::ZERO)) / 2;
        last.nominal + t_ipi.saturating_sub(t_delta)
    }

    /// A report in slow start has come, or the nofeedback timer has expired: with [`Reschedule::InSlowStart`] the next packet may go now.
    pub(crate) fn release(&mut self, now: Instant) {
        if let Some(last) = &mut self.last {
            let since = now.saturating_since(last.nominal);
            last.fixed_gap = last.fixed_gap.map(|gap| gap.min(since));
        }
    }

    /// A packet goes at `now`. Send times missed more than the credit ago are lost (§4.6).
    pub(crate) fn on_sent(&mut self, now: Instant, size: u32, rate: Rate, rtt: Option<Duration>) {
        let round_trip = rtt.unwrap_or(Duration::ZERO);
        let size = f64::from(size.max(1));
        let credit = match self.credit {
            BurstCredit::RoundTrip => round_trip,
            BurstCredit::RoundTripOrHalfGap => round_trip.max(rate.time_for(size) / 2),
            BurstCredit::Time(time) => time.min(round_trip),
        };
        let due = self.last.map_or(now, |last| last.nominal + last.gap(rate));
        let fixed_gap = match self.reschedule {
            Reschedule::Always => None,
            Reschedule::InSlowStart => Some(rate.time_for(size)),
        };
        self.last = Some(Sent { nominal: due.max(now - credit), size, fixed_gap });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Option<Duration> = Some(Duration::from_millis(100));
    /// 1000 bytes every millisecond.
    const RATE: Rate = Rate::from_bytes_per_sec(1e6);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn packets_are_spaced_by_their_size() {
        let mut pacing = Pacing::new(BurstCredit::RoundTrip, Duration::ZERO, Reschedule::Always);
        assert!(pacing.next_send(RATE, RTT) <= at(0));
        pacing.on_sent(at(5), 1000, RATE, RTT);
        assert_eq!(pacing.next_send(RATE, RTT), at(6));
        pacing.on_sent(at(6), 3000, RATE, RTT);
        assert_eq!(pacing.next_send(RATE, RTT), at(9));
        assert_eq!(pacing.next_send(RATE * 3.0, RTT), at(7), "a higher rate counts at once");
    }

    /// RFC 5348 §4.6: after 10 s idle the burst is a round-trip time's worth, here 100 packets and the one due now.
    #[test]
    fn the_burst_after_idleness_is_one_round_trip() {
        for (credit, packets) in [
            (BurstCredit::RoundTrip, 101),
            (BurstCredit::Time(Duration::from_millis(10)), 11),
            (BurstCredit::Time(Duration::from_secs(9)), 101),
        ] {
            let mut pacing = Pacing::new(credit, Duration::ZERO, Reschedule::Always);
            pacing.on_sent(at(0), 1000, RATE, RTT);
            let mut burst = 0;
            while pacing.next_send(RATE, RTT) <= at(10_000) {
                pacing.on_sent(at(10_000), 1000, RATE, RTT);
                burst += 1;
            }
            assert_eq!(burst, packets);
        }
    }

    /// Late wake-ups do not lower the rate: sending 3 ms late, four packets may go.
    #[test]
    fn lateness_is_caught_up_with() {
        let mut pacing = Pacing::new(BurstCredit::RoundTrip, Duration::ZERO, Reschedule::Always);
        pacing.on_sent(at(0), 1000, RATE, RTT);
        let mut burst = 0;
        while pacing.next_send(RATE, RTT) <= at(4) {
            pacing.on_sent(at(4), 1000, RATE, RTT);
            burst += 1;
        }
        assert_eq!((burst, pacing.next_send(RATE, RTT)), (4, at(5)));
    }

    /// On a path of 50 µs every wake-up may come later than a round-trip time: the rate holds all the same, and idleness gives no burst.
    #[test]
    fn half_a_gap_is_made_up_for() {
        let short = Some(Duration::from_micros(50));
        for (credit, sent) in [(BurstCredit::RoundTrip, 741), (BurstCredit::RoundTripOrHalfGap, 1000)] {
            let mut pacing = Pacing::new(credit, Duration::ZERO, Reschedule::Always);
            pacing.on_sent(at(0), 1000, RATE, short);
            let mut packets = 0;
            loop {
                let woken = pacing.next_send(RATE, short) + Duration::from_micros(400);
                if woken > at(1001) {
                    break;
                }
                pacing.on_sent(woken, 1000, RATE, short);
                packets += 1;
            }
            assert_eq!(packets, sent);
            pacing.on_sent(at(5000), 1000, RATE, short);
            assert!(pacing.next_send(RATE, short) >= at(5000) + Duration::from_micros(500));
        }
    }

    /// RFC 5348 §8.3: t_delta = min(t_ipi, t_gran, rtt)/2.
    #[test]
    fn a_packet_may_go_a_little_early() {
        let mut pacing = Pacing::new(BurstCredit::RoundTrip, Duration::from_millis(10), Reschedule::Always);
        pacing.on_sent(at(0), 1000, RATE, RTT);
        assert_eq!(pacing.next_send(RATE, RTT), Instant::from_nanos(500_000));
        let slow = RATE / 1000.0;
        assert_eq!(pacing.next_send(slow, RTT), at(995));
        assert_eq!(pacing.next_send(slow, None), at(1000));
    }

    /// ns-2: a new rate does not move a packet that waits; a report in slow start lets it go.
    #[test]
    fn a_fixed_gap() {
        let mut pacing =
            Pacing::new(BurstCredit::Time(Duration::ZERO), Duration::ZERO, Reschedule::InSlowStart);
        pacing.release(at(1));
        pacing.on_sent(at(5), 1000, RATE, RTT);
        assert_eq!(pacing.next_send(RATE * 10.0, RTT), at(6));
        assert_eq!(pacing.next_send(RATE / 10.0, RTT), at(6));
        let mut released = pacing;
        released.release(Instant::from_nanos(5_400_000));
        assert_eq!(released.next_send(RATE / 10.0, RTT), Instant::from_nanos(5_400_000));
        pacing.release(at(9));
        assert_eq!(pacing.next_send(RATE, RTT), at(6), "never later");
        pacing.on_sent(at(6), 1000, RATE / 10.0, RTT);
        assert_eq!(pacing.next_send(RATE, RTT), at(16));
    }
}
