//! The simulated world: an engine in virtual time, with the flows as agents.

use std::collections::BTreeMap;

use tfrc_scenario::{Member, Scenario};
use tfrc_sim::link::{FlowStats, LinkStats};
use tfrc_sim::packet::FlowId;
use tfrc_sim::trace::{DroppedPacket, PacketCopy, TraceRecord, Tracing};
use tfrc_sim::traffic::Traffic;
use tfrc_sim::{Engine, LinkId, LinkSpec};
use tfrc_units::{Duration, Instant};

use super::agents::{Ends, agent, attach_all, bytes, progress};
use crate::agent::{self, Any, Delays, EmptyPath, Host, LossEvent, Payload};
use crate::custom::Registry;
use crate::keep::{Keep, LinkFlows, PacketDelays};
use crate::recording::against_tcp;
use crate::state::{Completions, Progress, World};

/// Function called for each thing of a kind.
type Each<'t, T> = Box<dyn FnMut(&T) + 't>;

/// Listeners to the packets of a run.
#[derive(Default)]
pub(crate) struct Listeners<'t> {
    /// To copies at both ends.
    pub(crate) copies: Option<Each<'t, PacketCopy<Payload>>>,
    /// To each thing that happens to one.
    pub(crate) records: Option<Each<'t, TraceRecord>>,
}

/// A scenario in virtual time.
pub(crate) struct Simulated<'t> {
    pub(crate) engine: Engine<Host>,
    pub(crate) flows: Vec<Ends>,
    links: Vec<LinkId>,
    listeners: Listeners<'t>,
}

impl<'t> Simulated<'t> {
    /// Sets the network and the flows of a scenario up, with controllers and queues of the host's
    /// own, which must be all that it names.
    pub(crate) fn new<'s>(
        scenario: &'s Scenario,
        keep: Keep,
        own: &Registry,
        listeners: Listeners<'t>,
    ) -> (Self, Vec<Member<'s>>) {
        let (mut network, members) = scenario.lay_out(scenario.seed);
        if keep.link_flows == LinkFlows::Counted {
            network.keep_flow_counts();
        }
        let mut engine =
            network.build_with::<Host>(scenario.seed, &mut |name, link| own.make_queue(name, link));
        if keep.delays == PacketDelays::Measured && against_tcp::applies(&members) {
            engine.keep_drops();
        }
        engine.set_tracing(match (&listeners.records, &listeners.copies) {
            (Some(_), Some(_)) => Tracing::Both,
            (Some(_), None) => Tracing::Keep,
            (None, Some(_)) => Tracing::Packets,
            (None, None) => Tracing::Off,
        });
        let flows = attach_all(&mut engine, &members, scenario.seed, own);
        if keep.delays == PacketDelays::Measured {
            let specs: BTreeMap<LinkId, &LinkSpec> = network.links().collect();
            for (ends, member) in flows.iter().zip(&members) {
                let path = empty_path(&engine, &specs, member);
                engine.with_agent(ends.receiver, |host| host.measure(path));
            }
        }
        let links = scenario.network.links().map(|(id, _)| id).collect();
        (Self { engine, flows, links, listeners }, members)
    }

    /// Keeps the loss events of the flows from now on.
    pub(crate) fn log_losses(&mut self) {
        for ends in &self.flows {
            self.engine.with_agent(ends.receiver, |host| {
                if let Any::TfrcReceiver(receiver) = host.agent_mut() {
                    receiver.start_log();
                }
            });
        }
    }
}

/// The way of the data of a flow, by the first rates of its links.
fn empty_path(engine: &Engine<Host>, specs: &BTreeMap<LinkId, &LinkSpec>, member: &Member<'_>) -> EmptyPath {
    let mut way = engine.route(member.from, member.to);
    // Sums of floats depend on the order.
    way.sort_unstable();
    way.iter().filter_map(|id| specs.get(id)).fold(EmptyPath::default(), |path, link| {
        let rate = link.rate.bytes_per_sec();
        // A packet leaves a line that follows a trace at one moment.
        let per_byte = if link.trace.is_some() || rate <= 0.0 { 0.0 } else { 1e9 / rate };
        EmptyPath {
            propagation_ns: path.propagation_ns.saturating_add(link.delay.as_nanos()),
            ns_per_byte: path.ns_per_byte + per_byte,
            lines: path.lines + 1,
        }
    })
}

