//! Content of the agents' packets.

use tfrc_sim::TimerKey;
use tfrc_sim::tcp::DataKind;
use tfrc_sim::traffic::Segment;

use crate::custom::{CustomAck, CustomData};
use crate::dccp::Frame;
use crate::tfrc::TfrcData;

/// Starts any sender: its first timer.
pub const START: TimerKey = TimerKey::First;

/// Content of these agents' packets.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Payload {
    /// A real datagram, which a relay takes through the network.
    #[cfg(feature = "relay")]
    Datagram(tfrc_emu::Datagram),
    /// A DCCP packet, byte for byte.
    Dccp(Frame),
    /// An acknowledgement of a packet of [`CustomData`].
    CustomAck(CustomAck),
    /// A packet of a flow with a controller of the host's own.
    CustomData(CustomData),
    /// A data packet of a TFRC flow.
    TfrcData(TfrcData),
    /// A feedback packet of a TFRC flow.
    TfrcFeedback(::tfrc::Report),
    /// Background traffic.
    Traffic(Segment),
}

impl From<Segment> for Payload {
    #[inline]
    fn from(segment: Segment) -> Self {
        Self::Traffic(segment)
    }
}

impl Payload {
    /// True of packets from the sender of data; a DCCP packet counts whatever it is, and the
    /// opening of a TCP's connection carries none.
    pub(super) fn is_data(&self) -> bool {
        match self {
            #[cfg(feature = "relay")]
            Self::Datagram(_) => true,
            Self::Dccp(_) | Self::CustomData(_) | Self::TfrcData(_) => true,
            Self::CustomAck(_) | Self::TfrcFeedback(_) => false,
            Self::Traffic(Segment::Data(data)) => data.kind == DataKind::Data,
            Self::Traffic(segment) => matches!(segment, Segment::Datagram(_) | Segment::Request(_)),
        }
    }
}

#[cfg(feature = "relay")]
impl From<tfrc_emu::Datagram> for Payload {
    fn from(datagram: tfrc_emu::Datagram) -> Self {
        Self::Datagram(datagram)
    }
}

#[cfg(feature = "relay")]
impl TryFrom<Payload> for tfrc_emu::Datagram {
    type Error = Payload;

    fn try_from(payload: Payload) -> Result<Self, Payload> {
        match payload {
            Payload::Datagram(datagram) => Ok(datagram),
            other => Err(other),
        }
    }
}
