//! The protocol cores, unmodified, and the simulator's background traffic, as agents of one engine.
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod application;
mod custom;
mod dccp;
mod histogram;
mod late;
mod meter;
mod metric;
mod payload;
mod sample;
mod tfrc;

use tfrc_sim::traffic::Traffic;
use tfrc_sim::{Agent, Context, Depth, Engine, Packet, TimerKey};
use tfrc_units::Instant;

pub use self::application::Source;
pub use self::custom::{
    Acknowledged, Allowance, Controller, CustomAck, CustomData, CustomReceiver, CustomSender, Lost,
};
pub use self::dccp::addresses;
pub use self::dccp::{DccpHost, Frame};
pub use self::dccp::{EndTask, HostSetup};
pub use self::late::LateAgent;
pub use self::meter::{Delays, EmptyPath, Meter, SHARES};
pub use self::metric::{BIN, Mean, Series};
pub use self::payload::Payload;
pub use self::payload::START;
pub use self::sample::{deviation, mean, squares, variation};
pub use self::tfrc::LossEvent;
pub use self::tfrc::{FlowLosses, SenderSetup};
pub use self::tfrc::{TfrcData, TfrcReceiver, TfrcSender};

/// Any agent a scenario can have.
#[derive(Debug)]
#[non_exhaustive]
pub enum Any {
    /// An end of a DCCP connection.
    Dccp(Box<DccpHost>),
    /// Any of the others on a host that acts late.
    Late(Box<LateAgent>),
    /// The receiving end of a flow with a controller of the host's own.
    CustomReceiver(Box<CustomReceiver>),
    /// The sending end of one.
    CustomSender(Box<CustomSender>),
    /// The receiving half of a TFRC flow.
    TfrcReceiver(Box<TfrcReceiver>),
    /// The sending half of a TFRC flow.
    TfrcSender(Box<TfrcSender>),
    /// Background traffic.
    Traffic(Traffic),
}

/// An agent on its node, and a meter of the data packets that reach it, if they are measured.
#[derive(Debug)]
pub struct Host {
    agent: Any,
    meter: Option<Box<Meter>>,
}

impl Host {
    /// The agent.
    #[must_use]
    pub const fn agent(&self) -> &Any {
        match &self.agent {
            Any::Late(late) => late.agent(),
            agent => agent,
        }
    }

    /// The agent, to change it.
    pub const fn agent_mut(&mut self) -> &mut Any {
        match &mut self.agent {
            Any::Late(late) => late.agent_mut(),
            agent => agent,
        }
    }

    /// The meter, if this end is measured.
    #[must_use]
    pub fn meter(&self) -> Option<&Meter> {
        self.meter.as_deref()
    }

    /// Measures from now on, over a path that takes this time while nothing waits.
    pub fn measure(&mut self, path: EmptyPath) {
        self.meter = Some(Box::new(Meter::new(path)));
    }

    /// Forgets what was measured before.
    pub fn measure_anew(&mut self) {
        if let Some(meter) = &mut self.meter {
            **meter = Meter::new(meter.path());
        }
    }
}

/// Lets everything happen that is due up to and including `until`, as [`Engine::run_until`] does.
/// That is generic: called from here, it is compiled as the rest of this crate.
#[inline(never)]
pub fn run_until(engine: &mut Engine<Host>, until: Instant) {
    engine.run_until(until);
}

impl From<Any> for Host {
    fn from(agent: Any) -> Self {
        Self { agent, meter: None }
    }
}

impl Agent for Host {
    type Payload = Payload;

    #[inline(always)]
    fn on_packet(&mut self, now: Instant, packet: Packet<Payload>, context: &mut Context<'_, Payload>) {
        if let Some(meter) = &mut self.meter
            && packet.payload.is_data()
        {
            meter.arrived(now, &packet.header);
        }
        match &mut self.agent {
            Any::Late(late) => late.on_packet(now, packet, context),
            agent => agent.on_packet(now, &packet, context),
        }
    }

    #[inline]
    fn on_timer(&mut self, now: Instant, key: TimerKey, context: &mut Context<'_, Payload>) {
        self.agent.on_timer(now, key, context);
    }

    #[inline(always)]
    fn touch(&self, depth: Depth) -> u64 {
        let meter = self.meter.as_ref().map_or(0, |meter| meter.touch(depth));
        let agent = match &self.agent {
            Any::TfrcSender(agent) => agent.touch(depth),
            Any::TfrcReceiver(agent) => agent.touch(depth),
            Any::Traffic(agent) => agent.touch(depth),
            _ => 0,
        };
        meter ^ agent
    }
}

impl Any {
    /// A packet has come to an agent that acts at once.
    #[inline(always)]
    fn on_packet(&mut self, now: Instant, packet: &Packet<Payload>, context: &mut Context<'_, Payload>) {
        match (self, &packet.payload) {
            (Self::Traffic(agent), Payload::Traffic(segment)) => {
                agent.on_packet(now, &packet.header, segment, context);
            }
            (Self::TfrcReceiver(agent), Payload::TfrcData(data)) => {
                agent.on_data(now, &packet.header, data, context);
            }
            (Self::TfrcSender(agent), Payload::TfrcFeedback(report)) => {
                agent.on_feedback(now, report, context);
            }
            (Self::CustomReceiver(agent), Payload::CustomData(data)) => {
                agent.on_data(now, &packet.header, *data, context);
            }
            (Self::CustomSender(agent), Payload::CustomAck(ack)) => agent.on_ack(now, *ack, context),
            (Self::Dccp(agent), Payload::Dccp(frame)) => agent.on_frame(now, &packet.header, frame, context),
            _ => {}
        }
    }

    #[inline(always)]
    fn on_timer(&mut self, now: Instant, key: TimerKey, context: &mut Context<'_, Payload>) {
        match self {
            Self::Dccp(agent) => agent.on_timer(now, context),
            Self::Late(late) => late.on_timer(now, key, context),
            Self::CustomReceiver(_) => {}
            Self::CustomSender(agent) => agent.on_timer(now, key, context),
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
        assert!(size_of::<Any>() <= 32 && size_of::<Host>() <= 40, "{}", size_of::<Any>());
    }
}
