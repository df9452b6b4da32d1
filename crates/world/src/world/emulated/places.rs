//! Which nodes of a scenario become namespaces, and where its flows run.

use std::collections::{BTreeMap, BTreeSet};

use tfrc_emu::{FlowEnd, FlowPath, Plan};
use tfrc_sim::{Network, NodeId};

use super::Setup;
use tfrc_scenario::{FlowKind, Member, Scenario};

/// The first port of a scenario's flows; each has one of its own.
const FIRST_PORT: u16 = 20_000;

/// The network of a run, its end nodes and its flows.
pub(super) struct Places<'a> {
    network: Network,
    pub(super) members: Vec<Member<'a>>,
    nodes: Vec<(String, NodeId)>,
    hosts: BTreeMap<NodeId, NodeId>,
}

impl<'a> Places<'a> {
    pub(super) fn of(scenario: &'a Scenario, more: &[String]) -> Self {
        let (network, members) = scenario.lay_out(scenario.seed);
        let mut ends: BTreeSet<NodeId> = [scenario.gateways.listen, scenario.gateways.to].into();
        ends.extend(members.iter().flat_map(|member| [member.flow.from, member.flow.to]));
        ends.extend(more.iter().filter_map(|name| network.find_node(name)));
        let names = network.nodes().filter(|(id, _)| ends.contains(id));
        let nodes = names.map(|(id, name)| (name.to_owned(), id)).collect();
        let of = |member: &Member<'_>| [(member.from, member.flow.from), (member.to, member.flow.to)];
        let hosts = members.iter().flat_map(of).collect();
        Self { network, members, nodes, hosts }
    }

    /// The plan of the emulation.
    pub(super) fn plan(&self, scenario: &Scenario, setup: Setup) -> Plan<'_> {
        let path = |(member, number): (&Member<'_>, usize)| FlowPath {
            flow: member.id,
            port: port(number),
            listener: match member.flow.kind {
                // The server of web pages is where their bytes come from.
                FlowKind::Web(_) => FlowEnd::Sender,
                _ => FlowEnd::Receiver,
            },
            from: member.from,
            to: member.to,
        };
        Plan {
            network: &self.network,
            seed: scenario.seed,
            nodes: self.nodes.clone(),
            flows: self.members.iter().zip(0..).map(path).collect(),
            hosts: self.hosts.clone(),
            capture: setup.capture,
            priority: setup.priority,
            kernel: setup.kernel,
        }
    }

    /// Number of nodes that become namespaces.
    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The place of a node among the namespaces.
    pub(super) fn place(&self, node: NodeId) -> Option<usize> {
        self.nodes.iter().position(|(_, id)| *id == node)
    }
}

/// The port of the flow of this number.
pub(super) fn port(flow: usize) -> u16 {
    FIRST_PORT.saturating_add(tfrc_units::saturating::<u16>(flow))
}
