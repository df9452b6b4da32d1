//! The protocol cores, unmodified, and the simulator's background traffic, as agents of one engine.

mod application;
mod dccp;
mod tfrc;

use tfrc_sim::traffic::{Segment, Traffic};
use tfrc_sim::{Agent, Context, Packet, TimerKey};
use tfrc_units::Instant;

pub(crate) use self::application::Source;
pub use self::dccp::{DccpHost, Frame};
pub(crate) use self::dccp::{EndTask, HostSetup};
pub(crate) use self::tfrc::{FlowLosses, LossEvent, SenderSetup};
pub use self::tfrc::{TfrcData, TfrcReceiver, TfrcSender};

/// Starts any sender: its first timer.
pub(crate) const START: TimerKey = TimerKey::First;

/// Any agent a scenario can have.
#[derive(Debug)]
#[non_exhaustive]
pub enum Any {
    /// An end of a DCCP connection.
    Dccp(Box<DccpHost>),
    /// The receiving half of a TFRC flow.
    TfrcReceiver(Box<TfrcReceiver>),
    /// The sending half of a TFRC flow.
    TfrcSender(Box<TfrcSender>),
    /// Background traffic.
    Traffic(Traffic),
}

/// Content of these agents' packets.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Payload {
    /// A real datagram, which a relay takes through the network.
    #[cfg(feature = "relay")]
    Datagram(tfrc_emu::Datagram),
    /// A DCCP packet, byte for byte.
    Dccp(Frame),
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

impl Agent for Any {
    type Payload = Payload;

    fn on_packet(&mut self, now: Instant, packet: Packet<Payload>, context: &mut Context<'_, Payload>) {
        match (self, packet.payload) {
            (Self::Traffic(agent), Payload::Traffic(segment)) => {
                agent.on_packet(now, &packet.header, &segment, context);
            }
            (Self::TfrcReceiver(agent), Payload::TfrcData(data)) => {
                agent.on_data(now, &packet.header, &data, context);
            }
            (Self::TfrcSender(agent), Payload::TfrcFeedback(report)) => {
                agent.on_feedback(now, &report, context);
            }
            (Self::Dccp(agent), Payload::Dccp(frame)) => agent.on_frame(now, &packet.header, &frame, context),
            _ => {}
        }
    }

    fn on_timer(&mut self, now: Instant, key: TimerKey, context: &mut Context<'_, Payload>) {
        match self {
            Self::Dccp(agent) => agent.on_timer(now, context),
            Self::TfrcReceiver(agent) => agent.on_timer(now, context),
            Self::TfrcSender(agent) => agent.on_timer(now, context),
            Self::Traffic(agent) => agent.on_timer(now, key, context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets are moved at every hop's end; one cache line holds what they carry.
    #[test]
    fn payloads_are_small() {
        assert!(size_of::<Payload>() <= 64, "{}", size_of::<Payload>());
        assert!(size_of::<Any>() <= 32, "{}", size_of::<Any>());
    }
}
