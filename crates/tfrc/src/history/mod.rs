//! The receiver's memory of the packets that came: arrivals → losses → loss events → loss intervals
//! → p.

mod count_unit;
mod dynamic_window;
mod events;
mod intervals;
pub(crate) mod length;
pub mod linux;
mod losses;
mod mean;
mod reported;
mod runs;
#[cfg(test)]
mod tests;

pub use reported::{ReportedInterval, loss_event_rate, loss_event_rate_of};
use tfrc_units::{Duration, Ecn, Instant, Probability, f64_from_u64};

use crate::config::Settings;
use crate::interval::MeasuredInterval;
use crate::rare::{Rare, common, rare};
use crate::study::{Moment, SenderClock, Stamp};
use events::{Events, FirstInterval, LossEvent};
use losses::{Cause, Congestion, Fill, Losses, Mark};

/// A loss interval as RFC 4342 §8.6 reports it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossInterval {
    /// Sequence numbers after the last loss of the interval.
    pub lossless_length: u64,
    /// Sequence numbers from the first to the last loss of the interval.
    pub loss_length: u64,
    /// Data packets, the length that counts for p; of the very first interval the synthetic length
    /// of RFC 5348 §6.3.1, or 0 before the first loss event. Where small packets are counted in
    /// units (`SizeCorrection`), the number of units.
    pub data_length: f64,
    /// Packets of it that were lost or marked, at most `loss_length` (RFC 5622 §8.7, Drop Count); 0
    /// before the first loss event.
    pub lost: u64,
}

/// A packet as the history sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) seq: u64,
    pub(crate) ecn: Ecn,
    pub(crate) is_data: bool,
    /// Packets without data known to stand directly before this one.
    pub(crate) non_data_before: u32,
    pub(crate) window_counter: u8,
    /// Bytes of data.
    pub(crate) size: u32,
    /// The sender's facts, for studies.
    pub(crate) stamp: Stamp,
    /// R as the sender last reported it.
    pub(crate) rtt: Duration,
}

/// Change that a packet made to the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// It came before, or so late that its place is forgotten.
    Duplicate,
    /// No loss event more or less.
    None,
    /// A new loss event was found.
    NewLossEvent,
    /// A late packet took a loss event back.
    LossEventRemoved,
}

/// The reception record and everything worked out from it. Bounded: it keeps the last 32 runs of
/// losses open to repair.
///
/// In the order of use: what the next packet in order touches comes first.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct LossHistory {
    highest: Option<Mark>,
    /// When the packet with the highest sequence number came.
    highest_arrived: Instant,
    /// R as the newest packet carried it.
    rtt: Duration,
    /// Mean size of the data packets of late.
    size: f64,
    /// The time of packets that separates loss events.
    clock: SenderClock,
    losses: Losses,
    /// The packet that came last, if it is not the highest.
    late: Option<Mark>,
    /// Loss events of all declared runs.
    events: Events,
    /// Loss events of the runs that are beyond repair, once there are any.
    settled: Option<Rare<Events>>,
    origin: Option<u64>,
    first_length: Option<f64>,
    non_data: u64,
    /// Data packets that came with a mark.
    marked: u64,
    /// Units received, where those are counted.
    units: f64,
    /// The least packets in a dynamic history window.
    window: f64,
}

impl LossHistory {
    pub(crate) fn new(settings: &Settings) -> Self {
        let choices = settings.algorithm.choices();
        Self {
            origin: None,
            highest: None,
            late: None,
            highest_arrived: Instant::ZERO,
            clock: SenderClock::new(choices.loss_event_timing),
            non_data: 0,
            marked: 0,
            size: 0.0,
            units: 0.0,
            rtt: Duration::ZERO,
            window: 0.0,
            losses: Losses::new(choices.lost_after),
            settled: None,
            events: Events::new(settings),
            first_length: None,
        }
    }

    /// Reads from each cache line or so.
    #[inline(always)]
    pub(crate) fn touch(&self) -> u64 {
        let times = self.highest_arrived.as_nanos() ^ self.rtt.as_nanos() ^ self.non_data;
        let parts = [
            self.highest.is_some(),
            self.late.is_some(),
            self.losses.is_any_pending(),
            self.settled.is_some(),
            self.events.units.is_some(),
            self.events.current.is_some(),
        ];
        let parts = parts.iter().fold(0, |sum, part| sum ^ u64::from(*part));
        times ^ parts ^ self.size.to_bits() ^ self.events.count
    }

