//! Packets: the header that the network reads and the payload of the agents.

#[cfg(feature = "schema")]
use tfrc_units::schema::{Deserialize, JsonSchema, Serialize};
use tfrc_units::{Ecn, Instant};

use crate::ids::NodeId;

/// Which flow a packet belongs to; the engine carries it for traces and metrics and does not look
/// at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(
    /// The number the host gave the flow.
    pub u32,
);

/// Where packets come from and go to: a port of a node. Made by [`crate::Engine::attach`] and
/// [`crate::Engine::gateway`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    pub(crate) node: NodeId,
    pub(crate) port: u32,
}

impl Address {
    /// The node.
    #[must_use]
    pub const fn node(self) -> NodeId {
        self.node
    }

    /// The port on it, counted from 0 in the order of attachment.
    #[must_use]
    pub const fn port(self) -> u32 {
        self.port
    }
}

/// How readily a queue that distinguishes packets drops this one (RFC 2597 §2): the colours of the
/// meters of RFC 2697 and RFC 2698, and the last digit of the AF code points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "schema", derive(Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Precedence {
    /// Dropped last: green, in profile, AFx1.
    #[default]
    Low,
    /// Yellow, or out of a profile of two colours; AFx2.
    Medium,
    /// Dropped first: red, AFx3.
    High,
}

/// Header of a packet: the fields that the network reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Number of the packet in its engine, in the order of sending.
    pub serial: u64,
    /// When it was sent.
    pub sent: Instant,
    /// Bytes on the wire, all headers that count on a link included.
    pub size: u32,
    /// The flow.
    pub flow: FlowId,
    /// The sender.
    pub src: Address,
    /// The receiver.
    pub dst: Address,
    /// The current ECN bits.
    pub ecn: Ecn,
    /// The current drop precedence.
    pub precedence: Precedence,
}

/// A number of packets and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "schema", derive(Deserialize, Serialize))]
pub struct PacketCount {
    /// Packets.
    pub packets: u64,
    /// Bytes on the wire.
    pub bytes: u64,
}

impl PacketCount {
    #[inline]
    pub(crate) fn add(&mut self, size: u32) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(u64::from(size));
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            packets: self.packets.saturating_add(other.packets),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self {
            packets: self.packets.saturating_sub(other.packets),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }
}

/// A packet in the network: the engine's header and the agents' payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet<P> {
    /// Header, for the network.
    pub header: Header,
    /// Payload, for the agents.
    pub payload: P,
}

/// A packet about to be sent; the engine adds the sender's address and the serial number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing<P> {
    /// The receiver.
    pub to: Address,
    /// The flow.
    pub flow: FlowId,
    /// Bytes on the wire.
    pub size: u32,
    /// The ECN bits.
    pub ecn: Ecn,
    /// The drop precedence.
    pub precedence: Precedence,
    /// Payload, for the agents.
    pub payload: P,
}

/// A packet that says nothing.
#[cfg(test)]
pub(crate) fn test_packet() -> Packet<()> {
    let address = Address { node: NodeId(0), port: 0 };
    let header = Header {
        serial: 0,
        sent: Instant::ZERO,
        size: 0,
        flow: FlowId(0),
        src: address,
        dst: address,
        ecn: Ecn::NotEct,
        precedence: Precedence::Low,
    };
    Packet { header, payload: () }
}
