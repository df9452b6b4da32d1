//! When packets arrived, on the sender's clock, and how old a report's newest news is.

use tfrc_units::{Duration, Instant, saturating};

use crate::recent::{LeastRoundTrip, RecentLeast};
use crate::ring::Ring;

/// How long the newest packet of a report had been there when the report was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// The report says it: the acknowledgement delay of QUIC, the arrival time offset of RFC 8888.
    /// A receiver may say too much: what is left of the round trip counts as no less than the least
    /// round trip so far, holds included (RFC 9002 §5.3).
    Known(Duration),
    /// The transport knows the round-trip time, smoothed or that of the newest packet: what was
    /// longer ago is the hold. Zero means that it is shorter than the transport can say; it is then
    /// the least round trip so far.
    RoundTrip(Duration),
    /// It does not. With arrival times it is estimated, without it counts as none and the
    /// round-trip time comes out longer.
    Unknown,
}

impl Hold {
    /// The sample of the round-trip time from a packet sent `ago` and held for `hold`.
    pub(crate) const fn round_trip(self, ago: Duration, hold: Duration) -> Duration {
        match self {
            Self::RoundTrip(rtt) if !rtt.is_zero() => rtt,
            Self::RoundTrip(_) | Self::Known(_) | Self::Unknown => ago.saturating_sub(hold),
        }
    }
}

/// A packet as the timeline sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimelinePacket {
    pub(crate) sent_at: Instant,
    /// By the receiver's clock, if the report says.
    pub(crate) arrived_at: Option<Instant>,
}

/// Places arrivals on the sender's clock so that the fastest report of late took no time for its
/// way back. Only differences between arrivals matter to RFC 5348, so where the way back really
/// stands makes no difference.
#[derive(Debug, Clone)]
pub(crate) struct Timeline {
    /// The longest usual time between reports.
    interval: Duration,
    /// The least of late of the sender's clock less the receiver's: a fast report bounds it.
    offset: Option<RecentLeast>,
    /// Lower bounds of that, by the last reports.
    floors: Ring<i64, REPORTS>,
    /// The last report in order: when it came, and the arrival of its newest packet.
    reported: Option<(Instant, Instant)>,
    least: LeastRoundTrip,
    /// The newest packet of the last report: when it was sent, and its place.
    anchor: Option<(Instant, Instant)>,
    /// The newest packet of this report.
    newest: (Instant, Instant),
    now: Instant,
    /// The latest place given.
    last: Instant,
}

/// A longer way back is one that so many reports in a row have taken: some of them are delayed, or
/// are one of several that the receiver sent at once.
const REPORTS: usize = 10;

/// Times of a report, as its newest packet gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewestPacket {
    /// How long the receiver held it.
    pub(crate) hold: Duration,
    /// When the report was sent, as placed on the sender's clock.
    pub(crate) end: Instant,
}

impl Timeline {
    pub(crate) const fn new(interval: Duration) -> Self {
        Self {
            interval,
            offset: None,
            floors: Ring::new(),
            reported: None,
            least: LeastRoundTrip::NOTHING,
            anchor: None,
            newest: (Instant::ZERO, Instant::ZERO),
            now: Instant::ZERO,
            last: Instant::ZERO,
        }
    }

    /// A report that is newer than all before comes now; its newest packet arrived at `newest`, and
    /// its first one at `first`. The report before it left before that packet arrived, or it would
    /// have named it: so the difference between the clocks, with the way back, was no less than the
    /// time from then to the coming of that report. Where all the last reports say that it is more
    /// than the least of late, the way back is longer now. A receiver's hold does not matter here.
    pub(crate) fn follow(&mut self, now: Instant, first: Option<Instant>, newest: Option<Instant>) {
        if let (Some((came, before)), Some(first)) = (self.reported, first)
            && first > before
        {
            self.floors.push(difference(came, first));
            let floor = self.floors.iter().min().filter(|_| self.floors.len() == REPORTS);
            if let Some(floor) = floor
                && self.offset.is_some_and(|offset| offset.least() < floor)
            {
                self.offset = Some(RecentLeast::new(now, floor));
            }
        }
        self.reported = newest.map(|newest| (now, newest));
    }

    /// A report has come whose newest packet is this.
    pub(crate) fn open(&mut self, now: Instant, newest: TimelinePacket, hold: Hold) -> NewestPacket {
        self.now = now;
        let ago = now.saturating_since(newest.sent_at);
        let claimed = if let Hold::Known(hold) = hold { hold } else { Duration::ZERO };
        let longest = ago.saturating_sub(self.least.bound(now, ago, claimed));
        let known = match hold {
            Hold::Known(hold) => hold.min(longest),
            Hold::RoundTrip(rtt) if rtt.is_zero() => longest,
            Hold::RoundTrip(rtt) => ago.saturating_sub(rtt),
            Hold::Unknown => Duration::ZERO,
        };
        let place = match newest.arrived_at {
            None => now - known,
            Some(arrived_at) => {
                let offset = difference(now - known, arrived_at);
                let slack = self.interval * 2 + Duration::from_secs(1);
                take_offset(&mut self.offset, now, offset, slack);
                self.translate(arrived_at)
            }
        };
        let place = place.max(newest.sent_at).min(now);
        self.newest = (newest.sent_at, place);
        let hold = match hold {
            Hold::Known(_) | Hold::RoundTrip(_) => known,
            // A receiver does not hold a packet for longer than its reports are apart.
            Hold::Unknown if newest.arrived_at.is_some() => {
                now.saturating_since(place).min(self.interval).min(longest)
            }
            Hold::Unknown => Duration::ZERO,
        };
        NewestPacket { hold, end: (place + hold).min(now) }
    }

