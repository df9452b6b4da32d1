//! Web sessions between one client and one server (the model of ns-2's `WebTraf`, docs/ns2-facts.md
//! §5).
//!
//! A session loads pages one after another; it pauses from the end of a page to the next. A page
//! has objects, started at intervals whatever becomes of the others, and ends when all have
//! arrived. For an object the client sends a request of one segment over a connection of its own;
//! when the server has it, it sends the object over another. Connections are TCPs of
//! [`crate::tcp`], and their places are used again: memory goes with the most that were open at
//! once.
//!
//! The client draws everything, so that the server's side needs no randomness: a request says how
//! many segments it wants.

mod alarms;
mod client;
mod server;

pub use client::{WebClient, WebStats};
pub use server::WebServer;

use tfrc_units::{Duration, Instant};

use super::{Distribution, Peer};
use crate::Stream;
use crate::tcp::Settings;

/// When sessions begin, from the start of the client on.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Arrivals {
    /// One after another, this many seconds apart.
    Apart(Distribution),
    /// Each at a time of its own, uniform within this time.
    Within(Duration),
}

/// When the server begins an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ObjectStart {
    /// When it has the request.
    #[default]
    Requested,
    /// When the client has the acknowledgement of the request and has said so, by a packet without
    /// data that it repeats after each initial timeout until the object begins. In ns-2 the object
    /// begins as soon as that acknowledgement is there, and ends when the server has that of the
    /// last segment: both are half a round-trip time later here and there, the sum is the same.
    Acknowledged,
}

/// How web traffic is set up.
#[derive(Debug, Clone)]
pub struct WebSetup {
    /// The TCP of requests and objects. The server must have the same.
    pub settings: Settings,
    /// Number of sessions.
    pub sessions: u32,
    /// The times at which sessions begin.
    pub arrivals: Arrivals,
    /// Pages of a session, rounded up; `None`: no end.
    pub pages: Option<Distribution>,
    /// Seconds from the end of a page to the next one of the session.
    pub between_pages: Distribution,
    /// Objects of a page, rounded up, at least 1.
    pub objects: Distribution,
    /// Seconds from one object of a page to the next.
    pub between_objects: Distribution,
    /// Segments of an object, rounded up, at least 1.
    pub object: Distribution,
    /// Bytes of a request, at most a segment.
    pub request: u32,
    /// When the server begins an object.
    pub begin: ObjectStart,
    /// The server.
    pub peer: Peer,
    /// From when on no object is asked for; what has been asked for still comes.
    pub stop: Option<Instant>,
    /// Draws everything: a stream with the traffic's name.
    pub stream: Stream,
}
