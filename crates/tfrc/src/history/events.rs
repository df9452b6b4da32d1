//! From lost and marked packets to loss events (RFC 5348 §5.2; RFC 4342 §10.2) and their intervals
//! (§5.3).

use tfrc_units::{Duration, Instant, f64_from_u64, saturating};

use crate::config::{PacketSize, Settings};
use crate::history::count_unit::Units;
use crate::history::intervals::{ClosedInterval, Intervals};
use crate::history::length::LengthRule;
use crate::history::losses::{Cause, Congestion, Mark};
use crate::interval::MeasuredInterval;
use crate::rare::{Rare, rare};
use crate::study::{LossEventTiming, MAX_INTERVALS, Moment, OpenRecord, SizeCorrection};

/// The loss event that began the current interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LossEvent {
    /// S_A, the packet that started it.
    pub(crate) first: u64,
    /// When that packet arrived or would have, or when it was sent, as the timing says.
    at: Moment,
    /// The window counter just before it.
    counter_before: u64,
    /// S_C when it was found.
    found_at: u64,
    /// The last lost or marked packet in it.
    pub(crate) last: u64,
    /// Packets lost or marked in it.
    pub(crate) lost: u64,
    /// Packets without data below `first`.
    pub(crate) non_data_below: u64,
    /// Units before it, where those are counted.
    pub(crate) position: f64,
    /// Record of the interval that it began, for rules of a study.
    pub(crate) record: OpenRecord,
}

/// All loss events so far.
///
/// In the order of use: each packet asks for the number and the units.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Events {
    /// Number of loss events so far.
    pub(crate) count: u64,
    pub(crate) units: Option<Rare<Units>>,
    pub(crate) current: Option<LossEvent>,
    pub(crate) intervals: Intervals,
    timing: LossEventTiming,
    length: LengthRule,
    insensitive: InsensitivePeriod,
}

/// Beginning and synthetic length of the first loss interval, for the first loss event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FirstInterval {
    /// Sequence number of the connection's first packet.
    pub(crate) origin: u64,
    /// The synthetic length of RFC 5348 §6.3.1.
    pub(crate) length: f64,
}

/// How long after the first loss of an event further ones belong to it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum InsensitivePeriod {
    /// R (RFC 5348 §5.2).
    RoundTrip,
    /// R·s/S: what packets of size S would be sent in becomes what packets of size s are sent in
    /// (Widmer et al., LIP scaling).
    Scaled {
        /// S, bytes.
        reference: f64,
    },
    /// Each loss is an event.
    None,
}

/// The window counter steps by quarters of a round-trip time: more than four are a new loss event
/// (RFC 4342 §10.2).
const QUARTERS: f64 = 4.0;

/// Most packets of one hole that are looked at one by one where units are counted; of a longer hole
/// every second, third…
const EXAMINED: u64 = 1024;

impl Events {
    pub(crate) fn new(settings: &Settings) -> Self {
        let insensitive = match settings.packet_size {
            PacketSize::Reference { correction: SizeCorrection::LipScaling, segment } => {
                InsensitivePeriod::Scaled { reference: f64::from(segment) }
            }
            PacketSize::Reference { correction: SizeCorrection::DropRate, .. } => InsensitivePeriod::None,
            _ => InsensitivePeriod::RoundTrip,
        };
        Self {
            intervals: Intervals::new(settings),
            current: None,
            count: 0,
            timing: settings.algorithm.choices().loss_event_timing,
            length: LengthRule::new(&settings.packet_size),
            insensitive,
            units: Units::new(&settings.packet_size).map(rare),
        }
    }

    /// These rules without any loss event.
    pub(crate) fn emptied(&self) -> Self {
        Self {
            intervals: self.intervals.emptied(),
            current: None,
            count: 0,
            timing: self.timing,
            length: self.length,
            insensitive: self.insensitive,
            units: self.units.as_ref().map(|units| rare(units.emptied())),
        }
    }

