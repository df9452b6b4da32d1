//! RACK: a segment is lost when one sent later has arrived and a while has passed (RFC 8985).

use tfrc_units::{Duration, Instant};

use super::flight::{Flight, Mark, Sent, Times};

/// Reported segments that make a loss without a wait while no reordering has been seen (RFC 8985
/// §6.2 step 4).
const DUP_THRESHOLD: u32 = 3;
/// The reordering window is a number of these parts of the least round trip (RFC 8985 §6.2 step 4).
const REORDERING_PART: u64 = 4;
/// Most of them.
const MOST_PARTS: u64 = 255;
/// Recoveries for which a longer window stands after the last duplicate.
const PERSIST: u32 = 16;
/// Greatest distance of reordering that is remembered, in segments.
const MOST_DEGREE: u32 = 300;

/// The latest of the segments that have arrived, by their transmission.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rack {
    /// Number of that transmission; 0 before the first.
    latest: u64,
    rtt: Duration,
    /// One past the highest segment that has arrived.
    forward: u32,
    order: Order,
    /// The distance by which segments have been overtaken, in segments, at least
    /// [`DUP_THRESHOLD`].
    degree: u32,
    /// Parts of the least round trip in the reordering window (`RACK.reo_wnd_mult`).
    parts: u64,
    /// Recoveries for which they stay.
    persist: u32,
    /// A duplicate was reported since they last grew, and segments delivered by then.
    duplicate: Duplicate,
    grown_at: u64,
}

/// Report of a duplicate that the reordering window has not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Duplicate {
    None,
    Reported,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            latest: 0,
            rtt: Duration::ZERO,
            forward: 0,
            order: Order::Kept,
            degree: DUP_THRESHOLD,
            parts: 1,
            persist: 0,
            duplicate: Duplicate::None,
            grown_at: 0,
        }
    }
}

/// Order of arrivals so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Order {
    #[default]
    Kept,
    /// A segment sent once has arrived after one with a higher number.
    Broken,
}

/// Round-trip times of a connection that the wait depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trips {
    pub(super) smoothed: Option<Duration>,
    pub(super) least: Option<Duration>,
}

/// State of the sender that the wait depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repairing {
    No,
    Yes,
}

/// Losses that have come to light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Detected {
    /// Transmissions that are lost.
    pub(super) lost: u32,
    /// Those of them that were not the first of their segment.
    pub(super) lost_again: u32,
    /// The time after which more may be lost.
    pub(super) later: Option<Duration>,
}

impl Rack {
    /// RFC 8985 §6.2 steps 1 to 3: segment `seq` has arrived.
    pub(super) fn arrived(&mut self, seq: u32, sent: &Sent, now: Instant, least: Option<Duration>) {
        if sent.times == Times::Once {
            self.overtaken(seq);
            self.forward = self.forward.max(seq.saturating_add(1));
        }
        let rtt = now.saturating_since(sent.at);
        // What has come back sooner than any round trip is an earlier transmission.
        if sent.times == Times::More && least.is_some_and(|least| rtt < least) {
            return;
        }
        self.rtt = rtt;
        self.latest = self.latest.max(sent.serial);
    }

    /// Segment `seq` may have been overtaken by the others that arrived.
    pub(super) fn overtaken(&mut self, seq: u32) {
        if let Some(distance @ 1..) = self.forward.checked_sub(seq) {
            self.order = Order::Broken;
            self.degree = self.degree.max(distance.min(MOST_DEGREE));
        }
    }

    /// Returns true if segments are overtaken by more than a duplicate threshold.
    pub(super) const fn is_reordering_high(&self) -> bool {
        self.degree > DUP_THRESHOLD
    }

    /// The receiver reports a duplicate that may be due to a reordering window too short.
    pub(super) fn duplicate(&mut self) {
        if self.order == Order::Broken {
            self.duplicate = Duplicate::Reported;
        }
    }

    /// RFC 8985 §6.2 step 4: a duplicate makes the window longer, once in a round trip.
    /// `sent_after` is the number of segments delivered when the latest that has arrived now was
    /// sent, `delivered` that at present.
    pub(super) fn adapt(&mut self, sent_after: u64, delivered: u64) {
        if sent_after == 0 {
            return;
        }
        if sent_after < self.grown_at {
            self.duplicate = Duplicate::None;
        }
        if self.duplicate == Duplicate::Reported {
            self.duplicate = Duplicate::None;
            self.parts = (self.parts + 1).min(MOST_PARTS);
            (self.grown_at, self.persist) = (delivered, PERSIST);
        } else if self.persist == 0 {
            self.parts = 1;
        }
    }

