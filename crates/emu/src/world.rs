use tfrc_sim::{Address, Agent, Engine, Network, NoAgent, NodeId, Seed, UnknownNode};

use crate::Datagram;

/// An engine with two doors.
pub struct World<A: Agent> {
    /// The network, and the agents in it if any.
    pub engine: Engine<A>,
    /// The gateway of the clients.
    pub near: Address,
    /// The gateway of the server.
    pub far: Address,
}

impl World<NoAgent<Datagram>> {
    /// A network with nothing in it but what comes through the doors at `near` and `far`.
    ///
    /// # Errors
    /// [`UnknownNode`] for a node of another network.
    pub fn empty(network: &Network, seed: Seed, near: NodeId, far: NodeId) -> Result<Self, UnknownNode> {
        Self::new(network.build(seed), near, far)
    }
}

impl<A: Agent> World<A> {
    /// Opens the doors of an engine.
    ///
    /// # Errors
    /// [`UnknownNode`] for a node of another network.
    pub fn new(mut engine: Engine<A>, near: NodeId, far: NodeId) -> Result<Self, UnknownNode> {
        let near = engine.gateway(near)?;
        let far = engine.gateway(far)?;
        Ok(Self { engine, near, far })
    }
}
