//! The moments of an emulation, as the engine's thread tells them.

use std::sync::mpsc;

use tfrc_emu::{FlowTraffic, Observer, WireEngine};
use tfrc_sim::LinkId;
use tfrc_sim::link::{FlowStats, LinkStats};
use tfrc_sim::packet::FlowId;
use tfrc_sim::trace::DroppedPacket;
use tfrc_units::{Duration, Instant, saturating};

use super::flow::{FlowFigures, FlowState};
use crate::keep::LinkFlows;
use crate::state::Progress;

/// State of all flows and links at one moment.
#[derive(Debug, Default)]
pub(super) struct Moment {
    pub(super) at: Instant,
    pub(super) flows: Vec<Progress>,
    pub(super) links: Vec<LinkStats>,
    pub(super) waiting: Vec<u64>,
    pub(super) link_flows: Vec<Vec<(FlowId, FlowStats)>>,
    pub(super) packet_hops: u64,
    /// Packets that links have dropped since the moment before; `None` if they were too many.
    pub(super) drops: Option<Vec<DroppedPacket>>,
}

/// Tells of a moment every `step`.
#[derive(Debug)]
pub(super) struct Teller {
    pub(super) states: Vec<FlowState>,
    /// The links of the file.
    pub(super) links: Vec<LinkId>,
    pub(super) link_flows: LinkFlows,
    pub(super) step: Duration,
    pub(super) tell: mpsc::Sender<Moment>,
    /// Drops that moments have had.
    pub(super) told_drops: usize,
}

impl Teller {
    /// The flows now: packets and bytes sent as the wire has them.
    fn flows(&self, engine: &WireEngine, traffic: &[FlowTraffic]) -> Vec<Progress> {
        let mut dropped = vec![0; self.states.len()];
        for (flow, stats) in engine.link_ids().flat_map(|link| engine.flow_stats(link)) {
            if let Some(count) = dropped.get_mut(saturating::<usize>(flow.0)) {
                *count += stats.dropped.packets;
            }
        }
        let figures = self.states.iter().map(FlowState::get).zip(traffic).zip(dropped);
        figures.map(|((figures, traffic), dropped)| on_the_wire(figures, *traffic, dropped)).collect()
    }
}

/// Packets and bytes of a flow by the engine's count of them.
fn on_the_wire(figures: FlowFigures, traffic: FlowTraffic, dropped: u64) -> Progress {
    let FlowFigures { progress, wire_overhead: Some(overhead), .. } = figures else {
        return figures.progress;
    };
    Progress {
        sent_packets: traffic.entered.packets,
        sent_bytes: traffic.entered.bytes.saturating_sub(traffic.entered.packets * u64::from(overhead)),
        received_packets: traffic.delivered.packets,
        dropped: Some(dropped),
        ..progress
    }
}

impl Observer for Teller {
    fn look(&mut self, at: Instant, engine: &WireEngine, traffic: &[FlowTraffic]) {
        let links = || self.links.iter().copied();
        let waiting = |id| engine.queue_state(id).map_or(0, |state| state.waiting.packets);
        let moment = Moment {
            at,
            flows: self.flows(engine, traffic),
            links: links().filter_map(|id| engine.link_stats(id)).collect(),
            waiting: links().map(waiting).collect(),
            link_flows: match self.link_flows {
                LinkFlows::Counted => links().map(|id| engine.flow_stats(id)).collect(),
                LinkFlows::None => Vec::new(),
            },
            packet_hops: engine.packet_hops(),
            drops: engine.drops().map(|drops| drops.get(self.told_drops..).unwrap_or_default().to_vec()),
        };
        self.told_drops += moment.drops.as_ref().map_or(0, Vec::len);
        // Nobody may listen.
        let _ = self.tell.send(moment);
    }

    fn step(&self) -> Duration {
        self.step
    }
}
