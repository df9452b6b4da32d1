//! The sender's side of the packet size axis: the Min Interval of TFRC-SP (RFC 4828 §4.3). What the
//! equation is given and what headers cost is [`PacketSize`]'s.

use tfrc_units::{Duration, Instant, Rate};

use crate::config::{MinInterval, PacketSize};
use crate::rare::{Rare, rare};
use crate::ring::Ring;

/// The Min Interval, where there is one.
#[derive(Debug, Clone)]
pub(crate) struct PacketInterval(Option<Rare<LatestPackets>>);

/// When the latest packets went, as far as the Min Interval needs it.
#[derive(Debug, Clone)]
struct LatestPackets {
    policy: MinInterval,
    sent: Ring<Instant, 3>,
    /// The slot that the latest packet used, where packets may go late.
    slot: Instant,
}

impl PacketInterval {
    pub(crate) fn new(packet_size: &PacketSize) -> Self {
        match packet_size {
            PacketSize::TfrcSp(sp) if sp.min_interval != MinInterval::Unlimited => {
                let policy = sp.min_interval;
                Self(Some(rare(LatestPackets { policy, sent: Ring::new(), slot: Instant::ZERO })))
            }
            _ => Self(None),
        }
    }

    /// The earliest time for the next packet, whatever the rate.
    #[inline]
    pub(crate) fn next_send(&self) -> Instant {
        self.0.as_ref().map_or(Instant::ZERO, |latest| latest.next_send())
    }

    /// A packet goes. With coarse timers a slot missed is made up for by one packet more, not by
    /// two (RFC 5622 §5).
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Instant) {
        if let Some(latest) = &mut self.0 {
            latest.on_sent(now);
        }
    }

    /// The next packet may go whenever the latest went, as a study may have it.
    pub(crate) fn release(&mut self) {
        if let Some(latest) = &mut self.0 {
            latest.sent.clear();
        }
    }

    /// The most that packets of `size` bytes can carry.
    pub(crate) fn limit(&self, size: f64) -> Rate {
        match self.0.as_ref().map(|latest| latest.policy) {
            None | Some(MinInterval::Unlimited) => Rate::INFINITY,
            Some(MinInterval::Each(interval) | MinInterval::ThreePackets(interval)) => {
                if interval == Duration::ZERO { Rate::INFINITY } else { Rate::of(size, interval) }
            }
        }
    }
}

impl LatestPackets {
    fn next_send(&self) -> Instant {
        let Some(last) = self.sent.last() else { return Instant::ZERO };
        match self.policy {
            MinInterval::Unlimited => Instant::ZERO,
            MinInterval::Each(interval) => last + interval,
            MinInterval::ThreePackets(interval) => {
                let three_ago = if self.sent.is_full() { self.sent.get(0) } else { None };
                three_ago.map_or(Instant::ZERO, |then| then + interval * 3).max(self.slot + interval)
            }
        }
    }

    fn on_sent(&mut self, now: Instant) {
        if let MinInterval::ThreePackets(interval) = self.policy {
            let due = if self.sent.len() == 0 { now } else { self.slot + interval };
            self.slot = due.max(now - interval);
        }
        self.sent.push(now);
    }
}

#[cfg(test)]
mod tests {
    use tfrc_units::saturating;

    use super::*;
    use crate::config::TfrcSp;
    use std::vec::Vec;
    use tfrc_testkit::at;

    const MIN: Duration = Duration::from_millis(10);

    /// Times in ms at which packets go when the host looks every `tick` ms and always has some.
    fn sent(min_interval: MinInterval, tick: u64, until: u64) -> Vec<u64> {
        let packet_size = PacketSize::TfrcSp(TfrcSp { min_interval, ..TfrcSp::default() });
        let mut interval = PacketInterval::new(&packet_size);
        let mut times = Vec::new();
        for ms in (0..until).step_by(saturating::<usize>(tick)) {
            while interval.next_send() <= at(ms) && times.len() < 10_000 {
                interval.on_sent(at(ms));
                times.push(ms);
            }
        }
        times
    }

    /// RFC 4828 §3: ten milliseconds between any two packets.
    #[test]
    fn at_most_a_hundred_a_second() {
        assert_eq!(sent(MinInterval::Each(MIN), 1, 1000).len(), 100);
        assert_eq!(sent(MinInterval::Each(MIN), 4, 50), [0, 12, 24, 36, 48]);
    }

    /// RFC 5622 §5: with timers of 15 ms two packets may go at once, but never more than three in
    /// 30 ms.
    #[test]
    fn coarse_timers_may_send_one_more() {
        let times = sent(MinInterval::ThreePackets(MIN), 15, 30_000);
        assert!((2990..=3000).contains(&times.len()), "{} packets in 30 s", times.len());
        for four in times.windows(4) {
            let span = four.last().unwrap_or(&0) - four.first().unwrap_or(&0);
            assert!(span >= 30, "four packets in {span} ms: {four:?}");
        }
        assert!(times.chunk_by(|a, b| a == b).all(|burst| burst.len() <= 2));
        let late: Vec<_> = sent(MinInterval::ThreePackets(MIN), 100, 1000);
        assert_eq!(late.len(), 19, "two each time after the first");
    }

    #[test]
    fn other_flows_have_no_such_limit() {
        let mut interval = PacketInterval::new(&PacketSize::Own);
        interval.on_sent(at(5));
        assert_eq!(interval.next_send(), Instant::ZERO);
        assert!(interval.limit(14.0).is_infinite());
        let voice = PacketInterval::new(&PacketSize::TfrcSp(TfrcSp::default()));
        assert_eq!(voice.limit(14.0), Rate::from_bytes_per_sec(1400.0));
    }
}
