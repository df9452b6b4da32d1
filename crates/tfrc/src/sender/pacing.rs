//! When the next packet may go (RFC 5348 §4.6 and §8.3).

use tfrc_units::{Duration, Instant, Rate};

use crate::config::BurstCredit;
use crate::study::{Pairs, Reschedule};

/// The nominal send time of the packet sent last, from which that of the next one follows at the
/// rate in force then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pacing {
    policy: BurstCredit,
    granularity: Duration,
    reschedule: Reschedule,
    pairs: Pairs,
    rate: Rate,
    /// R, zero while it is unknown.
    rtt: Duration,
    /// How long ago a send time may have been missed.
    credit: Duration,
    /// t_i of the packet sent last, and its size.
    last: Option<Instant>,
    size: u32,
    /// t_ipi, and the time to the next packet without t_delta: worked out when the rate or the size
    /// changes, not for each packet.
    gap: Duration,
    wait: Duration,
    /// Gaps from the packet sent last to the next one: one, or none and two by turns in pairs.
    gaps: u64,
    /// `gap` is not that of the rate and the size.
    stale: bool,
}

impl Pacing {
    pub(crate) const fn new(credit: BurstCredit, granularity: Duration, reschedule: Reschedule) -> Self {
        Self {
            policy: credit,
            granularity,
            reschedule,
            pairs: Pairs::Off,
            rate: Rate::ZERO,
            rtt: Duration::ZERO,
            credit: Duration::ZERO,
            last: None,
            size: 0,
            gap: Duration::ZERO,
            wait: Duration::ZERO,
            gaps: 1,
            stale: false,
        }
    }

    /// Packets leave in pairs.
    pub(crate) const fn in_pairs(self, pairs: Pairs) -> Self {
        Self { pairs, ..self }
    }

    /// Another rule for send times that were missed, from now on.
    pub(crate) const fn with_credit(self, policy: BurstCredit) -> Self {
        Self { policy, ..self }
    }

    /// The rule for send times that were missed.
    pub(crate) const fn credit_policy(&self) -> BurstCredit {
        self.policy
    }

    /// The rate and the round-trip time from now on. A packet that waits follows them (§4.6),
    /// unless a study says otherwise.
    pub(crate) fn set_pace(&mut self, rate: Rate, rtt: Option<Duration>) {
        let round_trip = rtt.unwrap_or(Duration::ZERO);
        (self.rate, self.rtt) = (rate, round_trip);
        if self.reschedule.moves_waiting() {
            self.gap = rate.time_for(f64::from(self.size));
        } else {
            self.stale = true;
        }
        self.settle();
    }

    /// The rate in force.
    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    /// The earliest time for the next packet: its nominal send time t_i less t_delta = min(t_ipi,
    /// t_gran, rtt)/2 (§8.3).
    #[inline]
    pub(crate) fn next_send(&self) -> Instant {
        self.last.map_or(Instant::ZERO, |last| last + self.wait)
    }

    /// The next packet may go now, if a study says that one which waits does not follow the rate.
    pub(crate) fn release(&mut self, now: Instant) {
        if let Some(last) = self.last
            && !self.reschedule.moves_waiting()
        {
            self.gap = self.gap.min(now.saturating_since(last));
            self.stale = true;
            self.settle();
        }
    }

