//! gTFRC: the promise of the network as a lower bound of the sending rate
//! (draft-lochin-ietf-tsvwg-gtfrc-02 §2).
//!
//! X is computed as if there were no promise; only what is sent, and so the nofeedback timer's
//! 2s/X, follows G = max(g, X). The draft says nothing of idleness and of missing feedback: X falls
//! then as always, G stays at g or above, or follows X below g/y, and it is the circuit breaker
//! that ends a flow which hears nothing.

use tfrc_units::Rate;

use crate::config::{BrokenPromise, Guarantee};

/// The promise and whether it counts yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Promise {
    guarantee: Guarantee,
    force: Force,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Force {
    NotYet,
    InForce,
}

impl Promise {
    pub(crate) const fn new(guarantee: Guarantee) -> Self {
        Self { guarantee, force: Force::NotYet }
    }

    /// There is a round-trip time.
    pub(crate) const fn on_first_rtt(&mut self) {
        if let Guarantee::FromFirstRtt(_) = self.guarantee {
            self.force = Force::InForce;
        }
    }

    /// A report counts loss events.
    pub(crate) const fn on_loss_report(&mut self) {
        if let Guarantee::FromFirstLossReport(_) = self.guarantee {
            self.force = Force::InForce;
        }
    }

    /// The lower bound while the computed rate is `x`; zero for none.
    pub(crate) fn least(&self, x: Rate) -> Rate {
        match (self.force, self.guarantee.target()) {
            (Force::InForce, Some(target)) => match target.broken {
                BrokenPromise::GiveWayBelow(y) if x < target.rate / y => Rate::ZERO,
                _ => target.rate,
            },
            _ => Rate::ZERO,
        }
    }
}