    /// Says which packet will be the first, so that its loss is noticed too.
    pub(crate) fn expect(&mut self, now: Instant, first: u64) {
        if self.highest.is_none() {
            let mark = Mark { seq: first.saturating_sub(1), at: Moment::arrival(now), counter: 0 };
            self.origin = Some(first);
            self.highest = Some(mark);
            self.highest_arrived = now;
        }
    }

    /// The highest sequence number so far and when it came.
    pub(crate) fn highest(&self) -> Option<(u64, Instant)> {
        self.highest.map(|mark| (mark.seq, self.highest_arrived))
    }

    /// Data packets up to the highest sequence number, and how many of them are missing or came
    /// marked; `received` have come.
    pub(crate) fn count(&self, received: u64) -> (u64, u64) {
        let (Some(origin), Some(highest)) = (self.origin, self.highest) else { return (0, 0) };
        let packets = highest.seq.saturating_add(1).saturating_sub(origin).saturating_sub(self.non_data);
        let unmarked = received.saturating_sub(self.marked);
        (packets, packets.saturating_sub(unmarked))
    }

    /// The synthetic length of the first loss interval (RFC 5348 §6.3.1), once there was a first
    /// loss event.
    pub(crate) const fn first_interval_length(&self) -> Option<f64> {
        self.first_length
    }

    /// Loss events so far.
    pub(crate) const fn loss_events(&self) -> u64 {
        self.events.count
    }

    /// The packet that came last.
    fn last_arrival(&self) -> Option<Mark> {
        self.late.or(self.highest)
    }

    /// The window counter of the packet with the highest sequence number, counted on without
    /// wrapping.
    pub(crate) fn window_counter(&self) -> u64 {
        self.highest.map_or(0, |mark| mark.counter)
    }

    /// p (RFC 5348 §5.4, §5.5); zero before the first loss event (§5).
    pub(crate) fn loss_event_rate(&self) -> Probability {
        if self.events.counts_by_reports()
            && let (Some(event), Some(highest)) = (self.events.current, self.highest)
        {
            let packets = self.open_packets(&event, self.open_end(highest));
            let open = MeasuredInterval { packets, lost: event.lost, round_trips: 0.0, size: self.size };
            let length = self.events.open_length(&event.record.open(open));
            return self.events.intervals.discounted_rate(length, packets, self.window);
        }
        self.events.intervals.loss_event_rate(self.open_length(), self.window)
    }

    /// A report is about to be made: rules of a study may use the open interval at that time.
    pub(crate) fn on_report(&mut self, now: Instant) {
        let (Some(event), Some(highest)) = (self.events.current, self.highest) else { return };
        if !self.events.discounts_by_reports() || self.rtt.is_zero() {
            return;
        }
        let packets = self.open_packets(&event, self.open_end(highest));
        let round_trips = self.events.open_round_trips(highest, self.rtt);
        let held = now.saturating_since(self.highest_arrived).as_secs_f64() / self.rtt.as_secs_f64();
        if let Some(event) = &mut self.events.current {
            event.record.on_report(packets, round_trips, held);
        }
    }

    /// Sets the least length of a dynamic history window, in packets.
    pub(crate) fn set_window(&mut self, packets: f64) {
        self.window = packets;
    }

    /// Takes in a packet: see [`LossHistory::take`].
    #[cfg(test)]
    pub(crate) fn on_packet(
        &mut self,
        now: Instant,
        seen: &Seen,
        first_interval: impl FnOnce(FirstLoss) -> f64,
    ) -> Change {
        if self.append(now, seen) { Change::None } else { self.take(now, seen, first_interval) }
    }

    /// Fast path for the next expected packet without a mark while no packet is missing. Returns
    /// true if it applied.
    #[inline]
    pub(crate) fn append(&mut self, now: Instant, seen: &Seen) -> bool {
        let Some(highest) = self.highest else { return false };
        let ordinary = highest.seq.checked_add(1) == Some(seen.seq)
            && seen.is_data
            && seen.ecn != Ecn::Ce
            && !self.losses.is_any_pending()
            && self.events.units.is_none();
        if ordinary {
            let at = self.clock.moment(now, &seen.stamp);
            self.rise(now, at, seen);
            self.rtt = seen.rtt;
            self.add_size(seen, false);
        }
        ordinary
    }

    /// The packet is the highest from now on; `at` is its time for loss events.
    fn rise(&mut self, now: Instant, at: Moment, seen: &Seen) -> Mark {
        let counter = self
            .highest
            .map_or(u64::from(seen.window_counter & 15), |h| advance(h.counter, seen.window_counter));
        let mark = Mark { seq: seen.seq, at, counter };
        self.highest = Some(mark);
        self.late = None;
        self.highest_arrived = now;
        mark
    }

