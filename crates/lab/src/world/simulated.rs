//! The simulated world: an engine in virtual time, with the flows as agents.

use tfrc_scenario::{Member, Scenario};
use tfrc_sim::link::{FlowStats, LinkStats};
use tfrc_sim::packet::FlowId;
use tfrc_sim::{Engine, LinkId};
use tfrc_units::Instant;

use super::agents::{Ends, attach, bytes, progress};
use super::{Progress, World};
use crate::agent::{Any, LossEvent};
use crate::recording::{Keep, LinkFlows};

/// A scenario in virtual time.
pub(crate) struct Simulated {
    pub(crate) engine: Engine<Any>,
    pub(crate) flows: Vec<Ends>,
    links: Vec<LinkId>,
}

impl Simulated {
    /// Sets the network and the flows of a scenario up.
    pub(crate) fn new(scenario: &Scenario, keep: Keep) -> (Self, Vec<Member<'_>>) {
        let (mut network, members) = scenario.lay_out(scenario.seed);
        if keep.link_flows == LinkFlows::Counted {
            network.keep_flow_counts();
        }
        let mut engine = network.build::<Any>(scenario.seed);
        let flows = members.iter().map(|member| attach(&mut engine, member, scenario.seed)).collect();
        let links = scenario.network.links().map(|(id, _)| id).collect();
        (Self { engine, flows, links }, members)
    }

    /// Keeps the loss events of the flows from now on.
    pub(crate) fn log_losses(&mut self) {
        for ends in &self.flows {
            self.engine.with_agent(ends.receiver, |agent| {
                if let Any::TfrcReceiver(receiver) = agent {
                    receiver.start_log();
                }
            });
        }
    }
}

impl World for Simulated {
    fn advance(&mut self, to: Instant) -> Instant {
        self.engine.run_until(to);
        to
    }

    fn flow(&self, number: usize) -> Progress {
        self.flows.get(number).map(|ends| progress(&self.engine, *ends)).unwrap_or_default()
    }

    fn bytes(&self, number: usize) -> [u64; 2] {
        self.flows.get(number).map(|ends| bytes(&self.engine, *ends)).unwrap_or_default()
    }

    fn loss_events(&self, number: usize) -> Option<Vec<LossEvent>> {
        match self.engine.agent(self.flows.get(number)?.receiver) {
            Some(Any::TfrcReceiver(receiver)) => Some(receiver.log().to_vec()),
            _ => None,
        }
    }

    fn links(&self) -> Vec<LinkStats> {
        self.links.iter().filter_map(|link| self.engine.link_stats(*link)).collect()
    }

    fn waiting(&self) -> Vec<u64> {
        let waiting = |link: &LinkId| self.engine.queue_state(*link).map_or(0, |state| state.waiting.packets);
        self.links.iter().map(waiting).collect()
    }

    fn link_flows(&self) -> Vec<Vec<(FlowId, FlowStats)>> {
        self.links.iter().map(|link| self.engine.flow_stats(*link)).collect()
    }

    fn packet_hops(&self) -> u64 {
        self.engine.packet_hops()
    }
}