    /// Takes in a run above all runs taken in before.
    pub(crate) fn add(&mut self, run: &Congestion, first_interval: FirstInterval) {
        if self.units.is_some() {
            self.add_units(run, first_interval);
            return;
        }
        match (run.cause, self.timing) {
            (Cause::Missing { before, .. }, LossEventTiming::WindowCounter) => {
                self.add_whole(run, Loss::at(run.first, before), first_interval);
            }
            (Cause::Missing { before, after }, _) => {
                self.add_missing_by_time(run, before, after, first_interval);
            }
            (Cause::Marked { at, counter_before }, _) => {
                self.add_whole(run, Loss { seq: run.first, at, counter_before }, first_interval);
            }
        }
    }

    /// How long ago the current loss event began, in round-trip times; infinite if there is none or
    /// R is zero.
    pub(crate) fn open_round_trips(&self, now: Mark, rtt: Duration) -> f64 {
        self.current.map_or(f64::INFINITY, |e| self.round_trips(&e, now.at.at, now.counter, rtt))
    }

    /// The length of the open interval, `None` if it must not count.
    pub(crate) fn open_length(&self, open: &MeasuredInterval) -> Option<f64> {
        self.length.open_counts(open.round_trips).then(|| self.length.length(open))
    }

    /// Returns true if intervals are short or long as the latest report found them.
    pub(crate) fn counts_by_reports(&self) -> bool {
        self.length == LengthRule::ByReports
    }

    /// Returns true if discounts carried over follow the open interval at the latest report.
    pub(crate) fn discounts_by_reports(&self) -> bool {
        self.intervals.open_policy().discounts_by_reports() || self.counts_by_reports()
    }

    fn round_trips(&self, since: &LossEvent, at: Instant, counter: u64, rtt: Duration) -> f64 {
        if self.timing == LossEventTiming::WindowCounter {
            return f64_from_u64(counter.saturating_sub(since.counter_before)) / QUARTERS;
        }
        let lasted = f64_from_u64(at.saturating_since(since.at.at).as_nanos());
        if rtt.is_zero() { f64::INFINITY } else { lasted / f64_from_u64(rtt.as_nanos()) }
    }

    /// Returns true if a loss begins a new event (RFC 5348 §5.2; RFC 4342 §10.2).
    fn begins(&self, loss: &Loss, run: &Congestion) -> bool {
        let Some(event) = self.current else { return true };
        if self.insensitive == InsensitivePeriod::None {
            return true;
        }
        match self.timing {
            LossEventTiming::WindowCounter => {
                let scale = match self.insensitive {
                    InsensitivePeriod::Scaled { reference } => run.size / reference,
                    InsensitivePeriod::RoundTrip | InsensitivePeriod::None => 1.0,
                };
                f64_from_u64(loss.counter_before.saturating_sub(event.counter_before)) > QUARTERS * scale
            }
            timing if timing.is_in_round_of(loss.at, event.at) => false,
            _ => event.at.at + self.period(run) < loss.at.at,
        }
    }

    /// The loss-insensitive period.
    fn period(&self, run: &Congestion) -> Duration {
        match self.insensitive {
            InsensitivePeriod::RoundTrip => run.rtt,
            InsensitivePeriod::Scaled { reference } => run.rtt.mul_f64(run.size / reference),
            InsensitivePeriod::None => Duration::ZERO,
        }
    }

    /// A run that lies in one event as a whole.
    fn add_whole(&mut self, run: &Congestion, loss: Loss, first: FirstInterval) {
        let lost = run.last - run.first + 1;
        if self.begins(&loss, run) {
            self.begin(LossEvent { last: run.last, lost, ..loss.event(run) }, run, first);
        } else if let Some(event) = &mut self.current {
            event.last = run.last;
            event.lost += lost;
            event.record.add(lost);
        }
    }

