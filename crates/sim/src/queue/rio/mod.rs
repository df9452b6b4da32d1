//! RED with in and out: Clark and Fang 1998, for up to three drop precedences (RFC 2597).

use std::collections::VecDeque;
#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema};

use tfrc_units::{Instant, Probability, f64_from_u64, saturating};

use super::{Arrival, Limit, LineState, Marking, QueueState, QueueVerdict};
use crate::Stream;
use crate::packet::Precedence;
use crate::trace::DropCause;

/// RED with a curve for each drop precedence. Averages are in packets; intervals between drops are
/// uniform over 1 … 1/p − 1 packets of the same precedence; above the upper threshold every packet
/// is dropped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rio {
    /// How much fits at all, all precedences together.
    pub limit: Limit,
    /// Which packets each precedence's average counts.
    pub coupling: Coupling,
    /// The curves for [`Precedence::Low`], `Medium`, `High`.
    pub curves: [RioCurve; 3],
    /// Weight of a new sample in the averages; 0.002 in ns-2.
    pub weight: f64,
    /// Bytes of a typical packet, for the decay over idle times.
    pub mean_packet: u32,
    /// Treatment of ECN-capable packets below the upper threshold.
    pub marking: Marking,
}

/// Which packets the average of a precedence counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Coupling {
    /// RIO-C: those of its own and of all lower precedences, so the lowest one sees only itself.
    Coupled,
    /// RIO-D: only its own.
    Decoupled,
}

/// RED's curve for one precedence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RioCurve {
    /// Below this average nothing is dropped early, packets.
    pub min: f64,
    /// From this average on everything is dropped, packets.
    pub max: f64,
    /// Drop probability just below the upper threshold.
    pub max_p: Probability,
}

impl Rio {
    /// Two precedences, in and out of profile; packets of the third are treated as out.
    #[must_use]
    pub const fn two(limit: Limit, coupling: Coupling, within: RioCurve, out: RioCurve) -> Self {
        Self {
            limit,
            coupling,
            curves: [within, out, out],
            weight: 0.002,
            mean_packet: 1000,
            marking: Marking::Off,
        }
    }

    pub(crate) fn fault(&self) -> Option<&'static str> {
        if self.mean_packet == 0 {
            return Some("RIO's mean packet must have at least one byte");
        }
        if !(self.weight > 0.0 && self.weight <= 1.0) {
            return Some("RIO's weight must be above 0 and at most 1");
        }
        if self.curves.iter().any(|c| !(c.min >= 0.0 && c.max > c.min && c.max.is_finite())) {
            return Some("RIO's upper thresholds must be above the lower ones, and those not negative");
        }
        None
    }
}

/// The state of a RIO queue.
#[derive(Debug)]
pub(crate) struct RioProcess {
    rio: Rio,
    tracks: [Track; 3],
    /// Precedence of each packet that waits, and when it leaves the queue.
    held: VecDeque<(Precedence, Instant)>,
}

/// State of one precedence.
#[derive(Debug, Clone, Copy)]
struct Track {
    /// Packets that wait and count for this precedence.
    length: u64,
    average: f64,
    probability: f64,
    /// Packets since the latest drop; `None` while the average is below the lower threshold.
    since_drop: Option<u64>,
    /// Since when none waits.
    empty_since: Instant,
}

impl RioProcess {
    pub(crate) fn new(rio: Rio) -> Self {
        let track =
            Track { length: 0, average: 0.0, probability: 0.0, since_drop: None, empty_since: Instant::ZERO };
        Self { rio, tracks: [track; 3], held: VecDeque::new() }
    }

    pub(crate) fn arrive(&mut self, arrival: &Arrival, stream: &mut Stream) -> QueueVerdict {
        self.forget_departed(arrival.waiting.packets);
        let verdict = self.early(arrival, stream);
        if arrival.overflows(self.rio.limit) {
            if let Some(track) = self.tracks.get_mut(rank(arrival.precedence)) {
                track.since_drop = track.since_drop.map(|_| 0);
            }
            return QueueVerdict::Drop(DropCause::Queue);
        }
        verdict
    }