    /// Takes in any packet: new, late into its hole (RFC 5348 §5.1), or a duplicate.
    /// `first_interval` is asked for the synthetic interval of §6.3.1 when the first loss event is
    /// found; its argument says whether the connection's very first packet was the one lost.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        seen: &Seen,
        first_interval: impl FnOnce(FirstLoss) -> f64,
    ) -> Change {
        let origin = *self.origin.get_or_insert(seen.seq);
        let marked = seen.ecn == Ecn::Ce && seen.is_data;
        let last_arrival = self.last_arrival();
        let at = self.clock.moment(now, &seen.stamp);
        let events_before = self.events.count;
        let mut replay = false;
        let mark = match self.highest {
            Some(highest) if seen.seq <= highest.seq => {
                let (fill, out) = self.losses.fill(seen.seq);
                self.settle(out, origin);
                let before = match fill {
                    Fill::NotMissing => return Change::Duplicate,
                    Fill::Pending { before } => before,
                    Fill::Lost { before } => {
                        replay = true;
                        before
                    }
                };
                let counter = advance(before.counter, seen.window_counter);
                let mark = Mark { seq: seen.seq, at, counter };
                self.late = Some(mark);
                mark
            }
            before => {
                let mark = self.rise(now, at, seen);
                if let (Some(highest), Some(last_arrival)) = (before, last_arrival) {
                    self.add_hole(origin, highest, last_arrival, mark, seen);
                }
                mark
            }
        };
        self.rtt = seen.rtt;
        if seen.is_data {
            self.add_size(seen, marked);
        } else {
            self.non_data += 1;
        }
        let highest = self.highest.map_or(seen.seq, |h| h.seq);
        let mut declared = self.losses.count_arrival(seen.seq, highest);
        if marked {
            self.marked += 1;
            let counter_before = last_arrival.map_or(mark.counter, |m| m.counter);
            let cause = Cause::Marked { at, counter_before };
            let declared_before = self.losses.declared().count();
            let run = Congestion {
                found_at: highest,
                non_data_below: self.non_data,
                size: f64::from(seen.size),
                units: self.units,
                ..Congestion::new(seen.seq, seen.seq, cause, seen.rtt)
            };
            let (disorder, out) = self.losses.add_mark(run);
            replay |= disorder;
            let forgotten = usize::from(out.is_some());
            declared += (self.losses.declared().count() + forgotten).saturating_sub(declared_before);
            self.settle(out, origin);
        }
        self.bring_up_to_date(origin, declared, replay, first_interval);
        match self.events.count.cmp(&events_before) {
            core::cmp::Ordering::Greater => Change::NewLossEvent,
            core::cmp::Ordering::Equal => Change::None,
            core::cmp::Ordering::Less => Change::LossEventRemoved,
        }
    }

    /// The missing packets up to this one are lost, whether or not enough later ones have come: a
    /// hole that reaches further counts whole. For `first_interval` see [`LossHistory::take`].
    pub(crate) fn declare_lost(
        &mut self,
        up_to: u64,
        first_interval: impl FnOnce(FirstLoss) -> f64,
    ) -> Change {
        let (Some(highest), Some(origin)) = (self.highest, self.origin) else { return Change::None };
        let events_before = self.events.count;
        let declared = self.losses.declare(up_to, highest.seq);
        self.bring_up_to_date(origin, declared, false, first_interval);
        if self.events.count > events_before { Change::NewLossEvent } else { Change::None }
    }

    /// Up to this many of the newest packets are in no loss interval because a hole among them may
    /// still be filled (RFC 4342 §6.1, §8.6.1: Skip Length, at most 3).
    pub(crate) fn skip_length(&self) -> u64 {
        match (self.losses.first_pending(), self.highest) {
            (Some(first), Some(highest)) => (highest.seq - first + 1).min(3),
            _ => 0,
        }
    }

    /// Newest first, the open interval included (RFC 4342 §8.6).
    pub(crate) fn loss_intervals(&self) -> impl Iterator<Item = LossInterval> + '_ {
        let end = self.highest.map_or(0, |h| (h.seq + 1).saturating_sub(self.skip_length()));
        let open = match (self.events.current, self.origin) {
            (Some(event), _) => {
                let end = end.max(event.last + 1);
                LossInterval {
                    lossless_length: end - event.last - 1,
                    loss_length: event.last - event.first + 1,
                    data_length: self.open_packets(&event, end),
                    lost: event.lost,
                }
            }
            (None, origin) => LossInterval {
                lossless_length: end.saturating_sub(origin.unwrap_or(end)),
                loss_length: 0,
                data_length: 0.0,
                lost: 0,
            },
        };
        core::iter::once(open).chain(self.events.intervals.iter().map(|i| LossInterval {
            lossless_length: i.lossless,
            loss_length: i.lossy,
            data_length: i.packets,
            lost: i.lost,
        }))
    }

    /// I_0, or `None` if it must not count. Without an event it is 0.
    fn open_length(&self) -> Option<f64> {
        let (Some(event), Some(highest)) = (self.events.current, self.highest) else { return Some(0.0) };
        let round_trips = self.events.open_round_trips(highest, self.rtt);
        let packets = self.open_packets(&event, self.open_end(highest));
        self.events.open_length(&MeasuredInterval { packets, lost: event.lost, round_trips, size: self.size })
    }

    /// S_C + 1, or S_C where the first packet does not count.
    fn open_end(&self, highest: Mark) -> u64 {
        (highest.seq + 1).saturating_sub(self.events.intervals.open_policy().uncounted())
    }

    /// I_0 = S_C − S_A + 1 (RFC 5348 §5.3) with `end` = S_C + 1, packets without data left out
    /// (RFC 4342 §6.1.1).
    fn open_packets(&self, event: &LossEvent, end: u64) -> f64 {
        match &self.events.units {
            None => {
                let packets = end.saturating_sub(event.first);
                let non_data = self.non_data.saturating_sub(event.non_data_below);
                f64_from_u64(packets.saturating_sub(non_data).max(1))
            }
            Some(units) => (units.total(self.units) - event.position).max(1.0),
        }
    }

    /// A data packet's size goes into the mean and, unless it is marked, into the units received.
    fn add_size(&mut self, seen: &Seen, marked: bool) {
        /// Weight of the newest packet.
        const GAIN: f64 = 0.05;
        let size = f64::from(seen.size);
        if size != self.size {
            self.size = if self.size > 0.0 { self.size + GAIN * (size - self.size) } else { size };
        }
        if let (Some(units), false) = (&self.events.units, marked) {
            self.units += units.received(seen.seq, size);
        }
    }

    /// The packets between the highest so far and this one are missing, but for those known to
    /// carry no data. S_before of RFC 5348 §5.2 is the last to arrive, not the highest.
    fn add_hole(&mut self, origin: u64, highest: Mark, last_arrival: Mark, mark: Mark, seen: &Seen) {
        // Times of sending follow the sequence, times of arrival need not.
        let before = if self.clock.is_in_use() { highest } else { last_arrival };
        let missing = mark.seq - highest.seq - 1;
        let non_data = u64::from(seen.non_data_before).min(missing);
        if missing > non_data {
            let cause = Cause::Missing { before, after: mark };
            // Before the first packet arrives there is no mean size but that of the one that shows
            // the hole.
            let size = if self.size > 0.0 { self.size } else { f64::from(seen.size) };
            let run = Congestion {
                non_data_below: self.non_data,
                size,
                units: self.units,
                ..Congestion::new(highest.seq + 1, mark.seq - 1 - non_data, cause, seen.rtt)
            };
            let out = self.losses.add_hole(run);
            self.settle(out, origin);
        }
        self.non_data += non_data;
    }

    /// A run that has fallen out of the window of repair is decided for good.
    fn settle(&mut self, out: Option<Congestion>, origin: u64) {
        if let Some(run) = out {
            let first = FirstInterval { origin, length: self.first_length.unwrap_or(1.0) };
            self.settled.get_or_insert_with(|| rare(self.events.emptied())).add(&run, first);
        }
    }

    fn bring_up_to_date(
        &mut self,
        origin: u64,
        declared: usize,
        replay: bool,
        first_interval: impl FnOnce(FirstLoss) -> f64,
    ) {
        if declared == 0 && !replay {
            return;
        }
        if self.events.current.is_none()
            && let Some(run) = self.losses.declared().next()
        {
            let first = if run.first == origin { FirstLoss::FirstPacket } else { FirstLoss::Later };
            self.first_length = Some(first_interval(first));
        }
        let first = FirstInterval { origin, length: self.first_length.unwrap_or(1.0) };
        if replay {
            self.events = match self.settled.clone() {
                Some(settled) => common(settled),
                None => self.events.emptied(),
            };
            for run in self.losses.declared() {
                self.events.add(&run, first);
            }
        } else {
            for run in self.losses.newly_declared(declared) {
                self.events.add(&run, first);
            }
        }
    }
}

/// Which packet began the first loss event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstLoss {
    /// The connection's very first one: the interval before it is empty.
    FirstPacket,
    /// Any other.
    Later,
}

/// The four-bit counter `low` as the next value at or after `reference` that ends in it.
fn advance(reference: u64, low: u8) -> u64 {
    let step = (u64::from(low & 15) + 16 - reference % 16) % 16;
    reference + step
}
