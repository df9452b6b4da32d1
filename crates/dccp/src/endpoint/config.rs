//! The settings of an endpoint.

use core::net::IpAddr;

use tfrc_units::Duration;

use super::Allow;
use crate::ConnectionConfig;

/// How an endpoint behaves.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointConfig {
    /// The protocol that carries packets.
    pub carrier: Carrier,
    /// Which Requests are accepted.
    pub listen: Listen,
    /// Peers that may begin connections. Packets of others that belong to no connection are ignored
    /// without a word; connections that this end begins are not concerned.
    pub allow: Allow,
    /// The DCCP port to listen on.
    pub port: u16,
    /// For the connections that are accepted. Its service code must be the client's; its
    /// encapsulation is set by `carrier`.
    pub connection: ConnectionConfig,
    /// Accepted connections whose handshake is not complete, at most.
    pub half_open: usize,
    /// The answer to a Request when `half_open` is reached.
    pub under_pressure: Pressure,
    /// Connections of one source, half-open ones and those not yet released included.
    pub per_source: PerSource,
    /// Resets a second for packets without a connection.
    pub resets_per_second: u32,
    /// How long a connection that is over is remembered: two maximum segment lifetimes (RFC 4340
    /// §8.3). Init Cookies live half of it, 128 s at most.
    pub time_wait: Duration,
    /// Connections remembered so, at most; the oldest are forgotten first. Init Cookies from before
    /// the connection that was forgotten are refused then: one of them may be its own.
    pub remembered: usize,
}

/// Protocol that carries an endpoint's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// UDP (RFC 6773): remote addresses are UDP addresses.
    Udp,
    /// IP protocol 33: of remote addresses only the IP address counts; pass port 0.
    Native {
        /// Our address, which the checksum covers.
        local: IpAddr,
    },
}

/// Which Requests are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    /// None: answered with "Connection Refused".
    Refuse,
    /// One connection after another; a second at once is answered with "Too Busy". Where a
    /// connection has been silent for a second and leaves two Syncs unanswered, a new client from
    /// the same IP address gets its place ([`Cause::Replaced`](crate::Cause::Replaced)); at the
    /// limit of [`Listen::Many`] too. The place is free again when the application has released the
    /// connection, so what it has not read yet is bounded.
    One,
    /// Several.
    Many {
        /// Maximum number at once, including ended connections not yet released.
        limit: usize,
    },
}

/// Answer to a Request when as many connections are half-open as are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressure {
    /// A Response with an Init Cookie (RFC 4340 §8.1.4): nothing is kept until the client brings it
    /// back. Clients that do not, as Linux, get "No Connection" then.
    Cookies,
    /// "Too Busy".
    Refuse,
}

/// Limit of the connections that one source may have: an IPv4 address, or a /64 of IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerSource {
    /// At most this many. Further Requests are treated as under pressure; clients behind one
    /// translator share this.
    AtMost(usize),
    /// As many as there is room for.
    Unlimited,
}

/// A connection to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectConfig {
    /// The peer's DCCP port.
    pub port: u16,
    /// Its service and how we behave; the encapsulation is set by the endpoint.
    pub connection: ConnectionConfig,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            carrier: Carrier::Udp,
            listen: Listen::Refuse,
            allow: Allow::Anyone,
            port: 0,
            connection: ConnectionConfig::default(),
            half_open: 128,
            under_pressure: Pressure::Cookies,
            per_source: PerSource::Unlimited,
            resets_per_second: 1024,
            time_wait: Duration::from_secs(240),
            remembered: 4096,
        }
    }
}