    /// Losses one by one where not every lost packet is a unit lost. Of a hole too long for that,
    /// each packet examined stands for several.
    fn add_units(&mut self, run: &Congestion, first: FirstInterval) {
        let stride = ((run.last - run.first) / EXAMINED).saturating_add(1);
        let mut seq = run.first;
        while seq <= run.last {
            let packets = stride.min(run.last - seq + 1);
            let loss = match run.cause {
                Cause::Missing { before, after } => {
                    let span = after.at.at.saturating_since(before.at.at);
                    let steps = after.seq - before.seq;
                    let at = before.at.at + Duration::from_nanos(interpolate(span, seq - before.seq, steps));
                    Loss { at: after.at.moved_to(at), ..Loss::at(seq, before) }
                }
                Cause::Marked { at, counter_before } => Loss { seq, at, counter_before },
            };
            let size = run.size * f64_from_u64(packets);
            let position = self.units.as_mut().and_then(|units| units.lose(seq, size, run.units));
            let last = seq + packets - 1;
            match position {
                Some(position) if self.begins(&loss, run) => {
                    let event = LossEvent { position, last, lost: packets, ..loss.event(run) };
                    self.begin(event, run, first);
                }
                _ => {
                    if let Some(event) = &mut self.current {
                        event.last = last;
                        event.lost += packets;
                        event.record.add(packets);
                    }
                }
            }
            seq = last.saturating_add(1);
        }
    }

    /// Nominal arrival times lie evenly between those of the packets around the hole
    /// (RFC 5348 §5.2), so loss events begin at even steps too and a hole of any length takes
    /// bounded work.
    fn add_missing_by_time(
        &mut self,
        run: &Congestion,
        before: Mark,
        after: Mark,
        first_interval: FirstInterval,
    ) {
        let span = after.at.at.saturating_since(before.at.at);
        let steps = after.seq - before.seq;
        // Packets k (counted from S_before) whose nominal time is at most `limit` after T_before: k
        // ≤ limit·steps/span.
        let within = |limit: Duration| -> u64 {
            let (limit, span) = (limit.as_nanos(), span.as_nanos());
            if let Some(product) = limit.checked_mul(steps) {
                return product.checked_div(span).unwrap_or(u64::MAX);
            }
            let k = (u128::from(limit) * u128::from(steps)).checked_div(u128::from(span));
            k.map_or(u64::MAX, saturating::<u64>)
        };
        let (first_k, last_k) = (run.first - before.seq, run.last - before.seq);
        let start_k = match self.current {
            None => first_k,
            Some(event) if self.timing.is_in_round_of(after.at, event.at) => u64::MAX,
            Some(event) => match (event.at.at + self.period(run)).checked_since(before.at.at) {
                None => first_k,
                Some(limit) => within(limit).saturating_add(1).max(first_k),
            },
        };
        if let Some(event) = &mut self.current
            && start_k > first_k
        {
            let last = before.seq + (start_k - 1).min(last_k);
            event.last = last;
            event.lost += last - run.first + 1;
            event.record.add(last - run.first + 1);
        }
        if start_k > last_k {
            return;
        }
        let step = if self.timing.is_hole_one_event() {
            u64::MAX
        } else {
            within(self.period(run)).saturating_add(1)
        };
        let events = (last_k - start_k) / step + 1;
        // All but the outermost of the intervals inside the hole are alike: past what the history
        // holds they are only counted.
        let few = saturating::<u64>(2 * MAX_INTERVALS);
        let skip_from = events.min(few);
        let skipped = events - skip_from;
        for j in 0..skip_from {
            let j = if j + 1 == skip_from { events - 1 } else { j };
            let k = start_k + j * step;
            let nominal =
                |k: u64| after.at.moved_to(before.at.at + Duration::from_nanos(interpolate(span, k, steps)));
            let last = before.seq + k.saturating_add(step - 1).min(last_k);
            let loss = Loss { at: nominal(k), ..Loss::at(before.seq + k, before) };
            let event = LossEvent { last, lost: last - loss.seq + 1, ..loss.event(run) };
            if skipped > 0 && j + 1 == events {
                // The last of the skipped events takes the place of the current one: the interval
                // that is closed now has its length.
                if let Some(current) = &mut self.current {
                    current.first = event.first - step;
                    current.last = event.first - 1;
                    current.lost = step;
                    current.at = nominal(k - step);
                }
            }
            self.begin(event, run, first_interval);
        }
        self.count += skipped;
    }

