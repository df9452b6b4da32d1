//! RED at work: the average, the drop probability and the spacing of drops.

use tfrc_units::{Duration, Instant, Rate, f64_from_u64};

use super::ns2;
use super::{
    AboveMax, Adaptation, Bottom, ByteCount, DropMode, EarlyDrop, Forced, IdleDecay, Measure, Red, Spacing,
    Thresholds, Weight,
};
use crate::Stream;
use crate::queue::{Arrival, LineState, QueueState, QueueVerdict};
use crate::trace::DropCause;

/// The state of a RED queue.
#[derive(Debug)]
pub(crate) struct RedProcess {
    red: Red,
    /// Thresholds in the queue's measure.
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) weight: f64,
    pub(super) bottom: f64,
    /// As it was at the start.
    first_max_p: f64,
    max_p: f64,
    average: f64,
    /// By the average, at the latest arrival.
    probability: f64,
    /// Packets and bytes since the latest drop, this one included; `None` while the average is
    /// below the lower threshold.
    since_drop: Option<(u64, u64)>,
    adapted: Instant,
}

impl RedProcess {
    pub(crate) fn new(red: Red, rate: Rate, delay: Duration) -> Self {
        let packets_per_sec = rate.bytes_per_sec() / f64::from(red.mean_packet);
        let (min, max) = match red.thresholds {
            Thresholds::Automatic { target_delay } => {
                let half = packets_per_sec * target_delay.as_secs_f64() / 2.0;
                let min = half.max(5.0);
                (min, 3.0 * min)
            }
            Thresholds::Fixed { min, max } => (min, max),
        };
        let unit = match red.measure {
            Measure::Bytes => f64::from(red.mean_packet),
            Measure::Packets => 1.0,
        };
        let weight = match red.weight {
            Weight::Automatic => 1.0 - libm::exp(-1.0 / packets_per_sec),
            Weight::AutomaticNs2 => ns2::weight(packets_per_sec, delay),
            Weight::Fixed(w) => w,
        };
        let bottom = match red.adaptation {
            Adaptation::Aimd { bottom: Bottom::AutomaticNs2, .. } => ns2::bottom(rate),
            Adaptation::Aimd { bottom: Bottom::Fixed(p), .. } => p.get(),
            Adaptation::Off => 0.0,
        };
        Self {
            red,
            min: min * unit,
            max: max * unit,
            weight,
            bottom,
            first_max_p: red.max_p.get(),
            max_p: red.max_p.get(),
            average: 0.0,
            probability: 0.0,
            since_drop: None,
            adapted: Instant::ZERO,
        }
    }

    pub(crate) fn arrive(&mut self, arrival: &Arrival, stream: &mut Stream) -> QueueVerdict {
        self.update_average(arrival);
        self.adapt(arrival.now);
        let early = self.early(arrival, stream);
        if arrival.overflows(self.red.limit) {
            self.since_drop = self.since_drop.map(|_| (0, 0));
            return QueueVerdict::Drop(DropCause::Queue);
        }
        early
    }

    pub(crate) fn state(&self) -> QueueState {
        QueueState {
            average: Some(self.average),
            probability: Some(self.probability),
            max_p: Some(self.max_p),
            ..QueueState::default()
        }
    }

    fn length(&self, arrival: &Arrival) -> f64 {
        f64_from_u64(match self.red.measure {
            Measure::Bytes => arrival.waiting.bytes,
            Measure::Packets => arrival.waiting.packets,
        })
    }

    /// Takes the queue's length into the average; over an idle time typical packets have met an
    /// empty queue.
    fn update_average(&mut self, arrival: &Arrival) {
        match arrival.line {
            LineState::Busy => self.average += self.weight * (self.length(arrival) - self.average),
            LineState::Idle { .. } => {
                let packets = arrival.idle_packets(self.red.mean_packet);
                let packets = match self.red.idle_decay {
                    IdleDecay::Exact => packets,
                    IdleDecay::WholePackets => libm::floor(packets) + 1.0,
                };
                self.average *= libm::pow(1.0 - self.weight, packets);
            }
        }
    }

