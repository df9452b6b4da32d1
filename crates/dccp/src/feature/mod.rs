//! Feature negotiation (RFC 4340 §6): what the two ends agree on before and while they talk.
//!
//! A feature is a variable located at one end. Either end may ask for a new value with Change, the
//! other settles it with Confirm. The negotiation keeps both ends' features, answers the peer, and
//! repeats its own questions until answered.

mod negotiation;
mod number;
mod reconcile;
#[cfg(test)]
mod tests;
mod wishes;

pub(crate) use negotiation::{Failure, Negotiation, Repeat};
pub use number::{Feature, Location};
pub use wishes::{CcidPreference, EcnReading, RttReports, Wishes};

/// Which end of the connection we are. The server's preferences win (RFC 4340 §6.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The end that sent the Request.
    Client,
    /// The end that answered it.
    Server,
}