    /// A recovery has ended, and was not for nothing.
    pub(super) const fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// A recovery was for nothing, by duplicates.
    pub(super) fn was_spurious(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }

    /// RFC 8985 §6.2 step 4.
    fn wait(&self, flight: &Flight, trips: Trips, repairing: Repairing) -> Duration {
        let hurry = repairing == Repairing::Yes || flight.sacked() >= self.degree;
        if self.order == Order::Kept && hurry {
            return Duration::ZERO;
        }
        let part = trips.least.unwrap_or(Duration::ZERO) / REORDERING_PART;
        (part * self.parts).min(trips.smoothed.unwrap_or(Duration::ZERO))
    }

    /// Marks what is lost (RFC 8985 §6.2 step 5).
    pub(super) fn detect(
        &self,
        flight: &mut Flight,
        now: Instant,
        trips: Trips,
        repairing: Repairing,
    ) -> Detected {
        let wait = self.rtt + self.wait(flight, trips, repairing);
        let (mut found, mut lost) = (Detected::default(), Vec::new());
        for (seq, sent) in flight.sent_before(self.latest) {
            match left(wait, sent.at, now) {
                Some(rest) => found.later = found.later.max(Some(rest)),
                None => {
                    found.lost += 1;
                    found.lost_again += u32::from(sent.mark != Mark::Out);
                    lost.push(seq);
                }
            }
        }
        for seq in lost {
            flight.set(seq, Mark::Lost);
        }
        found
    }

    /// Returns true if a segment was sent less than the latest round trip ago.
    pub(super) fn is_recent(&self, sent: &Sent, now: Instant) -> bool {
        left(self.rtt, sent.at, now).is_some()
    }
}