    fn adapt(&mut self, now: Instant) {
        let Adaptation::Aimd { interval, alpha, beta, low, high, top, .. } = self.red.adaptation else {
            return;
        };
        if now < self.adapted + interval {
            return;
        }
        self.adapted = now;
        let part = |share: f64| self.min + share * (self.max - self.min);
        if self.average < part(low) && self.max_p > self.bottom {
            self.max_p *= beta;
        } else if self.average > part(high) && self.max_p < top.get() {
            self.max_p += alpha.min(self.max_p / 4.0);
        }
    }

    /// Returns the verdict of early detection on a packet that may still fit: pass, mark or drop.
    fn early(&mut self, arrival: &Arrival, stream: &mut Stream) -> QueueVerdict {
        let long_enough = match self.red.early_drop {
            EarlyDrop::Always => true,
            EarlyDrop::TwoWaiting => self.length(arrival) > 1.0,
        };
        if self.average < self.min || !long_enough {
            self.since_drop = None;
            self.probability = 0.0;
            return QueueVerdict::Pass;
        }
        self.probability = self.by_average();
        let crossed = self.since_drop.is_none();
        let (packets, bytes) = match (self.since_drop, self.red.spacing) {
            (None, Spacing::Wait) => (1, u64::from(arrival.size)),
            (None, _) => (0, 0),
            (Some((packets, bytes)), _) => {
                (packets.saturating_add(1), bytes.saturating_add(u64::from(arrival.size)))
            }
        };
        self.since_drop = Some((packets, bytes));
        if self.probability >= 1.0 && self.red.forced == Forced::Drop {
            self.since_drop = Some((0, 0));
            return QueueVerdict::Drop(DropCause::Early);
        }
        if crossed && self.red.spacing == Spacing::Wait {
            return QueueVerdict::Pass;
        }
        let p = self.spaced(packets, bytes, arrival.size);
        if stream.uniform() >= p {
            return QueueVerdict::Pass;
        }
        self.since_drop = Some((0, 0));
        self.red.marking.verdict(arrival.ecn, self.probability)
    }

    /// p_b of the paper: the probability by the average alone.
    fn by_average(&self) -> f64 {
        if self.average < self.max {
            return self.max_p * (self.average - self.min) / (self.max - self.min);
        }
        let gentle = |max_p: f64| (max_p + (1.0 - max_p) * (self.average - self.max) / self.max).min(1.0);
        match self.red.above_max {
            AboveMax::Drop => 1.0,
            AboveMax::Gentle => gentle(self.max_p),
            AboveMax::GentleFromStart => gentle(self.first_max_p),
        }
    }

    /// p_a of the paper: the probability for this packet, given how many passed since the latest
    /// drop.
    fn spaced(&self, packets: u64, bytes: u64, size: u32) -> f64 {
        let p = self.probability;
        let mean = f64::from(self.red.mean_packet);
        let count = match (self.red.mode, self.red.byte_count) {
            (DropMode::Packet, _) => f64_from_u64(packets),
            (DropMode::Byte, ByteCount::Exact) => f64_from_u64(bytes) / mean,
            (DropMode::Byte, ByteCount::WholePackets) => {
                f64_from_u64(bytes.checked_div(u64::from(self.red.mean_packet)).unwrap_or(0))
            }
        };
        let spaced = match self.red.spacing {
            Spacing::Geometric => p,
            Spacing::Uniform => over(p, 1.0 - count * p),
            Spacing::Wait if count * p < 1.0 => 0.0,
            Spacing::Wait => over(p, 2.0 - count * p),
        };
        match self.red.mode {
            DropMode::Byte if spaced < 1.0 => (spaced * f64::from(size) / mean).min(1.0),
            _ => spaced,
        }
    }
}

/// a / b as a probability: 1 if b is not positive.
fn over(a: f64, b: f64) -> f64 {
    if b > 0.0 { (a / b).min(1.0) } else { 1.0 }
}
