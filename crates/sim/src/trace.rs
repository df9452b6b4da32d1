//! Records of what happens to packets.

use core::fmt;

use tfrc_units::Instant;

use crate::packet::{FlowId, Header, Packet};
use crate::{LinkId, NodeId};

/// Trace of an engine, the records of what happens to packets: kept or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tracing {
    /// Both records and copies are kept.
    Both,
    /// Every record is kept in memory until [`crate::Engine::take_records`] takes them.
    Keep,
    /// Nothing is recorded.
    #[default]
    Off,
    /// Copies of packets at their ends are kept until [`crate::Engine::take_copies`] takes them.
    Packets,
}

impl Tracing {
    #[inline]
    pub(crate) const fn keeps_records(self) -> bool {
        matches!(self, Self::Both | Self::Keep)
    }

    #[inline]
    pub(crate) const fn keeps_copies(self) -> bool {
        matches!(self, Self::Both | Self::Packets)
    }
}

/// A packet as one of its ends saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketCopy<P> {
    /// When.
    pub at: Instant,
    /// The end that saw it.
    pub end: PacketEnd,
    /// The packet.
    pub packet: Packet<P>,
}

/// An end of a packet's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketEnd {
    /// The agent that received it.
    Receiver,
    /// The agent that sent it.
    Sender,
}

/// One thing that happened to one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceRecord {
    /// The time of the event.
    pub at: Instant,
    /// The packet.
    pub header: Header,
    /// The event.
    pub what: Happening,
}

/// An event in the life of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Happening {
    /// The far end of a link has it.
    Crossed(LinkId),
    /// A link dropped it.
    Dropped(LinkId, DropCause),
    /// It joined the queue of a link or went straight onto the line.
    Joined(LinkId),
    /// It reached an agent or a gateway.
    Received,
    /// There is no route to its destination, or nobody at it.
    Stranded,
}

/// Why a link dropped a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DropCause {
    /// Active queue management, although it would have fit.
    Early,
    /// A loss model of the link.
    Loss,
    /// The queue had no place for it.
    Queue,
}

/// A packet that a link has dropped, of whatever cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DroppedPacket {
    /// The time of the drop.
    pub at: Instant,
    /// The flow of the packet.
    pub flow: FlowId,
    /// The node that sent it.
    pub from: NodeId,
    /// The link.
    pub link: LinkId,
}

/// The drops that an engine keeps.
#[derive(Debug, Default)]
pub(crate) enum DropLog {
    Kept(Vec<DroppedPacket>),
    #[default]
    Off,
    /// There were more than [`MOST_DROPS`].
    TooMany,
}

/// 32 MB of them.
const MOST_DROPS: usize = 1 << 20;

impl DropLog {
    pub(crate) fn add(&mut self, drop: DroppedPacket) {
        match self {
            Self::Kept(drops) if drops.len() < MOST_DROPS => drops.push(drop),
            Self::Kept(_) => *self = Self::TooMany,
            Self::Off | Self::TooMany => {}
        }
    }

    /// The drops in the order of their times; `None` unless all were kept.
    pub(crate) fn get(&self) -> Option<&[DroppedPacket]> {
        match self {
            Self::Kept(drops) => Some(drops),
            Self::Off | Self::TooMany => None,
        }
    }
}

/// One line of text: time in nanoseconds, what, packet, flow, size.
impl fmt::Display for TraceRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.at.as_nanos())?;
        match self.what {
            Happening::Crossed(link) => write!(f, "crossed {link}")?,
            Happening::Dropped(link, DropCause::Early) => write!(f, "early {link}")?,
            Happening::Dropped(link, DropCause::Loss) => write!(f, "lost {link}")?,
            Happening::Dropped(link, DropCause::Queue) => write!(f, "overflow {link}")?,
            Happening::Joined(link) => write!(f, "joined {link}")?,
            Happening::Received => write!(f, "received")?,
            Happening::Stranded => write!(f, "stranded")?,
        }
        let Header { serial, size, flow, ecn, .. } = self.header;
        write!(f, " packet={serial} flow={} bytes={size} ecn={}", flow.0, ecn.bits())
    }
}
