//! The relayed world: a scenario's network in real time, between real datagrams. `tfrc link`, and
//! the bottleneck of `tfrc demo`.

use std::net::SocketAddr;
use std::sync::Arc;

use tfrc_emu::{BindError, Control, GatewayNetwork, Limits, Monitor, Relay, Snapshot};
use tfrc_scenario::{Member, Scenario};
use tfrc_sim::link::{FlowStats, LinkStats};
use tfrc_sim::packet::FlowId;
use tfrc_sim::traffic::Amount;
use tfrc_sim::{AgentId, Engine, LinkId, Seed};
use tfrc_units::{Duration, Instant, Probability, Rate};

use super::agents::{Ends, attach_all, progress};
use super::record;
use crate::agent::{Host, START};
use crate::custom::Registry;
use crate::figures::summary;
use crate::keep::{Keep, LOOK};
use crate::recording::Recording;
use crate::results::FlowSummary;
use crate::state::{Progress, Stage, World};
use crate::watch::Watch;

/// A relay through the network of a scenario, from its gateway `listen` to its gateway `to` and
/// back. It has the links and none of the flows: senders and receivers are outside. Run it
/// with [`Relay::run`], or with [`Relay::start`] on a thread of its own.
///
/// ```
/// use tfrc_scenario::Scenario;
/// use tfrc_sim::Seed;
///
/// let text = "duration = '20s'\nnodes = ['near', 'far']\n\
///     [[link]]\nfrom = 'near'\nto = 'far'\nrate = '2Mbit/s'\ndelay = '20ms'\nqueue = '25p'\n";
/// let scenario = Scenario::parse("demo.toml", text)?;
/// let server = "127.0.0.1:6511".parse().unwrap();
/// let relay = tfrc_world::world::relayed::relay(&scenario, Seed(1), "127.0.0.1:0".parse().unwrap(), server).unwrap();
/// let running = relay.start().unwrap();
/// println!("send to {}", running.local_addr());
/// let last = running.stop().unwrap();
/// assert_eq!(last.there.entered.packets, 0);
/// # Ok::<(), tfrc_scenario::ScenarioError>(())
/// ```
///
/// # Errors
/// [`BindError`] if an address cannot be had.
pub fn relay(
    scenario: &Scenario,
    seed: Seed,
    listen: SocketAddr,
    to: SocketAddr,
) -> Result<Relay<Host, Flows>, BindError> {
    let engine = scenario.network.build(seed);
    open(engine, scenario, Vec::new(), listen, to)
}

/// A [`relay`] in whose network the flows of the scenario run as well, at most some ten thousand.
///
/// # Errors
/// [`BindError`] if an address cannot be had.
///
/// # Panics
/// Never for a [`Scenario`] that was read for [`World::Simulated`](tfrc_scenario::World).
pub fn relay_with_flows(
    scenario: &Scenario,
    seed: Seed,
    listen: SocketAddr,
    to: SocketAddr,
) -> Result<(Relay<Host, Flows>, Steering), BindError> {
    let (network, members) = scenario.lay_out(seed);
    let mut engine = network.build(seed);
    let ends = attach_all(&mut engine, &members, seed, &Registry::default());
    let links = engine.route(scenario.gateways.listen, scenario.gateways.to);
    let senders = ends.iter().map(|ends| ends.sender).collect();
    let relay = open(engine, scenario, ends, listen, to)?;
    let steering = Steering { control: relay.control(), links, senders };
    Ok((relay, steering))
}

/// A hand on the network of a [`relay_with_flows`] while it runs.
#[derive(Debug, Clone)]
pub struct Steering {
    control: Control<Host>,
    /// On the way from the gateway `listen` to the gateway `to`.
    links: Vec<LinkId>,
    /// In the order of the scenario.
    senders: Vec<AgentId>,
}

impl Steering {
    /// Gives the links from the gateway `listen` to the gateway `to` another rate.
    pub fn set_rate(&self, rate: Rate) {
        self.change(move |engine, link| engine.set_rate(link, rate));
    }

    /// Gives these links another probability of loss. Links whose scenario has no probability
    /// `loss`, be it zero, keep theirs.
    pub fn set_loss(&self, p: Probability) {
        self.change(move |engine, link| engine.set_loss(link, p));
    }

    /// Starts a flow that has not begun, in place of the time that the scenario has for it; flows
    /// count from 0. A number that the scenario does not have starts nothing.
    pub fn start_flow(&self, flow: usize) {
        if let Some(sender) = self.senders.get(flow).copied() {
            self.control.change(move |engine| engine.set_timer(sender, START, engine.now()));
        }
    }

