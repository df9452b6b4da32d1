//! Two ends of a transport by `std`'s clock, with a path of this crate between them, in virtual
//! time; and the rate that TFRC has there by theory. [`shared`] has many pairs of ends behind one
//! bottleneck, `quic` ends that are connections of QUIC, `noq` those of noq.

#[cfg(feature = "noq")]
pub mod noq;
#[cfg(feature = "quic")]
pub mod quic;
pub mod shared;

use std::time::Instant;

use tfrc::equation::Equation;
use tfrc_units::{Duration, Ecn, Epoch, Probability, saturating};

use crate::{Delivered, Fate, Parcel, Random, Side, Wire};

/// A datagram of a transport.
#[derive(Debug, Clone)]
pub struct Datagram {
    /// The UDP payload.
    pub bytes: Vec<u8>,
    /// The ECN bits.
    pub ecn: Ecn,
}

/// An end of the transport, with its application.
pub trait End {
    /// A datagram has come.
    fn receive(&mut self, now: Instant, datagram: Datagram);
    /// Serves timers, events and the application.
    fn wake(&mut self, now: Instant);
    /// The next datagram to be sent.
    fn transmit(&mut self, now: Instant) -> Option<Datagram>;
    /// When [`End::wake`] is wanted next.
    fn timeout(&mut self) -> Option<Instant>;
}

/// The rule that gives a datagram its fate.
pub type Rule = Box<dyn FnMut(Side) -> Fate>;

/// Both ends and the path.
pub struct World<C, S> {
    /// The end that connects.
    pub client: C,
    /// The end that answers.
    pub server: S,
    wire: Wire<Vec<u8>>,
    rule: Rule,
    epoch: Epoch,
    now: tfrc_units::Instant,
    /// Datagrams that the client has sent, and those of them that the rule lost.
    pub sent: u64,
    /// Datagrams of the client that were lost or marked.
    pub hit: u64,
}

impl<C: End, S: End> World<C, S> {
    /// Two ends that have done nothing yet, at `start`.
    #[must_use]
    pub fn new(start: Instant, client: C, server: S, wire: Wire<Vec<u8>>, rule: Rule) -> Self {
        let epoch = Epoch::new(start);
        Self { client, server, wire, rule, epoch, now: epoch.at(start), sent: 0, hit: 0 }
    }

    /// The present.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.epoch.time(self.now)
    }

    /// Lets this time pass.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.step(end);
        }
    }

    fn step(&mut self, end: tfrc_units::Instant) {
        let now = self.now();
        while let Some(Delivered { to, ecn, payload, .. }) = self.wire.receive(self.now) {
            self.end(to).receive(now, Datagram { bytes: payload, ecn });
        }
        for side in Side::BOTH {
            self.end(side).wake(now);
            while let Some(Datagram { bytes, ecn }) = self.end(side).transmit(now) {
                let fate = (self.rule)(side);
                if side == Side::Client {
                    self.sent += 1;
                    self.hit += u64::from(fate == Fate::Drop || fate == Fate::Mark);
                }
                // 28 bytes of IPv4 and UDP headers.
                let size = saturating::<u32>(bytes.len() + 28);
                self.wire.send(self.now, side, Parcel { size, ecn, payload: bytes }, fate);
            }
        }
        let timers = [self.client.timeout(), self.server.timeout()].into_iter().flatten();
        let next = timers.map(|at| self.epoch.at(at)).chain(self.wire.poll_timeout()).min();
        // Timers of the ends may be due at once again and again: time goes on.
        self.now = next.unwrap_or(end).max(self.now + Duration::from_micros(1)).min(end);
    }

    fn end(&mut self, side: Side) -> &mut dyn End {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}

/// A rule that loses the client's packets with probability `p`.
#[must_use]
pub fn lossy(p: f64, seed: u64) -> Rule {
    let mut random = Random::new(seed);
    Box::new(move |side| Fate::drop_if(side == Side::Client && random.happens(p)))
}

/// L, the packets in a round-trip time where RFC 5348's equation meets the loss events that it
/// causes: `1/f(p_e) = L` with `p_e = p/(1 + p·L)`, since the losses in a round-trip time are one
/// event.
#[must_use]
pub fn fixed_point(p: f64) -> f64 {
    let second = Duration::from_secs(1);
    (0..200).fold(1.0, |l, _| {
        let p_e = Probability::saturating(p / (1.0 + p * l));
        0.5 * l + 0.5 * Equation::default().rate(1.0, second, p_e).bytes_per_sec()
    })
}

/// The values that a tenth, half and nine tenths of the sample lie below; zeros for an empty one.
#[must_use]
pub fn quantiles(mut sample: Vec<f64>) -> [f64; 3] {
    sample.sort_by(f64::total_cmp);
    let last = sample.len().saturating_sub(1) as f64;
    [0.1, 0.5, 0.9].map(|share| sample.get((last * share) as usize).copied().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `docs/models/fixed-points.md`.
    #[test]
    fn fixed_points_of_the_equation() {
        for (p, l) in [(0.01, 11.995), (0.05, 4.349), (0.1, 2.271)] {
            assert!((fixed_point(p) - l).abs() < 0.001, "{}", fixed_point(p));
        }
    }
}