    /// When a packet of this report arrived: never before it was sent, after now, or before one
    /// already placed.
    pub(crate) fn place(&mut self, packet: TimelinePacket) -> Instant {
        self.last = self.late_place(packet).max(self.last);
        self.last
    }

    /// When a packet arrived whose report others have overtaken: never before it was sent or after
    /// now, but maybe before packets already placed.
    pub(crate) fn late_place(&self, packet: TimelinePacket) -> Instant {
        let at = match packet.arrived_at {
            Some(arrived_at) => self.translate(arrived_at),
            None => self.interpolate(packet.sent_at),
        };
        at.max(packet.sent_at).min(self.now)
    }

    /// The latest place given.
    pub(crate) const fn latest(&self) -> Instant {
        self.last
    }

    /// The report is read.
    pub(crate) fn close(&mut self) {
        if self.anchor.is_none_or(|(sent_at, _)| sent_at < self.newest.0) {
            self.anchor = Some(self.newest);
        }
    }

    fn translate(&self, arrived_at: Instant) -> Instant {
        match &self.offset {
            None => arrived_at,
            Some(offset) => {
                let ns = i128::from(arrived_at.as_nanos()) + i128::from(offset.least());
                Instant::from_nanos(saturating::<u64>(ns.max(0)))
            }
        }
    }

    /// Without arrival times, packets lie between the newest of the last report and of this one as
    /// they did when sent.
    fn interpolate(&self, sent_at: Instant) -> Instant {
        let (newest_sent, newest_place) = self.newest;
        let Some((anchor_sent, anchor_place)) = self.anchor.filter(|(sent, _)| *sent < newest_sent) else {
            return newest_place - newest_sent.saturating_since(sent_at);
        };
        let share = |time: Duration| u128::from(time.as_nanos());
        let span = share(newest_place.saturating_since(anchor_place));
        let ns = share(sent_at.saturating_since(anchor_sent)) * span
            / share(newest_sent.saturating_since(anchor_sent)).max(1);
        anchor_place + Duration::from_nanos(saturating::<u64>(ns))
    }
}

/// Takes in an offset between the clocks. One that is larger than the least by more than `slack`
/// means that a clock was set or the path has changed.
fn take_offset(offset: &mut Option<RecentLeast>, now: Instant, value: i64, slack: Duration) {
    let slack = saturating::<i64>(slack.as_nanos());
    if offset.is_some_and(|old| value.saturating_sub(old.least()) > slack) {
        *offset = None;
    }
    RecentLeast::update(offset, now, value);
}

