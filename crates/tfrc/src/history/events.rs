//! From lost and marked packets to loss events (RFC 5348 §5.2; RFC 4342 §10.2) and their intervals (§5.3).

use tfrc_units::{Duration, Instant, f64_from_u64};

use crate::config::{LossEventTiming, MAX_INTERVALS, Settings};
use crate::history::intervals::{ClosedInterval, Intervals};
use crate::history::losses::{Cause, Congestion, Mark};

/// The loss event that began the current interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LossEvent {
    /// S_A, the packet that started it.
    pub(crate) first: u64,
    /// When that packet arrived or would have.
    at: Instant,
    /// The window counter just before it.
    counter_before: u64,
    /// S_C when it was found.
    found_at: u64,
    /// The last lost or marked packet in it.
    pub(crate) last: u64,
    /// Packets without data below `first`.
    pub(crate) non_data_below: u64,
}

/// All loss events so far.
#[derive(Debug, Clone)]
pub(crate) struct Events {
    pub(crate) intervals: Intervals,
    pub(crate) current: Option<LossEvent>,
    /// How many there have been.
    pub(crate) count: u64,
    timing: LossEventTiming,
}

/// What the first loss event needs to know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FirstInterval {
    /// Sequence number of the connection's first packet.
    pub(crate) origin: u64,
    /// The synthetic length of RFC 5348 §6.3.1.
    pub(crate) length: f64,
}

/// The window counter steps by quarters of a round-trip time: more than four are a new loss event (RFC 4342 §10.2).
const QUARTERS: u64 = 4;

impl Events {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            intervals: Intervals::new(settings),
            current: None,
            count: 0,
            timing: settings.loss_event_timing,
        }
    }

    /// Takes in a run above all runs taken in before.
    pub(crate) fn add(&mut self, run: &Congestion, first_interval: FirstInterval) {
        match (run.cause, self.timing) {
            (Cause::Missing { before, after }, LossEventTiming::ArrivalTime) => {
                self.add_missing_by_time(run, before, after, first_interval);
            }
            (Cause::Missing { before, .. }, LossEventTiming::WindowCounter) => {
                let begins =
                    self.current.is_none_or(|e| before.counter.saturating_sub(e.counter_before) > QUARTERS);
                self.add_whole(run, begins, before.at, before.counter, first_interval);
            }
            (Cause::Marked { at, counter_before }, timing) => {
                let begins = self.current.is_none_or(|e| match timing {
                    LossEventTiming::ArrivalTime => e.at + run.rtt < at,
                    LossEventTiming::WindowCounter => {
                        counter_before.saturating_sub(e.counter_before) > QUARTERS
                    }
                });
                self.add_whole(run, begins, at, counter_before, first_interval);
            }
        }
    }

    fn add_whole(
        &mut self,
        run: &Congestion,
        begins: bool,
        at: Instant,
        counter_before: u64,
        first: FirstInterval,
    ) {
        if begins {
            let event = LossEvent {
                first: run.first,
                at,
                counter_before,
                found_at: run.found_at,
                last: run.last,
                non_data_below: run.non_data_below,
            };
            self.begin(event, first);
        } else if let Some(event) = &mut self.current {
            event.last = run.last;
        }
    }

    /// Nominal arrival times lie evenly between those of the packets around the hole (RFC 5348 §5.2), so loss events
    /// begin at even steps too and a hole of any length takes bounded work.
    fn add_missing_by_time(
        &mut self,
        run: &Congestion,
        before: Mark,
        after: Mark,
        first_interval: FirstInterval,
    ) {
        let span = after.at.saturating_since(before.at);
        let steps = after.seq - before.seq;
        // Packets k (counted from S_before) whose nominal time is at most `limit` after T_before: k ≤ limit·steps/span.
        let within = |limit: Duration| -> u64 {
            let k =
                (u128::from(limit.as_nanos()) * u128::from(steps)).checked_div(u128::from(span.as_nanos()));
            k.map_or(u64::MAX, |k| u64::try_from(k).unwrap_or(u64::MAX))
        };
        let (first_k, last_k) = (run.first - before.seq, run.last - before.seq);
        let start_k = match self.current {
            None => first_k,
            Some(event) => match (event.at + run.rtt).checked_since(before.at) {
                None => first_k,
                Some(limit) => within(limit).saturating_add(1).max(first_k),
            },
        };
        if let Some(event) = &mut self.current
            && start_k > first_k
        {
            event.last = before.seq + (start_k - 1).min(last_k);
        }
        if start_k > last_k {
            return;
        }
        let step = within(run.rtt).saturating_add(1);
        let events = (last_k - start_k) / step + 1;
        // All but the outermost of the intervals inside the hole are alike: past what the history holds they are only counted.
        let few = u64::try_from(2 * MAX_INTERVALS).unwrap_or(u64::MAX);
        let skip_from = events.min(few);
        let skipped = events - skip_from;
        for j in 0..skip_from {
            let j = if j + 1 == skip_from { events - 1 } else { j };
            let k = start_k + j * step;
            let at = before.at + Duration::from_nanos(interpolate(span, k, steps));
            let event = LossEvent {
                first: before.seq + k,
                at,
                counter_before: before.counter,
                found_at: run.found_at,
                last: before.seq + k.saturating_add(step - 1).min(last_k),
                non_data_below: run.non_data_below,
            };
            if skipped > 0 && j + 1 == events {
                // Pretend the last of the skipped ones was the current event, so that the interval closed now has its length.
                if let Some(current) = &mut self.current {
                    current.first = event.first - step;
                    current.last = event.first - 1;
                }
            }
            self.begin(event, first_interval);
        }
        self.count += skipped;
    }

    fn begin(&mut self, event: LossEvent, first: FirstInterval) {
        match self.current {
            None => {
                let lossless = event.first.saturating_sub(first.origin);
                let ended = ClosedInterval { length: first.length, discount: 1.0, lossy: 0, lossless };
                self.intervals.close(ended, first.length);
            }
            Some(current) => {
                let packets = event.first.saturating_sub(current.first);
                let non_data = event.non_data_below.saturating_sub(current.non_data_below);
                let length = f64_from_u64(packets.saturating_sub(non_data).max(1));
                let lossy = (current.last + 1).saturating_sub(current.first).min(packets);
                let ended = ClosedInterval { length, discount: 1.0, lossy, lossless: packets - lossy };
                // No packet has arrived between two events that were found together: DF is still at 1 (§5.5).
                let grown_to = if event.found_at == current.found_at {
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

/// `span · k / steps`, rounded up to a nanosecond: a packet exactly a round-trip time after the first loss still belongs to its
/// event (RFC 5348 §5.2), and rounding must not undo that.
fn interpolate(span: Duration, k: u64, steps: u64) -> u64 {
    let ns = (u128::from(span.as_nanos()) * u128::from(k)).div_ceil(u128::from(steps.max(1)));
    u64::try_from(ns).unwrap_or(u64::MAX)
}
