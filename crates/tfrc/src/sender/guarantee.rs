//! gTFRC: the promise of the network as a lower bound of the sending rate
//! (draft-lochin-ietf-tsvwg-gtfrc-02 §2).
//!
//! X is computed as if there were no promise; only what is sent, and so the nofeedback timer's
//! 2s/X, follows G = max(g, X). The draft says nothing of idleness and of missing feedback: X falls
//! then as always, G stays at g or above, or follows X below g/y, and it is the circuit breaker
//! that ends a flow which hears nothing.

use tfrc_units::Rate;

use crate::config::{Promise, PromiseStart};
use crate::rare::{Rare, rare};

/// The promise and whether it counts yet.
#[derive(Debug, Clone)]
pub(crate) struct LowerBound {
    promise: Option<Rare<Promise>>,
    force: Force,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Force {
    NotYet,
    InForce,
}

impl LowerBound {
    pub(crate) fn new(promise: Option<Promise>) -> Self {
        Self { promise: promise.map(rare), force: Force::NotYet }
    }

    /// There is a round-trip time.
    pub(crate) fn on_first_rtt(&mut self) {
        if self.promise.as_ref().is_some_and(|promise| promise.start == PromiseStart::FirstRtt) {
            self.force = Force::InForce;
        }
    }

    /// A report counts loss events.
    pub(crate) fn on_loss_report(&mut self) {
        if self.promise.as_ref().is_some_and(|promise| promise.start == PromiseStart::FirstLossReport) {
            self.force = Force::InForce;
        }
    }

    /// The lower bound while the computed rate is `x`; zero for none.
    pub(crate) fn least(&self, x: Rate) -> Rate {
        match (self.force, &self.promise) {
            (Force::InForce, Some(promise)) => match promise.give_way_below {
                Some(y) if x < promise.rate / y => Rate::ZERO,
                _ => promise.rate,
            },
            _ => Rate::ZERO,
        }
    }
}