/// The rest of a time that began at `from`, if there is one.
fn left(time: Duration, from: Instant, now: Instant) -> Option<Duration> {
    let rest = (from + time).saturating_since(now);
    (!rest.is_zero()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::segment::SackBlock;

    const TRIPS: Trips =
        Trips { smoothed: Some(Duration::from_millis(100)), least: Some(Duration::from_millis(100)) };

    fn ms(x: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(x)
    }

    /// Ten segments sent at 0, 1, … 9 ms, of which these arrive 100 ms later, in this order.
    fn after(arrivals: &[u32]) -> (Flight, Rack, Instant) {
        let (mut flight, mut rack, mut now) = (Flight::default(), Rack::default(), Instant::ZERO);
        for at in 0..10 {
            flight.send(ms(at));
        }
        for seq in arrivals {
            now = now.max(ms(100 + u64::from(*seq)));
            let one = [SackBlock::one(*seq), SackBlock::default(), SackBlock::default()];
            flight.report(&one, |seq, sent| rack.arrived(seq, &sent, now, TRIPS.least));
        }
        (flight, rack, now)
    }

    fn lost(flight: &Flight) -> Vec<u32> {
        (0..10).filter(|seq| flight.get(*seq).is_some_and(|sent| sent.mark == Mark::Lost)).collect()
    }

    #[test]
    fn one_segment_above_waits_a_quarter_of_the_round_trip() {
        // RFC 8985 §6.2: segment 0, sent at 0 ms, is lost at RACK.rtt + min_RTT / 4 = 125 ms.
        let (mut flight, rack, now) = after(&[1]);
        assert_eq!(
            rack.detect(&mut flight, now, TRIPS, Repairing::No).later,
            Some(Duration::from_millis(24))
        );
        assert_eq!(lost(&flight), [0; 0]);
        assert_eq!(
            rack.detect(&mut flight, ms(124), TRIPS, Repairing::No).later,
            Some(Duration::from_millis(1))
        );
        let found = rack.detect(&mut flight, ms(125), TRIPS, Repairing::No);
        assert_eq!(found, Detected { lost: 1, lost_again: 0, later: None });
        assert_eq!(lost(&flight), [0]);
    }

    #[test]
    fn three_above_do_not_wait() {
        let (mut flight, rack, now) = after(&[1, 2, 4]);
        rack.detect(&mut flight, now, TRIPS, Repairing::No);
        assert_eq!(lost(&flight), [0, 3]);
    }

    #[test]
    fn a_repair_under_way_does_not_wait() {
        let (mut flight, rack, now) = after(&[1]);
        assert_eq!(rack.detect(&mut flight, now, TRIPS, Repairing::Yes).later, None);
        assert_eq!(lost(&flight), [0]);
    }

    #[test]
    fn once_the_order_was_broken_everything_waits() {
        let (mut flight, rack, now) = after(&[3, 1, 4, 5, 6]);
        let rest = rack.detect(&mut flight, now, TRIPS, Repairing::Yes).later;
        // At 106 ms: 2 may still come until 127 ms.
        assert_eq!((lost(&flight), rest), (vec![], Some(Duration::from_millis(21))));
        rack.detect(&mut flight, ms(126), TRIPS, Repairing::Yes);
        assert_eq!(lost(&flight), [0]);
    }

    #[test]
    fn duplicates_lengthen_the_wait_once_a_round_trip_up_to_the_smoothed_one() {
        let (flight, mut rack, _) = after(&[3, 1]);
        let parts = |rack: &mut Rack, sent_after, delivered| {
            rack.duplicate();
            rack.adapt(sent_after, delivered);
            rack.wait(&flight, TRIPS, Repairing::Yes).as_nanos() / 1_000_000
        };
        assert_eq!(parts(&mut rack, 0, 5), 25, "nothing was delivered before");
        assert_eq!(parts(&mut rack, 1, 10), 50);
        assert_eq!(parts(&mut rack, 9, 20), 50, "sent before the window grew");
        assert_eq!(parts(&mut rack, 10, 20), 75);
        assert_eq!(parts(&mut rack, 20, 30), 100);
        assert_eq!(parts(&mut rack, 30, 40), 100, "SRTT");
        // Sixteen recoveries without a duplicate.
        (0..15).for_each(|_| rack.recovered());
        rack.adapt(41, 50);
        assert_eq!(rack.wait(&flight, TRIPS, Repairing::Yes), Duration::from_millis(100));
        rack.recovered();
        rack.adapt(51, 60);
        assert_eq!(rack.wait(&flight, TRIPS, Repairing::Yes), Duration::from_millis(25));
    }

    #[test]
    fn duplicates_without_reordering_change_nothing() {
        let (flight, mut rack, _) = after(&[1, 2]);
        rack.duplicate();
        rack.adapt(1, 2);
        assert_eq!(rack.wait(&flight, TRIPS, Repairing::No), Duration::from_millis(25));
    }

    #[test]
    fn a_lost_retransmission_is_lost_by_what_was_sent_after_it() {
        let (mut flight, mut rack, now) = after(&[1, 2, 3]);
        rack.detect(&mut flight, now, TRIPS, Repairing::No);
        flight.resend(0, ms(110), Mark::Again);
        // Nothing sent after the retransmission has arrived: 9 was sent before it.
        let nine = [SackBlock::one(9), SackBlock::default(), SackBlock::default()];
        flight.report(&nine, |seq, sent| rack.arrived(seq, &sent, ms(211), TRIPS.least));
        rack.detect(&mut flight, ms(211), TRIPS, Repairing::Yes);
        assert_eq!(lost(&flight), [4, 5, 6, 7, 8]);
        flight.send(ms(112));
        let ten = [SackBlock::one(10), SackBlock::default(), SackBlock::default()];
        flight.report(&ten, |seq, sent| rack.arrived(seq, &sent, ms(212), TRIPS.least));
        assert_eq!(rack.detect(&mut flight, ms(212), TRIPS, Repairing::Yes).lost_again, 1);
        assert_eq!(lost(&flight), [0, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn an_answer_sooner_than_any_round_trip_is_of_an_earlier_transmission() {
        let (mut flight, mut rack, now) = after(&[1, 2, 3]);
        rack.detect(&mut flight, now, TRIPS, Repairing::No);
        flight.resend(0, ms(110), Mark::Again);
        let before = rack.latest;
        flight.acknowledge(1, |seq, sent| rack.arrived(seq, &sent, ms(120), TRIPS.least));
        assert_eq!(rack.latest, before);
    }
}
