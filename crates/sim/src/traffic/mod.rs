//! Background traffic as agents: TCP, constant rate, on/off, web sessions, ping.
//!
//! [`Traffic`] is an [`Agent`] of its own, and lends itself to a larger enum of agents: its methods work with any payload
//! that a [`Segment`] can become. A source starts when its first timer fires: `engine.set_timer(id, TimerKey::First, start)`.

mod tcp;

pub use self::tcp::{TcpSetup, TcpSink, TcpSource};

use tfrc_units::{Ecn, Instant};

use crate::tcp::{Ack, Data};
use crate::{Address, Agent, Context, FlowId, Header, Outgoing, Packet, TimerKey};

/// What the packets of [`Traffic`] carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Segment {
    /// From a TCP sink.
    Ack(Ack),
    /// From a TCP sender.
    Data(Data),
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
    /// Receives a TCP flow.
    TcpSink(Box<TcpSink>),
    /// Sends a TCP flow.
    TcpSource(Box<TcpSource>),
}

impl Traffic {
    /// A packet for this agent.
    #[inline]
    pub fn on_packet<P: From<Segment>>(
        &mut self,
        now: Instant,
        header: &Header,
        segment: &Segment,
        context: &mut Context<'_, P>,
    ) {
        match self {
            Self::TcpSink(agent) => agent.on_packet(now, header, segment, context),
            Self::TcpSource(agent) => agent.on_packet(now, segment, context),
        }
    }

    /// A timer of this agent.
    #[inline]
    pub fn on_timer<P: From<Segment>>(&mut self, now: Instant, key: TimerKey, context: &mut Context<'_, P>) {
        match self {
            Self::TcpSink(agent) => agent.on_timer(now, context),
            Self::TcpSource(agent) => agent.on_timer(now, key, context),
        }
    }

    /// What this agent has sent, retransmissions included.
    #[must_use]
    pub fn sent(&self) -> Amount {
        match self {
            Self::TcpSink(_) => Amount::default(),
            Self::TcpSource(agent) => {
                let stats = agent.sender().stats();
                Amount { packets: stats.sent_segments, bytes: stats.sent_bytes }
            }
        }
    }

    /// What has reached this agent, each piece of data once.
    #[must_use]
    pub fn delivered(&self) -> Amount {
        match self {
            Self::TcpSink(agent) => {
                let stats = agent.sink().stats();
                Amount { packets: stats.delivered_segments, bytes: stats.delivered_bytes }
            }
            Self::TcpSource(_) => Amount::default(),
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
}

/// Every packet of background traffic leaves here.
#[inline]
fn send<P: From<Segment>>(
    context: &mut Context<'_, P>,
    peer: Peer,
    size: u32,
    ecn: Ecn,
    segment: impl Into<Segment>,
) {
    let payload = P::from(segment.into());
    context.send(Outgoing { to: peer.to, flow: peer.flow, size, ecn, payload });
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
