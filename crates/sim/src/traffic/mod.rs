//! Background traffic as agents: TCP, constant rate, on/off, web sessions, ping.
//!
//! [`Traffic`] is an [`Agent`] of its own, and lends itself to a larger enum of agents: its methods
//! work with any payload that a [`Segment`] can become. A source starts when its first timer fires:
//! `engine.set_timer(id, TimerKey::First, start)`.

mod datagrams;
mod distinct;
mod distribution;
mod ping;
mod tcp;
mod timetable;
mod web;

pub use self::datagrams::{Datagram, DatagramSetup, DatagramSink, DatagramSource, Pattern};
pub use self::distinct::Distinct;
pub use self::distribution::{Distribution, DistributionError};
pub use self::ping::{PingSetup, PingStats, Pinger, Ponger, Probe};
pub use self::tcp::{TcpSetup, TcpSink, TcpSource};
pub use self::timetable::{Disorder, Span, Supply, Timetable, Write};
pub use self::web::{Arrivals, ObjectStart, WebClient, WebServer, WebSetup, WebStats};

use tfrc_units::{Ecn, Instant};

use crate::packet::{FlowId, Header, Outgoing, Precedence};
use crate::tcp::{Ack, Data};
use crate::{Address, Agent, Context, Depth, Packet, TimerKey};

/// Content of the packets of [`Traffic`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Segment {
    /// From a TCP sink.
    Ack(Ack),
    /// From a TCP sender.
    Data(Data),
    /// From a source of datagrams.
    Datagram(Datagram),
    /// The answer to a ping.
    Reply(Probe),
    /// A ping.
    Request(Probe),
}

/// Where packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// The agent at the other end.
    pub to: Address,
    /// The flow they belong to.
    pub flow: FlowId,
}

/// Packets and bytes of data, without headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

/// An agent of background traffic.
#[derive(Debug)]
#[non_exhaustive]
pub enum Traffic {
    /// Counts datagrams.
    DatagramSink(Box<DatagramSink>),
    /// Sends datagrams.
    DatagramSource(Box<DatagramSource>),
    /// Measures round-trip times.
    Pinger(Box<Pinger>),
    /// Answers pings.
    Ponger(Ponger),
    /// Receives a TCP flow.
    TcpSink(Box<TcpSink>),
    /// Sends a TCP flow.
    TcpSource(Box<TcpSource>),
    /// Loads pages.
    WebClient(Box<WebClient>),
    /// Serves pages.
    WebServer(Box<WebServer>),
}

impl Traffic {
    /// A packet for this agent.
    #[inline]
    pub fn on_packet<P: Clone + From<Segment>>(
        &mut self,
        now: Instant,
        header: &Header,
        segment: &Segment,
        context: &mut Context<'_, P>,
    ) {
        match self {
            Self::TcpSink(agent) => agent.on_packet(now, header, segment, context),
            Self::TcpSource(agent) => agent.on_packet(now, segment, context),
            Self::DatagramSink(agent) => agent.on_packet(segment),
            Self::DatagramSource(_) => {}
            Self::Pinger(agent) => agent.on_packet(now, segment),
            Self::Ponger(_) => Ponger::on_packet(header, segment, context),
            Self::WebClient(agent) => agent.on_packet(now, header, segment, context),
            Self::WebServer(agent) => agent.on_packet(now, header, segment, context),
        }
    }

    /// A timer of this agent.
    #[inline]
    pub fn on_timer<P: Clone + From<Segment>>(
        &mut self,
        now: Instant,
        key: TimerKey,
        context: &mut Context<'_, P>,
    ) {
        match self {
            Self::TcpSink(agent) => agent.on_timer(now, context),
            Self::TcpSource(agent) => agent.on_timer(now, key, context),
            Self::DatagramSource(agent) => agent.on_timer(now, context),
            Self::Pinger(agent) => agent.on_timer(now, context),
            Self::DatagramSink(_) | Self::Ponger(_) => {}
            Self::WebClient(agent) => agent.on_timer(now, key, context),
            Self::WebServer(agent) => agent.on_timer(now, context),
        }
    }

    /// [`Agent::touch`] of a TCP; the others are small.
    #[inline]
    #[must_use]
    pub fn touch(&self, depth: Depth) -> u64 {
        match (self, depth) {
            (Self::TcpSink(agent), Depth::Surface) => agent.touch(),
            (Self::TcpSource(agent), Depth::Surface) => agent.touch(),
            _ => 0,
        }
    }

    /// Returns the data this agent has sent, retransmissions included; none for a web client, whose
    /// requests do not count.
    #[must_use]
    pub fn sent(&self) -> Amount {
        match self {
            Self::DatagramSource(agent) => agent.sent(),
            Self::Pinger(agent) => agent.sent(),
            Self::WebServer(agent) => agent.sent(),
            Self::DatagramSink(_) | Self::Ponger(_) | Self::TcpSink(_) | Self::WebClient(_) => {
                Amount::default()
            }
            Self::TcpSource(agent) => {
                let stats = agent.sender().stats();
                Amount { packets: stats.sent_segments, bytes: stats.sent_bytes }
            }
        }
    }

    /// Returns the data that reached this agent, each segment and each datagram once.
    #[must_use]
    pub fn delivered(&self) -> Amount {
        match self {
            Self::TcpSink(agent) => {
                let stats = agent.sink().stats();
                Amount { packets: stats.delivered_segments, bytes: stats.delivered_bytes }
            }
            Self::DatagramSink(agent) => agent.received(),
            Self::WebClient(agent) => agent.stats().delivered,
            Self::DatagramSource(_)
            | Self::Pinger(_)
            | Self::Ponger(_)
            | Self::TcpSource(_)
            | Self::WebServer(_) => Amount::default(),
        }
    }
}

impl Agent for Traffic {
    type Payload = Segment;

    fn on_packet(&mut self, now: Instant, packet: Packet<Segment>, context: &mut Context<'_, Segment>) {
        Self::on_packet(self, now, &packet.header, &packet.payload, context);
    }

    fn on_timer(&mut self, now: Instant, key: TimerKey, context: &mut Context<'_, Segment>) {
        Self::on_timer(self, now, key, context);
    }

    fn touch(&self, depth: Depth) -> u64 {
        Self::touch(self, depth)
    }
}

/// Every packet of background traffic leaves here.
#[inline]
fn send<P: Clone + From<Segment>>(
    context: &mut Context<'_, P>,
    peer: Peer,
    size: u32,
    ecn: Ecn,
    segment: impl Into<Segment>,
) {
    let payload = P::from(segment.into());
    let Peer { to, flow } = peer;
    context.send(Outgoing { to, flow, size, ecn, precedence: Precedence::Low, payload });
}

/// Sets a timer, or stops it.
#[inline]
fn schedule<P>(context: &mut Context<'_, P>, key: TimerKey, at: Option<Instant>) {
    match at {
        Some(at) => context.set_timer(key, at),
        None => context.cancel_timer(key),
    }
}

impl From<Ack> for Segment {
    fn from(ack: Ack) -> Self {
        Self::Ack(ack)
    }
}

impl From<Datagram> for Segment {
    fn from(datagram: Datagram) -> Self {
        Self::Datagram(datagram)
    }
}

impl From<Data> for Segment {
    fn from(data: Data) -> Self {
        Self::Data(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_small() {
        assert!(size_of::<Segment>() <= 48, "{}", size_of::<Segment>());
    }
}