/// `a − b` in nanoseconds, at the edge of the range where it does not fit.
fn difference(a: Instant, b: Instant) -> i64 {
    let ns = i128::from(a.as_nanos()) - i128::from(b.as_nanos());
    saturating::<i64>(ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tfrc_testkit::at;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// A packet every 10 ms, 30 ms out and 20 ms back, a report every 95 ms; the receiver's clock
    /// is 7 s ahead. The hold is 5 ms and none in turn: seen as soon as one report has come
    /// without.
    #[test]
    fn the_hold_is_seen_from_the_arrival_times() {
        let mut timeline = Timeline::new(MS(95));
        let mut holds = std::vec::Vec::new();
        for report in 1..=20u64 {
            let sent_by_receiver = report * 95;
            let arrived = sent_by_receiver - sent_by_receiver % 10;
            let packet = TimelinePacket { sent_at: at(arrived - 30), arrived_at: Some(at(arrived + 7000)) };
            let reading = timeline.open(at(sent_by_receiver + 20), packet, Hold::Unknown);
            timeline.close();
            assert_eq!(reading.end, at(sent_by_receiver + 20));
            holds.push(reading.hold);
        }
        assert_eq!(holds.get(2..6), Some([MS(5), MS(0), MS(5), MS(0)].as_slice()));
    }

    /// A packet every 10 ms, `back` ms for report n's way back, a report every 95 ms with the
    /// packets since the last one: the times by which each report counts as older than its coming.
    fn lags(reports: u64, back: impl Fn(u64) -> u64) -> std::vec::Vec<u64> {
        let mut timeline = Timeline::new(MS(95));
        let mut last = 0;
        (1..=reports)
            .map(|report| {
                let left = report * 95;
                let newest = left - left % 10;
                let now = at(left + back(report));
                timeline.follow(now, Some(at(last + 10 + 7000)), Some(at(newest + 7000)));
                let packet = TimelinePacket { sent_at: at(newest - 30), arrived_at: Some(at(newest + 7000)) };
                let reading = timeline.open(now, packet, Hold::Unknown);
                timeline.close();
                last = newest;
                now.saturating_since(reading.end).as_nanos() / 1_000_000 + reading.hold.as_nanos() / 1_000_000
            })
            .collect()
    }

    /// A way back that is longer by 60 ms counts as a hold until ten reports have taken it; what
    /// is left then is the hold of 5 ms and a packet's gap.
    #[test]
    fn a_longer_way_back_is_no_hold() {
        let lags = lags(60, |report| if report < 30 { 20 } else { 80 });
        assert!(lags.iter().take(29).skip(2).all(|lag| *lag <= 5), "{lags:?}");
        assert!(lags.iter().skip(29).take(9).all(|lag| *lag >= 60), "{lags:?}");
        assert!(lags.iter().skip(40).all(|lag| *lag <= 15), "{lags:?}");
    }

    /// Nine of ten reports that are late do not make the way longer.
    #[test]
    fn late_reports_are_no_longer_way_back() {
        let lags = lags(60, |report| if report % 10 == 0 { 20 } else { 70 });
        assert!(lags.iter().enumerate().skip(12).all(|(i, lag)| *lag >= 50 || (i + 1) % 10 == 0), "{lags:?}");
    }

    #[test]
    fn a_known_hold_leaves_the_least_round_trip() {
        let mut timeline = Timeline::new(MS(0));
        timeline.open(at(80), TimelinePacket { sent_at: at(10), arrived_at: None }, Hold::Known(MS(5)));
        let packet = TimelinePacket { sent_at: at(100), arrived_at: None };
        let reading = timeline.open(at(200), packet, Hold::Known(MS(30)));
        assert_eq!(reading, NewestPacket { hold: MS(30), end: at(200) });
        assert_eq!(timeline.place(packet), at(170));
        let reading = timeline.open(at(200), packet, Hold::Known(MS(3000)));
        assert_eq!(reading.hold, MS(30), "the least round trip is 70 ms");
    }

    /// Packets sent at 100, 120 and 150 ms, the newest held for 10 ms; the report before ended with
    /// one sent at 90, placed at 140.
    #[test]
    fn arrivals_are_interpolated() {
        let mut timeline = Timeline::new(MS(0));
        let packet = |ms| TimelinePacket { sent_at: at(ms), arrived_at: None };
        timeline.open(at(140), packet(90), Hold::Unknown);
        assert_eq!(timeline.place(packet(80)), at(130), "as far apart as they were sent");
        timeline.close();
        timeline.open(at(270), packet(150), Hold::Known(MS(10)));
        let places: std::vec::Vec<_> = [100, 120, 150].map(|ms| timeline.place(packet(ms))).into();
        assert_eq!(places, [at(160), at(200), at(260)]);
        assert_eq!(timeline.place(packet(110)), at(260), "never back");
        timeline.close();
        timeline.open(at(310), packet(170), Hold::Unknown);
        assert_eq!(timeline.place(packet(160)), at(285), "half way from 260 to 310");
    }

    /// A clock set forward or back by an hour spoils a few reports at most, and nothing goes back
    /// or runs ahead of now.
    #[test]
    fn a_clock_that_jumps_is_followed() {
        for step in [3_600_000i64, -3_600_000] {
            let mut timeline = Timeline::new(MS(100));
            let mut last = Instant::ZERO;
            for report in 1..=40i64 {
                let now = at(saturating::<u64>(report * 100) + 20);
                let jump = if report > 20 { step } else { 0 };
                let arrived = saturating::<u64>(report * 100 + 10_000_000 + jump);
                let packet = TimelinePacket { sent_at: now - MS(60), arrived_at: Some(at(arrived)) };
                let reading = timeline.open(now, packet, Hold::Unknown);
                let place = timeline.place(packet);
                timeline.close();
                assert!(place >= last && place <= now && reading.hold <= MS(100));
                last = place;
                if report > 21 {
                    assert_eq!((place, reading.hold), (now, MS(0)));
                }
            }
        }
    }

    #[test]
    fn extremes_do_no_harm() {
        let times = [Instant::ZERO, at(1), Instant::from_nanos(u64::MAX)];
        for sent_at in times {
            for now in times {
                for arrived_at in [None, Some(times[0]), Some(times[1]), Some(times[2])] {
                    let mut timeline = Timeline::new(MS(50));
                    let packet = TimelinePacket { sent_at, arrived_at };
                    timeline.open(now, packet, Hold::Known(Duration::MAX));
                    timeline.place(packet);
                    timeline.close();
                    timeline.open(now, packet, Hold::Unknown);
                    assert!(timeline.place(packet) <= now.max(timeline.last));
                }
            }
        }
    }
}