    /// The packet just passed joins the queue and leaves it at `start`.
    pub(crate) fn accepted(&mut self, precedence: Precedence, start: Instant) {
        self.held.push_back((precedence, start));
        for track in counting(&mut self.tracks, self.rio.coupling, precedence) {
            track.length = track.length.saturating_add(1);
        }
    }

    /// New times of leaving, the last packet's first.
    pub(crate) fn restamp(&mut self, starts: impl Iterator<Item = Instant>) {
        for ((_, start), new) in self.held.iter_mut().rev().zip(starts) {
            *start = new;
        }
    }

    pub(crate) fn state(&self) -> QueueState {
        let [.., last] = &self.tracks;
        QueueState {
            average: Some(last.average),
            probability: Some(last.probability),
            ..QueueState::default()
        }
    }

    /// First in, first out: the last `waiting` packets still wait.
    pub(crate) fn forget_departed(&mut self, waiting: u64) {
        while saturating::<u64>(self.held.len()) > waiting
            && let Some((precedence, start)) = self.held.pop_front()
        {
            for track in counting(&mut self.tracks, self.rio.coupling, precedence) {
                track.length = track.length.saturating_sub(1);
                if track.length == 0 {
                    track.empty_since = start;
                }
            }
        }
    }

    fn early(&mut self, arrival: &Arrival, stream: &mut Stream) -> QueueVerdict {
        let Rio { weight, mean_packet, coupling, .. } = self.rio;
        for track in counting(&mut self.tracks, coupling, arrival.precedence) {
            track.update_average(arrival, weight, mean_packet);
        }
        let rank = rank(arrival.precedence);
        let (Some(track), Some(curve)) = (self.tracks.get_mut(rank), self.rio.curves.get(rank)) else {
            return QueueVerdict::Pass;
        };
        if track.average < curve.min {
            track.since_drop = None;
            track.probability = 0.0;
            return QueueVerdict::Pass;
        }
        let count = track.since_drop.map_or(0, |n| n.saturating_add(1));
        track.since_drop = Some(count);
        if track.average >= curve.max {
            track.probability = 1.0;
            track.since_drop = Some(0);
            return QueueVerdict::Drop(DropCause::Early);
        }
        let p = curve.max_p.get() * (track.average - curve.min) / (curve.max - curve.min);
        track.probability = p;
        let left = 1.0 - f64_from_u64(count) * p;
        if left > 0.0 && stream.uniform() >= p / left {
            return QueueVerdict::Pass;
        }
        track.since_drop = Some(0);
        self.rio.marking.verdict(arrival.ecn, p)
    }
}

impl Track {
    fn update_average(&mut self, arrival: &Arrival, weight: f64, mean_packet: u32) {
        if self.length > 0 {
            self.average += weight * (f64_from_u64(self.length) - self.average);
            return;
        }
        // None of these waits: the average has decayed since the last of them left the queue, but
        // for one packet's time, since a busy line would have let no more pass.
        let idle = Arrival { line: LineState::Idle { since: self.empty_since }, ..*arrival };
        let packets = idle.idle_packets(mean_packet).max(1.0);
        self.average *= libm::pow(1.0 - weight, packets);
    }
}

/// The tracks that count a packet of this precedence.
fn counting(
    tracks: &mut [Track; 3],
    coupling: Coupling,
    precedence: Precedence,
) -> impl Iterator<Item = &mut Track> {
    let first = rank(precedence);
    let last = match coupling {
        Coupling::Coupled => 2,
        Coupling::Decoupled => first,
    };
    tracks.iter_mut().take(last + 1).skip(first)
}

const fn rank(precedence: Precedence) -> usize {
    match precedence {
        Precedence::Low => 0,
        Precedence::Medium => 1,
        Precedence::High => 2,
    }
}

#[cfg(test)]
mod tests;