impl World for Simulated<'_> {
    fn advance(&mut self, to: Instant) -> Instant {
        agent::run_until(&mut self.engine, to);
        if let Some(to) = &mut self.listeners.copies {
            self.engine.take_copies().iter().for_each(to);
        }
        if let Some(to) = &mut self.listeners.records {
            self.engine.take_records().iter().for_each(to);
        }
        to
    }

    fn flow(&self, number: usize) -> Progress {
        self.flows.get(number).map(|ends| progress(&self.engine, *ends)).unwrap_or_default()
    }

    fn is_new(&self) -> bool {
        self.engine.now() == Instant::ZERO && self.engine.packet_hops() == 0
    }

    fn bytes(&self, number: usize) -> [u64; 2] {
        self.flows.get(number).map(|ends| bytes(&self.engine, *ends)).unwrap_or_default()
    }

    fn begin_measuring(&mut self) {
        for ends in &self.flows {
            self.engine.with_agent(ends.receiver, |host| {
                if host.meter().is_none() {
                    return;
                }
                host.measure_anew();
                if let Any::Traffic(Traffic::WebClient(client)) = host.agent_mut() {
                    client.keep_times();
                }
            });
        }
    }

    fn delays(&self, number: usize) -> Option<Delays> {
        self.engine.agent(self.flows.get(number)?.receiver)?.meter()?.delays()
    }

    fn completions(&self, number: usize) -> Completions {
        let receiver = self.flows.get(number).and_then(|ends| agent(&self.engine, ends.receiver));
        match receiver {
            Some(Any::CustomReceiver(receiver)) => {
                Completions { transfer: receiver.completed(), objects: None }
            }
            Some(Any::Traffic(Traffic::TcpSink(sink))) => {
                Completions { transfer: sink.completed(), objects: None }
            }
            Some(Any::Traffic(Traffic::WebClient(client))) => {
                let seconds = |times: &[Duration]| times.iter().map(|time| time.as_secs_f64()).collect();
                Completions { transfer: None, objects: client.times().map(seconds) }
            }
            _ => Completions::default(),
        }
    }

    fn loss_events(&self, number: usize) -> Option<Vec<LossEvent>> {
        match agent(&self.engine, self.flows.get(number)?.receiver) {
            Some(Any::TfrcReceiver(receiver)) => Some(receiver.log().to_vec()),
            _ => None,
        }
    }

    fn drops(&self) -> Option<&[DroppedPacket]> {
        self.engine.drops()
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

    fn end(&mut self) {
        self.engine.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{counts, summary};

    /// A state that was not kept because the world was new is the one that it had: for a flow of
    /// each kind, the figures between the two states are equal.
    #[test]
    fn a_new_world_needs_no_state() {
        let kinds = ["tfrc", "tfrc-sp", "dccp", "tcp", "cbr", "ping", "web"];
        let flow = |kind: &&str| {
            let own = match *kind {
                "ping" => "interval = \"100ms\"\n",
                "cbr" => "rate = \"100kbit/s\"\n",
                "web" => "\n[flow.web]\nsessions = 2\nwithin = \"1s\"\n",
                _ => "",
            };
            format!("[[flow]]\nname = \"{kind}\"\nkind = \"{kind}\"\nfrom = \"a\"\nto = \"b\"\n{own}\n")
        };
        let network = "duration = \"3s\"\nnodes = [\"a\", \"b\"]\n[[link]]\nname = \"l\"\nfrom = \"a\"\n\
                       to = \"b\"\nrate = \"2Mbit/s\"\ndelay = \"10ms\"\nqueue = \"20p\"\n";
        let text = format!("{network}{}", kinds.iter().map(flow).collect::<String>());
        let scenario = Scenario::parse("new", &text).unwrap();
        let (mut world, members) =
            Simulated::new(&scenario, Keep::NOTHING, &Registry::default(), Listeners::default());
        assert!(world.is_new());
        let states: Vec<Progress> = (0..kinds.len()).map(|number| world.flow(number)).collect();
        let time = Duration::from_secs(3);
        world.advance(Instant::ZERO + time);
        assert!(!world.is_new());
        for (number, (member, state)) in members.iter().zip(&states).enumerate() {
            let later = world.flow(number);
            assert!(later.sent_packets > 0, "{}", member.name);
            let figures = |before: &Progress| {
                (format!("{:?}", counts(before, &later)), summary(member, before, &later, time))
            };
            assert_eq!(figures(state), figures(&later.before_all()), "{}", member.name);
        }
    }
}
