//! The protocol cores, unmodified, as agents of the simulator.

mod tfrc;

use tfrc_sim::{Agent, Context, Packet, TimerKey};
use tfrc_units::Instant;

pub(crate) use self::tfrc::{Losses, SEND, SenderSetup};
pub use self::tfrc::{TfrcData, TfrcReceiver, TfrcSender};

/// Any agent a scenario can have.
#[derive(Debug)]
#[non_exhaustive]
pub enum Any {
    /// The receiving half of a TFRC flow.
    TfrcReceiver(Box<TfrcReceiver>),
    /// The sending half of a TFRC flow.
    TfrcSender(Box<TfrcSender>),
}

/// What packets of these agents carry.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Payload {
    /// A data packet of a TFRC flow.
    TfrcData(TfrcData),
    /// A feedback packet of a TFRC flow.
    TfrcFeedback(::tfrc::Report),
}

impl Agent for Any {
    type Payload = Payload;

    fn on_packet(&mut self, now: Instant, packet: Packet<Payload>, context: &mut Context<'_, Payload>) {
        match self {
            Self::TfrcReceiver(agent) => agent.on_packet(now, packet, context),
            Self::TfrcSender(agent) => agent.on_packet(now, packet, context),
        }
    }

    fn on_timer(&mut self, now: Instant, key: TimerKey, context: &mut Context<'_, Payload>) {
        match self {
            Self::TfrcReceiver(agent) => agent.on_timer(now, context),
            Self::TfrcSender(agent) => agent.on_timer(now, key, context),
        }
    }
}