    /// A packet goes at `now`. Send times missed more than the credit ago are lost (§4.6).
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Instant, size: u32) {
        let due = self.last.map_or(now, |last| last + self.gap * self.gaps);
        let earliest = now - self.credit;
        self.last = Some(due.max(earliest));
        let size = size.max(1);
        if size != self.size || self.stale {
            (self.size, self.stale) = (size, false);
            self.gap = self.rate.time_for(f64::from(size));
        } else if matches!(self.pairs, Pairs::Off) {
            return;
        }
        self.take_turn(due < earliest);
    }

    /// The gaps to the next packet follow; `missed` if send times were lost.
    #[inline(never)]
    fn take_turn(&mut self, missed: bool) {
        self.gaps = match self.gaps {
            // The second of a pair.
            0 => 2,
            _ if !self.pairs.apply(self.gap, self.rtt) => 1,
            // Lost send times are replaced by the credit; a second packet at once would exceed the
            // bound of RFC 5348 §4.6.
            _ if missed => 2,
            _ => 0,
        };
        self.settle();
    }

    fn settle(&mut self) {
        let t_ipi = self.gap;
        self.credit = match self.policy {
            BurstCredit::RoundTrip => self.rtt,
            BurstCredit::RoundTripOrHalfGap => self.rtt.max(t_ipi / 2),
            BurstCredit::Time(time) => time.min(self.rtt),
        };
        let t_delta = t_ipi.min(self.granularity).min(self.rtt) / 2;
        self.wait = (t_ipi * self.gaps).saturating_sub(t_delta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_testkit::at;

    const RTT: Option<Duration> = Some(Duration::from_millis(100));
    /// 1000 bytes every millisecond.
    const RATE: Rate = Rate::from_bytes_per_sec(1e6);

    fn paced(credit: BurstCredit, granularity: Duration, reschedule: Reschedule) -> Pacing {
        let mut pacing = Pacing::new(credit, granularity, reschedule);
        pacing.set_pace(RATE, RTT);
        pacing
    }

    /// When the next packet may go at another rate.
    fn next_at(pacing: &Pacing, rate: Rate, rtt: Option<Duration>) -> Instant {
        let mut pacing = *pacing;
        pacing.set_pace(rate, rtt);
        pacing.next_send()
    }

    #[test]
    fn packets_are_spaced_by_their_size() {
        let mut pacing = paced(BurstCredit::RoundTrip, Duration::ZERO, Reschedule::Always);
        assert!(pacing.next_send() <= at(0));
        pacing.on_sent(at(5), 1000);
        assert_eq!(pacing.next_send(), at(6));
        pacing.on_sent(at(6), 3000);
        assert_eq!(pacing.next_send(), at(9));
        assert_eq!(next_at(&pacing, RATE * 3.0, RTT), at(7), "a higher rate counts at once");
    }

    /// RFC 5348 §4.6: after 10 s idle the burst is a round-trip time's worth, here 100 packets and
    /// the one due now.
    #[test]
    fn the_burst_after_idleness_is_one_round_trip() {
        for (credit, packets) in [
            (BurstCredit::RoundTrip, 101),
            (BurstCredit::Time(Duration::from_millis(10)), 11),
            (BurstCredit::Time(Duration::from_secs(9)), 101),
        ] {
            let mut pacing = paced(credit, Duration::ZERO, Reschedule::Always);
            pacing.on_sent(at(0), 1000);
            let mut burst = 0;
            while pacing.next_send() <= at(10_000) {
                pacing.on_sent(at(10_000), 1000);
                burst += 1;
            }
            assert_eq!(burst, packets);
        }
    }

    /// Late wake-ups do not lower the rate: sending 3 ms late, four packets may go.
    #[test]
    fn lateness_is_caught_up_with() {
        let mut pacing = paced(BurstCredit::RoundTrip, Duration::ZERO, Reschedule::Always);
        pacing.on_sent(at(0), 1000);
        let mut burst = 0;
        while pacing.next_send() <= at(4) {
            pacing.on_sent(at(4), 1000);
            burst += 1;
        }
        assert_eq!((burst, pacing.next_send()), (4, at(5)));
    }

    /// On a path of 50 µs every wake-up may come later than a round-trip time: the rate holds all
    /// the same, and idleness gives no burst. With a credit of one round trip each packet is 0.4 ms
    /// late, of which 0.05 ms are made up for: 1001 ms / 1.35 ms = 741.
    #[test]
    fn half_a_gap_is_made_up_for() {
        let short = Some(Duration::from_micros(50));
        for (credit, sent) in [(BurstCredit::RoundTrip, 741), (BurstCredit::RoundTripOrHalfGap, 1000)] {
            let mut pacing = Pacing::new(credit, Duration::ZERO, Reschedule::Always);
            pacing.set_pace(RATE, short);
            pacing.on_sent(at(0), 1000);
            let mut packets = 0;
            loop {
                let woken = pacing.next_send() + Duration::from_micros(400);
                if woken > at(1001) {
                    break;
                }
                pacing.on_sent(woken, 1000);
                packets += 1;
            }
            assert_eq!(packets, sent);
            pacing.on_sent(at(5000), 1000);
            assert!(pacing.next_send() >= at(5000) + Duration::from_micros(500));
        }
    }

    /// Two packets at once, then two gaps; single ones where a round trip has few.
    #[test]
    fn pairs_keep_the_rate() {
        let mut pacing =
            paced(BurstCredit::RoundTrip, Duration::ZERO, Reschedule::Always).in_pairs(Pairs::Above(3.0));
        let mut times = [Instant::ZERO; 7];
        for time in &mut times {
            *time = pacing.next_send().max(at(5));
            pacing.on_sent(*time, 1000);
        }
        assert_eq!(times, [5, 5, 7, 7, 9, 9, 11].map(at));
        assert_eq!(next_at(&pacing, RATE / 50.0, RTT), at(11), "the second of a pair is due");
        let mut few =
            paced(BurstCredit::RoundTrip, Duration::ZERO, Reschedule::Always).in_pairs(Pairs::Above(100.0));
        few.on_sent(at(5), 1000);
        assert_eq!(few.next_send(), at(6), "a hundred packets in a round trip are not more");
    }

    /// RFC 5348 §4.6 with pairs: no more than a round-trip time's worth after idleness, whichever
    /// of a pair was next.
    #[test]
    fn pairs_after_idleness() {
        for before in 1..5 {
            let mut pacing =
                paced(BurstCredit::RoundTrip, Duration::ZERO, Reschedule::Always).in_pairs(Pairs::Above(3.0));
            for _ in 0..before {
                pacing.on_sent(pacing.next_send(), 1000);
            }
            let mut burst = 0;
            while pacing.next_send() <= at(10_000) {
                pacing.on_sent(at(10_000), 1000);
                burst += 1;
            }
            assert_eq!(burst, 101, "after {before}");
        }
    }

    /// RFC 5348 §8.3: t_delta = min(t_ipi, t_gran, rtt)/2.
    #[test]
    fn a_packet_may_go_a_little_early() {
        let mut pacing = paced(BurstCredit::RoundTrip, Duration::from_millis(10), Reschedule::Always);
        pacing.on_sent(at(0), 1000);
        assert_eq!(pacing.next_send(), Instant::from_nanos(500_000));
        let slow = RATE / 1000.0;
        assert_eq!(next_at(&pacing, slow, RTT), at(995));
        assert_eq!(next_at(&pacing, slow, None), at(1000));
    }

    /// A new rate does not move a packet that waits; a report in slow start lets it go.
    #[test]
    fn a_fixed_gap() {
        let mut pacing = paced(BurstCredit::Time(Duration::ZERO), Duration::ZERO, Reschedule::InSlowStart);
        pacing.release(at(1));
        pacing.on_sent(at(5), 1000);
        assert_eq!(next_at(&pacing, RATE * 10.0, RTT), at(6));
        assert_eq!(next_at(&pacing, RATE / 10.0, RTT), at(6));
        let mut released = pacing;
        released.release(Instant::from_nanos(5_400_000));
        assert_eq!(next_at(&released, RATE / 10.0, RTT), Instant::from_nanos(5_400_000));
        pacing.release(at(9));
        assert_eq!(pacing.next_send(), at(6), "never later");
        pacing.set_pace(RATE / 10.0, RTT);
        pacing.on_sent(at(6), 1000);
        assert_eq!(pacing.next_send(), at(16));
    }
}