    fn change(&self, change: impl Fn(&mut Engine<Host>, LinkId) + Send + 'static) {
        let links = self.links.clone();
        self.control.change(move |engine| links.into_iter().for_each(|link| change(engine, link)));
    }
}

fn open(
    engine: Engine<Host>,
    scenario: &Scenario,
    ends: Vec<Ends>,
    listen: SocketAddr,
    to: SocketAddr,
) -> Result<Relay<Host, Flows>, BindError> {
    let gateways = scenario.gateways;
    let look = move |engine: &Engine<Host>| Flows(ends.iter().map(|ends| progress(engine, *ends)).collect());
    let world = GatewayNetwork::new(engine, gateways.listen, gateways.to, look);
    let world =
        world.unwrap_or_else(|error| unreachable!("a scenario's gateways are nodes of its network: {error}"));
    Relay::bind(listen, to, world, Limits { sample: LOOK, ..Limits::default() })
}

/// The flows of a scenario inside a relay at one moment.
#[derive(Debug, Clone, Default)]
pub struct Flows(Vec<Progress>);

impl Flows {
    fn get(&self, number: usize) -> Progress {
        self.0.get(number).copied().unwrap_or_default()
    }

    /// The data that each flow has sent, retransmissions included, in the order of the scenario.
    pub fn sent(&self) -> impl Iterator<Item = Amount> + '_ {
        self.0.iter().map(|flow| Amount { packets: flow.sent_packets, bytes: flow.sent_bytes })
    }
}

/// The figures of each flow between two snapshots of a [`relay_with_flows`], but for its
/// coefficient of variation.
#[must_use]
pub fn summaries(scenario: &Scenario, before: &Snapshot<Flows>, after: &Snapshot<Flows>) -> Vec<FlowSummary> {
    let time = after.elapsed.saturating_sub(before.elapsed);
    let (_, members) = scenario.lay_out(scenario.seed);
    let figures = |(number, member): (usize, &Member<'_>)| {
        summary(member, &before.flows.get(number), &after.flows.get(number), time)
    };
    members.iter().enumerate().map(figures).collect()
}

/// Records a relay until it ends or `goes_on` says false, which is asked every 100 ms. `scenario`
/// has the flows that run in the relay, and no others. `None` if nothing was measured.
pub fn watch(
    scenario: &Scenario,
    monitor: Monitor<Flows>,
    watches: &mut [Watch<'_>],
    goes_on: &mut dyn FnMut() -> bool,
) -> Option<Recording> {
    let (_, members) = scenario.lay_out(scenario.seed);
    let now = monitor.latest();
    let (from, to) = (Instant::ZERO, Instant::ZERO + Duration::MAX);
    let stage = Stage { scenario, members: &members, keep: Keep::default(), from, to };
    record(&mut Relayed { monitor, now, links: stage.link_names().count() }, &stage, watches, goes_on)
}

/// A relay as its latest snapshot has it.
struct Relayed {
    monitor: Monitor<Flows>,
    now: Arc<Snapshot<Flows>>,
    links: usize,
}

impl Relayed {
    fn stats(&self) -> impl Iterator<Item = LinkStats> {
        let known = self.now.links.iter().map(|(_, stats)| *stats);
        known.chain(std::iter::repeat(LinkStats::default())).take(self.links)
    }
}

impl World for Relayed {
    fn advance(&mut self, to: Instant) -> Instant {
        loop {
            let is_over = self.monitor.is_over();
            self.now = self.monitor.latest();
            let now = Instant::ZERO + self.now.elapsed;
            if now >= to || is_over {
                return now;
            }
            std::thread::sleep(to.saturating_since(now).min(LOOK).into());
        }
    }

    fn flow(&self, number: usize) -> Progress {
        self.now.flows.get(number)
    }

    fn links(&self) -> Vec<LinkStats> {
        self.stats().collect()
    }

    fn waiting(&self) -> Vec<u64> {
        self.stats().map(|stats| stats.queued.packets.saturating_sub(1)).collect()
    }

    fn link_flows(&self) -> Vec<Vec<(FlowId, FlowStats)>> {
        vec![Vec::new(); self.links]
    }

    fn packet_hops(&self) -> u64 {
        self.stats().map(|stats| stats.crossed.packets).sum()
    }
}
