//! The settings of an endpoint.

use core::net::IpAddr;

use tfrc_units::Duration;

use super::Allow;
use crate::ConnectionConfig;

/// Settings of an endpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointConfig {
    /// The protocol that carries packets.
    pub carrier: Carrier,
    /// Which Requests are accepted.
    pub listen: Listen,
    /// Peers that may begin connections. Packets of other peers that belong to no connection are
    /// ignored; connections that this end begins are not affected.
    pub allow: Allow,
    /// The DCCP port to listen on.
    pub port: u16,
    /// Settings of accepted connections. The service code must be the client's; its
    /// encapsulation is set by `carrier`.
    pub connection: ConnectionConfig,
    /// Maximum number of accepted connections whose handshake is not complete.
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
    /// Maximum number of ended connections remembered; the oldest are forgotten first. Init Cookies
    /// from before a forgotten connection are refused then: one of them may be its own.
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
    /// IP protocol 33 of a host that makes and checks the checksums itself
    /// ([`wire::seal`](crate::wire::seal)), as it alone knows which address of ours a peer sees.
    /// Remote addresses are IP addresses with DCCP ports. All connections of this end have
    /// [`EndpointConfig::port`], and a peer's port has one of them at a time.
    Hosted,
}

/// Which Requests are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Listen {
    /// None: answered with "Connection Refused". serde calls it `Nobody`.
    #[cfg_attr(feature = "serde", serde(rename = "Nobody"))]
    Refuse,
    /// One connection after another; a second one at the same time is answered with "Too Busy".
    /// Where a connection has been silent for a second and leaves two Syncs unanswered, a new
    /// client from the same IP address takes its place
    /// ([`Cause::Replaced`](crate::Cause::Replaced)); also at the limit of [`Listen::Many`]. The
    /// place is free again when the application has released the connection, so that unread data is
    /// bounded.
    One,
    /// At most this many connections at once, including ended ones not yet released.
    Many(usize),
}

/// Answer to a Request when the limit of half-open connections is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressure {
    /// A Response with an Init Cookie (RFC 4340 §8.1.4): nothing is kept until the client returns
    /// it. Clients that do not, such as Linux, get "No Connection" then.
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
    /// No limit but that of [`Listen`].
    Unlimited,
}

/// A connection to open.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectConfig {
    /// The peer's DCCP port.
    pub port: u16,
    /// Settings of the connection; the encapsulation is set by the endpoint.
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
