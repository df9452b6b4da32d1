use tfrc_sim::tcp::{SenderStats, SinkStats};
use tfrc_sim::traffic::Traffic;
use tfrc_sim::{Agent, Context, Packet, Tally, TimerKey};
use tfrc_units::Instant;

use crate::payload::Payload;

/// An agent inside the network, and what has reached it.
#[derive(Debug)]
pub(crate) struct Background {
    pub(crate) traffic: Traffic,
    pub(crate) arrived: Tally,
}

/// A flow of the network's own, as far as it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowState {
    /// What its sender counts.
    pub sender: SenderStats,
    /// What its receiver counts.
    pub sink: SinkStats,
    /// What its sender has sent of data, retransmissions and headers included.
    pub sent: Tally,
    /// What has reached its receiver, duplicates and headers included.
    pub arrived: Tally,
}

impl Background {
    pub(crate) fn new(traffic: Traffic) -> Self {
        Self { traffic, arrived: Tally::default() }
    }
}

impl Agent for Background {
    type Payload = Payload;

    fn on_packet(&mut self, now: Instant, packet: Packet<Payload>, context: &mut Context<'_, Payload>) {
        self.arrived.packets += 1;
        self.arrived.bytes += u64::from(packet.header.size);
        // A real datagram never gets here: it is addressed to a gateway.
        if let Payload::Segment(segment) = packet.payload {
            self.traffic.on_packet(now, &packet.header, &segment, context);
        }
    }

    fn on_timer(&mut self, now: Instant, key: TimerKey, context: &mut Context<'_, Payload>) {
        self.traffic.on_timer(now, key, context);
    }
}