    fn begin(&mut self, event: LossEvent, run: &Congestion, first: FirstInterval) {
        match self.current {
            None => {
                let ended = ClosedInterval {
                    packets: first.length,
                    length: first.length,
                    discount: 1.0,
                    lossy: 0,
                    lossless: event.first.saturating_sub(first.origin),
                    lost: 0,
                };
                self.intervals.close(ended, first.length);
            }
            Some(current) => {
                let sequence = event.first.saturating_sub(current.first);
                let non_data = event.non_data_below.saturating_sub(current.non_data_below);
                let packets = match self.units {
                    None => f64_from_u64(sequence.saturating_sub(non_data).max(1)),
                    Some(_) => (event.position - current.position).max(1.0),
                };
                let round_trips = self.round_trips(&current, event.at.at, event.counter_before, run.rtt);
                let measured = MeasuredInterval { packets, lost: current.lost, round_trips, size: run.size };
                let measured = if self.counts_by_reports() {
                    current.record.closed(measured, (run.last + 1).saturating_sub(event.first))
                } else {
                    measured
                };
                let length = self.length.length(&measured);
                let lossy = (current.last + 1).saturating_sub(current.first).min(sequence);
                let ended = ClosedInterval {
                    packets,
                    length,
                    discount: 1.0,
                    lossy,
                    lossless: sequence - lossy,
                    lost: current.lost,
                };
                // No packet has arrived between two events that were found together, and a short
                // interval of TFRC-SP never was in the mean: DF is still at 1 (§5.5).
                let grown_to = if self.discounts_by_reports() {
                    current.record.grown_to()
                } else if event.found_at == current.found_at || !self.length.open_counts(round_trips) {
                    0.0
                } else {
                    length + f64_from_u64((event.found_at + 1).saturating_sub(event.first))
                };
                self.intervals.close(ended, grown_to);
            }
        }
        self.current = Some(event);
        self.count += 1;
    }
}

/// A lost or marked packet, as far as telling events apart goes.
#[derive(Debug, Clone, Copy)]
struct Loss {
    seq: u64,
    at: Moment,
    counter_before: u64,
}

impl Loss {
    /// A missing packet with what is known of the one before the hole.
    const fn at(seq: u64, before: Mark) -> Self {
        Self { seq, at: before.at, counter_before: before.counter }
    }

    /// The event that it starts, alone in it.
    const fn event(self, run: &Congestion) -> LossEvent {
        LossEvent {
            first: self.seq,
            at: self.at,
            counter_before: self.counter_before,
            found_at: run.found_at,
            last: self.seq,
            lost: 1,
            non_data_below: run.non_data_below,
            position: 0.0,
            record: OpenRecord::NEW,
        }
    }
}

/// `span · k / steps`, rounded up to a nanosecond: a packet exactly a round-trip time after the
/// first loss still belongs to its event (RFC 5348 §5.2), and rounding must not undo that.
fn interpolate(span: Duration, k: u64, steps: u64) -> u64 {
    let (span, steps) = (span.as_nanos(), steps.max(1));
    if let Some(product) = span.checked_mul(k) {
        return product.div_ceil(steps);
    }
    let ns = (u128::from(span) * u128::from(k)).div_ceil(u128::from(steps));
    saturating::<u64>(ns)
}
