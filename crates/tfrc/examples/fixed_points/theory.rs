//! The rate at which a flow should settle: it causes a loss event rate at which the equation gives
//! this very rate.

use tfrc::Config;
use tfrc::config::PacketSize;
use tfrc::study::{ShortIntervals, SizeCorrection};
use tfrc_units::Probability;

use crate::path::Path;

/// The rate and the loss event rate at rest.
#[derive(Clone, Copy)]
pub(crate) struct FixedPoint {
    pub(crate) packets_per_rtt: f64,
    pub(crate) loss_event_rate: f64,
}

/// The rate at which what is sent is what is allowed, by bisection: the more is sent, the less is
/// allowed.
pub(crate) fn fixed_point(config: &Config, path: Path) -> FixedPoint {
    let settings = config.settings();
    let own = f64::from(path.segment);
    let allowed = |l: f64| {
        let p = Probability::saturating(loss_event_rate(&settings.packet_size, path, l));
        let rate = settings.packet_size.rate(&settings.algorithm.choices().equation, own, path.rtt, p);
        rate.bytes_per_sec() * path.rtt.as_secs_f64() / own
    };
    let (mut low, mut high) = (1e-9, 1e9);
    for _ in 0..300 {
        let middle = libm::sqrt(low * high);
        if allowed(middle) > middle { low = middle } else { high = middle }
    }
    FixedPoint { packets_per_rtt: low, loss_event_rate: loss_event_rate(&settings.packet_size, path, low) }
}

/// The loss event rate that a flow of `l` evenly spaced packets per round-trip time sees under
/// independent losses.
fn loss_event_rate(method: &PacketSize, path: Path, l: f64) -> f64 {
    let p = path.loss;
    let event_rate = |l: f64| p / (1.0 + p * l);
    match method {
        PacketSize::TfrcSp(sp) => {
            // Between whole numbers of packets in a round-trip time, in proportion.
            let below = libm::floor(l);
            let (a, b) =
                (mean_length(sp.short_intervals, p, below), mean_length(sp.short_intervals, p, below + 1.0));
            1.0 / (a + (l - below) * (b - a))
        }
        PacketSize::Reference { segment, correction } => {
            // As many packets of the size compared with as carry the same bytes.
            let as_large = l * f64::from(path.segment) / f64::from(*segment);
            match correction {
                SizeCorrection::Uncorrected => event_rate(l),
                SizeCorrection::DropRate => p,
                SizeCorrection::VirtualPacketsByteMode => {
                    // A virtual packet survives if all the packets it is made of do.
                    let parts = f64::from(*segment) / f64::from(path.segment);
                    let lost = 1.0 - libm::pow(1.0 - p, parts);
                    lost / (1.0 + lost * as_large)
                }
                _ => event_rate(as_large),
            }
        }
        _ => event_rate(l),
    }
}

/// The mean length of a loss interval of TFRC-SP with m further packets in the loss event's
/// round-trip time: then come G packets, geometric, to the first loss of the next event, so N = m +
/// G; K of them are lost, the first and a binomial share of the m.
fn mean_length(rule: ShortIntervals, p: f64, m: f64) -> f64 {
    // Beyond this the probability that G is larger than m is below 1e-12, and K is where its mean
    // is.
    let mut inverse = [0.0; 3];
    let (mut mass, mut k) = (libm::pow(1.0 - p, m), 1.0);
    while k <= m + 1.0 && mass.is_finite() {
        for (value, share) in inverse.iter_mut().zip([1.0, 2.0 / 3.0, 1.0 / 3.0]) {
            *value += mass / (k * share).max(1.0);
        }
        mass *= (m - k + 1.0) / k * p / (1.0 - p);
        k += 1.0;
    }
    // For very long intervals the first mass underflows: K is then its mean, and nearly all
    // intervals are short.
    if inverse[0] == 0.0 {
        for (value, share) in inverse.iter_mut().zip([1.0, 2.0 / 3.0, 1.0 / 3.0]) {
            *value = 1.0 / ((1.0 + m * p) * share);
        }
    }
    // E[N/K; N in (from, to]] with N = m + G, G from 1.
    let part = |from: f64, to: f64| {
        let tail = |g: f64| {
            let g = g.max(0.0);
            // E[m + G; G > g] = (1 − p)^g (m + g + 1/p)
            libm::pow(1.0 - p, g) * (m + g + 1.0 / p)
        };
        tail(from) - if to.is_finite() { tail(to) } else { 0.0 }
    };
    match rule {
        ShortIntervals::Graded => {
            inverse[1] * part(0.0, m) + inverse[2] * part(m, 2.0 * m) + part(2.0 * m, f64::INFINITY)
        }
        _ => inverse[0] * part(0.0, m) + part(m, f64::INFINITY),
    }
}
