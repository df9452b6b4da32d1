use tfrc_sim::tcp::{Settings, Transfer};
use tfrc_sim::traffic::{Peer, TcpSetup, TcpSink, TcpSource, Traffic};
use tfrc_sim::{Address, AgentId, Engine, FlowId, Network, NodeId, Seed, Tally, TimerKey, UnknownNode};
use tfrc_units::{Duration, Instant};

use crate::background::{Background, FlowState};

/// A network with two doors for datagrams from outside, and flows of its own between them.
pub struct World {
    pub(crate) engine: Engine<Background>,
    /// The gateway of the clients.
    pub(crate) near: Address,
    /// The gateway of the server.
    pub(crate) far: Address,
    seed: Seed,
    flows: Vec<Flow>,
}

/// The two ends of a flow inside.
#[derive(Debug, Clone, Copy)]
struct Flow {
    source: AgentId,
    sink: AgentId,
    /// Bytes that a segment has on a link besides its data.
    header: u32,
}

/// How a TCP flow inside a [`World`] is set up. It always has more to send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TcpFlow {
    /// The TCP, at both ends.
    pub settings: Settings,
    /// When it starts, in the time of the relay: zero is when the relay begins to run.
    pub start: Instant,
    /// Sending is put off by a random time, uniform from zero to this, as in [`TcpSetup::overhead`].
    pub overhead: Duration,
}

impl World {
    /// A network with nothing in it but what comes through the doors at `near` and `far`.
    ///
    /// # Errors
    /// [`UnknownNode`] for a node of another network.
    pub fn new(network: &Network, seed: Seed, near: NodeId, far: NodeId) -> Result<Self, UnknownNode> {
        let mut engine = network.build(seed);
        let near = engine.gateway(near)?;
        let far = engine.gateway(far)?;
        Ok(Self { engine, near, far, seed, flows: Vec::new() })
    }

    /// Adds a TCP flow from the clients' gateway to the server's: it takes the very links that the clients' datagrams take.
    ///
    /// # Errors
    /// [`UnknownNode`] if a gateway has no port left.
    pub fn add_tcp(&mut self, flow: &TcpFlow) -> Result<(), UnknownNode> {
        let engine = &mut self.engine;
        let far = self.far.node();
        let number = u32::try_from(self.flows.len()).map_err(|_| UnknownNode(far))?;
        let sink = Traffic::TcpSink(Box::new(TcpSink::new(&flow.settings)));
        let sink = engine.attach(far, Background::new(sink))?;
        let to = engine.address(sink).ok_or(UnknownNode(far))?;
        let source = Traffic::TcpSource(Box::new(TcpSource::new(TcpSetup {
            settings: flow.settings,
            transfer: Transfer::Unlimited,
            peer: Peer { to, flow: FlowId(number) },
            stop: None,
            overhead: flow.overhead,
            stream: self.seed.stream(&format!("tcp/{number}")),
        })));
        let source = engine.attach(self.near.node(), Background::new(source))?;
        engine.set_timer(source, TimerKey::First, flow.start);
        self.flows.push(Flow { source, sink, header: flow.settings.data_size(0) });
        Ok(())
    }

    /// The flows inside as they are now, in the order in which they were added.
    pub(crate) fn flows(&self) -> Vec<FlowState> {
        self.flows.iter().map(|flow| self.flow(*flow)).collect()
    }

    fn flow(&self, flow: Flow) -> FlowState {
        let mut state = FlowState::default();
        if let Some(Background { traffic: Traffic::TcpSource(source), .. }) = self.engine.agent(flow.source) {
            state.sender = *source.sender().stats();
            let (packets, bytes) = (state.sender.sent_segments, state.sender.sent_bytes);
            state.sent = Tally { packets, bytes: bytes + packets * u64::from(flow.header) };
        }
        if let Some(Background { traffic: Traffic::TcpSink(sink), arrived }) = self.engine.agent(flow.sink) {
            state.sink = *sink.sink().stats();
            state.arrived = *arrived;
        }
        state
    }
}
